"""What a rule may ask: the facts of one file."""

from __future__ import annotations

import abc
import functools
import re
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from transferlint import late
from transferlint.flow.callgraph.names import ident
from transferlint.flow.callgraph.overriding import overrides
from transferlint.flow.callgraph.tracing import NOTHING_TRACED
from transferlint.flow.dataflow.operands import tree, users
from transferlint.flow.frequency.callees import methods_by_name
from transferlint.flow.frequency.heat import HeatMap
from transferlint.flow.frequency.runs import runs_alone
from transferlint.flow.frequency.warmth import Warmth
from transferlint.flow.lattice.options import AnalysisOptions
from transferlint.flow.lattice.transfers import Transfer
from transferlint.flow.lattice.values import ANYWHERE, DEVICE, ON_DEVICE, TENSOR, UNKNOWN, Value, framework_of
from transferlint.flow.placement import given_by
from transferlint.flow.placement.placed import NO_ARGUMENT, Passed, Placed
from transferlint.flow.placement.placement import FilePlacement
from transferlint.model import Confidence, Evidence, Finding, Fix, Heat, Part, Site
from transferlint.syntax import program as p
from transferlint.syntax.positions import Positions
from transferlint.syntax.program import Function, Instruction, Program, Reg, Slot

if TYPE_CHECKING:
    from transferlint.flow.project import Project


class Telling(abc.ABC):
    """What a finding tells beside what its rule says, read off the facts: see `FunctionFacts.finding`."""

    @abc.abstractmethod
    def device(self, function: FunctionFacts, value: Value) -> tuple[Evidence, ...]:
        """Where a value came to be on the device."""

    @abc.abstractmethod
    def heat(self, function: FunctionFacts, warmth: Warmth) -> str:
        """How often, and what shows it."""

    @abc.abstractmethod
    def evident(self, function: FunctionFacts, reg: Reg) -> bool:
        """Whether a finding about a framework beside torch rests on what is seen."""

    @abc.abstractmethod
    def other_waits(self, function: FunctionFacts, reg: Reg, told: Iterable[Evidence]) -> Iterator[Evidence]:
        """Where else the turn waits for the device, but for the lines of the finding and of what it told."""


