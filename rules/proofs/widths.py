"""How wide the elements of a host tensor are, where the source says so (docs.pytorch.org "Tensor Attributes")."""

from __future__ import annotations

from transferlint.flow.facts import FunctionFacts
from transferlint.flow.lattice.values import BOOLEAN, INTEGER
from transferlint.knowledge.torch_names import VIEWS
from transferlint.syntax import program as p
from transferlint.syntax.program import Reg

from ..code.chains import called, method, origin, receiver

BYTES = {
    "bool": 1, "byte": 1, "uint8": 1, "char": 1, "int8": 1, "half": 2, "float16": 2, "bfloat16": 2, "short": 2,
    "int16": 2, "int": 4, "int32": 4, "float": 4, "float32": 4, "long": 8, "int64": 8, "double": 8, "float64": 8,
}  # fmt: skip
CASTS = frozenset("byte char half bfloat16 short int float long double bool".split())
ONE_HOT = "torch.nn.functional.one_hot"
EXPANDS = frozenset({"expand", "expand_as", "broadcast_to"})
THROUGH = (VIEWS | {"clone"}) - CASTS - EXPANDS - {"numpy", "type", "type_as", "cpu", "pin_memory"}
FRACTIONS = frozenset("half float16 bfloat16 float float32 double float64".split())


def operand(function: FunctionFacts, at: Reg) -> Reg | None:
    made = function.code[at]
    if called(function, at) == ONE_HOT and isinstance(made, p.Call) and made.args:
        return made.args[0]
    return receiver(function, at) if method(function, at) else None


def target_type(function: FunctionFacts, at: Reg) -> str:
    """The type that a cast names, "" where it is none or not known."""
    name, made = method(function, at), function.code[at]
    if name in CASTS:
        return name
    if name not in ("to", "type") or not isinstance(made, p.Call):
        return ""
    given = [*made.args[:1], *(r for key, r in made.keywords if key == "dtype")]
    if len(given) != 1 or len(made.args) + len(made.keywords) != 1:
        return ""
    dotted = function.file.placement.names.dotted(function.function, given[0])
    last = dotted.rpartition(".")[2]
    return last if dotted == f"torch.{last}" and last in BYTES else ""


def source_type(function: FunctionFacts, at: Reg) -> str:
    """A type of the same width as a tensor's, "" where it is not known."""
    value = function.values[at]
    if value.flags & BOOLEAN:
        return "bool"
    for _ in range(6):
        at = origin(function, at)
        if target := target_type(function, at):
            return target
        made = function.code[at]
        if called(function, at) == "torch.from_numpy" and isinstance(made, p.Call) and made.args:
            return _of_array(function, origin(function, made.args[0]))
        part = isinstance(made, p.Subscript)
        inner = made.object if isinstance(made, p.Subscript) else operand(function, at)
        if inner is None or value.flags & INTEGER or not (part or method(function, at) in THROUGH):
            return ""
        at = inner
    return ""


def _of_array(function: FunctionFacts, at: Reg) -> str:
    """The type that `a.astype(np.uint8)` and `np.asarray(a, dtype=np.uint8)` name."""
    made = function.code[at]
    if not isinstance(made, p.Call):
        return ""
    given = dict(made.keywords).get("dtype")
    if given is None and method(function, at) == "astype" and made.args:
        given = made.args[0]
    if given is None:
        return ""
    dotted = function.file.placement.names.dotted(function.function, given)
    last = dotted.rpartition(".")[2]
    return last if dotted == f"numpy.{last}" and last in BYTES and last not in CASTS else ""
