"""piq: measures of the quality of images, as functions and as losses, and of sets of features."""

from __future__ import annotations

import piq
import torch
from torch.utils.data import DataLoader

from truth import Package, case, step, workload
from truth.drive import DEVICE, calls

PACKAGE = Package("piq==0.8.0", seconds=400)


def _pair(size=96):
    x = torch.rand(2, 3, size, size, device=DEVICE)
    return (x + 0.1 * torch.rand_like(x)).clamp(0, 1).requires_grad_(), x


@workload
def pairs():
    for name, function in (
        ("ssim", piq.ssim), ("ssim full", lambda x, y: piq.ssim(x, y, full=True, downsample=False)), ("gmsd", piq.gmsd),
        ("multi gmsd", lambda x, y: piq.multi_scale_gmsd(x, y, chromatic=True)), ("fsim", piq.fsim), ("vsi", piq.vsi),
        ("vif", piq.vif_p), ("psnr", piq.psnr), ("mdsi", piq.mdsi), ("haarpsi", piq.haarpsi), ("srsim", piq.srsim), ("dss", piq.dss),
        ("variation", lambda x, y: piq.total_variation(x)),
    ):  # fmt: skip
        calls(name, function, lambda: tuple(one.detach() for one in _pair()))
    calls("multi ssim", piq.multi_scale_ssim, lambda: tuple(one.detach() for one in _pair(192)), turns=4)
    calls("information", piq.information_weighted_ssim, lambda: tuple(one.detach() for one in _pair(192)), turns=4)


@workload
def learning():
    for kind, options in (
        ("SSIMLoss", {"data_range": 1.0}), ("GMSDLoss", {}), ("MultiScaleGMSDLoss", {}), ("FSIMLoss", {}), ("VSILoss", {}),
        ("VIFLoss", {}), ("MDSILoss", {}), ("HaarPSILoss", {}), ("SRSIMLoss", {}), ("DSSLoss", {}),
    ):  # fmt: skip
        calls(kind, getattr(piq, kind)(**options), _pair, backward=True, kind="train")
    calls("MultiScaleSSIMLoss", piq.MultiScaleSSIMLoss(), lambda: _pair(192), turns=4, backward=True, kind="train")
    calls("TVLoss", piq.TVLoss(), lambda: _pair()[:1], backward=True, kind="train")
    for kind in ("ContentLoss", "StyleLoss"):
        with case(kind):
            features = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.ReLU(), torch.nn.Conv2d(4, 8, 3)).to(
                DEVICE
            )
            loss = getattr(piq, kind)(features, layers=["0", "2"], weights=[0.5, 0.5], normalize_features=True).to(
                DEVICE
            )
            for _ in range(5):
                x, y = _pair()
                with step("train"):
                    loss(x, y).backward()


@workload
def sets():
    def features():
        return torch.rand(24, 16, device=DEVICE), torch.rand(24, 16, device=DEVICE)

    for name, make in (
        ("frechet", piq.FID), ("kernel", lambda: piq.KID(subset_size=10, subsets=3)), ("inception", piq.IS), ("precision", piq.PR),
        ("multi scale distance", piq.MSID), ("geometry", lambda: piq.GS(sample_size=8, num_iters=4)),
    ):  # fmt: skip
        with case(name):
            metric = make()
            for _ in range(4):
                given = features()
                with step("compute"):
                    metric(*given)
    with case("features"):
        extractor = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3), torch.nn.AdaptiveAvgPool2d(1)).to(DEVICE)
        images = [{"images": torch.rand(3, 32, 32)} for _ in range(12)]
        for _ in range(2):
            with step("extract"):
                piq.FID().compute_feats(
                    DataLoader(images, 4), feature_extractor=lambda x: [extractor(x)], device=DEVICE
                )
