"""torch-audiomentations: every augmentation on batches of waves, alone and composed."""

from __future__ import annotations

import torch
import torch_audiomentations as ta
from torch_audiomentations.augmentations.mix import Mix

from truth import Package, case, step, workload

PACKAGE = Package("torch-audiomentations==0.12.0", seconds=300)
DEVICE = "cuda"
RATE = 16000


def _waves(n=4, channels=1, length=16000):
    return (torch.rand(n, channels, length) * 2 - 1) * 0.5


def _each(name, make, channels=1, turns=6, **given):
    with case(name):
        change = make()
        change = change.to(DEVICE) if isinstance(change, torch.nn.Module) else change
        for turn in range(turns):
            waves = _waves(channels=channels, length=16000 + 400 * (turn % 2)).to(DEVICE)
            with step("augment"):
                change(waves, sample_rate=RATE, **given)
        if isinstance(change, torch.nn.Module):
            change.eval()
            with step("eval"):
                change(_waves(channels=channels).to(DEVICE), sample_rate=RATE)


@workload
def augmenting():
    every = {"p": 1.0, "output_type": "dict"}
    _each("gain", lambda: ta.Gain(**every))
    _each("gain by half", lambda: ta.Gain(p=0.5, output_type="dict"))
    _each("gain a channel", lambda: ta.Gain(**every, mode="per_channel"), channels=2)
    _each("gain a batch", lambda: ta.Gain(**every, mode="per_batch"))
    _each("polarity", lambda: ta.PolarityInversion(**every))
    _each("peak", lambda: ta.PeakNormalization(**every))
    _each("peak where too loud", lambda: ta.PeakNormalization(**every, apply_to="only_too_loud_sounds"))
    _each("coloured noise", lambda: ta.AddColoredNoise(**every))
    _each("low pass", lambda: ta.LowPassFilter(**every))
    _each("high pass", lambda: ta.HighPassFilter(**every))
    _each("band pass", lambda: ta.BandPassFilter(**every))
    _each("band stop", lambda: ta.BandStopFilter(**every))
    _each("pitch", lambda: ta.PitchShift(sample_rate=RATE, **every))
    _each("shift", lambda: ta.Shift(**every))
    _each("shift without rolling", lambda: ta.Shift(rollover=False, **every))
    _each("time inversion", lambda: ta.TimeInversion(**every))
    _each("shuffled channels", lambda: ta.ShuffleChannels(**every), channels=2)
    _each("spliced out", lambda: ta.SpliceOut(**every))
    _each("identity", lambda: ta.Identity(**every))
    _each("mixed", lambda: Mix(**every))
    _each(
        "composed",
        lambda: ta.Compose(
            [ta.Gain(p=0.5, output_type="dict"), ta.PolarityInversion(p=0.5, output_type="dict"),
             ta.LowPassFilter(p=0.5, output_type="dict")], output_type="dict", shuffle=True,
        ),
    )  # fmt: skip
    _each(
        "some of",
        lambda: ta.SomeOf(
            (1, None), [ta.Gain(**every), ta.Shift(**every), ta.AddColoredNoise(**every)], output_type="dict"
        ),
    )
    _each("one of", lambda: ta.OneOf([ta.Gain(**every), ta.PolarityInversion(**every)], output_type="dict"))
    with case("separation with targets"):
        change = ta.Compose([ta.Shift(**every), ta.Gain(**every)], output_type="dict")
        for _ in range(6):
            waves, targets = _waves().to(DEVICE), _waves().to(DEVICE)
            with step("augment"):
                change(waves, sample_rate=RATE, targets=targets, target_rate=RATE)
