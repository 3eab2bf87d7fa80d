"""One function under analysis: its values, its variables at the point being looked at, and what was recorded."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from transferlint import late
from transferlint.flow.lattice.transfers import Transfer
from transferlint.flow.lattice.values import NOTHING, ON_DEVICE, Value, join
from transferlint.flow.placement.narrowing import Place, Told, passed, refined
from transferlint.flow.placement.usage import Usage
from transferlint.model import Direction, Level
from transferlint.syntax.program import (
    Attr,
    Call,
    Const,
    Function,
    Instruction,
    Load,
    Outer,
    Reg,
    Slot,
    Subscript,
)

if TYPE_CHECKING:
    from transferlint.flow.placement.placed_file import PlacedFile


@late.dataclass(slots=True)
class State:
    """The variables at one point: a value a slot (None: not bound yet), and values of paths such as "self.x"."""

    slots: list[Value | None]
    paths: dict[str, Value]

    def copy(self) -> State:
        """A state that can be written without changing this one."""
        return State(list(self.slots), dict(self.paths))

    def merge(self, other: State) -> bool:
        """Join the other state into this one; True where that changed anything."""
        changed = False
        slots = self.slots
        for slot, value in enumerate(other.slots):
            mine = slots[slot]
            if mine is value:
                continue
            both = join(mine, value)
            if both is not mine and both != mine:
                slots[slot] = both
                changed = True
        for path in list(self.paths):
            value = other.paths.get(path)
            if value is None:
                del self.paths[path]
                changed = True
            elif value is not self.paths[path]:
                both = join(self.paths[path], value)
                if both is not None and both != self.paths[path]:
                    self.paths[path] = both
                    changed = True
        return changed


class Frame:
    """The analysis of one function in progress.

    `values[r]` is what register r holds, `transfers` what was recorded (by register and kind, so that a second look
    overwrites the first), `calls` the functions of the checked source that a register calls, `handed` those that it
    hands to what will call them, and how often that does, `lent` those that it passes to anything else,
    `compiled` the calls of what a framework compiled, `receivers` the class (ident) of the object whose method a
    register calls. `leaning`: the function works on the host, so that what it uses as tensors is not taken to be on the
    device for that; `refuted`: something was that is shown to be on the host; `runs`: it calls what is compiled.
    """

    def __init__(self, file: PlacedFile, function: Function, usage: Usage, leaning: bool = False) -> None:
        self.file = file
        self.function = function
        self.usage = usage
        self.code: list[Instruction] = function.code
        self.values: list[Value] = [NOTHING] * len(function.code)
        self.state = State([None] * len(function.slot_names), {})
        self.transfers: dict[tuple[Reg, str], Transfer] = {}
        self.calls: dict[Reg, str] = {}
        self.handed: dict[tuple[Reg, str], Level] = {}
        self.lent: set[tuple[Reg, str]] = set()
        self.receivers: dict[Reg, str] = {}
        self.compiled: set[Reg] = set()
        self.runs = False
        self.returns: Value | None = None
        self.stored: dict[int, Value] = {}
        self.entries: dict[str, Value] = {}  # by path: what is stored in mappings of which nothing is known
        self.region = 0
        self.leaning = leaning
        self.refuted = False
        self.narrowed = usage.narrowed
        self._tested = {place for facts in self.narrowed.values() for place in facts}
        self.passed = passed(file.names, function)
        self._paths: dict[Reg, str] = {}

    def around(self, region: int) -> Iterator[int]:
        """The region and those around it, innermost first, without the body."""
        while region > 0:
            yield region
            region = self.function.regions[region].parent

    def told(self, reg: Reg, place: Place) -> Told | None:
        """What the tests around a register say of a variable or an attribute of one; None where they say nothing."""
        for number in self.around(self.region) if place in self._tested else ():
            told, until = self.narrowed.get(number, {}).get(place, (None, 0))
            if told is not None and reg < until:
                return told
        return None

    def show(self, facts: list[tuple[Slot, Told]]) -> None:
        """Narrow the variables by what is shown of them from here on."""
        for slot, told in facts:
            value = self.state.slots[slot]
            if value is not None:
                self.state.slots[slot] = refined(value, told)

    def path(self, reg: Reg) -> str:
        """The path an expression spells ("self.x", "batch['a']"), "" where it is none."""
        known = self._paths.get(reg)
        if known is None:
            known = self._paths[reg] = self._spell(reg)
        return known

    def _spell(self, reg: Reg) -> str:
        instruction = self.code[reg]
        if isinstance(instruction, Load):
            return self.function.slot_names[instruction.slot]
        if isinstance(instruction, Outer):
            return "^" + instruction.name
        if isinstance(instruction, Attr):
            base = self.path(instruction.object)
            return f"{base}.{instruction.name}" if base else ""
        if isinstance(instruction, Subscript):
            index = self.code[instruction.index]
            base = self.path(instruction.object)
            if base and isinstance(index, Const) and isinstance(index.value, str | int):
                return f"{base}[{index.value!r}]"
        return ""

    def last_name(self, reg: Reg) -> str:
        """The last identifier of an expression: "device" of `self.device`, of `args["device"]` and of
        `get_device()`."""
        instruction = self.code[reg]
        if isinstance(instruction, Load):
            return self.function.slot_names[instruction.slot]
        if isinstance(instruction, Outer):
            return instruction.name
        if isinstance(instruction, Attr):
            return instruction.name
        if isinstance(instruction, Call):
            return self.last_name(instruction.function)
        if isinstance(instruction, Subscript):
            index = self.code[instruction.index]
            if isinstance(index, Const) and isinstance(index.value, str):
                return index.value
            return self.last_name(instruction.object)
        return ""

    def forget(self, path: str) -> None:
        """Drop what is known of a path's parts: the path was bound anew."""
        paths = self.state.paths
        for known in [p for p in paths if p.startswith((path + ".", path + "["))]:
            del paths[known]
        for known in [p for p in self.entries if p.startswith(path + "[")]:
            del self.entries[known]

    def rebind(self, path: str, value: Value) -> None:
        """Give a variable or path a changed value."""
        slot = self.function.slots.get(path)
        if slot is not None and "." not in path:
            self.state.slots[slot] = value
            known = join(self.stored.get(slot), value)
            if known is not None:
                self.stored[slot] = known
            return
        self.state.paths[path] = value
        info = self.file.class_of(self.function)
        if path.startswith("self.") and path.count(".") == 1 and "[" not in path and info is not None:
            self.file.store_attribute(info, path[5:], value)

    def written(self, path: str, value: Value, lost: int) -> None:
        """A variable or path keeps its value but for some flags, as its memory is written to. What is noted of an
        attribute must not depend on whether it had them: it has lost them the next time."""
        left = value.but(flags=value.flags & ~lost)
        if path.startswith("self.") or value.flags & lost:
            self.rebind(path, left)
        if path.startswith("^") and "." not in path and "[" not in path:
            self.file.store_outer(self.function, path[1:], left)

    def record(
        self,
        reg: Reg,
        kind: str,
        subject: Reg | None,
        before: Value,
        places: int,
        api: str,
        explicit: bool = True,
        non_blocking: bool = False,
        direction: Direction | None = None,
        inside: tuple[str, int, Reg] | None = None,
    ) -> None:
        """Note a transfer; its direction follows from the places unless given."""
        if direction is None:
            if places & ON_DEVICE:
                direction = Direction.D2D if before.places and not before.places & ~ON_DEVICE else Direction.H2D
            else:
                direction = Direction.D2H
        self.transfers[reg, kind] = Transfer(
            reg, kind, direction, subject, before, places, api, explicit, non_blocking, inside
        )

    def dotted(self, reg: Reg) -> str:
        """The qualified name an expression stands for, "" where it is none."""
        return self.file.names.dotted(self.function, reg)
