"""What of a project has to be looked at again after some of its files changed, from what was written down of it.

A changed function is placed again with the answers that it had before (`script`). Where others cannot tell what comes
of it from what came of it before, nothing else is placed again; where it gives back something else, those that call it
are, and so on. Then the heat of these files is worked out again, and must answer all that was asked of it as it did.
Whatever else changes raises Unforeseen: the project is put together from nothing then (verifying traces: A. Mokhov,
N. Mitchell, S. Peyton Jones, Build Systems a la Carte, 2018).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from transferlint import late
from transferlint.flow.callgraph.names import ident, split
from transferlint.flow.frequency.heat import HeatMap
from transferlint.flow.frequency.unasked import SOMETHING
from transferlint.flow.frequency.warmth import Warmth
from transferlint.flow.incremental.changes import differing, rebound, redeclared, rewritten, visible
from transferlint.flow.incremental.recorded import Asked, Head, HeatRecord, edges_of
from transferlint.flow.incremental.restored import Dispatch, RestoredPlacement, RestoredProject
from transferlint.flow.incremental.script import Script
from transferlint.flow.incremental.traces import LEARNT, OUTER, PLACE, Trace, Unforeseen, as_seen
from transferlint.flow.lattice.values import (
    ANYWHERE,
    FROM_PARAMETER,
    GIVEN,
    HOST,
    HOST_VALUE,
    NULLABLE,
    OBJECT,
    SHAPES,
    TENSOR,
    UNKNOWN,
    Value,
    returned_alike,
)
from transferlint.flow.placement.placement import FilePlacement
from transferlint.flow.project import PLACES
from transferlint.syntax.program import Function, Program, Reg, Slot

_MOST = 2000  # functions that are placed again; beyond, all are


@dataclasses.dataclass(frozen=True)
class Others:
    """What others asked of each file: the names that they looked up in it ("*": all), the functions whose heads they
    saw, each with who did, the files that asked how functions of it were placed, and the functions (`PLACES`: where
    they stand) that were looked at for another file's heat or findings, each with that file."""

    names: Mapping[str, frozenset[str]]
    heads: Mapping[str, frozenset[Head]]
    askers: Mapping[str, frozenset[str]]
    lookers: Mapping[str, frozenset[tuple[int, str]]]


