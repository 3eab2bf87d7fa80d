"""A tensor of torch that another framework takes by way of the host: shared by DLPack instead, which copies nothing."""

from __future__ import annotations

from transferlint.flow.facts import FunctionFacts
from transferlint.knowledge.framework import Framework
from transferlint.model import Edit, Fix, Safety
from transferlint.syntax import program as p
from transferlint.syntax.program import Reg

from ..code import importing, rewriting
from ..code.chains import called, method, receiver

_WAY = frozenset({"cpu", "numpy", "contiguous"})  # methods that only bring data to the host as it is
_ARRAYS = ("numpy.asarray", "numpy.array", "numpy.ascontiguousarray")


def shared(function: FunctionFacts, up: Reg, other: Framework) -> Fix | None:
    """The upload written with DLPack, only shown: other names for the memory see what is written to it
    (data-apis.org array API, `from_dlpack`). None where more is done on the way, or the call has options."""
    made = function.code[up]
    if not isinstance(made, p.Call) or len(made.args) != 1 or made.keywords or not called(function, up):
        return None
    text = rewriting.operand(function, _start(function, made.args[0]))
    root = function.text(made.function).rpartition(".")[0]
    if not text or not root or _start(function, made.args[0]) == made.args[0]:
        return None
    if called(function, up).startswith("tensorflow."):
        torch, imports = importing.torch_name(function, up)
        text = f"{root}.experimental.dlpack.from_dlpack({torch}.utils.dlpack.to_dlpack({text}))" if torch else ""
    else:
        text, imports = f"{root}.from_dlpack({text})", ()
    edit = Edit(*function.span(up), text)
    return Fix(f"share the memory with {other.title}", Safety.DISPLAY, (*imports, edit)) if text else None


def _start(function: FunctionFacts, reg: Reg) -> Reg:
    """The tensor of which `t.cpu().numpy()` or `np.asarray(t.cpu())` is the data on the host."""
    while isinstance(made := function.code[reg], p.Call):
        base = receiver(function, reg)
        if base is not None and method(function, reg) in _WAY and not made.args and not made.keywords:
            reg = base
        elif called(function, reg) in _ARRAYS and len(made.args) == 1 and not made.keywords:
            reg = made.args[0]
        else:
            break
    return reg
