"""What a function's parameters are before its first line runs: annotation, default, name, use, and role."""

from __future__ import annotations

import re

from transferlint import late
from transferlint.flow.lattice.values import (
    ANYWHERE,
    ARRAY,
    BY_ARGUMENT,
    CONTAINER,
    DATA,
    DEVICE_NAME,
    DTYPE_VALUE,
    FROM_PARAMETER,
    GIVEN,
    HOST,
    HOST_ARRAY,
    HOST_VALUE,
    KEPT,
    LOADER,
    MAPPING,
    MODULE,
    NAME,
    OBJECT,
    ON_DEVICE,
    OPTIMIZER,
    OPTIONAL,
    PINNED,
    PYTHON,
    RESIDENT,
    SCALAR,
    SHAPES,
    TENSOR,
    UNKNOWN,
    Value,
    from_parameter,
    held_on_host,
)
from transferlint.flow.placement.annotated import annotated, numeric
from transferlint.flow.placement.devices import named_place
from transferlint.flow.placement.frame import Frame
from transferlint.knowledge import roles
from transferlint.syntax.program import Function, Load, Parameter, Return, Store

_MOVING = "transfer_batch_to_device"
_PLACES = late.pattern(r"\bstr\b|device", re.IGNORECASE)
_NUMBER = late.pattern(r"-?\d[\w.\-]*|True|False")
_BATCH = late.pattern(r"(^|_)(batch|(data)?_?(loader)?_?iter(ator)?)$")


def parameter(frame: Frame, given: Parameter, host_side: bool, hot: bool) -> Value:
    """The value of a parameter on entry. `host_side`: the function belongs to the data pipeline, its tensors are on
    the host; elsewhere a tensor argument is taken to be on the device whenever the program is given one. `hot`: it is
    a `forward` or the like, whose arguments are taken for tensors on the device unless something says otherwise."""
    hot = hot and frame.file.tracing.framework is None
    host_side = host_side or bool(roles.HOST_WORDS.search(given.name) or roles.DRAWN_WORDS.search(given.name))
    host_side = host_side or "" in frame.usage.shown_given.get(given.slot, ())
    places = HOST if host_side else GIVEN
    why = (-1 - given.slot,)
    if names_place(given) and given.slot not in frame.usage.called:
        place = named_place(given.default.strip("\"'"))
        return Value(DEVICE_NAME, GIVEN if place in (0, HOST) else place | GIVEN, BY_ARGUMENT, why)
    own = from_parameter(given.slot)
    tensor = Value(TENSOR, places, own | (0 if host_side else RESIDENT), why)
    if given.annotation:
        found = annotated(frame.file, frame.function, given.annotation, tensor)
        if found is not None and found.may_be(TENSOR) and given.slot in frame.usage.computed:
            return HOST_ARRAY
        if found is not None:
            return found
    name = given.name
    if given.kind in ("star", "double_star"):
        names = MAPPING if given.kind == "double_star" else 0
        return Value(CONTAINER, ANYWHERE, own | names, why, item=Value(UNKNOWN, ANYWHERE, own, why))
    if given.slot in frame.usage.given:
        return tensor
    if given.slot in frame.usage.arrays or given.slot in frame.usage.computed:
        return HOST_ARRAY
    found = _by_name(name, given.default, why, tensor, frame, given.slot)
    if hot and found.is_a(UNKNOWN) and given.slot in frame.usage.numbered and roles.LENGTH_WORDS.search(name):
        return tensor  # numbers of a list would not be made numbers again
    if hot and found.is_a(UNKNOWN) and not host_side and not (_BATCH.search(name) and _unmoved(frame)):
        return found.but(places=GIVEN, flags=own | RESIDENT)
    return found


def names_place(given: Parameter) -> bool:
    """True for a parameter that is called what devices are called, and is annotated as none of another kind."""
    if given.kind in ("star", "double_star") or not roles.DEVICE_WORDS.search(given.name):
        return False
    return not given.annotation or bool(_PLACES.search(given.annotation))


def _unmoved(frame: Frame) -> bool:
    """True within a class that tells its trainer to leave batches where they are (lightning.ai/docs, LightningModule
    hooks)."""
    info = frame.file.class_of(frame.function)
    found = frame.file.located(info.methods.get(_MOVING, "")) if info is not None else None
    return found is not None and leaves_batches(found[0].program.functions[found[1]])


def leaves_batches(function: Function) -> bool:
    """True for a `transfer_batch_to_device` that returns what it is given."""
    code = function.code if function.name == _MOVING else ()
    returned = [code[made.value] for made in code if isinstance(made, Return) and made.value is not None]
    return (
        bool(returned)
        and all(isinstance(made, Load) for made in returned)
        and not any(isinstance(made, Store) for made in code)
    )


