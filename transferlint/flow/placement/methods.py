"""Method calls: on tensors, modules, arrays, containers, loaders, and on what is not known."""

from __future__ import annotations

from transferlint.flow.lattice.transfers import ARRAY as ARRAY_READ
from transferlint.flow.lattice.transfers import DOWNLOAD, FORMAT, SHAPE, SYNCHRONIZE
from transferlint.flow.lattice.values import (
    ANYWHERE,
    ARRAY,
    BOOLEAN,
    CONTAINER,
    DATA,
    DERIVED,
    DEVICE,
    DTYPE,
    FRAMEWORKS,
    FRESH,
    FROM_PARAMETER,
    GIVEN,
    HANDED,
    HOST,
    HOST_ARRAY,
    HOST_VALUE,
    INTEGER,
    KEPT,
    LITERAL,
    LOADER,
    MAPPING,
    MODULE,
    NAME,
    NOTHING,
    OBJECT,
    ON_DEVICE,
    OPTIMIZER,
    OPTIONAL,
    PARAMETER,
    PINNED,
    PYTHON,
    RESIDENT,
    TENSOR,
    UNKNOWN,
    Value,
    combine,
    element,
    holding,
    join,
    made_of,
    put_into_words,
    updated,
    with_field,
)
from transferlint.flow.placement import builtin_calls, checks, devices, effects, foreign_members, numbers, reflection
from transferlint.flow.placement.frame import Frame
from transferlint.flow.placement.passing import element_of
from transferlint.knowledge.api import Effect
from transferlint.knowledge.catalogue import effects as effect_table
from transferlint.knowledge.libraries import ENVIRONMENTS
from transferlint.knowledge.numpy import REDUCTIONS
from transferlint.knowledge.torch import ALONG, CASTS, COMPUTING, COMPUTING_BOOLEANS, SEVERAL, TENSOR_ONLY
from transferlint.knowledge.torch_names import VIEWS
from transferlint.model import Direction
from transferlint.syntax.program import Attr, Call, Const, Discard, Reg

_MOVES = frozenset({"to", "cuda", "cpu", "xpu", "npu", "hpu", "mlu", "musa", "mps", "type"})
_READS = frozenset({"item", "tolist"})
_LEGACY = frozenset(
    {"FloatTensor", "LongTensor", "IntTensor", "ByteTensor", "HalfTensor", "DoubleTensor", "BFloat16Tensor"}
)
_INTEGERS = frozenset({"long", "int", "short", "byte", "char"})
_FLOATS = frozenset({"float", "half", "double", "bfloat16"})
_ALONG = frozenset({"axis", "keepdims", "out", ""})  # keywords of numpy's reductions, "" is `**options`
_SAME_MEMORY = VIEWS - _INTEGERS - {"bool", "type", "type_as"}
_COUNTS = frozenset({"cumsum", "sum", "cumprod", "prod", "count_nonzero"})  # of booleans: whole numbers
_DICT_VIEWS = frozenset({"items", "values", "keys", "copy", "get", "pop", "setdefault", "popitem", "popleft"})
# What gives tensors where the tensor is that it is a method of.
_COMPUTES = frozenset({Effect.KEEP, Effect.KEEP_BOOLEAN, Effect.REDUCE, Effect.SAME, Effect.DATA})
_MODULE_ITERATORS = frozenset({"parameters", "named_parameters", "buffers", "named_buffers"})
_PREPARERS = frozenset({"prepare", "setup", "setup_module", "prepare_model"})


