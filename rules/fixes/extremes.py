"""The fix that finds the largest or smallest of tensors on the device."""

from __future__ import annotations

import re

from transferlint.flow.facts import FunctionFacts
from transferlint.flow.lattice.transfers import Transfer
from transferlint.flow.lattice.values import CONTAINER, HOST_VALUE, ON_DEVICE, SCALAR, TENSOR
from transferlint.model import Edit, Fix, Safety
from transferlint.syntax import program as p
from transferlint.syntax.program import Reg

from ..code import importing, rewriting
from ..code.chains import called

_NAMES = ("builtins.max", "builtins.min")


def extreme(function: FunctionFacts, transfer: Transfer) -> Fix | None:
    """`torch.stack([...]).max()` for `max(tensors)`, `t.max()` for `max(t)`, `torch.clamp(t, min=0)` for `max(t, 0)`;
    None for other reads."""
    reg = transfer.register
    made = function.code[reg]
    if transfer.inside is not None or called(function, reg) not in _NAMES or not isinstance(made, p.Call):
        return None
    if any(made.stars) or made.keywords or not all(function.has_text(r) for r in made.args):
        return None
    name = called(function, reg).rpartition(".")[2]
    torch, imports = importing.torch_name(function, reg)
    if _again(function, reg):
        return None
    if len(made.args) == 2 and torch and not imports and (where := _in_place(function, reg, name, torch)):
        return where
    if len(made.args) == 1:
        new, safety = _of_all(function, made.args[0], name, torch)
    elif len(made.args) == 2:
        new, safety = _of_two(function, reg, name, torch)
    else:
        new, safety = "", Safety.DISPLAY
    if not new or ("torch" not in new.partition("(")[0] and imports) or "#" in function.text(reg):
        return None
    if re.search(r"[\r\n]", new):
        safety = Safety.DISPLAY  # on lines that were laid out for something else
    edit = Edit(*function.span(reg), new)
    return Fix("compare on the device", safety, (*imports, edit) if f"{torch}." in new else (edit,))


def _again(function: FunctionFacts, reg: Reg) -> bool:
    """True where the same is asked elsewhere in the function: one of two would stay."""
    text = function.text(reg)
    return any(
        at != reg and function.has_text(at) and function.text(at) == text and called(function, at) in _NAMES
        for at in function.of(p.Call)
    )


def _in_place(function: FunctionFacts, reg: Reg, name: str, torch: str) -> Fix | None:
    """`torch.clamp(t, min=0)` for `max(t, 0)`, by the name of the function and that of its argument: whatever lines it
    stands on stay; None where the number comes first, and for two tensors."""
    made = function.code[reg]
    new, safety = _of_two(function, reg, name, torch)
    if not isinstance(made, p.Call) or not new.startswith(f"{torch}.clamp(") or "#" in function.text(reg):
        return None
    if not function.values[made.args[0]].is_a(TENSOR):
        return None
    at = function.outer_span(made.args[1])[0]
    bound = "min" if name == "max" else "max"
    edits = (Edit(*function.span(made.function), f"{torch}.clamp"), Edit(at, at, f"{bound}="))
    return Fix("compare on the device", safety, edits)


def _of_all(function: FunctionFacts, reg: Reg, name: str, torch: str) -> tuple[str, Safety]:
    value = function.values[reg]
    if value.is_a(TENSOR):
        text = rewriting.operand(function, reg)
        return (f"{text}.{name}()" if text else ""), Safety.UNSAFE
    made = function.code[reg]
    start, end = function.outer_span(reg)
    text = function.file.text[start:end]
    item = value.item
    if not torch or item is None or not item.is_a(TENSOR):
        return "", Safety.DISPLAY
    if isinstance(made, p.Collect) and made.kind in ("generator", "list"):
        bare = text.removeprefix("(").removesuffix(")") if text.startswith("(") and made.kind == "generator" else text
        listed = bare if bare.startswith("[") else f"[{bare}]"
        return f"{torch}.stack({listed}).{name}()", Safety.UNSAFE
    if value.is_a(CONTAINER) and isinstance(made, p.Load | p.Outer | p.Attr):
        return f"{torch}.stack(list({text})).{name}()", Safety.UNSAFE
    return "", Safety.DISPLAY


def _of_two(function: FunctionFacts, reg: Reg, name: str, torch: str) -> tuple[str, Safety]:
    """Of a tensor and a number, or of two tensors."""
    made = function.code[reg]
    assert isinstance(made, p.Call)
    tensors = [r for r in made.args if function.values[r].is_a(TENSOR) and function.values[r].places & ON_DEVICE]
    if not tensors or not torch:
        return "", Safety.DISPLAY
    texts = [_argument(function, r) for r in made.args]
    values = [function.values[r] for r in made.args]
    if all(v.is_a(TENSOR) for v in values):
        both = all(v.flags & SCALAR and v.places & ON_DEVICE for v in values)
        safety = Safety.UNSAFE if both else Safety.DISPLAY
        return f"{torch}.{name}imum({', '.join(texts)})", safety
    number = next(r for r in made.args if r not in tensors)
    bound = "min" if name == "max" else "max"
    sure = function.values[number].is_a(HOST_VALUE) and not function.values[number].reads
    sure &= _computed_with(function, reg) and not any(called(function, r) in _NAMES for r in made.args)
    ordered = (texts[made.args.index(tensors[0])], f"{bound}={texts[made.args.index(number)]}")
    return f"{torch}.clamp({', '.join(ordered)})", Safety.UNSAFE if sure else Safety.DISPLAY


def _argument(function: FunctionFacts, reg: Reg) -> str:
    """The text of an argument, without brackets around the whole that a call does not need."""
    bare = isinstance(function.code[reg], p.Binary | p.Unary | p.Call | p.Attr | p.Subscript | p.Load)
    return function.text(reg) if bare else function.outer_text(reg)


def _computed_with(function: FunctionFacts, reg: Reg, depth: int = 4) -> bool:
    """True where a tensor serves as well as a number: it is computed with, or given back; what a call is given may have
    to be a number."""
    for user in function.users(reg):
        made = function.code[user]
        if isinstance(made, p.Binary | p.Unary | p.Return):
            continue
        if not isinstance(made, p.Store) or depth == 0:
            return False
        loads = function.loads(made.slot)
        if not loads or not all(_computed_with(function, load, depth - 1) for load in loads):
            return False
    return True
