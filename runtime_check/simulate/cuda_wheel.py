"""Torch builds with CUDA in them, on a machine without a driver: their real kernels are there, and none of them may
ever see host memory that calls itself a device's. Every operator with a CUDA kernel that was not replaced runs on the
host where it can be composed of others, and refuses by name where not. What the host has no kernels for, among them
all of quantized tensors on CUDA, is refused in a CPU build's words."""

from __future__ import annotations

import functools
import importlib.machinery
import warnings
from collections.abc import Callable
from typing import Any

from runtime_check.simulate import declarations
from runtime_check.simulate.changes import Changes
from runtime_check.simulate.forge import Forge
from runtime_check.simulate.internals import FOLDER, C, has_kernel, operator, torch
from runtime_check.simulate.kernels import Maker

NOT_THERE = ("SparseCUDA", "SparseCsrCUDA", "QuantizedCUDA", "NestedTensorCUDA")
COMPOSED = ("CPU", "CompositeImplicitAutograd", "CompositeExplicitAutograd")


def install(changes: Changes, forge: Forge, report: Callable[[str, int], None], kept: set[str]) -> None:
    """Replace every CUDA kernel but those of the operators in `kept`, which are ours already; and then those that
    libraries bring which are loaded later."""
    maker = Maker(forge, declarations.read(FOLDER), report)
    refused: set[tuple[str, str]] = set()

    def replace() -> None:
        for name in C._dispatch_get_all_op_names():
            namespace, _, rest = name.partition("::")
            for key in NOT_THERE:
                ours = (name, key) in refused or (name, key) in changes.kernels
                if not ours and _registered(name, key):
                    refused.add((name, key))
                    changes.kernel(name, refusing(missing(name, key)), key)
            if name in kept or namespace == "c10d" or not has_kernel(name, "CUDA") or not _registered(name, "CUDA"):
                continue
            kept.add(name)
            changes.kernel(name, _kernel(maker, name, namespace, rest))
            if name == "aten::_fused_rms_norm":
                from runtime_check.simulate import composites

                changes.kernel(name, composites.kernel(operator(rest), rest, forge), "AutogradCUDA")

    replace()
    after_loading(changes, replace)


def after_loading(changes: Changes, replace: Callable[[], None]) -> None:
    """Call it whenever a library may have registered operators: an extension module was imported, or torch was asked
    to load one (both end in dlopen, in which the registrations of TORCH_LIBRARY run)."""
    count = len(C._dispatch_get_all_op_names())

    def loaded(original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def load(*args: Any, **kwargs: Any) -> Any:
            nonlocal count
            found = original(*args, **kwargs)
            now = len(C._dispatch_get_all_op_names())
            if now != count:
                count = now
                with warnings.catch_warnings():
                    warnings.filterwarnings("ignore", message="(?s).*previously registered kernel")
                    replace()
            return found

        return load

    loader = importlib.machinery.ExtensionFileLoader
    changes.attribute(loader, "create_module", loaded(loader.create_module))
    operators = type(torch.ops)
    changes.attribute(operators, "load_library", loaded(operators.load_library))


def _registered(name: str, key: str) -> bool:
    """Whether the operator has a kernel at the very key, not one for all keys."""
    return any(line.startswith(f"{key}: ") for line in C._dispatch_dump(name).splitlines())


def _kernel(maker: Maker, name: str, namespace: str, rest: str) -> Callable[..., Any]:
    if any(has_kernel(name, key) for key in COMPOSED):
        try:
            return maker.kernel(operator(rest, namespace))
        except AttributeError:  # the dispatcher knows it and Python does not
            pass
    return refusing(f"the simulated CUDA device has no {name}: torch has no implementation of it for the CPU")


def missing(name: str, key: str) -> str:
    """Torch's words for an operator without a kernel (c10/core/dispatch/OperatorEntry.cpp)."""
    return (
        f"Could not run '{name}' with arguments from the '{key}' backend. This could be because the operator doesn't "
        "exist for this backend, or was omitted during the selective/custom build process"
    )


def refusing(why: str) -> Callable[..., Any]:
    """A kernel that raises NotImplementedError."""

    def kernel(*args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(why)

    return kernel