def call(frame: Frame, reg: Reg, made: Call, attribute: Attr, base: Value) -> Value | None:
    """The value of `base.name(...)`; None where nothing is known of such a method."""
    name = attribute.name
    subject = attribute.object
    if base.kinds == NAME:
        return None
    used = frame.file.tracing.framework
    asked = used is not None and (base.kinds & MODULE or name in used.replicas or name in used.replicated)
    if base.flags & FRAMEWORKS or asked:
        found = foreign_members.method(frame, reg, made, attribute, base)
        if found is not None:
            return found
    if name in _MOVES:
        return _move(frame, reg, made, subject, base, name)
    if name == "type_as" and len(made.args) == 1 and base.on_host and base.is_a(TENSOR):
        places = frame.values[made.args[0]].places
        if places and not places & ~ON_DEVICE:
            return effects.move(frame, reg, made, subject, base, places, f".type_as({frame.last_name(made.args[0])})")
    if name in _READS:
        return effects.scalar_read(frame, reg, subject, base, name)
    if name in ("numpy", "__array__"):
        return _numpy(frame, reg, made, subject, base)
    if name == "synchronize" and not made.args and base.kinds & (OBJECT | UNKNOWN):
        frame.record(
            reg,
            SYNCHRONIZE,
            None,
            base,
            0,
            f"{frame.last_name(subject) or '...'}.synchronize()",
            direction=Direction.NONE,
        )
        return PYTHON
    if name == "format" and base.is_a(HOST_VALUE):
        return _formatted(frame, made)
    if name in _LEGACY and base.kinds & (UNKNOWN | OBJECT):
        return effects.data(frame, reg, made, f"torch.cuda.{name}")
    if base.kinds & TENSOR or (base.is_a(UNKNOWN) and (base.on_device or name in TENSOR_ONLY)):
        found = _tensor(frame, reg, made, subject, base, name)
        if found is not None:
            return found
    if base.is_a(ARRAY):
        if name in ("item", "tolist"):
            return PYTHON
        return numpy_number(made, base, 0) if name in REDUCTIONS else base.but(flags=base.flags & ~LITERAL)
    if base.kinds & CONTAINER:
        found = _container(frame, reg, made, subject, base, name)
        if found is not None:
            return found
    if name == "astype" and base.is_a(UNKNOWN) and not base.places & DEVICE and not frame.file.names.frameworks:
        return HOST_ARRAY.but(flags=base.flags & DATA, reads=base.reads)  # numpy.org ndarray.astype: no tensor has it
    given = base.kinds == UNKNOWN and base.places == ANYWHERE and base.flags & FROM_PARAMETER
    if given and effect_table().get(f"Tensor.{name}") in _COMPUTES:
        return base.but(flags=given | HANDED, uploads=frozenset())
    return _object(frame, reg, made, subject, base, name)


def numpy_number(made: Call, array: Value, given: int) -> Value:
    """What a reduction of numpy gives that would be this array along an axis: a number where none is named, and only
    what is reduced is `given` by position (numpy.org numpy.argmax, numpy.mean: "axis: By default, ... of the flattened
    array")."""
    along = len(made.args) != given or any(made.stars) or any(key in _ALONG for key, _ in made.keywords)
    return array if along else Value(HOST_VALUE, HOST, array.flags & DATA, array.why, reads=array.reads)


def _formatted(frame: Frame, made: Call) -> Value:
    """`"{}".format(t)` puts its arguments into words."""
    for argument in (*made.args, *(r for _, r in made.keywords)):
        value = frame.values[argument]
        if put_into_words(value):
            frame.record(argument, FORMAT, argument, value, HOST, '"{}".format(t)', explicit=False)
    return PYTHON


def _move(frame: Frame, reg: Reg, made: Call, subject: Reg, base: Value, name: str) -> Value:
    if base.is_a(ARRAY | HOST_VALUE):
        return base
    if name == "cpu":
        return _download(frame, reg, made, subject, base, ".cpu()")
    if name == "type":
        return _type(frame, reg, made, subject, base)
    if name != "to":
        return effects.move(frame, reg, made, subject, base, DEVICE, f".{name}()")
    places, typed = _target(frame, made)
    if places:
        api = f".to({_spelled(frame, made.args[0]) if made.args else 'device'})"
        if places == HOST:
            return _download(frame, reg, made, subject, base, api)
        return effects.move(frame, reg, made, subject, base, places, api)
    return _typed(base) if typed or base.kinds & TENSOR else base


