"""Builtins: those that ask a tensor for a number, a truth or a text, and those that hand elements on."""

from __future__ import annotations

from transferlint.flow.callgraph.names import ident
from transferlint.flow.lattice.transfers import FORMAT, NUMBER, SORTED, TRUTH
from transferlint.flow.lattice.values import (
    ANYWHERE,
    BOOLEAN,
    CONTAINER,
    FRAMEWORKS,
    FROM_ANOTHER,
    FROM_PARAMETER,
    HOST,
    HOST_VALUE,
    LOADER,
    MAPPING,
    MAY,
    MODULE,
    NAME,
    NOTHING,
    OBJECT,
    PYTHON,
    TENSOR,
    UNKNOWN,
    Fields,
    Value,
    combine,
    element,
    held_on_device,
    join,
    number_of_device,
    on_device_or_plain,
    put_into_words,
    with_field,
)
from transferlint.flow.placement import effects, known_calls, reflection
from transferlint.flow.placement.frame import Frame
from transferlint.flow.placement.numbers import moved_element
from transferlint.flow.placement.unknown_calls import unknown_call
from transferlint.syntax.program import Call, Const, Reg

_NUMBERS = frozenset({"float", "int", "complex", "round", "range", "divmod", "bin", "hex", "chr"})
_ANYTHING = frozenset({"vars", "locals", "globals", "eval", "aiter", "anext"})
_ELEMENTS = frozenset({"list", "tuple", "set", "frozenset", "sorted", "reversed", "iter", "filter"})


_HANDING_ON = frozenset(
    "copy.copy copy.deepcopy dataclasses.replace random.choice random.sample itertools.chain itertools.islice"
    " itertools.chain.from_iterable itertools.cycle".split()
)


def call(frame: Frame, reg: Reg, made: Call, name: str) -> Value:
    """The value of a builtin's call."""
    if name == "dict.fromkeys":
        return Value(CONTAINER, ANYWHERE, MAPPING)
    if name == "dict":
        return _dict(frame, made)
    if name == "super":
        return _parent(frame)
    if name in _ANYTHING:
        return NOTHING
    if not made.args:
        return Value(CONTAINER, HOST) if name in ("list", "set", "tuple") else PYTHON
    first = frame.values[made.args[0]]
    if name == "pow":
        values = [frame.values[one] for one in made.args]
        if any(one.kinds & TENSOR for one in values):
            return effects.keep(frame, reg, made, values)  # as `**`
        return NOTHING if any(one.kinds & UNKNOWN for one in values) else PYTHON
    if name in _NUMBERS:
        result = number(frame, reg, made, f"{name}(t)")
        return result if name != "range" else Value(CONTAINER, HOST, item=PYTHON, reads=result.reads)
    if name in ("bool",):
        if held_on_device(first):
            frame.record(reg, TRUTH, made.args[0], first, HOST, "bool(t)", explicit=False)
            return PYTHON.but(reads=frozenset({reg}))
        return PYTHON.but(reads=first.reads)
    if name in ("print", "str", "repr", "format"):
        for at, argument in enumerate(made.args):
            value = frame.values[argument]
            value = element(value) if any(made.stars[at : at + 1]) else value
            if put_into_words(value):
                frame.record(argument, FORMAT, argument, value, HOST, f"{name}(t)", explicit=False)
        return PYTHON
    if name in ("max", "min"):
        _told_elements(frame, reg, effects.keyword(made, "key"), first)
        return _extreme(frame, reg, made, name)
    if name == "sum":
        item = element(first)
        if item.flags & FRAMEWORKS:
            item = item.but(flags=item.flags & ~BOOLEAN)  # numbers: how many there are
        return item if item.kinds & (TENSOR | UNKNOWN) else PYTHON.but(reads=first.reads)
    if name in ("any", "all"):
        item = element(first)
        if item.is_a(TENSOR) and item.on_device:
            frame.record(reg, TRUTH, made.args[0], item, HOST, f"{name}(tensors)", explicit=False)
        return PYTHON.but(reads=item.reads)
    if name == "abs":
        return first
    if name in _ELEMENTS or name == "enumerate":
        first = known_calls.iterated(frame, reg, first) or first
    if name == "filter" and len(made.args) == 2:
        first = known_calls.iterated(frame, reg, frame.values[made.args[1]]) or frame.values[made.args[1]]
        _told_elements(frame, reg, made.args[0], first)
        if frame.code[made.args[0]] == Const(None) and (item := element(first)).is_a(TENSOR) and item.on_device:
            frame.record(reg, TRUTH, made.args[1], item, HOST, "filter(None, tensors)", explicit=False)
    if name == "sorted":
        ordered(frame, reg, made.args[0], first, effects.keyword(made, "key"))
    if name in _ELEMENTS:
        if name == "iter" and first.kinds == OBJECT:
            return first  # the iterator is of a class that is not known
        return first if first.kinds & LOADER else _contained(element(first), first)
    return _higher(frame, reg, made, name, first)


