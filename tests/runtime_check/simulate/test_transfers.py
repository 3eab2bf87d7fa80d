"""The programs that mark their transfers make exactly those, seen as a recorder sees them on a GPU."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import pytest
from simulated import outcome

PROGRAMS = Path(__file__).with_name("programs")
MARK = re.compile(r"  # ((?:[hd]2[hd] \d+(?:; )?)+)$")


@pytest.mark.parametrize("name", ["implicit_syncs", "numpy_detours"])
def test_a_program_makes_the_transfers_that_it_marks(name: str) -> None:
    expected = {
        str(number): match[1].split("; ")
        for number, line in enumerate((PROGRAMS / f"{name}.py").read_text().splitlines(), start=1)
        if (match := MARK.search(line))
    }
    assert outcome(__file__, "recorded", True, name=name) == expected


def recorded(name: str) -> dict[int, list[str]]:
    """Line to what crossed there, while the program `name` ran on the device."""
    import torch

    from runtime_check import simulate

    path = PROGRAMS / f"{name}.py"
    seen: dict[int, list[str]] = {}

    def note(direction: str, size: int) -> None:
        frame: Any = sys._getframe(1)
        while frame is not None and frame.f_code.co_filename != str(path):
            frame = frame.f_back
        if frame is not None:
            seen.setdefault(frame.f_lineno, []).append(f"{direction} {size}")

    library = torch.library.Library("aten", "IMPL")
    copy = torch.library.get_kernel("aten::copy_", "CUDA")
    read = torch.library.get_kernel("aten::_local_scalar_dense", "CUDA")

    def copy_(keys: Any, target: Any, source: Any, non_blocking: bool = False) -> Any:
        if target.is_cuda != source.is_cuda and target.numel():
            note("h2d" if target.is_cuda else "d2h", target.numel() * (target if target.is_cuda else source).itemsize)
        return copy.call_boxed(keys, target, source, non_blocking)

    def local_scalar_dense(keys: Any, tensor: Any) -> Any:
        note("d2h", tensor.itemsize)
        return read.call_boxed(keys, tensor)

    library.impl("copy_", copy_, "CUDA", with_keyset=True, allow_override=True)
    library.impl("_local_scalar_dense", local_scalar_dense, "CUDA", with_keyset=True, allow_override=True)
    simulate.start().on_sync(lambda operation, size: note("d2h", size))
    source = compile(path.read_text(), str(path), "exec")
    names: dict[str, Any] = {"__name__": name}
    exec(source, names)
    names["run"]("cuda")
    return seen
