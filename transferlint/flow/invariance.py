"""What a loop does not change: expressions whose parts are all bound outside of it and not written inside."""

from __future__ import annotations

from typing import TYPE_CHECKING

from transferlint.knowledge.api import Effect
from transferlint.knowledge.catalogue import effects
from transferlint.syntax import program as p
from transferlint.syntax.program import Reg

if TYPE_CHECKING:
    from transferlint.flow.facts import FunctionFacts

_MAKERS = frozenset({Effect.FILL, Effect.DATA, Effect.NAME_DEVICE, Effect.ARRAY})
_METHODS = frozenset({Effect.KEEP, Effect.MOVE, Effect.CUDA, Effect.COPY, Effect.NUMPY})
_RANDOM = frozenset({"torch.rand", "torch.randn", "torch.randint", "torch.randperm"})


class Invariance:
    """What one loop (a region of a function) leaves alone."""

    def __init__(self, function: FunctionFacts, region: int) -> None:
        self._function = function
        self._slots: set[int] = set()
        self._written: set[str] = set()
        self._attributes: set[str] = set()
        self._outer: set[str] = set()
        code = function.code
        for block in function.function.blocks:
            if not _within(function, block.region, region):
                continue
            for reg in range(block.start, block.end):
                self._note(code[reg])

    def _note(self, made: p.Instruction) -> None:
        if isinstance(made, (p.Store, p.Delete)):
            self._slots.add(made.slot)
        elif isinstance(made, p.StoreOuter):
            self._outer.add(made.name)
        elif isinstance(made, p.SetAttr):
            self._attributes.add(made.name)
            self._written.add(self._path(made.object))
        elif isinstance(made, p.SetItem):
            self._written.add(self._path(made.object))
        elif isinstance(made, p.Call):
            callee = self._function.code[made.function]
            if isinstance(callee, p.Attr) and (callee.name.endswith("_") and not callee.name.endswith("__")):
                self._written.add(self._path(callee.object))

    def _path(self, reg: Reg) -> str:
        made = self._function.code[reg]
        if isinstance(made, p.Load):
            return self._function.function.slot_names[made.slot]
        if isinstance(made, p.Outer):
            return "^" + made.name
        if isinstance(made, p.Attr):
            return f"{self._path(made.object)}.{made.name}"
        if isinstance(made, p.Subscript):
            return self._path(made.object)
        return "?"

    def holds(self, reg: Reg, makes: bool = False) -> bool:
        """True where the expression has the same value in every turn of the loop and reading it changes nothing.
        `makes`: calls that make a tensor from constants count too."""
        made = self._function.code[reg]
        if isinstance(made, p.Const):
            return True
        if isinstance(made, p.Load):
            name = self._function.function.slot_names[made.slot]
            return made.slot not in self._slots and name not in self._written
        if isinstance(made, p.Outer):
            return made.name not in self._outer and "^" + made.name not in self._written
        if isinstance(made, p.Attr):
            return (
                made.name not in self._attributes
                and self._path(reg) not in self._written
                and self.holds(made.object, makes)
            )
        if isinstance(made, p.Subscript):
            return self.holds(made.object, makes) and self.holds(made.index, makes)
        if isinstance(made, p.Sequence):
            return all(self.holds(r, makes) for r in made.items)
        if isinstance(made, p.Slice):
            return all(self.holds(r, makes) for r in (made.lower, made.upper, made.step) if r is not None)
        if isinstance(made, p.Binary):
            return not made.inplace and self.holds(made.left, makes) and self.holds(made.right, makes)
        if isinstance(made, p.Unary):
            return self.holds(made.operand, makes)
        if isinstance(made, p.Call):
            return self._call(made, makes)
        return False

    def _call(self, made: p.Call, makes: bool) -> bool:
        values = [*made.args, *(r for _, r in made.keywords)]
        if not all(self.holds(r, makes) for r in values):
            return False
        names = self._function.file.placement.names
        name = names.dotted(self._function.function, made.function)
        table = effects()
        if name:
            return name not in _RANDOM and (makes or name == "torch.device") and table.get(name) in _MAKERS
        callee = self._function.code[made.function]
        if isinstance(callee, p.Attr):
            return table.get(f"Tensor.{callee.name}") in _METHODS and self.holds(callee.object, makes)
        return False


def _within(function: FunctionFacts, region: int, ancestor: int) -> bool:
    while region > 0 and region != ancestor:
        region = function.function.regions[region].parent
    return region == ancestor
