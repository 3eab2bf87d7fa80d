"""What of the same kind a function goes on to do after an unsafe edit: an edit that leaves it is half of a change, or
gains nothing. Such an edit is only shown.

Asked of all rules alike, whichever of them tells of what stays: an upload counts as gone where a rule has an edit for
it that is applied with this one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from transferlint.flow.callgraph.names import split
from transferlint.flow.dataflow.once import once
from transferlint.flow.facts import FunctionFacts
from transferlint.flow.lattice.transfers import (
    BUILD,
    DOWNLOAD,
    FORMAT,
    HOST_INDEX,
    MOVE,
    NUMBER,
    SCALAR_READ,
    SHAPE,
    SYNCHRONIZE,
    TRUTH,
    Transfer,
)
from transferlint.flow.lattice.values import ARRAY, DATA, FRESH, HOST, ON_DEVICE, PINNED, TENSOR
from transferlint.model import Safety
from transferlint.syntax import program as p
from transferlint.syntax.program import Reg

from ..code import bindings
from ..code.chains import called, captured, method, receiver
from . import host_indices, making, uploading

_SHAPED_AS = frozenset({"expand_as", "view_as", "reshape_as"})
_DEEP = 4  # helpers within helpers
_ASKED = frozenset({SCALAR_READ, NUMBER, TRUTH})
_READ = _ASKED | {FORMAT}
_WAITS = _ASKED | {DOWNLOAD, SHAPE}


def uploads_still(function: FunctionFacts, group: Iterable[Transfer]) -> bool:
    """True where a function uploads what it makes itself besides the `group`, and no edit is applied to that: what it,
    or a function of the file that it calls, makes and moves, or indexes by."""
    known = {transfer.register for transfer in group}
    others = (reg for reg in _own_uploads(function) if reg not in known and not _same_statement(function, reg, known))
    if function.function.kind != "module":
        return any(True for _ in others)
    turns = {(*function.loops(reg),) for reg in known}
    return any((*function.loops(reg),) in turns for reg in others)


def _same_statement(function: FunctionFacts, reg: Reg, known: set[Reg]) -> bool:
    """True for a second move of what is moved already: the edit takes both."""
    return any(reg in function.around(one) or one in function.around(reg) for one in known)


@once
def _own_uploads(function: FunctionFacts) -> frozenset[Reg]:
    """The uploads of what a function makes itself that no edit takes away."""
    made = {one.register for one in function.transfers if _made_here(function, one) and not _goes(function, one)}
    return frozenset(made | set(_converted(function)) | set(_written(function)))


def _made_here(function: FunctionFacts, transfer: Transfer) -> bool:
    """True for the upload of what was made of nothing but numbers of the host."""
    subject = transfer.subject
    if subject is None or transfer.inside is not None or not transfer.places & ON_DEVICE:
        return False
    warmth = function.warmth(transfer.register)
    # Of what only the first turn uploads nothing is told, and yet it goes with the rest.
    if warmth.cold or (warmth.once and not warmth.amortised) or function.role.skip:
        return False
    if transfer.kind == HOST_INDEX:
        return transfer.before.is_a(TENSOR) and transfer.before.on_host and _of_creations(function, subject)
    if transfer.kind != MOVE or making.made_and_moved(function, transfer) is not None:
        return False
    shaped = receiver(function, subject) if method(function, subject) in _SHAPED_AS else None
    before = transfer.before if shaped is None else function.values[shaped]  # the other only gives its shape
    return bool(before.places & HOST) and _of_creations(function, subject)


def _of_creations(function: FunctionFacts, reg: Reg, depth: int = _DEEP) -> bool:
    """True for what is computed from tensors that functions of torch fill with no data, here or in what is called."""
    made = list(making.sources(function, reg))
    if made:
        return all(making.creates(function, one) or _drawn(function, one) for one in made)
    helper = _helper(function, reg)
    if helper is None or depth == 0:
        return False
    gives = [one.value for r in helper.of(p.Return) if isinstance(one := helper.code[r], p.Return)]
    given = [value for value in gives if value is not None]
    return bool(given) and all(_of_creations(helper, value, depth - 1) for value in given)


def _drawn(function: FunctionFacts, reg: Reg) -> bool:
    """True for a tensor of random numbers that numpy draws: torch draws the like on the device."""
    made = function.code[reg]
    given = made.args[:1] if isinstance(made, p.Call) else ()
    return any(called(function, r).startswith("numpy.random.") for one in given for r in function.expression(one))


def _helper(function: FunctionFacts, reg: Reg) -> FunctionFacts | None:
    """The function of this file that gave a value, handed no tensor, before what was done with the value."""
    for one in function.expression(reg):
        made, place = function.code[one], split(function.calls.get(one, ""))
        if isinstance(made, p.Call) and place is not None and place[0] == function.file.path:
            given = (*made.args, *(value for _, value in made.keywords))
            tensors = any(function.values[r].kinds & (TENSOR | ARRAY) for r in given)
            return None if tensors else function.file.functions[place[1]]
    return None


def _goes(function: FunctionFacts, transfer: Transfer) -> bool:
    """True for an index on the host that an edit takes away which is applied as well."""
    told = transfer.kind == HOST_INDEX and function.warmth(transfer.register).hot
    fix = host_indices.index_fix(function, transfer) if told else None
    return fix is not None and fix.safety is not Safety.DISPLAY


def _converted(function: FunctionFacts) -> Iterator[Reg]:
    """Conversions to the type and place of another tensor, of what is made here: `torch.arange(n).type_as(x)`."""
    for reg in function.of(p.Call):
        inner = receiver(function, reg) if method(function, reg) == "type_as" else None
        if inner is None or function.values[inner].places != HOST or function.transfers_at(reg):
            continue
        if function.values[reg].places & ON_DEVICE and _of_creations(function, inner):
            yield reg


def _written(function: FunctionFacts) -> Iterator[Reg]:
    """What is made here and copied to the device as it is written into a tensor there: `x[i] = torch.eye(n)`."""
    for reg in function.of(p.SetItem):
        made = function.code[reg]
        assert isinstance(made, p.SetItem)
        into, value = function.values[made.object], function.values[made.value]
        if not into.is_a(TENSOR) or not into.places or into.places & ~ON_DEVICE or function.warmth(reg).once:
            continue
        if value.is_a(TENSOR) and value.places == HOST and not value.reads:
            parts = function.code[made.value]
            source = parts.value if isinstance(parts, p.Unpack) else made.value
            if any(making.creates(function, one) for one in function.expression(source)):
                yield reg


def indices_still(function: FunctionFacts, group: Iterable[Transfer]) -> bool:
    """True where a function also indexes by what is on the host besides the `group`, and no edit is applied to that."""
    known = {transfer.register for transfer in group}
    others = (one for one in function.transfers if one.kind == HOST_INDEX and one.register not in known)
    return any(not _goes(function, one) for one in others)


def builds_still(function: FunctionFacts, group: Iterable[Transfer]) -> bool:
    """True where a function uploads numbers or lists of the host besides the `group` and no edit is applied to that."""
    known = {transfer.register for transfer in group}
    others = (one for one in function.transfers if one.kind == BUILD and one.register not in known)
    return any(not _filled(function, one) for one in others)


def _filled(function: FunctionFacts, transfer: Transfer) -> bool:
    fix = uploading.filled(function, transfer) or uploading.modern(function, transfer)
    return fix is not None and fix.safety is not Safety.DISPLAY


def asked_at_once(function: FunctionFacts, reg: Reg) -> bool:
    """True where the host reads what is computed from a value in the same expression: it waits there anyway."""
    whole = function.around(reg)
    return any(one.kind in _ASKED and one.before.is_a(TENSOR) and one.subject in whole for one in function.transfers)


@once
def _subjects(function: FunctionFacts) -> frozenset[Reg]:
    """What the host reads: a number, a truth, a text, an element of a list that a tensor is the place of."""
    return frozenset(one.subject for one in function.transfers if one.kind in _READ and one.subject is not None)


def only_read(function: FunctionFacts, reg: Reg) -> bool:
    """True where nothing is done with a value but that the host reads it, of itself or by a variable."""
    pending, seen = [reg], set[Reg]()
    while pending:
        at = pending.pop()
        if at in seen or at in _subjects(function):
            continue
        seen.add(at)
        users = function.users(at)
        stored = [one for one in map(function.code.__getitem__, users) if isinstance(one, p.Store)]
        loads = [load for one in stored for load in function.loads(one.slot)]
        if not users or len(stored) < len(users) or any(captured(function, one.slot) for one in stored):
            return False
        if not loads:
            return False
        pending += loads
    return True


def waits_as_well(function: FunctionFacts, reg: Reg) -> bool:
    """True where the host waits whenever a register runs: for what it reads, or for the size of what it selects."""
    return any(
        one.kind in _WAITS and one.before.is_a(TENSOR) and bool(one.before.places & ON_DEVICE)
        for one in _of_each_turn(function, reg)
    )


def waits_for_all(function: FunctionFacts, reg: Reg) -> bool:
    """True where each turn that runs a register waits for the device by name (`torch.cuda.synchronize()`), as one that
    measures does."""
    turn = function.loops(reg)
    return bool(turn) and any(one.kind == SYNCHRONIZE for one in _of_each_turn(function, reg))


def uploads_other_data(function: FunctionFacts, reg: Reg) -> bool:
    """True where each turn that runs a register also waits for an upload of what no loader brings: made in the turn, or
    a part of what was there before the loop. Between the two the host has nothing to do that could go on meanwhile."""
    turn = function.loops(reg)
    return bool(turn) and any(
        one.kind == MOVE and not one.non_blocking and _of_no_loader(function, one, turn[0])
        for one in _of_each_turn(function, reg)
    )


def _of_each_turn(function: FunctionFacts, reg: Reg) -> Iterator[Transfer]:
    """The transfers that happen in every turn of the loops in which a register runs."""
    turn, before = function.loops(reg), bindings.around(function, reg)
    for one in function.transfers:
        if function.loops(one.register) == turn and function.region(one.register) in before:
            yield one


def _of_no_loader(function: FunctionFacts, transfer: Transfer, loop: int) -> bool:
    before, subject = transfer.before, transfer.subject
    if (
        subject is None
        or not transfer.places & ON_DEVICE
        or before.places & ON_DEVICE
        or before.flags & (PINNED | DATA)
    ):
        return False
    if before.is_a(TENSOR) and before.places == HOST and before.flags & FRESH:
        maker = making.made_and_moved(function, transfer)
        return maker is None or not making.creates(function, maker)  # else its own edit makes it there
    while isinstance(made := function.code[subject], p.Subscript | p.Attr):
        subject = made.object
    if not isinstance(made, p.Load) or subject == transfer.subject:
        return False
    target = function.function.regions[loop].target_slots
    return made.slot not in target and not any(function.inside(r, loop) for r in function.stores(made.slot))
