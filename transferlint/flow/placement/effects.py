"""What each effect of the knowledge tables does to values, and which transfer it is."""

from __future__ import annotations

from collections.abc import Sequence as Many

from transferlint.flow.lattice.transfers import ARRAY as ARRAY_READ
from transferlint.flow.lattice.transfers import (
    BUILD,
    COPY_INTO,
    DOWNLOAD,
    MOVE,
    NUMBER,
    SCALAR_READ,
    SHAPE,
    SYNCHRONIZE,
    TRUTH,
)
from transferlint.flow.lattice.values import (
    ANYWHERE,
    ARRAY,
    BOOLEAN,
    BY_ARGUMENT,
    CONTAINER,
    DATA,
    DERIVED,
    DEVICE,
    DEVICE_NAME,
    DIMENSIONS,
    FRAMEWORKS,
    FRESH,
    FROM_PARAMETER,
    GIVEN,
    HOST,
    HOST_ARRAY,
    HOST_VALUE,
    INTEGER,
    LITERAL,
    LOADER,
    MODULE,
    MOVED,
    NOTHING,
    OBJECT,
    ON_DEVICE,
    OPTIMIZER,
    PARAMETER,
    PYTHON,
    RESIDENT,
    TENSOR,
    UNKNOWN,
    Value,
    combine,
    held_on_device,
    made_of,
    number_of_device,
)
from transferlint.flow.placement import devices
from transferlint.flow.placement.frame import Frame
from transferlint.flow.placement.pinning import collated, pinning
from transferlint.knowledge import roles
from transferlint.knowledge.api import Effect
from transferlint.model import Direction
from transferlint.syntax.program import Attr, Call, Const, Outer, Reg, Sequence, Subscript

# What gives whole numbers (docs.pytorch.org, the pages of these functions), unless `dtype` says otherwise.
POSITIONS = frozenset(
    "argmax argmin argsort argwhere bincount bucketize multinomial nonzero randint randperm searchsorted tril_indices"
    " triu_indices".split()
)
_NUMBERS = frozenset({"high", "low", "size", "start", "end", "steps", "n", "m"})


def keyword(made: Call, name: str) -> Reg | None:
    """The register given for a keyword argument, None where it is not given."""
    for key, reg in made.keywords:
        if key == name:
            return reg
    return None


def truthy(frame: Frame, reg: Reg | None) -> bool:
    """True where an argument is given and is not literally False, None or 0."""
    if reg is None:
        return False
    instruction = frame.code[reg]
    return not (isinstance(instruction, Const) and not instruction.value)


def created_on(frame: Frame, made: Call) -> int:
    """The place that `device=` names, else the default device's; 0 where neither says anything."""
    given, spelled = named_device(frame, made)
    if given is not None and not given.is_none:
        places, _ = devices.target(given, spelled)
        return places if places & ~ANYWHERE or given.name == "meta" else GIVEN
    if any(key == "" for key, _ in made.keywords):
        return ANYWHERE
    return default_place(frame)


def named_device(frame: Frame, made: Call) -> tuple[Value | None, str]:
    """What a call is given for `device`, by name or in a mapping (`**factory_kwargs`), and how it is spelled; None and
    "" where it is not known to be given any."""
    reg = keyword(made, "device")
    if reg is not None:
        return frame.values[reg], frame.last_name(reg) or "device"
    spread = (frame.values[one].field("device") for key, one in made.keywords if not key)
    return next((given for given in spread if given is not None), None), ""


def default_place(frame: Frame) -> int:
    """Where tensors are made if nothing is said: in `with torch.device(...)`, or by a default device; else 0."""
    for region in frame.function.ancestors(frame.region):
        if region.kind == "with" and region.test is not None:
            context = frame.values[region.test]
            if context.is_a(DEVICE_NAME):
                return devices.settle(context.places)
    places = frame.file.flag("default_places")
    return devices.settle(places) if places else 0


