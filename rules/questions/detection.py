"""What several rules ask of a transfer: is it a read that costs something, and is it hot enough to say so?"""

from __future__ import annotations

import bisect
import functools
from collections.abc import Callable, Iterable, Iterator

from transferlint import late
from transferlint.flow.callgraph.names import ident
from transferlint.flow.callgraph.roles import reference
from transferlint.flow.dataflow.guards import identifiers
from transferlint.flow.dataflow.once import once
from transferlint.flow.facts import FileFacts, FunctionFacts
from transferlint.flow.host_only import host_only_use
from transferlint.flow.lattice.transfers import BUILD, CALLBACK, DOWNLOAD, MOVE, Transfer
from transferlint.flow.lattice.values import (
    DEVICE,
    FRESH,
    FROM_PARAMETER,
    ON_DEVICE,
    TENSOR,
    UNKNOWN,
)
from transferlint.knowledge import roles
from transferlint.model import Confidence, Edit, Evidence, Fix, Level, Part, Safety
from transferlint.syntax import program as p
from transferlint.syntax.program import Reg

from ..code.chains import alone
from .alike import alike
from .batch_parts import of_a_batch
from .moved_later import moved_later

_CALLS = 4  # how far up the calls
_NEAR = 8  # lines between transfers that one change serves
_BESIDE = 2  # lines between transfers that look alike only if they are changed alike
_MOVES = frozenset({MOVE, DOWNLOAD})
Found = tuple[FunctionFacts, Transfer]
Kin = Callable[[FunctionFacts, Transfer], str]


def each(facts: FileFacts, *kinds: str, discarded: bool = False) -> Iterator[Found]:
    """The transfers of the given kinds over all functions that the host runs and that have text of their own.
    `discarded`: also moves of tensors whose result nobody takes, which move nothing."""
    for function in facts.transferring:
        yield from ((function, transfer) for transfer in each_of(function, *kinds, discarded=discarded))


def each_of(function: FunctionFacts, *kinds: str, discarded: bool = False) -> Iterator[Transfer]:
    """Those of one function."""
    if function.role.skip or _for_comparison(function):
        return
    for transfer in function.transfers:
        if transfer.kind not in kinds or not function.has_text(transfer.register):
            continue
        if function.at_calls(transfer) or function.told_inside(transfer):
            continue
        if transfer.kind != CALLBACK and function.called_traced(transfer.register):
            continue
        if discarded or transfer.kind not in _MOVES or not dropped(function, transfer):
            yield transfer


def _for_comparison(function: FunctionFacts) -> bool:
    """True for the plain twin of a function that nothing but its arguments says to run repeatedly."""
    base = function.file.heat.base(function.index)
    return base.unsure and base.caller is None and reference(function.file.placement, function.function)


def dropped(function: FunctionFacts, transfer: Transfer) -> bool:
    """True for a move of a tensor, or of a part of a batch, that is a statement of its own."""
    if transfer.inside is not None or transfer.subject is None or not alone(function, transfer.register):
        return False
    return transfer.before.is_a(TENSOR) or of_a_batch(function, transfer.subject)


def hot(facts: FileFacts, *kinds: str) -> Iterator[Found]:
    """Those of them that run at least once a step, unguarded."""
    for function, transfer in each(facts, *kinds):
        if function.warmth(transfer.register).hot:
            yield function, transfer


def for_the_host(function: FunctionFacts, reg: Reg) -> bool:
    """True where a value goes straight to what only the host does: saving it, or stepping an environment with it; and,
    of a framework beside torch, in what chooses actions for one."""
    return bool(host_only_use(function, reg)) or _acts(function, reg)


def _acts(function: FunctionFacts, reg: Reg) -> bool:
    """True for what a framework beside torch chose for an environment, by the name of the function or of what it is
    made of."""
    if not function.framework(reg):
        return False
    names = (name for transfer in function.transfers_at(reg) if transfer.subject is not None
             for name in identifiers(function.function, transfer.subject))  # fmt: skip
    return bool(roles.ACTING.search(function.function.name)) or any(map(roles.ACTIONS.search, names))


