"""Brackets around a right-hand side that are needed no longer, since what they hold has become a call.

"The Black code style" (Parentheses): redundant ones are taken away. They were there for a chain of calls, each on a
line of its own ("Call chains"), or for operators.
"""

from __future__ import annotations

import itertools
import re

from transferlint.fixes.wrapping import OPENED, is_call, tokens_of, without_parentheses, wrapped


def joined_call(head: str, content: str, tail: str) -> str:
    """`x = call(...)` for `x = (`, `call(...)` and `)`: the brackets were there for a line of several parts, and a call
    has its own; "" for other lines."""
    tokens = tokens_of(content.strip()) or []
    return head[:-1] + content.strip() if tail.strip() == ")" and OPENED.fullmatch(head) and is_call(tokens) else ""


def without_brackets(block: list[str], limit: int, unit: str) -> list[str]:
    """The lines of `x = (`, a call or a chain of calls, and `)` without these brackets: on one line where it fits, and
    else, for what has brackets of its own around all lines but the first, further left. [] for other statements, and
    where it becomes too long. A comment behind the last line stays there."""
    *rest, last = block
    closing = re.fullmatch(r"(.*?\))(\s*#.*)?", last)
    if closing is None or not all(map(_plain, [*rest, closing[1]])):
        return []
    block, comment = [*rest, closing[1]], (closing[2] or "").rstrip()
    trailing = any(a.rstrip().endswith(",") and b.lstrip()[:1] in ")]}" for a, b in itertools.pairwise(block))
    whole = _blanks(block[0]) * block[0][:1] + _on_one_line(block)
    joined = without_parentheses(whole)
    if joined == whole:
        return []
    if not trailing and len(joined + comment) <= limit:
        return [joined + comment]
    made = _moved(block)
    if not made and not trailing and len(block) > 1 and not _chained(joined):
        made = wrapped(joined, limit, unit, inside=False)
    made = [*made[:-1], made[-1] + comment] if made else []
    return made if len(made) > 1 and max(map(len, made)) <= limit else []


def _moved(block: list[str]) -> list[str]:
    """The lines between the brackets behind what stands before them; [] where they hold more than one call."""
    head, inner = block[0].rstrip(), [line.rstrip() for line in block[1:-1]]
    if len(inner) < 2 or block[-1].strip() != ")" or not OPENED.fullmatch(head):
        return []
    more = _blanks(inner[0]) - _blanks(head)
    if more <= 0 or any(_blanks(line) < _blanks(inner[0]) or line.lstrip().startswith(".") for line in inner):
        return []
    return [head[:-1] + inner[0].lstrip(), *(line[more:] for line in inner[1:])]


def _chained(line: str) -> bool:
    """True for a right-hand side that is a chain of several calls, which reads best with each on a line of its own."""
    return line.count(").") > 1


def _plain(line: str) -> bool:
    """True for a line without a comment, of which all is understood."""
    tokens = tokens_of(line.strip())
    return bool(tokens) and all(one.kind != "comment" for one in tokens or ())


def _on_one_line(lines: list[str]) -> str:
    made = ""
    for line in (one.strip() for one in lines):
        tight = not made or made[-1] in "([{" or line[0] in ")]}."
        made += line if tight else f" {line}"
    return made


def _blanks(line: str) -> int:
    return len(line) - len(line.lstrip())
