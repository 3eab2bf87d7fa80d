"""Calls of what nobody knows: what their names and arguments tell."""

from __future__ import annotations

from transferlint.flow.callgraph.names import ClassInfo
from transferlint.flow.lattice.values import (
    ANYWHERE,
    ARRAY,
    CONTAINER,
    DATA,
    DEVICE_NAME,
    FRAMEWORKS,
    FROM_PARAMETER,
    GIVEN,
    HANDED,
    HOST,
    HOST_VALUE,
    LOADER,
    MODULE,
    NOTHING,
    ON_DEVICE,
    PYTHON,
    RESIDENT,
    TENSOR,
    UNKNOWN,
    Value,
    combine,
)
from transferlint.flow.placement.frame import Frame
from transferlint.knowledge.libraries import HOST_NAMES, MOVERS, READERS
from transferlint.syntax.program import Call, Instruction, Load


def arguments(frame: Frame, made: Call) -> list[Value]:
    """The values of all arguments, positional first."""
    return [frame.values[r] for r in made.args] + [frame.values[r] for _, r in made.keywords]


def unknown_call(frame: Frame, made: Call, name: str) -> Value:
    """A call of something unknown: what comes back is on the device where a tensor on the device went in."""
    values = arguments(frame, made)
    if MOVERS.match(name):
        subject = values[0] if values else NOTHING
        there = any(v.is_a(DEVICE_NAME) and v.places == HOST for v in values[1:])
        places = HOST if there else GIVEN
        return (
            subject.but(places=places, why=(made.function,), flags=subject.flags & ~DATA & ~FROM_PARAMETER)
            if subject is not NOTHING
            else Value(UNKNOWN, places, 0, (made.function,))
        )
    if READERS.match(name):
        return Value(ARRAY | HOST_VALUE, HOST)
    if HOST_NAMES.match(name):
        return PYTHON
    tensors = [v for v in values if v.kinds & (TENSOR | CONTAINER | UNKNOWN | MODULE)]
    if len(values) >= 1 and values[0].kinds & MODULE and not any(v.kinds & TENSOR for v in values):
        data = any(v.kinds & (UNKNOWN | CONTAINER | LOADER) and not v.on_host for v in values[1:])
        places = GIVEN if data and not values[0].on_host else values[0].places  # wrapped, or computed with
        return Value(MODULE | UNKNOWN, places, why=values[0].why)
    if values and values[0].kinds & LOADER:
        return values[0]  # tqdm and the like hand on what they wrap
    if "loader" in name.lower():
        return Value(LOADER, HOST)
    places, why, _, _, may = combine(tensors)
    reads = combine(values)[2]
    if any(v.on_device and v.kinds & (TENSOR | CONTAINER | UNKNOWN) for v in tensors):
        known = not may & FRAMEWORKS  # functions of arrays that nobody names often give host data
        handed = may & FROM_PARAMETER and HANDED
        return Value(UNKNOWN, (places & ON_DEVICE) and GIVEN if known else ANYWHERE, may | RESIDENT | handed, why)
    if tensors and all(v.is_a(TENSOR | CONTAINER) and v.on_host for v in tensors):
        # Batches of a data set may be moved on the way; what this function made itself is computed with where it is.
        made_here = not may & DATA and all(v.is_a(TENSOR) for v in tensors)
        return Value(UNKNOWN, HOST | ANYWHERE if made_here else ANYWHERE, may & DATA, reads=reads)
    given = may & FROM_PARAMETER
    return Value(UNKNOWN, ANYWHERE, given and given | HANDED, reads=reads)


def own_class(frame: Frame, callee: Instruction) -> ClassInfo | None:
    """The class that `cls` is in a class method: to call it makes an object, and does not run it."""
    given = frame.function.parameters
    if not isinstance(callee, Load) or not given or callee.slot != given[0].slot:
        return None
    return frame.file.class_of(frame.function) if "classmethod" in frame.function.decorators else None
