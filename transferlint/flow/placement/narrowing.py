"""What tests of its type, and of the device it is on, say of a variable in the branches they guard."""

from __future__ import annotations

from transferlint import late
from transferlint.flow.callgraph.names import Names
from transferlint.flow.lattice.values import (
    ANYWHERE,
    ARRAY,
    CONTAINER,
    DEVICE_NAME,
    FROM_PARAMETER,
    HOST,
    HOST_VALUE,
    NULLABLE,
    PYTHON,
    RESIDENT,
    TENSOR,
    UNKNOWN,
    Value,
)
from transferlint.flow.placement.moved_to import moved_to, named_device
from transferlint.syntax import program as p
from transferlint.syntax.program import Function, Reg, Slot

_HOLDERS = frozenset({"builtins.list", "builtins.tuple", "builtins.dict", "builtins.set"})
_NUMBERS = frozenset({"numbers.Number", "numbers.Real", "numbers.Integral"})
_PYTHON_TYPES = (
    frozenset(f"builtins.{name}" for name in "int float str bool bytes complex range slice".split())
    | _HOLDERS
    | _NUMBERS
    | {"numpy.ndarray", "pathlib.Path"}
)
_TENSOR_TYPES = frozenset({"torch.Tensor", "torch.nn.Parameter"})
_SCALARS = HOST_VALUE | ARRAY | DEVICE_NAME
_EVERY = -1


@late.dataclass(slots=True, frozen=True)
class Told:
    """What a test shows of a variable: of which `kinds` it is, and what it is where nothing that is known of it is one
    of these, None: itself, as a tensor. `here`: no more than that it is on the host; `there`: no more than that it is
    not None."""

    kinds: int
    otherwise: Value | None = None
    here: bool = False
    there: bool = False


_HERE = Told(_EVERY, here=True)
_THERE = Told(_EVERY, there=True)
_TENSOR = Told(TENSOR)
_NO_TENSOR = Told(~TENSOR, Value(HOST_VALUE | CONTAINER | UNKNOWN, ANYWHERE))
_SCALAR = Told(_SCALARS, PYTHON)
_HOLDER = Told(_SCALARS | CONTAINER, Value(HOST_VALUE | CONTAINER | UNKNOWN, ANYWHERE))
_NO_NUMBER = Told(~HOST_VALUE)
_NO_LIST = Told(~CONTAINER)

Place = Slot | str  # a variable, or the path of a variable's attribute: "self.ratio"
Fact = tuple[Place, Told]


def narrowed(names: Names, function: Function) -> dict[int, dict[Place, tuple[Told, Reg]]]:
    """By region: what its test shows of variables, and attributes of variables, each with the register from which on
    that is no longer so, because the region binds it anew. `narrow` says what to make of it."""
    found: dict[int, dict[Place, tuple[Told, Reg]]] = {}
    stores: dict[Place, list[tuple[Reg, int]]] | None = None
    for number, region in enumerate(function.regions):
        if region.kind not in ("then", "else") or region.test is None:
            continue
        for place, told in _says(names, function, region.test, region.kind == "then"):
            if stores is None:
                stores = _stores(function)
            found.setdefault(number, {})[place] = told, _bound(function, number, _rebinding(function, place, stores))
    return found


def passed(names: Names, function: Function) -> dict[tuple[int, int], list[tuple[Slot, Told]]]:
    """By the edge of two blocks: what is shown of variables where the control flow passes the only arm of an `if`
    by: `if not isinstance(x, Tensor): x = torch.tensor(x)`."""
    found: dict[tuple[int, int], list[tuple[Slot, Told]]] = {}
    blocks, regions = function.blocks, function.regions
    for number, block in enumerate(blocks):
        if len(block.successors) != 2:
            continue
        first, second = block.successors
        for arm, other in ((first, second), (second, first)):
            region = blocks[arm].region
            test, beside = regions[region].test, blocks[other].region
            if regions[region].kind != "then" or test is None or region in (block.region, beside):
                continue
            if regions[beside].test != test and (facts := of_variables(names, function, test, False)):
                found[number, other] = facts
    return found


def of_variables(names: Names, function: Function, test: Reg, when: bool) -> list[tuple[Slot, Told]]:
    """What a test shows of variables where it is true, or where it is not."""
    return [(place, told) for place, told in _says(names, function, test, when) if isinstance(place, int)]


def narrow(value: Value, told: Told) -> Value:
    """What a variable is where a test shows this of it."""
    if told.here:
        return brought(value)
    if told.there:
        return value.but(flags=value.flags & ~NULLABLE) if value.flags & NULLABLE else value
    kinds = value.kinds & told.kinds & ~UNKNOWN
    if kinds and (told is _TENSOR or not value.kinds & UNKNOWN):
        return value if kinds == value.kinds else value.but(kinds=kinds)
    if told.otherwise is not None:
        return told.otherwise
    if told is not _TENSOR:
        return value
    return value.but(kinds=TENSOR) if value.kinds & UNKNOWN else Value(TENSOR, ANYWHERE)


def refined(value: Value, told: Told) -> Value:
    """The same where what the test does not show stays possible: behind the arm of an `if`, where both paths meet, what
    contradicts all that is known is left out."""
    known = value.kinds & told.kinds & ~UNKNOWN and not value.kinds & UNKNOWN
    return narrow(value, told) if known or told.here or told.there or told is _TENSOR else value


def brought(value: Value) -> Value:
    """What is shown to be on the host, where it may be a tensor."""
    if not value.is_a(TENSOR | UNKNOWN):
        return value
    return value.but(places=HOST, flags=value.flags & ~(FROM_PARAMETER | RESIDENT), why=())


