"""The transfer functions of everything but calls: one per instruction, (frame, register, instruction) to value."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from transferlint.flow.callgraph.names import ClassInfo, ident
from transferlint.flow.lattice.transfers import FORMAT, NUMBER, TRUTH
from transferlint.flow.lattice.values import (
    ANYWHERE,
    ARRAY,
    BOOLEAN,
    CONSTANT,
    CONTAINER,
    DATA,
    DERIVED,
    DEVICE,
    DEVICE_NAME,
    FRAMEWORKS,
    FRESH,
    GIVEN,
    HOST,
    HOST_ARRAY,
    HOST_TENSOR,
    HOST_VALUE,
    LITERAL,
    MAPPING,
    MAY,
    MODULE,
    MOVED,
    NAME,
    NONE,
    NOTHING,
    OBJECT,
    PYTHON,
    RESIDENT,
    TENSOR,
    TREE,
    UNKNOWN,
    Fields,
    Value,
    combine,
    element,
    join,
    made_of,
    number_of_device,
    on_device_or_plain,
    put_into_words,
    updated,
    with_field,
)
from transferlint.flow.placement import (
    attributes,
    calls,
    handed,
    indexing,
    instances,
    known_calls,
    numbers,
    operators,
    ranks,
)
from transferlint.flow.placement.annotated import annotated, either
from transferlint.flow.placement.devices import named_place
from transferlint.flow.placement.frame import Frame
from transferlint.flow.placement.narrowing import brought, narrow, of_variables
from transferlint.syntax import program as p
from transferlint.syntax.program import Reg

# Names of these modules that stand in arithmetic are numbers or types; those of other libraries may be tensors.
_NUMBERS_OF = sys.stdlib_module_names | {"torch", "numpy"}


def const(frame: Frame, reg: Reg, made: p.Const) -> Value:
    if isinstance(made.value, str):
        place = named_place(made.value)
        if place:
            return Value(
                DEVICE_NAME | HOST_VALUE if made.value == "gpu" else DEVICE_NAME, place, LITERAL, name=made.value
            )
    return NONE if made.value is None else CONSTANT


def load(frame: Frame, reg: Reg, made: p.Load) -> Value:
    value = frame.state.slots[made.slot]
    if value is None:
        name = frame.file.names.bound(frame.function.index, made.slot)
        return Value(NAME, ANYWHERE, name=name) if name else NOTHING
    told = frame.told(reg, made.slot)
    return narrow(value, told) if told is not None else value


def outer(frame: Frame, reg: Reg, made: p.Outer) -> Value:
    found = frame.state.paths.get("^" + made.name)
    if found is not None:
        return found
    return frame.file.outer(frame.function, made.name).foreign()


def store(frame: Frame, reg: Reg, made: p.Store) -> Value:
    value = frame.values[made.value]
    slot = made.slot
    name = frame.function.slot_names[slot]
    open_to = value.kinds & UNKNOWN or known_calls.assumed(frame, made.value)
    shown = frame.usage.shown.get(reg, frozenset()) if open_to else frozenset()
    if shown and not value.on_host:
        frame.refuted = True
    if _taken_for_tensor(frame, reg, slot, value):
        places = value.places if value.places & ~ANYWHERE else HOST | ANYWHERE if frame.leaning else GIVEN
        value = value.but(
            kinds=TENSOR,
            places=places,
            flags=value.flags | (0 if value.uploads else RESIDENT),
            why=value.why or (made.value,),
        )
    annotation = frame.function.annotations.get(slot)
    if annotation and value.is_a(UNKNOWN):
        found = annotated(frame.file, frame.function, annotation, value.but(kinds=TENSOR))
        own = all(one.slot != slot for one in frame.function.parameters)
        if found is not None and (own or found.is_a(TENSOR)):  # a parameter may be bound to something else
            value = found
    if "" in shown and value.is_a(TENSOR | UNKNOWN):
        value = brought(value.but(kinds=TENSOR))
    elif open_to and reg in frame.usage.cast and value.is_a(TENSOR | UNKNOWN):
        value = HOST_ARRAY.but(flags=value.flags & DATA, reads=value.reads)
    frame.state.slots[slot] = value
    frame.forget(name)
    frame.state.paths.update((name + path, HOST_TENSOR) for path in shown if path)
    known = frame.stored.get(slot)
    both = join(None if known is not None and _last(frame, reg, slot) else known, value)
    if both is not None:
        frame.stored[slot] = both
    return value


def _last(frame: Frame, reg: Reg, slot: p.Slot) -> bool:
    """True where a module's own code, in no branch or loop, binds a variable behind all else that does: functions,
    which run later, see nothing of what it held before. The cells of a notebook may run in any order."""
    function = frame.function
    if function.index or frame.region or frame.file.key.endswith(".ipynb"):
        return False
    return max(function.lookup.about(p.Store, slot), default=reg) <= reg


def _taken_for_tensor(frame: Frame, reg: Reg, slot: p.Slot, value: Value) -> bool:
    """True for something unknown that is bound to a variable with which the function does what only tensors can, after
    that or in another turn of a loop."""
    if not value.kinds & UNKNOWN or slot not in frame.usage.tensors or value.kinds & (ARRAY | MODULE):
        return False
    if frame.usage.last.get(slot, reg) >= reg:
        return True
    return any(region.kind in ("for", "while") for region in frame.function.ancestors(frame.region))


def store_outer(frame: Frame, reg: Reg, made: p.StoreOuter) -> Value:
    frame.state.paths["^" + made.name] = frame.values[made.value]
    frame.file.store_outer(frame.function, made.name, frame.values[made.value])
    return frame.values[made.value]


def import_(frame: Frame, reg: Reg, made: p.Import) -> Value:
    name = frame.file.names.qualified(made)
    return attributes.variable(frame, name) or Value(NAME, ANYWHERE, name=name)


def set_attribute(frame: Frame, reg: Reg, made: p.SetAttr) -> Value:
    value = frame.values[made.value]
    base = frame.path(made.object)
    if base:
        path = f"{base}.{made.name}"
        owner = frame.values[made.object]
        if owner.kinds == OBJECT and owner.fields is not None:
            frame.rebind(base, owner.but(fields=with_field(owner.fields, made.name, value) or ()))
        frame.forget(path)
        frame.state.paths[path] = value
        info = frame.file.class_of(frame.function) if base == "self" else _class_in_file(frame, made.object)
        if info is not None:
            frame.file.store_attribute(info, made.name, value)
    if made.name == "data" and base:
        frame.state.paths.pop(f"{base}.data", None)
    if made.name == "forward":
        handed.patched(frame, reg, made.value)
    return value


def _class_in_file(frame: Frame, reg: Reg) -> ClassInfo | None:
    """The class of this file that an object is of, where that is known."""
    value = frame.values[reg]
    info = frame.file.info_of(value.name) if value.kinds == OBJECT else None
    return info if info is not None and info.key == frame.file.key else None


def call(frame: Frame, reg: Reg, made: p.Call) -> Value:
    value = calls.call(frame, reg, made)
    return ranks.called(frame, made, value) if value.kinds in (TENSOR, CONTAINER) else value


def binary(frame: Frame, reg: Reg, made: p.Binary) -> Value:
    by_class = operators.binary(frame, reg, made)
    if by_class is not None:
        return by_class
    if made.operator == "|" and (types := either(frame.values[made.left], frame.values[made.right])) is not None:
        return types
    left, right = computed(frame.values[made.left]), computed(frame.values[made.right])
    values = [left, right]
    places, why, reads, uploads, flags = combine(values)
    kinds = _merged_kinds(values)
    if made.inplace and left.is_a(TENSOR) and left.on_host:
        places, why, flags = HOST, left.why, left.flags & MAY  # it stays where it is: a device operand would raise
    if made.operator == "%" and left.is_a(HOST_VALUE) and isinstance(frame.code[made.left], p.Const):
        several = frame.code[made.right]
        for one in several.items if isinstance(several, p.Sequence) and several.kind == "tuple" else ():
            _formatted(frame, one, one)
        return _formatted(frame, reg, made.right)
    if kinds == CONTAINER and made.operator != "*" and not left.kinds & right.kinds & CONTAINER:
        return NOTHING  # Python refuses a list and a number: this attribute holds something else by now
    if kinds == CONTAINER:
        return _joined(left, right)
    must = _shared([one for one, reg in zip(values, (made.left, made.right), strict=True) if not _size(frame, reg)])
    if made.operator in ("&", "|", "^") and (left.flags | right.flags) & BOOLEAN:
        must |= BOOLEAN
    if kinds == HOST_VALUE:
        return Value(HOST_VALUE, HOST, flags | (must & LITERAL), why, reads=reads, uploads=uploads)
    _index_of_list(frame, reg, made, left, right)
    must |= ranks.computed(frame, made) if kinds == TENSOR else 0
    return Value(kinds, places, flags | must, why or (reg,), reads=reads, uploads=uploads)


def _size(frame: Frame, reg: Reg) -> bool:
    """True for a variable that is given as a size elsewhere: a number, or as good as one."""
    made = frame.code[reg]
    return isinstance(made, p.Load) and made.slot in frame.usage.sizes and not frame.values[reg].kinds & TENSOR


def _joined(left: Value, right: Value) -> Value:
    """What sums and multiples of lists and tuples hold, as often as it may be."""
    containers = [one for one in (left, right) if one.kinds & CONTAINER]
    both = join(containers[0], containers[-1]) or NOTHING
    return (
        Value(both.kinds, both.places, both.flags, both.why, both.item, None, both.name, both.reads, both.uploads)
        if both.is_a(CONTAINER)
        else both
    )


def computed(value: Value) -> Value:
    """What arithmetic and comparisons make of an operand: what is on the device for certain, or was moved there, and is
    computed with, is a tensor; a name of a library that is not known can be anything."""
    if value.kinds == NAME:
        return PYTHON if "#" in value.name or value.name.partition(".")[0] in _NUMBERS_OF else NOTHING
    if value.kinds != UNKNOWN or not value.on_device or value.item is not None:
        return value
    return value.but(kinds=TENSOR) if value.places == DEVICE or value.flags & (MOVED | TREE) else value


def _index_of_list(frame: Frame, reg: Reg, made: p.Binary, left: Value, right: Value) -> None:
    """`[x] * t` asks `t` for its `__index__`; arrays of other frameworks than torch multiply its items."""
    for sequence, times, subject in ((left, right, made.right), (right, left, made.left)):
        if made.operator == "*" and sequence.is_a(CONTAINER) and times.is_a(TENSOR) and times.on_device:
            if times.flags & FRAMEWORKS:
                continue
            frame.record(reg, NUMBER, subject, times, HOST, "[...] * t", explicit=False)


def _merged_kinds(values: list[Value]) -> int:
    """What arithmetic on these gives: tensors win over everything, arrays over numbers, the unknown stays unknown."""
    kinds = 0
    for value in values:
        kinds |= value.kinds
    if kinds & TENSOR:
        return TENSOR | (kinds & UNKNOWN if not any(v.is_a(TENSOR) for v in values) else 0)
    if kinds & ARRAY:
        return ARRAY
    if kinds & CONTAINER:
        return CONTAINER
    if kinds & UNKNOWN:
        return UNKNOWN
    return HOST_VALUE


def _shared(values: list[Value]) -> int:
    """FRESH (DERIVED) and LITERAL hold of a result where they hold of every tensor operand (every operand)."""
    tensors = [v for v in values if v.kinds & (TENSOR | UNKNOWN | ARRAY)]
    must = made_of(tensors) if tensors else 0
    return must | (LITERAL if all(v.flags & LITERAL for v in values) else 0)


def unary(frame: Frame, reg: Reg, made: p.Unary) -> Value:
    value = frame.values[made.operand]
    if made.operator == "not":
        asked(frame, reg, made.operand, value, "not t")
        return Value(HOST_VALUE, HOST, reads=truth_reads(value, reg))
    return value


def compare(frame: Frame, reg: Reg, made: p.Compare) -> Value:
    if all(op in ("is", "is not") for op in made.operators):
        return PYTHON
    values = [computed(frame.values[r]) for r in made.operands]
    if any(op in ("in", "not in") for op in made.operators):
        container, _item = values[-1], values[0]
        key = frame.code[made.operands[0]]
        if isinstance(key, p.Const) and isinstance(key.value, str | bytes):
            return PYTHON
        if container.is_a(TENSOR) and container.on_device:
            asked(frame, reg, made.operands[-1], container, "in t")
        return PYTHON
    kinds = _merged_kinds(values)
    constants = [code for r in made.operands if isinstance(code := frame.code[r], p.Const)]
    if any(not isinstance(constant.value, int | float | complex) for constant in constants):
        return PYTHON
    places, why, reads, uploads, flags = combine(values)
    if len(made.operators) > 1 and kinds == TENSOR and any(v.is_a(TENSOR) and v.on_device for v in values):
        asked(frame, reg, made.operands[0], Value(TENSOR, places, flags, why), "a < t < b")
        return Value(HOST_VALUE, HOST, reads=frozenset({reg}))
    if kinds in (HOST_VALUE, CONTAINER):
        return Value(HOST_VALUE, HOST, reads=reads)
    must = BOOLEAN | (_shared(values) & ~LITERAL) | (ranks.computed(frame, made) if kinds == TENSOR else 0)
    return Value(kinds, places, flags | must, why or (reg,), reads=reads, uploads=uploads)


def asked(frame: Frame, reg: Reg, subject: Reg, value: Value, api: str) -> None:
    """Record that the truth of a value is asked, where that is a device tensor's."""
    if on_device_or_plain(value):
        frame.record(reg, TRUTH, subject, value, HOST, api, explicit=False)