def clusters(found: Iterable[Found], kin: Kin = alike) -> Iterator[tuple[FunctionFacts, list[Transfer]]]:
    """Transfers of one function that a reader wants to hear of once, as one: those that stand within a few lines of one
    another in the same loop (of several syncs in a row only the first waits for queued work, and several uploads in a
    row take one change), and those of one `kin`, which one change serves, wherever else they stand that is no hotter.
    What the source shows comes before what a callee does, and what is known to be hot before what may be."""
    near: dict[tuple[int, int], list[Transfer]] = {}
    same: dict[tuple[int, str], list[Transfer]] = {}
    order: list[tuple[FunctionFacts, list[Transfer]]] = []
    for function, transfer in sorted(found, key=lambda pair: (pair[0].index, pair[0].span(pair[1].register))):
        key = function.index, (function.loops(transfer.register) or [0])[0]
        of = function.index, kin(function, transfer)
        group = near.get(key)
        if not group or function.site(transfer.register).line - function.site(group[-1].register).end_line > _NEAR:
            group = same.get(of)
            if group and _level(function, transfer) > _level(function, group[0]):
                group = None
        if group is None:
            order.append((function, group := []))
        group.append(transfer)
        near[key] = same[of] = group
    for function, group in order:
        for transfers in apart(function, group):
            yield function, sorted(transfers, key=functools.partial(_later, function))


def _level(function: FunctionFacts, transfer: Transfer) -> Level:
    return function.warmth(transfer.register).level


def _later(function: FunctionFacts, transfer: Transfer) -> tuple[bool, bool, bool, bool]:
    warmth = function.warmth(transfer.register)
    return transfer.inside is not None, not warmth.hot, warmth.unsure, warmth.weak


def apart(function: FunctionFacts, group: list[Transfer]) -> Iterator[list[Transfer]]:
    """A group without those of its sites that are suppressed or in the baseline, and these by themselves: a finding
    must not hide behind one that is not shown."""
    silent = function.file.silent
    parts: tuple[list[Transfer], list[Transfer]] = ([], [])
    for transfer in group:
        parts[function.site(transfer.register) in silent].append(transfer)
    yield from (part for part in parts if part)


def others(function: FunctionFacts, group: list[Transfer]) -> tuple[Evidence, ...]:
    """What a cluster's first calls to make the transfer, and the rest of the cluster, as evidence."""
    rest = [t.register for t in group[1:]]
    again = (Evidence(function.site(reg), "and again here", function.text(reg), Part.SAME) for reg in rest)
    return function.wrapped(group[0]) + tuple(again)


def together(function: FunctionFacts, group: list[Transfer], fixes: list[Fix | None]) -> Fix | None:
    """One fix of several transfers, given each one's own, which is right without the others: the edits of the safest
    that do not touch one another, nor bind the same new variable. The title says what remains to be done, by a less
    safe fix or by hand; an unsafe one that leaves something is only shown. None where none has one."""
    best = max((fix.safety for fix in fixes if fix is not None), default=None)
    edits: set[Edit] = set()
    placed: list[tuple[int, int, str]] = []
    fixed: list[Transfer] = []
    bound: list[Edit] = []
    title, lines = "", 0
    for transfer, fix in zip(group, fixes, strict=True):
        if fix is None or fix.safety != best:
            continue
        if not edits.issuperset(fix.edits) and any(_clashes(edit, placed) for edit in fix.edits):
            continue
        binding = [edit for edit in fix.edits if edit.binds()]
        if any(one.takes_names_of(other) for one in binding for other in bound):
            continue
        bound += binding
        for edit in set(fix.edits) - edits:
            bisect.insort(placed, (edit.start, edit.end, edit.text))
        title = title or fix.title
        lines += fix.lines
        edits.update(fix.edits)
        fixed.append(transfer)
    if best is None:
        return None
    kept = set(map(id, fixed))
    left = [transfer for transfer in group if id(transfer) not in kept]
    if best is Safety.UNSAFE and left:
        best = Safety.DISPLAY  # half a change
    title += _at(function, [] if id(group[0]) in kept else fixed[:1]) + _remaining(function, left)
    return Fix(title, best, in_order(edits), lines)


