"""What leaves a place and comes back: shared by the round-trip rules, and by the read rules that leave reads to
them."""

from __future__ import annotations

import bisect
from collections.abc import Iterator

from transferlint.flow.dataflow.once import once
from transferlint.flow.facts import FunctionFacts
from transferlint.flow.lattice.transfers import BUILD, DOWNLOAD, MOVE, NUMBER, SCALAR_READ, SHAPE, Transfer
from transferlint.flow.lattice.values import (
    DEVICE_NAME,
    DTYPE,
    HOST_VALUE,
    MODULE,
    NAME,
    ON_DEVICE,
    RESIDENT,
    TENSOR,
    UNKNOWN,
)
from transferlint.syntax import program as p
from transferlint.syntax.program import Reg

from ..code import derived
from ..code.chains import called
from .detection import for_the_host, likely

# What processes do together with a value, by whatever library's name (docs.pytorch.org distributed, MPI's names).
_TOGETHER = frozenset(
    "all_reduce allreduce all_gather allgather all_gather_into_tensor broadcast reduce gather scatter reduce_scatter"
    " all_to_all all_to_all_single send recv".split()
)
READS = frozenset({DOWNLOAD, SCALAR_READ, NUMBER, "array"})
_UPLOADS = frozenset({MOVE, BUILD})


@once
def returns(function: FunctionFacts) -> dict[Reg, list[Reg]]:
    """Uploads of what was downloaded: register of the upload to the registers of its downloads."""
    found: dict[Reg, list[Reg]] = {}
    reads = {t.register for t in function.transfers if t.kind in READS and not t.before.on_host}
    for transfer in function.transfers:
        if transfer.kind not in _UPLOADS or not transfer.places & ON_DEVICE:
            continue
        if transfer.before.places & ON_DEVICE and transfer.kind == MOVE:
            continue
        back = sorted(r for r in transfer.before.reads & reads if not function.warmth(r).amortised)
        if back and function.warmth(transfer.register).hot:
            found[transfer.register] = back
    return found


@once
def came_back(function: FunctionFacts) -> dict[Reg, Reg]:
    """The downloads of `returns`, each with the (first) upload that what it brought went into."""
    found: dict[Reg, Reg] = {}
    for up, downs in returns(function).items():
        for down in downs:
            found.setdefault(down, up)
    return found


def trips(function: FunctionFacts) -> list[Transfer]:
    """The downloads that are worth a finding because what they bring goes back."""
    if function.role.skip:
        return []
    back = came_back(function)
    found = (t for t in function.transfers if t.register in back and t.kind in READS and function.has_text(t.register))
    told_of = (t for t in found if function.has_text(back[t.register]) and not function.claimed(back[t.register]))
    return [t for t in told_of if likely(function, t) and not for_the_host(function, t.register)]


def bounces(function: FunctionFacts, transfer: Transfer) -> list[Reg]:
    """The uploads, in the same turn, of all that a download brings back; empty where anything else went into it."""
    before = transfer.before
    if not before.uploads or before.flags & RESIDENT or not before.is_a(TENSOR):
        return []
    uploads = [r for r in sorted(before.uploads) if function.has_text(r)]
    loops = function.loops(transfer.register)
    return [] if loops and not all(function.inside(r, loops[0]) for r in uploads) else uploads


@once
def brought_back(function: FunctionFacts) -> set[Reg]:
    """The uploads that a download or a read brings back as they are, with nothing else."""
    reads = (one for one in function.transfers if one.kind in READS and likely(function, one))
    return {upload for one in reads if not agreed(function, one) for upload in bounces(function, one)}