def learnt(known: Value, told: Value, slot: int) -> Value | None:
    """The parameter in a slot, of which nothing is known, with the place of what all its known callers give for it;
    None where they add nothing."""
    if known.is_a(UNKNOWN) and known.places == ANYWHERE and told.kinds == NAME and "#" in told.name:
        return told
    if known.kinds & UNKNOWN and known.is_a(UNKNOWN | MODULE) and told.kinds == MODULE and "#" in told.name:
        # One that is made on the host is moved with what holds it, or by whoever runs the program.
        return Value(MODULE, told.places if not told.places & ~ON_DEVICE else ANYWHERE, name=told.name)
    if told.kinds == LOADER and (known.kinds == LOADER or (known.is_a(UNKNOWN) and known.places == ANYWHERE)):
        flags = known.flags & FROM_PARAMETER | told.flags & (PINNED | OPTIONAL | DATA)
        found = told.but(flags=flags, why=known.why)
        return None if known.kinds == LOADER and not told.flags & PINNED & ~known.flags else found
    assumed = known.is_a(UNKNOWN) and known.places == GIVEN and known.flags & FROM_PARAMETER
    if assumed and told.kinds == OBJECT and told.name:
        return told
    if known.kinds == OBJECT and known.name and known.places == ANYWHERE:
        if told.kinds == OBJECT and told.name == known.name and told.fields:
            return known.but(fields=told.fields)
        return known.but(places=GIVEN) if told.is_a(UNKNOWN | OBJECT) and told.on_device else None
    several = known.is_a(CONTAINER) and known.item is not None  # `*args`, `**values`
    if not (known.is_a(UNKNOWN) or several) or known.places != ANYWHERE:
        return None
    flags = from_parameter(slot) | RESIDENT
    if told.is_a(CONTAINER) and told.item is not None:
        one = known.item if several and known.item is not None else known
        item = learnt(one, told.item, slot)
        fields = told.fields and tuple((name, learnt(one, part, slot) or one) for name, part in told.fields)
        if item is None and not any(part != one for _, part in fields or ()):
            return None
        flags |= known.flags & MAPPING
        return Value(CONTAINER, known.places, flags, known.why, item=item or one, fields=fields)
    if several:
        return None
    if told.kinds == OBJECT and told.name:
        return told.but(flags=flags, why=known.why)
    if not told.on_device:
        return None
    places = GIVEN if told.places & HOST else told.places & ON_DEVICE  # where callers differ, none proves it
    if told.is_a(UNKNOWN | TENSOR | HOST_VALUE) and told.may_be(UNKNOWN | TENSOR):
        flags |= told.flags & SHAPES if told.is_a(TENSOR) else 0
        return Value(TENSOR if told.is_a(TENSOR) else UNKNOWN, places, flags, known.why)
    return None


def counted(given: Parameter, told: Value) -> Value | None:
    """A parameter that is annotated as a number, or is one by default, and that all known callers give a tensor on the
    device, or one of them does: where it is annotated, of no dimensions. None where they give numbers."""
    if not told.may_be(TENSOR) or not told.is_a(TENSOR | HOST_VALUE) or not told.on_device:
        return None
    annotated_so = numeric(given.annotation)
    if not annotated_so and (given.annotation or not _NUMBER.fullmatch(given.default)):
        return None
    places = GIVEN if told.places & HOST else told.places & ON_DEVICE
    shape = SCALAR if annotated_so else told.flags & SHAPES if told.is_a(TENSOR) else 0
    return Value(told.kinds, places, from_parameter(given.slot) | RESIDENT | shape, (-1 - given.slot,))


def brought(known: Value, told: Value) -> Value | None:
    """A parameter that is taken to be on the host since its function is called as those of data pipelines are, where
    all its known callers give a tensor on the device: a name proves nothing against them. None where they do not."""
    if not known.flags & FROM_PARAMETER or not known.is_a(TENSOR) or known.places != HOST:
        return None
    if not told.is_a(TENSOR) or not told.on_device or told.places & HOST:
        return None
    return known.but(places=told.places & ON_DEVICE, flags=known.flags | RESIDENT)


def same_each_time(known: Value, told: Value) -> Value | None:
    """A parameter that is a tensor or an array on the host, where all its known callers give what they keep: the same
    data at every call. None where they do not."""
    if not told.flags & KEPT or known.flags & KEPT or not told.is_a(TENSOR | ARRAY) or not known.on_host:
        return None
    return known.but(flags=known.flags | KEPT) if known.is_a(TENSOR | ARRAY) else None