def _spelled(frame: Frame, place: Reg) -> str:
    """How a place is named: "cpu" for `"cpu"` and `torch.device("cpu")`, "device" for `self.device`."""
    made = frame.code[place]
    if isinstance(made, Call) and made.args and frame.last_name(place) == "device":
        made = frame.code[made.args[0]]
    if isinstance(made, Const) and isinstance(made.value, str):
        return made.value
    return frame.last_name(place) or "..."


def _type(frame: Frame, reg: Reg, made: Call, subject: Reg, base: Value) -> Value:
    """`x.type(...)`: a cast, and with a type of one place a move to it: torch.FloatTensor is the host's, of its own
    (docs.pytorch.org torch.Tensor, "Data types"). Who casts so what an argument gave may well hold it on the host."""
    if not made.args or not base.kinds & (TENSOR | UNKNOWN):
        return PYTHON
    said = frame.code[made.args[0]]
    text = str(said.value) if isinstance(said, Const) else frame.dotted(made.args[0])
    if text.startswith("torch.cuda."):
        return effects.move(frame, reg, made, subject, base, DEVICE, ".type()")
    typed = _typed(base)
    if text not in CASTS:
        known = isinstance(said, Const) or frame.values[made.args[0]].is_a(DTYPE)
        return typed if known else typed.but(places=typed.places | ANYWHERE, uploads=frozenset())
    if base.on_device and not base.flags & FROM_PARAMETER:
        return effects.download(frame, reg, made, subject, typed, f".type({text})")
    return typed.but(places=HOST, uploads=frozenset())


def _download(frame: Frame, reg: Reg, made: Call, subject: Reg, base: Value, api: str) -> Value:
    """A copy to the host. Of what is no tensor, and whose copy nobody takes, the items are brought there in place."""
    found = effects.download(frame, reg, made, subject, base, api)
    path = frame.path(subject)
    after = frame.code[reg + 1] if reg + 1 < len(frame.code) else None
    dropped = isinstance(after, Discard) and after.value == reg
    if dropped and path and base.is_a(UNKNOWN | CONTAINER):
        item = base.item.but(places=HOST) if base.item is not None else Value(UNKNOWN, HOST)
        frame.forget(path)
        frame.rebind(path, Value(base.kinds | CONTAINER, HOST, 0, (), item, name=base.name))
    return found


def _typed(base: Value) -> Value:
    if base.kinds & (MODULE | OBJECT):
        return base
    return base.but(flags=base.flags & ~(BOOLEAN | INTEGER | PINNED), kinds=base.kinds)


def _target(frame: Frame, made: Call) -> tuple[int, bool]:
    """The place that the arguments of `.to` name (0: none), and whether they name a dtype."""
    device, spelled = effects.named_device(frame, made)
    if device is not None:
        places, _ = devices.target(device, spelled)
        return places or GIVEN, False
    typed = effects.keyword(made, "dtype") is not None
    if not made.args:
        other = effects.keyword(made, "other")
        if other is not None:
            return frame.values[other].places, False
        return (ANYWHERE if any(not key for key, _ in made.keywords) else 0), typed
    if made.stars and made.stars[0]:
        return ANYWHERE, False
    places, dtype = devices.target(frame.values[made.args[0]], frame.last_name(made.args[0]))
    return places, dtype or typed


def _update(frame: Frame, made: Call, subject: Reg, base: Value) -> None:
    """`d.update(other, key=value)`."""
    wider = base
    for argument in made.args:
        other = frame.values[argument]
        wider = holding(wider, element(other.but(flags=other.flags & ~MAPPING)), updated(wider.fields, other.fields))
    for key, argument in made.keywords:
        value = frame.values[argument]
        wider = holding(wider, value, with_field(wider.fields, key, value) if key else None)
    if path := frame.path(subject):
        frame.rebind(path, wider)


