"""Calls: whom is called, and what that does with the places of what it is given."""

from __future__ import annotations

from transferlint import late
from transferlint.flow.lattice.transfers import BUILD, DOWNLOAD, FORMAT
from transferlint.flow.lattice.values import (
    ANYWHERE,
    ARRAY,
    CONTAINER,
    DATA,
    DEVICE,
    FRAMEWORKS,
    FRESH,
    FROM_PARAMETER,
    GIVEN,
    HOST,
    HOST_TENSOR,
    HOST_VALUE,
    INTEGER,
    MAPPING,
    MAY,
    MODULE,
    MOVED,
    NAME,
    NOTHING,
    OBJECT,
    ON_DEVICE,
    OPTIMIZER,
    PYTHON,
    RESIDENT,
    TENSOR,
    UNKNOWN,
    Value,
    combine,
    framework_of,
    held_on_device,
    held_on_host,
    put_into_words,
)
from transferlint.flow.placement import (
    attributes,
    builtin_calls,
    checks,
    effects,
    foreign,
    instances,
    known_calls,
    library_calls,
    methods,
    numbers,
)
from transferlint.flow.placement.frame import Frame
from transferlint.flow.placement.handed import hand_over
from transferlint.flow.placement.unknown_calls import arguments, own_class, unknown_call
from transferlint.knowledge import libraries
from transferlint.knowledge.api import Effect
from transferlint.knowledge.catalogue import effects as effect_table
from transferlint.knowledge.frameworks import ROOTS, known, row_of
from transferlint.knowledge.lookup import effect_of, spellings
from transferlint.knowledge.numpy import DRAWS, FILLS, REDUCTIONS
from transferlint.knowledge.torch import ALONG, APPLIES, SEVERAL
from transferlint.model import Direction
from transferlint.syntax.program import Attr, Call, Const, Reg, Subscript

# Classes of these libraries that are no modules, by how their names end.
_NO_MODULES = ("Dataset", "Tokenizer", "TokenizerFast", "Config", "Processor", "Extractor", "Args", "Arguments")
_TUPLES = frozenset({"LSTM", "GRU", "RNN", "MultiheadAttention", "LSTMCell"})
_PACKING = "torch.nn.utils.rnn."
# What is packed in another order than it came in: to unpack it, its order is read (torch/nn/utils/rnn.py).
_UNSORTED = _PACKING + "PackedSequence"
# Methods of a logger at levels that are usually on (docs.python.org, logging). At `debug`, which is usually off, the
# arguments are not formatted.
_LOGGING = frozenset({"info", "warning", "error", "critical", "exception"})
_CONVERSION = late.pattern(r"%[-#0 +]*\d*(\.\d+)?[sdifeEgGr]")


def call(frame: Frame, reg: Reg, made: Call) -> Value:
    """The value of a call; records the transfers and syncs it makes."""
    callee = frame.values[made.function]
    instruction = frame.code[made.function]
    hand_over(frame, reg, made, callee, instruction)
    if callee.kinds == NAME:
        found = frame.file.located(frame.file.names.resolved(callee.name))
        names: tuple[str, ...] = (callee.name,)
        if found is not None:
            names = spellings(found[0].program.path, found[0].program.functions[found[1]].qualname)
        told = library_calls.by_name(frame, reg, made, names, frame.file.options.knowledge)
        if told is not None:
            return _several(frame, reg, made, callee.name, told)
        if found is not None:
            return known_calls.call(frame, reg, made, *found)
        return _named(frame, reg, made, callee.name)
    if callee.flags & FRAMEWORKS:
        given = foreign.applied(frame, reg, made, callee)
        if given is not None:
            return given
    owner = own_class(frame, instruction)
    if owner is not None:
        return instances.instance(frame, reg, made, owner)
    info = frame.file.info_of(callee.name) if callee.kinds == OBJECT else None
    found = frame.file.located(info.methods.get("__call__", "")) if info is not None else None
    if found is not None:
        return known_calls.call(frame, reg, made, *found)
    if isinstance(instruction, Attr):
        base = frame.values[instruction.object]
        info = frame.file.info_of(base.name)
        told = library_calls.by_method(
            frame, reg, made, instruction, info.bases if info is not None else (), frame.file.options.knowledge
        )
        if told is not None:
            return told
        done = methods.call(frame, reg, made, instruction, base)
        if done is not None:
            return done
    if callee.kinds & MODULE and not callee.kinds & ~(MODULE | UNKNOWN | OBJECT):
        return _module_call(frame, reg, made, callee)
    if _moved(callee) and not (isinstance(instruction, Attr) and _moved(frame.values[instruction.object])):
        return _module_call(frame, reg, made, callee)
    if isinstance(instruction, Attr) and instruction.name in _LOGGING:
        _logged(frame, made)
    made_of = unknown_call(frame, made, frame.last_name(made.function))
    if isinstance(instruction, Subscript) and frame.values[instruction.object].kinds == NAME:
        return _of_generic(frame, made, made_of)
    return made_of


