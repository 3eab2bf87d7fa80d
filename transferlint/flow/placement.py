"""Where every value of a file lives: the fixed point over each function, and what functions know of each other.

Within a function a worklist runs over the blocks until nothing changes; every instruction has one transfer function,
here or (for calls) in `calls`. Functions of one file share: what the module binds, what methods store in `self`, and
what each returns. A function is analysed when it is first asked for; one that is being analysed already answers with
nothing known.
"""

from __future__ import annotations

import dataclasses

from transferlint.flow import operations, start
from transferlint.flow.frame import Frame, State
from transferlint.flow.names import ClassInfo, Names, classes, find
from transferlint.flow.options import AnalysisOptions
from transferlint.flow.roles import Role, role_of
from transferlint.flow.transfers import Transfer
from transferlint.flow.usage import usage
from transferlint.flow.values import MODULE, NAME, NOTHING, OBJECT, PLAIN, TENSOR, UNKNOWN, Value, join
from transferlint.syntax.program import Function, Make, Program, Reg, Slot

_ROUNDS = 12
_NEST = 24


@dataclasses.dataclass(slots=True)
class Placed:
    """One function, placed: values by register, transfers in order, what it returns, which functions of the file it
    calls (by the register of the call)."""

    function: Function
    role: Role
    values: list[Value]
    transfers: list[Transfer]
    returns: Value | None
    calls: dict[Reg, int]


class FilePlacement:
    """The placement of one file. `run()` gives every function placed; the rest serves the transfer functions."""

    def __init__(self, program: Program, options: AnalysisOptions) -> None:
        self.program = program
        self.names = Names(program)
        self.classes: dict[int, ClassInfo] = classes(self.names)
        self.roles: list[Role] = [role_of(self, f, options) for f in program.functions]
        self.placed: dict[int, Placed] = {}
        self.attributes: dict[int, dict[str, Value]] = {index: {} for index in self.classes}
        self.default_places = 0
        self._bound: dict[int, dict[Slot, Value]] = {}
        self._running: list[int] = []
        self._changed: set[int] = set()

    def run(self) -> list[Placed]:
        """Place every function: the module, then constructors, then the rest; methods whose class learnt more of its
        attributes after they were placed are placed again."""
        functions = self.program.functions
        order = sorted(functions, key=lambda f: (f.index != 0, f.name not in ("__init__", "setup", "build"), f.index))
        for function in order:
            self.place(function.index)
        if self._changed:
            stale = [f for f in order if self._class_of(f) in self._changed and f.name != "__init__"]
            for function in stale:
                self.placed.pop(function.index, None)
            for function in stale:
                self.place(function.index)
        return [self.placed[f.index] for f in functions]

    def place(self, index: int) -> Placed | None:
        """The function placed, now if it was not yet; None while it is being placed (recursion) or too deep."""
        done = self.placed.get(index)
        if done is not None or index in self._running or len(self._running) > _NEST:
            return done
        self._running.append(index)
        try:
            function = self.program.functions[index]
            frame = Frame(self, function, usage(self.names, function))
            _enter(frame, self.roles[index])
            _fixed_point(frame)
            self._bound[index] = frame.stored
            transfers = sorted(frame.transfers.values(), key=lambda t: t.register)
            done = Placed(function, self.roles[index], frame.values, transfers, frame.returns, frame.calls)
            self.placed[index] = done
        finally:
            self._running.pop()
        return done

    def _class_of(self, function: Function) -> int:
        at = function
        while at.parent >= 0:
            if at.parent in self.classes:
                return at.parent
            at = self.program.functions[at.parent]
        return -1

    def class_of(self, function: Function) -> ClassInfo | None:
        """The class whose `self` the function (or the method it stands in) sees."""
        return self.classes.get(self._class_of(function))

    def outer(self, function: Function, name: str) -> Value:
        """What a name bound outside of the function holds: the join of all that its owner stores there."""
        bound = find(self.program, function, name)
        if bound is None:
            return Value(NAME, 1, name="builtins." + name)
        owner, slot = bound
        values = self._bound.get(owner)
        if values is None and owner in self._running:
            made = self.names.bound(owner, slot)
            return Value(NAME, 1, name=made) if made else NOTHING
        if values is None:
            self.place(owner)
            values = self._bound.get(owner, {})
        found = values.get(slot)
        if found is not None:
            return found
        made = self.names.bound(owner, slot)
        return Value(NAME, 1, name=made) if made else NOTHING

    def attribute(self, info: ClassInfo, name: str) -> Value | None:
        """What methods of the class, or of its bases in the file, store in `self.name`."""
        value = self.attributes[info.index].get(name)
        for base in info.bases:
            if base.startswith("local:") and int(base[6:]) in self.classes and int(base[6:]) != info.index:
                value = join(value, self.attributes[int(base[6:])].get(name))
        return value

    def store_attribute(self, info: ClassInfo, name: str, value: Value) -> None:
        """Note that a method stores a value in `self.name`."""
        known = self.attributes[info.index].get(name)
        clean = Value(value.kinds, value.places, value.flags, (), value.item, value.items, value.name)
        if info.module and clean.is_a(TENSOR) and clean.on_host:
            clean = clean.but(flags=clean.flags | PLAIN)
        both = join(known, clean)
        if both is not None and both != known:
            self.attributes[info.index][name] = both
            self._changed.add(info.index)


def _enter(frame: Frame, role: Role) -> None:
    """Bind the parameters."""
    function = frame.function
    info = frame.file.class_of(function)
    for number, given in enumerate(function.parameters):
        value = start.parameter(frame, given, role.host_side, role.tensors_in)
        if number == 0 and info is not None and function.parent == info.index and function.kind == "function":
            if given.name in ("self", "cls", "mcs") or "staticmethod" not in function.decorators:
                value = Value(OBJECT | (MODULE if info.module else 0), 8, name=f"local:{info.index}")
        elif given.name == "self":
            value = Value(OBJECT | UNKNOWN, 8)
        frame.state.slots[given.slot] = value
        frame.stored[given.slot] = value


def _fixed_point(frame: Frame) -> None:
    """Run the blocks until the states at their starts no longer grow."""
    blocks = frame.function.blocks
    if not blocks:
        return
    states: list[State | None] = [None] * len(blocks)
    states[0] = frame.state
    visits = [0] * len(blocks)
    work = [0]
    waiting = {0}
    code = frame.code
    handlers = operations.HANDLERS
    while work:
        number = min(work)  # blocks are in program order: the earliest first keeps loops from being revisited in vain
        work.remove(number)
        waiting.discard(number)
        block = blocks[number]
        begin = states[number]
        assert begin is not None
        frame.state = begin.copy()
        frame.region = block.region
        visits[number] += 1
        for reg in range(block.start, block.end):
            instruction = code[reg]
            frame.values[reg] = handlers[type(instruction)](frame, reg, instruction)
        for follower in block.successors:
            known = states[follower]
            if known is None:
                states[follower] = frame.state.copy()
                changed = True
            else:
                changed = known.merge(frame.state) and visits[follower] < _ROUNDS
            if changed and follower not in waiting:
                waiting.add(follower)
                work.append(follower)


def made_functions(program: Program) -> dict[int, tuple[Function, Reg]]:
    """Where each function comes into being: function index to (owner, register of its Make)."""
    return {
        made.function: (owner, reg)
        for owner in program.functions
        for reg, made in enumerate(owner.code)
        if isinstance(made, Make)
    }
