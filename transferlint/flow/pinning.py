"""Whether what a call makes lies in pinned memory: what its `pin_memory` says."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from transferlint.flow.values import OPTIONAL, PINNED
from transferlint.syntax.program import Attr, Call, Choice, Const, Load, Mapping, Outer, Reg, SetItem, Store

if TYPE_CHECKING:
    from transferlint.flow.frame import Frame

_DEPTH = 4
_ASKING = frozenset({"get", "pop", "getattr"})


def pinning(frame: Frame, made: Call) -> int:
    """The flags that the `pin_memory` of a call gives its result: 0 where it is not given or literally False, and
    OPTIONAL beside PINNED where it is on only if somebody asks for it."""
    keywords = dict(made.keywords)
    given = keywords.get("pin_memory")
    if given is None and "" in keywords:
        given = next((at for mapping in _mappings(frame, keywords[""], _DEPTH) for at in mapping), None)
    if given is None:
        return 0
    said = frame.code[given]
    if isinstance(said, Const):
        return PINNED if said.value else 0
    return PINNED | (OPTIONAL if _off_by_default(frame, given) else 0)


def _mappings(frame: Frame, reg: Reg, depth: int) -> Iterator[list[Reg]]:
    """What the dicts that `**value` may be say of `pin_memory`: displays and calls of `dict`, by a variable and with
    what is put into it later, in either arm of `... if cuda else {}`."""
    made, code = frame.code[reg], frame.code
    if isinstance(made, Mapping):
        pairs = zip(made.keys, made.values, strict=True)
        yield [value for key, value in pairs if key is not None and code[key] == Const("pin_memory")]
        for key, value in zip(made.keys, made.values, strict=True):
            if key is None and depth:
                yield from _mappings(frame, value, depth - 1)
    elif isinstance(made, Call) and code[made.function] == Outer("dict"):
        yield [value for key, value in made.keywords if key == "pin_memory"]
    elif isinstance(made, Choice) and depth:
        yield from _mappings(frame, made.body, depth - 1)
        yield from _mappings(frame, made.orelse, depth - 1)
    elif isinstance(made, Load) and depth:
        for at in frame.function.lookup.about(Store, made.slot):
            if isinstance(store := code[at], Store) and store.value < reg:
                yield from _mappings(frame, store.value, depth - 1)
        yield from _put_in(frame, made, depth)


def _put_in(frame: Frame, variable: Load, depth: int) -> Iterator[list[Reg]]:
    """What is put into the dict in a variable: `kwargs["pin_memory"] = True`, `kwargs.update(more)`."""
    code = frame.code
    for at in frame.function.lookup.of(SetItem):
        if isinstance(put := code[at], SetItem) and code[put.object] == variable:
            yield [put.value] if code[put.index] == Const("pin_memory") else []
    for at in frame.function.lookup.of(Call):
        call = code[at]
        callee = code[call.function] if isinstance(call, Call) else None
        if not isinstance(call, Call) or not isinstance(callee, Attr) or callee.name != "update":
            continue
        if code[callee.object] == variable:
            yield [value for key, value in call.keywords if key == "pin_memory"]
            for one in call.args:
                yield from _mappings(frame, one, depth - 1)


def _off_by_default(frame: Frame, reg: Reg) -> bool:
    """True for an option that is False where nobody says more: `config.get("pin_memory", False)`, or an argument."""
    made = frame.code[reg]
    if isinstance(made, Load):
        defaults = [one.default for one in frame.function.parameters if one.slot == made.slot]
        return defaults == ["False"] and not frame.function.lookup.about(Store, made.slot)
    if not isinstance(made, Call) or len(made.args) < 2:
        return False
    callee, default = frame.code[made.function], frame.code[made.args[-1]]
    asks = isinstance(callee, Attr | Outer) and callee.name in _ASKING
    return asks and isinstance(default, Const) and default.value is False