def shaped(known: Value, told: Value) -> Value | None:
    """A parameter that is a tensor, or that is taken to be on the device whatever it is, with the dimensions and the
    kind of elements that all its known callers give it; None where they add nothing."""
    if not known.flags & FROM_PARAMETER or not told.is_a(TENSOR):
        return None
    more = told.flags & SHAPES & ~known.flags
    if known.is_a(TENSOR):
        return known.but(flags=known.flags | more) if more else None
    taken = known.is_a(UNKNOWN) and known.places == GIVEN and told.on_device
    return known.but(kinds=TENSOR, flags=known.flags | more) if taken else None


def on_host(known: Value, told: Value, each: bool) -> Value | None:
    """A parameter that is taken to be on the device for want of better, or of which nothing is known, with what all its
    known callers give for it, where that is data on the host; None where it is not. `each`: what each of them gives is
    on the host at least on some path, and on the device on none."""
    if known.kinds == DEVICE_NAME and known.flags & BY_ARGUMENT:
        return known.but(places=HOST) if each and told.is_a(DEVICE_NAME) and told.on_host else None
    if each and told.flags & PINNED and told.is_a(TENSOR | UNKNOWN) and _open(known):
        kinds = TENSOR if known.is_a(TENSOR) else told.kinds  # nothing else is pinned (torch.Tensor.pin_memory)
        return Value(kinds, HOST, known.flags & FROM_PARAMETER | told.flags & (PINNED | OPTIONAL | DATA), known.why)
    if each and _of_tensors(told) and known.flags & FROM_PARAMETER:
        if known.is_a(UNKNOWN) and known.places == ANYWHERE:
            return Value(UNKNOWN, told.places, known.flags & FROM_PARAMETER, known.why)
        if known.is_a(TENSOR) and known.places == GIVEN and not (told.on_host and told.is_a(TENSOR)):
            return Value(TENSOR, told.places, known.flags & FROM_PARAMETER, known.why)
    assumed = known.places == GIVEN and bool(known.flags & FROM_PARAMETER)
    if each and assumed and known.is_a(TENSOR | UNKNOWN) and told.is_a(HOST_VALUE):
        return None if told.is_none else PYTHON  # whatever it is annotated with
    if each and known.is_a(UNKNOWN) and known.flags & FROM_PARAMETER and told.is_a(CONTAINER) and held_on_host(told):
        return told.but(flags=0)
    if each and known.is_a(OBJECT) and known.places == ANYWHERE and told.is_a(UNKNOWN | OBJECT | CONTAINER):
        return known.but(places=told.places)
    if not known.flags & FROM_PARAMETER or known.places != GIVEN or not known.is_a(TENSOR | UNKNOWN | CONTAINER):
        return None
    if not told.on_host or not told.kinds & (TENSOR | ARRAY) or told.kinds & UNKNOWN:
        return None
    kinds = told.kinds if told.is_a(ARRAY) else TENSOR
    if known.is_a(CONTAINER):
        return Value(CONTAINER, HOST, 0, (), Value(kinds, HOST)) if told.is_a(CONTAINER) else None
    return Value(kinds, HOST, told.flags & (SHAPES | KEPT | DATA if told.is_a(TENSOR) else KEPT | DATA))


def _open(known: Value) -> bool:
    """True for a parameter that may be a tensor, of whose place nothing but the function itself tells."""
    return bool(known.flags & FROM_PARAMETER) and known.is_a(TENSOR | UNKNOWN) and known.places in (ANYWHERE, GIVEN)


def _of_tensors(told: Value) -> bool:
    """True for tensors, for what was brought to the host with all its items, and for what a function gives that works
    on the host; not for a loader's batch, which may have been moved while it was loaded."""
    if not told.is_a(TENSOR | UNKNOWN | CONTAINER) or not told.kinds & (TENSOR | UNKNOWN):
        return False
    return bool(told.kinds & (TENSOR | CONTAINER) or told.places & ANYWHERE)


def _by_name(name: str, default: str, why: tuple[int, ...], tensor: Value, frame: Frame, slot: int) -> Value:
    if name.endswith("dtype"):
        return DTYPE_VALUE
    number = bool(_NUMBER.fullmatch(default)) and slot not in frame.usage.opened
    if number or re.fullmatch(r"['\"].*['\"]", default):
        return PYTHON
    if roles.CONFIG_WORDS.match(name) or name in ("self", "cls"):
        return Value(OBJECT, ANYWHERE)
    if re.search(r"(^|_)(optim|optimizer|opt)\d?$", name):
        return Value(OPTIMIZER, ANYWHERE)
    if re.search(r"(loader|dataloader)s?$", name, re.IGNORECASE):
        return Value(LOADER, HOST)
    if roles.MODEL_WORDS.search(name):
        return Value(MODULE | UNKNOWN, ANYWHERE)
    if tensor.places == HOST:
        return Value(UNKNOWN | ARRAY, HOST, from_parameter(slot), why)
    return Value(UNKNOWN, ANYWHERE, from_parameter(slot), why)
