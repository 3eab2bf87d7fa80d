"""openunmix: the separation network trained on spectrograms, and the separator with its filters used on waves."""

from __future__ import annotations

import torch
from openunmix import filtering, model, transforms, utils

from truth import Package, case, step, workload

PACKAGE = Package("openunmix==1.3.0", extra=("scipy",))
DEVICE = "cuda"


def _unmix(**options):
    return model.OpenUnmix(nb_bins=129, nb_channels=2, hidden_size=16, nb_layers=1, max_bin=100, **options)


def _train(name, **options):
    with case(name):
        stft, _ = transforms.make_filterbanks(n_fft=256, n_hop=64, sample_rate=8000.0)
        encoder = torch.nn.Sequential(stft, transforms.ComplexNorm(mono=False)).to(DEVICE)
        unmix = _unmix(**options).to(DEVICE)
        optimizer = torch.optim.Adam(unmix.parameters(), 1e-3, weight_decay=1e-5)
        losses, stopping = utils.AverageMeter(), utils.EarlyStopping(patience=3)
        for _ in range(2):
            unmix.train()
            for _ in range(4):
                x, y = torch.randn(2, 2, 2048), torch.randn(2, 2, 2048)
                with step("train"):
                    x, y = x.to(DEVICE), y.to(DEVICE)
                    optimizer.zero_grad()
                    loss = torch.nn.functional.mse_loss(unmix(encoder(x)), encoder(y))
                    loss.backward()
                    optimizer.step()
                    losses.update(loss.item(), y.size(1))
            unmix.eval()
            with torch.no_grad():
                for _ in range(3):
                    with step("eval"):
                        unmix(encoder(torch.randn(1, 2, 3000).to(DEVICE)))
            stopping.step(losses.avg)


def _separate(name, **options):
    with case(name):
        targets = {one: _unmix() for one in ("vocals", "drums")}
        separator = model.Separator(targets, sample_rate=8000.0, n_fft=256, n_hop=64, **options).to(DEVICE).eval()
        separator.freeze()
        for turn in range(4):
            audio = torch.randn(1, 2, 4000 + 500 * turn)
            with step("separate"), torch.no_grad():
                estimates = separator(utils.preprocess(audio, 8000.0, 8000).to(DEVICE))
                separator.to_dict(estimates, aggregate_dict=None)


@workload
def separating():
    _train("train")
    _train("train one way", unidirectional=True)
    _train("train with statistics", input_mean=torch.zeros(129).numpy(), input_scale=torch.ones(129).numpy())
    _separate("separate", niter=1, residual=True)
    _separate("separate without filter", niter=0)
    _separate("separate by magnitudes", niter=1, softmask=True)
    _separate("separate in windows", niter=2, wiener_win_len=20)
    with case("wiener filter"):
        for turn in range(5):
            targets = torch.rand(20 + turn, 17, 2, 3, device=DEVICE)
            mix = torch.randn(20 + turn, 17, 2, 2, device=DEVICE)
            with step("filter"):
                filtering.wiener(targets, mix, iterations=1, residual=False)