def by_argument(frame: Frame, made: Call) -> int:
    """BY_ARGUMENT where `device=` is given the function's own device argument."""
    given, _ = named_device(frame, made)
    return given.flags & BY_ARGUMENT if given is not None else 0


def with_argument(frame: Frame, made: Call) -> int:
    """BY_ARGUMENT, and the flags of the parameters that have the place which `device=` names: `device=x.device`."""
    given, _ = named_device(frame, made)
    return given.flags & (BY_ARGUMENT | FROM_PARAMETER) if given is not None else 0


def _moved_by_argument(frame: Frame, made: Call, places: int) -> int:
    """BY_ARGUMENT where a tensor moves to the function's own device argument. One that is None by default leaves it
    where it was."""
    if places == DEVICE or any(
        one.default == "None" and roles.DEVICE_WORDS.search(one.name) for one in frame.function.parameters
    ):
        return 0
    given, _ = named_device(frame, made)
    given = frame.values[made.args[0]] if given is None and made.args else given
    return given.flags & BY_ARGUMENT if given is not None else 0


def apply(frame: Frame, reg: Reg, made: Call, effect: Effect, name: str) -> Value:
    """The result of a function (not a method) with a known effect."""
    found = _applied(frame, reg, made, effect, name)
    if found.kinds != TENSOR or keyword(made, "dtype") is not None or name.rpartition(".")[2] not in POSITIONS:
        return found
    return found.but(flags=found.flags & ~BOOLEAN | INTEGER)


def _applied(frame: Frame, reg: Reg, made: Call, effect: Effect, name: str) -> Value:
    values = [frame.values[r] for r in made.args] + [frame.values[r] for _, r in made.keywords]
    first = made.args[0] if made.args else (made.keywords[0][1] if made.keywords else None)
    if effect is Effect.FILL:
        return fill(frame, reg, made, values, name)
    if effect is Effect.DATA:
        return data(frame, reg, made, name)
    if effect is Effect.LIKE:
        return like(frame, reg, made, frame.values[first] if first is not None else NOTHING)
    if effect is Effect.ARRAY:
        source = frame.values[first] if first is not None else NOTHING
        fresh = FRESH if _filled(frame, first) else 0
        return Value(TENSOR, HOST, source.flags & ~FRESH & ~LITERAL | fresh, (reg,), reads=source.reads)
    if effect is Effect.SHAPE:
        return shape(frame, reg, first, name.rpartition(".")[2] + "(t)")
    if effect is Effect.TRUTH:
        return truth(frame, reg, first, name.rpartition(".")[2] + "(t)")
    if effect is Effect.KEEP_BOOLEAN:
        kept = keep(frame, reg, made, values)
        return kept.but(flags=kept.flags | BOOLEAN)
    if effect in (Effect.REDUCE, Effect.KEEP):
        return keep(frame, reg, made, values)
    if effect is Effect.SYNCHRONIZE:
        if not among_hosts(frame, made):
            frame.record(reg, SYNCHRONIZE, None, NOTHING, 0, name, direction=Direction.NONE)
        return PYTHON
    if effect is Effect.NAME_DEVICE:
        return _device(frame, made)
    if effect is Effect.LOADER:
        pinned = pinning(frame, made)
        return Value(LOADER, HOST, pinned, (reg,), collated(frame, keyword(made, "collate_fn"), pinned))
    if effect is Effect.ARRAY_MAKER:
        return _to_array(frame, reg, first)
    if effect is Effect.OPTIMIZER:
        return Value(OPTIMIZER, ANYWHERE)
    return PYTHON


def _device(frame: Frame, made: Call) -> Value:
    if not made.args:
        return Value(DEVICE_NAME, GIVEN)
    value = frame.values[made.args[0]]
    if value.is_a(DEVICE_NAME):
        return Value(DEVICE_NAME, value.places, value.flags & (BY_ARGUMENT | FROM_PARAMETER), name=value.name)
    return Value(DEVICE_NAME, GIVEN)