def only_shown(fix: Fix | None) -> Fix | None:
    """A fix, only shown where it is unsafe: for rules of whose unsafe edits a maintainer would leave more than one in
    four (benchmarks/results/unsafe_fixes.md), and for edits that gain nothing where they stand."""
    if fix is None or fix.safety is not Safety.UNSAFE:
        return fix
    return late.replace(fix, safety=Safety.DISPLAY)


def side_by_side(function: FunctionFacts, one: Transfer, other: Transfer) -> bool:
    """True for transfers that a reader sees at one look: in the same turn of a
    loop, or a few lines apart."""
    around = function.loops(one.register)
    if around and around == function.loops(other.register):
        return True
    return apart_lines(function, one, other) <= _BESIDE


def apart_lines(function: FunctionFacts, one: Transfer, other: Transfer) -> int:
    """How many lines one transfer stands below another, from the end of the upper one."""
    first, second = sorted((function.site(one.register), function.site(other.register)), key=lambda site: site.line)
    return second.line - first.end_line


def remaining(function: FunctionFacts, group: list[Transfer], one: Transfer, fix: Fix) -> Fix:
    """A fix of one transfer of a group, with the rest in its title."""
    rest = [transfer for transfer in group if transfer is not one]
    where = _at(function, [] if one is group[0] else [one])
    safety = Safety.DISPLAY if rest and fix.safety is Safety.UNSAFE else fix.safety
    return late.replace(fix, title=fix.title + where + _remaining(function, rest), safety=safety)


def _clashes(edit: Edit, placed: list[tuple[int, int, str]]) -> bool:
    """Whether an edit cannot be made with others, in order, which do not clash: only those at its place can."""
    at = bisect.bisect_left(placed, (edit.start, -1, ""))
    near = list(placed[max(at - 2, 0) : at])
    while at < len(placed) and placed[at][0] <= edit.end:
        near.append(placed[at])
        at += 1
    return any(_clash(edit, Edit(*other)) for other in near)


def _clash(a: Edit, b: Edit) -> bool:
    """Whether two edits cannot both be made: they touch the same text, or insert other than lines at one place."""
    if a == b:
        return a.start == a.end and not _is_line(a)
    if a.start == a.end and b.start == b.end:
        return a.start == b.start and not (_is_line(a) and _is_line(b))
    return a.start < b.end and b.start < a.end


def _is_line(edit: Edit) -> bool:
    return edit.start == edit.end and edit.text.endswith(("\n", "\r"))


def in_order(edits: Iterable[Edit]) -> tuple[Edit, ...]:
    """Edits by place, each once; lines that are put before the same line are one edit."""
    made: list[Edit] = []
    for edit in sorted(set(edits), key=lambda edit: (edit.start, edit.end, edit.text)):
        if made and _is_line(made[-1]) and _is_line(edit) and made[-1].start == edit.start:
            edit = Edit(edit.start, edit.end, made.pop().text + edit.text)
        made.append(edit)
    return tuple(made)


def _at(function: FunctionFacts, transfers: list[Transfer]) -> str:
    return "".join(f", at line {function.site(transfer.register).line}" for transfer in transfers)


def _remaining(function: FunctionFacts, left: list[Transfer]) -> str:
    """The transfers that a fix leaves, in words."""
    if not left:
        return ""
    line = function.site(left[0].register).line
    if len(left) == 1:
        return f"; `{brief(function.text(left[0].register), 32)}` at line {line} remains"
    return f"; {len(left)} others remain, the first at line {line}"