class Update:
    """One update of a project. `before` are the programs of the changed files as they were; `again` are the functions
    that were placed again, `asked` has what was asked of the heat of each file that was worked out again."""

    def __init__(
        self, project: RestoredProject, others: Others, dispatch: Dispatch, before: Mapping[str, Program]
    ) -> None:
        self._project = project
        self.others = others
        self.again: set[tuple[str, int]] = set()
        self.asked: dict[str, list[Asked]] = {}
        self._dispatch = dispatch
        self._before = before
        self._pending: dict[tuple[str, int], None] = {}
        self._touched: dict[str, set[int]] = {key: {PLACES} for key in before}
        self._old: dict[str, FilePlacement] = {}
        self._count = 0

    def run(self, also: Iterable[str] = ()) -> set[str]:
        """Place again and work out the heat of what has to be, and the heat of some files `also`; these, and the files
        whose findings may be others. Raises Unforeseen."""
        for key in sorted(self._before):
            self._compare(key)
        while self._pending:
            at = next(iter(self._pending))
            del self._pending[at]
            self._count += 1
            if self._count > _MOST:
                raise Unforeseen
            self._place(*at)
        found = {*self._touched, *also}
        for key, indices in self._touched.items():
            seen = self._around(key, indices)
            found.update(path for index, path in self.others.lookers.get(key, ()) if index in seen)
        for key in sorted(found):
            self._shape(key)
        for key, index, given, value in self._project.unheard:
            if self._project.restored(key).adds(index, given, value):
                raise Unforeseen
        for key in sorted(found):
            self._heat(key)
        return found

    def _around(self, key: str, indices: set[int]) -> set[int]:
        """Functions of a file, what stands in them, and what they stand in."""
        functions = self._project.restored(key).program.functions
        around = set(indices)
        for function in functions:  # what stands in a function comes after it
            if function.parent > 0 and function.parent in around:
                around.add(function.index)
        for index in indices - {PLACES}:
            while functions[index].parent > 0:
                index = functions[index].parent
                around.add(index)
        return around

    def _compare(self, key: str) -> None:
        """Find out which functions of a changed file have to be placed again, the module first. Raises Unforeseen where
        others see at once that it changed."""
        now = self._project.restored(key)
        old = self._old[key] = RestoredPlacement(self._before[key], now.options, self._project)
        if list(visible(old)) != list(visible(now)) or old.tracing != now.tracing:
            raise Unforeseen
        asked, names = self.others.names.get(key, frozenset()), rebound(old, now)
        if names and ("*" in asked or not names.isdisjoint(asked)):
            raise Unforeseen
        heads = redeclared(old, now)
        every = set(range(len(now.program.functions)))
        changed = every if heads else differing(old, now, rewritten(old, now), set())
        changed |= {index for index in every for one in now.old(index) if one.role != now.roles[index]}
        self._project.changed.update((key, index) for index in changed | {0})
        self._touched[key] |= changed
        for index in sorted(changed | {0}):
            self._pending[key, index] = None
        for index, other, function in sorted(self.others.heads.get(key, frozenset())):
            if index in heads:
                self._ask_again(other, function)

    def _ask_again(self, key: str, index: int) -> None:
        """Have a function placed again of which another placing may come."""
        self._pending[key, index] = None
        self._touched.setdefault(key, set()).add(index)

    def _place(self, key: str, index: int) -> None:
        """Place a function again; where others see a difference, those that call it are to be placed again."""
        self.again.add((key, index))
        owner = self._project.restored(key)
        before = owner.old(index)
        if not before:
            raise Unforeseen
        scripts = owner.place_again(index)
        after = self._project.traces[key, index]
        function = owner.program.functions[index]
        was = self._old[key].program.functions[index] if key in self._old else function
        for one, other, script in zip(before, after, scripts, strict=True):
            if one.leans != other.leans:
                raise Unforeseen
            if script.before.done != script.now.done:
                self._tell(key, index, script)
            self._move(key, index, script)
            if owner.is_read(index):
                self._stored(owner, was, function, one, other)
        self._returned(owner, index, after)

    def _tell(self, key: str, index: int, script: Script) -> None:
        """Take up that a function gives others something else. Raises Unforeseen where it does anything else to them,
        or what it gives may tell them something: of a parameter of which something is known by itself, its callers tell
        nothing but the dimensions and kinds of tensors (`start.shaped`, `start.counted`) as long as one of them gives
        what is on the device, or where its place is not taken from them (`start.learnt`, `start.on_host`,
        `start.brought`); and how
        often they are called follows from the kind of what they are given, and from whether it may be None, alone
        (`unasked.py`)."""
        before, old = script.before.told()
        now, new = script.now.told()
        if before != now:
            raise Unforeseen
        for told, values in new.items():
            if values == old[told]:
                continue
            both = (*values, *old[told])
            on_device = all(value.on_device for value in both)
            tensors = any(value.may_be(TENSOR) for value in both)
            shapes = len({(one.is_a(TENSOR), one.flags & SHAPES) for one in both}) > 1
            if _given(values[-1]) != _given(old[told][-1]):
                raise Unforeseen
            _, callee, number, slot = told[:4]
            if self._project.restored(callee).program.functions[number].kind == "class":
                raise Unforeseen  # whoever reads its attributes
            self._project.retold.add((key, index))
            for other, at, name in self._learners(callee, number, slot):
                record = self._project.record(other)
                for trace in record.traces.get(at, ()) if record is not None else ():
                    alone = [e[4] for e in trace.events if e[0] == LEARNT and e[3].name == name]
                    if any(_is_unknown(one) or (not on_device and _listens(one)) for one in alone):
                        raise Unforeseen
                    if any(one.is_a(TENSOR) and one.places == HOST for one in alone):
                        raise Unforeseen  # `start.brought`
                    learning = (HOST_VALUE if tensors else 0) | (TENSOR | UNKNOWN if shapes else 0)
                    if any(one.kinds & learning for one in alone):
                        raise Unforeseen  # `start.counted`, `start.shaped`

    def _learners(self, key: str, index: int, slot: Slot) -> Iterator[tuple[str, int, str]]:
        """The functions to which a call tells what it gives for a parameter: the one that is called, and those that
        override it, with the name of the parameter."""
        name = self._project.restored(key).program.functions[index].slot_names[slot]
        yield key, index, name
        for one, _ in self._dispatch[0].get(ident(key, index), ()):
            place = split(one)
            if place is None:
                raise Unforeseen
            yield *place, name

    def _returned(self, owner: RestoredPlacement, index: int, after: list[Trace]) -> None:
        key = owner.key
        ends = [owner.seen_before(index, turn) for turn in range(len(after))]
        placed = [one.placed for one in after if one.placed is not None]
        known = self._project.instead.get((key, index), ends)
        if all(as_seen(one, now) for one, now in zip(known, placed, strict=True)):
            return
        for turn in range(1, len(placed)):  # whoever calls it is placed again where it gives something else by then
            first, second = ends[turn - 1], ends[turn]
            if first is None or second is None:
                raise Unforeseen
            now = returned_alike(placed[turn - 1].returns, placed[turn].returns)
            if returned_alike(first.returns, second.returns) != now:
                raise Unforeseen
        self._project.instead[key, index] = placed
        for other in sorted({key, *self.others.askers.get(key, ())}):
            record = self._project.record(other)
            for caller, traces in (record.traces if record is not None else {}).items():
                if any(e[0] == PLACE and e[1] == key and e[2] == index for one in traces for e in one.events):
                    self._ask_again(other, caller)

    def _move(self, key: str, index: int, script: Script) -> None:
        """Note the registers of calls that are other ones now."""
        if (key, index) not in self._project.changed:
            if list(script.before.registers) != list(script.now.registers):
                raise Unforeseen
            return
        pairs = list(zip(script.before.registers, script.now.registers, strict=True))
        for old, new in zip(script.before.given, script.now.given, strict=True):
            if (old is None) != (new is None) or (old is not None and new is not None and list(old) != list(new)):
                raise Unforeseen
        self._note(key, index, pairs)

    def _note(self, key: str, index: int, pairs: Iterable[tuple[Reg, Reg]]) -> None:
        known = self._project.moved.setdefault((key, index), {})
        for old, new in pairs:
            if known.setdefault(old, new) != new or (old != new and (key, index) not in self._project.changed):
                raise Unforeseen

    def _stored(self, owner: RestoredPlacement, was: Function, now: Function, one: Trace, other: Trace) -> None:
        """Raises Unforeseen where somebody reads a variable of a function that holds something else now."""
        plain = now.kind != "class"
        old = {was.slot_names[slot]: value.foreign() if plain else value for slot, value in one.stored.items()}
        new = {now.slot_names[slot]: value.foreign() if plain else value for slot, value in other.stored.items()}
        differing = {name for name in old.keys() | new.keys() if old.get(name) != new.get(name)}
        if not differing:
            return
        if now.kind == "class":
            raise Unforeseen
        asked = self.others.names.get(owner.key, frozenset()) if now.kind == "module" else frozenset()
        read = {e[3] for traces in owner.record.traces.values() for t in traces for e in t.events if e[0] == OUTER}
        if "*" in asked or not differing.isdisjoint(asked) or not differing.isdisjoint(read):
            raise Unforeseen

    def _shape(self, key: str) -> None:
        """Begin with the heat of a file, and note where its calls stand now."""
        owner = self._project.restored(key)
        record = owner.record
        if record.heat is None:
            return
        placed = [owner.derived(function.index) for function in owner.program.functions]
        self._project.reader = key
        heat = HeatMap(owner, placed, *self._dispatch)
        self._project.reader = ""
        self._project.take_up(key, placed, heat)
        kinds: Iterable[tuple[Sequence[Any], Sequence[Any]]] = zip(record.heat.edges, edges_of(heat), strict=True)
        for before, now in kinds:
            if [(one[0], *one[2:]) for one in before] != [(one[0], *one[2:]) for one in now]:
                raise Unforeseen
            if key in self._before:
                for old, new in zip(before, now, strict=True):
                    self._note(key, old[0], [(old[1], new[1])])
            elif before != now:
                raise Unforeseen
        if len(record.heat.handed) != len(heat.handed):
            raise Unforeseen
        for (target, warmth), (other, found) in zip(record.heat.handed, heat.handed, strict=True):
            assert warmth.caller is not None
            assert found.caller is not None
            self._note(key, warmth.caller[1], [(warmth.caller[2], found.caller[2])])
            if target != other or warmth.level != found.level:
                raise Unforeseen

    def _heat(self, key: str) -> None:
        """Go through all that was asked of the heat of a file. Raises Unforeseen where an answer is another one now."""
        record = self._project.restored(key).record
        if record.heat is None:
            return
        _, _, heat = self._project.linked(key)
        self._project.reader = key
        self.asked[key] = _go_through(record.heat, heat, key, self._project)
        self._project.reader = ""


