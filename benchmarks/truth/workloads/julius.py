"""julius: resampling, filters, filter banks and convolutions by FFT, on batches of waves."""

from __future__ import annotations

import julius
import torch

from truth import Package, case, step, workload

PACKAGE = Package("julius==0.2.8")
DEVICE = "cuda"


def _waves(length):
    return torch.randn(2, 1, length, device=DEVICE)


def _each(name, module, lengths=(2000, 2400, 1800), differentiable=True):
    with case(name):
        module = module.to(DEVICE)
        for turn in range(6):
            x = _waves(lengths[turn % len(lengths)]).requires_grad_(differentiable)
            with step("module"):
                found = module(x)
                if differentiable:
                    found.pow(2).mean().backward()


@workload
def signals():
    _each("resample", julius.ResampleFrac(3, 2))
    _each("resample wide", julius.ResampleFrac(441, 480, zeros=8))
    _each("low pass", julius.LowPassFilter(0.2))
    _each("low passes", julius.LowPassFilters([0.1, 0.2, 0.3]))
    _each("low pass by fft", julius.LowPassFilter(0.02, fft=True, stride=2))
    _each("high pass", julius.HighPassFilter(0.1))
    _each("high passes", julius.HighPassFilters([0.1, 0.2], pad=False))
    _each("band pass", julius.BandPassFilter(0.1, 0.3))
    _each("bands", julius.SplitBands(16000, n_bands=4))
    _each("bands at cutoffs", julius.SplitBands(16000, cutoffs=[200, 1000, 4000], fft=True))
    _each("convolution by fft", julius.FFTConv1d(1, 4, 32, stride=2, padding=3))
    for name, call in (
        ("resample function", lambda x: julius.resample_frac(x, 4, 3, full=True)),
        ("low pass function", lambda x: julius.lowpass_filter(x, 0.1)),
        ("high pass function", lambda x: julius.highpass_filters(x, [0.1, 0.3])),
        ("band pass function", lambda x: julius.bandpass_filter(x, 0.1, 0.2)),
        ("bands function", lambda x: julius.split_bands(x, 16000, n_bands=3)),
        ("convolution function", lambda x: julius.fft_conv1d(x, torch.randn(2, 1, 40, device=DEVICE), stride=1)),
        ("pure tones", lambda x: julius.core.pure_tone(440.0, 8000, dur=0.1, device=DEVICE)),
    ):
        with case(name):
            for turn in range(6):
                x = _waves(1500 + 100 * turn)
                with step("function"):
                    call(x)
