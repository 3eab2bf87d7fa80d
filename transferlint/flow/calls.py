"""Calls: whom is called, and what that does with the places of what it is given."""

from __future__ import annotations

from typing import TYPE_CHECKING

from transferlint.flow import builtin_calls, effects, library_calls, methods
from transferlint.flow.frame import Frame
from transferlint.flow.names import ident
from transferlint.flow.values import (
    ANYWHERE,
    ARRAY,
    CONTAINER,
    DATA,
    DEVICE,
    FROM_PARAMETER,
    GIVEN,
    HOST,
    HOST_VALUE,
    LOADER,
    MODULE,
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
)
from transferlint.knowledge.api import Effect
from transferlint.knowledge.catalogue import effects as effect_table
from transferlint.knowledge.libraries import HOST_NAMES, MOVERS, READERS
from transferlint.knowledge.lookup import spellings
from transferlint.syntax.program import Attr, Call, Function, Reg

if TYPE_CHECKING:
    from transferlint.flow.placement import FilePlacement

_FOREIGN = ("jax.", "tensorflow.", "cupy.", "paddle.", "mxnet.", "cv2.", "PIL.", "sklearn.", "pandas.", "scipy.")
_TUPLES = frozenset({"LSTM", "GRU", "RNN", "MultiheadAttention", "LSTMCell"})
_OBJECT_METHODS = frozenset({"to", "cuda", "cpu"})


def call(frame: Frame, reg: Reg, made: Call) -> Value:
    """The value of a call; records the transfers and syncs it makes."""
    callee = frame.values[made.function]
    instruction = frame.code[made.function]
    if callee.kinds == NAME:
        found = frame.file.located(frame.file.names.resolved(callee.name))
        names: tuple[str, ...] = (callee.name,)
        if found is not None:
            names = spellings(found[0].program.path, found[0].program.functions[found[1]].qualname)
        told = library_calls.by_name(frame, reg, made, names, frame.file.options.knowledge)
        if told is not None:
            return told
        if found is not None:
            return _known(frame, reg, made, *found)
        return _named(frame, reg, made, callee.name)
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
    return unknown_call(frame, made, frame.last_name(made.function))


def arguments(frame: Frame, made: Call) -> list[Value]:
    """The values of all arguments, positional first."""
    return [frame.values[r] for r in made.args] + [frame.values[r] for _, r in made.keywords]


def _named(frame: Frame, reg: Reg, made: Call, name: str) -> Value:
    """A call of something known by its qualified name."""
    if name.startswith("builtins."):
        return builtin_calls.call(frame, reg, made, name[9:])
    effect = effect_table().get(name)
    if effect is not None:
        return effects.apply(frame, reg, made, effect, name)
    root = name.partition(".")[0]
    if root == "torch":
        return _torch(frame, reg, made, name)
    if root == "numpy":
        return _numpy(frame, reg, made)
    if root == "math":
        return builtin_calls.number(frame, reg, made, f"{name}(t)")
    if root in ("lightning", "pytorch_lightning", "transformers", "torchvision", "timm", "diffusers", "torchmetrics"):
        last = name.rpartition(".")[2]
        if last[:1].isupper() or last in ("from_pretrained", "create_model"):
            kind = (
                MODULE
                if not last.endswith(("Dataset", "Tokenizer", "Config", "Processor", "Args", "Arguments"))
                else OBJECT
            )
            return Value(kind | UNKNOWN, HOST if kind == MODULE else ANYWHERE)
    if name.startswith(_FOREIGN):
        return Value(UNKNOWN, HOST, reads=combine(arguments(frame, made))[2])
    return unknown_call(frame, made, name.rpartition(".")[2])


def _torch(frame: Frame, reg: Reg, made: Call, name: str) -> Value:
    """A function or class of torch that no row names."""
    last = name.rpartition(".")[2]
    if name in ("torch.set_default_device", "torch.set_default_tensor_type"):
        frame.file.default_places = frame.values[made.args[0]].places if made.args else 0
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
            return effects.apply(frame, reg, made, Effect.SHAPE, name)
        if name in ("torch.compile", "torch.jit.script", "torch.jit.trace") and made.args:
            return frame.values[made.args[0]]
        if name == "torch.load":
            return _load(frame, made)
        return effects.keep(frame, reg, made, list(arguments(frame, made)))
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
        return effects.keep(frame, reg, made, arguments(frame, made)).but(kinds=UNKNOWN)
    if name.startswith("torch.utils.data."):
        return Value(OBJECT | UNKNOWN, HOST)
    return unknown_call(frame, made, last)


