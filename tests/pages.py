"""The pages of the documentation as tests read them: their code blocks, and running what these show."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import importlib.util
import io
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from markdown_it import MarkdownIt

from transferlint.cli import main

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.glob("*.md"))]
RULE_PAGES = sorted((DOCS / "rules").glob("*.md"))
HAS_TORCH = importlib.util.find_spec("torch") is not None
_TITLE = re.compile(r'title="([^"]+)"')


@dataclasses.dataclass(frozen=True)
class Block:
    """A fenced block: its language, the file that its title names ("" for none), its text, and its first line."""

    page: Path
    line: int
    language: str
    title: str
    text: str

    def __str__(self) -> str:
        return f"{self.page.relative_to(ROOT).as_posix()}:{self.line}"


@functools.cache
def blocks(page: Path) -> tuple[Block, ...]:
    """The fenced blocks of a page, in order."""
    found = []
    for token in MarkdownIt().parse(page.read_text(encoding="utf-8")):
        if token.type == "code_block":
            raise AssertionError(f"{page.name}: line {(token.map or [0])[0] + 1}: indented code; fence it")
        if token.type == "fence":
            title = _TITLE.search(token.info)
            line = (token.map or [0])[0] + 1
            language = token.info.partition(" ")[0]
            found.append(Block(page, line, language, title[1] if title else "", token.content))
    return tuple(found)


def of(language: str, pages: list[Path] | None = None) -> list[Block]:
    """All blocks of a language."""
    return [block for page in pages or PAGES for block in blocks(page) if block.language == language]


def commands(block: Block) -> list[tuple[str, str]]:
    """A console block: each command, and what it is said to print."""
    pieces = re.split(r"^\$ (.*)\n", block.text, flags=re.MULTILINE)
    assert pieces[0] == "", f"{block}: begins with output"
    return list(zip(pieces[1::2], pieces[2::2], strict=True))


def run(command: str, folder: Path) -> str:
    """What a command prints in a folder: `transferlint` in this process, but for `verify`, which has one of its own."""
    words = shlex.split(command)
    assert words[0] == "transferlint", command
    plain = {"NO_COLOR": "1", "COLUMNS": "100", "OMP_NUM_THREADS": "1", "TRANSFERLINT_CACHE_DIR": str(folder / "cache")}
    if words[1] == "verify":
        environment = {**os.environ, **plain}
        line = [sys.executable, "-m", *words]
        out_and_err = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
        return subprocess.run(line, cwd=folder, env=environment, check=False, **out_and_err).stdout.decode()
    before = dict(os.environ)
    out = io.StringIO()
    try:
        os.environ.update(plain)
        with _within(folder), contextlib.redirect_stdout(out):
            main(words[1:])
    finally:
        os.environ.clear()
        os.environ.update(before)
    return out.getvalue()


@contextlib.contextmanager
def _within(folder: Path) -> Iterator[None]:
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def agrees(shown: str, printed: str) -> bool:
    """Whether a page shows what was printed. A line of `...` in the page stands for any lines."""
    pieces = re.split(r"^\.\.\.\n", shown.rstrip("\n") + "\n", flags=re.MULTILINE)
    pattern = "(?:.*\n)*?".join(re.escape(piece) for piece in pieces)
    return re.fullmatch(pattern, printed.rstrip("\n") + "\n") is not None
