"""Names of torch, or of another module, replaced for a while, and put back as they were."""

from __future__ import annotations

import os
import sys
import types
from collections.abc import Callable
from typing import Any

from runtime_check.hooks import device

_ABSENT = object()
_OURS = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep


def replace(owner: Any, name: str, make: Callable[[Any], Any]) -> Callable[[], None]:
    """Replace `owner.name` by what `make` makes of it, and give what undoes it.

    A name that `owner` only inherits is deleted again. Where somebody has replaced ours since, theirs stays, and ours,
    which then only hands on, with it. Nothing is done where there is no such name or torch's class takes no names.
    """
    before = vars(owner).get(name, _ABSENT)
    current = getattr(owner, name, _ABSENT)
    if current is _ABSENT:
        return _nothing
    ours = make(current)
    try:
        setattr(owner, name, ours)
    except TypeError:  # a class in C that cannot be changed
        return _nothing
    scripts = isinstance(owner, types.ModuleType) and "torch" in sys.modules
    forget = _scripted_as(current, ours) if scripts else _nothing

    def undo() -> None:
        forget()
        if vars(owner).get(name) is not ours:
            return
        if before is _ABSENT:
            delattr(owner, name)
        else:
            setattr(owner, name, before)

    return undo


def _scripted_as(known: Any, ours: Any) -> Callable[[], None]:
    """TorchScript finds its operators by the identity of torch's functions (torch/jit/_builtins.py), also in the
    modules of torch that are scripted while they are imported: have it take ours for the one that it replaces."""
    from torch.jit import _builtins

    scripts: Any = _builtins
    operator = scripts._find_builtin(known)
    if operator is None:
        return _nothing
    scripts._register_builtin(ours, operator)

    def forget() -> None:
        scripts._get_builtin_table().pop(id(ours), None)

    return forget


def prepare() -> None:
    """Before functions of torch are replaced: have torch._dynamo, where it is loaded, fill those of its tables that
    hold the functions themselves. It then follows a call of ours to the function that it knows."""
    for table in _tables():
        if table is not None:
            table()


def restore() -> None:
    """After they were put back: where torch._dynamo was loaded meanwhile, its tables hold ours, and are emptied for it
    to fill anew."""
    rules, handlers = _tables()
    if rules is not None and any(_is_ours(function) for function in rules()):
        rules.cache_clear()
        if handlers is not None:
            handlers.cache_clear()


def _tables() -> tuple[Any, Any]:
    """Rules by function, and what handles some functions itself; on the simulated device nothing is compiled."""
    if device.simulation() is not None:
        return None, None
    rules: Any = sys.modules.get("torch._dynamo.trace_rules")
    variables: Any = sys.modules.get("torch._dynamo.variables.torch")
    known = getattr(variables, "TorchInGraphFunctionVariable", None)
    return getattr(rules, "get_torch_obj_rule_map", None), getattr(known, "_get_handlers", None)


def _is_ours(function: object) -> bool:
    code = getattr(function, "__code__", None)
    return code is not None and code.co_filename.startswith(_OURS)


def _nothing() -> None:
    """Nothing was replaced."""