def _to_array(frame: Frame, reg: Reg, first: Reg | None) -> Value:
    value = frame.values[first] if first is not None else NOTHING
    if value.flags & FRAMEWORKS and held_on_device(value):
        frame.record(reg, DOWNLOAD, first, value, HOST, "np.asarray(t)")
        return HOST_ARRAY.but(reads=frozenset({reg}), why=(reg,))
    if value.is_a(TENSOR) and value.on_device:
        frame.record(reg, ARRAY_READ, first, value, HOST, "np.asarray(t)", explicit=False)
        return HOST_ARRAY.but(reads=frozenset({reg}))
    return HOST_ARRAY.but(reads=value.reads)


def fill(frame: Frame, reg: Reg, made: Call, values: list[Value], name: str) -> Value:
    places = created_on(frame, made) or HOST
    for argument in [*made.args, *(r for key, r in made.keywords if key in _NUMBERS)]:
        value = frame.values[argument]
        if number_of_device(value):
            frame.record(reg, NUMBER, argument, value, HOST, "size from t", explicit=False)
    literal = LITERAL if all(v.flags & LITERAL for v in values) else 0
    reads: frozenset[int] = frozenset()
    for value in values:
        reads |= value.reads
    flags = (RESIDENT if places & ON_DEVICE else 0) | with_argument(frame, made)
    flags |= pinning(frame, made) | _of_booleans(frame, made) | _of_integers(frame, made, name)
    return Value(TENSOR, places, FRESH | literal | flags, (reg,), reads=frozenset(sorted(reads)[:4]))


def _of_integers(frame: Frame, made: Call, name: str) -> int:
    """INTEGER for `arange` of what are whole numbers (docs.pytorch.org torch.arange, `dtype`)."""
    if name.rpartition(".")[2] != "arange" or keyword(made, "dtype") is not None or any(made.stars):
        return 0
    return INTEGER if made.args and all(_is_whole(frame, one) for one in made.args) else 0


def _is_whole(frame: Frame, reg: Reg) -> bool:
    """True for an integer that is written out, a length, and a size of a tensor."""
    made = frame.code[reg]
    if isinstance(made, Const):
        return type(made.value) is int
    if isinstance(made, Call):
        callee = frame.code[made.function]
        return callee == Outer("len") or (isinstance(callee, Attr) and callee.name in ("size", "numel"))
    shape_ = frame.code[made.object] if isinstance(made, Subscript) else None
    return isinstance(shape_, Attr) and shape_.name == "shape"


def data(frame: Frame, reg: Reg, made: Call, name: str) -> Value:
    """`torch.tensor(v, device=d)`: an upload of host data, made where `d` says."""
    first = made.args[0] if made.args else keyword(made, "data")
    source = frame.values[first] if first is not None else PYTHON
    places = DEVICE if name.startswith("torch.cuda.") else created_on(frame, made)
    legacy = name.endswith("Tensor")
    shapes_only = legacy and bool(made.args) and (any(made.stars) or all(_size(frame, a) for a in made.args))
    if name in ("torch.as_tensor", "torch.asarray") and source.is_a(TENSOR) and not places:
        return source
    if not places:
        places = (
            source.places
            if source.is_a(TENSOR) and name in ("torch.as_tensor", "torch.asarray", "torch.tensor")
            else HOST
        )
    scalars = _device_scalars(source)
    if scalars is not None and not source.is_a(TENSOR):
        frame.record(reg, SCALAR_READ, first, scalars, HOST, f"{name}([t, ...])", explicit=False)
    elif places & ON_DEVICE and not source.is_a(TENSOR) and not shapes_only and not _nothing_to_move(name, source):
        frame.record(reg, BUILD, first, source.but(places=HOST), places, name, direction=Direction.H2D)
    elif places & ON_DEVICE and source.is_a(TENSOR):
        frame.record(reg, MOVE, first, source, places, name)
    flags = (source.flags & LITERAL) | FRESH | by_argument(frame, made)
    flags |= BOOLEAN if first is not None and _booleans(frame, first) else _of_booleans(frame, made)
    foreign = source.is_a(ARRAY) and not _filled(frame, first)
    if foreign or (source.is_a(TENSOR) and not source.flags & FRESH) or source.flags & DATA:
        flags &= ~FRESH
    if name in ("torch.as_tensor", "torch.asarray") and source.kinds & UNKNOWN:
        flags &= ~FRESH  # what `as_tensor` gets may be a tensor already
    uploads = frozenset({reg}) if places & ON_DEVICE and not shapes_only else frozenset()
    reads = source.reads | ({reg} if scalars is not None else frozenset())
    return Value(TENSOR, places, flags, (reg,), reads=frozenset(sorted(reads)[:4]), uploads=uploads)


