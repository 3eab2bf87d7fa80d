"""asteroid: source separation networks trained with permutation-invariant losses, and used on long waves."""

from __future__ import annotations

import torch
from asteroid import losses, models
from asteroid.dsp.overlap_add import LambdaOverlapAdd

from truth import Package, case, step, workload

PACKAGE = Package(
    "asteroid==0.7.0",
    extra=("requests", "pytorch-lightning", "asteroid-filterbanks", "torch_optimizer", "pyyaml", "huggingface_hub", "scipy", "julius", "soundfile"),
    alone=True,
    seconds=400,
)  # fmt: skip
DEVICE = "cuda"


def _train(name, make, loss, sources=2, length=2000):
    with case(name):
        model, wanted = make().to(DEVICE).train(), loss()
        optimizer = torch.optim.Adam(model.parameters(), 1e-3)
        for _ in range(4):
            clean = torch.randn(2, sources, length)
            with step("train"):
                clean = clean.to(DEVICE)
                found = model(clean.sum(1))
                wanted(found, clean[..., : found.shape[-1]]).mean().backward()
                torch.nn.utils.clip_grad_norm_(model.parameters(), 5.0)
                optimizer.step()
                optimizer.zero_grad()
        model.eval()
        for _ in range(4):
            with step("eval"), torch.no_grad():
                model(torch.randn(1, length, device=DEVICE))


@workload
def separating():
    def pit():
        return losses.PITLossWrapper(losses.pairwise_neg_sisdr, pit_from="pw_mtx")

    small = {"n_filters": 16, "kernel_size": 8, "stride": 4, "sample_rate": 8000}
    _train(
        "conv tasnet",
        lambda: models.ConvTasNet(2, n_blocks=2, n_repeats=1, bn_chan=8, hid_chan=16, skip_chan=8, **small),
        pit,
    )
    _train("dprnn", lambda: models.DPRNNTasNet(2, n_repeats=1, bn_chan=8, hid_size=8, chunk_size=20, **small), pit)
    _train(
        "dptnet",
        lambda: models.DPTNet(2, n_heads=2, ff_hid=8, chunk_size=20, n_repeats=1, bn_chan=16, hid_size=8, **small),
        pit,
    )
    _train("sudormrf", lambda: models.SuDORMRFNet(2, bn_chan=8, num_blocks=1, upsampling_depth=2, n_filters=16), pit)
    _train("lstm tasnet", lambda: models.LSTMTasNet(2, hid_size=8, n_layers=1, **small), pit)
    single = {"sources": 1, "length": 4000}
    _train(
        "dcunet",
        lambda: models.DCUNet("mini", fix_length_mode="pad", stft_n_filters=256, stft_kernel_size=256, stft_stride=64),
        lambda: lambda x, y: losses.singlesrc_neg_sisdr(x.squeeze(1), y[:, 0]),
        **single,
    )
    _train(
        "demask",
        lambda: models.DeMask(hidden_dims=(16,), n_filters=64, stride=32, kernel_size=64),
        lambda: lambda x, y: losses.singlesrc_neg_sisdr(x.squeeze(1), y[:, 0]),
        **single,
    )
    for name, loss in (
        ("pit of a permutation", lambda: losses.PITLossWrapper(losses.multisrc_neg_sisdr, pit_from="perm_avg")),
        ("pit of points", lambda: losses.PITLossWrapper(losses.singlesrc_neg_sisdr, pit_from="pw_pt")),
        ("mse", lambda: losses.PITLossWrapper(losses.pairwise_mse, pit_from="pw_mtx")),
        ("sinkhorn", lambda: losses.SinkPITLossWrapper(losses.pairwise_neg_sisdr, n_iter=5)),
        ("many sources", lambda: losses.PITLossWrapper(losses.pairwise_neg_snr, pit_from="pw_mtx")),
        (
            "multi scale",
            lambda: losses.PITLossWrapper(
                losses.SingleSrcMultiScaleSpectral(n_filters=(64, 32), windows_size=(64, 32), hops_size=(16, 8)).to(
                    DEVICE
                ),
                pit_from="pw_pt",
            ),
        ),
        ("mixtures of mixtures", lambda: losses.MixITLossWrapper(losses.multisrc_neg_sisdr)),
    ):
        with case(f"loss {name}"):
            wanted, n = loss(), 4 if name in ("many sources", "mixtures of mixtures") else 2
            for _ in range(6):
                found = torch.randn(2, n, 800, device=DEVICE, requires_grad=True)
                aim = torch.randn(2, 2 if name == "mixtures of mixtures" else n, 800, device=DEVICE)
                with step("loss"):
                    wanted(found, aim).mean().backward()
    with case("overlapping pieces"):
        model = (
            models.ConvTasNet(2, n_blocks=2, n_repeats=1, bn_chan=8, hid_chan=16, skip_chan=8, **small)
            .to(DEVICE)
            .eval()
        )
        pieces = LambdaOverlapAdd(model, n_src=2, window_size=800, hop_size=400, window="hann", reorder_chunks=True).to(
            DEVICE
        )
        for _ in range(3):
            with step("separate"), torch.no_grad():
                pieces(torch.randn(1, 1, 3000, device=DEVICE))
    with case("deep clustering"):
        for _ in range(5):
            embedded = torch.randn(2, 60, 8, device=DEVICE, requires_grad=True)
            with step("loss"):
                losses.deep_clustering_loss(embedded, torch.randint(0, 2, (2, 6, 10), device=DEVICE)).mean().backward()