def _moved(value: Value) -> bool:
    """True for what nothing is known of, but that it was moved to the device: what of that is called is a module."""
    return value.is_a(UNKNOWN) and bool(value.flags & MOVED) and not value.places & ~ON_DEVICE


def _logged(frame: Frame, made: Call) -> None:
    """A text with `%s` or `%.3f`, and values, for a logger: it puts them into words (docs.python.org, logging,
    Logger.debug: "merged into msg using the string formatting operator")."""
    text = frame.code[made.args[0]] if made.args and not any(made.stars) else None
    if not isinstance(text, Const) or not isinstance(text.value, str) or not _CONVERSION.search(text.value):
        return
    for argument in made.args[1:]:
        value = frame.values[argument]
        if put_into_words(value):
            frame.record(argument, FORMAT, argument, value, HOST, "logging of t", explicit=False)


def _of_generic(frame: Frame, made: Call, instance: Value) -> Value:
    """What a class with its parameters makes, `Batch[Row]({"x": x})`: where what it is given is."""
    given = arguments(frame, made)
    places = combine(given)[0] if given else ANYWHERE
    return instance.but(places=places) if instance.places == ANYWHERE and places & HOST else instance


def _named(frame: Frame, reg: Reg, made: Call, name: str) -> Value:
    """A call of something known by its qualified name."""
    if name.startswith("builtins."):
        return builtin_calls.call(frame, reg, made, name[9:])
    if name in APPLIES and made.args and not any(made.stars[:1]):
        named = tuple(pair for pair in made.keywords if pair[0] not in APPLIES[name])
        return call(frame, reg, Call(made.args[0], made.args[1:], named, made.stars[1:]))
    if name == "dataclasses.field":
        made_by, default = effects.keyword(made, "default_factory"), effects.keyword(made, "default")
        if made_by is not None:
            return call(frame, reg, Call(made_by, (), (), ()))
        return frame.values[default] if default is not None else NOTHING
    if name.endswith((".NewType", ".TypeVar")) and name.startswith("typing"):
        type_of = effects.keyword(made, "bound") or (made.args[1] if name.endswith("Type") and made.args[1:] else None)
        return frame.values[type_of] if type_of is not None else NOTHING
    if name == "functools.partial" and len(made.args) == 1 and not any(made.stars):
        return frame.values[made.args[0]]  # keywords alone leave the positions as they were
    if name.startswith("collections."):
        return builtin_calls.collection(frame, reg, made, name[12:])
    handed = builtin_calls.library(frame, reg, made, name)
    if handed is not None:
        return handed
    if name.partition(".")[0] in ROOTS:
        framework = known(name)
        found = foreign.named(frame, reg, made, *framework) if framework is not None else None
        if found is not None:
            return found
    if name.startswith("torch."):
        numbers.taken(frame, reg, made, name.rpartition(".")[2], 1)
    effect = effect_table().get(name)
    if effect is not None:
        return _several(frame, reg, made, name, effects.apply(frame, reg, made, effect, name))
    root = name.partition(".")[0]
    if root == "torch":
        return _several(frame, reg, made, name, _torch(frame, reg, made, name))
    if root == "numpy":
        return _numpy(frame, reg, made, name)
    if root == "math":
        return builtin_calls.number(frame, reg, made, f"{name}(t)")
    if root in libraries.OF_MODULES:
        last = name.rpartition(".")[2]
        if last[:1].isupper() or last in ("from_pretrained", "create_model"):
            made_of = last if last[:1].isupper() else name.rpartition(".")[0]
            kind = OBJECT if made_of.endswith(_NO_MODULES) else MODULE
            return Value(kind | UNKNOWN, HOST if kind == MODULE else ANYWHERE)
    if root in libraries.FOREIGN and root != name:
        return Value(UNKNOWN, HOST, reads=combine(arguments(frame, made))[2])
    return unknown_call(frame, made, name.rpartition(".")[2])


