"""How the lines of a file are wrapped, as far as formatters and people differ in it.

black and ruff close a bracket on a line of its own ("The Black code style", Wrapping lines); yapf's styles "pep8" and
"google" behind what it holds ("Formatting style": `dedent_closing_brackets`); others go on beneath what stands behind
the opening bracket ("PEP 8", Indentation).
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence

from transferlint import late
from transferlint.fixes.wrapping import tokens_of
from transferlint.model import Edit

_SUITE = late.pattern(r"(?:def|class|if|for|while|with|try|async)\b.*:[ \t]*(?:#.*)?$")
_OPENS = late.pattern(r"[(\[{][ \t]*(?:#.*)?$")
_BLOCK = late.pattern(r"\"\"\".*?\"\"\"|'''.*?'''", re.S)
_STRING = late.pattern(r"#[^\n]*|\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'")
_PLACE = late.pattern(r"\"(cuda|cpu)\"")
_IN_BRACKETS = late.pattern(r"[(,]\s*\w+( ?)=(?!=)|[()]")
_KEYWORD = late.pattern(r"\w( ?=)(?!=)")
_TIGHT = late.pattern(r"\b(device|dtype|non_blocking|min|max|dim)=(?=[^=\s])")
_FEW = 3  # brackets, to tell a habit from


@late.dataclass(frozen=True, slots=True)
class Habits:
    """How a file writes what is no matter of lines: `f(a = 1)` (`spaced`) or `f(a=1)`, 'text' (`single`) or "text"."""

    spaced: bool
    single: bool

    def written(self, text: str, edit: Edit) -> Edit:
        """An edit of `text` with the keywords and the names of places that it adds as the file writes them; keywords
        as those before them in the same call, where there are any."""
        made = _PLACE.sub(r"'\1'", edit.text) if self.single else edit.text
        line = text[text.rfind("\n", 0, edit.start) + 1 : edit.start]
        own = _KEYWORD.findall(line[line.rfind("(") :]) if "(" in line else []
        if own[-1] != "=" if own else self.spaced:
            made = _TIGHT.sub(r"\1 = ", made)
        return edit if made == edit.text else late.replace(edit, text=made)


def habits_of(text: str) -> Habits:
    """Those of a file, by what it does more often."""
    bare = _BLOCK.sub("", text)
    keywords = list(_keywords(bare))
    spaced = sum(keywords) * 2 > len(keywords)
    strings = [match[0][0] for match in _STRING.finditer(bare) if match[0][0] != "#"]
    return Habits(spaced, strings.count("'") > strings.count('"'))


def _keywords(text: str) -> Iterator[bool]:
    """For each keyword in round brackets whether it is written with blanks."""
    depth = 0
    for found in _IN_BRACKETS.finditer(_STRING.sub("", text)):
        depth = max(0, depth + found[0].count("(") - found[0].count(")"))
        if depth and found[1] is not None:
            yield found[1] != ""


@late.dataclass(frozen=True, slots=True)
class Style:
    """The indentation of a suite; whether brackets that hold lines of their own are closed behind the last of these;
    and whether lines go on beneath what stands behind an opening bracket, and never otherwise."""

    unit: str
    closed: bool
    aligned: bool


def style_of(lines: Sequence[str]) -> Style:
    """The style of a file, by its lines."""
    bare = [line.rstrip() for line in lines]
    opened = sum(_OPENS.search(line) is not None for line in bare)
    apart = sum(line.lstrip()[:1] in (")", "]", "}") for line in bare if line)
    beneath = sum(_beneath(one, two) for one, two in itertools.pairwise(bare))
    return Style(_unit(bare), opened >= _FEW and apart * 3 < opened, beneath >= _FEW and opened * 3 < beneath)


def _unit(lines: Sequence[str]) -> str:
    """The blanks before the first suite at the left."""
    for number, line in enumerate(lines):
        if _SUITE.match(line):
            follow = next((one for one in lines[number + 1 :] if one), "")
            blanks = follow[: len(follow) - len(follow.lstrip())]
            if blanks:
                return "\t" if blanks.startswith("\t") else blanks
    return "    "


def _beneath(line: str, following: str) -> bool:
    """True where a line goes on beneath what stands behind its last open bracket."""
    if not line.endswith(",") or not following:
        return False
    column = len(following) - len(following.lstrip())
    if column == 0 or line[column - 1 : column] not in ("(", "[", "{") or not line[column : column + 1].strip():
        return False
    tokens = tokens_of(line) or []
    return any(one.text in "([{" and one.kind == "symbol" and one.mate < 0 and one.end == column for one in tokens)


def closed(lines: list[str], limit: int) -> list[str]:
    """Wrapped lines whose brackets close behind what they hold, which fills its lines; the lines themselves where that
    would be too long, or where they are wrapped at something else."""
    head, inner, tail = lines[0], lines[1:-1], lines[-1]
    blanks = {line[: len(line) - len(line.lstrip())] for line in inner}
    if not inner or len(blanks) > 1 or tail.lstrip()[:1] not in (")", "]", "}"):
        return lines
    called = re.search(r"[\w)\]][(\[]$", head) is not None
    if not called or not all(line.endswith(",") for line in inner[:-1]):
        return lines
    indent = blanks.pop()
    parts = [line.strip() for line in inner]
    parts[-1] = parts[-1].removesuffix(",") + tail.strip()
    made = [indent + parts[0]]
    for part in parts[1:]:
        if len(made[-1]) + 1 + len(part) <= limit:
            made[-1] += f" {part}"
        else:
            made.append(indent + part)
    return [head, *made] if max(map(len, made)) <= limit else lines
