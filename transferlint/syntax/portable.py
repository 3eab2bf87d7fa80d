"""Programs without their tree: small enough to keep a whole project's, and fit to go from one process to another.

A *frozen* program has offsets `(start, end)` where a program has tree nodes (`nodes[r]`, `Region.node`,
`Function.node`); `FrozenSpans` answers for them what `Spans` answers for nodes. Offsets are those of `Spans.of`:
0-based code points, ends exclusive.

`pack` and `unpack` are for the same Python and the same transferlint: the bytes hold no version (who keeps them, as
`cache.py` does, sees to that). `marshal` makes and reads plain tuples several times as fast as `pickle` makes
and reads objects (docs.python.org, library/marshal).
"""

from __future__ import annotations

import array
import marshal
import typing
from collections.abc import Iterable, Iterator, Sequence
from operator import attrgetter
from typing import Any, NamedTuple

from transferlint import late
from transferlint.syntax import collector
from transferlint.syntax import program as p
from transferlint.syntax.positions import Positions
from transferlint.syntax.program import Function, Parameter, Program
from transferlint.syntax.regions import Block, Region

if typing.TYPE_CHECKING:
    from transferlint.syntax.spans import Spans

_NO_NODE = -1


class Shift(NamedTuple):
    """How offsets of a text become those of another: what stood before `end` stays, what ended there ends at `to`, and
    what stood behind stands `by` further on."""

    end: int
    to: int
    by: int

    def of(self, at: int) -> int:
        """An offset."""
        return at if at < self.end else at + self.by if at > self.end else self.to

    def span(self, node: tuple[int, int] | None) -> tuple[int, int] | None:
        """Those of a node."""
        return None if node is None else (self.of(node[0]), self.of(node[1]))


class Offsets:
    """The nodes of a frozen function, a pair of offsets (or None) for each register: as numbers, which take a tenth of
    what a list of pairs does."""

    __slots__ = ("_flat",)

    def __init__(self, flat: array.array[int]) -> None:
        self._flat = flat

    @classmethod
    def of(cls, nodes: Iterable[tuple[int, int] | None]) -> Offsets:
        """Those of some nodes."""
        flat = array.array("i")
        for node in nodes:
            flat.extend(node or (_NO_NODE, _NO_NODE))
        return cls(flat)

    @classmethod
    def from_bytes(cls, data: bytes) -> Offsets:
        """Those that `bytes()` was asked for. Raises ValueError for other bytes."""
        flat = array.array("i")
        flat.frombytes(data)
        if len(flat) % 2:
            raise ValueError("half of a pair")
        return cls(flat)

    def moved(self, shift: Shift) -> Offsets:
        """Those of the same nodes in another text."""
        end, to, by = shift
        flat = [at if at < end else at + by if at > end else to for at in self._flat]
        return Offsets(array.array("i", flat))

    def replaced(self, first: int, end: int, other: Offsets) -> Offsets:
        """The same with those of others from `first` up to `end`."""
        flat = self._flat[:]
        flat[2 * first : 2 * end] = other._flat[2 * first : 2 * end]
        return Offsets(flat)

    def __bytes__(self) -> bytes:
        return self._flat.tobytes()

    def __len__(self) -> int:
        return len(self._flat) // 2

    def __getitem__(self, reg: int) -> tuple[int, int] | None:
        start = self._flat[2 * reg]
        return (start, self._flat[2 * reg + 1]) if start >= 0 else None

    def __iter__(self) -> Iterator[tuple[int, int] | None]:
        numbers = iter(self._flat)
        return (pair if pair[0] >= 0 else None for pair in zip(numbers, numbers, strict=True))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Offsets) and self._flat == other._flat

    def __hash__(self) -> int:
        return hash(bytes(self))

    def __repr__(self) -> str:
        return repr(list(self))


class FrozenSpans(Positions):
    """`Spans` for a frozen program: a "node" is a pair of offsets, and `text` the decoded source of its file.

    `lines`, where they are known, are the offsets at which its lines begin; with them, `text` may be left empty by
    whoever only asks for sites. `comments` are the offsets of its comments, starts and ends in turn; `parentheses` are
    those that `parenthesised` gives.
    """

    def __init__(
        self, text: str, lines: Sequence[int] = (), comments: Sequence[int] = (), parentheses: Sequence[int] = ()
    ) -> None:
        super().__init__(text, lines)
        self._comments = comments
        groups = zip(*(parentheses[i::4] for i in range(4)), strict=True)
        self._outer = {(start, end): (left, right) for start, end, left, right in groups}

    def of(self, node: Any) -> tuple[int, int]:
        """The offsets themselves. Raises KeyError for what is no pair, as `Spans` for a foreign node."""
        if type(node) is not tuple:
            raise KeyError(node)
        return node

    def outer(self, node: Any) -> tuple[int, int]:
        """The offsets with the parentheses around an expression, as far as those were given."""
        inner = self.of(node)
        return self._outer.get(inner, inner)

    def comments(self) -> list[tuple[int, int]]:
        """The offsets of all comments, in order, as far as they were given."""
        return list(zip(self._comments[::2], self._comments[1::2], strict=True))