def _several(frame: Frame, reg: Reg, made: Call, name: str, found: Value) -> Value:
    """What an operator gives that has several results: a container of them."""
    head, _, last = name.rpartition(".")
    if name in (f"{_PACKING}pack_padded_sequence", f"{_PACKING}pack_sequence"):
        sorted_so = effects.keyword(made, "enforce_sorted") or (made.args[3] if len(made.args) == 4 else None)
        found = found.tensor()
        return found.but(name=_UNSORTED) if sorted_so is not None and frame.code[sorted_so] == Const(False) else found
    if name == f"{_PACKING}pad_packed_sequence":  # the lengths are on the host (docs.pytorch.org)
        packed = frame.values[made.args[0]] if made.args else NOTHING
        if packed.name == _UNSORTED and packed.on_device:
            frame.record(reg, DOWNLOAD, made.args[0], packed, HOST, f"{last}(t)", explicit=False)
        return Value(CONTAINER, found.places, found.flags & MAY, found.why, found, (found, HOST_TENSOR))
    if head not in ("torch", "torch.linalg") or not found.is_a(TENSOR):
        return found
    along = len(made.args) > 1 and not frame.values[made.args[1]].kinds & TENSOR
    if last in SEVERAL or (last in ALONG and (along or any(key == "dim" for key, _ in made.keywords))):
        flags = found.flags & ~FRESH
        return Value(CONTAINER, found.places, flags, found.why, found, None, "", found.reads, found.uploads)
    return found


def _torch(frame: Frame, reg: Reg, made: Call, name: str) -> Value:
    """A function or class of torch that no row names."""
    last = name.rpartition(".")[2]
    if name in ("torch.set_default_device", "torch.set_default_tensor_type"):
        frame.file.set_flag("default_places", frame.values[made.args[0]].places if made.args else 0)
        return PYTHON
    if (
        name.startswith("torch.nn.functional.")
        or name.count(".") == 1
        or name.startswith(("torch.special.", "torch.linalg.", "torch.fft."))
    ):
        if name.endswith("one_hot") and len(made.args) < 2 and not any(k == "num_classes" for k, _ in made.keywords):
            return effects.apply(frame, reg, made, Effect.SHAPE, name)
        if name.endswith("repeat_interleave"):
            return effects.repeat_interleave(frame, reg, made, made.args[0] if made.args else None, made.args[1:2])
        if name == "torch.where" and len(made.args) == 1 and not made.keywords:
            found = effects.apply(frame, reg, made, Effect.SHAPE, name)
            return found.but(flags=found.flags | INTEGER)
        if name == "torch.where" and len(made.args) == 3:
            _selected(frame, made)
        if name in ("torch.compile", "torch.jit.script", "torch.jit.trace") and made.args:
            return frame.values[made.args[0]]
        if name == "torch.load":
            return _load(frame, made)
        values = arguments(frame, made)
        if not name.endswith(("einsum", "index_put", "meshgrid", "broadcast_tensors", "block_diag")):
            # Behind the first argument lists and tuples are sizes and dimensions: `F.pad(x, (0, n))`.
            values = [value for at, value in enumerate(values) if not at or not value.is_a(CONTAINER)]
        return effects.keep(frame, reg, made, values)
    if name.startswith("torch.nn.utils.rnn.") or name.startswith("torch.nn.utils.clip_grad"):
        return (
            Value(TENSOR, GIVEN, RESIDENT, (reg,))
            if "clip" in name
            else effects.keep(frame, reg, made, arguments(frame, made))
        )
    if name in ("torch.nn.Parameter", "torch.nn.parameter.Parameter", "torch.nn.parameter.Buffer", "torch.nn.Buffer"):
        value = frame.values[made.args[0]] if made.args else NOTHING
        return effects.parameter(value)
    if name.startswith("torch.nn.") and last[:1].isupper():
        return _construct_module(frame, reg, made, name)
    if name.startswith("torch.optim.") and last[:1].isupper():
        return Value(OPTIMIZER, ANYWHERE, name=name)
    if name.startswith("torch.cuda.") and last == "Stream":
        return Value(OBJECT, ANYWHERE, name=name)
    if name in (
        "torch.cuda.Event",
        "torch.Event",
        "torch.cuda.current_stream",
        "torch.cuda.default_stream",
        "torch.xpu.Event",
    ):
        return Value(OBJECT, ANYWHERE, name="torch.cuda.Event" if last == "Event" else "torch.cuda.Stream")
    if name.startswith("torch.distributions."):
        return checks.composed(frame, reg, made, arguments(frame, made), last)
    if name.startswith("torch.utils.data."):
        return Value(OBJECT | UNKNOWN, HOST)
    return unknown_call(frame, made, last)


