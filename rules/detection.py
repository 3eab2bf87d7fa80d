"""What several rules ask of a transfer: is it a read that costs something, and is it hot enough to say so?"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from transferlint.flow.facts import FileFacts, FunctionFacts
from transferlint.flow.transfers import BUILD, DOWNLOAD, MOVE, Transfer
from transferlint.flow.values import (
    DEVICE,
    FRESH,
    FROM_PARAMETER,
    ON_DEVICE,
    TENSOR,
    UNKNOWN,
)
from transferlint.knowledge.libraries import ENVIRONMENTS, SAVERS
from transferlint.model import AGAIN, Confidence, Evidence, Fix
from transferlint.syntax import program as p
from transferlint.syntax.program import Reg

_NEAR = 8  # lines between transfers that one change serves
_MOVES = frozenset({MOVE, DOWNLOAD})
Found = tuple[FunctionFacts, Transfer]


def each(facts: FileFacts, *kinds: str, discarded: bool = False) -> Iterator[Found]:
    """The transfers of the given kinds over all functions that the host runs and that have text of their own.
    `discarded`: also moves of tensors whose result nobody takes, which move nothing."""
    for function in facts.functions:
        if function.role.skip:
            continue
        for transfer in function.transfers:
            if transfer.kind not in kinds or not function.has_text(transfer.register) or function.at_calls(transfer):
                continue
            if discarded or transfer.kind not in _MOVES or not dropped(function, transfer):
                yield function, transfer


def dropped(function: FunctionFacts, transfer: Transfer) -> bool:
    """True for a move of a tensor that is a statement of its own."""
    users = function.users(transfer.register)
    if transfer.inside is not None or not transfer.before.is_a(TENSOR):
        return False
    return len(users) == 1 and isinstance(function.code[users[0]], p.Discard)


def hot(facts: FileFacts, *kinds: str) -> Iterator[Found]:
    """Those of them that run at least once a step, unguarded."""
    for function, transfer in each(facts, *kinds):
        if function.warmth(transfer.register).hot:
            yield function, transfer


def for_the_host(function: FunctionFacts, reg: Reg, followed: bool = False) -> bool:
    """True where a value goes straight to what only the host does: saving it, or stepping an environment with it."""
    for user in function.users(reg):
        made = function.code[user]
        if isinstance(made, p.Attr):
            calls = (c for c in function.users(user) if isinstance(function.code[c], p.Call))
            if any(for_the_host(function, call, followed) for call in calls):
                return True
        elif isinstance(made, p.Call) and made.function != reg:
            if _host_only(function, made):
                return True
        elif isinstance(made, p.Sequence | p.Mapping | p.Subscript | p.Binary):
            if for_the_host(function, user, followed):
                return True
        elif isinstance(made, p.Store) and not followed:
            loads = (r for r, i in enumerate(function.code) if isinstance(i, p.Load) and i.slot == made.slot)
            if any(for_the_host(function, load, True) for load in loads):
                return True
    return False


def _host_only(function: FunctionFacts, call: p.Call) -> bool:
    callee = function.code[call.function]
    if isinstance(callee, p.Attr):
        return bool(SAVERS.match(callee.name)) or (
            callee.name in ("step", "reset", "act") and bool(ENVIRONMENTS.search(_last(function, callee.object)))
        )
    return isinstance(callee, p.Load | p.Outer) and bool(SAVERS.match(_last(function, call.function)))


def _last(function: FunctionFacts, reg: Reg) -> str:
    made = function.code[reg]
    if isinstance(made, p.Load):
        return function.function.slot_names[made.slot]
    if isinstance(made, p.Subscript):
        return _last(function, made.object)
    return made.name if isinstance(made, p.Attr | p.Outer) else ""


def clusters(found: Iterable[Found]) -> Iterator[tuple[FunctionFacts, list[Transfer]]]:
    """Transfers of one function, in the same loop, that stand within a few lines of one another, as one: of several
    syncs in a row only the first waits for queued work, and several uploads in a row take one change. What the source
    shows comes before what a callee does."""
    open_: dict[tuple[int, int], list[Transfer]] = {}
    order: list[tuple[FunctionFacts, list[Transfer]]] = []
    for function, transfer in sorted(found, key=lambda pair: (pair[0].index, pair[0].span(pair[1].register))):
        key = function.index, (function.loops(transfer.register) or [0])[0]
        group = open_.get(key)
        if group and function.site(transfer.register).line - function.site(group[-1].register).end_line <= _NEAR:
            group.append(transfer)
            continue
        open_[key] = group = [transfer]
        order.append((function, group))
    for function, group in order:
        yield function, sorted(group, key=lambda transfer: transfer.inside is not None)


def others(function: FunctionFacts, group: list[Transfer]) -> tuple[Evidence, ...]:
    """What a cluster's first calls to make the transfer, and the rest of the cluster, as evidence."""
    return function.wrapped(group[0]) + tuple(Evidence(function.site(t.register), AGAIN) for t in group[1:])


def together(group: list[Fix | None]) -> Fix | None:
    """One fix of several: all edits, as safe as the least safe; None where one has none."""
    fixes = [fix for fix in group if fix is not None]
    if not fixes or len(fixes) < len(group):
        return fixes[0] if fixes and group[0] is not None and len(group) == 1 else None
    edits = tuple(sorted({edit for fix in fixes for edit in fix.edits}, key=lambda e: (e.start, e.end)))
    return Fix(fixes[0].title, min(fix.safety for fix in fixes), edits)


def sure(function: FunctionFacts, transfer: Transfer, loops: bool = True) -> Confidence:
    """How sure it is that the subject is on the device, and that the site runs repeatedly: where nothing but a
    function's arguments says that it is hot, the finding is only possible. `loops`: a loop over elements inside is
    enough."""
    warmth = function.warmth(transfer.register)
    if warmth.weak or (warmth.unsure and not loops):
        return Confidence.POSSIBLE
    before = transfer.before
    if before.is_a(TENSOR) and before.places and not before.places & ~DEVICE:
        return Confidence.CERTAIN
    if before.places & ON_DEVICE and before.kinds & (TENSOR | UNKNOWN):
        return Confidence.LIKELY
    return Confidence.POSSIBLE


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
    put = {t.register for t in function.transfers if t.kind in (MOVE, BUILD) and t.places & ON_DEVICE}
    made = {r for r in value.why if 0 <= r < len(function.values) and function.values[r].flags & FRESH}
    return bool(value.uploads & put or set(value.why) & put or made)


def likely(function: FunctionFacts, transfer: Transfer, loops: bool = True) -> bool:
    """True where a finding would be more than possible; the others are kept apart, so as not to hide behind them."""
    return sure(function, transfer, loops) is not Confidence.POSSIBLE


def brief(text: str, width: int = 48) -> str:
    """A text on one line, cut to a width."""
    flat = " ".join(text.split())
    return flat if len(flat) <= width else flat[: width - 3] + "..."
