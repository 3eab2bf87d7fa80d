"""What calls and attributes of frameworks beside torch do to values: the effects of their tables, read as they mean
them.

Their arrays are on the default device, which nobody has to name, and whatever computes with host data brings it there.
So a value carries its framework as a flag (`values.FRAMEWORKS`), and its place is that of the framework. What a
compiled function gives is a tree of arrays on the device, of a shape that is not looked at: an array where it is read.
"""

from __future__ import annotations

from transferlint.flow.callgraph.names import split
from transferlint.flow.dataflow.operands import tree
from transferlint.flow.lattice.transfers import BUILD, CALLBACK, DOWNLOAD, FORMAT, MOVE, SYNCHRONIZE
from transferlint.flow.lattice.values import (
    ANYWHERE,
    ARRAY,
    BOOLEAN,
    CONTAINER,
    DATA,
    DEVICE,
    FRAMEWORKS,
    GIVEN,
    HOST,
    HOST_ARRAY,
    HOST_VALUE,
    INTEGER,
    LOADER,
    MODULE,
    NAME,
    NOTHING,
    OBJECT,
    OPTIMIZER,
    PYTHON,
    RESIDENT,
    TENSOR,
    TREE,
    UNKNOWN,
    Value,
    combine,
    framework_flag,
    framework_of,
    held_on_device,
)
from transferlint.flow.placement import effects
from transferlint.flow.placement.frame import Frame
from transferlint.knowledge import frameworks
from transferlint.knowledge.api import Api, Effect
from transferlint.knowledge.framework import Framework, Tracer
from transferlint.model import Direction
from transferlint.syntax.program import Call, Const, Function, Load, Outer, Reg, Sequence, Store

_COMPILED, _TRANSFORMED = "compiled:", "transformed:"
_ARGUMENTS = ("object", "a", "value", "obj", "x", "tree", "arr", "tensor")


def named(frame: Frame, reg: Reg, made: Call, framework: Framework, name: str) -> Value | None:
    """A call of a framework's function by its name in the table; None where the table does not know it."""
    tracer = frameworks.tracers().get(name)
    if tracer is not None and frameworks.own_row(framework, name) is None:
        return _compiled(frame, reg, made, framework, tracer) if tracer.compiled else tree_of(frame, reg, framework)
    row = frameworks.row_of(framework, name)
    if row is None:
        return None
    first = made.args[0] if made.args else _first_keyword(made)
    return apply(frame, reg, made, framework, row, name, first)


def _first_keyword(made: Call) -> Reg | None:
    return next((r for key, r in made.keywords if key in _ARGUMENTS), None)


def apply(frame: Frame, reg: Reg, made: Call, framework: Framework, row: Api, name: str, subject: Reg | None) -> Value:
    """What the effect of a row does: of a function, or (`name` has the array's class) of a method of `subject`."""
    effect = row.of(frozenset(key for key, r in made.keywords if effects.truthy(frame, r)))
    value = frame.values[subject] if subject is not None else NOTHING
    tensor = Value(TENSOR, place(frame, framework), framework_flag(framework.name) | RESIDENT, (reg,))
    last = name.rpartition(".")[2]
    if effect in (Effect.FILL, Effect.LIKE, Effect.REDUCE):
        return tensor
    if effect is Effect.DATA and name in framework.ints_on_host and _whole_numbers(frame, made):
        return Value(TENSOR, HOST, framework_flag(framework.name), (reg,))
    if effect is Effect.DATA:
        found = _data(frame, reg, subject, value, tensor, name)
        whole = INTEGER if _of_host_type(frame, made, framework) else 0
        return found.but(flags=found.flags & ~INTEGER | whole)
    if effect is Effect.SEND:
        return _send(frame, reg, made, subject, value, tensor, name)
    if effect is Effect.COPY:
        return download(frame, reg, subject, value, f"{last}()")
    if effect is Effect.SYNCHRONIZE:
        frame.record(reg, SYNCHRONIZE, None, tensor, 0, name, direction=Direction.NONE)
        return value if subject is not None else PYTHON
    if effect is Effect.CALLBACK:
        frame.record(reg, CALLBACK, None, tensor, HOST, name, direction=Direction.D2H)
        return tree_of(frame, reg, framework)
    if effect is Effect.FORMATS_ARGUMENTS:
        for argument in made.args:
            if held_on_device(frame.values[argument]):
                frame.record(argument, FORMAT, argument, frame.values[argument], HOST, f"{last}(t)", explicit=False)
        return PYTHON
    if effect is Effect.SHAPE:
        found = effects.shape(frame, reg, subject, f"{last}(t)")
        return tensor.but(why=found.why)
    if effect is Effect.TREE:
        return _tree(frame, reg, made, framework, name)
    if effect in (Effect.KEEP, Effect.KEEP_BOOLEAN):
        return _computed(frame, reg, made, framework, tensor, BOOLEAN if effect is Effect.KEEP_BOOLEAN else 0, last)
    if effect is Effect.ARRAY:
        return tensor.but(places=HOST, flags=framework_flag(framework.name))
    if effect is Effect.MODULE:
        return _module(frame, reg, made, framework, tensor, name)
    if effect is Effect.OPTIMIZER:
        return Value(OPTIMIZER, tensor.places, tensor.flags, (reg,), name=name)
    if effect is Effect.LOADER:
        return Value(LOADER, HOST, framework_flag(framework.name) | DATA, (reg,))
    return PYTHON if effect is Effect.HOST else Value(UNKNOWN, HOST, reads=combine(_arguments(frame, made))[2])


