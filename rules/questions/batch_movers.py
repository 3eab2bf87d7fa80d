"""Functions that bring batches to the device, whatever they are made of, and leave no choice but to wait."""

from __future__ import annotations

from collections.abc import Iterator

from transferlint import late
from transferlint.flow.facts import FileFacts, FunctionFacts
from transferlint.flow.lattice.transfers import MOVE, Transfer
from transferlint.flow.lattice.values import ARRAY, HOST_VALUE, MODULE, ON_DEVICE, OPTIMIZER
from transferlint.flow.placement.placement import FilePlacement
from transferlint.syntax import program as p
from transferlint.syntax.program import Function, Reg

from ..code.chains import origin
from .destinations import to_device

_HINT = "non_blocking"
_CONTAINERS = frozenset(
    "dict list tuple Mapping Sequence Iterable MutableMapping OrderedDict abc UserDict BatchEncoding".split()
)
_SMALL = 40  # instructions: a definition and a call
_PAIR = 2
_CRITERIA = late.pattern(r"(^|_)(criterion|criteria|predicate|filter|cond|condition)(_|$)")
_STATES = late.pattern(
    r"(^|_)(state|states|state_dict|ckpt|checkpoint|weights?|params?|parameters|model|optimizer)(_|$)"
)


def movers(facts: FileFacts) -> Iterator[tuple[FunctionFacts, Transfer]]:
    """The moves to the device, without `non_blocking`, of functions that take batches apart: each calls itself for
    what is in a container, or hands a function that moves its argument to what does so."""
    for function in facts.functions:
        if function.role.skip or function.role.host_side or function.role.cold or function.function.kind == "module":
            continue
        if not (_takes_apart(function) or _is_handed(facts, function)):
            continue
        if _tidies(function.function):
            continue
        for transfer in function.transfers:
            if transfer.kind == MOVE and _blocking(function, transfer) and _own_argument(function, transfer.subject):
                if not function.warmth(transfer.register).once:
                    yield function, transfer
                break


def _tidies(function: Function) -> bool:
    """True for what brings states to the host, for what only takes from one device to another, and for what moves only
    what a criterion of its callers' selects."""
    to_host = any(q.default.strip("\"'") == "cpu" for q in function.parameters)
    state = any(_STATES.search(q.name) for q in function.parameters)
    if any(_CRITERIA.search(q.name) for q in function.parameters):
        return True
    return to_host or state or any(isinstance(made, p.Attr) and made.name == "is_cuda" for made in function.code)


def _blocking(function: FunctionFacts, transfer: Transfer) -> bool:
    """True for `.to(device)` and `.cuda()` that have no say in whether the host waits."""
    made = function.code[transfer.register]
    if transfer.inside is not None or transfer.non_blocking or not isinstance(made, p.Call) or any(made.stars):
        return False
    if not transfer.api.startswith((".to(", ".cuda")) or not transfer.places & ON_DEVICE:
        return False
    return len(made.args) <= 1 and all(key and key in ("device", "dtype") for key, _ in made.keywords)


def _own_argument(function: FunctionFacts, reg: Reg | None) -> bool:
    """True for an argument of the function, or an element of one, that is no module."""
    if reg is None or function.values[reg].kinds & (MODULE | OPTIMIZER):
        return False
    made = function.code[reg]
    while isinstance(made, p.Subscript):
        made = function.code[made.object]
    given = {q.slot for q in function.function.parameters if q.name not in ("self", "cls")}
    return isinstance(made, p.Load) and made.slot in given


def _takes_apart(function: FunctionFacts) -> bool:
    """True where a function asks whether it has a container, and calls itself for what is in it."""
    return _names_itself(function) and any(
        isinstance(made, p.Attr | p.Outer) and made.name in _CONTAINERS for made in function.code
    )


def _names_itself(function: FunctionFacts) -> bool:
    """True where a function calls what has its name: itself, or as a method itself."""
    calls = (function.code[made.function] for made in function.code if isinstance(made, p.Call))
    for callee in calls:
        if isinstance(callee, p.Attr) and callee.name == function.function.name:
            owner = function.code[callee.object]
            if isinstance(owner, p.Load) and function.function.slot_names[owner.slot] in ("self", "cls"):
                return True
        elif isinstance(callee, p.Outer) and callee.name == function.function.name:
            return True
    return False


