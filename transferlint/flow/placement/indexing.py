"""Reading and writing `object[index]`: selection, masks, and the syncs they hide."""

from __future__ import annotations

import re
from itertools import zip_longest

from transferlint import late
from transferlint.flow.dataflow import guards
from transferlint.flow.lattice.transfers import COPY_INTO, HOST_INDEX, NUMBER, SELECTED, SHAPE
from transferlint.flow.lattice.values import (
    ANYWHERE,
    ARRAY,
    BOOLEAN,
    CONTAINER,
    DERIVED,
    DEVICE,
    DIMENSIONS,
    FRESH,
    GIVEN,
    HOST,
    HOST_VALUE,
    INTEGER,
    KEPT,
    LITERAL,
    MAPPING,
    MODULE,
    NAME,
    NOTHING,
    OBJECT,
    OPTIMIZER,
    PARAMETER,
    PLAIN,
    RESIDENT,
    SCALAR,
    TENSOR,
    UNKNOWN,
    Value,
    dimensions,
    holding,
    join,
    with_field,
)
from transferlint.flow.placement import operators, ranks
from transferlint.flow.placement.annotated import generic
from transferlint.flow.placement.frame import Frame
from transferlint.knowledge.api import Effect
from transferlint.knowledge.lookup import effect_of
from transferlint.model import Direction
from transferlint.syntax.program import (
    Binary,
    Call,
    Collect,
    Const,
    Load,
    Outer,
    Reg,
    Sequence,
    SetItem,
    Slice,
    Store,
    Subscript,
)

# What is called a mask; what is masked, and what says where a mask is, is none.
_MASK = late.pattern(r"mask(?!ed|_?(idx|ind|id|pos|tok|len|num))", re.IGNORECASE)
_LOST = FRESH | PLAIN | KEPT | DIMENSIONS
_MAKERS = {"list": (Outer("list"), Outer("sorted")), "tuple": (Outer("tuple"),)}


def read(frame: Frame, reg: Reg, made: Subscript) -> Value:
    """The value of a subscript; records the syncs of mask reads, host indices and `__index__`."""
    path = frame.path(reg)
    if path:
        stored = frame.state.paths.get(path)
        if stored is not None:
            return stored
    by_class = operators.applied(frame, reg, made.object, "__getitem__", (made.index,))
    if by_class is not None:
        return by_class
    base, index = frame.values[made.object], frame.values[made.index]
    entry = frame.entries.get(path) if base.is_a(UNKNOWN) and base.places == ANYWHERE else None
    if entry is not None and entry.is_a(TENSOR) and entry.on_device:
        return entry.but(places=GIVEN, flags=entry.flags & DIMENSIONS | RESIDENT)  # what is stored there on other paths
    if base.kinds == NAME:
        listed = frame.code[made.index]
        parts = listed.items if isinstance(listed, Sequence) and listed.kind == "tuple" else (made.index,)
        return generic(base, tuple(frame.values[one] for one in parts)) or NOTHING
    base = _shown_by(frame, made.index, base)
    if base.is_a(TENSOR):
        _masked(frame, reg, made.index, base, index)
        lost = _LOST & ~FRESH if index.flags & LITERAL else _LOST
        if index.kinds & (TENSOR | ARRAY) and not index.flags & (FRESH | DERIVED):
            lost |= DERIVED
        return base.but(flags=base.flags & ~lost | ranks.indexed(frame, made, base))
    if base.is_a(ARRAY):
        return base if index.flags & LITERAL else base.but(flags=base.flags & ~KEPT)
    if base.is_a(CONTAINER) and isinstance(frame.code[made.index], Slice):
        return Value(CONTAINER, base.places, base.flags, base.why, base.item, None, base.name, base.reads, base.uploads)
    if base.fields and base.is_a(CONTAINER) and (name := _name(frame, made.index)) is not None:
        return base.field(name) or NOTHING  # under another name, somebody else has put it there
    if base.kinds & TENSOR and base.kinds & CONTAINER and not base.kinds & UNKNOWN:
        held = base.item
        for one in base.items or ():
            held = join(held, one)
        one = base.tensor()
        return join(held or NOTHING, one.but(flags=one.flags & ~_LOST | ranks.indexed(frame, made, one))) or NOTHING
    if base.items is not None:
        position = frame.code[made.index]
        if (
            isinstance(position, Const)
            and isinstance(position.value, int)
            and -len(base.items) <= position.value < len(base.items)
        ):
            return base.items[position.value]
    if base.is_a(CONTAINER | HOST_VALUE):
        if not base.flags & MAPPING and index.is_a(TENSOR) and index.on_device:  # a dict asks a key for its hash
            frame.record(reg, NUMBER, made.index, index, HOST, "list[t]", explicit=False)
        if base.item is not None:
            return base.item
        return Value(UNKNOWN, base.places if base.places != HOST else ANYWHERE) if base.is_a(CONTAINER) else base
    if base.kinds & MODULE:
        return Value(MODULE | UNKNOWN, base.places, why=base.why)
    if base.is_a(OPTIMIZER) and frame.code[made.index] == Const("params"):  # a group of what it changes
        return Value(CONTAINER, GIVEN, item=Value(TENSOR, GIVEN, PARAMETER | RESIDENT))
    if base.kinds & UNKNOWN:
        return Value(
            UNKNOWN | (base.kinds & TENSOR),
            base.places,
            base.flags & ~_LOST,
            base.why,
            reads=base.reads,
            uploads=base.uploads,
        )
    return base.item or (Value(UNKNOWN, base.places) if base.is_a(OBJECT) and base.places & HOST else NOTHING)