def _arguments(frame: Frame, made: Call) -> list[Value]:
    return [frame.values[r] for r in made.args] + [frame.values[r] for _, r in made.keywords]


def place(frame: Frame, framework: Framework) -> int:
    """Where a framework computes at this point: on its default device, or the host where the source says so."""
    if framework.name in frame.file.tracing.host_only:
        return HOST
    for region in frame.function.ancestors(frame.region):
        if region.kind == "with" and region.test is not None and _names_host(frame, framework, region.test):
            return HOST
    return DEVICE if framework.always else GIVEN


def _names_host(frame: Frame, framework: Framework, reg: Reg) -> bool:
    """True for `tf.device("/CPU:0")`, `jax.default_device(jax.devices("cpu")[0])`."""
    made = frame.code[reg]
    found = frameworks.known(frame.dotted(made.function)) if isinstance(made, Call) else None
    if found is None or found[0] is not framework or not found[1].endswith((".device", ".default_device")):
        return False
    return _spells_host(frame, reg)


def _spells_host(frame: Frame, reg: Reg) -> bool:
    words = (made.value for r in tree(frame.code, reg) if isinstance(made := frame.code[r], Const))
    return any(isinstance(word, str) and "cpu" in word.lower() for word in words)


def tree_of(frame: Frame, reg: Reg, framework: Framework) -> Value:
    """A tree of arrays on the device, of unknown shape."""
    return Value(UNKNOWN, place(frame, framework), framework_flag(framework.name) | TREE | RESIDENT, (reg,))


def _compiled(frame: Frame, reg: Reg, made: Call, framework: Framework, tracer: Tracer) -> Value:
    """What `jax.jit(f)` gives: to be called in the place of `f`."""
    first = frame.values[made.args[0]] if made.args else NOTHING
    target = frame.file.names.resolved(first.name) if first.kinds == NAME else ""
    flags = framework_flag(framework.name) | RESIDENT
    how = _COMPILED if tracer.runs else _TRANSFORMED
    return Value(OBJECT, place(frame, framework), flags, (reg,), name=how + (target if "#" in target else ""))


def applied(frame: Frame, reg: Reg, made: Call, callee: Value) -> Value | None:
    """A call of a compiled function or of a module of a framework; None for anything else."""
    framework = framework_of(callee.flags)
    if framework is None:
        return None
    if callee.is_a(OBJECT) and callee.name.startswith((_COMPILED, _TRANSFORMED)):
        target = callee.name.removeprefix(_COMPILED).removeprefix(_TRANSFORMED)
        frame.runs = frame.runs or callee.name.startswith(_COMPILED)
        if target:
            frame.calls[reg] = target
        return called(frame, reg, framework)
    if callee.is_a(MODULE):
        return Value(TENSOR, place(frame, framework), framework_flag(framework.name) | RESIDENT, (reg,))
    return None


def called(frame: Frame, reg: Reg, framework: Framework) -> Value:
    """What a call of a compiled function gives."""
    frame.compiled.add(reg)
    return tree_of(frame, reg, framework)