def _selected(frame: Frame, made: Call) -> None:
    """`torch.where(mask, x, torch.tensor(0))` copies the host tensor without dimensions to where the others are, and
    fills a number in there (aten/src/ATen/native/TensorCompare.cpp, `where_self_out`)."""
    if not any(frame.values[r].kinds & (TENSOR | UNKNOWN) and frame.values[r].on_device for r in made.args):
        return
    for argument in made.args[1:]:
        value, creation = frame.values[argument], frame.code[argument]
        if not (value.is_a(TENSOR) and value.places == HOST and isinstance(creation, Call) and len(creation.args) == 1):
            continue
        name = frame.file.names.dotted(frame.function, creation.function)
        source = frame.values[creation.args[0]]
        if name in ("torch.tensor", "torch.as_tensor", "torch.scalar_tensor") and source.is_a(HOST_VALUE):
            frame.record(argument, BUILD, None, source, DEVICE, "torch.where", explicit=False, direction=Direction.H2D)


def _load(frame: Frame, made: Call) -> Value:
    places = ANYWHERE
    for keyword, r in made.keywords:
        if keyword == "map_location":
            places = frame.values[r].places
    return Value(UNKNOWN, places, DATA)


def _numpy(frame: Frame, reg: Reg, made: Call, name: str) -> Value:
    """numpy computes on the host; a tensor on the device among its operands raises (`__array__`), but that of a
    framework which numpy asks to compute in its place (numpy.org NEP 18, `__array_function__`)."""
    for r in made.args:
        asked = framework_of(frame.values[r].flags) if frame.values[r].is_a(TENSOR) else None
        if asked is not None and asked.numpy and (row := row_of(asked, asked.numpy + name.partition(".")[2])):
            return foreign.apply(frame, reg, made, asked, row, asked.numpy + name.partition(".")[2], made.args[0])
    _, _, reads, _, may = combine(arguments(frame, made))
    for r in made.args:
        value = frame.values[r]
        if value.flags & FRAMEWORKS and held_on_device(value):
            foreign.download(frame, reg, r, value, "np.f(t)", explicit=False)
            reads |= {reg}
        elif value.is_a(TENSOR) and value.on_device:
            frame.record(reg, "array", r, value, HOST, "np.f(t)", explicit=False)
            reads |= {reg}
    found = Value(ARRAY, HOST, may & DATA | (FRESH if name in FILLS else 0), reads=frozenset(sorted(reads)[:4]))
    if name in DRAWS and not _sized(made, DRAWS[name]):
        numbers = all(frame.values[r].is_a(HOST_VALUE) for r in (*made.args, *(r for _, r in made.keywords)))
        return found.but(kinds=HOST_VALUE if numbers else HOST_VALUE | ARRAY, flags=found.flags & DATA)
    return methods.numpy_number(made, found, 1) if name.rpartition(".")[2] in REDUCTIONS else found


def _sized(made: Call, position: int) -> bool:
    """True for a call that gives a size, which is the argument at a position, or may give one."""
    return len(made.args) > position or any(made.stars) or any(key in ("size", "") for key, _ in made.keywords)


