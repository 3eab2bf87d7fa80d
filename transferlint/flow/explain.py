"""What the analysis believes of a line: every expression on it that transfers, may transfer, or looks as if it did.

A `Belief` says where the value is taken to be and why, how often the line runs and why, how sure that is, and, where
the analysis by itself would be quiet, for what reason. What the rules made of it is for whoever has their findings.
"""

from __future__ import annotations

from transferlint import late
from transferlint.flow.facts import FileFacts, FunctionFacts
from transferlint.flow.frequency import shares
from transferlint.flow.frequency.warmth import Warmth
from transferlint.flow.lattice import transfers as t
from transferlint.flow.lattice.transfers import Transfer
from transferlint.flow.lattice.values import (
    ANYWHERE,
    ARRAY,
    CONTAINER,
    DEVICE,
    DTYPE,
    GIVEN,
    HOST,
    HOST_VALUE,
    MODULE,
    NAME,
    OBJECT,
    ON_DEVICE,
    TENSOR,
    UNKNOWN,
    Value,
)
from transferlint.flow.lookalikes import lookalikes, nothing_recorded
from transferlint.flow.quiet import WAITS, why_quiet
from transferlint.model import Confidence, Direction, Evidence, Heat, Place, Site
from transferlint.syntax.program import Reg
from transferlint.wording import words

_KINDS = {
    t.SCALAR_READ: "scalar read",
    t.DOWNLOAD: "copy to the host",
    t.MOVE: "move",
    t.BUILD: "tensor built from host data",
    t.COPY_INTO: "copy into another tensor",
    t.TRUTH: "truth test",
    t.NUMBER: "conversion to a Python number",
    t.FORMAT: "tensor formatting",
    t.SHAPE: "data-dependent result size",
    t.HOST_INDEX: "indexing with host data",
    t.SYNCHRONIZE: "explicit sync",
    t.ARRAY: "conversion to numpy",
}


@late.dataclass(frozen=True, slots=True)
class Belief:
    """One expression of a line. `kind` says what transfer or sync it is, "" where the analysis recorded none;
    `direction` and `confidence` are then None. `subject` is the text of what would cross, `place` where it is before,
    `after` where the transfer brings it. `quiet` is the reason for which the analysis itself holds nothing worth
    reporting, "" where it does not. `expected`: in how many steps the line is expected to run, and why, "" where it is
    not hot."""

    site: Site
    source: str
    function: str
    kind: str
    api: str
    direction: Direction | None
    waits: bool
    explicit: bool
    subject: str
    place: Place
    place_words: str
    after: Place | None
    why: tuple[Evidence, ...]
    heat: Heat
    confidence: Confidence | None
    confidence_words: str
    quiet: str
    expected: str


def beliefs(facts: FileFacts, line: int) -> tuple[Belief, ...]:
    """What is believed of the expressions that touch a line (1-based), in the order of the text."""
    found: list[Belief] = []
    for function in facts.functions:
        seen: set[Reg] = set()
        for transfer in function.transfers:
            reg = transfer.register
            if function.has_text(reg) and _touches(function.site(reg), line):
                seen.add(reg)
                found.append(_recorded(function, transfer))
        found.extend(_silent(function, reg, subject) for reg, subject in lookalikes(function, line) if reg not in seen)
    return tuple(sorted(found, key=lambda one: (one.site, one.kind)))


def _touches(site: Site, line: int) -> bool:
    return site.line <= line <= site.end_line


def _recorded(function: FunctionFacts, transfer: Transfer) -> Belief:
    reg, before = transfer.register, transfer.before
    subject = transfer.subject
    warmth = function.warmth(reg)
    confidence, why_sure = _sure(before, warmth, transfer.kind)
    return Belief(
        site=function.site(reg),
        source=function.text(reg),
        function=function.function.qualname,
        kind=_KINDS.get(transfer.kind, transfer.kind),
        api=transfer.api,
        direction=transfer.direction,
        waits=transfer.kind in WAITS and not transfer.non_blocking,
        explicit=transfer.explicit,
        subject=function.text(subject) if subject is not None and function.has_text(subject) else "",
        place=place_of(before.places),
        place_words=place_words(before),
        after=None if transfer.direction is Direction.NONE else place_of(transfer.places),
        why=function.why(before) if before.on_device else (),
        heat=_heat(function, reg, warmth),
        confidence=confidence,
        confidence_words=why_sure,
        quiet=why_quiet(function, transfer, warmth)[1]
        or _at_calls(function, transfer)
        or _told_inside(function, transfer),
        expected=_expected(function, reg, warmth),
    )