def library(frame: Frame, reg: Reg, made: Call, name: str) -> Value | None:
    """A function of Python's library that hands on what it is given, or what is in it (docs.python.org, library/copy,
    itertools, random, dataclasses); None for others."""
    values = [frame.values[r] for r in made.args]
    if not values or any(made.stars) or name not in _HANDING_ON:
        return None
    if name in ("copy.copy", "copy.deepcopy", "dataclasses.replace"):
        return values[0]
    held = [element(known_calls.iterated(frame, reg, value) or value) for value in values]
    if name == "random.choice":
        return held[0]
    if name == "itertools.chain.from_iterable":
        held = [element(held[0])]
    item: Value | None = None
    for one in held if name == "itertools.chain" else held[:1]:
        item = join(item, one)
    return _contained(item, values[0]) if item is not None else None


def collection(frame: Frame, reg: Reg, made: Call, name: str) -> Value:
    """A call of a class of `collections` (docs.python.org, library/collections)."""
    if name == "OrderedDict":
        return _dict(frame, made)
    if name == "deque":
        return call(frame, reg, made, "list")
    if name == "defaultdict" and len(made.args) == 1:
        factory = frame.values[made.args[0]]
        listed = factory.kinds == NAME and factory.name in ("builtins.list", "builtins.set")
        return Value(CONTAINER, HOST, MAPPING, item=Value(CONTAINER, HOST) if listed else None)
    return unknown_call(frame, made, name)


def _higher(frame: Frame, reg: Reg, made: Call, name: str, first: Value) -> Value:
    if name == "enumerate":
        item = element(first)
        pair = Value(CONTAINER, item.places, item=item, items=(PYTHON, item))
        return Value(CONTAINER | (first.kinds & LOADER), first.places, first.flags & ~MAPPING, first.why, pair)
    if name == "zip" and made.stars == (True,) and (pair := element(first)).items is not None:
        parts = tuple(Value(CONTAINER, one.places, one.flags & MAY, one.why, one) for one in pair.items)
        return Value(CONTAINER, pair.places, pair.flags & MAY, pair.why, items=parts)
    if name == "zip":
        items = tuple(element(frame.values[r]) for r in made.args)
        places, why, reads, uploads, may = combine(list(items))
        pair = Value(CONTAINER, places, may, why, items=items)
        return Value(CONTAINER, places, may, why, pair, reads=reads, uploads=uploads)
    if name == "next":
        return known_calls.advanced(frame, reg, first) or element(first)
    if name == "map":
        return _mapped(frame, reg, made)
    if name == "getattr" and len(made.args) > 1:
        return reflection.read(frame, made)
    if name == "setattr" and len(made.args) == 3 and not any(made.stars):
        reflection.write(frame, made)
    return PYTHON


def _parent(frame: Frame) -> Value:
    """`super()`: an instance of the only base class that is of the checked source."""
    info = frame.file.class_of(frame.function)
    known = [base for base in info.bases if frame.file.info_of(base) is not None] if info is not None else []
    if info is None or len(known) != 1:
        return NOTHING
    return Value(OBJECT | (MODULE if info.module else 0), ANYWHERE, name=known[0])