def sure(function: FunctionFacts, transfer: Transfer, loops: bool = True) -> Confidence:
    """How sure it is that the subject is on the device, and that the site runs repeatedly: where nothing but a
    function's arguments says that it is hot, the finding is only possible. `loops`: a loop over elements inside is
    enough."""
    warmth = function.warmth(transfer.register)
    if warmth.weak or (warmth.unsure and not loops) or once_a_request(function, transfer.register):
        return Confidence.POSSIBLE
    if moved_later(function, transfer):
        return Confidence.POSSIBLE
    before = transfer.before
    if before.is_a(TENSOR) and before.places and not before.places & ~DEVICE:
        # What is called may have branches of its own that leave the transfer out.
        return Confidence.CERTAIN if transfer.inside is None else Confidence.LIKELY
    if before.places & ON_DEVICE and before.kinds & (TENSOR | UNKNOWN):
        return Confidence.LIKELY
    return Confidence.POSSIBLE


def once_a_request(function: FunctionFacts, reg: Reg, depth: int = _CALLS) -> bool:
    """True outside the loops of a function of which one call serves one request: its name says so (`generate`), or all
    that calls it where it is hot stands at such a place. And before the loop in which a generator gives one thing
    after another, where nothing but its name or its arguments says that it runs repeatedly."""
    if function.loops(reg):
        return False
    if roles.GENERATING.search(function.function.name):
        return True
    warmth = function.warmth(reg)
    if warmth.caller is None:
        return not warmth.seen and _gives_in_turns(function)
    if depth == 0 or warmth.caller[0] != function.file.path:
        return False
    return _asked_once_a_request(function, depth)


@once
def _asked_once_a_request(function: FunctionFacts, depth: int) -> bool:
    """True where all that calls a function where it is hot stands at such a place, up to a depth."""
    called = calls(function.file.functions[0]).get(ident(function.file.path, function.index), ())
    asking = [(other, at) for other, at in called if other is not function and other.warmth(at).hot]
    return bool(asking) and all(once_a_request(other, at, depth - 1) for other, at in asking)


@once
def calls(module: FunctionFacts) -> dict[str, list[tuple[FunctionFacts, Reg]]]:
    """The calls in a file, by what they call (an ident)."""
    found: dict[str, list[tuple[FunctionFacts, Reg]]] = {}
    for other in module.file.functions:
        for at, name in other.calls.items():
            found.setdefault(name, []).append((other, at))
    return found


@once
def _gives_in_turns(function: FunctionFacts) -> bool:
    """True for a generator that yields in a loop of its own."""
    yields = ((at, function.code[at]) for at in function.of(p.Yield))
    return any(isinstance(one, p.Yield) and not one.many and function.loops(at) for at, one in yields)


def put_there(function: FunctionFacts, reg: Reg) -> bool:
    """True for a tensor that this function put or made on the device, or computed there from such a one; what its
    arguments and modules give may be anywhere."""
    value = function.values[reg]
    if not value.is_a(TENSOR) or not value.places or value.places & ~ON_DEVICE:
        return False
    if value.places == DEVICE:
        return True
    if value.flags & FROM_PARAMETER:
        return False
    sites = {r for r in (*value.uploads, *value.why) if 0 <= r < len(function.values)}
    put = (t for r in sites for t in function.transfers_at(r))
    if any(t.kind in (MOVE, BUILD) and t.places & ON_DEVICE for t in put):
        return True
    made = (function.values[r] for r in value.why if 0 <= r < len(function.values))
    return any(one.flags & FRESH and one.on_device for one in made)


def likely(function: FunctionFacts, transfer: Transfer, loops: bool = True) -> bool:
    """True where a finding would be more than possible; the others are kept apart, so as not to hide behind them."""
    return sure(function, transfer, loops) is not Confidence.POSSIBLE


def brief(text: str, width: int = 48) -> str:
    """A text on one line, cut to a width."""
    flat = " ".join(text.split())
    return flat if len(flat) <= width else flat[: width - 3] + "..."