def _computed(frame: Frame, reg: Reg, made: Call, framework: Framework, tensor: Value, flags: int, name: str) -> Value:
    """An operation: on the device whatever it is given, which is brought there, or on the host within `tf.device`."""
    _, why, reads, uploads, _ = combine(_arguments(frame, made))
    down, up = _brought(frame, reg, made, framework, tensor, name)
    if down:
        return Value(TENSOR, HOST, tensor.flags | flags, (reg,), reads=frozenset({reg}))
    operands = [value for value in map(frame.values.__getitem__, made.args) if value.is_a(TENSOR)]
    if framework.host_types and operands and all(value.flags & INTEGER for value in operands):
        return Value(TENSOR, HOST, framework_flag(framework.name) | INTEGER, (reg,))
    uploads = uploads | {reg} if up else uploads
    return Value(TENSOR, tensor.places, tensor.flags | flags, why or tensor.why, reads=reads, uploads=uploads)


def _brought(frame: Frame, reg: Reg, made: Call, framework: Framework, tensor: Value, name: str) -> tuple[bool, bool]:
    """Whether an operation brings data to the host, that was on the device, or back to the device what was read from
    it; host data that was on the host all along is what operations are given, and no round trip."""
    down = up = False
    for argument in made.args:
        value = frame.values[argument]
        own = bool(value.flags & framework_flag(framework.name)) and value.is_a(TENSOR)
        if own and tensor.on_host and value.on_device and framework.name not in frame.file.tracing.host_only:
            frame.record(reg, DOWNLOAD, argument, value, HOST, f"{name}(t)", explicit=False)
            down = True
        elif not (tensor.on_device and value.on_host and value.reads):
            continue
        elif own or (value.is_a(ARRAY) and not framework.always):
            frame.record(reg, MOVE, argument, value, tensor.places, f"{name}(t)", False, direction=Direction.H2D)
            up = True
    return down, up


def _data(frame: Frame, reg: Reg, subject: Reg | None, value: Value, tensor: Value, name: str) -> Value:
    """An array of host data, uploaded where the framework has a device; what is an array of it already stays."""
    if value.is_a(TENSOR) and value.flags & tensor.flags & FRAMEWORKS and not value.on_host:
        return value
    if tensor.on_host or subject is None or value.flags & tensor.flags & FRAMEWORKS:
        return tensor
    source = value.but(places=HOST) if value.is_a(ARRAY | HOST_VALUE) else value
    if value.is_a(ARRAY | TENSOR):
        frame.record(reg, MOVE, subject, source, tensor.places, name, direction=Direction.H2D)
    elif value.is_a(HOST_VALUE | CONTAINER) and not value.on_device and not _empty(value):
        frame.record(reg, BUILD, subject, source.but(places=HOST), tensor.places, name, direction=Direction.H2D)
    else:
        return tensor.but(why=(reg,), reads=value.reads)
    return Value(TENSOR, tensor.places, tensor.flags, (reg,), reads=value.reads, uploads=frozenset({reg}))


def _of_host_type(frame: Frame, made: Call, framework: Framework) -> bool:
    """True for a call that asks for a type whose kernels work in host memory: `tf.cast(x, tf.int32)`."""
    asked = (*made.args, *(r for _, r in made.keywords))
    return bool(framework.host_types) and any(_type_name(frame, framework, r) in framework.host_types for r in asked)


def _type_name(frame: Frame, framework: Framework, reg: Reg) -> str:
    made = frame.code[reg]
    if isinstance(made, Const):
        return f"{framework.roots[0]}.{made.value}" if isinstance(made.value, str) else ""
    found = frameworks.known(frame.dotted(reg))
    return found[1] if found is not None else ""


def _whole_numbers(frame: Frame, made: Call) -> bool:
    """True for one argument alone that is a whole number, what a `range` counts, or a list of such."""
    if len(made.args) != 1 or made.keywords or any(made.stars):
        return False
    given = frame.function.code[made.args[0]]
    items = given.items if isinstance(given, Sequence) else (made.args[0],)
    return bool(items) and all(_whole_number(frame.function, item) for item in items)


def _whole_number(function: Function, reg: Reg) -> bool:
    made = function.code[reg]
    if isinstance(made, Const):
        return type(made.value) is int
    if not isinstance(made, Load) or len(function.lookup.about(Store, made.slot)) != 1:
        return False
    tests = (one.test for one in function.regions if made.slot in one.target_slots and one.test is not None)
    calls = (called for test in tests if isinstance(called := function.code[test], Call))
    callees = (function.code[called.function] for called in calls)
    return any(isinstance(callee, Outer) and callee.name == "range" for callee in callees)


