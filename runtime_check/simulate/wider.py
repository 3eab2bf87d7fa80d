"""Operators that take more on CUDA than on the CPU, computed on host memory the way CUDA's kernels do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from runtime_check.simulate.internals import aten, torch


def form(name: str) -> Callable[..., Any] | None:
    """What is called in the place of the CPU's operator of this name; None where that takes all that CUDA takes."""
    return _histc if name == "histc" else None


def _histc(values: Any, bins: int = 100, min: Any = 0, max: Any = 0, *, out: Any = None) -> Any:
    """Integers count too (cuda/SummaryOps.cu: _histc_cuda_template, getBin); the CPU has floating point alone."""
    if values.is_floating_point() or values.is_complex() or values.dtype is torch.bool or bins <= 0:
        given = {} if out is None else {"out": out}
        return (aten.histc.default if out is None else aten.histc.out)(values, bins, min, max, **given)
    least, most = int(min), int(max)
    if least == most and values.numel():
        least, most = int(values.min()), int(values.max())
    if least == most:
        least, most = least - 1, most + 1
    if least > most:
        raise RuntimeError("max must be larger than min")
    wide = values.flatten().long()
    wide = wide[(wide >= least) & (wide <= most)]
    places = ((wide - least) * bins // (most - least)).clamp_(max=bins - 1)
    counts = torch.bincount(places, minlength=bins).to(values.dtype)
    return counts if out is None else out.resize_(counts.shape).copy_(counts)
