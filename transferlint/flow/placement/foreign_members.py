"""Methods and attributes of what frameworks beside torch make: arrays, what compiled functions give, models,
optimizers, and what a distribution strategy runs."""

from __future__ import annotations

from transferlint.flow.lattice.values import (
    CONTAINER,
    DTYPE_VALUE,
    FRAMEWORKS,
    MODULE,
    NOTHING,
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
)
from transferlint.flow.placement import effects, foreign
from transferlint.flow.placement.frame import Frame
from transferlint.knowledge import frameworks
from transferlint.knowledge.api import Api, Effect
from transferlint.knowledge.framework import Framework
from transferlint.syntax.program import Attr, Call, Reg

_WEIGHTS = frozenset("weights variables losses trainable_variables trainable_weights non_trainable_variables".split())
_PARTS = frozenset("T mT real imag flat values data indices indptr".split())  # of an array, sparse ones too
_READS = frozenset({Effect.SCALAR, Effect.COPY, Effect.SYNCHRONIZE})
_OF_TREES = frozenset("items keys values get pop".split())  # dictionaries' methods are none of a compiled result's
REPLICA = "replica"  # the name of the value of one of several devices
_BUILDERS = frozenset({"apply", "init", "init_with_output"})


def method(frame: Frame, reg: Reg, made: Call, attribute: Attr, base: Value) -> Value | None:
    """A method of an array, of what a compiled function gave, or of a module of a framework; None where its table says
    nothing."""
    framework = framework_of(base.flags) or frame.file.tracing.framework
    if framework is None:
        return None
    name, subject = attribute.name, attribute.object
    if framework.replicas:
        found = _distributed(frame, reg, made, framework, attribute)
        if found is not None:
            return found
    if base.is_a(OPTIMIZER):
        return PYTHON
    if base.kinds & MODULE and not base.is_a(TENSOR):
        return _of_module(frame, reg, framework, subject, base, name)
    if not base.flags & FRAMEWORKS:
        return None
    row = frameworks.own_row(framework, f"{framework.array}.{name}")
    if base.is_a(TENSOR):
        row = row or frameworks.row_of(framework, f"{framework.array}.{name}")
        if row is not None and row.effect is Effect.SCALAR:
            return effects.scalar_read(frame, reg, subject, base, name)
        if base.on_host and row is not None and row.effect not in (Effect.COPY, Effect.SEND):
            return base if row.effect is Effect.KEEP else PYTHON
        return _method_of(frame, reg, made, framework, row, subject, base, name)
    if base.kinds != UNKNOWN or not base.flags & TREE or name in _OF_TREES:
        return None
    if row is None or row.effect not in _READS:
        return base.but(why=(reg,))
    if row.effect is Effect.SCALAR:
        return effects.scalar_read(frame, reg, subject, base, name)
    return _method_of(frame, reg, made, framework, row, subject, base, name)


def _distributed(frame: Frame, reg: Reg, made: Call, framework: Framework, attribute: Attr) -> Value | None:
    """`strategy.run(step, args=...)`, and the values of its replicas apart."""
    if attribute.name in framework.replicated and made.args:
        return _replicas(frame, reg, framework)
    if attribute.name in framework.replicas and frame.last_name(attribute.object).lower().endswith("strategy"):
        return foreign.tree_of(frame, reg, framework).but(name=REPLICA)
    return None


def _replicas(frame: Frame, reg: Reg, framework: Framework) -> Value:
    """The values of all replicas, each on its own device."""
    tree = foreign.tree_of(frame, reg, framework)
    return Value(CONTAINER, tree.places, tree.flags & ~TREE, (reg,), tree.but(kinds=TENSOR, name=REPLICA))


def _method_of(
    frame: Frame, reg: Reg, made: Call, framework: Framework, row: Api | None, subject: Reg, base: Value, name: str
) -> Value | None:
    if row is None:
        return None
    if row.effect is Effect.COPY:
        copied = foreign.download(frame, reg, subject, base, f".{name}()")
        return copied.but(kinds=TENSOR, flags=framework_flag(framework.name)) if name in framework.copies else copied
    if row.effect is Effect.KEEP:
        others = [base, *(frame.values[r] for r in made.args)]
        _, why, reads, uploads, _ = combine(others)
        return Value(TENSOR, base.places, base.flags, why or base.why, reads=reads, uploads=uploads)
    return foreign.apply(frame, reg, made, framework, row, f"{framework.array}.{name}", subject)


def _of_module(frame: Frame, reg: Reg, framework: Framework, subject: Reg, base: Value, name: str) -> Value | None:
    """`model.predict(x)` of Keras, `model.apply(variables, x)` of Flax."""
    row = frameworks.own_row(framework, f"keras.Model.{name}") if framework.name == "tensorflow" else None
    if row is not None and row.effect is Effect.HOST:
        return PYTHON
    if row is not None:
        tensor = Value(TENSOR, foreign.place(frame, framework), framework_flag(framework.name) | RESIDENT, base.why)
        return foreign.download(frame, reg, subject, tensor, f".{name}()")
    if not base.flags & FRAMEWORKS:
        return None
    if framework.name == "jax" and name in _BUILDERS:
        return foreign.tree_of(frame, reg, framework)
    if name == "result":
        return Value(TENSOR, foreign.place(frame, framework), framework_flag(framework.name) | RESIDENT, (reg,))
    return None


def attribute(frame: Frame, base: Value, name: str) -> Value | None:
    """An attribute of such a value; None where nothing is known of it."""
    framework = framework_of(base.flags)
    if framework is None and base.is_a(MODULE | OPTIMIZER):
        framework = frame.file.tracing.framework
    if framework is None:
        return None
    flags = framework_flag(framework.name) | RESIDENT
    if base.is_a(TENSOR) or (base.kinds == UNKNOWN and base.flags & TREE):
        if name.endswith("dtype"):
            return DTYPE_VALUE
        if name in framework.on_host:
            return PYTHON
        if name in framework.replicated and base.name == REPLICA:
            item = base.but(kinds=TENSOR, flags=base.flags & ~TREE)
            return Value(CONTAINER, base.places, item.flags, base.why, item)
        if name == "at":
            return Value(UNKNOWN, base.places, base.flags | TREE, base.why)
        if base.is_a(TENSOR):
            return base if name in _PARTS else NOTHING
        return None
    tensor = Value(TENSOR, foreign.place(frame, framework), flags, base.why)
    if base.is_a(OPTIMIZER):
        return tensor if name in ("learning_rate", "lr") else NOTHING
    if base.is_a(MODULE):
        if name in _WEIGHTS:
            return Value(CONTAINER, tensor.places, flags, base.why, tensor)
        if name == "optimizer":
            return Value(OPTIMIZER, tensor.places, flags, base.why)
    return None
