"""What fixes that rewrite whole statements share: names nobody uses, texts, the lines before and after a loop."""

from __future__ import annotations

import bisect
import itertools
import re

from transferlint import late
from transferlint.flow.facts import FunctionFacts
from transferlint.flow.invariance import invariance
from transferlint.model import Edit
from transferlint.syntax import program as p
from transferlint.syntax.program import Reg

from .chains import closes, statement

_BLANKS = late.pattern(r"[ \t]*")
_ODD = late.pattern(r"[\n\r#]|:=|\bawait\b|\byield\b")
_REST = late.pattern(r"[ \t]*(?:#[^\r\n]*)?(\r\n|\n|\r|\Z)")
_EMPTY = late.pattern(r"(?:[ \t]*(?:\r\n|\n|\r))+")


def fresh(function: FunctionFacts, base: str) -> str:
    """A name that nobody uses in the file."""
    base = re.sub(r"\W", "_", base)
    taken = function.file.words
    number, name = 2, base
    while name in taken:
        name, number = f"{base}_{number}", number + 1
    return name


def newline(function: FunctionFacts) -> str:
    """How lines of the file end."""
    return "\r\n" if "\r\n" in function.file.text else "\n"


def operand(function: FunctionFacts, reg: Reg) -> str:
    """The text of an expression as something that a method can be called on; "" where it does not fit on a line."""
    start, end = function.outer_span(reg)
    text = function.file.text[start:end]
    if _ODD.search(text):
        return ""
    simple = p.Load | p.Outer | p.Attr | p.Subscript | p.Call
    return text if isinstance(function.code[reg], simple) or text.startswith("(") else f"({text})"


def after(function: FunctionFacts, reg: Reg, inner: Reg) -> Edit | None:
    """The edit that leaves `inner` of `inner.method()...`; None where a comment stands between, or brackets are
    around `inner.method` alone."""
    start, end = function.outer_span(inner)[1], function.span(reg)[1]
    text = function.file.text[start:end]
    left = "#" in text or "\\" in text or closes(text)
    return Edit(start, end, "") if start < end and not left else None


def unbracketed(function: FunctionFacts, inner: Reg, cut: Edit) -> Edit:
    """The cut of what follows `inner`, and with it the brackets around this where others stand around them:
    `append((a / b).item())` becomes `append(a / b)`."""
    text = function.file.text
    (start, end), (first, last) = function.outer_span(inner), function.span(inner)
    tight = text[start - 1 : start] == "(" and text[cut.end : cut.end + 1] == ")" and cut.start == end
    if cut.text or not tight or text[start:first] != "(" or text[last:end] != ")":
        return cut
    return Edit(start, cut.end, text[first:last])


def indent_of(function: FunctionFacts, region: int) -> str | None:
    """The blanks before a loop statement; None for what is no statement at the beginning of a line."""
    loop = function.function.regions[region]
    if loop.node is None or loop.kind not in ("for", "while"):
        return None
    text = function.file.text
    start, _ = function.file.spans.of(loop.node)
    line = function.file.spans.line_start(start)
    return None if text[line:start].strip() else text[line:start]


def before_loop(function: FunctionFacts, region: int, line: str) -> Edit | None:
    """The insertion of a line before a loop."""
    indent = indent_of(function, region)
    if indent is None:
        return None
    start = function.file.spans.of(function.function.regions[region].node)[0] - len(indent)
    return Edit(start, start, f"{indent}{line}{newline(function)}")


def before_comprehension(function: FunctionFacts, region: int, line: str) -> Edit | None:
    """The insertion of a line before the statement that a comprehension stands in."""
    for reg, made in enumerate(function.code):
        if isinstance(made, p.Collect) and made.region == region:
            home = statement(function, reg)
            indent = re.match(r"[ \t]*", function.file.text[home[1] :]) if home is not None else None
            if home is None or indent is None:
                return None
            return Edit(home[1], home[1], f"{indent[0]}{line}{newline(function)}")
    return None


_COMMENTS = r"(?:(?:[ \t]*(?:\r\n?|\n))*{}[ \t]+#[^\r\n]*(?:\r\n?|\n))+"  # deeper than a statement


