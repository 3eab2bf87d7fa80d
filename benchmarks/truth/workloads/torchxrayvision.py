"""torchxrayvision: its classifiers, autoencoders and transforms, without their published weights."""

from __future__ import annotations

import numpy as np
import torch
import torchxrayvision as xrv

from truth import Package, case, step, workload
from truth.drive import DEVICE, train

PACKAGE = Package("torchxrayvision==1.5.7", alone=True, kept_out=True, extra=("scikit-image", "tqdm", "requests", "pandas", "imageio"), seconds=400)  # fmt: skip


def _loss(model, x, y):
    """Of what is known of each label only, as its own training script does it."""
    found = model(x)
    loss = torch.zeros(1, device=DEVICE)
    for task in range(y.shape[1]):
        known = ~torch.isnan(y[:, task])
        part = torch.nn.functional.binary_cross_entropy_with_logits(found[:, task][known], y[:, task][known])
        loss += part if len(y[known]) else 0
    return loss


@workload
def classifying():
    def batch():
        y = torch.randint(0, 2, (2, 18), device=DEVICE).float()
        y[0, 3] = float("nan")
        return torch.randn(2, 1, 224, 224, device=DEVICE) * 1024, y

    train("densenet", lambda: xrv.models.DenseNet(weights=None, num_classes=18, in_channels=1, block_config=(2, 2),
                                                  growth_rate=8, num_init_features=8), batch, loss=_loss, turns=4)  # fmt: skip
    train("densenet with thresholds", lambda: xrv.models.DenseNet(
        weights=None, num_classes=18, block_config=(2, 2), growth_rate=8, num_init_features=8,
        op_threshs=torch.full((18,), 0.4).to(DEVICE), apply_sigmoid=True), batch, loss=_loss, turns=4)  # fmt: skip
    with case("features"):
        model = xrv.models.DenseNet(
            weights=None, num_classes=18, block_config=(2, 2), growth_rate=8, num_init_features=8
        )
        model.to(DEVICE).eval()
        for _ in range(4):
            with step("eval"), torch.no_grad():
                model.features2(torch.randn(2, 1, 224, 224, device=DEVICE) * 1024).cpu().numpy()
    with case("relative propagation"):
        model = xrv.models.DenseNet(
            weights=None, num_classes=18, block_config=(2, 2), growth_rate=8, num_init_features=8
        )
        model.to(DEVICE).eval()
        for _ in range(4):
            x = (torch.randn(1, 1, 224, 224, device=DEVICE) * 1024).requires_grad_()
            with step("saliency"):
                grads = torch.autograd.grad(model(x)[0, 3], x)[0][0]
                np.abs(grads.detach().cpu().numpy())


@workload
def encoding():
    from torchxrayvision.autoencoders import Bottleneck, DeconvBottleneck, _ResNetAE

    train("autoencoder", lambda: _ResNetAE(Bottleneck, DeconvBottleneck, [1, 1, 1, 1], 1),
          lambda: (torch.randn(1, 1, 224, 224, device=DEVICE) * 1024,), turns=3, evaluate=2)  # fmt: skip


@workload
def preparing():
    import torchvision

    with case("transforms"):
        transform = torchvision.transforms.Compose(
            [xrv.datasets.XRayCenterCrop(), xrv.datasets.XRayResizer(64, engine="skimage")]
        )
        model = torch.nn.Conv2d(1, 4, 3).to(DEVICE)
        for _ in range(6):
            picture = np.random.randint(0, 255, (1, 80, 72)).astype("float32")
            with step("sample"):
                x = transform(xrv.datasets.normalize(picture, 255))
                model(torch.from_numpy(x).float()[None].to(DEVICE))
    with case("labels"):
        for _ in range(5):
            with step("resize"):
                xrv.models.fix_resolution(torch.randn(1, 1, 100, 100, device=DEVICE), 224, torch.nn.Identity())
                xrv.models.warn_normalization(torch.randn(1, 1, 32, 32, device=DEVICE) * 1024)
                xrv.models.op_norm(torch.rand(2, 18, device=DEVICE), torch.full((18,), 0.4, device=DEVICE))
