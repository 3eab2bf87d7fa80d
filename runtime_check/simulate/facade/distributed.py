"""`torch.distributed` with NCCL: gloo takes its place, over the host memory of the device tensors."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from runtime_check.simulate.changes import Changes
from runtime_check.simulate.facade.device import answering
from runtime_check.simulate.internals import torch
from runtime_check.simulate.notice import once

DEFAULT = "cpu:gloo,cuda:gloo"


def install(changes: Changes) -> None:
    """Replace the functions that take a backend, where torch has distributed at all."""
    if not torch.distributed.is_available():
        return
    from torch.distributed import distributed_c10d

    say = once("nccl is not there on the simulated device: gloo takes its place")

    def replaced(real: Callable[..., Any], place: int) -> Callable[..., Any]:
        @functools.wraps(real)
        def run(*args: Any, **kwargs: Any) -> Any:
            given = list(args)
            backend = given[place] if len(given) > place else kwargs.get("backend")
            named = _without_nccl(backend)
            if backend is not None and named != str(backend).lower():
                say()
            if backend is None and real.__name__ != "init_process_group":
                return real(*args, **kwargs)  # a new group takes the default group's backend
            if len(given) > place:
                given[place] = named
            else:
                kwargs["backend"] = named
            kwargs.pop("device_id", None)
            return real(*given, **kwargs)

        return run

    for module in (torch.distributed, distributed_c10d):
        changes.attribute(module, "is_nccl_available", answering(True))
    for name, place in (("init_process_group", 0), ("new_group", 2)):
        function = replaced(getattr(distributed_c10d, name), place)
        for module in (torch.distributed, distributed_c10d):
            changes.attribute(module, name, function)
    native = torch._C._distributed_c10d
    changes.attribute(native.Logger, "set_runtime_stats_and_log", lambda self: None)  # reads CUDA's events
    if torch.cuda._is_compiled():  # all it does is time the first steps with CUDA's events
        changes.attribute(native.Reducer, "prepare_for_forward", lambda self: None)


def _without_nccl(backend: Any) -> str:
    return DEFAULT if backend is None else str(backend).lower().replace("nccl", "gloo")