def _name(frame: Frame, index: Reg) -> str | None:
    """The text that an index is, where it is written out."""
    made = frame.code[index]
    return made.value if isinstance(made, Const) and isinstance(made.value, str) else None


def _shown_by(frame: Frame, at: Reg, base: Value) -> Value:
    """What is indexed: a tensor, of what is unknown and on the device, for nothing else there takes a list of indices,
    a tensor of booleans, or indices of several dimensions with a slice, a list, a range or a tensor among them, and
    little else a tensor of numbers (a list takes one that holds a single number)."""
    if base.is_a(TENSOR) or not base.may_be(TENSOR | UNKNOWN):
        return base
    index, made = frame.values[at], frame.code[at]
    parts = made.items if isinstance(made, Sequence) and made.kind == "tuple" else ()
    for value in (index, *(frame.values[r] for r in parts)):
        if value.is_a(TENSOR) and value.flags & BOOLEAN and value.on_device:  # both are there, or it raises
            return base.but(kinds=TENSOR, places=value.places)
    if not base.kinds & UNKNOWN or not base.is_a(TENSOR | UNKNOWN) or not base.on_device:
        return base
    several = any(
        isinstance(frame.code[r], Slice) or _listed(frame, r) or _ranges(frame, r) or frame.values[r].is_a(TENSOR)
        for r in parts
    )
    mask = index.is_a(TENSOR | UNKNOWN) and bool(index.flags & BOOLEAN)
    numbers = index.is_a(TENSOR) and not index.flags & SCALAR
    return base.but(kinds=TENSOR) if several or mask or numbers or _listed(frame, at) else base


def _ranges(frame: Frame, at: Reg) -> bool:
    made = frame.code[at]
    return isinstance(made, Call) and frame.code[made.function] == Outer("range")


def _masked(frame: Frame, reg: Reg, at: Reg, base: Value, index: Value) -> None:
    indices = _positions(frame, at)
    if base.on_host:
        _read_there(frame, reg, indices)
    if not base.on_device:
        return
    for position in reversed(indices):  # of several on the host the first is told of: `x[torch.arange(n), lengths - 1]`
        value = frame.values[position]
        if is_mask(frame, position, value) and not value.on_host:
            sure = _as_sure(base, value)
            frame.record(reg, SHAPE, at, sure, base.places, "x[mask]", explicit=False, direction=Direction.NONE)
        elif _selects(value):
            frame.record(reg, NUMBER, position, value, HOST, SELECTED, explicit=False)
        else:
            _uploaded(frame, reg, position, value, base)


def _whole_rows(frame: Frame, at: Reg) -> bool:
    """True for an index that takes all of a dimension, or a part of it: one number fills that."""
    return any(isinstance(frame.code[position], Slice) for position in _positions(frame, at))


def _positions(frame: Frame, at: Reg) -> tuple[Reg, ...]:
    """The indices by dimension, but for those that are unpacked: `x[(*rest, i)]`."""
    parts = frame.code[at]
    if not isinstance(parts, Sequence) or parts.kind != "tuple":
        return (at,)
    return tuple(reg for reg, starred in zip_longest(parts.items, parts.stars, fillvalue=False) if not starred)


def _read_there(frame: Frame, reg: Reg, indices: tuple[Reg, ...], api: str = SELECTED) -> None:
    """Indices of a tensor on the host that are proven to be on the device have no dimensions, or it raises
    (aten/src/ATen/native/TensorAdvancedIndexing: 'indices should be either on cpu or on the same device as the indexed
    tensor'): they are read."""
    for position in indices:
        value = frame.values[position]
        there = value.is_a(TENSOR) and value.places == DEVICE and not value.flags & BOOLEAN
        if there or _selects(value):
            frame.record(reg, NUMBER, position, value, HOST, api, explicit=False)


