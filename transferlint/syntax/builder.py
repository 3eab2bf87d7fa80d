"""A function of the program while it is being written: its code, its open block, the regions around it.

The lowering of statements and expressions (`statements.py`, `expressions.py`, ...) calls into one `Builder` a function.
A builder is always in a block and in a region, and `left` says whether control can still be here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from transferlint.syntax.program import (
    Function,
    Instruction,
    Load,
    Outer,
    Program,
    Reg,
    Slot,
    Store,
    StoreOuter,
)
from transferlint.syntax.regions import Block, Region

if TYPE_CHECKING:
    ExpressionLowering = Callable[["Builder", Any], Reg]
    StatementLowering = Callable[["Builder", Any], None]


class Table(dict[type, Any]):
    """A dispatch table by node type; what it does not know goes to `otherwise`. `line` is the type of nodes that hold
    several simple statements in their `body`, where the tree has such."""

    def __init__(self, entries: dict[type, Any], otherwise: Any, line: type | None = None) -> None:
        super().__init__(entries)
        self.otherwise = otherwise
        self.line = line

    def __missing__(self, kind: type) -> Any:
        return self.otherwise


class Loop:
    """An open loop: where `continue` goes, and the blocks that end with `break`."""

    __slots__ = ("breaks", "header")

    def __init__(self, header: int) -> None:
        self.header = header
        self.breaks: list[int] = []


class Builder:
    """One function under construction.

    `slots` maps the names that are visible now to their slots: the function's own, and within a comprehension its
    targets, which shadow them. `captured` maps names to the unique ones under which a lambda in a comprehension reads
    the targets of that comprehension. `left` is "" while control can be here, else how it left: "return", "raise",
    "break" or "continue". `guard` is the region for what follows an `if` whose only arm left.
    """

    __slots__ = (
        "block", "captured", "code", "declared_outer", "expressions", "function", "guard", "left", "loops", "nodes",
        "pending", "program", "region", "slots", "statements", "targets",
    )  # fmt: skip

    def __init__(
        self, program: Program, function: Function, statements: Table, expressions: Table, captured: dict[str, str]
    ) -> None:
        self.program = program
        self.function = function
        self.statements = statements
        self.expressions = expressions
        self.captured = captured
        self.code: list[Instruction] = function.code
        self.nodes: list[Any] = function.nodes
        self.slots: dict[str, Slot] = function.slots
        self.declared_outer: set[str] = set()
        self.pending: list[Reg] = []
        self.targets: list[dict[str, Slot]] = []
        self.loops: list[Loop] = []
        self.left = ""
        self.guard: Region | None = None
        function.regions.append(Region("body", -1, None, function.node))
        function.blocks.append(Block(0, 0, [], 0))
        self.region = 0
        self.block = 0

    def emit(self, instruction: Instruction, node: Any) -> Reg:
        """Append an instruction; its register."""
        self.code.append(instruction)
        self.nodes.append(node)
        return len(self.code) - 1

    def open(self, region: int, *sources: int) -> int:
        """End the open block and go on in a new one in `region`, reached from `sources`; its index."""
        blocks = self.function.blocks
        end = len(self.code)
        blocks[self.block].end = end
        new = len(blocks)
        blocks.append(Block(end, end, [], region))
        for source in sources:
            blocks[source].successors.append(new)
        self.block = new
        self.region = region
        self.left = ""
        return new

    def link(self, sources: Iterable[int], target: int) -> None:
        """Add edges to a block that is there already."""
        blocks = self.function.blocks
        for source in sources:
            successors = blocks[source].successors
            if target not in successors:
                successors.append(target)

    def add_region(self, kind: str, test: Reg | None, node: Any, parent: int) -> int:
        """A new region within `parent`; its index."""
        regions = self.function.regions
        regions.append(Region(kind, parent, test, node))
        return len(regions) - 1

    def suite(self, body: Any) -> None:
        """`run` for a suite of LibCST."""
        self.run(body.body)

    def run(self, statements: Iterable[Any]) -> None:
        """Lower statements in the present region, and leave the region as it was, with `left` set. Statements after one
        that always leaves are lowered into a block nothing leads to."""
        region = self.region
        table = self.statements
        line: Any = table.line
        left = ""
        self.guard = None
        for statement in statements:
            if self.left:
                left = left or self.left
                self.open(self.region)
            elif (guard := self._waiting()) is not None:
                self._enter_guard(guard)
            if type(statement) is line:
                for small in statement.body:
                    if self.left:
                        left = left or self.left
                        self.open(self.region)
                    table[type(small)](self, small)
            else:
                table[type(statement)](self, statement)
        self.guard = None
        self.left = left or self.left
        regions = self.function.regions
        while self.region != region:
            regions[self.region].leaves = self.left
            self.region = regions[self.region].parent
        regions[region].leaves = self.left

    def _waiting(self) -> Region | None:
        """The guard, which what was lowered since may have set; a type checker would hold that it is still None."""
        return self.guard

    def _enter_guard(self, guard: Region) -> None:
        """The rest of the suite stands in the other arm of an `if` that left; the open block is its first."""
        regions = self.function.regions
        regions.append(guard)
        self.region = len(regions) - 1
        self.function.blocks[self.block].region = self.region
        self.guard = None

    def join(self, ends: list[tuple[int, str]], region: int) -> None:
        """Go on in `region` after arms that ended in these blocks, each with how it left ("" where it fell through)."""
        falling = [block for block, left in ends if not left]
        if falling:
            self.open(region, *falling)
        else:
            self.region = region
            # Only what always raises raises: of several ways out, the last that is an ordinary one.
            self.left = next((left for _, left in reversed(ends) if left != "raise"), "raise")

    def slot(self, name: str) -> Slot:
        """The slot of a variable of this function, made where it is new."""
        slot = self.slots.get(name)
        if slot is None:
            slot = self.fresh(name)
            self.slots[name] = slot
        return slot

    def fresh(self, name: str) -> Slot:
        """A new slot that no name leads to yet."""
        names = self.function.slot_names
        names.append(name)
        return len(names) - 1

    def bind(self, name: str, value: Reg, node: Any) -> None:
        """Store to a variable, or to the outer one where the function declares it so."""
        if name in self.declared_outer:
            self.emit(StoreOuter(name, value), node)
        else:
            self.emit(Store(self.slot(name), value), node)

    def finish(self) -> None:
        """Close the last block, and turn reads of names that were bound further down into reads of the variable.

        A name bound anywhere in a function is local everywhere in it; a class body instead looks outside until the
        name is bound (docs.python.org, execution model, 'Resolution of names'), so its reads stay.
        """
        function = self.function
        function.blocks[self.block].end = len(self.code)
        if function.kind == "class":
            return
        slots = function.slots
        code = self.code
        for reg in self.pending:
            instruction = code[reg]
            if type(instruction) is Outer:
                slot = slots.get(instruction.name)
                if slot is not None:
                    code[reg] = Load(slot)
