"""The program: what a file does, without how it is written.

A file becomes a `Program` of `Function`s (function 0 is the module's own code). A function is straight lists:

- `code[r]` is an instruction, and its position `r` is the *register* that holds what it computes. Operands are
  registers of the same function that were computed before. Temporaries are therefore in single-assignment form;
  variables are not: they are *slots*, written by `Store` and read by `Load`.
- `nodes[r]` is the tree node the instruction came from (None where no text stands for it). Only `syntax/` looks into
  a node; everybody else hands it to `spans`.
- `blocks` partition `code` into straight runs with successors. Every block stands in a `Region`.
- `regions` are the tree of what encloses what: region 0 is the body, its descendants are loops, the arms of branches,
  handlers, `with` bodies. Control flow says what can follow what; regions say under which conditions and how often.

Comprehensions and generator expressions are loops of the function they stand in, their targets slots of their own.
Lambdas are functions. Names that the function does not bind are `Outer` reads, resolved by whoever asks.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any, Union

from transferlint import late
from transferlint.syntax.lookup import Lookup
from transferlint.syntax.regions import Block, Region

Reg = int
Slot = int


@late.dataclass(slots=True)
class Const:
    """A literal: None, bool, int, float, complex, str, bytes or Ellipsis. Concatenated strings are one."""

    value: Any


@late.dataclass(slots=True)
class Load:
    """Read a variable of this function."""

    slot: Slot


@late.dataclass(slots=True)
class Outer:
    """Read a name this function does not bind: of an enclosing function, the module, or a builtin."""

    name: str


@late.dataclass(slots=True)
class Store:
    """Bind a variable of this function."""

    slot: Slot
    value: Reg


@late.dataclass(slots=True)
class StoreOuter:
    """Bind a name declared `global` or `nonlocal`."""

    name: str
    value: Reg


@late.dataclass(slots=True)
class Import:
    """A module or a member of one: `import a.b` binds `a` (module "a", name ""); `import a.b as c` has module "a.b";
    `from a import b` has module "a", name "b"; relative imports keep their dots in `module`; star: name "*"."""

    module: str
    name: str


@late.dataclass(slots=True)
class Attr:
    """`object.name`, read."""

    object: Reg
    name: str


@late.dataclass(slots=True)
class SetAttr:
    """`object.name = value`."""

    object: Reg
    name: str
    value: Reg


@late.dataclass(slots=True)
class Subscript:
    """`object[index]`, read. Several indices are one tuple `Sequence`; a slice is a `Slice`."""

    object: Reg
    index: Reg


@late.dataclass(slots=True)
class SetItem:
    """`object[index] = value`."""

    object: Reg
    index: Reg
    value: Reg


@late.dataclass(slots=True)
class Slice:
    """`lower:upper:step`; None where left out."""

    lower: Reg | None
    upper: Reg | None
    step: Reg | None


@late.dataclass(slots=True)
class Call:
    """`function(*args, **keywords)`, in evaluation order: positional and starred first, then keywords.

    `stars[i]` is True where `args[i]` was written with `*`; `()` means that none was. A keyword named "" is `**value`.
    A method call is a call whose `function` is an `Attr`.
    """

    function: Reg
    args: tuple[Reg, ...]
    keywords: tuple[tuple[str, Reg], ...]
    stars: tuple[bool, ...]


@late.dataclass(slots=True)
class Binary:
    """`left operator right`; operator as written ("+", "@", "//"); `inplace` for augmented assignment ("+" for +=)."""

    operator: str
    left: Reg
    right: Reg
    inplace: bool


@late.dataclass(slots=True)
class Unary:
    """`operator operand`: "-", "+", "~", "not"."""

    operator: str
    operand: Reg


@late.dataclass(slots=True)
class Compare:
    """`first op second op third`: `operators[i]` stands between `operands[i]` and `operands[i + 1]` ("not in", "is")."""

    operators: tuple[str, ...]
    operands: tuple[Reg, ...]


@late.dataclass(slots=True)
class Boolean:
    """`a and b and c`, flattened; operator is "and" or "or". All but the last operand are tested (their truth is asked)."""

    operator: str
    operands: tuple[Reg, ...]


@late.dataclass(slots=True)
class Choice:
    """`body if test else orelse`; the test was asked by a `Test` before."""

    test: Reg
    body: Reg
    orelse: Reg


@late.dataclass(slots=True)
class Sequence:
    """A display: kind "tuple", "list" or "set". `stars` as in `Call`."""

    kind: str
    items: tuple[Reg, ...]
    stars: tuple[bool, ...]


@late.dataclass(slots=True)
class Mapping:
    """A dict display; a key of None is `**value`."""

    keys: tuple[Reg | None, ...]
    values: tuple[Reg, ...]


@late.dataclass(slots=True)
class Format:
    """An f-string: what is formatted, in order."""

    values: tuple[Reg, ...]


@late.dataclass(slots=True)
class Next:
    """The element that a loop over `iterable` has now; stands in the loop's header block. Its node is the loop's target."""

    iterable: Reg
    region: int


@late.dataclass(slots=True)
class Unpack:
    """Element `index` of `value` where it is unpacked into `count` targets; `star` is the index of the starred target
    or -1. `index` counts targets; where `index == star` the result is a list."""

    value: Reg
    index: int
    count: int
    star: int


@late.dataclass(slots=True)
class Collect:
    """What a comprehension makes: kind "list", "set", "dict" or "generator"; `key` for dicts. `region` is its loop."""

    kind: str
    key: Reg | None
    value: Reg
    region: int


@late.dataclass(slots=True)
class Test:
    """The truth of `value` is asked: kind "if", "elif", "while", "assert", "choice" (conditional expression),
    "filter" (comprehension condition), "case" (a match's guard). `not x` and `and`/`or` operands are not repeated here."""

    value: Reg
    kind: str


@late.dataclass(slots=True)
class Return:
    """`return value` (None: no value). A lambda's body is returned."""

    value: Reg | None


@late.dataclass(slots=True)
class Yield:
    """`yield value`; `many` for `yield from`."""

    value: Reg | None
    many: bool


@late.dataclass(slots=True)
class Await:
    """`await value`."""

    value: Reg


@late.dataclass(slots=True)
class Raise:
    """`raise value from cause`."""

    value: Reg | None


@late.dataclass(slots=True)
class Delete:
    """`del variable`; `del a.b` and `del a[b]` only read `a` (and `b`)."""

    slot: Slot


@late.dataclass(slots=True)
class Enter:
    """What `with context` binds; `region` is the body's region."""

    context: Reg
    region: int


@late.dataclass(slots=True)
class Exception_:
    """The exception that a handler binds (`except T as name`), or what a `case` pattern captures from `subject`."""

    subject: Reg | None


@late.dataclass(slots=True)
class Make:
    """A function, class or lambda comes into being: `function` is its index in `Program.functions`; `decorators` are
    registers, outermost first; `defaults` maps parameter names to registers; `bases` and `keywords` are a class's."""

    function: int
    decorators: tuple[Reg, ...]
    defaults: tuple[tuple[str, Reg], ...]
    bases: tuple[Reg, ...]
    keywords: tuple[tuple[str, Reg], ...]


@late.dataclass(slots=True)
class Discard:
    """An expression statement: `value` is computed and thrown away. Its node is the statement line."""

    value: Reg


Instruction = Union[
    Const, Load, Outer, Store, StoreOuter, Import, Attr, SetAttr, Subscript, SetItem, Slice, Call, Binary, Unary,
    Compare, Boolean, Choice, Sequence, Mapping, Format, Next, Unpack, Collect, Test, Return, Yield, Await, Raise,
    Delete, Enter, Exception_, Make, Discard,
]  # fmt: skip


@late.dataclass(slots=True)
class Parameter:
    """A parameter: its slot, kind ("positional", "keyword", "star", "double_star"), annotation and default as source
    text ("" where absent)."""

    name: str
    slot: Slot
    kind: str
    annotation: str
    default: str


@late.dataclass(slots=True)
class Function:
    """A function, lambda, class body or the module.

    `kind`: "module", "function", "lambda" or "class". `parent` is the index of the function it stands in (-1 for the
    module). `name` is its own name ("<lambda>", "<module>"), `qualname` the dotted path within the module without
    "<locals>" ("Net.forward", "train.closure"). `decorators` are source texts without "@". `annotations` maps a slot to
    the source text of its annotation (`x: Tensor = ...`), `declared` of a class an attribute that its methods annotate
    (`self.x: Tensor = ...`). `docstring` has been left out of the code.
    """

    index: int
    kind: str
    name: str
    qualname: str
    parent: int
    node: Any
    is_async: bool = False
    is_generator: bool = False
    parameters: list[Parameter] = dataclasses.field(default_factory=list)
    decorators: list[str] = dataclasses.field(default_factory=list)
    returns: str = ""
    slots: dict[str, Slot] = dataclasses.field(default_factory=dict)
    slot_names: list[str] = dataclasses.field(default_factory=list)
    annotations: dict[Slot, str] = dataclasses.field(default_factory=dict)
    declared: dict[str, str] = dataclasses.field(default_factory=dict)
    code: list[Instruction] = dataclasses.field(default_factory=list)
    nodes: Any = dataclasses.field(default_factory=list)
    blocks: list[Block] = dataclasses.field(default_factory=list)
    regions: list[Region] = dataclasses.field(default_factory=list)

    _lookup: Lookup | None = dataclasses.field(default=None, init=False, repr=False, compare=False)

    @property
    def lookup(self) -> Lookup:
        """Where the finished code does what; worked out once."""
        if self._lookup is None:
            self._lookup = Lookup(self.code, self.blocks, self.regions)
        return self._lookup

    @property
    def kept(self) -> dict[Any, Any]:
        """What is worked out of the finished code once, by who works it out."""
        return self.lookup.kept

    def forget(self) -> None:
        """Drop what was worked out; whoever asks again has it worked out again."""
        self._lookup = None

    def moved(self, node: Any, nodes: Any, regions: list[Region]) -> Function:
        """The same function where it stands elsewhere; its code, and what was worked out of that, are shared."""
        made = late.replace(self, node=node, nodes=nodes, regions=regions)
        made.share(self)
        return made

    def share(self, other: Function) -> None:
        """Take over what was worked out of the code of another function, which is the same."""
        self.code, self._lookup = other.code, other._lookup

    def ancestors(self, region: int) -> Iterator[Region]:
        """The region and what encloses it, innermost first, without the body."""
        while region > 0:
            found = self.regions[region]
            yield found
            region = found.parent


@late.dataclass(slots=True)
class Program:
    """A whole file. `functions[0]` is the module; members of a class are the functions whose parent is the class."""

    path: str
    functions: list[Function]
