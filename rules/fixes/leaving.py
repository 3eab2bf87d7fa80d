"""The edit, shown only, that leaves a value on the device where whoever takes it can take a tensor as well."""

from __future__ import annotations

from collections.abc import Collection

from transferlint import late
from transferlint.flow.dataflow.once import once
from transferlint.flow.dataflow.operands import operands
from transferlint.flow.facts import FunctionFacts
from transferlint.flow.lattice.transfers import DOWNLOAD, NUMBER, SCALAR_READ, TRUTH, Transfer
from transferlint.flow.lattice.values import CONTAINER, HOST, ON_DEVICE, TENSOR, UNKNOWN, Value
from transferlint.knowledge.torch_names import JOINS
from transferlint.model import Edit, Fix, Safety
from transferlint.syntax import program as p
from transferlint.syntax.program import Reg, Slot

from ..code.chains import called, method
from ..questions import host_uses
from ..questions.detection import remaining, together
from . import collecting, host_numbers, keeping, padding, reading_ahead, rebuilding

_TAKES = frozenset({"append", "log", "log_dict", "add", "extend"})
_ARITHMETIC = frozenset({"+", "-", "*", "/", "**"})
_SCALES = frozenset({"mul", "mul_", "div", "div_"})
_HOST = frozenset("item tolist numpy cpu to cuda type map_ apply_ data_ptr new_tensor index_put_".split())
_SIZES = frozenset("shape ndim dtype device".split())
_MOST = 40  # registers to follow


def offered(function: FunctionFacts, group: list[Transfer]) -> Fix | None:
    """What is offered for reads that stand together: a fix of the first that has one, else edits that are shown."""
    function, group = made_in(function, group)
    for transfer in group:
        fix = collecting.collected(function, transfer)
        if fix is not None:
            return _whole(function, group)
        if (fix := reading_ahead.ahead(function, transfer)) is not None:
            return together(function, group, [reading_ahead.ahead(function, one) for one in group])
        fix = (
            padding.unsliced(function, transfer)
            or rebuilding.restacked(function, transfer)
            or host_numbers.for_host(function, transfer)
        )
        if fix is not None:
            return remaining(function, group, transfer, fix)
    edits: set[Edit] = set()
    for transfer in group:
        edit = left(function, transfer)
        if edit is not None:
            edits.add(edit)
    if not edits:
        return None
    word = "copy" if all(t.kind == DOWNLOAD for t in group) else "read"
    ordered = tuple(sorted(edits, key=lambda edit: (edit.start, edit.end)))
    return Fix(f"keep it on the device, and {word} it once where the host needs it", Safety.DISPLAY, ordered)


def shown(fix: Fix | None) -> Fix | None:
    """A fix that leaves something of what its finding speaks of: for a person to look at."""
    return None if fix is None else late.replace(fix, safety=min(fix.safety, Safety.DISPLAY))


def _whole(function: FunctionFacts, group: list[Transfer]) -> Fix | None:
    """What is collected for all reads of a group; only shown where others of them still make every step wait."""
    fixes = [collecting.collected(function, one) for one in group]
    fix = together(function, group, fixes)
    if fix is not None and (any(one is None for one in fixes) or _waits_as_well(function, group)):
        return shown(fix)
    return fix


def made_in(function: FunctionFacts, group: list[Transfer]) -> tuple[FunctionFacts, list[Transfer]]:
    """Where the first of several reads is a call of what wraps it: the function of this file that does, and the read
    in it."""
    if group[0].inside is None or group[0].inside[0] != function.file.path:
        return function, [transfer for transfer in group if transfer.inside is None] or group
    _, index, reg = group[0].inside
    inner = function.file.functions[index]
    found = [transfer for transfer in inner.transfers if transfer.register == reg]
    return (inner, found[:1]) if found else (function, group)


def left(function: FunctionFacts, transfer: Transfer) -> Edit | None:
    """The edit for one read; None where the host needs the value at once."""
    if not transfer.before.kinds & (TENSOR | UNKNOWN) or not function.has_text(transfer.register):
        return None
    if transfer.kind == DOWNLOAD:
        chain = collecting.bare(function, transfer)
        if chain is None or (_returned(function, chain[0]) and host_uses.leaves_process(function)):
            return None
        return chain[1] if _taken(function, chain[0]) or (not chain[2] and _computed(function, chain[0])) else None
    if transfer.kind in (SCALAR_READ, NUMBER) and _taken(function, transfer.register):
        return keeping.kept(function, transfer)
    return None


def _returned(function: FunctionFacts, reg: Reg) -> bool:
    """True for what a function returns, by a variable or as a part too."""
    slots = {one.slot for user in function.users(reg) if isinstance(one := function.code[user], p.Store)}
    registers, variables = _given_back(function)
    return reg in registers or not slots.isdisjoint(variables)


@once
def _given_back(function: FunctionFacts) -> tuple[frozenset[Reg], frozenset[Slot]]:
    """The registers of what a function returns and of its parts, and the variables that are read in them."""
    given = [made.value for at in function.of(p.Return) if isinstance(made := function.code[at], p.Return)]
    registers = frozenset(at for value in given if value is not None for at in function.expression(value))
    loads = (function.code[at] for at in registers)
    return registers, frozenset(load.slot for load in loads if isinstance(load, p.Load))


def _taken(function: FunctionFacts, reg: Reg) -> bool:
    """True where everybody who uses a value computes with it, keeps it or hands it on, as they can with a tensor."""
    pending, seen = [reg], set[Reg]()
    while pending:
        at = pending.pop()
        if at in seen:
            continue
        seen.add(at)
        for user in function.users(at):
            more = _onward(function, at, user)
            if more is None or len(seen) > _MOST:
                return False
            pending += more
    return bool(function.users(reg))


