"""What loaders give: whether it lies in pinned memory, which `pin_memory` says, and what a collate function makes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from transferlint.flow.dataflow.once import once
from transferlint.flow.lattice.values import (
    CONTAINER,
    DATA,
    FRESH,
    KEPT,
    LITERAL,
    NAME,
    NOTHING,
    OBJECT,
    OPTIONAL,
    PINNED,
    TENSOR,
    UNKNOWN,
    Value,
)
from transferlint.syntax.program import (
    Attr,
    Call,
    Choice,
    Const,
    Function,
    Load,
    Mapping,
    Outer,
    Reg,
    SetItem,
    Slot,
    Store,
)

if TYPE_CHECKING:
    from transferlint.flow.placement.frame import Frame

_DICTS = 32  # how many are looked through for one call
_ASKING = frozenset({"get", "pop", "getattr"})


def pinning(frame: Frame, made: Call) -> int:
    """The flags that the `pin_memory` of a call gives its result: 0 where it is not given or literally False, and
    OPTIONAL beside PINNED where it is on only if somebody asks for it."""
    keywords = dict(made.keywords)
    if "pin_memory" in keywords:
        given: tuple[Reg, ...] = (keywords["pin_memory"],)
    elif "" in keywords:
        given = _given(frame.function, _first(frame.function, keywords[""]))
    else:
        return 0
    for at in given:
        said = frame.code[at]
        if isinstance(said, Const) and said.value:
            return PINNED
        if not isinstance(said, Const):
            return PINNED | (OPTIONAL if _off_by_default(frame, at) else 0)
    return 0


def collated(frame: Frame, function: Reg | None, pinned: int) -> Value | None:
    """What a loader gives whose batches a function of the checked source makes; None where that is not known. What an
    object of the program holds is pinned by its own method alone (docs.pytorch.org torch.utils.data, Memory
    Pinning)."""
    named = frame.values[function] if function is not None else NOTHING
    found = frame.file.located(frame.file.names.resolved(named.name)) if named.kinds == NAME else None
    placed = found[0].place(found[1]) if found is not None else None
    returns = placed.returns.foreign() if placed is not None and placed.returns is not None else NOTHING
    if returns.kinds == OBJECT and returns.name:
        return returns
    return _loaded(returns, pinned) if returns.kinds == CONTAINER and not returns.on_device else None


def _loaded(value: Value, pinned: int) -> Value:
    """What a collate function gives, and what is in it: data that changes from step to step."""
    flags = value.flags & ~(FRESH | LITERAL | KEPT)
    if value.kinds & (TENSOR | UNKNOWN):
        flags |= DATA | pinned
    return Value(
        value.kinds, value.places, flags, (),
        _loaded(value.item, pinned) if value.item is not None else None,
        tuple(_loaded(one, pinned) for one in value.items) if value.items is not None else None,
        value.name,
        fields=value.fields and tuple((name, _loaded(one, pinned)) for name, one in value.fields),
    )  # fmt: skip


def _first(function: Function, reg: Reg) -> Reg:
    """The first reading of the variable that a register reads; the register itself where it reads none."""
    made = function.code[reg]
    return function.lookup.about(Load, made.slot)[0] if isinstance(made, Load) else reg


@once
def _given(function: Function, mapping: Reg) -> tuple[Reg, ...]:
    """What a dict may hold under `pin_memory`: displays and calls of `dict`, by variables and with what is put into
    them, in either arm of `... if cuda else {}`."""
    found: list[Reg] = []
    pending, seen = [mapping], set[Reg]()
    while pending and len(seen) < _DICTS:
        at = _first(function, pending.pop())
        if at in seen:
            continue
        seen.add(at)
        made = function.code[at]
        if isinstance(made, Mapping):
            for name, value in zip(made.keys, made.values, strict=True):
                if name is None:
                    pending.append(value)
                elif function.code[name] == Const("pin_memory"):
                    found.append(value)
        elif isinstance(made, Call) and function.code[made.function] == Outer("dict"):
            found += [value for name, value in made.keywords if name == "pin_memory"]
        elif isinstance(made, Choice):
            pending += [made.orelse, made.body]
        elif isinstance(made, Load):
            values, more = _put_in(function).get(made.slot, ((), ()))
            found += values
            pending += more
            stores = (function.code[one] for one in function.lookup.about(Store, made.slot))
            pending += [store.value for store in stores if isinstance(store, Store)]
    return tuple(found)


@once
def _put_in(function: Function) -> dict[Slot, tuple[list[Reg], list[Reg]]]:
    """By the variable of a dict, what is put into it as `pin_memory`, and which dicts are: `kwargs["pin_memory"] =
    True`, `kwargs.update(pin_memory=True)`, `kwargs.update(more)`."""
    code, found = function.code, dict[Slot, tuple[list[Reg], list[Reg]]]()
    for at in function.lookup.of(SetItem):
        put = code[at]
        into = code[put.object] if isinstance(put, SetItem) and code[put.index] == Const("pin_memory") else None
        if isinstance(put, SetItem) and isinstance(into, Load):
            found.setdefault(into.slot, ([], []))[0].append(put.value)
    for at in function.lookup.of(Call):
        call = code[at]
        callee = code[call.function] if isinstance(call, Call) else None
        into = code[callee.object] if isinstance(callee, Attr) and callee.name == "update" else None
        if isinstance(call, Call) and isinstance(into, Load):
            values, more = found.setdefault(into.slot, ([], []))
            values += [value for name, value in call.keywords if name == "pin_memory"]
            more += call.args
    return found


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
