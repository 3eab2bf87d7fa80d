"""A project whose placing and heat are written down, file by file, so that a later run takes up what did not change."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, cast

from transferlint import late
from transferlint.flow.callgraph.overriding import Overriding
from transferlint.flow.frequency.heat import HeatMap
from transferlint.flow.frequency.runs import Runs
from transferlint.flow.frequency.uses import Uses
from transferlint.flow.frequency.warmth import Warmth
from transferlint.flow.incremental.traced_project import TracedProject
from transferlint.flow.incremental.traces import GLOBAL, PLACE, SET_FLAG, Event, Trace
from transferlint.flow.lattice.values import Value
from transferlint.flow.placement.placed import Passed, Placed, Written
from transferlint.flow.placement.placement import FilePlacement
from transferlint.reasons import Reason
from transferlint.syntax.program import Reg, Slot

# What others asked of the heat of a file while heat was passed on: the question, what it is about, the answer.
Asked = tuple[str, tuple[Any, ...], Any]
# A function of a file, and the file and function that saw how it is declared.
Head = tuple[int, str, int]
Edges = tuple[list[tuple[int, Reg, int]], list[tuple[int, Reg, int]], list[tuple[int, Reg, str, int]],
              list[tuple[int, Reg, str, int]], list[tuple[int, Reg, str]]]  # fmt: skip


@late.dataclass(frozen=True, slots=True)
class Seen:
    """What a caller sees of a placed function: what it returns, what it only wraps, why it is traced, and what it
    uploads into its arguments."""

    returns: Value | None
    passed: tuple[Passed, ...]
    traced: str
    written: Written = ()


@late.dataclass(frozen=True, slots=True)
class HeatRecord:
    """The heat of a file: that of its functions in the end, what was asked of it on the way, its calls, what it hands
    to whom."""

    asked: list[Asked]
    edges: Edges
    handed: list[tuple[str, Warmth]]


@late.dataclass(slots=True)
class FileRecord:
    """What is written down of a file: the traces of its functions, in which `Seen` stands for what was placed, what its
    functions are given by their callers (as in `Callers`), and its heat (None: nobody asked for it)."""

    traces: dict[int, list[Trace]]
    seen: dict[int, list[Seen | None]]
    values: dict[int, dict[Slot, dict[tuple[str, int, Reg], Value]]]
    given: dict[int, dict[tuple[str, int, Reg], dict[str, Reg] | None]]
    heat: HeatRecord | None
    flagged: bool


class NotedHeat(HeatMap):
    """The heat of a file, with a note of all that is asked of it and told to it. What it answers is
    what the heat map that it is made with answers."""

    def __init__(self, heat: HeatMap, key: str, project: RecordedProject) -> None:
        self.heat = heat
        self.asked: list[Asked] = []
        self.outgoing, self.maybe, self.handed = heat.outgoing, heat.maybe, heat.handed
        self._key = key
        self._project = project

    def _note(self, name: str, *about: Any) -> Any:
        self._project.reader = self._key
        found = getattr(self.heat, name)(*about)
        self._project.reader = ""
        self.asked.append((name, about, found))
        return found

    def at(self, function: int, reg: Reg) -> Warmth:
        """See `HeatMap`, as for all below."""
        return cast("Warmth", self._note("at", function, reg))

    def receive(self, callee: int, found: Warmth, where: tuple[str, int, Reg]) -> bool:
        """See `HeatMap`."""
        return bool(self._note("receive", callee, found, where))

    def attach(self, target: str, warmth: Warmth) -> None:
        """See `HeatMap`."""
        self._note("attach", target, warmth)

    def cool(self, index: int, cold: Reason | None) -> None:
        """See `HeatMap`."""
        self._note("cool", index, cold)

    def assumed(self, index: int) -> bool:
        """See `HeatMap`."""
        return bool(self._note("assumed", index))

    def idle(self, index: int) -> bool:
        """See `HeatMap`."""
        return bool(self._note("idle", index))

    def borrowed(self, index: int) -> bool:
        """See `HeatMap`."""
        return bool(self._note("borrowed", index))

    def rare(self, caller: int, reg: Reg) -> tuple[bool, Reason | None]:
        """See `HeatMap`."""
        return cast("tuple[bool, Reason | None]", self._note("rare", caller, reg))

    def spread(self) -> None:
        """See `HeatMap`."""
        self._note("spread")

    def uses(self) -> Uses:
        """See `HeatMap`."""
        return cast("Uses", self._note("uses"))

    def tell(self, found: Runs) -> None:
        """See `HeatMap`."""
        self._note("tell", found)

    def edges(self) -> Iterator[tuple[int, Reg, str, int]]:
        """See `HeatMap`."""
        return self.heat.edges()

    def named(self) -> list[tuple[int, Reg, str]]:
        """See `HeatMap`."""
        return self.heat.named()

    def method(self, index: int) -> str:
        """See `HeatMap`."""
        return self.heat.method(index)


class Briefs:
    """What callers see of placed functions, once for each, and traces in which that stands for these."""

    def __init__(self) -> None:
        self._seen: dict[int, tuple[Seen, Placed]] = {}

    def of(self, placed: Placed | None) -> Seen | None:
        """What callers see of a placed function."""
        if placed is None:
            return None
        known = self._seen.get(id(placed))
        if known is None:
            brief = Seen(placed.returns, placed.passed, placed.role.traced, placed.written)
            known = self._seen[id(placed)] = brief, placed
        return known[0]

    def trace(self, owner: FilePlacement, index: int, trace: Trace) -> Trace:
        """What is kept of a trace of a function of a file."""
        events: list[Event] = [
            (*event[:3], self.of(event[3]), event[4]) if event[0] == PLACE else event for event in trace.events
        ]
        stored = trace.stored if owner.is_read(index) else {}
        return late.replace(trace, events=events, placed=None, stored=stored, entered=[], heads=frozenset())


class RecordedProject(TracedProject):
    """`TracedProject` that is written down: `records` has what to keep once it is put together."""

    keeps = False  # what it was made for is written, and it is gone

    _noted: dict[str, NotedHeat]

    def link(self) -> None:
        """See `Project`."""
        self._noted = {}
        super().link()
        self._linked = {key: (owner, placed, self._noted[key].heat) for key, (owner, placed, _) in self._linked.items()}

    def _heat(
        self, file: FilePlacement, placed: list[Placed], by: tuple[Overriding, Mapping[str, tuple[str, ...]]]
    ) -> HeatMap:
        self.reader = file.key
        noted = self._noted[file.key] = NotedHeat(super()._heat(file, placed, by), file.key, self)
        self.reader = ""
        return noted

    def dispatched(self) -> tuple[Overriding, Mapping[str, tuple[str, ...]]]:
        """What overrides methods, and the methods by name."""
        return self._dispatch()

    def records(self) -> Iterator[tuple[str, FileRecord]]:
        """What is written down of each file of which anything was asked. The traces are changed for that."""
        briefs = Briefs()
        by: dict[str, dict[int, list[Trace]]] = {}
        for (key, index), traces in self.traces.made.items():
            by.setdefault(key, {})[index] = traces
        for key in sorted(self._placements):
            owner, made = self._placements[key], by.get(key, {})
            ends: dict[int, list[Seen | None]] = {}
            kept: dict[int, list[Trace]] = {}
            flagged = False
            for index, traces in made.items():
                ends[index] = [briefs.of(one.placed) for one in traces]
                kept[index] = [briefs.trace(owner, index, one) for one in traces]
                flagged = flagged or any(event[0] == SET_FLAG for one in traces for event in one.events)
            values, given = owner.callers.known()
            yield key, FileRecord(kept, ends, values, given, self._warmth(key), flagged)

    def _warmth(self, key: str) -> HeatRecord | None:
        noted = self._noted.get(key)
        if noted is None:
            return None
        return HeatRecord(noted.asked, edges_of(noted.heat), noted.handed)

    def asked_for(self) -> tuple[dict[str, set[str]], dict[str, set[Head]], dict[str, set[str]]]:
        """By file: the names that others looked up in it ("*": all), the functions whose heads they saw, each with who
        did, and the files that asked how a function of it is placed."""
        names: dict[str, set[str]] = {}
        for path, name in self.looked_up():
            names.setdefault(path, set()).add(name)
        heads: dict[str, set[Head]] = {}
        askers: dict[str, set[str]] = {}
        for (key, function), traces in self.traces.made.items():
            for trace in traces:
                for file, index in trace.heads:
                    if file != key:
                        heads.setdefault(file, set()).add((index, key, function))
                for event in trace.events:
                    if event[0] == PLACE and event[1] != key:
                        askers.setdefault(event[1], set()).add(key)
                    elif event[0] == GLOBAL and event[1] != key:
                        names.setdefault(event[1], set()).add(event[2])
        return names, heads, askers


def edges_of(heat: HeatMap) -> Edges:
    """The calls of a file: within it, what it lends there, those that leave it, those that may, and those of which only
    a name is known."""
    edges = heat.edges_by_kind()
    return edges.calls, edges.lent, edges.outgoing, edges.maybe, edges.named