def _dict(frame: Frame, made: Call) -> Value:
    item: Value | None = None
    fields: Fields | None = ()
    for argument in made.args[:1]:
        given = frame.values[argument]
        item, fields = (given.item, given.fields) if given.flags & MAPPING else (None, None)
    for name, argument in made.keywords:
        item = join(item, frame.values[argument])
        fields = with_field(fields, name, frame.values[argument]) if name else None
    if item is None:
        return Value(CONTAINER, ANYWHERE if made.args else HOST, MAPPING, fields=fields)
    flags = (item.flags & MAY) | MAPPING
    return Value(CONTAINER, item.places, flags, item.why, item, reads=item.reads, fields=fields)


def _mapped(frame: Frame, reg: Reg, made: Call) -> Value:
    """`map(f, xs)`: a container of what `f` gives for an element."""
    callee = frame.values[made.args[0]]
    item = element(frame.values[made.args[-1]])
    if callee.kinds == NAME and callee.name in ("builtins.int", "builtins.float", "builtins.str", "builtins.len"):
        if item.is_a(TENSOR) and item.on_device and callee.name != "builtins.len":
            frame.record(
                made.args[-1], NUMBER, made.args[-1], item, HOST, f"map({callee.name[9:]}, tensors)", explicit=False
            )
        return Value(CONTAINER, HOST, item=PYTHON)
    found = frame.file.located(frame.file.names.resolved(callee.name)) if callee.kinds == NAME else None
    if found is not None:
        frame.calls[reg] = ident(found[0].key, found[1])
        known_calls.tell(frame, reg, *found, [element(frame.values[one]) for one in made.args[1:]])
        placed = found[0].place(found[1])
        if placed is not None and placed.returns is not None:
            returned = placed.returns.foreign()
            if placed.returns.flags & FROM_PARAMETER & ~FROM_ANOTHER and returned.places == ANYWHERE and item.on_device:
                returned = returned.but(places=item.places)  # where what it is given is
            return Value(CONTAINER, returned.places, item=returned)
    return Value(CONTAINER, ANYWHERE, item=NOTHING)


def ordered(frame: Frame, reg: Reg, subject: Reg, over: Value, key: Reg | None) -> None:
    """Sorting compares the elements, or what `key` gives for each, pair by pair."""
    item = element(over)
    if key is not None:
        _told_elements(frame, reg, key, over)
    elif item.is_a(TENSOR) and item.on_device:
        frame.record(reg, NUMBER, subject, item, HOST, SORTED, explicit=False)


def _told_elements(frame: Frame, reg: Reg, function: Reg | None, over: Value) -> None:
    """Tell a function of the checked source that it is called for each element."""
    named = frame.values[function].name if function is not None and frame.values[function].kinds == NAME else ""
    found = frame.file.located(frame.file.names.resolved(named))
    if found is not None:
        known_calls.tell(frame, reg, *found, [element(over)])


def _contained(item: Value, whole: Value) -> Value:
    why = whole.why or item.why
    flags = whole.flags & ~MAPPING
    return Value(CONTAINER, item.places, flags, why, item, reads=whole.reads, uploads=whole.uploads)


def number(frame: Frame, reg: Reg, made: Call, api: str) -> Value:
    """`float(t)`, `range(t)`, `math.f(t)`: a number out of each tensor argument."""
    reads: frozenset[int] = frozenset()
    for argument in made.args:
        value = frame.values[argument]
        reads |= value.reads
        if number_of_device(value) or on_device_or_plain(value) or moved_element(frame, argument):
            frame.record(reg, NUMBER, argument, value, HOST, api, explicit=False)
            reads |= {reg}
    return Value(HOST_VALUE, HOST, reads=frozenset(sorted(reads)[:4]))


def _extreme(frame: Frame, reg: Reg, made: Call, name: str) -> Value:
    """`max(tensors)` compares device tensors one pair at a time."""
    values = [frame.values[r] for r in made.args]
    found = element(values[0]) if len(values) == 1 else None
    if found is None:
        for value in values:
            found = join(found, value)
    if found is not None and any(v.is_a(TENSOR) and v.on_device for v in (found, *values)):
        frame.record(reg, NUMBER, made.args[0], found, HOST, f"{name}(tensors)", explicit=False)
        return found
    return found if found is not None and found.kinds & (TENSOR | UNKNOWN) else PYTHON.but(reads=values[0].reads)