def truth_reads(value: Value, reg: Reg) -> frozenset[int]:
    return frozenset({reg}) if on_device_or_plain(value) else value.reads


def test(frame: Frame, reg: Reg, made: p.Test) -> Value:
    subject = made.value
    value, asking = frame.values[subject], frame.code[subject]
    while isinstance(asking, p.Boolean) and not value.is_a(TENSOR):  # the last operand's truth is that of the whole
        subject = asking.operands[-1]
        value, asking = frame.values[subject], frame.code[subject]
    at = reg if subject == made.value else subject
    asked(frame, at, subject, value, {"while": "while t", "assert": "assert t"}.get(made.kind, "if t"))
    if made.kind == "assert":
        frame.show(of_variables(frame.file.names, frame.function, made.value, True))
    return Value(HOST_VALUE, HOST, reads=truth_reads(value, at) | frame.values[made.value].reads)


def boolean(frame: Frame, reg: Reg, made: p.Boolean) -> Value:
    result: Value | None = None
    for operand in made.operands[:-1]:
        asked(frame, operand, operand, frame.values[operand], f"t {made.operator} ...")
    for operand in made.operands:
        result = join(result, frame.values[operand])
    return result or NOTHING


def choice(frame: Frame, reg: Reg, made: p.Choice) -> Value:
    return join(frame.values[made.body], frame.values[made.orelse]) or NOTHING


