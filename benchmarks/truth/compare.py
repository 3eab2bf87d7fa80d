"""A package's table held against what `check` says of its files: each disagreement is of a class."""

from __future__ import annotations

import dataclasses
import functools
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from truth import measured, structure
from truth.analysed import Analysed, Fact, Spot
from truth.measured import READS, UPLOADS, Crossed, Line
from truth.tables import Table

HOT = 0.5  # of the steps of a kind
_CONTRADICTED = {
    "cold",
    "callers",
    "rare",
    "amortised",
}  # reasons that a line which crosses in every other step refutes


@dataclasses.dataclass(frozen=True)
class Disagreement:
    """One line on which the analysis and a run do not agree. `sort` is "not found", "known, not told",
    "explained wrongly", "fact refuted", "finding refuted" or "hot refuted"/"hot not known"; `why` the class in it."""

    sort: str
    why: str
    path: str
    line: int


@dataclasses.dataclass
class Compared:
    """The counts of a package, and its disagreements."""

    counts: Counter[str]
    disagreements: list[Disagreement]
    tenths: dict[int, list[float]]


def compare(table: Table, root: Path, files: Iterable[str], said: Analysed) -> Compared:
    """Compare what is said of `files` in `root` with what they did."""
    made = Compared(Counter(), [], {})
    for path in files:
        text = (root / path).read_text(encoding="utf-8", errors="replace")
        shape = structure.read(text)
        one = _File(path, shape, measured.of_file(table, table.files[path], shape.functions), said)
        if any(name != "<module>" for _, _, name in table.files[path].calls):
            made.counts["lines"] += table.files[path].length
        made.counts["lines that ran"] += sum(line.executions > 0 for line in one.truth.lines.values())
        one.crossings(made)
        one.facts(made)
        one.findings(made)
        one.heat(made)
    return made