def _filled(frame: Frame, reg: Reg | None) -> bool:
    """True for an array that numpy fills in this very expression: `np.zeros(n).astype(np.float32)`."""
    if reg is None or not isinstance(frame.code[reg], Call):
        return False
    value = frame.values[reg]
    return value.is_a(ARRAY) and bool(value.flags & FRESH)


def _of_booleans(frame: Frame, made: Call) -> int:
    """BOOLEAN for what is made with `dtype=torch.bool`, or the type of Python's or numpy's."""
    given = keyword(made, "dtype")
    return BOOLEAN if given is not None and frame.dotted(given).rpartition(".")[2] == "bool" else 0


def _booleans(frame: Frame, reg: Reg) -> bool:
    """True for `True` and `False`, and for lists of them."""
    made = frame.code[reg]
    if isinstance(made, Sequence):
        return bool(made.items) and all(_booleans(frame, item) for item in made.items)
    return isinstance(made, Const) and isinstance(made.value, bool)


def _nothing_to_move(name: str, source: Value) -> bool:
    """True for an empty list, and for `as_tensor` of what may be a tensor that is there already."""
    unknown = bool(source.kinds & (TENSOR | UNKNOWN)) and not source.on_host
    unknown = unknown and name in ("torch.as_tensor", "torch.asarray")
    return unknown or (source.is_a(CONTAINER) and source.items == () and source.item is None)


def _size(frame: Frame, reg: Reg) -> bool:
    """True for an argument that the legacy constructors take for a size: a number, or another tensor's size."""
    value = frame.values[reg]
    return isinstance(frame.code[reg], Const) or (value.is_a(HOST_VALUE) and not value.kinds & CONTAINER)


def _device_scalars(source: Value) -> Value | None:
    """The device tensor among the elements of a list that is made into a tensor, None where there is none."""
    candidates = source.items or ((source.item,) if source.item is not None else ())
    for value in candidates:
        if value.is_a(TENSOR) and value.on_device:
            return value
    return None


def like(frame: Frame, reg: Reg, made: Call, base: Value) -> Value:
    places = created_on(frame, made) or base.places
    fresh = (FRESH if places == HOST else RESIDENT | DERIVED) | by_argument(frame, made) | _of_booleans(frame, made)
    return Value(
        TENSOR, places, fresh | (base.flags & (FROM_PARAMETER | RESIDENT)), base.why if places & ON_DEVICE else (reg,)
    )