def _given(value: Value) -> tuple[bool, int]:
    """What `unasked.py` asks of an argument."""
    return value.is_a(SOMETHING), value.flags & NULLABLE


def _is_unknown(alone: Value) -> bool:
    """Whether of a parameter by itself nothing is known that could not come from its callers, or but its class, who say
    what is in its attributes."""
    return bool(alone.kinds & (UNKNOWN | OBJECT)) and alone.places == ANYWHERE


def _listens(alone: Value) -> bool:
    """Whether of a parameter of which something is known its callers can tell that it is on the host."""
    return bool(alone.places == GIVEN and alone.flags & FROM_PARAMETER)


def _go_through(record: HeatRecord, heat: HeatMap, key: str, project: RestoredProject) -> list[Asked]:
    """Ask and tell what was asked and told before, at the sites where they are now: that, and what comes of it."""
    made: list[Asked] = []
    for one in record.asked:
        name, about, answer = at_sites(one, key, project)
        found = getattr(heat, name)(*about)
        if name == "at":
            if _without_loop(answer) != _without_loop(found):
                raise Unforeseen
        elif found != answer:
            raise Unforeseen
        made.append((name, about, found))
    return made


def at_sites(asked: Asked, key: str, project: RestoredProject) -> Asked:
    """What was asked of the heat of a file, and the answer, with sites where they are now. Raises Unforeseen."""

    def now(one: Any) -> Any:
        if isinstance(one, Warmth):
            return one if one.caller is None else late.replace(one, caller=project.site(one.caller))
        if isinstance(one, tuple) and len(one) == 3 and isinstance(one[0], str) and isinstance(one[1], int):
            return project.site(one)
        return one

    name, about, answer = asked
    if name in ("at", "rare"):
        return name, (about[0], project.site((key, *about))[2]), now(answer)
    return name, tuple(map(now, about)), now(answer)


def _without_loop(warmth: Warmth) -> Warmth:
    """The heat of a place without the number of the loop, which means nothing to other functions."""
    return warmth if warmth.loop < 0 else late.replace(warmth, loop=-1)