class _File:
    """One file of the comparison."""

    def __init__(self, path: str, shape: structure.Structure, truth: measured.Measured, said: Analysed) -> None:
        self.path = path
        self.shape = shape
        self.truth = truth
        self._findings = [one for one in said.findings if one.path == path]
        self._quiet = [one for one in said.quiet if one.path == path]
        self._facts = [one for one in said.facts if one.path == path]

    def crossings(self, made: Compared) -> None:
        """Crossing recall: lines that crossed in half of the steps or more."""
        for (line, way), crossed in self.truth.crossed.items():
            if crossed.share < HOT:
                made.counts["crossed seldom"] += 1
                continue
            made.counts["crossed hot"] += 1
            sort, why = self._known(line, way, crossed)
            made.counts[sort] += 1
            if sort not in ("reported", "explained"):
                what = _operation(crossed)
                made.disagreements.append(Disagreement(sort, f"{what}: {why}", self.path, line))

    def _known(self, line: int, way: str, crossed: Crossed) -> tuple[str, str]:
        site = crossed.site
        lines = range(line, max(line, site[2]) + 1)
        if any(one.site[0] <= line <= one.site[2] or one.site[0] in lines for one in self._findings):
            return "reported", ""
        wrong = ""
        for one in self._quiet:
            if one.site[0] <= line <= one.site[2] and _same_way(one.direction, way):
                if one.kind in _CONTRADICTED or (one.kind == "new data" and crossed.repeated):
                    wrong = wrong or _reason(one)
                else:
                    return "explained", ""
        if wrong:
            return "explained wrongly", wrong
        facts = [
            one for one in self._facts if one.site[0] <= line <= one.site[2] and _same_way(one.said["direction"], way)
        ]
        if facts:
            return "known, not told", _untold(facts[0])
        return "not found", self._unknown(crossed)

    def _unknown(self, crossed: Crossed) -> str:
        row = crossed.rows[0]
        if row.backward:
            return "in backward"
        if row.via:
            return "inside another package that is called here"
        return structure.describe(self.shape.expression(crossed.site))

    def facts(self, made: Compared) -> None:
        """Crossing precision: facts that something crosses, on lines that ran on a device."""
        for fact in self._facts:
            way = UPLOADS if fact.said["direction"] == "h2d" else READS
            if fact.said["place"] not in ("device", "either") and way == READS:
                continue  # the analysis does not hold that it crosses
            if fact.said["direction"] == "d2d" or (way == UPLOADS and fact.said["quiet"] == "nothing crosses"):
                continue
            state = self._state(fact.site, way)
            made.counts[f"fact {state}"] += 1
            if state == "refuted":
                why = f"{fact.said['kind']} of a value said to be {fact.said['place']}"
                made.disagreements.append(Disagreement("fact refuted", why, self.path, fact.site[0]))

    def findings(self, made: Compared) -> None:
        """Findings by verdict."""
        for one in self._findings:
            if one.evidence:
                continue
            states = {self._state(one.site, way) for way in (READS, UPLOADS)}
            state = next(name for name in ("confirmed", "refuted", "on the host", "not reached") if name in states)
            made.counts[f"finding {state}"] += 1
            if state == "refuted":
                made.disagreements.append(Disagreement("finding refuted", one.code, self.path, one.site[0]))

    def _state(self, site: structure.Site, way: str) -> str:
        """What became of a transfer at some lines: "confirmed", "refuted", "on the host" (the workload's values were
        there) or "not reached"."""
        first, _, last, _ = site
        if any((line, way) in self.truth.crossed for line in range(first, last + 1)):
            return "confirmed"
        if any(self.truth.never(structure.place(test), truth) for test, truth in self.shape.conditions(site)):
            return "not reached"
        begin = self.shape.statements.get(first, first)
        lines = [self._line(line) for line in {*range(first, last + 1), begin}]
        if not any(line.executions for line in lines):
            return "not reached"
        if any(line.device for line in lines):
            return "refuted"
        if any(line.host for line in lines):
            return "on the host"
        return "refuted" if self._worked_on_device(first) else "on the host"

    @functools.cached_property
    def _by_function(self) -> Counter[int]:
        counts: Counter[int] = Counter()
        for number, line in self.truth.lines.items():
            counts[self.shape.functions.get(number, 0)] += line.device
        return counts

    def _worked_on_device(self, line: int) -> bool:
        return self._by_function[self.shape.functions.get(line, 0)] > 0

    def _line(self, number: int) -> Line:
        return self.truth.lines.get(number, Line())

    def heat(self, made: Compared) -> None:
        """Hot as the analysis says, against the share of steps in which a line with a transfer ran."""
        seen: set[tuple[int, bool]] = set()
        for fact in self._facts:
            begin = self.shape.statements.get(fact.site[0], fact.site[0])
            frequency = max((self._line(line).frequency or 0.0 for line in (fact.site[0], begin)), default=0.0)
            if self._line(begin).frequency is None and self._line(fact.site[0]).frequency is None:
                continue
            said = bool(fact.said["hot"])
            if (begin, said) in seen:
                continue
            seen.add((begin, said))
            ran = frequency >= HOT
            made.counts[f"hot {said} {ran}"] += 1
            if not fact.said["own loop"]:  # a step is a turn of that, which may not be what is recorded as one
                expected = float(fact.said["frequency"])
                made.counts[f"expected {expected >= HOT} {ran}"] += 1
                made.tenths.setdefault(min(9, int(expected * 10)), []).append(frequency)
            if said != ran:
                made.disagreements.append(
                    Disagreement("hot refuted" if said else "hot not known", _heat(fact), self.path, begin)
                )


def _heat(fact: Fact) -> str:
    said = fact.said
    if said["hot"]:
        return f"said to run {said['level']}"
    if said["cold"]:
        return f"cold: {_general(said['cold'])}"
    if said["amortised"]:
        return f"amortised: {_general(said['amortised'])}"
    return f"runs {said['level']}"


def _untold(fact: Fact) -> str:
    said = fact.said
    if said["quiet"]:
        return f"{said['kind']}, {said['quiet']}: {_general(said['why'])}"
    return f"{said['kind']} of a value whose place is {said['place']}, {'hot' if said['hot'] else 'not hot'}"


def _reason(spot: Spot) -> str:
    return f"{spot.kind}: {_general(spot.reason)}"


def _general(reason: str) -> str:
    """A reason without what is particular to a place."""
    head = reason.partition("`")[0]
    return head.strip(" :,") or reason[:30]


def _operation(crossed: Crossed) -> str:
    name = crossed.operation.rpartition("::")[2]
    return f"{name} {'h2d' if crossed.rows[0].direction == 'h2d' else crossed.rows[0].direction}"


def _same_way(direction: str, way: str) -> bool:
    return not direction or (direction == "h2d") == (way == UPLOADS)
