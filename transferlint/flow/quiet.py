"""Why a transfer is not worth reporting: what it is for, how rarely it runs, or that nothing crosses.

Some of these reasons are of purpose: the transfer crosses, and has to, or runs too rarely to matter. The others say
that nothing crosses, or that too little is known. Whoever watches a program run may hold only the former against what
crossed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from transferlint.flow.facts import FileFacts, FunctionFacts
from transferlint.flow.frequency.warmth import Warmth
from transferlint.flow.host_only import host_only_use
from transferlint.flow.lattice import transfers as t
from transferlint.flow.lattice.transfers import Transfer
from transferlint.flow.lattice.values import DATA, FROM_PARAMETER, HOST, MODULE, ON_DEVICE, TENSOR
from transferlint.model import Direction, Level, QuietSite, Site
from transferlint.reasons import Cause, is_a
from transferlint.syntax.program import Reg
from transferlint.wording import words

WAITS = frozenset({t.SCALAR_READ, t.DOWNLOAD, t.TRUTH, t.NUMBER, t.FORMAT, t.SHAPE, t.SYNCHRONIZE, t.ARRAY})
# The kinds of reason; the first four are of purpose, whatever else is known. "callers" is cold by those that were seen,
# "handed over" is for the host by what the queue is called.
COLD, AMORTISED, HOST_USE, NEW_DATA = "cold", "amortised", "host", "new data"
CALLERS, RARE, WAITED, NOTHING, HANDED = "callers", "rare", "waited", "nothing crosses", "handed over"
# The kinds of what is quiet for a reason.
ON_PURPOSE = frozenset({COLD, CALLERS, AMORTISED, HOST_USE, HANDED, NEW_DATA, WAITED})


def why_quiet(function: FunctionFacts, transfer: Transfer, warmth: Warmth) -> tuple[str, str]:
    """The kind of reason for which a recorded transfer is not worth reporting, and the reason in words, the most
    decisive first; ("", "") where there is none."""
    before, places = transfer.before, transfer.places
    if function.role.skip:
        return NOTHING, "this function is compiled for the device; the host does not run it"
    reads = transfer.direction in (Direction.D2H, Direction.NONE) and transfer.kind != t.SYNCHRONIZE
    if reads and before.on_host:
        return NOTHING, "host value: no transfer"
    if transfer.direction is Direction.D2D and not before.places & ~ON_DEVICE and transfer.kind == t.MOVE:
        return NOTHING, "it is already on the device: the move copies nothing"
    if places == HOST and before.on_host:
        return NOTHING, "it is already on the host: the move copies nothing"
    if warmth.cold:
        return CALLERS if is_a(warmth.cold, Cause.RARE_CALLERS) else COLD, words(warmth.cold)
    if warmth.amortised:
        return AMORTISED, words(warmth.amortised)
    if warmth.level < Level.PER_STEP:
        return RARE, f"not hot: runs {_often(warmth)}"
    if reads and before.kinds & MODULE and not before.kinds & TENSOR:
        return NOTHING, "it is a module, not a tensor"
    if inner := _waited(function, transfer):
        return WAITED, f"`{_brief(function.text(inner))}` synchronizes just before, so this wait is short"
    if reads and (use := host_only_use(function, transfer.register)):
        return HANDED if use.cause is Cause.HANDED_OVER else HOST_USE, f"{words(use)}, which only the host can do"
    if transfer.direction is Direction.H2D and transfer.kind == t.MOVE and before.flags & (DATA | FROM_PARAMETER):
        return NEW_DATA, "an upload of new data: every batch has to be copied to the device once"
    return "", ""


def quiet_sites(facts: FileFacts, reported: Iterable[Site]) -> Iterator[QuietSite]:
    """The transfers of a file that are not among the `reported` and are quiet on purpose, in the order of the text."""
    known = frozenset(reported)
    for function in facts.functions:
        for transfer in sorted(function.transfers, key=lambda one: one.register):
            reg = transfer.register
            if not function.has_text(reg) or function.site(reg) in known:
                continue
            warmth = function.warmth(reg)
            kind, reason = why_quiet(function, transfer, warmth)
            # A function of which nobody knows who calls it runs "once per call": that says nothing.
            if kind in ON_PURPOSE or (kind == RARE and warmth.once):
                yield QuietSite(function.site(reg), transfer.direction, kind, reason)


def _waited(function: FunctionFacts, transfer: Transfer) -> Reg | None:
    """The transfer inside the expression that is read, where that has synchronised already."""
    if transfer.subject is None or transfer.kind not in WAITS:
        return None
    inside = set(function.expression(transfer.subject)) - {transfer.register}
    for other in function.transfers:
        waits = other.kind in (t.SHAPE, t.SCALAR_READ, t.NUMBER, t.DOWNLOAD) and other.before.is_a(TENSOR)
        if waits and other.register in inside and function.has_text(other.register) and other.before.on_device:
            return other.register
    return None


def _often(warmth: Warmth) -> str:
    return "once per call" if warmth.level is Level.ONCE else f"once {warmth.level.words}"


def _brief(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= 48 else flat[:45] + "..."
