"""Changed copies of texts that fire: the rules' examples and fixtures, and programs of the tests."""

from __future__ import annotations

import ast
import functools
import random
import re
import warnings
from collections.abc import Callable
from pathlib import Path

from proving import all_rules, without_marks

TESTS = Path(__file__).parents[1]
_WORD = re.compile(r"\b[A-Za-z_]\w*\b")
_TRIES = 12


@functools.cache
def texts() -> tuple[str, ...]:
    """What is changed, the same in every run."""
    paths = [*sorted(TESTS.glob("fixtures/TL*/*.py")), *sorted(TESTS.glob("runtime_check/programs/*.py"))]
    paths += sorted((TESTS.parent / "examples").glob("*.py"))
    found = [without_marks(path.read_text(encoding="utf-8", errors="replace")) for path in paths]
    return (*found, *(without_marks(one.bad) for rule in all_rules() for one in rule.all_examples()))


def mutant(chance: random.Random) -> str:
    """A text with up to eight changes that leave it Python, where a few tries find such."""
    text = chance.choice(texts())
    for _ in range(chance.randint(1, 8)):
        for _ in range(_TRIES):
            made = chance.choice(_CHANGES)(chance, text)
            if parses(made):
                text = made
                break
    return text


def parses(text: str) -> bool:
    """Whether this Python takes a text, as a file in UTF-8: it may declare another encoding."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(text.encode())
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def _delete(chance: random.Random, text: str) -> str:
    lines = text.split("\n")
    at = chance.randrange(len(lines))
    del lines[at : at + chance.choice((1, 1, 1, 2, 4))]
    return "\n".join(lines)


def _repeat(chance: random.Random, text: str) -> str:
    lines = text.split("\n")
    at = chance.randrange(len(lines))
    part = lines[at : at + chance.choice((1, 1, 2, 5))]
    to = at if chance.random() < 0.6 else chance.randrange(len(lines))
    return "\n".join([*lines[:to], *part, *lines[to:]])


def _swap(chance: random.Random, text: str) -> str:
    lines = text.split("\n")
    one, other = chance.randrange(len(lines)), chance.randrange(len(lines))
    lines[one], lines[other] = lines[other], lines[one]
    return "\n".join(lines)


def _rename(chance: random.Random, text: str) -> str:
    words = list(_WORD.finditer(text))
    if len(words) < 2:
        return text
    one, other = chance.choice(words), chance.choice(words)
    if chance.random() < 0.5:
        return text[: one.start()] + other[0] + text[one.end() :]
    return re.sub(rf"\b{one[0]}\b", other[0], text)


def _take(chance: random.Random, text: str) -> str:
    """Lines from elsewhere."""
    other, lines = chance.choice(texts()).split("\n"), text.split("\n")
    at, to = chance.randrange(len(other)), chance.randrange(len(lines))
    part = other[at : at + chance.choice((1, 2, 6))]
    return "\n".join([*lines[:to], *part, *lines[to:]])


def _wrap(chance: random.Random, text: str) -> str:
    """Put lines into a block."""
    lines = text.split("\n")
    at = chance.randrange(len(lines))
    part = lines[at : at + chance.choice((1, 1, 2, 4, 9))]
    indent = part[0][: len(part[0]) - len(part[0].lstrip())]
    heads = (
        "if True:",
        "for again in range(3):",
        "while flag:",
        "with torch.no_grad():",
        "if step % 100 == 0:",
        "def f():",
    )
    return "\n".join(
        [*lines[:at], indent + chance.choice(heads), *("    " + one for one in part), *lines[at + len(part) :]]
    )


def _comment(chance: random.Random, text: str) -> str:
    lines = text.split("\n")
    at = chance.randrange(len(lines))
    lines[at] += chance.choice(
        ("  # a comment", "  # noqa", " # type: ignore", "  # transferlint: ignore[TL101] -- why")
    )
    return "\n".join(lines)


def _value(chance: random.Random, text: str) -> str:
    """Another expression for an expression."""
    try:
        nodes = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.expr)]
    except (SyntaxError, ValueError):
        return text
    if len(nodes) < 2 or not text.isascii():
        return text
    starts = [0]
    for line in text.split("\n"):
        starts.append(starts[-1] + len(line) + 1)
    spans = [
        (starts[n.lineno - 1] + n.col_offset, starts[(n.end_lineno or 1) - 1] + (n.end_col_offset or 0)) for n in nodes
    ]
    (start, end), (from_, to) = chance.choice(spans), chance.choice(spans)
    new = chance.choice((f"({text[from_:to]})", text[from_:to], "1", "None", "x", "*x", "lambda: x"))
    return text[:start] + new + text[end:]


def _split(chance: random.Random, text: str) -> str:
    """A line break, with a comment, behind a bracket or a comma."""
    places = [one.end() for one in re.finditer(r"[(\[{,]", text)]
    if not places:
        return text
    at = chance.choice(places)
    return text[:at] + chance.choice(("\n", "  # here\n", "\n\n        ")) + text[at:]


_CHANGES: tuple[Callable[[random.Random, str], str], ...] = (
    _delete, _delete, _repeat, _swap, _rename, _rename, _take, _wrap, _comment, _value, _value, _value, _split,
)  # fmt: skip
