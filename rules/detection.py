"""What several rules ask of a transfer: is it a read that costs something, and is it hot enough to say so?"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from transferlint.flow.facts import FileFacts, FunctionFacts
from transferlint.flow.transfers import Transfer
from transferlint.flow.values import ON_DEVICE, TENSOR, UNKNOWN
from transferlint.model import Confidence, Evidence, Fix

_NEAR = 6  # lines between transfers that one change serves
Found = tuple[FunctionFacts, Transfer]


def each(facts: FileFacts, *kinds: str) -> Iterator[tuple[FunctionFacts, Transfer]]:
    """The transfers of the given kinds over all functions that the host runs and that have text of their own."""
    for function in facts.functions:
        if function.role.skip:
            continue
        for transfer in function.transfers:
            if transfer.kind in kinds and function.has_text(transfer.register):
                yield function, transfer


def hot(facts: FileFacts, *kinds: str) -> Iterator[tuple[FunctionFacts, Transfer]]:
    """Those of them that run at least once a step, unguarded."""
    for function, transfer in each(facts, *kinds):
        if function.warmth(transfer.register).hot:
            yield function, transfer


def clusters(found: Iterable[Found]) -> Iterator[tuple[FunctionFacts, list[Transfer]]]:
    """Transfers of one function, in the same loop, that stand within a few lines of one another, as one: of several
    syncs in a row only the first waits for queued work, and several uploads in a row take one change."""
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
    yield from order


def others(function: FunctionFacts, group: list[Transfer]) -> tuple[Evidence, ...]:
    """The rest of a cluster, as evidence of its first."""
    return tuple(Evidence(function.site(t.register), "and again here") for t in group[1:])


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
    if before.is_a(TENSOR) and before.places and not before.places & ~2:
        return Confidence.CERTAIN
    if before.places & ON_DEVICE and before.kinds & (TENSOR | UNKNOWN):
        return Confidence.LIKELY
    return Confidence.POSSIBLE


def likely(function: FunctionFacts, transfer: Transfer, loops: bool = True) -> bool:
    """True where a finding would be more than possible; the others are kept apart, so as not to hide behind them."""
    return sure(function, transfer, loops) is not Confidence.POSSIBLE


def brief(text: str, width: int = 48) -> str:
    """A text on one line, cut to a width."""
    flat = " ".join(text.split())
    return flat if len(flat) <= width else flat[: width - 3] + "..."