class FunctionFacts:
    """The facts of one function.

    `code`, `values`, `transfers`, `compiled` are those of placement; `file` is the file's facts. Registers are of this
    function.
    """

    def __init__(self, file: FileFacts, placed: Placed) -> None:
        self.file = file
        self.function: Function = placed.function
        self.index = placed.function.index
        self.code: list[Instruction] = placed.function.code
        self.values: list[Value] = placed.values
        self.transfers: list[Transfer] = placed.transfers
        self.calls: dict[Reg, str] = placed.calls
        self.compiled: frozenset[Reg] = placed.compiled
        self._wrapped = {(one.transfer.register, one.transfer.kind): one for one in placed.passed}
        self.role = placed.role
        self._users = users(placed.function)
        self._claims: dict[str, frozenset[Reg]] = {}
        self._transfers_at: dict[Reg, list[Transfer]] | None = None
        self.kept: dict[Any, Any] = {}  # see `once.py`

    def warmth(self, reg: Reg) -> Warmth:
        """How often a register runs."""
        return self.file.heat.believed(self.index, reg)

    def at_calls(self, transfer: Transfer) -> bool:
        """True for a transfer that this function only wraps, where a call makes it hot: it counts there, unless this
        function is the one to change."""
        wrapped = self._wrapped.get((transfer.register, transfer.kind))
        if wrapped is None:
            return False
        caller = self.warmth(transfer.register).caller
        if caller is None or self._keeps(transfer.register, transfer.kind):
            return False
        calling = self.file.placed_at(*caller[:2])
        if calling is None or calling.calls.get(caller[2]) != ident(self.file.path, self.index):
            return False
        made = calling.function.code[caller[2]]
        if isinstance(made, p.Call) and calling.values[made.function].name == "builtins.map":
            return False
        return not isinstance(made, p.Call) or given_by.is_explicit(made, self.function, wrapped.slot)

    def called_traced(self, reg: Reg) -> bool:
        """True where what makes a register hot is a call in code that a framework traces: then it is traced too."""
        caller = self.warmth(reg).caller if self.file.placement.tracing is not NOTHING_TRACED else None
        calling = self.file.placed_at(*caller[:2]) if caller is not None else None
        return calling is not None and bool(calling.role.traced)

    def told_inside(self, transfer: Transfer) -> bool:
        """True for a call of what wraps a transfer, where that tells of it itself."""
        if transfer.inside is None:
            return False
        key, index, reg = transfer.inside
        if key == self.file.path:
            return self.file.functions[index]._keeps(reg, transfer.kind)
        placed = self.file.placed_at(key, index)
        if placed is None or placed.role.cold:
            return False
        found = (one for one in placed.passed if (one.transfer.register, one.transfer.kind) == (reg, transfer.kind))
        return any(_kept(one) or (_kept(one, ANYWHERE) and one.transfer.before.is_a(UNKNOWN)) for one in found)

    def _keeps(self, reg: Reg, kind: str) -> bool:
        """True for a wrapped transfer of which the function tells itself, where a call makes it hot: one finding serves
        all calls then."""
        one = self._wrapped.get((reg, kind))
        return one is not None and _kept(one) and self.warmth(reg).caller is not None

    def wrapped(self, transfer: Transfer) -> tuple[Evidence, ...]:
        """For a call of what wraps a transfer: the site of the transfer itself."""
        if transfer.inside is None:
            return ()
        key, index, reg = transfer.inside
        if key == self.file.path:
            inner = self.file.functions[index]
            return (Evidence(inner.site(reg), f"made here, in `{inner.function.qualname}`", part=Part.CALLEE),)
        return self.file.project.evidence(key, index, reg) if self.file.project is not None else ()

    def transfers_at(self, reg: Reg) -> list[Transfer]:
        """The transfers that a register makes."""
        if self._transfers_at is None:
            self._transfers_at = {}
            for transfer in self.transfers:
                self._transfers_at.setdefault(transfer.register, []).append(transfer)
        return self._transfers_at.get(reg, [])

    def around(self, reg: Reg) -> set[Reg]:
        """All registers whose expressions a register is a part of, itself included."""
        found, pending = {reg}, [reg]
        while pending:
            more = [user for user in self._users[pending.pop()] if user not in found]
            found.update(more)
            pending += more
        return found

    def region(self, reg: Reg) -> int:
        """The region a register stands in."""
        return self.function.lookup.regions[reg]

    def users(self, reg: Reg) -> list[Reg]:
        """The registers computed directly from this one."""
        return self._users[reg]

    def loops(self, reg: Reg) -> list[int]:
        """The regions of the `for` and `while` loops and comprehension clauses around a register, innermost first."""
        found = []
        at = self.region(reg)
        while at > 0:
            region = self.function.regions[at]
            if region.kind in ("for", "while", "comprehension"):
                found.append(at)
            at = region.parent
        return found

    def inside(self, reg: Reg, region: int) -> bool:
        """True where a register stands in a region or one that it encloses."""
        at = self.region(reg)
        while at > 0 and at != region:
            at = self.function.regions[at].parent
        return at == region

    def within(self, region: int) -> tuple[Reg, ...]:
        """The registers in a region and those that it encloses, in program order."""
        return self.function.lookup.registers(region)

    def stores(self, slot: Slot) -> list[Reg]:
        """Where a variable is bound, in program order."""
        return self.function.lookup.about(p.Store, slot)

    def loads(self, slot: Slot) -> list[Reg]:
        """Where a variable is read, in program order."""
        return self.function.lookup.about(p.Load, slot)

    def of(self, *kinds: type) -> list[Reg]:
        """The registers of these kinds of instructions, in program order."""
        return self.function.lookup.of(*kinds)

    def attributes(self, name: str, kind: type = p.Attr) -> list[Reg]:
        """Where an attribute of this name is read, or (`SetAttr`) bound, in program order."""
        return self.function.lookup.named(kind, name)

    def expression(self, reg: Reg) -> Iterator[Reg]:
        """A register and all that its expression was computed from, outermost first."""
        return tree(self.code, reg)

    def span(self, reg: Reg) -> tuple[int, int]:
        """The offsets of a register's text, without its own parentheses."""
        return self.file.spans.of(self.function.nodes[reg])

    def outer_span(self, reg: Reg) -> tuple[int, int]:
        """The offsets of a register's text, with its own parentheses."""
        return self.file.spans.outer(self.function.nodes[reg])

    def outer_text(self, reg: Reg) -> str:
        """The source text of a register, with its own parentheses."""
        start, end = self.outer_span(reg)
        return self.file.text[start:end]

    def text(self, reg: Reg) -> str:
        """The source text of a register."""
        start, end = self.span(reg)
        return self.file.text[start:end]

    def site(self, reg: Reg) -> Site:
        """The site of a register."""
        return self.file.spans.site(self.file.path, *self.span(reg))

    def has_text(self, reg: Reg) -> bool:
        """True where a register stands for text of its own."""
        return self.function.nodes[reg] is not None

    def confidence(self, value: Value) -> Confidence:
        """How sure it is that a value is on the device."""
        if value.places == DEVICE and value.is_a(TENSOR):
            return Confidence.CERTAIN
        return Confidence.LIKELY if value.on_device else Confidence.POSSIBLE

    def finding(
        self,
        reg: Reg,
        message: str,
        help: str = "",
        evidence: tuple[Evidence, ...] = (),
        confidence: Confidence = Confidence.CERTAIN,
        fix: Fix | None = None,
        heated: bool = True,
    ) -> Finding:
        """A finding at a register; `heated` adds how often it runs, on which it rests then. Code and name are the
        rule's to add."""
        warmth = self.warmth(reg)
        words = self.file.telling.heat(self, warmth) if heated else ""
        source, framework = self.text(reg), self.framework(reg)
        # Frameworks beside torch put arrays on an accelerator without being told to.
        runs = self.file.heat
        shown = runs.shown(self.index, reg, not framework) and (bool(framework) or runs.seen.placed)
        share = round(max(self._shares(reg, evidence)), 2)
        heat = Heat(warmth.level, warmth.seen, words, shown=shown, share=share) if heated else None
        if heated and warmth.doubt:
            confidence = Confidence.POSSIBLE
        if framework and heat is not None and not (heat.shown and self.file.telling.evident(self, reg)):
            confidence = Confidence.POSSIBLE
        elif framework and heat is not None:
            evidence = (*evidence, *self.file.telling.other_waits(self, reg, evidence))
        return Finding(
            "", "", self.site(reg), message, help, evidence, heat, confidence, fix, self.function.qualname, source,
            framework,
        )  # fmt: skip

    def _shares(self, reg: Reg, evidence: tuple[Evidence, ...]) -> Iterator[float]:
        """In what share of the steps a finding's site is expected to run, and each of those that it speaks for."""
        yield self.file.heat.share(self.index, reg)
        spoken = {one.site for one in evidence if one.part is Part.SAME}
        for other in {one.register for one in self.transfers} if spoken else ():
            if self.has_text(other) and self.site(other) in spoken:
                yield self.file.heat.share(self.index, other)

    def framework(self, reg: Reg) -> str:
        """The framework beside torch whose data a register moves or gives, "" for torch. In a file that works with one
        framework alone, what nobody knows is taken to be of that."""
        used = self.file.placement.tracing
        flags = self.values[reg].flags
        for transfer in self.transfers_at(reg):
            flags |= transfer.before.flags
        found = framework_of(flags) or used.framework
        return found.name if found is not None else ""

    def why(self, value: Value) -> tuple[Evidence, ...]:
        """The evidence that a value is on the device."""
        return self.file.telling.device(self, value)

    def claimed(self, reg: Reg, above: str = "") -> bool:
        """True where a rule that runs on this file claims a register. `above`: only rules with a higher code than this;
        a rule that claims names its own, so that no two ask each other."""
        for code, claims in self.file.claimants:
            if code > above:
                if code not in self._claims:
                    self._claims[code] = frozenset(claims(self))
                if reg in self._claims[code]:
                    return True
        return False