def _construct_module(frame: Frame, reg: Reg, made: Call, name: str) -> Value:
    """An instance of a class of torch.nn: on the host unless `device=` or a default device says otherwise."""
    places = effects.created_on(frame, made) or HOST
    if name.endswith("DataParallel"):  # the distributed and the fully sharded one too: they take modules alone
        wrapped = made.args[0] if made.args else effects.keyword(made, "module")
        value = frame.values[wrapped] if wrapped is not None else NOTHING
        if value.kinds & MODULE:
            return value
        return Value(MODULE, value.places or ANYWHERE, value.flags & MOVED, value.why or (reg,))
    children = [v for v in arguments(frame, made) if v.kinds & MODULE]
    if children:
        places = 0
        for child in children:
            places |= child.places
    return Value(MODULE, places, why=(reg,), name=name)


def _computed(part: Value, places: int, why: tuple[int, ...], flags: int | None = None) -> Value:
    """What a module gives, or a part of it, where its parameters and inputs are, with these flags or its own. What is
    no tensor stays as it is, and what `forward` itself makes on the host, or copies there, stays there."""
    own = part.foreign()
    if own.is_a(HOST_VALUE | NAME) or held_on_host(part, FROM_PARAMETER):
        return own
    flags = own.flags if flags is None else flags | own.flags & MAPPING
    if not own.is_a(CONTAINER | OBJECT) or (own.item is None and own.items is None and not own.fields):
        return own.but(places=places, flags=flags, why=why, reads=frozenset(), uploads=frozenset())
    item = _computed(own.item, places, why) if own.item is not None else None
    items = tuple(_computed(one, places, why) for one in own.items or ()) or None
    fields = own.fields and tuple((name, _computed(one, places, why)) for name, one in own.fields)
    name = own.name if own.is_a(OBJECT) else ""
    return Value(own.kinds, places, flags, why, item, items, name, fields=fields)


def _module_call(frame: Frame, reg: Reg, made: Call, callee: Value) -> Value:
    """A module applied: what its `forward` returns, where its parameters and inputs are."""
    if frame.file.tracing.framework is not None:
        return foreign.tree_of(frame, reg, frame.file.tracing.framework)
    values = [v for v in arguments(frame, made) if v.kinds & (TENSOR | UNKNOWN | CONTAINER)]
    places, why, reads, uploads, may = combine(values) if values else (0, (), frozenset(), frozenset(), 0)
    along = attributes.moves_along(frame, made.function, callee)
    if callee.is_a(MODULE) and callee.places == HOST and not along and not places & ON_DEVICE:
        if libraries.holds_nothing(callee.name):
            return effects.keep(frame, reg, made, arguments(frame, made))
        places = HOST
    elif DEVICE in (callee.places, places):
        places = DEVICE
    elif places != HOST or may & DATA or not callee.may_be(MODULE) or callee.on_device or along:
        places = GIVEN  # loaded data may be moved by what loads it
    why = callee.why or why or (reg,)
    may = (may & ~FROM_PARAMETER) | RESIDENT if places != HOST else may & ~FROM_PARAMETER
    info = frame.file.info_of(callee.name)
    if info is not None:
        applied = info.methods.get("__call__") or info.methods.get("forward", "")
        forward = frame.file.located(applied)
        if forward is not None:
            frame.calls[reg] = applied
            known_calls.give(frame, reg, made, *forward, bound=True)
            placed = forward[0].place(forward[1])
            if placed is not None and placed.returns is not None:
                return _computed(placed.returns, places, why, may)
    last = callee.name.rpartition(".")[2]
    if effect_of(f"{callee.name}.forward") in (Effect.CHECK, Effect.COPIES_OPERAND):
        checks.check(frame, reg, made, values, f"{callee.name}.forward")
    if callee.name.startswith("torch.nn.") and last not in _TUPLES and last != "Sequential":
        return Value(TENSOR, places, may, why, reads=reads, uploads=uploads)
    if last in _TUPLES:
        tensor = Value(TENSOR, places, may, why)
        if made.args and frame.values[made.args[0]].name == _UNSORTED:
            return Value(CONTAINER, places, may, why, tensor, (tensor.but(name=_UNSORTED), tensor))
        return Value(CONTAINER, places, may, why, tensor)
    kinds = TENSOR if last == "Sequential" else UNKNOWN
    return Value(kinds, places, may, why, reads=reads, uploads=uploads)