def _as_sure(base: Value, mask: Value) -> Value:
    """What is indexed, on the device as surely as the mask is: one on the host is counted there, and nothing waits."""
    if mask.places & HOST:
        return base.but(places=base.places | mask.places)
    return base if mask.places == DEVICE else base.but(places=base.places & ~DEVICE | GIVEN)


def _selects(value: Value) -> bool:
    """True for an index of no dimensions on the device: it is read, for `select` (aten/src/ATen/TensorIndexing.h,
    handleDimInMultiDimIndexing: `tensor.item<int64_t>()`)."""
    return value.is_a(TENSOR) and value.on_device and bool(value.flags & SCALAR) and not value.flags & BOOLEAN


def _uploaded(frame: Frame, reg: Reg, position: Reg, value: Value, base: Value) -> None:
    """An index on the host is uploaded to where what it indexes is."""
    if value.is_a(CONTAINER) and _numbers(frame, position, value):
        api = "x[[...]]" if isinstance(frame.code[position], Sequence) else "x[list]"
        frame.record(reg, HOST_INDEX, position, value.but(places=HOST), base.places, api, explicit=False)
    elif value.is_a(ARRAY) and ranks.counted(frame, position):
        return
    elif _on_host(value) or (value.is_a(CONTAINER) and _seen_on_host(value) and any(map(_on_host, value.items or ()))):
        frame.record(reg, HOST_INDEX, position, value, base.places, "x[host tensor]", explicit=False)


def _on_host(value: Value) -> bool:
    return value.is_a(ARRAY) or (value.is_a(TENSOR) and _seen_on_host(value) and not value.flags & SCALAR)


def _seen_on_host(value: Value) -> bool:
    """True for what is on the host on some path, and known to be on the device on none."""
    return bool(value.places & HOST) and not value.on_device


def _numbers(frame: Frame, position: Reg, value: Value) -> bool:
    """True for a sequence of numbers, and for a list of a length that varies, whatever it holds: it is made a tensor.
    What holds as many elements as were written out may be a tuple, an index of several dimensions, and a list that
    holds a tensor counts as one (torch/csrc/autograd/python_variable_indexing.cpp, treatSequenceAsTuple)."""
    held = [one for one in value.items or (value.item,) if one is not None]
    if isinstance(frame.code[position], Sequence):
        return value.item is not None and value.item.is_a(HOST_VALUE) and not value.on_device
    listed = _listed(frame, position)
    if listed and value.items is None:
        return bool(held)
    if value.on_device or (value.items is not None and not listed) or _shown(frame, position, "tuple", set()):
        return False
    if _made_tuple(frame, position):
        return False
    return bool(held) and all(one.kinds & HOST_VALUE and not one.kinds & (TENSOR | CONTAINER) for one in held)


def _listed(frame: Frame, reg: Reg) -> bool:
    """True for what is a list for certain."""
    return _shown(frame, reg, "list", set())


def _shown(frame: Frame, reg: Reg, kind: str, seen: set[int]) -> bool:
    """True for a display of a kind, a comprehension or a call that makes one, sums and multiples of those, and a
    variable of this function that only such are bound to."""
    made = frame.code[reg]
    if isinstance(made, Sequence | Collect):
        return made.kind == kind
    if isinstance(made, Call):
        return frame.code[made.function] in _MAKERS[kind]
    if isinstance(made, Binary):
        sides = (made.left, made.right)
        return made.operator in ("*", "+") and any(_shown(frame, side, kind, seen) for side in sides)
    if not isinstance(made, Load):
        return False
    if made.slot in seen:
        return True  # `rows = rows + [i]`: as its other bindings are
    seen.add(made.slot)
    stores = frame.function.lookup.about(Store, made.slot)
    bound = [one.value for at in stores if isinstance(one := frame.code[at], Store)]
    return bool(bound) and all(_shown(frame, one, kind, seen) for one in bound)


def _made_tuple(frame: Frame, reg: Reg) -> bool:
    """True for a variable that was made a tuple last: `at = [slice(None)] + rest`, `at = tuple(at)`."""
    made = frame.code[reg]
    stores = frame.function.lookup.about(Store, made.slot) if isinstance(made, Load) else ()
    last = frame.code[max((at for at in stores if at < reg), default=reg)]
    return isinstance(last, Store) and _shown(frame, last.value, "tuple", set())


def is_mask(frame: Frame, reg: Reg, value: Value) -> bool:
    """True where an index of a tensor is a tensor of booleans. What comes of comparing things of unknown kind is taken
    for one: `x[True]`, with a plain boolean, is hardly ever written."""
    if value.flags & BOOLEAN and value.kinds & UNKNOWN and value.is_a(TENSOR | UNKNOWN):
        return True
    if not value.is_a(TENSOR) or value.flags & INTEGER:
        return False
    return bool(value.flags & BOOLEAN) or any(_MASK.search(w) for w in guards.identifiers(frame.function, reg))