def keep(frame: Frame, reg: Reg, made: Call, values: list[Value]) -> Value:
    """An operator: computes where its operands are."""
    operands = [v for v in values if v.kinds & (TENSOR | CONTAINER | UNKNOWN | MODULE)]
    places, why, reads, uploads, may = combine(operands)
    tensors = [v for v in operands if v.kinds & (TENSOR | CONTAINER)]
    fresh = made_of(operands) if tensors else 0
    if not operands:
        return Value(TENSOR, created_on(frame, made) or HOST, FRESH | with_argument(frame, made), (reg,))
    if places == HOST and any(not v.is_a(TENSOR | CONTAINER) for v in operands):
        places = HOST | ANYWHERE
    item = values[0].item if values and values[0].is_a(CONTAINER) else None  # `torch.cat(masks)` is a mask
    must = item.flags & BOOLEAN if item is not None else 0
    return Value(TENSOR, places, may | fresh | must, why or (reg,), reads=reads, uploads=uploads)


def shape(frame: Frame, reg: Reg, subject: Reg | None, api: str) -> Value:
    """The size of the result depends on the data."""
    value = frame.values[subject] if subject is not None else NOTHING
    if value.on_device:
        frame.record(reg, SHAPE, subject, value, value.places, api, explicit=False, direction=Direction.NONE)
    return Value(
        TENSOR, value.places, value.flags & (FROM_PARAMETER | RESIDENT), value.why or (reg,), uploads=value.uploads
    )


def repeat_interleave(frame: Frame, reg: Reg, made: Call, subject: Reg | None, repeats: Many[Reg]) -> Value:
    """`repeat_interleave(x, repeats)` sizes its result from a device tensor `repeats` unless `output_size` is given."""
    counts = repeats[0] if repeats else keyword(made, "repeats")
    value = frame.values[subject] if subject is not None else NOTHING
    by = frame.values[counts] if counts is not None else (value if not made.args else PYTHON)
    if by.is_a(TENSOR) and by.on_device and keyword(made, "output_size") is None:
        frame.record(
            reg,
            SHAPE,
            counts,
            by,
            by.places,
            "repeat_interleave without output_size",
            explicit=False,
            direction=Direction.NONE,
        )
    return Value(
        TENSOR,
        value.places,
        value.flags & (FROM_PARAMETER | RESIDENT | FRESH | DERIVED),
        value.why,
        reads=value.reads,
        uploads=value.uploads,
    )


def truth(frame: Frame, reg: Reg, subject: Reg | None, api: str) -> Value:
    value = frame.values[subject] if subject is not None else NOTHING
    if value.is_a(TENSOR) and value.on_device:
        frame.record(reg, TRUTH, subject, value, HOST, api, explicit=False)
        return PYTHON.but(reads=frozenset({reg}))
    return PYTHON


def parameter(value: Value) -> Value:
    """What `nn.Parameter` or a registered buffer makes of a tensor: it moves with its module."""
    places = value.places if value.places & ON_DEVICE else GIVEN
    return Value(TENSOR, places, PARAMETER | RESIDENT, value.why)


def scalar_read(frame: Frame, reg: Reg, subject: Reg, value: Value, name: str) -> Value:
    """`.item()`, `.tolist()`."""
    listed = name == "tolist"
    if value.on_host or value.is_a(ARRAY | HOST_VALUE | OBJECT):
        return Value(CONTAINER, HOST, item=PYTHON, reads=value.reads) if listed else PYTHON.but(reads=value.reads)
    if value.kinds & MODULE and value.kinds & (UNKNOWN | TENSOR):
        value = value.but(kinds=value.kinds & ~MODULE)  # modules have no such method
    frame.record(reg, SCALAR_READ, subject, value, HOST, f".{name}()")
    reads = frozenset({reg})
    if not listed:
        return Value(HOST_VALUE, HOST, why=(reg,), reads=reads)
    return Value(CONTAINER, HOST, why=(reg,), item=Value(HOST_VALUE | CONTAINER, HOST, reads=reads), reads=reads)