def sequence(frame: Frame, reg: Reg, made: p.Sequence) -> Value:
    values = tuple(frame.values[r] for r in made.items)
    item: Value | None = None
    flags = LITERAL | (made_of(values) if values else FRESH)
    for number, value in enumerate(values):
        starred = number < len(made.stars) and made.stars[number]
        item = join(item, element(value) if starred else value)
        flags &= value.flags | FRESH | DERIVED
    places, why, reads, uploads, may = combine(list(values)) if values else (HOST, (), frozenset(), frozenset(), 0)
    kept = made.kind == "tuple" or not values
    items = values if kept and not any(made.stars) and len(values) <= _KEPT else None
    return Value(CONTAINER, places, flags | may, why, item, items, reads=reads, uploads=uploads)


def mapping(frame: Frame, reg: Reg, made: p.Mapping) -> Value:
    item: Value | None = None
    fields: Fields | None = ()
    for key, register in zip(made.keys, made.values, strict=True):
        value = frame.values[register]
        name = frame.code[key] if key is not None else None
        if name is None and value.is_a(CONTAINER):  # `**value`
            fields = updated(fields, value.fields)
            value = value.item or Value(UNKNOWN, value.places, value.flags, value.why)
        elif isinstance(name, p.Const) and isinstance(name.value, str):
            fields = with_field(fields, name.value, value)
        else:
            fields = None
        item = join(item, value)
    if item is None:
        return Value(CONTAINER, HOST, MAPPING, fields=fields)
    flags = (item.flags & MAY) | MAPPING
    return Value(CONTAINER, item.places, flags, item.why, item, reads=item.reads, uploads=item.uploads, fields=fields)


