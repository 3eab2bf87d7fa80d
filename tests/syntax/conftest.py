"""What the tests of the syntax stage share: lowering a snippet and looking into what came out."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from typing import Any

import libcst as cst
import pytest

from transferlint.syntax import program as p
from transferlint.syntax.lower import lower


class Lowered:
    """A snippet's program, with short ways to ask about one of its functions (the module by default)."""

    def __init__(self, source: str, function: int = 0) -> None:
        self.source = textwrap.dedent(source)
        self.tree = cst.parse_module(self.source)
        self.program = lower(self.tree, "snippet.py")
        self.function = self.program.functions[function]

    def at(self, function: int) -> Lowered:
        self.function = self.program.functions[function]
        return self

    def all(self, kind: type) -> list[Any]:
        return [instruction for instruction in self.function.code if type(instruction) is kind]

    def one(self, kind: type) -> Any:
        (found,) = self.all(kind)
        return found

    def reg(self, instruction: Any) -> int:
        (found,) = [r for r, other in enumerate(self.function.code) if other is instruction]
        return found

    def block(self, reg: int) -> int:
        (found,) = [i for i, block in enumerate(self.function.blocks) if block.start <= reg < block.end]
        return found

    def region(self, instruction: Any) -> p.Region:
        return self.function.regions[self.function.blocks[self.block(self.reg(instruction))].region]

    def kinds(self, instruction: Any) -> list[str]:
        """The kinds of the regions around an instruction, innermost first."""
        block = self.function.blocks[self.block(self.reg(instruction))]
        return [region.kind for region in self.function.ancestors(block.region)]

    def call(self, name: str) -> p.Call:
        """The one call of an outer or local name."""
        found = []
        for instruction in self.function.code:
            if type(instruction) is p.Call and self.name(instruction.function) == name:
                found.append(instruction)
        (call,) = found
        return call

    def name(self, reg: int) -> str:
        instruction = self.function.code[reg]
        if type(instruction) is p.Outer:
            return instruction.name
        return self.function.slot_names[instruction.slot] if type(instruction) is p.Load else ""

    def text(self, reg: int) -> str:
        return self.tree.code_for_node(self.function.nodes[reg])

    def reaches(self, start: Any, goal: Any) -> bool:
        """Whether control can go from one instruction's block to another's, by at least one edge."""
        target = self.block(self.reg(goal))
        waiting = list(self.function.blocks[self.block(self.reg(start))].successors)
        seen: set[int] = set()
        while waiting:
            block = waiting.pop()
            if block == target:
                return True
            if block not in seen:
                seen.add(block)
                waiting.extend(self.function.blocks[block].successors)
        return False


@pytest.fixture
def lowered() -> Callable[..., Lowered]:
    return Lowered