def _numpy(frame: Frame, reg: Reg, made: Call, subject: Reg, base: Value) -> Value:
    forced = effects.truthy(frame, effects.keyword(made, "force"))
    if forced and base.kinds & (TENSOR | UNKNOWN) and not base.on_host:
        frame.record(reg, DOWNLOAD, subject, base, HOST, ".numpy(force=True)")
        return HOST_ARRAY.but(reads=frozenset({reg}), why=(reg,))
    if base.is_a(TENSOR) and base.places == DEVICE:
        frame.record(reg, ARRAY_READ, subject, base, HOST, ".numpy()")  # raises; who writes it holds a host tensor
    return HOST_ARRAY.but(reads=base.reads, why=base.why)


def _tensor(frame: Frame, reg: Reg, made: Call, subject: Reg, base: Value, name: str) -> Value | None:
    """A method of a tensor, or of what is taken for one because it is on the device or has a tensor's method."""
    if base.is_a(TENSOR):
        numbers.taken(frame, reg, made, name, 0)
    if name == "repeat_interleave":
        return effects.repeat_interleave(frame, reg, made, subject, made.args[:1])
    effect = effect_table().get(f"Tensor.{name}") or (_computes(name) if base.is_a(TENSOR) else None)
    if name in ("masked_fill", "masked_fill_"):
        checks.filled(frame, made, 1)
    if effect is None:
        checked = checks.method(frame, reg, made, base, name)
        if checked is not None:
            return checked
        if name.endswith("_") and base.is_a(TENSOR):
            return base
        return None
    if effect is Effect.HOST or effect is Effect.BACKWARD:
        return PYTHON
    tensor = base if base.is_a(TENSOR) else base.but(kinds=TENSOR)
    if effect is Effect.SHAPE:
        sized = effects.shape(frame, reg, subject, f".{name}()")
        return sized.but(flags=sized.flags | INTEGER) if name in effects.POSITIONS else sized
    if effect is Effect.TRUTH:
        return effects.truth(frame, reg, subject, f".{name}()")
    if effect is Effect.PIN:
        return tensor.but(flags=tensor.flags & ~OPTIONAL | PINNED)
    if effect is Effect.COPY_INTO:
        return effects.copy_into(frame, reg, made, subject, base)
    if effect is Effect.NEW:
        return _new(frame, reg, made, tensor, name)
    if effect is Effect.LIKE:
        return effects.like(frame, reg, made, tensor)
    if effect is Effect.SAME:
        given = [frame.values[r] for r in made.args]
        lost = KEPT if all(_no_data(v) for v in given) else KEPT | FRESH | DERIVED | LITERAL
        if path := frame.path(subject):
            frame.written(path, tensor, lost)
        return tensor.but(flags=tensor.flags & ~LITERAL & ~lost)
    others = [frame.values[r] for r in made.args] + [frame.values[r] for _, r in made.keywords]
    operands = [tensor] + [v for v in others if v.kinds & (TENSOR | CONTAINER)]
    places, why, reads, uploads, may = combine(operands)
    fresh = made_of(operands) | (tensor.flags & KEPT if all(v.flags & LITERAL for v in others) else 0)
    kept = INTEGER | BOOLEAN | (PINNED if name in _SAME_MEMORY else 0)  # what is computed is pageable
    must = fresh | (tensor.flags & kept if effect is Effect.KEEP and name not in _FLOATS else 0)
    if effect is Effect.KEEP_BOOLEAN:
        must |= BOOLEAN
    if name in _COUNTS and must & BOOLEAN:
        must = (must & ~BOOLEAN) | INTEGER
    if name in _INTEGERS or name in effects.POSITIONS:
        must = (must & ~BOOLEAN) | INTEGER
    value = Value(TENSOR, places, may | must, why or (reg,), reads=reads, uploads=uploads)
    along = name in ALONG and (made.args or made.keywords) and not any(v.kinds & TENSOR for v in others)
    if name in SEVERAL or along:
        return Value(CONTAINER, places, may, why or (reg,), value, reads=reads, uploads=uploads)
    return value


