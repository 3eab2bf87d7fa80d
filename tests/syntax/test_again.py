"""What is kept of a text after a change within one function is what is made of the whole text."""

from __future__ import annotations

import array
import random
from collections.abc import Iterator

import pytest

from transferlint.syntax import again, front_end
from transferlint.syntax.front_end import Parts
from transferlint.syntax.source import Source, SourceError

TEXT = '''"""A module."""
import torch

TABLE = {"a": (lambda x: (x)), "b": [one for one in (1, 2)]}  # noqa: TL101


@torch.no_grad()  # noqa
def first(x, scale=(1 + 2), key=lambda x: x):  # transferlint: ignore[TL101] once
    """What is said of it."""
    def inner(y):
        nonlocal x
        return [lambda: z * (y) for z in x]

    value = inner(x)  # transferlint: ignore
    return f"{value!r:>{scale}}" if x else (yield)


class Net(torch.nn.Module):  # noqa: TL202
    bias = torch.zeros(2)

    def take(x=1): return x

    def __init__(self, size: int) -> None:
        self.size: int = size
        if size:
            async def later(): await self.go();
        else:  # why
            global TABLE
            TABLE = None

    @property
    def wide(self):
        # ä comment
        text = "ä", """
    def not_one(self): pass
"""; return text

    class Part:
        def one(self): return (self.x).item()


def last(x):
    with torch.no_grad(), open(x) as (f):
        for (a, b) in x:
            print(a if b else (x))
    return x.item()'''
PIECES = (
    "", "x", " ", "(", ")", "\n", ".item()", "  # why", "  # noqa", "  # transferlint: ignore[TL1] why", "x = (x)",
    "self.y: int = 1", "return (x, 1)", "yield", "lambda: (x)", "def f(): pass", "global z", '"""', "\\", "\f", "\t",
    ";", ":", "ö", "else:", "if x:", ", y", "=None", "=TABLE", ": int", " -> int", "bias", "pass", "del x", "    ", "#",
    "x = [z for z in (x)]", "@wraps", "from x import *",
)  # fmt: skip


def typed(drawn: random.Random, count: int) -> Iterator[str]:
    """Texts as they follow from one another: pieces put in and taken out, lines put in, and the first text again."""
    text, newline = TEXT, drawn.choice(("\n", "\n", "\r\n", "\r"))
    text = text.replace("\n", newline) + drawn.choice(("", newline))
    begun = text
    for _ in range(count):
        what, at = drawn.random(), drawn.randrange(len(text) + 1)
        if what < 0.4:
            text = text[:at] + drawn.choice(PIECES) + text[at:]
        elif what < 0.7:
            ends = [end for end in range(len(text) + 1) if end == len(text) or text.startswith(newline, end)]
            at = drawn.choice(ends)
            line = text[text.rfind(newline, 0, at) + 1 : at]
            blanks = newline + line[: len(line) - len(line.lstrip())] if drawn.random() < 0.6 else ""
            text = text[:at] + blanks + drawn.choice(PIECES) + text[at:]
        elif what < 0.85:
            text = text[:at] + text[at + drawn.randint(1, 8) :]
        else:
            text = begun
        yield text


def shown(parts: Parts) -> list[object]:
    """Where parentheses stand is asked for by expression: their order means nothing."""
    program, comments, lines, marks, parentheses = parts
    return [program, comments, lines, marks, sorted(zip(*(parentheses[at::4] for at in range(4)), strict=True))]


def checked(texts: Iterator[str]) -> int:
    """How many texts were made from the one before; each result is held against that of the whole text."""
    last: tuple[Source, Parts] | None = None
    count = 0
    for text in texts:
        source = Source("a.py", text, "utf-8", False)
        try:
            whole = front_end.read(source, front_end.AST)
        except SourceError:
            whole = None
        found = again.read(source, last) if last is not None else None
        if found is not None:
            count += 1
            assert whole is not None, text
            assert shown(found) == shown(whole), text
        if whole is not None:
            last = source, found or whole
    return count


@pytest.mark.parametrize("seed", range(4))
def test_what_is_made_of_a_change_is_what_is_made_of_the_whole_text(seed: int) -> None:
    drawn = random.Random(seed)
    assert sum(checked(typed(drawn, 40)) for _ in range(10)) > 20


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("return x.item()", "return x.item() + 1"),  # at the end of the file, without a line end
        ("value = inner(x)", "value = inner((x))"),
        ("    return x.item()", "    return x.item()\n    # done"),
        ("z * (y)", "z * (y + y)"),
        ("await self.go();", "await (self.go)();  # noqa"),
        ('"ä", """', '"ää", """'),
        ("return (self.x)", "return ((self.x))"),
        ("def last(x):", "def last(x, y):"),
        ("def last(x):", "def last(x: (int)) -> (str):  # noqa"),
        ("def one(self):", "def one(self, *others):"),
        ("def take(x=1)", "def take(x=(None))"),
        ("def take(x=1)", "def take(x=missing)"),
        ("def inner(y):", "def inner(y, *z):"),
    ],
)
def test_a_change_within_a_function_is_made_from_the_text_before(before: str, after: str) -> None:
    assert TEXT.replace(before, after) != TEXT
    assert checked(iter((TEXT, TEXT.replace(before, after)))) == 1


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("def last(x):", "def lost(x):"),
        ("def last(x):", "def last(x, y=1):"),
        ("def take(x=1)", "def take(x=bias)"),
        ("key=lambda x: x", "key=lambda x: (x)"),
        ("bias = torch", "scale = torch"),
        ("self.size: int", "self.size: float"),
        ("z * (y)", "(lambda: y)"),
        ("return x.item()", "return x.item()\nx = 1"),
        ("    return x.item()", "return x.item()"),
        ('"""What is', '""What is'),
    ],
)
def test_other_changes_are_not(before: str, after: str) -> None:
    assert TEXT.replace(before, after) != TEXT
    assert checked(iter((TEXT, TEXT.replace(before, after)))) == 0


def test_functions_that_are_not_touched_share_their_code() -> None:
    source = Source("a.py", TEXT, "utf-8", False)
    before = front_end.read(source)
    changed_to = Source("a.py", TEXT.replace("value = inner(x)", "value = x"), "utf-8", False)
    after = front_end.read(changed_to, "", (source, before))
    shared = [old.code is new.code for old, new in zip(before[0].functions, after[0].functions, strict=True)]
    changed = {one.qualname for one, kept in zip(after[0].functions, shared, strict=True) if not kept}
    assert changed == {"first", "first.inner", "first.inner.<lambda>"}
    assert isinstance(after[2], array.array)