def _computed(function: FunctionFacts, reg: Reg) -> bool:
    """True where all that is done with a copy of a tensor are computations, which the device makes as well; what they
    give may be read on the host, and is read once then."""
    pending, seen = [reg], set[Reg]()
    worked = False
    while pending:
        at = pending.pop()
        if at in seen:
            continue
        seen.add(at)
        for user in function.users(at):
            more = _onward(function, at, user)
            if more is None:
                more = _work(function, at, user) if _together(function, reg, user) else None
                worked = True
            if more is None or len(seen) > _MOST:
                return False
            pending += more
    return worked


def _together(function: FunctionFacts, reg: Reg, user: Reg) -> bool:
    """True unless a loop takes elements of the copy that was made before it: there the copy spares a read in each
    turn. Rows that are put into lists are none."""
    if function.loops(user) == function.loops(reg) or not isinstance(function.code[user], p.Subscript):
        return True
    ends = [function.code[r] for r in function.users(user)]
    return all(isinstance(end, p.Sequence) for end in ends)


def _work(function: FunctionFacts, at: Reg, user: Reg) -> list[Reg] | None:
    """The registers that hold the result where one use of a tensor is a computation; None for others."""
    made = function.code[user]
    if isinstance(made, p.Attr) and made.object == at:
        if made.name in _SIZES:
            return []
        calls = [r for r in function.users(user) if getattr(function.code[r], "function", None) == user]
        if len(calls) < len(function.users(user)) or made.name in _HOST:
            return None
        return calls if all(_with_device(function, r, user) for r in calls) else None
    if isinstance(made, p.Unpack) or (isinstance(made, p.Subscript) and made.object == at):
        return [user]
    if isinstance(made, p.Compare) and {"in", "not in"}.isdisjoint(made.operators):
        return [user] if _with_device(function, user, at) else None
    if isinstance(made, p.Call):
        name = called(function, user)
        known = (name.startswith("torch.") and name.count(".") < 3) or name.startswith("torch.nn.functional.")
        return [user] if known and _with_device(function, user, at) else None
    return None


def _with_device(function: FunctionFacts, user: Reg, at: Reg) -> bool:
    """True where nothing else that is used there is a tensor of the host, but for other copies."""
    return all(
        not function.values[r].is_a(TENSOR) or function.values[r].places != HOST or bool(function.values[r].reads)
        for r in operands(function.code[user])
        if r != at
    )


def _onward(function: FunctionFacts, reg: Reg, user: Reg) -> list[Reg] | None:
    """The registers that hold a value after one use of it; None for a use that needs a number or an array."""
    made = function.code[user]
    if isinstance(made, p.Store):
        return None if made.slot in _targets(function) else function.loads(made.slot)
    if isinstance(made, p.Return | p.Yield | p.Discard):
        return []
    if isinstance(made, p.SetAttr | p.SetItem):
        kept = made.value == reg or (function.values[made.object].kinds == CONTAINER and made.object == reg)
        return [] if kept else None
    if isinstance(made, p.Mapping):
        return [user] if reg in made.values else None
    if isinstance(made, p.Sequence):
        return [user] if made.kind != "set" else None
    if isinstance(made, p.Collect):
        return [user] if made.kind == "list" and made.value == reg else None
    if isinstance(made, p.Binary):
        other = function.values[made.left if made.right == reg else made.right]
        if made.operator in _ARITHMETIC and other.is_a(TENSOR) and not other.places & ~ON_DEVICE:
            return []  # a tensor of the device, whatever is on the other side
        hosts = other.is_a(TENSOR) and other.places == HOST and not other.reads
        return [user] if made.operator in _ARITHMETIC and not hosts else None
    if isinstance(made, p.Unary):
        return [user] if made.operator in ("+", "-") else None
    if isinstance(made, p.Attr) and function.values[reg].kinds == CONTAINER:
        return [] if made.name == "update" else None
    if isinstance(made, p.Call) and made.function != reg:
        name = method(function, user)
        return [] if name in _TAKES or name in _SCALES or called(function, user) in JOINS else None
    return None


@once
def _targets(function: FunctionFacts) -> frozenset[Slot]:
    """The variables that loops bind."""
    return frozenset(slot for region in function.function.regions for slot in region.target_slots)


def _waits_as_well(function: FunctionFacts, group: Collection[Transfer]) -> bool:
    """True where every turn of the loop of these reads waits for another one, which stays."""
    own = {transfer.register for transfer in group}
    waits = _waits(function)
    return any(waits.get(tuple(function.loops(reg)), frozenset()) - own for reg in own)


@once
def _waits(function: FunctionFacts) -> dict[tuple[int, ...], frozenset[Reg]]:
    """The reads of a function for which the host waits in hot code, by the loops around them."""
    found: dict[tuple[int, ...], set[Reg]] = {}
    for transfer in function.transfers:
        reg = transfer.register
        if transfer.kind not in (SCALAR_READ, NUMBER, TRUTH) or not function.warmth(reg).hot:
            continue
        if _there(function.values[transfer.subject if transfer.subject is not None else reg]):
            found.setdefault(tuple(function.loops(reg)), set()).add(reg)
    return {loops: frozenset(registers) for loops, registers in found.items()}


def _there(value: Value) -> bool:
    return value.is_a(TENSOR) and bool(value.places & ON_DEVICE)