def _empty(value: Value) -> bool:
    """True for an empty list, which has nothing to move."""
    return value.is_a(CONTAINER) and value.items == () and value.item is None


def _send(frame: Frame, reg: Reg, made: Call, subject: Reg | None, value: Value, tensor: Value, name: str) -> Value:
    """`jax.device_put(tree, device)`."""
    if subject is None:
        return tensor
    if len(made.args) > 1 and _spells_host(frame, made.args[1]):
        return download(frame, reg, subject, value, f"{name.rpartition('.')[2]}()")
    if not (value.flags & tensor.flags & FRAMEWORKS and value.on_device) and not tensor.on_host:
        frame.record(reg, MOVE, subject, value, tensor.places, name, direction=Direction.H2D)
    if value.is_a(TENSOR | ARRAY | HOST_VALUE):
        return Value(TENSOR, tensor.places, tensor.flags, (reg,), reads=value.reads, uploads=frozenset({reg}))
    flags = tensor.flags | TREE
    return Value(UNKNOWN, tensor.places, flags, (reg,), reads=value.reads, uploads=frozenset({reg}))


def download(frame: Frame, reg: Reg, subject: Reg | None, value: Value, api: str, explicit: bool = True) -> Value:
    """A copy to the host, of an array or of all arrays in a tree."""
    if value.on_host or value.is_a(ARRAY | HOST_VALUE):
        return HOST_ARRAY.but(reads=value.reads) if value.is_a(TENSOR | ARRAY) else Value(value.kinds, HOST)
    frame.record(reg, DOWNLOAD, subject, value, HOST, api, explicit)
    kinds = ARRAY if value.is_a(TENSOR) else UNKNOWN
    return Value(kinds, HOST, why=(reg,), reads=frozenset({reg}))


def _tree(frame: Frame, reg: Reg, made: Call, framework: Framework, name: str) -> Value:
    """What is done to all leaves of a tree, or gives one."""
    values = _arguments(frame, made)
    last = name.rpartition(".")[2]
    if not name.startswith("jax."):
        return tree_of(frame, reg, framework)
    if "map" in last and len(made.args) > 1:
        function, over = values[0], frame.values[made.args[1]]
        if function.kinds == NAME and function.name.startswith(("numpy.", "jax.device_get", "builtins.float")):
            return download(frame, reg, made.args[1], over, f"{last}({function.name.rpartition('.')[2]}, tree)")
        if _gives_host(frame, function):
            return Value(UNKNOWN, HOST, reads=over.reads)
    held = [value for value in values if value.kinds & (TENSOR | CONTAINER | UNKNOWN | OBJECT)]
    if not any(value.on_device for value in held):
        return Value(UNKNOWN, ANYWHERE)
    found = tree_of(frame, reg, framework)
    if last.endswith(("leaves", "flatten")):
        leaves = Value(CONTAINER, found.places, found.flags, (reg,), Value(TENSOR, found.places, found.flags, (reg,)))
        return (
            leaves
            if last.endswith("leaves")
            else Value(CONTAINER, found.places, found.flags, (reg,), None, (leaves, NOTHING))
        )
    return found


def _gives_host(frame: Frame, function: Value) -> bool:
    """True for a function of the checked source that gives back what is on the host."""
    place_ = split(function.name) if function.kinds == NAME else None
    found = frame.file.located(function.name) if place_ is not None else None
    placed = found[0].place(found[1]) if found is not None else None
    return placed is not None and placed.returns is not None and placed.returns.on_host


def _module(frame: Frame, reg: Reg, made: Call, framework: Framework, tensor: Value, name: str) -> Value:
    """A model, layer, loss or metric of Keras; functions of their modules compute."""
    last = name.rpartition(".")[2]
    if not last[:1].isupper() and not last.startswith(("load_model", "clone_model", "model_from", "load")):
        if name.startswith("keras.applications."):
            return NOTHING  # `preprocess_input`, `decode_predictions`: of numpy's arrays, and what they give is numpy's
        return _computed(frame, reg, made, framework, tensor, 0, last)
    model = name.startswith(("keras.Sequential", "keras.Model", "keras.models.", "keras.applications."))
    return Value(MODULE, tensor.places, tensor.flags, (reg,), name="keras.Model" if model else name)