def _kept(one: Passed, places: int = ON_DEVICE) -> bool:
    """True for a wrapped transfer of what is on the device (`places`) by all calls, of which the function does not give
    back what it read: it uses that itself. What is unknown anywhere is where a call says that it is. Not for a function
    that only waits."""
    if one.slot == NO_ARGUMENT:
        return False
    return not one.returned and one.transfer.inside is None and bool(one.transfer.before.places & places)


class FileFacts:
    """The facts of one file: `functions[i]` are those of `program.functions[i]`, `transferring` those in which there is
    a transfer."""

    def __init__(
        self,
        path: str,
        text: str,
        program: Program,
        spans: Positions,
        options: AnalysisOptions,
        telling: Telling,
        project: Project | None = None,
    ) -> None:
        self.path = path
        self.text = text
        self.program = program
        self.spans = spans
        self.project = project
        self.telling = telling
        self.claimants: tuple[tuple[str, Callable[[FunctionFacts], Iterable[Reg]]], ...] = ()  # codes and `Rule.claims`
        self.silent: frozenset[Site] = frozenset()  # suppressed or known, while a rule runs: groups keep them apart
        if project is not None:
            project.reader = path
        if project is not None and project.programs.get(path) is program:
            self.placement, placed, self.heat = project.linked(path)
        else:
            self.placement = FilePlacement(program, options, project)
            placed = self.placement.settle()
            self.heat = HeatMap(self.placement, placed, overrides([self.placement]), methods_by_name([self.placement]))
            self.heat.tell(runs_alone(self.placement, self.heat.uses()))
            if project is not None and path in project.programs:
                self.heat.borrow(project.linked(path)[2])
        self.functions = tuple(FunctionFacts(self, one) for one in placed)
        self.transferring = tuple(one for one in self.functions if one.transfers)
        self.kept: dict[Any, Any] = {}  # see `once.py`
        self.cut: set[str] = set()  # the functions in which something was not followed to its end
        self._words: frozenset[str] | None = None

    @property
    def words(self) -> frozenset[str]:
        """All words of the text."""
        if self._words is None:
            self._words = frozenset(re.findall(r"\w+", self.text))
        return self._words

    def owner(self, path: str, index: int) -> FilePlacement | None:
        """The placement of a file of the project, this one or another, of which a function is looked at."""
        if path == self.path:
            return self.placement
        if self.project is None:
            return None
        self.project.look(path, index)
        return self.project.placement(path)

    def placed_at(self, path: str, index: int) -> Placed | None:
        """A function of the checked source, in this file or another; None where it was not placed."""
        owner = self.owner(path, index)
        return owner.known(index) if owner is not None else None

    @functools.cached_property
    def rebound(self) -> frozenset[str]:
        """The names that a function declares `global` or `nonlocal` and binds."""
        return frozenset(i.name for f in self.program.functions for i in f.code if isinstance(i, p.StoreOuter))

    @functools.cached_property
    def known_imports(self) -> dict[tuple[int, Slot], bool]:
        """Whether imports of one meaning alone bind a variable of a function: what was asked so far."""
        return {}

    @functools.cached_property
    def attribute_stores(self) -> dict[str, list[tuple[FunctionFacts, p.SetAttr]]]:
        """Every `object.name = value` of the file by its name, with the function it stands in."""
        found: dict[str, list[tuple[FunctionFacts, p.SetAttr]]] = {}
        for function in self.functions:
            for made in function.code:
                if isinstance(made, p.SetAttr):
                    found.setdefault(made.name, []).append((function, made))
        return found

    @functools.cached_property
    def makes(self) -> dict[int, list[tuple[Function, p.Make]]]:
        """By the index of a function or class, where it is made and in which function."""
        found: dict[int, list[tuple[Function, p.Make]]] = {}
        for function in self.program.functions:
            for made in function.code:
                if isinstance(made, p.Make):
                    found.setdefault(made.function, []).append((function, made))
        return found

    def let_go(self) -> None:
        """Take this apart when nobody asks any more, so that its memory is free without a search for cycles."""
        keeps = self.project is not None and self.project.keeps
        for one in self.functions:
            if not keeps:
                one.function.forget()
            late.empty(one)
        late.empty(self)

    def line(self, offset: int) -> int:
        """The 1-based line of an offset."""
        return self.spans.site(self.path, offset, offset).line