def format_(frame: Frame, reg: Reg, made: p.Format) -> Value:
    for value in made.values:
        _formatted(frame, value, value)
    return PYTHON


def _formatted(frame: Frame, reg: Reg, subject: Reg) -> Value:
    value = frame.values[subject]
    if put_into_words(value):
        frame.record(reg, FORMAT, subject, value, HOST, 'f"{t}"', explicit=False)
    return PYTHON


def next_(frame: Frame, reg: Reg, made: p.Next) -> Value:
    over = frame.values[made.iterable]
    value = element(known_calls.iterated(frame, reg, over) or over)
    return value.but(why=value.why or (made.iterable,)) if value.on_device else value


def unpack(frame: Frame, reg: Reg, made: p.Unpack) -> Value:
    value = frame.values[made.value]
    parts = instances.named_parts(frame, value) or value.items
    if parts is not None and made.star < 0 and made.index < len(parts):
        return parts[made.index]
    found = element(value)
    if made.index == made.star:
        return Value(CONTAINER, found.places, found.flags & ~MAPPING, found.why, found)
    return found


def collect(frame: Frame, reg: Reg, made: p.Collect) -> Value:
    item = frame.values[made.value]
    flags = (item.flags & ~MAPPING) | (MAPPING if made.kind == "dict" else 0)
    return Value(CONTAINER, item.places, flags, item.why, item, reads=item.reads, uploads=item.uploads)