def _no_data(given: Value) -> bool:
    """True for what a device could be given just as well: a number of the host's own, or what was made on the spot."""
    return bool(given.flags & (LITERAL | FRESH | DERIVED)) or (given.is_a(HOST_VALUE) and not given.reads)


def _computes(name: str) -> Effect | None:
    if name in COMPUTING:
        return Effect.KEEP
    return Effect.KEEP_BOOLEAN if name in COMPUTING_BOOLEANS else None


def _new(frame: Frame, reg: Reg, made: Call, base: Value, name: str) -> Value:
    source = frame.values[made.args[0]] if made.args else PYTHON
    if name == "new" and (any(made.stars) or not source.is_a(CONTAINER | ARRAY)):
        return effects.like(frame, reg, made, base)  # `x.new(3, 4)` takes numbers for a size
    if base.on_device and not source.is_a(TENSOR):
        frame.record(
            reg,
            "build",
            made.args[0] if made.args else None,
            source,
            base.places,
            f".{name}()",
            direction=Direction.H2D,
        )
    return Value(TENSOR, base.places, base.flags & RESIDENT, base.why, reads=source.reads, uploads=frozenset({reg}))


def _container(frame: Frame, reg: Reg, made: Call, subject: Reg, base: Value, name: str) -> Value | None:
    if name == "update":
        _update(frame, made, subject, base)
        return PYTHON
    if name in ("append", "extend", "add", "insert", "appendleft") and made.args:
        given = frame.values[made.args[-1]]
        wider = holding(base, element(given) if name == "extend" else given, None)
        if path := frame.path(subject):
            frame.rebind(path, wider)
        _within(frame, subject, wider)
        return PYTHON
    if name == "setdefault" and len(made.args) == 2:
        return _setdefault(frame, made, subject, base)
    if name == "items":
        pair = Value(CONTAINER, base.places, item=base.item, items=(PYTHON, base.item or NOTHING))
        return Value(CONTAINER, base.places, base.flags & ~MAPPING, base.why, pair)
    if name == "keys":
        return Value(CONTAINER, HOST, item=PYTHON)
    if name == "values":
        return base.but(flags=base.flags & ~MAPPING)
    if name == "copy":
        return base
    if name in ("get", "pop") and made.args and base.fields and isinstance(key := frame.code[made.args[0]], Const):
        return base.field(key.value) or NOTHING
    if name in _DICT_VIEWS:
        return base.item or NOTHING
    if name == "sort":
        builtin_calls.ordered(frame, reg, subject, base, effects.keyword(made, "key"))
    if name in ("index", "count", "sort", "reverse", "clear", "remove"):
        return PYTHON
    return None


def _within(frame: Frame, subject: Reg, wider: Value) -> None:
    """Note in a container that an element of it holds more: `d[k].append(x)`, `d.setdefault(k, []).append(x)`."""
    made = frame.code[subject]
    of, index = element_of(frame.function, made)
    around = frame.values[of] if of is not None else NOTHING
    if of is not None and around.is_a(CONTAINER) and (path := frame.path(of)):
        key = made_key.value if index is not None and isinstance(made_key := frame.code[index], Const) else None
        fields = with_field(around.fields, key, wider) if isinstance(key, str) else None
        frame.rebind(path, holding(around, wider, fields))


def _setdefault(frame: Frame, made: Call, subject: Reg, base: Value) -> Value:
    """`d.setdefault(key, value)`."""
    given, key = frame.values[made.args[1]], frame.code[made.args[0]]
    named = key.value if isinstance(key, Const) and isinstance(key.value, str) else None
    both = join(base.field(named) or (base.item if base.fields is None or named is None else None), given) or NOTHING
    if path := frame.path(subject):
        frame.rebind(path, holding(base, given, with_field(base.fields, named, both) if named is not None else None))
    return both


