"""Tensor programs that run: functions, classes, closures, loops and branches around the expressions of `grammar.py`.

What is in scope has a type, so that most programs run to their end, and those that raise do so for a reason that a
program may have. Where a branch or a loop may move a tensor, its place is `a` from there on.
"""

from __future__ import annotations

import ast
import contextlib
import dataclasses
import functools
import random
from collections.abc import Iterator, Mapping

from fuzz import grammar

DEVICES = (
    'torch.device("cuda")', '"cuda"', 'torch.device("cuda:0")',
    'torch.device("cuda" if torch.cuda.is_available() else "cpu")', '"cuda" if torch.cuda.is_available() else "cpu"',
)  # fmt: skip
_MADE = ("cf1", "cf1", "cf1", "cf2", "cf0", "ci1", "cb1", "hf1", "hf1", "hi1", "af1", "num", "int", "arr", "L:cf1")
_MADE += ("D:cf1", "L:hf1", "hf0", "hb1", "L:af1", "cf0", "num")
_ATOMS = (ast.Name, ast.Attribute, ast.Call, ast.Subscript, ast.Constant, ast.List, ast.Dict, ast.Tuple, ast.JoinedStr)
_DEPTH = 3


@functools.cache
def _rows() -> Mapping[str, list[str]]:
    return grammar.rows()


@dataclasses.dataclass(frozen=True)
class Function:
    """What can be called: by which text, with arguments of which types, for what."""

    name: str
    takes: tuple[str, ...]
    gives: str


