"""demucs: separation networks of small size trained on mixtures, and applied to long ones in pieces."""

from __future__ import annotations

import torch
from demucs import apply, augment, states
from demucs.demucs import Demucs
from demucs.ema import ModelEMA
from demucs.hdemucs import HDemucs
from demucs.htdemucs import HTDemucs

from truth import Package, case, step, workload

PACKAGE = Package(
    "demucs==4.1.0",
    extra=("einops", "julius", "openunmix", "pyyaml", "tqdm", "dora-search", "sphn"),
    alone=True,
    kept_out=True,
    seconds=400,
)
DEVICE = "cuda"
SOURCES = ["drums", "bass", "vocals"]
RATE = 8000


def _waves():
    return Demucs(
        SOURCES, channels=8, depth=3, lstm_layers=1, rescale=0.1, segment=0.5, samplerate=RATE, resample=False
    )


def _hybrid():
    return HDemucs(
        SOURCES,
        channels=8,
        nfft=256,
        depth=4,
        hybrid=True,
        samplerate=RATE,
        segment=0.5,
        norm_starts=3,
        dconv_attn=2,
        dconv_lstm=2,
        norm_groups=2,
        freq_emb=0.2,
    )


def _transformer():
    return HTDemucs(
        SOURCES,
        channels=8,
        nfft=512,
        depth=3,
        samplerate=RATE,
        segment=0.5,
        t_layers=2,
        t_heads=2,
        bottom_channels=16,
        norm_groups=2,
    )


def _train(name, make, length=4000):
    with case(name):
        model = make().to(DEVICE).train()
        optimizer = torch.optim.Adam(model.parameters(), 3e-4)
        average = ModelEMA(model, decay=0.99)
        changes = torch.nn.Sequential(
            augment.Shift(400),
            augment.FlipChannels(),
            augment.FlipSign(),
            augment.Remix(proba=1.0, group_size=2),
            augment.Scale(),
        ).to(DEVICE)
        for _ in range(5):
            sources = torch.randn(2, 3, 2, length + 400)
            with step("train"):
                sources = changes(sources.to(DEVICE))
                found = model(sources.sum(1))
                loss = torch.nn.functional.l1_loss(found, sources[..., : found.shape[-1]])
                loss.backward()
                norm = sum(p.grad.pow(2).sum() for p in model.parameters() if p.grad is not None) ** 0.5
                optimizer.step()
                optimizer.zero_grad()
                average.update()
                float(norm)
        states.get_state(model, None)


@workload
def separating():
    _train("waves", _waves)
    _train("hybrid", _hybrid)
    _train("hybrid transformer", _transformer)
    for name, make in (("waves", _waves), ("hybrid", _hybrid), ("hybrid transformer", _transformer)):
        for way, options in (
            ("whole", {"split": False, "shifts": 0}),
            ("in pieces", {"split": True, "overlap": 0.25}),
            ("shifted", {"shifts": 2, "split": True}),
        ):
            with case(f"{name} applied {way}"):
                model = make().eval()
                for _ in range(2):
                    mix = torch.randn(1, 2, 4000 if way == "whole" else 9000)
                    with step("apply"), torch.no_grad():
                        apply.apply_model(model, mix, device=DEVICE, **options)
    with case("bag of models"):
        bag = apply.BagOfModels([_waves(), _waves()], weights=[[1.0, 0.0, 1.0], [0.0, 1.0, 1.0]])
        for _ in range(3):
            with step("apply"), torch.no_grad():
                apply.apply_model(bag, torch.randn(1, 2, 6000), device=DEVICE, split=True)
