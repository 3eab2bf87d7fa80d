"""What names stand for in the files of a project: those that imports bring, by way of re-exports too, and those of
star imports. Names that cannot be resolved stay unknown; none is guessed."""

from __future__ import annotations

import abc
from collections.abc import Iterator, Mapping

from transferlint.flow.callgraph.modules import ModuleIndex
from transferlint.flow.callgraph.names import ClassInfo, Names, OtherFiles, split
from transferlint.flow.callgraph.source_file import SourceFile
from transferlint.knowledge import roles
from transferlint.syntax.program import Import, Program, SetItem, StoreOuter


class ProjectNames(OtherFiles):
    """The programs of a project by path, and the index of its modules."""

    def __init__(self, programs: Mapping[str, Program], index: ModuleIndex) -> None:
        self.programs = programs
        self.index = index
        self._names: dict[tuple[str, str], str] = {}
        self._stars: dict[str, list[str]] = {}
        self._found: dict[tuple[str, str], tuple[str, str] | None] = {}

    @abc.abstractmethod
    def placement(self, key: str) -> SourceFile | None:
        """A file of the project; None for files that are not in it, and while it is being set up."""

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

    def _star(self, owner: SourceFile, rest: str, seen: set[tuple[str, str]]) -> str:
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

    def _module(self, name: str, asking: str) -> tuple[str, str] | None:
        known = self._found.get((name, asking), ())
        if known == ():
            known = self._found[name, asking] = self.index.find(name, asking)
        return known or None


def _dots(module: str) -> int:
    return len(module) - len(module.lstrip("."))