def _load(frame: Frame, made: Call) -> Value:
    places = ANYWHERE
    for keyword, r in made.keywords:
        if keyword == "map_location":
            places = frame.values[r].places
    return Value(UNKNOWN, places, DATA)


def _numpy(frame: Frame, reg: Reg, made: Call) -> Value:
    """numpy computes on the host; a tensor on the device among its operands raises (`__array__`)."""
    _, _, reads, _, may = combine(arguments(frame, made))
    for r in made.args:
        value = frame.values[r]
        if value.is_a(TENSOR) and value.on_device:
            frame.record(reg, "array", r, value, HOST, "np.f(t)", explicit=False)
            reads |= {reg}
    return Value(ARRAY, HOST, may & DATA, reads=frozenset(sorted(reads)[:4]))


def _construct_module(frame: Frame, reg: Reg, made: Call, name: str) -> Value:
    """An instance of a class of torch.nn: on the host unless `device=` or a default device says otherwise."""
    places = effects.created_on(frame, made) or HOST
    children = [v for v in arguments(frame, made) if v.kinds & MODULE]
    if name.endswith(("DataParallel", "DistributedDataParallel", "FullyShardedDataParallel")) and children:
        return children[0]
    if children:
        places = 0
        for child in children:
            places |= child.places
    return Value(MODULE, places, why=(reg,), name=name)


def _known(frame: Frame, reg: Reg, made: Call, owner: FilePlacement, index: int) -> Value:
    """A function, method or class of the checked source."""
    function = owner.program.functions[index]
    if function.kind == "class":
        return _construct(frame, reg, made, owner, index)
    frame.calls[reg] = ident(owner.key, index)
    _tell(frame, made, owner, function)
    if MOVERS.match(function.name):
        return unknown_call(frame, made, function.name)
    placed = owner.place(index)
    if placed is None or placed.returns is None:
        return unknown_call(frame, made, function.name)
    return _returned(frame, reg, made, function, placed.returns)


def _tell(frame: Frame, made: Call, owner: FilePlacement, function: Function) -> None:
    """Let the callee know what its parameters are given here."""
    if any(made.stars):
        return
    taken = [given for given in function.parameters if given.kind == "positional"]
    callee = frame.code[made.function]
    if taken and taken[0].name in ("self", "cls") and isinstance(callee, Attr):
        taken = taken[1:]
    for given, reg in zip(taken, made.args, strict=False):
        owner.told(function.index, given.slot, frame.values[reg])
    by_name = {given.name: given for given in function.parameters}
    for name, reg in made.keywords:
        if name in by_name:
            owner.told(function.index, by_name[name].slot, frame.values[reg])


def _returned(frame: Frame, reg: Reg, made: Call, function: Function, returns: Value) -> Value:
    """What a function of this file returns, its place taken from these arguments where it is that of a parameter."""
    values = arguments(frame, made)
    places = returns.places
    why: tuple[int, ...] = (reg,)
    if returns.flags & FROM_PARAMETER:
        tensors = [
            v for v in values if v.kinds & (TENSOR | UNKNOWN | CONTAINER | ARRAY) and not v.kinds & (OBJECT | MODULE)
        ]
        given, given_why, *_ = combine(tensors) if tensors else (places, why, None)
        if tensors and not returns.places & HOST:
            places = given if given != ANYWHERE or not places & ON_DEVICE else places
        why = given_why or why
    return Value(
        returns.kinds, places, returns.flags & ~FROM_PARAMETER, why if places & ON_DEVICE else (reg,),
        returns.item.but(why=why, reads=frozenset(), uploads=frozenset()) if returns.item else None,
        tuple(v.but(why=why, reads=frozenset(), uploads=frozenset()) for v in returns.items) if returns.items else None,
        returns.name,
    )  # fmt: skip


