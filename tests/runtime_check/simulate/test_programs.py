"""Programs that say `cuda` compute on the simulated device, bit for bit, what they compute on the CPU."""

from __future__ import annotations

import hashlib
import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest
from simulated import outcome

PROGRAMS = Path(__file__).with_name("programs")
NAMES = sorted(path.stem for path in PROGRAMS.glob("*.py"))


@pytest.mark.parametrize("name", NAMES)
def test_the_simulated_device_computes_what_the_cpu_computes(name: str) -> None:
    on_host = outcome(__file__, "digests", False, name=name, place="cpu")
    on_device = outcome(__file__, "digests", True, name=name, place="cuda")
    assert on_host
    assert on_device == on_host


def digests(name: str, place: str) -> dict[str, list[str]]:
    """A hash of type, shape and bytes of each result of a program."""
    import torch

    results: dict[str, list[Any]] = load(name).run(place)
    for tensor in (tensor for tensors in results.values() for tensor in tensors):
        assert isinstance(tensor, torch.Tensor)
    return {key: [_digest(tensor) for tensor in tensors] for key, tensors in results.items()}


def load(name: str) -> Any:
    """A program, as a module."""
    specification = importlib.util.spec_from_file_location(name, PROGRAMS / f"{name}.py")
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    sys.modules[name] = module
    specification.loader.exec_module(module)
    return module


def _digest(tensor: Any) -> str:
    array = tensor.detach().cpu().contiguous().numpy()
    return f"{array.dtype}{array.shape} {hashlib.sha256(array.tobytes()).hexdigest()[:16]}"
