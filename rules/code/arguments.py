"""The edit that adds an argument to a call, laid out as the arguments that are there."""

from __future__ import annotations

import ast
import re

from transferlint.flow.facts import FunctionFacts
from transferlint.model import Edit
from transferlint.syntax import program as p
from transferlint.syntax.program import Reg


def added(function: FunctionFacts, reg: Reg, *arguments: str) -> Edit | None:
    """`arguments` behind those of the call `reg`: on the same line, or each on one of its own where the others have
    one, or where the only other takes several lines; with a trailing comma there, and where there is one. None where a
    comment stands behind the last one, or where the call cannot take another argument (`sum(x for x in xs)`)."""
    made = function.code[reg]
    if not isinstance(made, p.Call) or not function.has_text(reg):
        return None
    text = function.file.text
    start, end = function.span(reg)
    inner = text[: end - 1].rstrip()
    gap = text[len(inner) : end - 1]
    if text[end - 1] != ")" or any(e >= len(inner) and s < end for s, e in function.file.spans.comments()):
        return None
    comma = inner.endswith(",")
    given = _argument_starts(function, made)
    indent = _own_line(text, given[-1]) if given else None
    hangs = len(given) == 1 and "\n" in gap and "\n" in text[given[0] : len(inner)]  # one argument of several lines
    newline = "\r\n" if "\r\n" in text else "\n"
    more = ", ".join(arguments)
    if not given:
        edit = Edit(len(inner), len(inner), more)
    elif indent is not None and (hangs or _one_a_line(text, given, comma or "\n" not in gap)):
        lines = f",{newline}{indent}".join(("", *arguments)).removeprefix("," if comma else "")
        edit = Edit(len(inner), len(inner), lines + ("," if comma or hangs else ""))
    elif comma:
        ends = gap.strip(" \t") or not gap  # `f(x, )` loses its comma, `f(x,)` keeps it
        edit = Edit(len(inner), len(inner), f" {more},") if ends else Edit(len(inner), end - 1, f" {more}")
    else:
        edit = Edit(len(inner), len(inner) if "\n" in gap else end - 1, f", {more}")
    return edit if parses(f"{text[start : edit.start]}{edit.text}{text[edit.end : end]}") else None


def _argument_starts(function: FunctionFacts, made: p.Call) -> list[int]:
    """The offsets at which the arguments begin, in order; a keyword begins at its name."""
    text = function.file.text
    starts = [function.outer_span(r)[0] for r in made.args if function.has_text(r)]
    for key, reg in made.keywords:
        if not function.has_text(reg):
            continue
        value = function.outer_span(reg)[0]
        head = re.search(rf"(?:{re.escape(key)}\s*=|\*\*)\s*$" if key else r"\*\*\s*$", text[:value][-200:])
        starts.append(value - len(head[0]) if head is not None else value)
    return sorted(starts)


def _own_line(text: str, at: int) -> str | None:
    """The blanks before what begins its line; None for what does not."""
    line = max(text.rfind("\n", 0, at), text.rfind("\r", 0, at)) + 1
    return text[line:at] if not text[line:at].strip(" \t*") else None


def _one_a_line(text: str, given: list[int], single: bool) -> bool:
    """True where each argument but the first begins its line; of one alone, where it has a trailing comma."""
    if len(given) == 1:
        return single and _own_line(text, given[0]) is not None
    return all(_own_line(text, at) is not None for at in given[1:])


def parses(text: str) -> bool:
    """True for the text of an expression."""
    try:
        ast.parse(f"({text})", mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True
