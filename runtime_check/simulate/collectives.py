"""Collectives of `torch.distributed` on device tensors: gloo works on the host memory under them, so results of
in-place collectives land in the device tensors. No copies are recorded for them: NCCL, which they stand for, makes
none."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from runtime_check.simulate.changes import Changes
from runtime_check.simulate.forge import Forge, is_device
from runtime_check.simulate.internals import C, has_kernel, operator, torch

REDUCED = "c10d::allreduce_"


def install(changes: Changes, forge: Forge) -> None:
    """Register kernels for all of c10d's operators that have one for CUDA, where torch has distributed at all."""
    if not torch.distributed.is_available():
        return
    for name in C._dispatch_get_all_op_names():
        if name.startswith("c10d::") and has_kernel(name, "CUDA"):
            changes.kernel(name, _kernel(operator(name.removeprefix("c10d::"), "c10d"), forge, name == REDUCED))
    work: Any = torch._C._distributed_c10d.Work
    changes.attribute(work, "wait", _waiting(work.wait))


def _kernel(op: Any, forge: Forge, reduced: bool) -> Callable[..., Any]:
    def host(value: Any) -> Any:
        if is_device(value):
            return forge.host(value)
        return [host(one) for one in value] if isinstance(value, (list, tuple)) else value

    def run(*args: Any, **kwargs: Any) -> Any:
        result = op(*[host(value) for value in args], **{name: host(value) for name, value in kwargs.items()})
        if isinstance(result, tuple) and len(result) == 2:
            work = _giving(result[1], args[0]) if reduced and all(map(is_device, args[0])) else result[1]
            return args[0], work  # the caller's own tensors
        return result

    return run


def _giving(boxed: Any, tensors: Any) -> Any:
    """Work whose future gives the device tensors: DDP's reducer goes on with what the future gives
    (torch/csrc/distributed/c10d/reducer.cpp: finalize_backward)."""

    def give(finished: Any) -> Any:
        finished.value()  # raises what the collective raised
        return list(tensors)

    native: Any = torch._C._distributed_c10d
    return native._create_work_from_future(native.Work.unbox(boxed).get_future().then(give)).boxed()


def _waiting(real: Callable[..., Any]) -> Callable[..., Any]:
    """`Work.wait`: that of work made from a future does not raise what the future holds."""

    @functools.wraps(real)
    def wait(work: Any, *args: Any, **kwargs: Any) -> Any:
        answer = real(work, *args, **kwargs)
        try:
            future = work.get_future()
        except RuntimeError:  # not every work has one
            return answer
        if future.done():
            future.value()
        return answer

    return wait