def _wraps_data(frame: Frame, reg: Reg) -> bool:
    """True for `torch.tensor(v)` of what is not written there: data of the host, which has to be uploaded once."""
    made = frame.code[reg]
    wrapped = isinstance(made, Call) and effect_of(frame.dotted(made.function)) is Effect.DATA
    return wrapped and not frame.values[reg].flags & LITERAL


def write(frame: Frame, reg: Reg, made: SetItem) -> Value:
    """`object[index] = value`: a masked write syncs unless what is written is a number; a host tensor is uploaded."""
    base, index, value = frame.values[made.object], frame.values[made.index], frame.values[made.value]
    if operators.applied(frame, reg, made.object, "__setitem__", (made.index, made.value)) is not None:
        return value
    base = _shown_by(frame, made.index, base)
    if base.is_a(TENSOR) and base.on_device:
        if is_mask(frame, made.index, index) and not index.on_host and value.is_a(TENSOR):
            sure = _as_sure(base, index)
            frame.record(
                reg, SHAPE, made.index, sure, base.places, "x[mask] = ...", explicit=False, direction=Direction.NONE
            )
        elif value.is_a(TENSOR) and _seen_on_host(value):
            frame.record(reg, COPY_INTO, made.value, value, base.places, "x[i] = host tensor", explicit=False)
        elif value.kinds == HOST_VALUE and (api := _number_is_copied(frame, made)):
            frame.record(reg, COPY_INTO, made.value, value.but(places=HOST), base.places, api, explicit=False)
        for part in _positions(frame, made.index):
            if _selects(frame.values[part]):
                frame.record(reg, NUMBER, part, frame.values[part], HOST, f"{SELECTED} = ...", explicit=False)
            else:
                _uploaded(frame, reg, part, frame.values[part], base)
    elif base.is_a(TENSOR) and base.on_host:
        _read_there(frame, reg, _positions(frame, made.index), f"{SELECTED} = ...")
        if value.is_a(TENSOR) and value.on_device:
            frame.record(reg, COPY_INTO, made.value, value, HOST, "host[i] = t", explicit=False)
    path = frame.path(made.object)
    if path and base.is_a(TENSOR | ARRAY):
        data = base.is_a(TENSOR) and (not value.flags & (LITERAL | FRESH | DERIVED) or _wraps_data(frame, made.value))
        data = data and not (value.is_a(HOST_VALUE) and not value.reads and _whole_rows(frame, made.index))
        frame.written(path, base, KEPT | FRESH | DERIVED if data else KEPT)
    if path and base.is_a(CONTAINER | UNKNOWN) and not base.is_a(TENSOR):
        position = frame.code[made.index]
        if isinstance(position, Const) and isinstance(position.value, str | int):
            if base.fields is not None:
                kept = with_field(base.fields, position.value, value) if isinstance(position.value, str) else None
                frame.rebind(path, holding(base, value, kept))
            entry = f"{path}[{position.value!r}]"
            frame.state.paths[entry] = value
            frame.entries[entry] = join(frame.entries.get(entry), value) or value
        elif base.is_a(CONTAINER):
            frame.rebind(path, holding(base, value, None))
        elif value.on_device:
            places = value.places if base.on_host else base.places | value.places
            uploads = base.uploads | value.uploads
            frame.rebind(path, base.but(places=places, why=base.why or value.why, uploads=uploads))
    return value


def _number_is_copied(frame: Frame, made: SetItem) -> str:
    """How a number is written to a tensor on the device, where it is copied there from the host first: by positions,
    which are given as a tensor (aten/src/ATen/native/TensorAdvancedIndexing.cpp, _index_put_impl_: `value.to(device)`;
    with masks alone it is filled in), or to one element (torch/csrc/autograd/python_variable_indexing.cpp: the number
    is a tensor of the CPU; aten/src/ATen/TensorIndexing.h, copy_to: one of the same size is copied). "" where not."""
    positions = _positions(frame, made.index)
    if any(_is_positions(frame.values[one]) for one in positions):
        return "x[positions] = number"
    numbers = all(ranks.is_number(frame, one) for one in positions)
    base = frame.values[made.object]
    return "x[0, 0] = number" if numbers and len(positions) == dimensions(base.flags) else ""


def _is_positions(value: Value) -> bool:
    whole = bool(value.flags & INTEGER) and not value.flags & (BOOLEAN | SCALAR)
    return value.is_a(TENSOR) and value.on_device and whole