def _at_calls(function: FunctionFacts, transfer: Transfer) -> str:
    """Why a transfer of an argument, or the wait of a function that does nothing else, is judged at the calls of its
    function instead, "" for others."""
    caller = function.warmth(transfer.register).caller
    called = function.file.placed_at(*caller[:2]) if caller is not None and function.at_calls(transfer) else None
    if called is None:
        return ""
    name, user = function.function.name, called.function.qualname
    if transfer.kind == t.SYNCHRONIZE:
        return f"`{name}` does nothing but wait, and is judged at its calls, as in `{user}`"
    return f"it transfers what `{name}` is given, and is judged at the calls of `{name}`, as in `{user}`"


def _told_inside(function: FunctionFacts, transfer: Transfer) -> str:
    """Where the function that a call makes a transfer in is judged itself, "" where the call is."""
    if not function.told_inside(transfer):
        return ""
    sites = [f"{one.site.path}:{one.site.line}" for one in function.wrapped(transfer)]
    return f"it is made in the function that is called, and judged there: {sites[0]}" if sites else ""


def _silent(function: FunctionFacts, reg: Reg, subject: Reg | None) -> Belief:
    value = function.values[subject] if subject is not None else None
    warmth = function.warmth(reg)
    return Belief(
        site=function.site(reg),
        source=function.text(reg),
        function=function.function.qualname,
        kind="",
        api="",
        direction=None,
        waits=False,
        explicit=True,
        subject=function.text(subject) if subject is not None and function.has_text(subject) else "",
        place=place_of(value.places) if value is not None else Place.UNKNOWN,
        place_words=place_words(value) if value is not None else "unknown",
        after=None,
        why=function.why(value) if value is not None and value.on_device else (),
        heat=_heat(function, reg, warmth),
        confidence=None,
        confidence_words="",
        quiet=nothing_recorded(function, reg, value),
        expected=_expected(function, reg, warmth),
    )


def _heat(function: FunctionFacts, reg: Reg, warmth: Warmth) -> Heat:
    """The heat that a finding here would carry, with what makes it rare."""
    heat = function.finding(reg, "").heat
    assert heat is not None
    return late.replace(heat, amortised=words(warmth.amortised), cold=words(warmth.cold))


def _expected(function: FunctionFacts, reg: Reg, warmth: Warmth) -> str:
    """In how many steps a hot line is expected to run, with the rows of `shares` that say so, the heaviest first."""
    if not warmth.hot:
        return ""
    share = function.file.heat.share(function.index, reg)
    found = function.file.heat.rows(function.index, reg)
    rows = sorted((row for row in shares.ROWS if row.id in found), key=lambda row: -abs(row.weight * found[row.id]))
    return ": ".join((f"in about {10 * share:.0f} of 10 steps", *filter(None, [", ".join(row.words for row in rows)])))


def place_of(places: int) -> Place:
    """The place that bits of `values` name."""
    if places & ANYWHERE or not places:
        return Place.UNKNOWN
    if places == HOST:
        return Place.HOST
    return Place.EITHER if places & HOST else Place.DEVICE


def place_words(value: Value) -> str:
    """What a value is taken for and where: "a tensor that is assumed to be on the device"."""
    what = next((word for bits, word in _WHAT if value.is_a(bits)), "a value that may be a tensor")
    if value.is_a(DTYPE | NAME):
        return what
    where = {
        Place.HOST: "on the host",
        Place.DEVICE: "assumed to be on the device" if value.places & GIVEN else "on the device",
        Place.EITHER: "on the host on one path and on the device on another",
        Place.UNKNOWN: "on an unknown device",
    }[place_of(value.places)]
    return f"{what} {where}"


_WHAT = (
    (TENSOR, "a tensor"),
    (MODULE, "a module"),
    (ARRAY, "a numpy array"),
    (HOST_VALUE, "a Python value"),
    (CONTAINER, "a container"),
    (DTYPE, "a dtype"),
    (NAME, "a name"),
    (OBJECT, "an object"),
    (UNKNOWN, "a value of unknown kind"),
)


def _sure(before: Value, warmth: Warmth, kind: str) -> tuple[Confidence, str]:
    """How sure a finding would be, and what it rests on (docs/words.md, 'Confidence')."""
    if kind == t.SYNCHRONIZE:
        return Confidence.CERTAIN, "the source calls it explicitly"
    if warmth.doubt:
        return Confidence.POSSIBLE, f"hot, but {words(warmth.doubt)}"
    if warmth.weak:
        return Confidence.POSSIBLE, "only the function's arguments suggest that it runs repeatedly"
    if before.is_a(TENSOR) and before.places == DEVICE:
        return Confidence.CERTAIN, "the source proves that it is on the device"
    if before.places & ON_DEVICE and before.kinds & (TENSOR | UNKNOWN):
        return Confidence.LIKELY, "assumed to be on the device"
    if before.on_host:
        if before.is_a(TENSOR):
            return Confidence.CERTAIN, "the source proves that it is on the host"
        return Confidence.LIKELY, "on the host, of unknown kind"
    return Confidence.POSSIBLE, "it is not known to be a tensor on the device"
