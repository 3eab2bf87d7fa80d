"""Calls that look at what they are given, or computed, before they return: linear algebra, draws, distributions."""

from __future__ import annotations

from transferlint.flow.lattice.transfers import BUILD, DOWNLOAD, NUMBER, TRUTH
from transferlint.flow.lattice.values import (
    CONTAINER,
    DATA,
    DEVICE,
    FRESH,
    FROM_PARAMETER,
    HOST,
    HOST_VALUE,
    LITERAL,
    MAY,
    NOTHING,
    ON_DEVICE,
    RESIDENT,
    TENSOR,
    UNKNOWN,
    Value,
    combine,
)
from transferlint.flow.placement import effects
from transferlint.flow.placement.frame import Frame
from transferlint.knowledge import lookup
from transferlint.knowledge.api import Effect
from transferlint.knowledge.torch import BROADCAST
from transferlint.knowledge.torch_distributions import SAMPLING
from transferlint.model import Direction
from transferlint.syntax.program import Attr, Call, Const, Instruction, Outer, Reg

ROOT = "torch.distributions."


def check(frame: Frame, reg: Reg, made: Call, values: list[Value], name: str) -> Value:
    """Computes where the operands are, and asks for the truth of the result, or of the one operand that is checked, or
    copies that to the host."""
    kept = effects.keep(frame, reg, made, values)
    row = lookup.row_of(name)
    looked_at: Value | None = kept
    given: Reg | None = None
    if row is not None and row.checks is not None:
        keyword, position = row.checks
        given = made.args[position] if len(made.args) > position else effects.keyword(made, keyword)
        looked_at = frame.values[given] if given is not None else None
        if looked_at is not None and looked_at.kinds & UNKNOWN and looked_at.on_device:
            looked_at = looked_at.but(kinds=TENSOR)  # a number would be nowhere
    if looked_at is not None and looked_at.is_a(TENSOR) and looked_at.on_device:
        copies = row is not None and row.effect is Effect.COPIES_OPERAND
        api = f"{called(name)}(t)"
        frame.record(
            reg, DOWNLOAD if copies else TRUTH, given if copies else None, looked_at, HOST, api, explicit=False
        )
    return kept


def called(name: str) -> str:
    """How the source calls what a row names: a module by its class."""
    return name.removesuffix(".forward").rpartition(".")[2]


def method(frame: Frame, reg: Reg, made: Call, subject: Value, name: str) -> Value | None:
    """The same for a method of a tensor; None where the method only computes."""
    given = frozenset(key for key, r in made.keywords if effects.truthy(frame, r))
    if lookup.effect_of(f"Tensor.{name}", given=given) is not Effect.CHECK:
        return None
    values = [subject if subject.is_a(TENSOR) else subject.but(kinds=TENSOR), *(frame.values[r] for r in made.args)]
    if not subject.is_a(TENSOR):
        return effects.keep(frame, reg, made, values)
    return check(frame, reg, made, values, f"Tensor.{name}")


def filled(frame: Frame, made: Call, position: int) -> None:
    """`x.masked_fill(mask, t)` takes a number from `t` (aten/src/ATen/native/cuda/Indexing.cu, masked_fill__cuda)."""
    given = made.args[position] if len(made.args) > position else effects.keyword(made, "value")
    if given is not None and frame.values[given].is_a(TENSOR) and frame.values[given].on_device:
        frame.record(given, NUMBER, given, frame.values[given], HOST, "masked_fill(mask, t)", explicit=False)


def validates(frame: Frame, reg: Reg, made: Call, values: list[Value], name: str) -> Value:
    """`Normal(mean, std)`: a distribution, whose parameters are looked at unless `validate_args=False`. Only one that
    will look at later values too has its class's name."""
    kept = effects.keep(frame, reg, made, values).but(kinds=UNKNOWN)
    whole = ROOT + name.rpartition(".")[2]
    given = [r for r in (*made.args, *(r for key, r in made.keywords if key != "validate_args"))]
    numbers = [r for r in given if frame.values[r].is_a(HOST_VALUE) and not _switches(frame.code[r])]
    there = any(frame.values[r].is_a(TENSOR | UNKNOWN) and frame.values[r].on_device for r in given)
    if there and numbers and whole in BROADCAST:
        number = frame.values[numbers[0]]
        frame.record(reg, BUILD, None, number, DEVICE, "broadcast_all", explicit=False, direction=Direction.H2D)
    if not frame.file.flag("validates") or effects.keyword(made, "validate_args") is not None or any(made.stars):
        return kept
    if any(value.kinds & (TENSOR | UNKNOWN | CONTAINER) and value.on_device for value in values):
        frame.record(reg, TRUTH, None, kept.but(kinds=TENSOR), HOST, "validate_args", explicit=False)
    return kept.but(name=whole)


def _switches(made: Instruction) -> bool:
    """True for `None` and for `validate_args` by position."""
    return isinstance(made, Const) and (made.value is None or isinstance(made.value, bool))


def composed(frame: Frame, reg: Reg, made: Call, values: list[Value], last: str) -> Value:
    """`MixtureSameFamily(mixture, parts)`: looks at nothing yet. `Independent` leaves that to the one it is made of."""
    kept = effects.keep(frame, reg, made, values).but(kinds=UNKNOWN)
    if not frame.file.flag("validates") or effects.keyword(made, "validate_args") is not None:
        return kept
    quiet = last == "Independent" and not (values and values[0].name.startswith(ROOT))
    return kept if quiet else kept.but(name=ROOT + last)


def asks(frame: Frame, reg: Reg, made: Call, receiver: Value, values: list[Value]) -> Value:
    """`normal.log_prob(x)`: a tensor, once a flag has said that `x` can be a draw."""
    drawn = draws(frame, reg, made, receiver, values)
    if drawn.on_device:
        frame.record(reg, TRUTH, None, drawn, HOST, "validate_args", explicit=False)
    return drawn


def draws(frame: Frame, reg: Reg, made: Call, receiver: Value, values: list[Value]) -> Value:
    """A tensor where the operands of a distribution are; a sample is a new one, and its argument is a size."""
    callee = frame.code[made.function]
    owner = callee.object if isinstance(callee, Attr) and callee.name in SAMPLING else None
    operands = [value for value in values if value.kinds & (TENSOR | UNKNOWN)] if owner is None else []
    places, why, _, _, may = combine([receiver, *operands])
    flags = may & MAY & ~FROM_PARAMETER
    if owner is not None and places == HOST and _of_constants(frame.code[owner], receiver):
        return Value(TENSOR, places, flags | FRESH, (reg,))
    resident = RESIDENT if places & ON_DEVICE else 0
    return Value(TENSOR, places, flags | resident, why or receiver.why)


def _of_constants(owner: Instruction, receiver: Value) -> bool:
    """Whether the parameters of a distribution are no data of this step: it is an attribute or a variable of the
    module, or they are created in the function."""
    return (isinstance(owner, Attr | Outer) and not receiver.flags & DATA) or bool(receiver.flags & (FRESH | LITERAL))


def switch(frame: Frame, made: Call) -> Value:
    """`Distribution.set_default_validate_args(False)`."""
    given = frame.code[made.args[0]] if made.args else None
    if isinstance(given, Const) and given.value is False:
        frame.file.set_flag("validates", 0)
    return NOTHING