def _construct(frame: Frame, reg: Reg, made: Call, owner: FilePlacement, index: int) -> Value:
    """An instance of a class of the checked source."""
    info = owner.classes.get(index)
    if info is None:
        return NOTHING
    init = info.methods.get("__init__")
    if init is not None:
        frame.calls[reg] = init
    name = ident(owner.key, index)
    if info.module:
        return Value(MODULE, effects.created_on(frame, made) or HOST, why=(reg,), name=name)
    if info.data:
        return Value(OBJECT | UNKNOWN, HOST, name=name)
    return Value(OBJECT, ANYWHERE, name=name)


def _module_call(frame: Frame, reg: Reg, made: Call, callee: Value) -> Value:
    """A module applied: what its `forward` returns, where its parameters and inputs are."""
    values = [v for v in arguments(frame, made) if v.kinds & (TENSOR | UNKNOWN | CONTAINER)]
    places, why, reads, uploads, may = combine(values) if values else (0, (), frozenset(), frozenset(), 0)
    if callee.is_a(MODULE) and callee.places == HOST and not places & ON_DEVICE:
        places = HOST
    elif DEVICE in (callee.places, places):
        places = DEVICE
    else:
        places = GIVEN
    why = callee.why or why or (reg,)
    may = (may & ~FROM_PARAMETER) | RESIDENT if places != HOST else may & ~FROM_PARAMETER
    info = frame.file.info_of(callee.name)
    if info is not None:
        forward = frame.file.located(info.methods.get("forward", ""))
        if forward is not None:
            frame.calls[reg] = info.methods["forward"]
            placed = forward[0].place(forward[1])
            if placed is not None and placed.returns is not None:
                returned = placed.returns
                item = (
                    returned.item.but(places=places, why=why, reads=frozenset(), uploads=frozenset())
                    if returned.item
                    else None
                )
                return Value(returned.kinds, places, may, why, item)
    last = callee.name.rpartition(".")[2]
    if callee.name.startswith("torch.nn.") and last not in _TUPLES and last != "Sequential":
        return Value(TENSOR, places, may, why, reads=reads, uploads=uploads)
    if last in _TUPLES:
        tensor = Value(TENSOR, places, may, why)
        return Value(CONTAINER, places, may, why, tensor)
    kinds = TENSOR if last == "Sequential" else UNKNOWN
    return Value(kinds, places, may, why, reads=reads, uploads=uploads)


def unknown_call(frame: Frame, made: Call, name: str) -> Value:
    """A call of something unknown: what comes back is on the device where a tensor on the device went in."""
    values = arguments(frame, made)
    if MOVERS.match(name):
        subject = values[0] if values else NOTHING
        return (
            subject.but(places=GIVEN, why=(made.function,), flags=subject.flags & ~DATA)
            if subject is not NOTHING
            else Value(UNKNOWN, GIVEN, 0, (made.function,))
        )
    if READERS.match(name):
        return Value(ARRAY | HOST_VALUE, HOST)
    if HOST_NAMES.match(name):
        return PYTHON
    tensors = [v for v in values if v.kinds & (TENSOR | CONTAINER | UNKNOWN | MODULE)]
    if len(values) >= 1 and values[0].kinds & MODULE and not any(v.kinds & TENSOR for v in values):
        return Value(MODULE | UNKNOWN, values[0].places, why=values[0].why)
    if values and values[0].kinds & LOADER:
        return values[0]  # tqdm and the like hand on what they wrap
    if "loader" in name.lower():
        return Value(LOADER, HOST)
    places, why, _, _, may = combine(tensors)
    reads = combine(values)[2]
    if any(v.on_device and v.kinds & (TENSOR | CONTAINER | UNKNOWN) for v in tensors):
        return Value(
            UNKNOWN, (places & ON_DEVICE) and GIVEN, may | RESIDENT, why, reads=frozenset(), uploads=frozenset()
        )
    if tensors and all(v.is_a(TENSOR | CONTAINER) and v.on_host for v in tensors):
        return Value(UNKNOWN, ANYWHERE, may & DATA, reads=reads)
    return Value(UNKNOWN, ANYWHERE, 0, reads=reads)
