"""The files of a project as they see one another while they are placed: what they may ask, and tell."""

from __future__ import annotations

import abc
import functools

from transferlint.flow.callgraph.callers import Callers, Site
from transferlint.flow.callgraph.names import ClassInfo
from transferlint.flow.callgraph.project_names import ProjectNames
from transferlint.flow.callgraph.roles import Role, role_of
from transferlint.flow.callgraph.source_file import SourceFile
from transferlint.flow.callgraph.tracing import Tracing, tracing
from transferlint.flow.lattice.interning import Shared
from transferlint.flow.lattice.news import News
from transferlint.flow.lattice.options import AnalysisOptions
from transferlint.flow.lattice.values import ANYWHERE, NAME, Value
from transferlint.flow.placement.placed import Placed
from transferlint.flow.placement.recursion import Recursion
from transferlint.syntax.program import Function, Parameter, Reg, Slot

_PASSED_ON = 6  # modules through which a name is followed to where it was imported from


class PlacedProject(ProjectNames):
    """A project whose files are placed; `news`, `recursion` and `shared` are of all of them together. Of the files that
    are not `entered` only that is placed which others ask for."""

    entered: list[str]
    news: News
    recursion: Recursion
    shared: Shared

    @abc.abstractmethod
    def placement(self, key: str) -> PlacedFile | None:
        """The placement of a file of the project; None for files that are not in it, and while it is being set up."""

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
            if (user := self.placement(reader or asking)) is not None:
                user.ask(owner.key, 0, first)
            return owner.global_value(slot)
        if "#" in bound or not most:
            return None
        passed = bound + dot + rest
        if self._module(passed, owner.key) is None:
            return Value(NAME, ANYWHERE, name=passed)
        return self.variable(passed, owner.key, most - 1, reader or asking)


class PlacedFile(SourceFile):
    """One file that is placed, function by function, as somebody asks. `placed` has those that are, `callers` what
    their known calls give."""

    options: AnalysisOptions
    project: PlacedProject | None
    placed: dict[int, Placed]
    callers: Callers

    @functools.cached_property
    def tracing(self) -> Tracing:
        """What a framework traces."""
        return tracing(self)

    @functools.cached_property
    def roles(self) -> list[Role]:
        """What each function is for, by index."""
        found: list[Role] = []
        for function in self.program.functions:
            found.append(role_of(self, self.tracing, function, self.options, found))
        return found

    @abc.abstractmethod
    def located(self, name: str) -> tuple[PlacedFile, int] | None:
        """The file and the index of a function or class by its ident; None for other names and unknown files."""

    @abc.abstractmethod
    def place(self, index: int) -> Placed | None:
        """The function placed, now if it was not yet; while it is being placed (recursion), what it was the turn
        before, None in the first; None too far down."""

    @abc.abstractmethod
    def known(self, index: int) -> Placed | None:
        """A function as it is placed by now; None where it was not."""

    @abc.abstractmethod
    def construct(self, info: ClassInfo) -> None:
        """Place what sets a class's attributes up, so that others may ask for them."""

    @abc.abstractmethod
    def calls_of(self, index: int) -> dict[Site, dict[str, Reg] | None]:
        """What each known call of a function, or of the methods that it overrides, gives."""

    @abc.abstractmethod
    def learnt(self, index: int, given: Parameter, value: Value) -> Value | None:
        """A parameter with what its callers tell of its place, those of the methods that it overrides among them;
        None where they add nothing."""

    @abc.abstractmethod
    def flag(self, name: str) -> int:
        """What code has set for all that runs after it: a name of `placement.FLAGS`."""

    @abc.abstractmethod
    def set_flag(self, name: str, value: int) -> None:
        """See `flag`."""

    @abc.abstractmethod
    def ask(self, key: str, index: int, name: str) -> None:
        """Note that the function that is being placed reads an attribute of a class, or a variable of a function."""

    @abc.abstractmethod
    def outer(self, function: Function, name: str) -> Value:
        """What a name bound outside of the function holds: the join of all that its owner stores there."""

    @abc.abstractmethod
    def global_value(self, slot: Slot) -> Value | None:
        """What the module binds to one of its variables: the join of all it stores there."""

    @abc.abstractmethod
    def attribute(self, info: ClassInfo, name: str) -> Value | None:
        """What methods of the class, or of its nearest bases, store in `self.name`."""

    @abc.abstractmethod
    def set_attribute(self, info: ClassInfo, name: str, value: Value) -> None:
        """Note that `self.name` holds nothing but a value from now on."""

    @abc.abstractmethod
    def store_attribute(self, info: ClassInfo, name: str, value: Value) -> None:
        """Note that a method stores a value in `self.name`."""

    @abc.abstractmethod
    def store_outer(self, function: Function, name: str, value: Value) -> None:
        """Note what a function binds to a variable of the module, or of a function that it stands in."""