class Maker:
    """Writes one program, line by line. `scope` has the type of each name that is bound for sure."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.lines: list[str] = []
        self.indent = 0
        self.scope: dict[str, str] = {}
        self.functions: list[Function] = []
        self.names = 0
        self.loops = 0
        self.turns = 3  # of a loop; the main part has more, so that what it does counts as hot
        self.left = 0  # statements that may still be made
        self.returns = ""

    def put(self, line: str) -> None:
        self.lines.append("    " * self.indent + line)

    def likely(self, part: float) -> bool:
        return self.chance.random() < part

    def fresh(self, prefix: str = "v") -> str:
        self.names += 1
        return f"{prefix}{self.names}"

    @contextlib.contextmanager
    def block(self, head: str) -> Iterator[None]:
        self.put(head)
        self.indent += 1
        at, functions = len(self.lines), list(self.functions)
        yield
        if len(self.lines) == at:
            self.put("pass")
        self.indent -= 1
        self.functions = functions

    # Expressions

    def value(self, kind: str, depth: int = _DEPTH) -> str:
        """An expression of a type."""
        known = [name for name, one in self.scope.items() if one == kind or (kind[0] == "a" and one[1:] == kind[1:])]
        if known and (depth <= 0 or self.likely(0.55)):
            return self.chance.choice(known)
        if depth > 0:
            made = [one for one in self.functions if one.gives == kind]
            if made and self.likely(0.4):
                return self.call(self.chance.choice(made), depth - 1)
            if kind[:2] == "L:" and self.likely(0.4):
                return self.comprehension(kind, depth - 1)
        if depth <= 0:
            return grammar.simplest(kind)
        template = self.chance.choice(_rows()[kind])
        kinds = grammar.holes(template, self.chance)
        made = [self.atom(self.value(one, depth - 1)) for one in kinds]
        if template.startswith('f"'):  # up to Python 3.11 its own quotes must not stand within
            made = [one.replace('"', "'") for one in made]
        return grammar.filled(template, made)

    def atom(self, text: str) -> str:
        return text if isinstance(ast.parse(text, mode="eval").body, _ATOMS) else f"({text})"

    def call(self, function: Function, depth: int) -> str:
        return f"{function.name}({', '.join(self.value(one, depth) for one in function.takes)})"

    def comprehension(self, kind: str, depth: int) -> str:
        item = self.fresh("e")
        over = self.chance.choice(("L:cf1", "L:hf1"))
        source = self.value(over, depth)
        with self.bound({item: over[2:]}):
            made = self.value(kind[2:], depth)
            test = f" if {self.value('bool', 1)}" if self.likely(0.15) and kind[2] == "h" else ""
        return f"[{made} for {item} in {source}{test}]"

    @contextlib.contextmanager
    def bound(self, more: Mapping[str, str]) -> Iterator[None]:
        """What is bound within goes when it ends; what was bound before keeps its type, unless it may have moved."""
        before = dict(self.scope)
        self.scope |= more
        yield
        self.scope = {name: _either(kind, self.scope.get(name, kind)) for name, kind in before.items()}

    # Statements

    def statements(self, count: int) -> None:
        for _ in range(count):
            if self.left <= 0:
                return
            self.left -= 1
            self.chance.choice(_STATEMENTS)(self)

    def assign(self) -> None:
        name, kind = self.fresh(), self.chance.choice(_MADE)
        self.put(f"{name} = {self.value(kind)}")
        self.scope[name] = kind

    def rebind(self) -> None:
        name, kind = self.variable()
        if name:
            self.put(f"{name} = {self.value(kind)}")

    def move(self) -> None:
        """Rebind a tensor, perhaps elsewhere; in a loop only one whose place is open."""
        name, kind = self.variable("cha")
        if name:
            other = self.chance.choice("ch") if not self.loops or kind[0] == "a" else kind[0]
            self.put(f"{name} = {self.value(other + kind[1:], 1) if self.likely(0.3) else self.moved(name, other)}")
            self.scope[name] = kind if self.loops and kind[0] == "a" else other + kind[1:]

    def moved(self, name: str, place: str) -> str:
        calls = (".to(device)", ".cuda()", ".to('cuda')") if place == "c" else (".cpu()", ".to('cpu')")
        return name + self.chance.choice(calls)

    def variable(self, first: str = "", but: str = "") -> tuple[str, str]:
        """A name that may be bound again, and its type; "" where there is none. `first`: the first letter of types."""
        names = [
            name
            for name, kind in self.scope.items()
            if (not first or (kind[0] in first and len(kind) == 3 and kind[2] in "012")) and kind not in ("dev", but)
            and not name.startswith(("e", "i", "device"))
        ]  # fmt: skip
        name = self.chance.choice(names) if names else ""
        return name, self.scope.get(name, "")

    def in_place(self) -> None:
        name, kind = self.variable("ch")
        if not name or kind[1] != "f":
            return
        place, shape = kind[0], kind[2]
        rows = [f"{name}.mul_(0.5)", f"{name}.add_({self.value(kind, 1)})", f"{name} += {self.value(kind, 1)}"]
        rows += [f"{name}.copy_({self.value(self.chance.choice('ch') + kind[1:], 1)})"]
        rows += [f"{name}.fill_({self.value('num', 1)})", f"{name}.clamp_(-2, 2)", f"{name}.zero_()"]
        if shape == "1":
            rows += [f"{name}[{self.value('int', 1)}] = {self.value(place + 'f0', 1)}", f"{name}[0] = 1.5"]
            rows += [f"{name}[{self.value(place + 'b1', 1)}] = 0.0", f"{name}[1:] = {self.value(kind, 1)}[1:]"]
            rows += [f"{name}[2] = {self.value('num', 1)}", f"{name}[:2].add_(1)"]
        self.put(self.chance.choice(rows))

    def keep(self) -> None:
        lists = [(name, kind) for name, kind in self.scope.items() if kind[:2] in ("L:", "D:")]
        if lists:
            name, kind = self.chance.choice(lists)
            put = f"{name}.append({{}})" if kind[0] == "L" else f'{name}["{self.chance.choice("ab")}"] = {{}}'
            self.put(put.format(self.value(kind[2:], 2)))

    def show(self) -> None:
        self.put(f"print({self.value(self.chance.choice(('text', 'num', 'cf0', 'hf1', 'bool', 'int')), 2)})")

    def branch(self) -> None:
        before = dict(self.scope)
        with self.block(f"if {self.value('bool', 2)}:"):
            self.statements(self.chance.randint(1, 3))
            self.leave(0.12)
        arm, self.scope = self.scope, dict(before)
        if self.likely(0.5):
            with self.block("else:"):
                self.statements(self.chance.randint(1, 3))
        self.scope = {
            name: _either(kind, arm[name])
            for name, kind in self.scope.items()
            if name in arm and _alike(kind, arm[name])
        }

    def leave(self, part: float) -> None:
        """End the arm early."""
        if self.likely(part):
            if self.loops:
                self.put(self.chance.choice(("continue", "break")))
            elif self.returns:
                self.put(f"return {self.value(self.returns, 1)}")

    def loop(self) -> None:
        if self.loops >= (2 if self.turns > 3 else 1):
            return
        open_before = dict(self.scope)
        name, kind = self.variable("ch")
        if name and self.likely(0.3):  # one whose place the loop may change
            self.scope[name] = "a" + kind[1:]
        head, more = self.loop_head()
        self.loops += 1
        with self.bound(more), self.block(head):
            if head.startswith("while"):
                self.put(f"{head.split()[1]} += 1")
            self.statements(self.chance.randint(1, 5))
        self.loops -= 1
        self.scope = {one: _either(kind, self.scope.get(one, kind)) for one, kind in open_before.items()}

    def some(self, kind: str) -> str:
        """Elements to go over: so many that a body which adds some comes to an end."""
        made = self.value(kind, 1)
        return f"{made if made.isidentifier() else f'({made})'}[:6]"

    def loop_head(self) -> tuple[str, dict[str, str]]:
        index, item = self.fresh("i"), self.fresh("e")
        count = 3 if self.loops else self.turns
        pick = self.chance.randrange(9)
        if pick == 0:
            return f"for {index}, {item} in enumerate({self.some('L:cf1')}):", {index: "int", item: "cf1"}
        if pick == 1:
            return f"for {item} in {self.some('L:hf1')}:", {item: "hf1"}
        if pick == 2:
            return f"for {item} in {self.value(self.chance.choice(('cf1', 'hf1')), 1)}:", {}
        if pick == 3:
            self.put(f"{index} = 0")
            return f"while {index} < {count}:", {index: "num"}
        if pick == 4:
            other = self.fresh("e")
            return f"for {item}, {other} in zip({self.some('L:cf1')}, {self.some('L:hf1')}):", {
                item: "cf1", other: "hf1",
            }  # fmt: skip
        return f"for {index} in range({count}):", {index: "num"}

    def guard(self) -> None:
        head = self.chance.choice(("try:", "with torch.no_grad():"))
        with self.bound({}), self.block(head):
            self.statements(self.chance.randint(1, 3))
        if head == "try:":
            with self.bound({}), self.block("except (RuntimeError, TypeError, ValueError):"):
                self.statements(1)

    def closure(self) -> None:
        """A function within, which sees what is bound here, and sometimes binds it again."""
        if self.indent > 2:
            return
        name = self.fresh("inner")
        gives = self.chance.choice(("cf1", "num", "hf1"))
        takes = [(self.fresh("a"), self.chance.choice(("cf1", "hf1", "num"))) for _ in range(self.chance.randint(0, 2))]
        with self.bound(dict(takes)), self.block(f"def {name}({', '.join(one for one, _ in takes)}):"):
            self.put(f"return {self.value(gives, 2)}")
        self.functions.append(Function(name, tuple(kind for _, kind in takes), gives))

    def unpack(self) -> None:
        one, other = self.fresh(), self.fresh()
        first, second = self.chance.choice(_MADE[:7]), self.chance.choice(_MADE[:14])
        self.put(f"{one}, {other} = {self.value(first, 2)}, {self.value(second, 2)}")
        self.scope |= {one: first, other: second}

    def check(self) -> None:
        self.put(f"assert {self.value('cf1', 1)} is not None")

    def call_only(self) -> None:
        if self.functions:
            self.put(self.call(self.chance.choice(self.functions), 1))


def _alike(a: str, b: str) -> bool:
    return a == b or (len(a) == len(b) == 3 and a[1:] == b[1:] and a[2] in "012") or (a[:2] == b[:2] and a[3:] == b[3:])


def _either(a: str, b: str) -> str:
    """The type of what has one of two types that are alike."""
    if a == b or not _alike(a, b):
        return a
    return "a" + a[1:] if a[2] in "012" and len(a) == 3 else a[:2] + "a" + a[3:]


_STATEMENTS = (
    *[Maker.assign] * 6, *[Maker.rebind] * 3, *[Maker.move] * 2, *[Maker.in_place] * 3, *[Maker.keep] * 2, Maker.show,
    *[Maker.branch] * 3, *[Maker.loop] * 2, Maker.guard, Maker.closure, Maker.unpack, Maker.check, Maker.call_only,
)  # fmt: skip
