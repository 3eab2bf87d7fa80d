"""What a loop does not change: expressions whose parts are all bound outside of it and not written inside."""

from __future__ import annotations

from typing import TYPE_CHECKING

from transferlint.flow.dataflow.once import once
from transferlint.flow.sharing import path
from transferlint.flow.writes import Writes
from transferlint.knowledge.api import Effect
from transferlint.knowledge.catalogue import effects
from transferlint.knowledge.frameworks import known, row_of
from transferlint.syntax import program as p
from transferlint.syntax.program import Reg

if TYPE_CHECKING:
    from transferlint.flow.facts import FunctionFacts

_MAKERS = frozenset({Effect.FILL, Effect.DATA, Effect.NAME_DEVICE, Effect.ARRAY})
_UPLOADS = frozenset({Effect.DATA, Effect.SEND})  # of another framework: the same data gives the same array
_METHODS = frozenset({Effect.KEEP, Effect.MOVE, Effect.CUDA, Effect.COPY, Effect.NUMPY})
_RANDOM = frozenset({"torch.rand", "torch.randn", "torch.randint", "torch.randperm", "torch.empty"})
_RANDOM_METHODS = frozenset({"bernoulli", "multinomial"})


class Invariance:
    """What one loop (a region of a function) leaves alone."""

    def __init__(self, function: FunctionFacts, region: int) -> None:
        self._function = function
        inside = (function.function.blocks[number] for number in function.function.lookup.blocks(region))
        self.writes = Writes(function, [reg for b in inside for reg in range(b.start, b.end)])

    def holds(self, reg: Reg, makes: bool = False) -> bool:
        """True where the expression has the same value in every turn of the loop and reading it changes nothing.
        `makes`: calls that make a tensor from constants count too."""
        at = path(self._function, reg)
        if at is not None:
            return not self.writes.changed(at) and self._indices(reg, makes)
        made = self._function.code[reg]
        if isinstance(made, p.Const):
            return True
        if isinstance(made, p.Attr):
            return self.holds(made.object, makes)
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
        if isinstance(made, p.Compare | p.Boolean):
            return all(self.holds(r, makes) for r in made.operands)
        if isinstance(made, p.Call):
            return self._call(made, makes)
        return False

    def _indices(self, reg: Reg, makes: bool) -> bool:
        """True where every index along a path holds."""
        made = self._function.code[reg]
        while isinstance(made, p.Attr | p.Subscript):
            if isinstance(made, p.Subscript) and not self.holds(made.index, makes):
                return False
            made = self._function.code[made.object]
        return True

    def _call(self, made: p.Call, makes: bool) -> bool:
        values = [*made.args, *(r for _, r in made.keywords)]
        if not all(self.holds(r, makes) for r in values):
            return False
        names = self._function.file.placement.names
        name = names.dotted(self._function.function, made.function)
        table = effects()
        framework = known(name) if name else None
        if framework is not None:
            row = row_of(*framework)
            return row is not None and row.effect in _UPLOADS
        if name:
            return name not in _RANDOM and (makes or name == "torch.device") and table.get(name) in _MAKERS
        callee = self._function.code[made.function]
        if isinstance(callee, p.Attr) and callee.name not in _RANDOM_METHODS:
            return table.get(f"Tensor.{callee.name}") in _METHODS and self.holds(callee.object, makes)
        return False


@once
def invariance(function: FunctionFacts, region: int) -> Invariance:
    """What a loop of a function leaves alone."""
    return Invariance(function, region)