def after_loop(function: FunctionFacts, region: int, *lines: str) -> tuple[Edit, ...] | None:
    """The insertion of lines after a loop, deeper ones (which a tab begins) as deep as its body; none where they stand
    there already."""
    indent = indent_of(function, region)
    if indent is None:
        return None
    text = function.file.text
    end = function.file.spans.of(function.function.regions[region].node)[1]
    rest = _REST.match(text, end)
    if rest is None:
        return None
    unit = _unit(text[function.file.spans.of(function.function.regions[region].node)[0] : end], indent)
    own = newline(function)
    block = "".join(indent + line.replace("\t", unit) + own for line in lines)
    at = rest.end()
    if rest[1] and (comments := re.compile(_COMMENTS.format(indent)).match(text, at)):
        at = comments.end()  # the last lines of the body
    if text.startswith(block, at):
        return ()
    return (Edit(at, at, block if rest[1] else own + block),)


def _unit(loop: str, indent: str) -> str:
    """What the body of a loop is indented by on top of the loop itself."""
    lines = (line for line in loop.splitlines()[1:] if line.strip() and line.startswith(indent))
    blanks = (line[len(indent) : len(line) - len(line.lstrip())] for line in lines)
    return min(filter(None, blanks), key=len, default="\t" if "\t" in indent else "    ")


def within(function: FunctionFacts, reg: Reg, region: int) -> bool:
    """True where a register's text, or what it is computed in, belongs to a loop statement, its `else` included."""
    node = function.function.regions[region].node
    if function.inside(reg, region) or node is None:
        return True
    if not function.has_text(reg):
        return False
    start, end = function.file.spans.of(node)
    return start <= function.span(reg)[0] < end


def switched(function: FunctionFacts, reg: Reg, region: int, any_test: bool = False) -> bool:
    """True where a register may never be computed in a loop although that turns: a condition that the loop does not
    change, or (`any_test`) any condition, stands between them. What is made before the loop would be made in vain."""
    loop = invariance(function, region)
    at = function.region(reg)
    while at not in (region, 0):
        one = function.function.regions[at]
        asked = one.kind in ("then", "else") and one.test is not None
        if one.kind in ("case", "handler") or (asked and any_test and not one.implied):
            return True
        if asked and one.test is not None and loop.holds(one.test):
            return True
        at = one.parent
    return False


def remove(function: FunctionFacts, reg: Reg) -> Edit | None:
    """The edit that takes away the statement that a register is. `reg` is the register of an expression statement's
    value."""
    return cut(function, *function.outer_span(reg))


def cut(function: FunctionFacts, start: int, end: int) -> Edit:
    """The edit that takes away a statement; `pass` where the suite would be empty, or where its line holds more."""
    text = function.file.text
    begin = function.file.spans.line_start(start)
    rest = _REST.match(text, end)
    if text[begin:start].strip() or rest is None or "#" in rest[0] or _alone(function, begin, rest.end()):
        return Edit(start, end, "pass")
    above = itertools.takewhile(lambda line: not line.strip(), reversed(text[:begin].splitlines()))
    below = _EMPTY.match(text, rest.end())
    lines = below[0].splitlines(keepends=True) if below is not None else []
    gone = lines[: sum(1 for _ in above)]  # blank lines on both sides are there for the statement
    return Edit(begin, rest.end() + sum(map(len, gone)), "")


def _alone(function: FunctionFacts, begin: int, end: int) -> bool:
    """True where the lines between two offsets are all of a suite."""
    starts = function.file.spans.line_starts()
    first, last = bisect.bisect_right(starts, begin) - 1, bisect.bisect_left(starts, end)
    above = next(filter(None, (_code(function, number).rstrip() for number in range(first - 1, -1, -1))), "")
    if not above.endswith(":"):
        return False
    follow = next((code for n in range(last, len(starts)) if (code := _code(function, n)).strip()), None)
    return follow is None or _indent(follow) < _indent(function.file.text[begin:end])


def _code(function: FunctionFacts, number: int) -> str:
    """A line (counted from 0) without its comment."""
    starts = function.file.spans.line_starts()
    start = starts[number]
    end = starts[number + 1] if number + 1 < len(starts) else len(function.file.text)
    comment = function.file.spans.comment(start, end)
    return function.file.text[start : end if comment is None else max(comment[0], start)]


def _indent(line: str) -> int:
    blanks = _BLANKS.match(line)
    return len(blanks[0].expandtabs()) if blanks is not None else 0