def _says(names: Names, function: Function, reg: Reg, when: bool) -> list[Fact]:
    made = function.code[reg]
    if isinstance(made, p.Unary) and made.operator == "not":
        return _says(names, function, made.operand, not when)
    if isinstance(made, p.Boolean) and (made.operator == "and") == when:
        return [fact for operand in made.operands for fact in _says(names, function, operand, when)]
    if isinstance(made, p.Compare) and len(made.operators) == 1:
        return _compared(names, function, made, when)
    if isinstance(made, p.Attr) and made.name in ("is_cuda", "is_cpu"):
        return _here(function, made.object) if when is (made.name == "is_cpu") else []
    if not isinstance(made, p.Call) or not made.args:
        return []
    subject = _place(function, made.args[0])
    callee = names.dotted(function, made.function)
    if subject is None:
        return []
    if callee == "torch.is_tensor":
        return [(subject, _TENSOR if when else _NO_TENSOR)]
    if callee != "builtins.isinstance" or len(made.args) != 2:
        return []
    kinds = function.code[made.args[1]]
    listed = kinds.items if isinstance(kinds, p.Sequence) else (made.args[1],)
    told = _told(frozenset(names.dotted(function, r) for r in listed), when)
    return [(subject, told)] if told is not None else []


def _told(types: frozenset[str], when: bool) -> Told | None:
    """What it shows that something is, or is not, an instance of one of some types."""
    if when:
        if types <= _TENSOR_TYPES:
            return _TENSOR
        if types <= _PYTHON_TYPES:
            return _SCALAR if _HOLDERS.isdisjoint(types) else _HOLDER
        return None
    if "torch.Tensor" in types:
        return _NO_TENSOR
    if "builtins.float" in types or types & _NUMBERS:
        return _NO_NUMBER
    return _NO_LIST if "builtins.list" in types else None


def _place(function: Function, reg: Reg) -> Place | None:
    """The variable, or the attribute of one, that an expression reads; None for others."""
    made = function.code[reg]
    if isinstance(made, p.Load):
        return made.slot
    owner = function.code[made.object] if isinstance(made, p.Attr) else None
    if not isinstance(made, p.Attr) or not isinstance(owner, p.Load):
        return None
    return f"{function.slot_names[owner.slot]}.{made.name}"


def _compared(names: Names, function: Function, made: p.Compare, when: bool) -> list[Fact]:
    """What `type(x) == int`, `x is not None`, `x.device == torch.device("cpu")` and
    `x.device.type == "cuda"` say."""
    if made.operators[0] not in ("==", "is", "!=", "is not"):
        return []
    same = when is (made.operators[0] in ("==", "is"))
    asked, other = (function.code[r] for r in made.operands)
    if isinstance(other, p.Const) and other.value is None:
        place = _place(function, made.operands[0])
        return [(place, _THERE)] if place is not None and not same else []
    if isinstance(asked, p.Call) and names.dotted(function, asked.function) == "builtins.type" and len(asked.args) == 1:
        subject = function.code[asked.args[0]]
        plain = names.dotted(function, made.operands[1]) in _PYTHON_TYPES - _HOLDERS
        return [(subject.slot, _SCALAR)] if same and plain and isinstance(subject, p.Load) else []
    named = named_device(names, function, made.operands[1])
    if named != ("cpu" if same else "cuda"):
        return []
    device = made.operands[0]
    if isinstance(asked, p.Attr) and asked.name == "type":
        device, asked = asked.object, function.code[asked.object]
    elif not same:
        return []  # "cuda:0" is another name
    moved = [(slot, _HERE) for slot in sorted(moved_to(function, device, made.operands[0]))]
    of = _here(function, asked.object) if isinstance(asked, p.Attr) and asked.name == "device" else []
    return [*of, *(fact for fact in moved if fact not in of)]


def _here(function: Function, reg: Reg) -> list[Fact]:
    """That a variable is on the host."""
    made = function.code[reg]
    return [(made.slot, _HERE)] if isinstance(made, p.Load) else []


def _stores(function: Function) -> dict[Place, list[tuple[Reg, int]]]:
    """Where each variable is stored, and each attribute, whosever it is (".ratio"): register and region, in program
    order."""
    found: dict[Place, list[tuple[Reg, int]]] = {}
    code, regions = function.code, function.lookup.regions
    for reg in function.lookup.of(p.Store, p.SetAttr):
        made = code[reg]
        if isinstance(made, p.Store):
            found.setdefault(made.slot, []).append((reg, regions[reg]))
        elif isinstance(made, p.SetAttr):
            found.setdefault(f".{made.name}", []).append((reg, regions[reg]))
    return found


def _rebinding(function: Function, place: Place, stores: dict[Place, list[tuple[Reg, int]]]) -> list[tuple[Reg, int]]:
    """The stores that bind a place anew: of an attribute those of its name, and those of its variable."""
    if isinstance(place, int):
        return stores.get(place, [])
    owner, _, name = place.partition(".")
    keys: list[Place] = [slot for slot, word in enumerate(function.slot_names) if word == owner]
    return sorted(one for key in (*keys, f".{name}") for one in stores.get(key, []))


def _bound(function: Function, region: int, stores: list[tuple[Reg, int]]) -> Reg:
    """The first of the stores that stands in the region or one inside it; beyond the code if none does."""
    for reg, at in stores:
        while at > region:  # a region's number is higher than that of what encloses it
            at = function.regions[at].parent
        if at == region:
            return reg
    return len(function.code)
