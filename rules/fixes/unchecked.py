"""The fixes of calls of torch that look at their data: the forms of the same functions that do not."""

from __future__ import annotations

from transferlint.flow.facts import FunctionFacts
from transferlint.flow.lattice.transfers import Transfer
from transferlint.flow.lattice.values import TENSOR
from transferlint.knowledge.api import Effect
from transferlint.model import Edit, Fix, Safety
from transferlint.syntax import program as p
from transferlint.syntax.program import Reg

from ..code import arguments, importing, statement_text
from ..code.chains import called, method, receiver
from ..questions import own_checks
from . import truth_text

# The forms that give what went wrong back as a tensor (docs.pytorch.org torch.linalg), and where their result is.
_FORMS = {
    "torch.linalg.inv": ("inv_ex", "inverse"),
    "torch.inverse": ("inv_ex", "inverse"),
    "torch.linalg.solve": ("solve_ex", "result"),
    "torch.linalg.cholesky": ("cholesky_ex", "L"),
}


def unchecked(function: FunctionFacts, transfer: Transfer) -> Fix | None:
    """`Categorical(logits=x, validate_args=False)`, and `torch.linalg.solve_ex(a, b).result`; None for others."""
    reg = transfer.register
    made, row = function.code[reg], own_checks.looks(function, transfer)
    if row is None or not isinstance(made, p.Call) or any(made.stars) or any(not key for key, _ in made.keywords):
        return None
    start, end = function.span(reg)
    if function.file.spans.commented(start, end):
        return None
    if row.effect == Effect.VALIDATES:
        return _trusted(function, reg, made)
    torch, imports = importing.torch_name(function, reg)
    name = called(function, reg)
    if not torch:
        return None
    if name == "torch.normal" and len(made.args) == 2 and not made.keywords:
        if not function.values[made.args[1]].is_a(TENSOR):
            return None
        text = statement_text.in_place(function, start, end, _drawn(function, made, torch))
        plain = isinstance(function.code[made.args[1]], p.Load | p.Outer | p.Attr)
        safety = Safety.UNSAFE if plain or text.startswith(f"{torch}.randn_like(") else Safety.DISPLAY
        return Fix("draw from the standard normal distribution", safety, (*imports, Edit(start, end, text)))
    inner = receiver(function, reg)
    title = "skip the error check"
    if method(function, reg) == "inverse" and inner is not None and not made.args:
        text = f"{torch}.linalg.inv_ex({function.outer_text(inner)}).inverse"
        return Fix(title, Safety.DISPLAY, (*imports, Edit(start, end, text)))
    if name not in _FORMS or any(key == "out" for key, _ in made.keywords):
        return None
    form, field = _FORMS[name]
    edits = (Edit(*function.span(made.function), f"{torch}.linalg.{form}"), Edit(end, end, f".{field}"))
    return Fix(title, Safety.DISPLAY, (*imports, *edits))


def _drawn(function: FunctionFacts, made: p.Call, torch: str) -> str:
    """`torch.normal(mean, std)` from numbers that are drawn of no matter what."""
    mean, std = (function.outer_text(r) for r in made.args)
    calls = [one for r in made.args if isinstance(one := function.code[r], p.Call) and len(one.args) == 1]
    names = [called(function, r) for r in made.args]
    like = {function.outer_text(call.args[0]) for call in calls if not call.keywords}
    if names == ["torch.zeros_like", "torch.ones_like"] and len(like) == 1 and len(calls) == 2:
        return f"{torch}.randn_like({like.pop()})"
    noise = f"{torch}.randn_like({std})"
    scaled = noise if names[1] == "torch.ones_like" else f"{truth_text.factor(function, made.args[1])} * {noise}"
    centred = names[0] == "torch.zeros_like" or _zero(function, made.args[0])
    return scaled if centred else f"{mean} + {scaled}"


def _zero(function: FunctionFacts, reg: Reg) -> bool:
    made = function.code[reg]
    return isinstance(made, p.Const) and type(made.value) in (int, float) and made.value == 0


def _trusted(function: FunctionFacts, reg: Reg, made: p.Call) -> Fix | None:
    """`validate_args=False` among the arguments of a distribution."""
    if any(key == "validate_args" for key, _ in made.keywords):
        return None
    edit = arguments.added(function, reg, "validate_args=False")
    return Fix("skip the argument check", Safety.DISPLAY, (edit,)) if edit is not None else None
