"""`torch.compile` runs eagerly: Inductor would generate code for a GPU. The transfers are the same; fusion is not
seen."""

from __future__ import annotations

from typing import Any

from runtime_check.simulate.changes import Changes
from runtime_check.simulate.internals import C, torch
from runtime_check.simulate.notice import once


def install(changes: Changes) -> None:
    """Replace torch.compile and nn.Module.compile."""
    say = once("torch.compile does nothing on the simulated device: the program runs eagerly")

    def compile(model: Any = None, **_options: Any) -> Any:
        say()
        return model if model is not None else lambda function: function

    def compile_module(self: Any, *_args: Any, **_options: Any) -> None:
        say()

    changes.attribute(torch, "compile", compile)
    changes.attribute(torch.nn.Module, "compile", compile_module)
    before = C._jit_can_fuse_on_gpu()
    C._jit_override_can_fuse_on_gpu(False)
    changes.call(lambda: C._jit_override_can_fuse_on_gpu(before))