def return_(frame: Frame, reg: Reg, made: p.Return) -> Value:
    value = frame.values[made.value] if made.value is not None else NONE
    frame.returns = join(frame.returns, value)
    return value


def yield_(frame: Frame, reg: Reg, made: p.Yield) -> Value:
    if made.value is not None:
        value = frame.values[made.value]
        if not made.many:
            value = Value(CONTAINER, value.places, value.flags & ~MAPPING, value.why, value, reads=value.reads)
        frame.returns = join(frame.returns, value)
    return NOTHING


def delete(frame: Frame, reg: Reg, made: p.Delete) -> Value:
    frame.state.slots[made.slot] = NOTHING
    return NOTHING


def enter(frame: Frame, reg: Reg, made: p.Enter) -> Value:
    value = frame.values[made.context]
    given = operators.enter(frame, reg, made)
    if given is not None and given != NOTHING:
        return given
    return value if not value.kinds & DEVICE_NAME else NOTHING


def make(frame: Frame, reg: Reg, made: p.Make) -> Value:
    function = frame.file.program.functions[made.function]
    if function.kind == "class":
        frame.file.place(made.function)
    return Value(NAME, ANYWHERE, name=ident(frame.file.key, made.function))


def pass_through(frame: Frame, reg: Reg, made: Any) -> Value:
    return frame.values[made.value] if made.value is not None else NOTHING


def nothing(frame: Frame, reg: Reg, made: Any) -> Value:
    return NOTHING


def slice_(frame: Frame, reg: Reg, made: p.Slice) -> Value:
    for bound in (made.lower, made.upper, made.step):
        if bound is not None:
            value = frame.values[bound]
            if number_of_device(value) or on_device_or_plain(value) or numbers.moved_element(frame, bound):
                frame.record(bound, NUMBER, bound, value, HOST, "x[:t]", explicit=False)
    return Value(HOST_VALUE, HOST, LITERAL)


_KEPT = 12  # elements of a tuple that are known one by one
Handler = Callable[[Frame, Reg, Any], Value]
HANDLERS: dict[type, Handler] = {
    p.Const: const,
    p.Load: load,
    p.Outer: outer,
    p.Store: store,
    p.StoreOuter: store_outer,
    p.Import: import_,
    p.Attr: attributes.read,
    p.SetAttr: set_attribute,
    p.Subscript: indexing.read,
    p.SetItem: indexing.write,
    p.Slice: slice_,
    p.Call: call,
    p.Binary: binary,
    p.Unary: unary,
    p.Compare: compare,
    p.Boolean: boolean,
    p.Choice: choice,
    p.Sequence: sequence,
    p.Mapping: mapping,
    p.Format: format_,
    p.Next: next_,
    p.Unpack: unpack,
    p.Collect: collect,
    p.Test: test,
    p.Return: return_,
    p.Yield: yield_,
    p.Await: pass_through,
    p.Raise: nothing,
    p.Delete: delete,
    p.Enter: enter,
    p.Exception_: nothing,
    p.Make: make,
    p.Discard: pass_through,
}