def agreed(function: FunctionFacts, transfer: Transfer) -> bool:
    """True for a read of a host value that was uploaded to be exchanged with other processes: that takes the trip. A
    copy of what was computed of it, where nobody knows whether it came from the device, is none of it either."""
    if transfer.subject is None or not transfer.before.uploads:
        return False
    if transfer.kind == DOWNLOAD:
        try:
            computed = derived.derived(function.function, transfer.before.uploads, derived.ALL)
        except derived.TooLong:
            function.file.cut.add(function.function.qualname)
            return False
        return any(computed.intersection(args) for args in _exchanges(function, transfer.register))
    if any(_came(function, t) for r in transfer.before.uploads for t in function.transfers_at(r)):
        return False
    return _exchanged(function, transfer)


def decided_together(function: FunctionFacts, transfer: Transfer) -> bool:
    """True for the one read, outside all loops, of what processes agreed upon, where the function gives back whether it
    holds: every one of them has to know before it goes on."""
    if transfer.subject is None or transfer.inside is not None or function.loops(transfer.register):
        return False
    return _says_whether(function, transfer.register) and _exchanged(function, transfer)


@once
def _says_whether(function: FunctionFacts, reg: Reg, asked: bool = False) -> bool:
    """True where a number is only asked whether it holds, and the function returns the answer."""
    uses = function.users(reg)
    if not uses:
        return False
    for use in uses:
        made = function.code[use]
        if isinstance(made, p.Return):
            said = asked
        elif isinstance(made, p.Store):
            loads = function.loads(made.slot)
            loads = loads[bisect.bisect_right(loads, use) :]
            said = bool(loads) and all(_says_whether(function, load, asked) for load in loads)
        elif isinstance(made, p.Compare) or (isinstance(made, p.Call) and called(function, use) == "builtins.bool"):
            said = _says_whether(function, use, True)
        else:
            said = False
        if not said:
            return False
    return True


def _exchanged(function: FunctionFacts, transfer: Transfer) -> bool:
    """True where processes exchanged what is read."""
    if transfer.subject is None:
        return False
    read = {made.slot for r in function.expression(transfer.subject) if isinstance(made := function.code[r], p.Load)}
    given = (function.code[r] for args in _exchanges(function, transfer.register) for r in args)
    return any(isinstance(one, p.Load) and one.slot in read for one in given)


def _exchanges(function: FunctionFacts, before: Reg) -> Iterator[set[Reg]]:
    """The registers of what processes exchange, for each time that they do before a register."""
    yield from (given for at, given in _exchanging(function) if at < before)


@once
def _exchanging(function: FunctionFacts) -> list[tuple[Reg, set[Reg]]]:
    found = []
    for at in function.of(p.Call):
        made = function.code[at]
        callee = function.code[made.function] if isinstance(made, p.Call) else None
        if not isinstance(made, p.Call) or not isinstance(callee, p.Attr | p.Outer):
            continue
        if callee.name in _TOGETHER or callee.name.endswith("_all_reduce"):
            given = (*made.args, *(r for _, r in made.keywords))
            found.append((at, {r for one in given for r in function.expression(one)}))
    return found


def _came(function: FunctionFacts, upload: Transfer) -> bool:
    """True where what is uploaded was read from the device, or is made a number of what nobody knows."""
    if upload.before.reads or upload.before.kinds & (UNKNOWN | TENSOR):
        return True
    for reg in function.expression(upload.subject) if upload.subject is not None else ():
        made = function.code[reg]
        if isinstance(made, p.Call) and len(made.args) == 1 and not function.values[made.args[0]].is_a(HOST_VALUE):
            callee = function.code[made.function]
            if isinstance(callee, p.Outer) and callee.name in ("float", "int"):
                return True
    return False


def explained(function: FunctionFacts, transfer: Transfer) -> bool:
    """True where a finding of its own would add nothing: another rule says more about the read, or the expression it
    reads from has made the host wait just before."""
    return told(function, transfer) or function.claimed(transfer.register)


