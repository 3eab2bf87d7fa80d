"""torch.backends and the profiler: CUDA is built, cuDNN is there to be asked, and C++ never chooses it."""

from __future__ import annotations

import types

from runtime_check.simulate.changes import Changes
from runtime_check.simulate.facade.device import answering
from runtime_check.simulate.internals import C, torch

CUDNN_VERSION = 91002
NCCL_VERSION = (2, 27, 3)


def install(changes: Changes) -> None:
    """Replace the questions; what users set is kept and read back."""
    cudnn = torch.backends.cudnn
    changes.attribute(torch.backends.cuda, "is_built", answering(True))
    for name, value in (("is_available", True), ("is_acceptable", False), ("version", CUDNN_VERSION)):
        # torch.backends.cudnn is a module that hands unknown names on to the real one
        changes.attribute(cudnn, name, answering(value))
    changes.attribute(torch.cuda.nccl, "version", answering(NCCL_VERSION))
    if torch.cuda._is_compiled():
        _pretend_enabled(changes)
    _profile_host(changes)


def _profile_host(changes: Changes) -> None:
    """The profiler would ask CUDA for an event at every operator, and complain of each that it did not get."""
    profiler = torch.autograd.profiler
    kinds = {name: kind for name, kind in profiler.ProfilerState.__members__.items()}
    kinds["KINETO_GPU_FALLBACK"] = profiler.ProfilerState.KINETO
    changes.attribute(profiler, "ProfilerState", types.SimpleNamespace(**kinds))


def _pretend_enabled(changes: Changes) -> None:
    """cuDNN is off in C++, and says what the user set."""
    before = C._get_cudnn_enabled()
    C._set_cudnn_enabled(False)
    changes.call(lambda: C._set_cudnn_enabled(before))
    said = [before]
    changes.attribute(C, "_get_cudnn_enabled", lambda: said[0])
    changes.attribute(C, "_set_cudnn_enabled", lambda value: said.__setitem__(0, bool(value)))
    kind = type(torch.backends.cudnn)
    if "enabled" in vars(kind):
        changes.attribute(kind, "enabled", property(lambda self: said[0], lambda self, v: said.__setitem__(0, bool(v))))
