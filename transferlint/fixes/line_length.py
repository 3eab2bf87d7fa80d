"""How long a line of a file may be, as the formatter of its project says, or its linter.

ruff ("Configuring Ruff": `line-length`, 88 where it says none), black ("Configuration": the same), yapf ("Formatting
style": `column_limit`, in `.style.yapf`, `setup.cfg` or `pyproject.toml`, else that of the style it is based on), the
hooks of these ("pre-commit"), and where none is set up flake8 and pycodestyle (`max-line-length`). The nearest folder
that says something counts, up to the root of the repository. These are other tools' settings: what cannot be read or
understood is as if it were not there. A file whose project says nothing is its own example.
"""

from __future__ import annotations

import functools
import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from transferlint import late

if TYPE_CHECKING:
    import configparser

BLACK, YAPF = "black", "yapf"
_USUAL = 88  # of ruff and black
_SHORTEST = 79  # of "PEP 8"
_MANY = 200  # lines of code, in which one that is longer would be found
_LONGEST = 120  # what a single line of a file may set as an example
_FEW = 3  # lines that are longer: whoever wrote these does not wrap at all
_EXTENDED = 8  # how many files may extend one another
NAMES = (
    "pyproject.toml", ".ruff.toml", "ruff.toml", ".style.yapf", "setup.cfg", ".flake8", "tox.ini",
    ".pre-commit-config.yaml",
)  # fmt: skip
_LINTERS = ("flake8", "pycodestyle", "pep8")
_TEXT = late.pattern(r"\"\"\".*?\"\"\"|'''.*?'''", re.S)
_HOOK = late.pattern(r"(?:--line-length|-l)[\s=,'\"\]\[-]*(\d+)")
_YAPF_HOOK = late.pattern(r"^\s*-\s*id:\s*['\"]?yapf\b", re.M)
_YAPF = {"pep8": 79, "google": 80, "facebook": 80, "yapf": 80, "chromium": 80}  # the limits of its styles


def line_length(path: str, text: str) -> int:
    """The most characters that a line of the file at `path` may have. Where no formatter is set up its own lines are
    the example, within what a linter allows."""
    folders = tuple(_folders(path))
    longest = max(map(len, text.splitlines() or [""]))
    found = next((length for folder in folders if (length := _formatter(folder, longest))), 0)
    if found:
        return found
    most = next((length for folder in folders if (length := _linter(folder))), 0)
    return min(most, _example(text)) if most else _example(text)


def formatter(path: str, text: str) -> str:
    """What lays out the file at `path`, by the nearest folder that sets up a formatter: BLACK (or ruff, which does it
    alike), YAPF, also beside these, or "" for none, or for a text that it never laid out: of wider lines."""
    for folder in _folders(path):
        tools = _table((_toml(folder / "pyproject.toml") or {}).get("tool"))
        if _yapf(folder, _table(tools.get("yapf"))) or "yapf" in tools or _YAPF_HOOK.search(_hooked(folder)):
            return YAPF
        if _formatter(folder, 0):
            return BLACK if _widest(text) <= line_length(path, text) else ""
    return ""


def _example(text: str) -> int:
    """The length that the code of a file keeps to: that of its longest line. A formatter leaves comments and strings as
    they are, so they say nothing; a file too short to hold a long line is taken to allow what formatters do."""
    lines = [line for line in _TEXT.sub("", text).splitlines() if line.strip()]
    lengths = _lengths(lines)
    if len(lengths) >= _FEW and lengths[_FEW - 1] > _LONGEST:
        return lengths[_FEW - 1]
    longest = lengths[0] if lengths else 0
    return _SHORTEST if len(lines) >= _MANY and longest <= _SHORTEST else min(max(_USUAL, longest), _LONGEST)


def _lengths(lines: Iterable[str]) -> list[int]:
    """How long the code of the few longest lines is, the longest first."""
    found: list[int] = []
    for line in sorted(lines, key=len, reverse=True):
        if len(found) == _FEW and len(line) <= found[-1]:
            break  # no code is longer than its line
        if code := _code(line):
            found = sorted((*found, len(code)), reverse=True)[:_FEW]
    return found


def _widest(text: str) -> int:
    """The length of the longest line of code but for the few that nobody can wrap."""
    return next(iter(_lengths(_TEXT.sub("", text).splitlines())[_FEW - 1 :]), 0)


def _code(line: str) -> str:
    """What of a line a formatter could wrap: "" for a comment, a line without brackets or operators, and one of which
    a string makes up the most."""
    code = re.sub(r"\s#.*$", "", line).rstrip()
    bare = re.sub(r"\"[^\"]*\"|'[^']*'", "", code)
    wraps = not code.lstrip().startswith(("#", '"', "'")) and re.search(r"[(\[{=]", bare) is not None
    return code if wraps and len(bare) * 2 > len(code) else ""


def consulted(folder: str) -> Iterator[str]:
    """The files that may say how long lines are in a folder, whether they are there or not, and those that ruff's
    settings there extend."""
    yield from (os.path.join(folder, name) for name in NAMES)
    for name in ("pyproject.toml", ".ruff.toml", "ruff.toml"):
        path = Path(folder, name)
        for _ in range(_EXTENDED):
            table = _toml(path) or {}
            if path.name == "pyproject.toml":
                table = _table(_table(table.get("tool")).get("ruff"))
            extended = table.get("extend")
            if not isinstance(extended, str):
                break
            path = path.parent / os.path.expanduser(extended)
            yield str(path)


