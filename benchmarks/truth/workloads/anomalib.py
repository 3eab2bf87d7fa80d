"""anomalib: its models trained by its engine on images, and its metrics and maps on batches."""

from __future__ import annotations

import anomalib.models.image as images
import torch
from anomalib.data import ImageBatch

from truth import Package, case, step, workload
from truth.drive import DEVICE, calls

PACKAGE = Package("anomalib==2.7.0", alone=True, kept_out=True, extra=("lightning", "timm", "kornia", "einops", "FrEIA", "opencv-python-headless", "omegaconf", "jsonargparse", "open-clip-torch", "scikit-learn", "pandas", "rich", "lightning-utilities", "torchmetrics", "scikit-image", "matplotlib", "platformdirs", "docstring-parser", "rich-argparse", "imagecodecs"), seconds=500)  # fmt: skip
SIZE = 64


def _batch(rows=4, size=SIZE):
    return ImageBatch(
        image=torch.rand(rows, 3, size, size, device=DEVICE), gt_label=torch.randint(0, 2, (rows,), device=DEVICE),
        gt_mask=torch.randint(0, 2, (rows, size, size), device=DEVICE).bool(),
    )  # fmt: skip


def _model(kind, **options):
    """Without what needs weights from elsewhere, or files to show."""
    return getattr(images, kind)(**options, visualizer=False, evaluator=False)


def _bank(name, kind, rows=4, size=SIZE, **options):
    """A model that keeps features of what it saw, fits once, and then compares."""
    with case(name):
        model = _model(kind, **options).to(DEVICE)
        model.train()
        for _ in range(4):
            with step("train"), torch.no_grad():
                model.training_step(_batch(rows, size))
        model.fit()
        model.eval()
        for _ in range(4):
            with step("eval"), torch.no_grad():
                model.validation_step(_batch(rows, size))


def _learned(name, kind, rows=2, size=SIZE, **options):
    with case(name):
        model = _model(kind, **options).to(DEVICE)
        found = [one for one in model.parameters() if one.requires_grad]
        optimizer = torch.optim.Adam(found, 1e-4)
        model.train()
        for _ in range(4):
            with step("train"):
                model.training_step(_batch(rows, size), 0)["loss"].backward()
                optimizer.step()
                optimizer.zero_grad()
        model.eval()
        for _ in range(3):
            with step("eval"), torch.no_grad():
                model.validation_step(_batch(rows, size))


@workload
def banks():
    _bank("padim", "Padim", pre_trained=False, n_features=20)
    _bank("patchcore", "Patchcore", backbone="resnet18", pre_trained=False)
    _bank("dfkde", "Dfkde", pre_trained=False, n_pca_components=4)
    _bank("dfm", "Dfm", backbone="resnet18", pre_trained=False, pooling_kernel_size=2)
    _bank("dfm likelihood", "Dfm", backbone="resnet18", pre_trained=False, pooling_kernel_size=2, score_type="nll")


@workload
def learned():
    _learned("fastflow", "Fastflow", pre_trained=False, flow_steps=2, size=256)
    _learned("reverse distillation", "ReverseDistillation", backbone="resnet18", pre_trained=False)
    _learned("supersimplenet", "Supersimplenet", backbone="resnet18", layers=["layer2", "layer3"])
    _learned("fre", "Fre", backbone="resnet18", pre_trained=False, input_dim=1024, latent_dim=16)
    from anomalib.models.image.draem.loss import DraemLoss
    from anomalib.models.image.draem.torch_model import DraemModel
    from anomalib.models.image.stfpm.anomaly_map import AnomalyMapGenerator

    with case("draem"):
        model, loss = DraemModel().to(DEVICE), DraemLoss().to(DEVICE)
        for _ in range(3):
            x, mask = (
                torch.rand(2, 3, 64, 64, device=DEVICE),
                torch.randint(0, 2, (2, 1, 64, 64), device=DEVICE).float(),
            )
            with step("train"):
                rebuilt, found = model(x)
                loss(x, rebuilt, mask, found).backward()
    with case("maps"):
        make = AnomalyMapGenerator().to(DEVICE)
        for _ in range(5):
            features = [
                {"a": torch.rand(2, 8, 16, 16, device=DEVICE), "b": torch.rand(2, 16, 8, 8, device=DEVICE)}
                for _ in range(2)
            ]
            with step("map"):
                make(teacher_features=features[0], student_features=features[1], image_size=torch.Size((32, 32)))


@workload
def measuring():
    from anomalib import metrics
    from anomalib.models.components import PCA, GaussianBlur2d, GaussianKDE, KCenterGreedy, MultiVariateGaussian
    from anomalib.post_processing import PostProcessor

    for kind in ("AUROC", "AUPR", "F1Max", "F1Score", "AUPRO", "PRO"):
        with case(kind):
            by_pixel = kind in ("AUPRO", "PRO")
            metric = getattr(metrics, kind)(
                fields=["anomaly_map" if by_pixel else "pred_score", "gt_mask" if by_pixel else "gt_label"]
            )
            metric.to(DEVICE)
            for _ in range(4):
                batch = _batch()
                batch.update(anomaly_map=torch.rand(4, SIZE, SIZE, device=DEVICE), pred_score=torch.rand(4, device=DEVICE),
                             pred_label=torch.randint(0, 2, (4,), device=DEVICE).bool())  # fmt: skip
                with step("update"):
                    metric.update(batch)
            metric.compute()
    with case("after"):
        after = PostProcessor().to(DEVICE)
        for _ in range(5):
            batch = _batch()
            batch.update(anomaly_map=torch.rand(4, SIZE, SIZE, device=DEVICE), pred_score=torch.rand(4, device=DEVICE))
            with step("batch"):
                after.on_validation_batch_end(None, None, batch)
                after.post_process_batch(batch)
        after.on_validation_epoch_end(None, None)
    with case("threshold"):
        threshold = metrics.F1AdaptiveThreshold(fields=["pred_score", "gt_label"]).to(DEVICE)
        for _ in range(4):
            batch = _batch()
            batch.update(pred_score=torch.rand(4, device=DEVICE))
            with step("update"):
                threshold.update(batch)
        threshold.compute()
    with case("components"):
        for _ in range(4):
            x = torch.randn(40, 8, device=DEVICE)
            with step("fit"):
                PCA(n_components=3).to(DEVICE).fit_transform(x)
                GaussianKDE().to(DEVICE).fit(x[:, :2].contiguous())
                MultiVariateGaussian().to(DEVICE).fit(torch.randn(6, 4, 5, 5, device=DEVICE))
                KCenterGreedy(x, 0.2).sample_coreset()
    calls("blur", GaussianBlur2d((1.5, 1.5), channels=1), lambda: (torch.rand(2, 1, 32, 32, device=DEVICE),))
