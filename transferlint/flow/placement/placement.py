"""Where every value of a file lives: the fixed point over each function, and what functions know of each other.

Each function is placed by itself (`fixpoint`). Functions share: what modules and functions around them bind, what is
stored in attributes, what calls give, and what each returns. A function is placed when it is first asked for, and again
when it was told or read something else than holds now (`news`); those that call one another are placed until what they
return no longer changes (`recursion`).
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Sequence

from transferlint.flow.callgraph.callers import Callers, Site
from transferlint.flow.callgraph.names import ClassInfo, Names, classes, find, ident, split
from transferlint.flow.callgraph.tracing import NOTHING_TRACED
from transferlint.flow.lattice.interning import Shared
from transferlint.flow.lattice.news import Held, News, Readers
from transferlint.flow.lattice.options import AnalysisOptions
from transferlint.flow.lattice.values import (
    ANYWHERE,
    CONTAINER,
    HOST_VALUE,
    NAME,
    NO_REGISTERS,
    NOTHING,
    PLAIN,
    TENSOR,
    UNKNOWN,
    Value,
    join,
    kept,
    returned_alike,
)
from transferlint.flow.placement import start
from transferlint.flow.placement.annotated import annotated
from transferlint.flow.placement.fixpoint import enter, solve
from transferlint.flow.placement.frame import Frame
from transferlint.flow.placement.passing import passed, written
from transferlint.flow.placement.placed import Placed
from transferlint.flow.placement.placed_file import PlacedFile, PlacedProject
from transferlint.flow.placement.recursion import Recursion
from transferlint.flow.placement.stored import AttributeStores, binding_outside, storing_methods
from transferlint.flow.placement.untraced import run_on_data
from transferlint.flow.placement.usage import usage
from transferlint.knowledge.roles import called_by_libraries
from transferlint.syntax.program import Function, Make, Parameter, Program, Reg, Slot

_CONSTRUCTORS = frozenset({"__init__", "__post_init__"})
_NONE_LENT: frozenset[tuple[Reg, str]] = frozenset()  # one for all: an empty set takes 216 bytes
# Where tensors are made if nothing is said (places), whether distributions look at their arguments; as a file begins.
FLAGS = {"default_places": 0, "validates": 1}
TURNS = 6  # calls in a row along which what is known of arguments is passed on


class FilePlacement(PlacedFile):
    """The placement of one file. `run()` gives every function placed; the rest serves the transfer functions."""

    def __init__(self, program: Program, options: AnalysisOptions, project: PlacedProject | None = None) -> None:
        self.program = program
        self.options = options
        self.key = program.path
        self.project = project
        self.look_up()
        self.placed: dict[int, Placed] = {}
        self._news = project.news if project is not None else News()
        self._readers = Readers(self._news)
        self._given: dict[tuple[int, Slot], Value | None] = {}  # by class and attribute: what its constructor was given
        self._families: dict[tuple[str, int], tuple[ClassInfo, ...]] = {}
        self._holding: dict[tuple[str, int], tuple[tuple[str, int], ...]] = {}
        self.stores = AttributeStores(self.key, self._news)
        self._setters: dict[str, list[Function]] | None = None  # by name: what binds it outside of itself
        self._placed_whole: bool | None = None  # whether all of the file is placed, whoever asks
        self._attribute_setters: dict[int, dict[str, list[int]]] = {}
        self._flags = dict(FLAGS)
        self._bound: dict[int, dict[Slot, Value]] = {}
        # The parameters of functions as they are by themselves, and as they were last placed with.
        self._entered: dict[int, list[tuple[Parameter, Value, Value]]] = {}
        self.callers = Callers()
        self._outdated: set[int] = set()  # functions that call what has since been placed anew, with another result
        self._leaning: set[int] = set()  # functions that work on the host
        self._running: list[int] = []
        self._frames: dict[int, Frame] = {}
        self._recursion = project.recursion if project is not None else Recursion()
        self._above: dict[int, tuple[tuple[FilePlacement, int], ...]] = {}
        self._told = False
        self._shared = project.shared if project is not None else Shared()

    def look_up(self) -> None:
        """Find out what is defined where, before anything is placed: that rests on programs alone."""
        self.names = Names(self.program, self.project)
        self.classes: dict[int, ClassInfo] = classes(self.names)

    def flag(self, name: str) -> int:
        """What code has set for all that runs after it: a name of `FLAGS`."""
        return self._flags[name]

    def set_flag(self, name: str, value: int) -> None:
        """See `flag`."""
        self._flags[name] = value

    def run(self) -> None:
        """Place every function: the module, then constructors, then the rest; and again those that read what has come
        to hold something else since."""
        functions = self.program.functions
        order = sorted(functions, key=lambda f: (f.index != 0, f.name not in ("__init__", "setup", "build"), f.index))
        for function in order:
            self.place(function.index)
        self._hear()
        self._place_again([one.index for one in order if one.index in self._outdated])

    def again(self) -> bool:
        """Place those functions again whose callers, placed by now, say what the arguments are that nothing here
        tells; False where there are none."""
        self._told = True
        self._hear()
        stale = sorted(self._stale(self.placed))
        self._place_again(stale)
        return bool(stale)

    def _place_again(self, stale: list[int]) -> None:
        self._outdated.clear()
        for index in stale:
            if self._learns(index):  # what it stored of other arguments is not what it finds there
                self.stores.withdraw(index)
        before = {index: self.placed.pop(index).returns for index in stale}
        for index in stale:
            done = self.place(index)
            if done is not None and not returned_alike(before[index], done.returns):
                for key, caller in sorted(self.callers.callers(index)):
                    owner = self._beside(key)
                    if owner is not None and (key, caller) != (self.key, index):
                        owner._outdated.add(caller)

    def _hear(self) -> None:
        """Mark the functions that read what holds something else since, in attributes that calls of their class give
        among them."""
        for index in self.classes if self._told else ():
            body = self.program.functions[index]
            for slot in sorted(body.annotations):
                told = self.callers.joined(index, slot)
                if told != self._given.get((index, slot)):
                    self._given[index, slot] = told
                    self._news.add((self.key, index, body.slot_names[slot]))
        self._outdated.update(self._readers.behind(self._holders))

    def _holders(self, held: Held) -> tuple[tuple[str, int], ...]:
        """The class or function that holds something, and the bases of a class."""
        place = held[:2]
        known = self._holding.get(place)
        if known is None:
            info = self.info_of(ident(*place))
            family = ((one.key, one.index) for one in self.family(info)) if info is not None else (place,)
            known = self._holding[place] = tuple(family)
        return known

    def ask(self, key: str, index: int, name: str) -> None:
        """Note that the function that is being placed reads an attribute of a class, or a variable of a function."""
        if self._running:
            self._readers.note((key, index, name), self._running[-1])

    def _stale(self, indices: Iterable[int]) -> set[int]:
        """Those of some functions that have to be placed again: their callers tell something new, or what they call or
        read gives something else."""
        return {index for index in indices if index in self._outdated or self._learns(index)}

    def settle(self) -> list[Placed]:
        """Every function placed, as far as what the callers in this file say goes."""
        self.run()
        for _ in range(TURNS):
            if not self.again():
                break
        return self.all()

    def all(self) -> list[Placed]:
        """Every function as it is placed by now."""
        return [self.placed[f.index] for f in self.program.functions]

    def known(self, index: int) -> Placed | None:
        """A function as it is placed by now; None where it was not."""
        return self.placed.get(index)

    def _learns(self, index: int) -> bool:
        """Whether calls tell of the parameters other than what the function was placed with."""
        entered = self._entered.get(index, ())
        return any((self.learnt(index, given, alone) or alone) != placed for given, alone, placed in entered)

    def calls_of(self, index: int) -> dict[Site, dict[str, Reg] | None]:
        """What each known call of a function, or of the methods that it overrides, gives."""
        found = dict(self.callers.calls(index))
        for owner, above in self._overridden(index):
            found.update(owner.callers.calls(above))
        return found

    def told_by_callers(self, index: int, slot: Slot) -> Value | None:
        """What all callers that are placed give for a parameter; None before all were placed once."""
        return self.callers.joined(index, slot) if self._told else None

    def learnt(self, index: int, given: Parameter, value: Value) -> Value | None:
        """A parameter with what its callers tell of its place, those of the methods that it overrides among them;
        None where they add nothing."""
        told = self.told_by_callers(index, given.slot)
        learnt = start.learnt(value, told, given.slot) or start.counted(given, told) if told is not None else None
        if learnt is None and told is not None and self.roles[index].host_side:
            learnt = start.brought(value, told)
        if learnt is not None:
            return learnt
        if self.roles[index].hot and called_by_libraries(self.program.functions[index].name):
            return start.shaped(value, told) if told is not None else None  # libraries call it, who knows with what
        pairs: list[tuple[FilePlacement, int, Slot]] = [(self, index, given.slot)]
        for owner, above in self._overridden(index):
            same = next((one for one in owner.program.functions[above].parameters if one.name == given.name), None)
            told = join(told, owner.told_by_callers(above, same.slot) if same is not None else None)
            pairs += [(owner, above, same.slot)] if same is not None else []
        each = told is not None and all(o.callers.each_hosted(at, s) for o, at, s in pairs)
        if told is None:
            return None
        return start.on_host(value, told, each) or start.same_each_time(value, told) or start.shaped(value, told)

    def _overridden(self, index: int) -> Sequence[tuple[FilePlacement, int]]:
        """The methods of the checked source that a method overrides."""
        known = self._above.get(index)
        if known is None:
            known = self._above[index] = tuple(self._methods_above(index))
        return known

    def _methods_above(self, index: int) -> Iterator[tuple[FilePlacement, int]]:
        function = self.program.functions[index]
        info = self.classes.get(function.parent)
        for above in self.family(info) if info is not None else ():
            found = self.located(above.methods.get(function.name, "")) if above is not info else None
            if found is not None and found != (self, index):
                yield found

    def place(self, index: int) -> Placed | None:
        """The function placed, now if it was not yet; while it is being placed (recursion), what it was the turn
        before, None in the first; None too far down."""
        done = self.placed.get(index)
        if done is not None:
            self._recursion.used(self.key, index)
            return done
        if index in self._running:
            return self._recursion.asked(self.placed, index)
        if self._recursion.deep:
            return None
        self._running.append(index)
        running = self._recursion.begin(self.key, self.placed, index)
        try:
            turn = 1
            done = self._done(index)
            while self._recursion.again(running, done, turn):
                turn += 1
                done = self._done(index)
            self.placed[index] = done
        finally:
            self._recursion.end(running)
            self._running.pop()
            self._frames.pop(index, None)
        return done

    def _done(self, index: int) -> Placed:
        before = self.stores.begin(index)
        done = self._placed(index)
        self.stores.end(index, before)
        return done

    def _placed(self, index: int) -> Placed:
        """The function placed, whatever was known of it."""
        function, role = self.program.functions[index], self.roles[index]
        used = usage(self.names, function)
        while True:
            frame = self._frames[index] = Frame(self, function, used, index in self._leaning)
            self._entered[index] = enter(frame, role)
            solve(frame)
            if frame.leaning or not frame.refuted:
                break
            self._leaning.add(index)
        self._bind(index, self._kept_of(frame.stored) if self.is_read(index) else {})
        for reg, name in sorted(frame.lent):
            if (found := self.located(name)) is not None:
                found[0].callers.called(found[1], (self.key, index, reg), None)
        transfers = sorted(frame.transfers.values(), key=lambda t: t.register)
        if self.tracing is not NOTHING_TRACED:
            transfers = run_on_data(frame, role, transfers)
        values = self._shared.of(frame.values)
        return Placed(
            function, role, values, transfers, frame.returns, frame.calls, frame.handed,
            frozenset(frame.lent) if frame.lent else _NONE_LENT,
            frame.receivers, passed(frame, role, transfers),
            frozenset(frame.compiled) if frame.compiled else NO_REGISTERS, written(frame),
        )  # fmt: skip

    def _bind(self, index: int, values: dict[Slot, Value]) -> None:
        """Keep what a function binds to its variables, as far as others read them."""
        before = self._bound.get(index)
        self._bound[index] = values
        if before is None:
            return
        for slot, value in values.items():
            if value != before.get(slot):
                self._news.add((self.key, index, self.program.functions[index].slot_names[slot]))

    def is_read(self, index: int) -> bool:
        """Whether others can read the variables of a function: of a module, a class, and what functions stand in."""
        return index in self._read

    @functools.cached_property
    def _read(self) -> frozenset[int]:
        functions = self.program.functions
        own = (one.index for one in functions if one.kind in ("module", "class"))
        return frozenset((*own, *(one.parent for one in functions)))

    def _kept_of(self, stored: dict[Slot, Value]) -> dict[Slot, Value]:
        return dict(zip(stored, self._shared.of(list(stored.values())), strict=True))

    def located(self, name: str) -> tuple[FilePlacement, int] | None:
        """The file and the index of a function or class by its ident; None for other names and unknown files."""
        place = split(name)
        owner = self._beside(place[0]) if place is not None else None
        return (owner, place[1]) if place is not None and owner is not None else None

    def _beside(self, key: str) -> FilePlacement | None:
        """A file of the project, this one itself among them."""
        if key == self.key:
            return self
        owner = self.project.placement(key) if self.project is not None else None
        return owner if isinstance(owner, FilePlacement) else None

    def construct(self, info: ClassInfo) -> None:
        """Place what sets a class's attributes up, so that others may ask for them."""
        for name in ("__init__", "setup", "build"):
            own = info.methods.get(name)
            found = self.located(own) if own is not None else None
            if found is not None and found[1] not in found[0]._running:
                found[0].place(found[1])

    def store_all(self, info: ClassInfo, name: str) -> None:
        """Place the methods of a class that store an attribute, in a file of which nobody places the rest."""
        if self._placed_whole is None:
            self._placed_whole = self.project is None or self.key in self.project.entered
        if self._placed_whole:
            return
        if info.index not in self._attribute_setters:
            self._attribute_setters[info.index] = storing_methods(self.program, info.index)
        for method in self._attribute_setters[info.index].get(name, ()):
            if method not in self._running:
                self.place(method)

    def outer(self, function: Function, name: str) -> Value:
        """What a name bound outside of the function holds: the join of all that its owner stores there."""
        bound = find(self.program, function, name)
        if bound is None:
            return self._free(name)
        owner, slot = bound
        self.ask(self.key, owner, name)
        values = self._bound.get(owner)
        if values is None and owner in self._frames:
            values = self._frames[owner].stored  # a call from within: what is bound by now
        if values is None:
            self.place(owner)
            values = self._bound.get(owner, {})
        self._set_up(owner, name)
        elsewhere = self.stores.value(owner, name)
        found = join(values.get(slot), elsewhere)
        if found is not None:
            return kept(found) if owner == 0 and elsewhere is None else found
        made = self.names.bound(owner, slot)
        return Value(NAME, ANYWHERE, name=made) if made else NOTHING

    def _free(self, name: str) -> Value:
        """What a name holds that nothing in the file binds: a builtin's, or one that a star import brings."""
        made = self.names.free(name)
        if made and self.project is not None and "#" not in made and not made.startswith("builtins."):
            brought = self.project.variable(made, self.key)
            if brought is not None:
                return brought
        return Value(NAME, ANYWHERE, name=made) if made else NOTHING

    def global_value(self, slot: Slot) -> Value | None:
        """What the module binds to one of its variables: the join of all it stores there."""
        if 0 in self._running:
            return None
        self.place(0)
        name = self.program.functions[0].slot_names[slot]
        self._set_up(0, name)
        elsewhere = self.stores.value(0, name)
        found = join(self._bound.get(0, {}).get(slot), elsewhere)
        return kept(found) if found is not None and elsewhere is None else found

    def _set_up(self, owner: int, name: str) -> None:
        """Place the functions that bind a variable of the module or of another function (`global`, `nonlocal`), so that
        others may ask for it."""
        if self._setters is None:
            self._setters = binding_outside(self.program)
        for function in self._setters.get(name, ()):
            bound = find(self.program, function, name)
            if bound is not None and bound[0] == owner and function.index not in self._running:
                self.place(function.index)

    def attribute(self, info: ClassInfo, name: str) -> Value | None:
        """What methods of the class, or of its nearest bases, store in `self.name`."""
        self.ask(info.key, info.index, name)
        value: Value | None = None
        for one in self.family(info):
            value = join(value, self._own_attribute(one, name))
        return value

    def _own_attribute(self, info: ClassInfo, name: str) -> Value | None:
        """What methods of the class itself store there."""
        owner = self.located(ident(info.key, info.index))
        if owner is None:
            return None
        if owner[0] is not self or self.stores.value(info.index, name) is None:
            owner[0].construct(info)
        owner[0].store_all(info, name)
        value = owner[0].stores.value(info.index, name)
        slot = owner[0].program.functions[info.index].slots.get(name)
        if slot is not None and name not in info.methods:
            owner[0].place(info.index)
            value = join(value, owner[0]._bound.get(info.index, {}).get(slot))
        body = owner[0].program.functions[info.index]
        if slot in body.annotations:
            value = join(value, owner[0].told_by_callers(info.index, slot))
        text = body.annotations.get(slot, "") if slot is not None else body.declared.get(name, "")
        if text and (value is None or value.is_a(UNKNOWN | HOST_VALUE) or _unfilled(value)):
            value = self._declared(owner[0], body, text) or value
        return value

    @staticmethod
    def _declared(owner: FilePlacement, body: Function, text: str) -> Value | None:
        """What the annotation of a class's attribute says, where that is more than that it is a plain value."""
        found = annotated(owner, body, text, Value(TENSOR, ANYWHERE))
        return found if found is not None and not found.is_a(HOST_VALUE) else None

    def set_attribute(self, info: ClassInfo, name: str, value: Value) -> None:
        """Note that `self.name` holds nothing but a value from now on."""
        self.stores.set(self._storing(), (info.index, name), value)

    def store_attribute(self, info: ClassInfo, name: str, value: Value) -> None:
        """Note that a method stores a value in `self.name`."""
        clean = value.foreign()
        if info.module and clean.is_a(TENSOR) and clean.on_host:
            clean = clean.but(flags=clean.flags | PLAIN)
        if self.program.functions[self._storing()].name in _CONSTRUCTORS:
            clean = kept(clean)
        self.store(info.index, name, clean)

    def store_outer(self, function: Function, name: str, value: Value) -> None:
        """Note what a function binds to a variable of the module, or of a function that it stands in."""
        bound = find(self.program, function, name)
        if bound is not None:
            self.store(bound[0], name, value.foreign())

    def store(self, index: int, name: str, value: Value) -> None:
        """Note what is stored in an attribute of a class, or in a variable of a function."""
        self.stores.store(self._storing(), (index, name), value)

    def _storing(self) -> int:
        return self._running[-1] if self._running else 0


def _unfilled(value: Value) -> bool:
    """True for a container of whose items little is known."""
    item = value.item
    return value.is_a(CONTAINER) and (item is None or bool(item.kinds & UNKNOWN and not item.kinds & TENSOR))


def made_functions(program: Program) -> dict[int, tuple[Function, Reg]]:
    """Where each function comes into being: function index to (owner, register of its Make)."""
    return {
        made.function: (owner, reg)
        for owner in program.functions
        for reg in owner.lookup.of(Make)
        if isinstance(made := owner.code[reg], Make)
    }