def download(frame: Frame, reg: Reg, made: Call, subject: Reg, value: Value, api: str) -> Value:
    """A copy to the host. Where an argument of the function says so, it is its callers that decide on it."""
    waits = not truthy(frame, keyword(made, "non_blocking"))
    given = (frame.values[r] for r in (*made.args, *(one for _, one in made.keywords)))
    if not value.on_host and not any(one.flags & BY_ARGUMENT for one in given):
        frame.record(reg, DOWNLOAD, subject, value, HOST, api, non_blocking=not waits)
    if value.kinds & MODULE:
        return value.but(places=HOST)
    item = value.item.but(places=HOST) if value.item else None
    flags = value.flags & (BOOLEAN | INTEGER | DIMENSIONS | FRESH)
    return Value(
        value.kinds,
        HOST,
        flags,
        (reg,),
        item,
        reads=value.reads if value.on_host else frozenset({reg}),
    )


def among_hosts(frame: Frame, made: Call) -> bool:
    """True for a collective of a group whose name says that its tensors are on the host: `group=self.cpu_group`."""
    group = keyword(made, "group")
    name = frame.last_name(group).lower() if group is not None else ""
    return "cpu" in name or "gloo" in name


def move(frame: Frame, reg: Reg, made: Call, subject: Reg, value: Value, places: int, api: str) -> Value:
    """`.to(place)`, `.cuda()`: the receiver at another place."""
    hint = keyword(made, "non_blocking")
    non_blocking = truthy(frame, hint)
    if places == HOST:
        return download(frame, reg, made, subject, value, api)
    if value.kinds & TENSOR and value.is_a(TENSOR | HOST_VALUE | CONTAINER | ARRAY):
        value = value.tensor()  # the others have no such method
    frame.record(reg, MOVE, subject, value, places, api, non_blocking=non_blocking)
    kinds = value.kinds
    if kinds & MODULE and not kinds & TENSOR:
        _in_place(frame, subject, value.but(places=places, why=(reg,)))
        return value.but(places=places, why=(reg,))
    named = _moved_by_argument(frame, made, places)
    already = value.places and not value.places & ~ON_DEVICE
    uploads = value.uploads if already else frozenset({reg})
    if kinds & (UNKNOWN | OBJECT | CONTAINER) and not kinds & TENSOR:
        inner = value.item
        item = inner.but(places=places, flags=inner.flags | named, uploads=uploads) if inner is not None else None
        return Value(kinds & ~OBJECT or UNKNOWN, places, MOVED | named, (reg,), item, name=value.name, uploads=uploads)
    flags = value.flags & (BOOLEAN | INTEGER | DIMENSIONS | PARAMETER | DERIVED) | named
    flags |= RESIDENT if already or not value.on_host else 0
    return Value(kinds, places, flags, (reg,), reads=value.reads, uploads=uploads)


def _in_place(frame: Frame, subject: Reg, moved: Value) -> None:
    """A module is moved where it stands."""
    path = frame.path(subject)
    if not path:
        return
    slot = frame.function.slots.get(path)
    if slot is not None and "." not in path:
        frame.state.slots[slot] = moved
        frame.stored[slot] = moved
    else:
        frame.state.paths[path] = moved
        info = frame.file.class_of(frame.function)
        if path.startswith("self.") and path.count(".") == 1 and info is not None:
            frame.file.set_attribute(info, path[5:], moved.foreign())


def copy_into(frame: Frame, reg: Reg, made: Call, receiver: Reg, value: Value) -> Value:
    """`a.copy_(b)`: b's data goes to where a is."""
    if made.args:
        source = frame.values[made.args[0]]
        crosses = (value.on_host and source.on_device) or (source.on_host and value.on_device)
        if crosses and value.kinds & (TENSOR | UNKNOWN) and source.kinds & (TENSOR | UNKNOWN):  # it takes nothing else
            hint = keyword(made, "non_blocking")
            flagged = truthy(frame, hint) or (len(made.args) > 1 and truthy(frame, made.args[1]))
            frame.record(reg, COPY_INTO, made.args[0], source, value.places, ".copy_()", non_blocking=flagged)
    return value
