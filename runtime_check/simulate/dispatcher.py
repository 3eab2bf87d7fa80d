"""Every operator's kernel at the CUDA key, put into torch's dispatcher."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from runtime_check.simulate import collectives, composites, declarations, layouts, ordinals, own_kernels, quantized
from runtime_check.simulate.changes import Changes
from runtime_check.simulate.cuda_wheel import missing, refusing
from runtime_check.simulate.forge import Forge
from runtime_check.simulate.internals import FOLDER, C, has_kernel, operator
from runtime_check.simulate.kernels import Maker

ON_HOST = (  # C++ composes them by asking the device; the CPU's way is taken whole
    *("convolution", "convolution_backward", "_convolution"),
    *("_amp_foreach_non_finite_check_and_unscale_", "_amp_update_scale_"),
    *("kaiser_window", "kaiser_window.periodic", "kaiser_window.beta"),
)


def install(changes: Changes, forge: Forge, report: Callable[[str, int], None]) -> set[str]:
    """Register the kernels; the answer is the operators ("aten::add.Tensor") that got one."""
    maker = Maker(forge, declarations.read(FOLDER), report)
    own = own_kernels.table(forge)
    host_only = (name for name, declared in maker.declarations.items() if declared.host_only)
    own.update((name, refusing(missing(f"aten::{name}", "CUDA"))) for name in host_only)
    done: set[str] = set()
    for name in C._dispatch_get_all_op_names():
        namespace, _, rest = name.partition("::")
        if namespace != "aten":
            continue
        kernel = own.get(rest) or _host_kernel(maker, name, rest)
        if kernel is not None:
            changes.kernel(name, kernel)
            done.add(name)
    for name in (*composites.RECURRENT, *composites.ATTENTION):
        changes.kernel(f"aten::{name}", composites.kernel(operator(name), name, forge), "AutogradCUDA")
    _of_parts(changes, maker)
    _quantized(changes, maker)
    _fall_back(changes, maker)
    collectives.install(changes, forge)
    os.register_at_fork(after_in_child=forge.close)
    return done


def _host_kernel(maker: Maker, name: str, rest: str) -> Callable[..., Any] | None:
    on_host = has_kernel(name, "CPU")
    if not (on_host or rest in ON_HOST or rest.startswith("_foreach_")):
        return None
    if not on_host and has_kernel(name, "CompositeImplicitAutograd"):
        return None
    try:
        return maker.kernel(operator(rest))
    except AttributeError:  # names that the dispatcher knows and Python does not
        return None


def _of_parts(changes: Changes, maker: Maker) -> None:
    """The kernels for sparse and nested tensors: every operator that has one for those on the host."""
    for name in C._dispatch_get_all_op_names():
        namespace, _, rest = name.partition("::")
        for key, host_key in layouts.HOST_KEYS.items():
            if namespace != "aten" or {rest, f"{rest} of {key}"} & layouts.HOST_ONLY:
                continue
            if has_kernel(name, host_key):
                op = operator(rest)
                on_parts = rest in layouts.ON_PARTS
                kernel = own_kernels.at_host_key(op, host_key) if on_parts else maker.kernel(op, of_parts=True)
                changes.kernel(name, ordinals.guarded(kernel), key)


def _quantized(changes: Changes, maker: Maker) -> None:
    """The kernels for quantised tensors: what CUDA has one for, and the CPU too."""
    for name, declared in maker.declarations.items():
        if quantized.KEY in declared.backends and has_kernel(f"aten::{name}", quantized.HOST_KEY):
            op = operator(name)
            on_object = name in quantized.ON_OBJECT
            kernel = own_kernels.at_host_key(op, quantized.HOST_KEY) if on_object else maker.kernel(op)
            changes.kernel(f"aten::{name}", ordinals.guarded(kernel), quantized.KEY)
    changes.kernel("aten::copy_", quantized.copying(maker.forge.host, maker.forge.device), quantized.KEY)


def _fall_back(changes: Changes, maker: Maker) -> None:
    """Operators of other libraries that have a kernel for the CPU run there too."""
    made: dict[Any, Callable[..., Any]] = {}

    def run(op: Any, *args: Any, **kwargs: Any) -> Any:
        if op not in made:
            made[op] = maker.kernel(op)
        return made[op](*args, **kwargs)

    changes.library("_").fallback(run, "CUDA")