def freeze(program: Program, spans: Spans) -> Program:
    """The program, changed in place: every node is now its offsets, and no object of LibCST is left.

    `spans` are those of the tree that the program was lowered from. Freezing a frozen program does nothing.
    """
    if is_frozen(program):
        return program
    of = spans.of
    for function in program.functions:
        function.nodes = Offsets.of(None if node is None else of(node) for node in function.nodes)
        for region in function.regions:
            if region.node is not None:
                region.node = of(region.node)
        if function.node is not None:
            function.node = of(function.node)
    return program


def parenthesised(program: Program, spans: Spans) -> array.array[int]:
    """The expressions of a program, not frozen yet, that have parentheses of their own: four offsets each, without and
    with them."""
    from libcst import BaseExpression

    found = array.array("i")
    for function in program.functions:
        for node in function.nodes:
            if getattr(node, "lpar", None) and isinstance(node, BaseExpression):
                found.extend((*spans.of(node), *spans.outer(node)))
    return found


def share(program: Program) -> Program:
    """The program, changed in place: of the reads of a variable or a name, and of a constant, there is one for all."""
    loads: dict[int, p.Instruction] = {}
    outers: dict[str, p.Instruction] = {}
    constants: dict[tuple[type, Any], p.Instruction] = {}
    for function in program.functions:
        code = function.code
        for reg, made in enumerate(code):
            kind = type(made)
            if kind is p.Load:
                code[reg] = loads.setdefault(made.slot, made)  # type: ignore[union-attr]
            elif kind is p.Const:
                value = made.value  # type: ignore[union-attr]
                if type(value) is not float and type(value) is not complex:  # 0.0 and -0.0 are equal
                    code[reg] = constants.setdefault((type(value), value), made)
            elif kind is p.Outer:
                code[reg] = outers.setdefault(made.name, made)  # type: ignore[union-attr]
    return program


def is_frozen(program: Program) -> bool:
    """Whether the nodes of a program are offsets."""
    return type(program.functions[0].node) is tuple


# The kinds of instructions and their fields, in the order of the union in `program.py`.
_KINDS: tuple[type, ...] = typing.get_args(p.Instruction)
_NUMBER = {kind: number for number, kind in enumerate(_KINDS)}


def _reader(kind: type) -> Any:
    """Reads the fields of an instruction as a tuple (of one field: the value itself)."""
    return attrgetter(*late.fields(kind))


_READERS = tuple(_reader(kind) for kind in _KINDS)
_SINGLE = tuple(len(late.fields(kind)) == 1 for kind in _KINDS)
_PLAIN = ("index", "kind", "name", "qualname", "parent", "node", "is_async", "is_generator")
_LATER = ("decorators", "returns", "slots", "slot_names", "annotations", "declared")
_head = attrgetter(*_PLAIN)
_tail = attrgetter(*_LATER)
_parameter = _reader(Parameter)
_block = _reader(Block)
_region = _reader(Region)


def pack(program: Program) -> bytes:
    """A frozen program as bytes. Raises ValueError where it is not frozen."""
    if not is_frozen(program):
        raise ValueError("only a frozen program can be packed")
    return marshal.dumps((program.path, [_packed(function) for function in program.functions]))


def unpack(data: bytes, path: str = "") -> Program:
    """The program that `pack` made these bytes of, equal to it but for the path where one is given. Raises ValueError,
    EOFError and TypeError for other bytes."""
    with collector.paused():
        own, functions = marshal.loads(data)
        return share(Program(path or own, [_unpacked(row) for row in functions]))


def _packed(function: Function) -> tuple[Any, ...]:
    numbers = bytes([_NUMBER[type(instruction)] for instruction in function.code])
    rows = [_READERS[number](instruction) for number, instruction in zip(numbers, function.code, strict=True)]
    return (
        _head(function),
        [_parameter(parameter) for parameter in function.parameters],
        _tail(function),
        numbers,
        rows,
        bytes(function.nodes),
        [_block(block) for block in function.blocks],
        [_region(region) for region in function.regions],
    )


def _unpacked(row: tuple[Any, ...]) -> Function:
    head, parameters, tail, numbers, rows, nodes, blocks, regions = row
    code = [
        _KINDS[number](fields) if _SINGLE[number] else _KINDS[number](*fields)
        for number, fields in zip(numbers, rows, strict=True)
    ]
    values: tuple[Any, ...] = (
        *head,
        [Parameter(*fields) for fields in parameters],
        *tail,
        code,
        Offsets.from_bytes(nodes),
        [Block(*fields) for fields in blocks],
        [Region(*fields) for fields in regions],
    )
    return Function(*values)
