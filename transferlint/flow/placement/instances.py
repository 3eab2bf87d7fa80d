"""Objects of the classes of the checked source: what a call of a class makes, and what its constructor is told."""

from __future__ import annotations

from typing import TYPE_CHECKING

from transferlint.flow.callgraph.names import ClassInfo, ident
from transferlint.flow.lattice.values import (
    ANYWHERE,
    HOST,
    MODULE,
    NOTHING,
    OBJECT,
    RESIDENT,
    UNKNOWN,
    Fields,
    Value,
    framework_flag,
    with_field,
)
from transferlint.flow.placement import effects, foreign, given_by
from transferlint.flow.placement.frame import Frame
from transferlint.knowledge.torch_names import OWN_CALLS
from transferlint.syntax.program import Call, Reg, Slot

if TYPE_CHECKING:
    from transferlint.flow.placement.placed_file import PlacedFile

    _Field = tuple[PlacedFile, int, Slot]  # the class that annotates it, and where


def instance(frame: Frame, reg: Reg, made: Call, info: ClassInfo) -> Value:
    """What `cls(...)` gives in a class method: an object of the class, or of one that derives from it."""
    found = construct(frame, reg, made, frame.file, info.index)
    return found.but(kinds=MODULE | UNKNOWN) if info.module else found


def construct(frame: Frame, reg: Reg, made: Call, owner: PlacedFile, index: int) -> Value:
    """An instance of a class of the checked source."""
    info = owner.classes.get(index)
    if info is None:
        return NOTHING
    init = info.methods.get("__init__")
    if init is not None:
        frame.calls[reg] = init
        _tell_constructor(frame, reg, made, init)
    name = ident(owner.key, index)
    framework = owner.tracing.classes.get(index)
    if framework is not None:
        flags = framework_flag(framework.name) | RESIDENT
        return Value(MODULE, foreign.place(frame, framework), flags, (reg,), name=name)
    if info.module:
        return Value(MODULE, effects.created_on(frame, made) or HOST, why=(reg,), name=name)
    if info.data:
        return Value(OBJECT | UNKNOWN, HOST, name=name)
    return _record(frame, reg, made, info, name) if init is None else Value(OBJECT, ANYWHERE, name=name)


def _record(frame: Frame, at: Reg, made: Call, info: ClassInfo, name: str) -> Value:
    """An instance of a class (`name` is its ident) whose constructor is written nowhere, as of a dataclass, a named
    tuple or a model of pydantic, made in the register `at`: it keeps its arguments under the names that the class
    annotates (docs.python.org dataclasses: "in the order in which they are defined", those of base classes first)."""
    order: dict[str, _Field] = {}
    whole = _annotated(frame, name, order, set())
    if any(made.stars) or not order:
        return Value(OBJECT, ANYWHERE, name=name)
    given = dict(zip(order, made.args, strict=False)) if whole else {}
    given.update((key, reg) for key, reg in made.keywords if key in order)
    fields: Fields | None = ()
    for key, reg in given.items():
        fields = with_field(fields, key, frame.values[reg])
        owner, index, slot = order[key]
        if not _is_cold(frame):
            site = (frame.file.key, frame.function.index, at)
            owner.callers.tell(index, slot, given_by.told(frame, frame.values[reg]), site)
    held = tuple(frame.values[given[key]] if key in given else NOTHING for key in order)
    parts = held if _is_named_tuple(info) else None
    return Value(OBJECT, ANYWHERE, name=name, items=parts, fields=fields)


def _annotated(frame: Frame, name: str, found: dict[str, _Field], seen: set[str]) -> bool:
    """Put what a class and its bases annotate behind what is `found`, the bases' first; whether all of the bases are
    known."""
    if name in seen:
        return True
    seen.add(name)
    place, info = frame.file.located(name), frame.file.info_of(name)
    if place is None or info is None:
        return name.startswith(OWN_CALLS)
    whole = all([_annotated(frame, base, found, seen) for base in info.bases])
    body = place[0].program.functions[place[1]]
    for slot, text in sorted(body.annotations.items()):
        if "ClassVar" not in text:
            found.setdefault(body.slot_names[slot], (*place, slot))
    return whole


def _is_cold(frame: Frame) -> bool:
    """True in cold code, but for what is cold by its name and constructors: these make objects that hot code uses."""
    role = frame.file.roles[frame.function.index]
    return bool(role.cold) and not role.named and frame.function.name != "__init__"


def _tell_constructor(frame: Frame, reg: Reg, made: Call, init: str) -> None:
    """Tell the constructor of a class what a call of that gives for its parameters, in set-up code too, where objects
    are made."""
    found = frame.file.located(init)
    if found is None or _is_cold(frame):
        return
    site = (frame.file.key, frame.function.index, reg)
    function = found[0].program.functions[found[1]]
    for slot, value in given_by.values(frame, made, function, True):
        found[0].callers.tell(found[1], slot, value, site)


def named_parts(frame: Frame, value: Value) -> tuple[Value, ...] | None:
    """What the fields of a named tuple of the checked source hold, in order; None for others."""
    info = frame.file.info_of(value.name) if value.kinds == OBJECT else None
    if info is None or not _is_named_tuple(info) or value.items is not None:
        return value.items if value.kinds == OBJECT else None
    order: dict[str, _Field] = {}
    _annotated(frame, value.name, order, set())
    return tuple(frame.file.attribute(info, key) or NOTHING for key in order)


def _is_named_tuple(info: ClassInfo) -> bool:
    return any(base.rpartition(".")[2] == "NamedTuple" for base in info.bases)
