"""A whole project: the files of it that have been placed, and how often their code runs.

Files are placed when somebody asks: a function when it is called, a class's constructor when one of its attributes is
read.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from transferlint import late
from transferlint.flow.callgraph.modules import ModuleIndex
from transferlint.flow.callgraph.names import split
from transferlint.flow.callgraph.overriding import Overriding, overrides
from transferlint.flow.frequency.callees import methods_by_name
from transferlint.flow.frequency.heat import HeatMap
from transferlint.flow.frequency.runs import runs
from transferlint.flow.lattice.interning import Shared
from transferlint.flow.lattice.news import News
from transferlint.flow.lattice.options import AnalysisOptions
from transferlint.flow.placement.placed import Placed
from transferlint.flow.placement.placed_file import PlacedProject
from transferlint.flow.placement.placement import TURNS, FilePlacement
from transferlint.flow.placement.recursion import Recursion
from transferlint.model import Evidence, Part
from transferlint.reasons import Cause
from transferlint.syntax.portable import FrozenSpans
from transferlint.syntax.program import Program

Look = tuple[str, int]  # a file, and the function in it that was looked at, or `PLACES`
PLACES = -1  # where things stand in a file


class Project(PlacedProject):
    """The programs of a project by path, the index of its modules, and (for words) what says at which offsets the lines
    of a file begin. `entered` are the files whose calls count (None: all); of the others only that is placed which
    these need. `own` has the options of files for which `options` do not hold. `looked` are the functions that
    were looked at for another file's heat or findings, that of the `reader`, beyond what is asked while functions are
    placed. `keeps`:
    what is worked out of the code of functions is worth keeping, as there will be another check."""

    keeps = False
    settling = False  # every function is placed once, and callers tell of parameters

    def __init__(
        self,
        programs: Mapping[str, Program],
        index: ModuleIndex,
        options: AnalysisOptions,
        lines: Callable[[str], Sequence[int]] | None = None,
        entered: Iterable[str] | None = None,
        own: Mapping[str, AnalysisOptions] | None = None,
    ) -> None:
        super().__init__(programs, index)
        self.lines = lines
        self.entered = sorted(programs if entered is None else entered)
        self.options = options
        self._own = own or {}
        self.recursion = Recursion()
        self.reader = ""
        self.looked: dict[str, set[Look]] = {}
        self._placements: dict[str, FilePlacement] = {}
        self._making: set[str] = set()
        self._linked: dict[str, tuple[FilePlacement, list[Placed], HeatMap]] = {}
        self.shared = Shared()
        self.news = News()

    def linked(self, key: str) -> tuple[FilePlacement, list[Placed], HeatMap]:
        """A file of the project placed, with the heat that calls from all files give it."""
        if not self._linked:
            self.link()
        return self._linked[key]

    def link(self) -> None:
        """Place every file that is entered, then pass heat along the calls between files until nothing gets hotter."""
        linked: dict[str, tuple[FilePlacement, list[Placed], HeatMap]] = {}
        self.entered = sorted(self._with_bases())
        for key in self.entered:
            owner = self.placement(key)
            assert owner is not None
            owner.run()
            self._forget(owner)
        self.settling = True
        for _ in range(TURNS):
            if not sum(self._placements[key].again() for key in self.entered):
                break
        self.shared.clear()  # as large as the values themselves
        by = self._dispatch()
        for key in self.entered:
            owner = self._placements[key]
            placed = owner.all()
            linked[key] = owner, placed, self._heat(owner, placed, by)
            self._forget(owner)
        for key in sorted(linked):
            for handed, warmth in linked[key][2].handed:
                place = split(handed)
                if place is not None and place[0] in linked and place[0] != key:
                    linked[place[0]][2].attach(handed, warmth)
                    linked[place[0]][2].spread()
        work = sorted(linked)
        while work:
            following: set[str] = set()
            for key in work:
                heat = linked[key][2]
                for caller, reg, target, index in (*heat.outgoing, *heat.maybe):
                    if target in linked and linked[target][2].receive(index, heat.at(caller, reg), (key, caller, reg)):
                        following.add(target)
            work = sorted(following)
            for key in work:
                linked[key][2].spread()
        self._cool(linked)
        found = runs({key: (owner, heat.uses()) for key, (owner, _, heat) in linked.items()}, self.index.closed)
        for key in sorted(linked):
            linked[key][2].tell(found[key])
        self._linked = linked

    def _forget(self, owner: FilePlacement) -> None:
        """Drop what was worked out of the code of a file, which is as large as the code: whoever asks next has it
        worked out again."""
        if not self.keeps:
            for function in owner.program.functions:
                function.forget()

    def _dispatch(self) -> tuple[Overriding, Mapping[str, tuple[str, ...]]]:
        """What overrides the methods of the files that are entered, and their methods by name."""
        files = [self._placements[key] for key in self.entered]
        return overrides(files), methods_by_name(files)

    def _heat(
        self, file: FilePlacement, placed: list[Placed], by: tuple[Overriding, Mapping[str, tuple[str, ...]]]
    ) -> HeatMap:
        """The heat of a file, before others tell theirs."""
        return HeatMap(file, placed, *by)

    @staticmethod
    def _cool(linked: Mapping[str, tuple[FilePlacement, list[Placed], HeatMap]]) -> None:
        """What is called, and from cold places alone, is cold, unless it is known to be hot; until no more is found.
        A call by a method that nobody calls itself counts for nothing beside others that no option asks for; it is then
        as cold. A call of an unknown object may be one of any method of that name.
        """
        callers: dict[tuple[str, int], list[tuple[str, int, int]]] = {}
        named: dict[str, list[tuple[str, int, int]]] = {}
        for key in sorted(linked):
            for caller, reg, target, index in linked[key][2].edges():
                if (target, index) != (key, caller) and target in linked:
                    callers.setdefault((target, index), []).append((key, caller, reg))
            for caller, reg, name in linked[key][2].named():
                named.setdefault(name, []).append((key, caller, reg))
        waiting = dict(callers)
        changed = True
        while changed:
            changed = False
            for (target, index), sites in list(waiting.items()):
                heat = linked[target][2]
                borrowed = heat.borrowed(index)
                if not borrowed and not heat.assumed(index):
                    del waiting[target, index]
                    continue
                idle = {at[:2] for at in sites if borrowed and linked[at[0]][2].idle(at[1])}
                found = [linked[key][2].rare(caller, reg) for key, caller, reg in sites if (key, caller) not in idle]
                # Tests call what others call too.
                found = [one for one in found if one[1] is None or one[1].root.cause is not Cause.TEST]
                if not found:
                    del waiting[target, index]
                    continue
                cold = all(why for _, why in found)
                unasked = all(why is not None and why.root.cause is Cause.OPTION_UNUSED for _, why in found)
                rarely = unasked if borrowed else cold or all(rare for rare, _ in found)
                others = named.get(heat.method(index), ()) if rarely else ()
                if rarely and all(linked[key][2].rare(caller, reg)[0] for key, caller, reg in others):
                    heat.cool(index, found[0][1] if cold else None)
                    for key, caller in sorted(idle):
                        linked[key][2].cool(caller, found[0][1])
                    del waiting[target, index]
                    changed = True

    def _with_bases(self) -> set[str]:
        """The files that are entered, and those in which base classes of theirs stand."""
        found: set[str] = set()
        pending = list(self.entered)
        while pending:
            key = pending.pop()
            owner = self.placement(key) if key not in found else None
            if owner is not None:
                found.add(key)
                places = (split(base) for info in owner.classes.values() for base in info.bases)
                pending.extend(place[0] for place in places if place is not None)
        return found

    def describe(self, key: str, function: int, reg: int) -> str:
        """A place of another file in words: "`Trainer.step` (train.py:88)"."""
        self.look(key, PLACES)
        owner = self.programs[key].functions[function]
        node, lines = owner.nodes[reg], self.lines(key) if self.lines is not None else ()
        line = f":{bisect_right(lines, node[0])}" if lines and isinstance(node, tuple) else ""
        return f"`{owner.qualname}` ({key}{line})"

    def evidence(self, key: str, function: int, reg: int) -> tuple[Evidence, ...]:
        """The site of an expression of another file, as evidence of a call of its function."""
        self.look(key, PLACES)
        owner = self.programs[key].functions[function]
        node = owner.nodes[reg]
        if self.lines is None or not isinstance(node, tuple):
            return ()
        site = FrozenSpans("", self.lines(key)).site(key, *node)
        return (Evidence(site, f"made here, in `{owner.qualname}`", part=Part.CALLEE),)

    def looked_up(self) -> Iterator[tuple[str, str]]:
        """The files in which others looked up names, each with the first part of one, "*" for all names."""
        for (_, asking), place in self._found.items():
            if place is not None and place[0] != asking:
                yield place[0], place[1].partition(".")[0]
        for one in self._placements.values():
            for star in one.names.stars:
                found = self._module(star, one.key)
                if found is not None:
                    yield found[0], "*"

    def look(self, key: str, index: int) -> None:
        """Note that a function of a file, or where things stand in it (`PLACES`), matters for the heat or the findings
        of the reader."""
        if self.reader and self.reader != key:
            self.looked.setdefault(self.reader, set()).add((key, index))

    def placement(self, key: str) -> FilePlacement | None:
        """The placement of a file of the project; None for files that are not in it, and while it is being set up."""
        known = self._placements.get(key)
        if known is not None or key in self._making or key not in self.programs:
            return known
        self._making.add(key)
        known = self._placements[key] = self._begun(key)
        self._making.discard(key)
        return known

    def _begun(self, key: str) -> FilePlacement:
        """The placement of a file before anything is placed."""
        return FilePlacement(self.programs[key], self._own.get(key, self.options), self)

    def let_go(self) -> None:
        """Take this apart, so that its memory is free without a search for cycles."""
        for one in self._placements.values():
            late.empty(one)
        late.empty(self)