def told(function: FunctionFacts, transfer: Transfer) -> bool:
    """`explained`, as far as it is not another rule that claims the read."""
    reg = transfer.register
    if transfer.subject is not None:
        inner = (t for r in function.expression(transfer.subject) if r != reg for t in function.transfers_at(r))
        if any(t.kind in (SHAPE, SCALAR_READ, NUMBER) and t.before.is_a(TENSOR) for t in inner):
            return True
    if for_the_host(function, reg):
        return True
    if reg in came_back(function) or (transfer.kind in READS and bounces(function, transfer)):
        return True
    return reg in _decided(function)


@once
def _decided(function: FunctionFacts) -> frozenset[Reg]:
    """The reads of `decisions` that stand in the text."""
    return frozenset(read for test, read in decisions(function).items() if function.has_text(test))


@once
def decisions(function: FunctionFacts) -> dict[Reg, Reg]:
    """Host decisions: register of a `Test` to the register of the explicit read that it rests on, where the branch that
    it takes steers device work and both stand in hot code. What was read before the loop that asks, or in a loop
    that has ended, has been waited for there."""
    explicit = [t for t in function.transfers if t.kind in READS and t.before.places & ON_DEVICE]
    if not explicit:
        return {}
    reads = {t.register for t in explicit}
    within = {t.register for t in explicit if t.inside}  # a callee's: it need not give back what it read
    found: dict[Reg, Reg] = {}
    for reg in function.of(p.Test):
        instruction = function.code[reg]
        if not isinstance(instruction, p.Test) or instruction.kind not in ("if", "elif", "while"):
            continue
        known = function.values[instruction.value].reads
        spelled = (r for r in function.expression(instruction.value) if r in reads)
        rests = sorted(r for r in spelled if r not in within or r in known)
        rests = rests or sorted(r for r in known & reads if _again(function, r, reg))
        rests = [r for r in rests if function.warmth(r).hot]
        if rests and function.warmth(reg).hot and _steers(function, instruction.value):
            found[reg] = rests[0]
    return found


def _again(function: FunctionFacts, read: Reg, test: Reg) -> bool:
    """True where a read runs as often as a test: in the same loops, comprehensions aside."""
    regions = function.function.regions
    first, second = ([at for at in function.loops(reg) if regions[at].kind != "comprehension"] for reg in (read, test))
    return first == second


def _steers(function: FunctionFacts, test: Reg) -> bool:
    """True where an arm of the branch works on the device: it computes or stores a device tensor."""
    return any(_work_in(function)[arm] for arm in _arms(function).get(test, ()))


@once
def _arms(function: FunctionFacts) -> dict[Reg, list[int]]:
    """By test, the arms of its branch that do not leave."""
    found: dict[Reg, list[int]] = {}
    for number, region in enumerate(function.function.regions):
        kind = region.kind in ("then", "else", "while")
        if kind and number and region.test is not None and not region.leaves and not region.implied:
            found.setdefault(region.test, []).append(number)
    return found


@once
def _work_in(function: FunctionFacts) -> list[bool]:
    """By region, whether anything in it works on the device."""
    found = [False] * len(function.function.regions)
    for block in function.function.blocks:
        if not found[block.region] and any(_works(function, reg) for reg in range(block.start, block.end)):
            at = block.region
            while at >= 0 and not found[at]:
                found[at] = True
                at = function.function.regions[at].parent if at else -1
    return found


def _works(function: FunctionFacts, reg: Reg) -> bool:
    instruction = function.code[reg]
    value = function.values[reg]
    if isinstance(instruction, p.Binary):
        return value.is_a(TENSOR | UNKNOWN) and value.on_device
    if isinstance(instruction, p.Call):
        if not value.on_device or value.is_a(HOST_VALUE | NAME | DTYPE | DEVICE_NAME | MODULE):
            return False
        return not function.transfers_at(reg) and value.is_a(TENSOR)
    if isinstance(instruction, p.SetItem):
        return function.values[instruction.object].on_device and function.values[instruction.object].is_a(TENSOR)
    return False
