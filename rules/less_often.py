"""The fixes that ask a device value on every 16th turn of a loop, and not on every one."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from transferlint.flow.facts import FunctionFacts
from transferlint.flow.values import HOST_VALUE, TENSOR
from transferlint.knowledge.roles import COUNTER_WORDS
from transferlint.model import Edit, Fix, Safety
from transferlint.syntax import program as p
from transferlint.syntax.program import Reg

from .chains import called, method
from .rewriting import before_loop, fresh, newline

_INTERVAL = 16
_TITLE = f"ask every {_INTERVAL}th turn"
_HEAD = re.compile(r"[^\n\r]*?:[ \t]*(?:#[^\r\n]*)?(\r\n|\n|\r)([ \t]+)")


def seldom(function: FunctionFacts, value: Reg, tree: ast.If) -> Fix | None:
    """`if t: break` to a check of every 16th turn, in a loop that counts its turns."""
    if len(tree.body) > 1 or tree.orelse or not isinstance(tree.body[0], ast.Break | ast.Return):
        return None
    turn = turns(function, value)
    if not turn and isinstance(tree.body[0], ast.Break):
        return _counted(function, value)
    loads = (one for r in function.expression(value) if isinstance(one := function.code[r], p.Load))
    if not turn or any(function.function.slot_names[load.slot] == turn for load in loads):
        return None
    start, end = function.file.spans.outer(function.function.nodes[value])
    line = f"{turn} % {_INTERVAL} == {_INTERVAL - 1} and {_operand(function, value)}"
    return Fix(_TITLE, Safety.DISPLAY, (Edit(start, end, line),))


def _counted(function: FunctionFacts, value: Reg) -> Fix | None:
    """`if done: break` to a check of every 16th turn, with a count of the turns."""
    loops = function.loops(value)
    start, end = function.file.spans.outer(function.function.nodes[value])
    text = function.file.text
    begin = function.file.spans.line_start(start)
    head = re.match(r"([ \t]*)if\s*$", text[begin:start].rstrip())
    made = function.code[value]
    parts = made.operands if isinstance(made, p.Boolean) and made.operator == "and" else (value,)
    read = [r for r in parts if function.values[r].is_a(TENSOR)]
    if not loops or head is None or len(read) != 1 or not _lasting(function, read[0]):
        return None
    if any(function.function.regions[r].kind in ("for", "while") for r in _around(function, value, loops[0])):
        return None
    turn, own = fresh(function, "turn_count"), newline(function)
    line = before_loop(function, loops[0], f"{turn} = 0")
    if line is None:
        return None
    count = Edit(begin, begin, f"{head[1]}{turn} += 1{own}")
    condition = Edit(start, end, f"{turn} % {_INTERVAL} == {_INTERVAL - 1} and {_operand(function, value)}")
    return Fix(_TITLE, Safety.DISPLAY, (line, count, condition))


def _around(function: FunctionFacts, reg: Reg, loop: int) -> Iterator[int]:
    """The regions between a register and a loop around it."""
    at = function.region(reg)
    while at > 0 and at != loop:
        yield at
        at = function.function.regions[at].parent


def _lasting(function: FunctionFacts, reg: Reg) -> bool:
    """True for a condition that holds on once it holds: a flag that is kept, all or nothing of a mask."""
    made = function.code[reg]
    if isinstance(made, p.Load):
        return True
    if isinstance(made, p.Compare):
        return any(_lasting(function, r) for r in made.operands if not isinstance(function.code[r], p.Load))
    last = called(function, reg).rpartition(".")[2] or method(function, reg)
    return last in ("all", "any", "sum", "count_nonzero")


def turns(function: FunctionFacts, reg: Reg) -> str:
    """The variable that counts the turns of the innermost loop around a register; "" where none does."""
    loops = function.loops(reg)
    loop = function.function.regions[loops[0]] if loops else None
    if loop is None or loop.kind not in ("for", "while"):
        return ""
    if loop.kind == "for" and loop.test is not None and loop.target_slots:
        name = called(function, loop.test)
        if name == "builtins.enumerate" or (name == "builtins.range" and len(loop.target_slots) == 1):
            return function.function.slot_names[loop.target_slots[0]]
    for at, made in enumerate(function.code):
        name = function.function.slot_names[made.slot] if isinstance(made, p.Store) else ""
        if COUNTER_WORDS.search(name) and function.region(at) == loops[0] and _counts(function, at, loops[0]):
            return name
    return ""


def _counts(function: FunctionFacts, at: Reg, region: int) -> bool:
    """True for the only assignment of a variable in a loop, `n += 1`, to what is a number of the host."""
    made = function.code[at]
    assert isinstance(made, p.Store)
    added = function.code[made.value]
    if not isinstance(added, p.Binary) or not added.inplace or added.operator != "+":
        return False
    one = function.code[added.right]
    if not isinstance(one, p.Const) or one.value != 1 or function.values[added.left].kinds != HOST_VALUE:
        return False
    return [r for r in function.stores(made.slot) if function.inside(r, region)] == [at]


def seldom_while(function: FunctionFacts, value: Reg, read: Reg) -> Fix | None:
    """`while t.any():` to a loop that asks on every 16th turn."""
    text = function.file.text
    start, end = function.file.spans.outer(function.function.nodes[value])
    begin = function.file.spans.line_start(start)
    head = re.match(r"([ \t]*)while\s*\(?\s*$", text[begin:start])
    body = _HEAD.match(text, end)
    region = next((r for r in function.loops(read) if function.function.regions[r].kind == "while"), None)
    if head is None or body is None or region is None or function.function.regions[region].test is None:
        return None
    stop = function.file.spans.of(function.function.regions[region].node)[1]
    if re.search(rf"^{head[1]}else\b", text[start:stop], re.M):
        return None
    if function.file.spans.commented(start, end):
        return None
    asked, rest = [value], []
    made = function.code[value]
    if isinstance(made, p.Boolean) and made.operator == "and":
        asked = [r for r in made.operands if read in function.expression(r) or _any(function, r)]
        rest = [r for r in made.operands if r not in asked]
    masks = all(function.has_text(r) and _any(function, r) for r in asked)
    if not masks or not all(function.has_text(r) for r in rest) or _asserts(function, region):
        return None
    turn, own, indent = fresh(function, "turn_count"), newline(function), body[2]
    condition = _joined(function, asked)
    condition = condition if len(asked) == 1 else f"({condition})"
    header = _joined(function, rest) or "True"
    check = f"if {turn} % {_INTERVAL} == {_INTERVAL - 1} and not {condition}:{own}{indent}{indent[len(head[1]):]}break"
    lines = f"{check}{own}{indent}{turn} += 1{own}{indent}"
    edits = (
        Edit(begin, begin, f"{head[1]}{turn} = 0{own}"),
        Edit(start, end, header),
        Edit(body.end(), body.end(), lines),
    )
    return Fix(f"{_TITLE}, where further turns change nothing", Safety.DISPLAY, edits)


def _any(function: FunctionFacts, reg: Reg) -> bool:
    """True for `mask.any()`: what is left to do is in a mask, and further turns find it empty."""
    return method(function, reg) == "any" or called(function, reg) == "torch.any"


def _asserts(function: FunctionFacts, region: int) -> bool:
    return any(
        isinstance(made, p.Test) and made.kind == "assert" and function.inside(reg, region)
        for reg, made in enumerate(function.code)
    )


def _joined(function: FunctionFacts, parts: list[Reg]) -> str:
    if len(parts) == 1:
        text = _operand(function, parts[0])
        whole = text.startswith("(") and not isinstance(function.code[parts[0]], p.Call)
        return text[1:-1] if whole and text.endswith(")") else text
    return " and ".join(_operand(function, r) for r in parts)


def _operand(function: FunctionFacts, reg: Reg) -> str:
    """The text of a condition as an operand of `and` and `not`."""
    start, end = function.file.spans.outer(function.function.nodes[reg])
    text = function.file.text[start:end]
    simple = isinstance(function.code[reg], p.Load | p.Outer | p.Call | p.Attr | p.Subscript)
    return text if simple or text.startswith("(") else f"({text})"
