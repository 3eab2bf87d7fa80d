"""A whole project: its modules, what their names stand for, and the files of it that have been placed.

Files are placed when somebody asks: a function when it is called, a class's constructor when one of its attributes is
read. Names that cannot be resolved stay unknown; none is guessed.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from transferlint import late
from transferlint.flow.callees import methods_by_name
from transferlint.flow.heat import HeatMap
from transferlint.flow.interning import Shared
from transferlint.flow.modules import ModuleIndex
from transferlint.flow.names import ClassInfo, Names, Overriding, overrides, split
from transferlint.flow.news import News
from transferlint.flow.options import AnalysisOptions
from transferlint.flow.placement import TURNS, FilePlacement, Placed
from transferlint.flow.recursion import Recursion
from transferlint.flow.runs import runs
from transferlint.flow.values import ANYWHERE, NAME, Value
from transferlint.knowledge import roles
from transferlint.model import Evidence, Part
from transferlint.reasons import Cause
from transferlint.syntax.portable import FrozenSpans
from transferlint.syntax.program import Import, Program, SetItem, StoreOuter

Look = tuple[str, int]  # a file, and the function in it that was looked at, or `PLACES`
PLACES = -1  # where things stand in a file
_PASSED_ON = 6  # modules through which a name is followed to where it was imported from


class Project:
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
        self.programs = programs
        self.lines = lines
        self.entered = sorted(programs if entered is None else entered)
        self.index = index
        self.options = options
        self._own = own or {}
        self.recursion = Recursion()
        self.reader = ""
        self.looked: dict[str, set[Look]] = {}
        self._placements: dict[str, FilePlacement] = {}
        self._making: set[str] = set()
        self._names: dict[tuple[str, str], str] = {}
        self._linked: dict[str, tuple[FilePlacement, list[Placed], HeatMap]] = {}
        self._stars: dict[str, list[str]] = {}
        self._found: dict[tuple[str, str], tuple[str, str] | None] = {}
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
        as cold.
        """
        callers: dict[tuple[str, int], list[tuple[str, int, int]]] = {}
        for key in sorted(linked):
            for caller, reg, target, index in linked[key][2].edges():
                if (target, index) != (key, caller) and target in linked:
                    callers.setdefault((target, index), []).append((key, caller, reg))
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
                if unasked if borrowed else cold or all(rare for rare, _ in found):
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

    def class_info(self, name: str) -> ClassInfo | None:
        """A class by its ident."""
        place = split(name)
        owner = self.placement(place[0]) if place is not None else None
        return owner.classes.get(place[1]) if owner is not None and place is not None else None

    def resolve(self, name: str, asking: str) -> str:
        """The ident of the function or class that a dotted name stands for, "" where it is none of the project's."""
        known = self._names.get((name, asking))
        if known is None:
            known = self._names[name, asking] = self._resolve(name, asking, set())
        return known

    def _resolve(self, name: str, asking: str, seen: set[tuple[str, str]], most: int | None = None) -> str:
        """`resolve`, by way of re-exports. `seen` are the places that were looked at (a file, and what was sought
        there): what is sought never has more than `most` parts, as many as before the last import, and all but its
        first are an end of what it was at the beginning, so that there are finitely many."""
        found = self._module(name, asking)
        owner = self.placement(found[0]) if found is not None else None
        if found is None or owner is None or not found[1] or (found[0], found[1]) in seen:
            return ""
        parts = found[1].count(".") + 1
        if most is not None and parts > most:
            return ""  # a module that is there in part only
        seen.add((found[0], found[1]))
        first, _, rest = found[1].partition(".")
        slot = owner.program.functions[0].slots.get(first)
        bound = owner.names.bound(0, slot) if slot is not None else ""
        if not bound:
            return self._star(owner, found[1], seen)
        if "#" not in bound:
            return self._resolve(f"{bound}.{rest}" if rest else bound, owner.key, seen, parts)
        if not rest:
            return bound
        info = self.class_info(bound)
        return info.methods.get(rest, "") if info is not None else ""

    def _star(self, owner: FilePlacement, rest: str, seen: set[tuple[str, str]]) -> str:
        """A name that `from module import *` may have brought: where exactly one such module has it."""
        parts = rest.count(".") + 1
        hits = {self._resolve(f"{made}.{rest}", owner.key, seen, parts) for made in self.stars(owner.names)} - {""}
        return hits.pop() if len(hits) == 1 else ""

    def has(self, module: str, asking: str) -> bool:
        """Whether a module is one of the project's."""
        found = self._module(module, asking)
        return found is not None and not found[1]

    def imported(self, made: Import, names: Names) -> Iterator[str]:
        """The files of the project that an import brings something from: its module's, and that of a submodule."""
        name = names.qualified(Import(made.module, "" if made.name == "*" else made.name))
        found = self._module(name, names.program.path)
        if found is not None:
            yield found[0]

    def run_by(self, made: Import, names: Names) -> Iterator[str]:
        """The files of the project that an import runs, but for the packages that the importing file stands in: the
        module's, and those of the packages above it (docs.python.org, reference/import, 'Regular packages')."""
        parts = names.qualified(Import(made.module, "" if made.name == "*" else made.name)).split(".")
        for count in range(1, len(parts) + 1):
            found = self.index.find(".".join(parts[:count]), names.program.path)
            if found is not None and not found[1]:
                yield found[0]

    def lacks(self, made: Import, names: Names) -> bool:
        """True where an import asks a module of the project for a name that it never binds, or a package for a module
        that is not there, but for what is made when a package is built; and where a module that it asks for by a name
        of few parts has imports with more dots than that name has packages."""
        wanted = "" if made.name == "*" else made.name
        asked = names.qualified(Import(made.module, wanted))
        found = self._module(asked, names.program.path)
        if found is None:
            return False
        if not made.module.startswith(".") and self._led_out(found[0], asked.removesuffix(f".{found[1]}")):
            return True
        if not found[1]:
            return False
        package, rest = self.index.is_package(found[0]), found[1]
        if package:
            inside, rest = self.index.below(found[0], rest)
            if not rest or roles.BUILT.match(rest.partition(".")[0]):
                return False
            if inside:
                return True
        if "." in rest or not wanted:
            return package
        owner = self.placement(found[0])
        if owner is None or owner.names.stars:
            return False
        functions = owner.program.functions
        known = {"__getattr__", rest} & functions[0].slots.keys()
        # `global`, or a table of names or modules
        others = functions[0].lookup.of(SetItem) or any(one.lookup.of(StoreOuter) for one in functions)
        return not known and not others

    def _led_out(self, key: str, name: str) -> bool:
        """True where a file, imported by this name, asks for what is above its outermost package (docs.python.org,
        reference/import, 'Package Relative Imports': ImportError)."""
        owner = self.placement(key)
        packages = name.count(".") + self.index.is_package(key)
        return owner is not None and any(_dots(made.module) > packages for made in owner.names.at_once)

    def exported(self, module: str, name: str, asking: str) -> str | None:
        """What `from module import *` binds to a name: a qualified name or ident, "" where the module does not bind it.
        None where the module is none of the project's, or brings all names of such a one itself. Each module on the way
        is looked at once."""
        pending = [(module, asking)]
        seen: set[str] = set()
        unread = False
        while pending:
            at, user = pending.pop()
            found = self._module(at, user)
            owner = self.placement(found[0]) if found is not None and not found[1] else None
            if owner is None:
                unread = True
            elif owner.key not in seen and not name.startswith("_"):
                seen.add(owner.key)
                slot = owner.program.functions[0].slots.get(name)
                if slot is not None:
                    bound = owner.names.bound(0, slot) or f"{at}.{name}"
                    return bound if "#" in bound else self.resolve(bound, owner.key) or bound
                pending += [(star, owner.key) for star in owner.names.stars]
        return None if unread else ""

    def public(self, module: str, asking: str) -> Iterator[str]:
        """The idents of the functions and classes that a module of the project defines, but for its own affairs."""
        found = self._module(module, asking)
        owner = self.placement(found[0]) if found is not None and not found[1] else None
        if owner is not None:
            names = owner.program.functions[0].slot_names
            for slot, name in owner.names.bindings(0).items():
                place = split(name)
                if place is not None and place[0] == owner.key and not names[slot].startswith("_"):
                    yield name

    def stars(self, names: Names) -> list[str]:
        """The modules of the project that a file imports all of."""
        path = names.program.path
        known = self._stars.get(path)
        if known is None:
            found = ((made, self._module(made, path)) for made in dict.fromkeys(names.stars))
            known = self._stars[path] = [made for made, place in found if place is not None and not place[1]]
        return known

    def variable(self, name: str, asking: str, most: int = _PASSED_ON, reader: str = "") -> Value | None:
        """What a module binds to a variable, or the name of a library, or of what is in one, that it imports for others
        (`from .compat import torch`); None where the name is a module, function, class or nothing known. `most`: how
        many modules may pass it on to the file that is the `reader`, by default the one that is asking."""
        found = self._module(name, asking)
        owner = self.placement(found[0]) if found is not None else None
        if found is None or owner is None or not found[1] or owner.key == asking:
            return None
        first, dot, rest = found[1].partition(".")
        slot = owner.program.functions[0].slots.get(first)
        bound = owner.names.bound(0, slot) if slot is not None else ""
        if slot is None or (dot and not bound):
            return None
        if not bound:
            if (user := self._placements.get(reader or asking)) is not None:
                user.ask(owner.key, 0, first)
            return owner.global_value(slot)
        if "#" in bound or not most:
            return None
        passed = bound + dot + rest
        if self._module(passed, owner.key) is None:
            return Value(NAME, ANYWHERE, name=passed)
        return self.variable(passed, owner.key, most - 1, reader or asking)

    def _module(self, name: str, asking: str) -> tuple[str, str] | None:
        known = self._found.get((name, asking), ())
        if known == ():
            known = self._found[name, asking] = self.index.find(name, asking)
        return known or None

    def let_go(self) -> None:
        """Take this apart, so that its memory is free without a search for cycles."""
        for one in self._placements.values():
            late.empty(one)
        late.empty(self)


def _dots(module: str) -> int:
    return len(module) - len(module.lstrip("."))
