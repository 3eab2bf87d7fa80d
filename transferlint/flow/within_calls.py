"""What happens in the functions that a line calls: the first place in each that waits for the device, for `explain`.

A line that only calls a function of the project transfers nothing itself, and yet may wait: what waits is where the
finding is, and whoever asks about the call is sent there.
"""

from __future__ import annotations

from collections.abc import Iterator

from transferlint import late
from transferlint.flow.callgraph.names import split
from transferlint.flow.facts import FileFacts, FunctionFacts
from transferlint.flow.lattice import transfers as t
from transferlint.flow.lattice.transfers import Transfer
from transferlint.flow.placement.placed import Placed
from transferlint.flow.quiet import WAITS
from transferlint.model import Site

_DEPTH = 4  # calls


@late.dataclass(frozen=True, slots=True)
class Within:
    """A call whose function waits for the device, itself or in what it calls: the site and the text of the call, the
    site of the first wait, and the function that it stands in."""

    site: Site
    source: str
    at: Site
    function: str


def within_calls(facts: FileFacts, line: int) -> tuple[Within, ...]:
    """The calls that touch a line (1-based) and whose functions wait, in the order of the text; but those that are
    transfers themselves, by what they are given."""
    found = []
    for function in facts.functions:
        for reg, name in function.calls.items():
            if not function.has_text(reg) or function.transfers_at(reg):
                continue
            site = function.site(reg)
            if not site.line <= line <= site.end_line:
                continue
            at = next(_waits(facts, name), None)
            if at is not None:
                found.append(Within(site, function.text(reg), *at))
    return tuple(sorted(found, key=lambda one: one.site))


def _waits(facts: FileFacts, name: str) -> Iterator[tuple[Site, str]]:
    """Where a function waits, those places first to which the fewest calls lead."""
    level, seen = [name], {name}
    for _ in range(_DEPTH):
        following = []
        for one in level:
            where = split(one)
            placed = facts.placed_at(*where) if where is not None else None
            if where is None or placed is None or placed.role.skip or placed.role.host_side:
                continue
            yield from _own(facts, where[0], placed)
            following += [called for called in placed.calls.values() if called not in seen]
            seen.update(following)
        level = following


def _own(facts: FileFacts, path: str, placed: Placed) -> Iterator[tuple[Site, str]]:
    index = placed.function.index
    for transfer in placed.transfers:
        if not _is_wait(transfer):
            continue
        if path == facts.path:
            function: FunctionFacts = facts.functions[index]
            yield function.site(transfer.register), placed.function.qualname
        elif facts.project is not None:
            for evidence in facts.project.evidence(path, index, transfer.register):
                yield evidence.site, placed.function.qualname


def _is_wait(transfer: Transfer) -> bool:
    """Whether a transfer stands in the function itself and waits for a device."""
    if transfer.inside is not None or transfer.kind not in WAITS or transfer.non_blocking:
        return False
    return transfer.kind == t.SYNCHRONIZE or transfer.before.on_device
