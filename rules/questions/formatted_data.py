"""Data sets of the `datasets` library that put each sample on the device: `with_format("torch", device=device)`."""

from __future__ import annotations

from collections.abc import Iterator

from transferlint.flow.facts import FileFacts, FunctionFacts
from transferlint.flow.lattice.values import DEVICE_NAME, HOST, HOST_VALUE
from transferlint.knowledge.datasets import FORMATS, SETTERS
from transferlint.knowledge.torch_names import LOADERS
from transferlint.syntax import program as p
from transferlint.syntax.program import Reg

from ..code.chains import called, method, receiver


def formatted(facts: FileFacts) -> Iterator[tuple[FunctionFacts, Reg, Reg]]:
    """Calls that format a data set for the device, each with a use that takes one sample at a time, in hot code, or
    gives it to a loader: (function, call, use)."""
    if not facts.words & SETTERS or "datasets" not in facts.words:
        return
    for function in facts.functions:
        for reg in function.of(p.Call):
            if method(function, reg) in SETTERS and _on_device(function, reg) and not function.role.cold:
                use = next(_uses(function, reg), None)
                if use is not None:
                    yield function, reg, use


def _on_device(function: FunctionFacts, reg: Reg) -> bool:
    """True for a format of tensors with a `device` that is neither None nor the host."""
    made = function.code[reg]
    if not isinstance(made, p.Call):
        return False
    given = dict(made.keywords)
    kind = given.get("type", made.args[0] if made.args else None)
    form = function.code[kind] if kind is not None else None
    if not isinstance(form, p.Const) or form.value not in FORMATS or "device" not in given:
        return False
    named = function.code[given["device"]]
    place = function.values[given["device"]]
    if isinstance(named, p.Const):
        return isinstance(named.value, int | str) and "cpu" not in str(named.value)
    return not (place.is_a(HOST_VALUE) or (place.is_a(DEVICE_NAME) and place.places == HOST))


def _uses(function: FunctionFacts, reg: Reg) -> Iterator[Reg]:
    """What takes samples of a data set, after the call that formats it."""
    slot = _variable(function, reg)
    for load in function.loads(slot) if slot is not None else ():
        if load < reg:
            continue
        for user in function.users(load):
            made = function.code[user]
            if isinstance(made, p.Call) and load in made.args and called(function, user) in LOADERS:
                yield user
            elif isinstance(made, p.Next) and function.warmth(user).hot:
                yield load
            elif isinstance(made, p.Subscript) and made.object == load and function.loops(user):
                one = not isinstance(function.code[made.index], p.Slice | p.Const)
                yield from (user,) if one else ()


def _variable(function: FunctionFacts, reg: Reg) -> int | None:
    """The variable of a formatted data set: what `with_format` is assigned to, what `set_format` is called on."""
    if method(function, reg) == "set_format":
        base = receiver(function, reg)
        made = function.code[base] if base is not None else None
        return made.slot if isinstance(made, p.Load) else None
    stores = [function.code[user] for user in function.users(reg)]
    return next((made.slot for made in stores if isinstance(made, p.Store)), None)