def _is_handed(facts: FileFacts, function: FunctionFacts) -> bool:
    """True for a function within another that hands it on, with an argument of its own, and does nothing else."""
    inner = function.function
    if inner.kind not in ("function", "lambda") or len(_arguments(inner)) != 1 or inner.parent <= 0:
        return False
    outer = facts.functions[inner.parent]
    if outer.function.kind != "function" or len(outer.code) > _SMALL or outer.role.cold or outer.role.host_side:
        return False
    for made in outer.code:
        if isinstance(made, p.Call) and len(made.args) == _PAIR and not any(made.stars):
            handed = [r for r in made.args if _stands_for(outer, r, inner.index)]
            if handed and any(_own_argument(outer, r) for r in made.args if r not in handed):
                return True
    return False


def _arguments(function: Function) -> list[p.Parameter]:
    return [q for q in function.parameters if q.kind == "positional" and not q.default]


def _stands_for(function: FunctionFacts, reg: Reg, index: int) -> bool:
    """True where a register is the function of an index that is made here."""
    made = function.code[origin(function, reg)]
    return isinstance(made, p.Make) and made.function == index


def unasked(facts: FileFacts) -> Iterator[tuple[FunctionFacts, Reg]]:
    """The calls in hot code of functions that take `non_blocking` for the moves they make, and are not given it."""
    for function in facts.functions:
        if function.role.skip or function.role.host_side:
            continue
        for reg, name in function.calls.items():
            made = function.code[reg]
            if not isinstance(made, p.Call) or not made.args or any(made.stars) or not function.has_text(reg):
                continue
            warmth = function.warmth(reg)
            if not warmth.hot or warmth.weak or any(key in ("", _HINT) for key, _ in made.keywords):
                continue
            found = facts.placement.located(name)
            moves = _asked(*found, len(made.args), made) if found is not None else []
            if found is None or not moves:
                continue
            owner, callee = found[0], found[0].program.functions[found[1]]
            if not to_device(facts, (facts.path, function.index, reg), owner, callee, moves):
                continue
            value = function.values[made.args[0]]
            if not value.places & ON_DEVICE and not value.kinds & (MODULE | ARRAY | HOST_VALUE | OPTIMIZER):
                yield function, reg


def _asked(owner: FilePlacement, index: int, given: int, made: p.Call) -> list[Reg]:
    """The moves of a function that does not wait where it is told so, is told nothing, and moves to where it is told;
    none of others."""
    callee = owner.program.functions[index]
    if callee.kind != "function" or callee.name in ("to", "cuda") or callee.name.startswith("__"):
        return []
    names = [q.name for q in callee.parameters]
    hint = next((q for q in callee.parameters if q.name == _HINT), None)
    if hint is None or hint.default not in ("False", "None") or "device" not in names:
        return []
    before = names.index(_HINT) - (names[0] in ("self", "cls"))
    if hint.kind == "positional" and given > before:
        return []
    if given <= names.index("device") - (names[0] in ("self", "cls")) and "device" not in dict(made.keywords):
        return []
    return [at for at in callee.lookup.of(p.Call) if _hands_on(owner, callee, at, hint)]


def _hands_on(owner: FilePlacement, callee: Function, at: Reg, hint: p.Parameter) -> bool:
    """True for a call that is given a parameter for `non_blocking`: by name, or in its place, after the device, of a
    move (docs.pytorch.org Tensor.to, .cuda) or of another function of the checked source."""
    call = callee.code[at]
    assert isinstance(call, p.Call)
    loads = [r for r in call.args if callee.code[r] == p.Load(hint.slot)]
    if any(key == _HINT and callee.code[r] == p.Load(hint.slot) for key, r in call.keywords):
        return True
    if not loads or any(call.stars):
        return False
    position, move = call.args.index(loads[0]), callee.code[call.function]
    if isinstance(move, p.Attr) and move.name in ("to", "cuda"):
        return position > 0
    placed = owner.known(callee.index)
    found = owner.located(placed.calls.get(at, "")) if placed is not None else None
    if found is None or found == (owner, callee.index):
        return False
    taken = [q.name for q in found[0].program.functions[found[1]].parameters if q.name not in ("self", "cls")]
    return position < len(taken) and taken[position] == _HINT