def _folders(path: str) -> Iterator[Path]:
    """The folder of a file and those above it, up to the root of the repository."""
    folder = Path(os.path.abspath(path)).parent
    for above in (folder, *folder.parents):
        yield above
        if (above / ".git").exists():
            return


def _formatter(folder: Path, longest: int) -> int:
    """What the settings of ruff, black and yapf in a folder allow; 0 where there are none. Where ruff is set up without
    a length, and another says one, a file with no line longer than ruff's own keeps to that."""
    for name in (".ruff.toml", "ruff.toml"):
        if (table := _toml(folder / name)) is not None:
            return _ruff(table, folder, _EXTENDED) or _USUAL
    tools = _table((_toml(folder / "pyproject.toml") or {}).get("tool"))
    lengths = []
    if "ruff" in tools:
        lengths.append(_ruff(_table(tools["ruff"]), folder, _EXTENDED))
    if "black" in tools:
        black = _table(tools["black"])  # which takes either spelling
        lengths.append(_number(black.get("line-length", black.get("line_length"))))
    lengths += _yapf(folder, _table(tools.get("yapf")))
    lengths += _hooks(folder)
    said = [length for length in lengths if length]
    if said and lengths[0] == 0 and "ruff" in tools and longest <= _USUAL:
        return min(_USUAL, *said)
    return min(said) if said else _USUAL if lengths else 0


def _hooks(folder: Path) -> list[int]:
    """The length that the hook of a formatter is given on its command line: "pre-commit" (`args`), which names it after
    the hook's `id`."""
    hooks = re.split(r"^\s*-\s*id:\s*", _hooked(folder), flags=re.M)[1:]
    given = [_HOOK.search(hook) for hook in hooks if re.match(r"(black|ruff-format|ufmt)\b", hook)]
    return [_number(found[1]) if found is not None else 0 for found in given]


def _hooked(folder: Path) -> str:
    """The settings of "pre-commit" in a folder, "" where there are none."""
    try:
        return _text(folder / ".pre-commit-config.yaml")
    except (OSError, ValueError):
        return ""


def _ruff(table: Mapping[str, Any], folder: Path, depth: int) -> int:
    """The length that a table of ruff's sets, or the file that it extends; 0 for none."""
    length, extended = _number(table.get("line-length")), table.get("extend")
    if length or not isinstance(extended, str) or depth == 0:
        return length
    other = folder / os.path.expanduser(extended)
    above = _toml(other) or {}
    if other.name == "pyproject.toml":
        above = _table(_table(above.get("tool")).get("ruff"))
    return _ruff(above, other.parent, depth - 1)


def _yapf(folder: Path, table: Mapping[str, Any]) -> list[int]:
    """The length that the first of yapf's settings in a folder sets; none where there are none."""
    for name, section in ((".style.yapf", "style"), ("setup.cfg", "yapf")):
        parser = _sections(folder / name)
        if parser is not None and parser.has_section(section):
            table = dict(parser[section])
            break
    if not table:
        return []
    limit = str(table.get("column_limit", "")).split("#")[0]
    return [_number(limit) or _YAPF.get(str(table.get("based_on_style")).strip().lower(), _YAPF["pep8"])]


def _linter(folder: Path) -> int:
    """The most that the settings of flake8 and pycodestyle in a folder allow; 0 where there are none. Where they differ
    only the larger can be what is meant: both report what is longer."""
    found = 0
    for name in (".flake8", "setup.cfg", "tox.ini"):
        parser = _sections(folder / name)
        if parser is None:
            continue
        for section in _LINTERS:
            for key in ("max-line-length", "max_line_length"):
                found = max(found, _number(parser.get(section, key, fallback="").split("#")[0].strip()))
    return found


def _sections(path: Path) -> configparser.ConfigParser | None:
    try:
        text = _text(path)
    except (OSError, ValueError):  # before a parser is made, which takes longer
        return None
    import configparser  # which few projects need

    parser = configparser.ConfigParser(interpolation=None, strict=False)
    try:
        parser.read_string(text)
    except (ValueError, configparser.Error):
        return None
    return parser


def _toml(path: Path) -> Mapping[str, Any] | None:
    try:
        return _parsed(_text(path))
    except (OSError, ValueError):
        return None


@functools.lru_cache(maxsize=8)
def _parsed(text: str) -> Mapping[str, Any] | None:
    """A TOML text, None for what is none: of one project, which every file with a fix asks for."""
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError):
        return None


def _text(path: Path) -> str:
    """The text of a file; OSError for what is none: a pipe would wait for ever, and a device never end."""
    if not path.is_file():
        raise FileNotFoundError(path)
    return path.read_text(encoding="utf-8-sig")


def _table(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _number(value: Any) -> int:
    """A sensible length; 0 for what is none."""
    try:
        length = int(value)
    except (TypeError, ValueError):
        return 0
    return length if 20 <= length <= 1000 else 0