def _object(frame: Frame, reg: Reg, made: Call, subject: Reg, base: Value, name: str) -> Value | None:
    """Methods of modules, loaders, optimizers and of objects whose class is not known."""
    if base.kinds & (MODULE | OPTIMIZER):
        if name in _MODULE_ITERATORS:
            places = base.places if base.places & ~ANYWHERE else GIVEN
            tensor = Value(TENSOR, places, PARAMETER | RESIDENT, base.why)
            if name.startswith("named"):
                tensor = _named(tensor, places)
            return Value(CONTAINER, places, item=tensor)
        if name in ("train", "eval", "requires_grad_", "half", "float", "bfloat16", "double", "apply", "share_memory"):
            return base
        if name in ("zero_grad", "add_module", "register_module", "load_state_dict", "state_dict"):
            return Value(CONTAINER, base.places) if name == "state_dict" else PYTHON
        if name == "step" and base.is_a(OPTIMIZER):
            return PYTHON
        if name in ("register_buffer", "register_parameter"):
            _register(frame, made, subject)
            return PYTHON
    if name == "_replace" and base.kinds == OBJECT:
        return base  # docs.python.org collections.somenamedtuple._replace
    if name == "save_for_backward" and base.kinds == OBJECT:
        _save(frame, made, base)
        return PYTHON
    if base.is_a(LOADER):
        return Value(UNKNOWN, HOST, base.flags | DATA) if name in ("next", "__next__") else base
    if name in ("step", "reset") and ENVIRONMENTS.search(frame.last_name(subject)):
        return Value(UNKNOWN, HOST, DATA)
    if name in _PREPARERS and made.args:
        prepared = tuple(_prepared(frame.values[r]) for r in made.args)
        return prepared[0] if len(prepared) == 1 else Value(CONTAINER, GIVEN, items=prepared)
    if name in ("parameters", "named_parameters"):
        tensor = Value(TENSOR, GIVEN, PARAMETER | RESIDENT)
        item = tensor if name == "parameters" else _named(tensor, GIVEN)
        return Value(CONTAINER, GIVEN, item=item)
    if name in ("items", "values") and base.kinds & UNKNOWN:
        item = Value(UNKNOWN, base.places, base.flags, base.why)
        if name == "items":
            item = Value(CONTAINER, base.places, item=item, items=(PYTHON, item))
        return Value(CONTAINER, base.places, base.flags, base.why, item)
    if name in ("nonzero", "masked_select") and base.is_a(UNKNOWN):
        frame.record(reg, SHAPE, subject, base, base.places, f".{name}()", explicit=False, direction=Direction.NONE)
    return None


def _named(tensor: Value, places: int) -> Value:
    """A name and a tensor."""
    return Value(CONTAINER, places, item=join(PYTHON, tensor), items=(PYTHON, tensor))


def _prepared(value: Value) -> Value:
    """What accelerate's `prepare` and Fabric's `setup` give back: the same, on the device."""
    if value.kinds & MODULE:
        return value.but(places=GIVEN)
    if value.kinds & LOADER:
        return Value(CONTAINER | LOADER, GIVEN, item=Value(UNKNOWN, GIVEN, RESIDENT))
    return value


def _save(frame: Frame, made: Call, context: Value) -> None:
    """`ctx.save_for_backward(x, y)`: what `ctx.saved_tensors` holds in `backward`."""
    info = frame.file.info_of(context.name)
    if info is not None and info.key == frame.file.key and not any(made.stars):
        values = tuple(frame.values[r] for r in made.args)
        item: Value | None = None
        for value in values:
            item = join(item, value)
        places = item.places if item is not None else HOST
        frame.file.store_attribute(info, "saved_tensors", Value(CONTAINER, places, item=item, items=values))


def _register(frame: Frame, made: Call, subject: Reg) -> None:
    """`self.register_buffer("name", tensor)`: an attribute that moves with the module."""
    if made.args and frame.path(subject) == "self":
        value = frame.values[made.args[1]] if len(made.args) > 1 else NOTHING
        reflection.register(frame, made.args[0], value, effects.parameter(value))
