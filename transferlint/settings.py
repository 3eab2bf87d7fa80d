"""Settings: what a user may set in a file, read, checked and merged with the command line.

They stand in `[tool.transferlint]` of a `pyproject.toml`, or at the top level of a `transferlint.toml`. A key that is
not known, or has a value of another type, is refused with the file's name. The command line beats the file.
"""

from __future__ import annotations

import dataclasses
import difflib
import os
import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from transferlint import wildcards
from transferlint.formats import FORMATS, ORDERS
from transferlint.knowledge.user import EFFECT_KEYS, HEAT_KEYS, NOTHING_SAID, UserKnowledge
from transferlint.model import Confidence

CONTEXTS = ("file", "project")
CONFIDENCES = tuple(level.name.lower() for level in Confidence)
DEFAULT_EXCLUDE = (
    ".bzr", ".direnv", ".eggs", ".git", ".git-rewrite", ".hg", ".ipynb_checkpoints", ".mypy_cache", ".nox", ".pants.d",
    ".pyenv", ".pytest_cache", ".pytype", ".ruff_cache", ".svn", ".tox", ".venv", ".vscode", "__pycache__",
    "__pypackages__", "_build", "buck-out", "build", "dist", "node_modules", "site-packages", "venv",
)  # fmt: skip


class SettingsError(Exception):
    """A settings file or option that cannot be used; the message is one line and names where it stands."""


@dataclasses.dataclass(frozen=True, slots=True)
class Settings:
    """All settings of a run.

    `select` None means every rule that is on by default. Patterns are those of `.gitignore`, relative to `root` (the
    folder of the settings file, else the current one). `test_paths` None means the built-in list. `knowledge` holds the
    rows of `[tool.transferlint.knowledge]`. `rules` are files and folders of rules beside the installed packs,
    `baseline` is the file of known findings ("" for none); both as seen from the current folder. `jobs` 0 means one
    worker a core, `sort` "" what is usual for the format. `source` names the file they came from, "" for none;
    `refused` says what in it is not followed.
    """

    select: tuple[str, ...] | None = None
    extend_select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    per_file_ignores: tuple[tuple[str, tuple[str, ...]], ...] = ()
    min_confidence: Confidence = Confidence.LIKELY
    exclude: tuple[str, ...] = DEFAULT_EXCLUDE
    extend_exclude: tuple[str, ...] = ()
    force_exclude: bool = False
    respect_gitignore: bool = True
    test_paths: tuple[str, ...] | None = None
    knowledge: UserKnowledge = NOTHING_SAID
    output_format: str = "text"
    sort: str = ""
    fix: bool = False
    unsafe_fixes: bool = False
    jobs: int = 0
    context: str = "project"
    project_root: str = ""
    rules: tuple[str, ...] = ()
    baseline: str = ""
    root: str = ""
    source: str = ""
    refused: str = ""


def _strings(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise TypeError("a list of strings")
    return tuple(value)


def _patterns(value: Any) -> tuple[str, ...]:
    found = _strings(value)
    wrong = next((one for one in found if wildcards.too_many(one)), None)
    if wrong is not None:
        raise TypeError(f"patterns with at most {wildcards.MOST} wildcards each")
    return found


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise TypeError("true or false")
    return value


def _count(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise TypeError("a whole number, 0 for one worker a core")
    return value


def _string(value: Any) -> str:
    if not isinstance(value, str) or "\0" in value:
        raise TypeError("a string without null bytes")
    return value


def _format(value: Any) -> str:
    if value not in FORMATS:
        raise TypeError("one of " + ", ".join(FORMATS))
    return str(value)


def _order(value: Any) -> str:
    if value not in ORDERS:
        raise TypeError("one of " + ", ".join(ORDERS))
    return str(value)


def _context(value: Any) -> str:
    if value not in CONTEXTS:
        raise TypeError("one of " + ", ".join(CONTEXTS))
    return str(value)


def _confidence(value: Any) -> Confidence:
    if value not in CONFIDENCES:
        raise TypeError("one of " + ", ".join(CONFIDENCES))
    return Confidence[value.upper()]


def _by_pattern(value: Any) -> tuple[tuple[str, tuple[str, ...]], ...]:
    if not isinstance(value, dict):
        raise TypeError("a table from patterns to lists of codes")
    try:
        return tuple((_patterns([pattern])[0], _strings(codes)) for pattern, codes in value.items())
    except TypeError as error:
        if any(map(wildcards.too_many, value)):
            raise error from None
        raise TypeError("a table from patterns to lists of codes") from None


def _knowledge(value: Any) -> UserKnowledge:
    """Raises SettingsError (without the file) for what is wrong within the table, TypeError where it is none."""
    if not isinstance(value, dict):
        raise TypeError("a table from what functions do to lists of their names")
    rows: dict[str, tuple[str, ...]] = {}
    for key, names in value.items():
        if key not in (*EFFECT_KEYS, *HEAT_KEYS):
            raise SettingsError(_unknown(f"knowledge.{key}", key, (*EFFECT_KEYS, *HEAT_KEYS), "knowledge."))
        try:
            rows[key] = _strings(names)
        except TypeError as error:
            raise SettingsError(f"`knowledge.{key}` must be {error}, not {_shown(names)}") from None
        wrong = next((name for name in rows[key] if not _NAME.fullmatch(name)), None)
        if wrong is not None:
            raise SettingsError(f"`knowledge.{key}`: {wrong!r} is no qualified name, nor a pattern of one")
    for keys in (EFFECT_KEYS, HEAT_KEYS):
        seen: dict[str, str] = {}
        for key in (key for key in keys if key in rows):
            for name in rows[key]:
                if seen.setdefault(name, key) != key:
                    raise SettingsError(f"`knowledge`: {name!r} stands under both `{seen[name]}` and `{key}`")
    return UserKnowledge(**{key.replace("-", "_"): names for key, names in rows.items()})


_NAME = re.compile(r"[\w*?\[\]!-]+(\.[\w*?\[\]!-]+)*")

KEYS: Mapping[str, Callable[[Any], Any]] = {
    "select": _strings,
    "extend-select": _strings,
    "ignore": _strings,
    "per-file-ignores": _by_pattern,
    "min-confidence": _confidence,
    "exclude": _patterns,
    "extend-exclude": _patterns,
    "force-exclude": _flag,
    "respect-gitignore": _flag,
    "test-paths": _strings,
    "knowledge": _knowledge,
    "output-format": _format,
    "sort": _order,
    "fix": _flag,
    "unsafe-fixes": _flag,
    "jobs": _count,
    "context": _context,
    "rules": _strings,
    "baseline": _string,
}


def from_table(table: Mapping[str, Any], where: str, base: Settings) -> Settings:
    """`base` with the keys of `table`; `where` names the table in messages. Raises SettingsError."""
    values: dict[str, Any] = {}
    for key, value in table.items():
        if key not in KEYS:
            raise SettingsError(f"{where}: {_unknown(key, key, tuple(KEYS))}")
        try:
            values[key.replace("-", "_")] = KEYS[key](value)
        except SettingsError as error:
            raise SettingsError(f"{where}: {error}") from None
        except TypeError as error:
            raise SettingsError(f"{where}: `{key}` must be {error}, not {_shown(value)}") from None
    return dataclasses.replace(base, **values)


def _unknown(shown: str, key: str, known: tuple[str, ...], prefix: str = "") -> str:
    """What is wrong with a key that is not known, with the nearest one that is."""
    near = difflib.get_close_matches(key.replace("_", "-"), known, n=1, cutoff=0.5)
    hint = f"did you mean `{prefix}{near[0]}`?" if near else "known are " + ", ".join(known)
    return f"unknown key `{shown}`; {hint}"


def read(path: str, named: bool = False) -> Settings:
    """The settings that a file holds; a `pyproject.toml` without our table holds none. Raises SettingsError.

    A file that the user did not name himself belongs to what is checked, and who wrote that is not asked what to run,
    nor which file elsewhere to read or to write: its `rules` are left out, with a word in `refused`, and a `baseline`
    outside of its folder is an error.
    """
    root = os.path.dirname(os.path.abspath(path))
    base = Settings(root=root, source=path)
    table = holds(path)
    section = " [tool.transferlint]" if os.path.basename(path) == "pyproject.toml" else ""
    shown = _relative(path)
    found = from_table(table or {}, shown + section, base)
    # Paths in a file are relative to it, wherever a run starts.
    rules = tuple(_relative(os.path.join(root, rule)) for rule in found.rules)
    known = _relative(os.path.join(root, found.baseline)) if found.baseline else ""
    if named:
        return dataclasses.replace(found, rules=rules, baseline=known)
    if known and not _within(os.path.realpath(known), os.path.realpath(root)):
        raise SettingsError(f"{shown}{section}: `baseline` leads out of its folder; name it with --baseline {known}")
    refused = ""
    if rules:
        options = " ".join(f"--rules {rule}" for rule in rules)
        refused = f"{shown}{section}: `rules` is code, which runs only if you name it: {options}, or --config {shown}"
    return dataclasses.replace(found, rules=(), baseline=known, refused=refused)


def _within(path: str, folder: str) -> bool:
    return path.startswith(folder.rstrip(os.sep) + os.sep)


def inline(text: str, base: Settings) -> Settings:
    """`base` with settings written as TOML on the command line (`select = ["TL1"]`). Raises SettingsError."""
    try:
        table = _toml().loads(text)
    except ValueError as error:
        raise SettingsError(f"--config: neither a file nor TOML: {text!r} ({error})") from None
    return from_table(table, "--config", base)


def holds(path: str) -> Mapping[str, Any] | None:
    """The table of a settings file, None where a `pyproject.toml` has none of ours. Raises SettingsError."""
    shown = _relative(path)
    try:
        whole = _toml().loads(Path(path).read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise SettingsError(f"{shown}: cannot be read: {error.strerror or error}") from None
    except ValueError as error:  # not TOML, or not UTF-8
        raise SettingsError(f"{shown}: not valid TOML: {error}") from None
    if os.path.basename(path) != "pyproject.toml":
        return dict(whole)
    tool = whole.get("tool", {})
    table = tool.get("transferlint") if isinstance(tool, dict) else None
    if table is not None and not isinstance(table, dict):
        raise SettingsError(f"{shown}: tool.transferlint must be a table")
    return table


def _toml() -> Any:
    if sys.version_info >= (3, 11):
        import tomllib

        return tomllib
    import tomli

    return tomli


def _relative(path: str) -> str:
    relative = os.path.relpath(path)
    return path if relative.startswith("..") else relative.replace(os.sep, "/")


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def as_table(settings: Settings) -> dict[str, Any]:
    """The settings as plain data under the keys that a file uses, and where they came from."""
    table: dict[str, Any] = {}
    for key in KEYS:
        value = getattr(settings, key.replace("-", "_"))
        if isinstance(value, Confidence):
            value = value.name.lower()
        elif key == "per-file-ignores":
            value = {pattern: list(codes) for pattern, codes in value}
        elif isinstance(value, UserKnowledge):
            value = {name: list(value.under(name)) for name in (*EFFECT_KEYS, *HEAT_KEYS) if value.under(name)}
        elif isinstance(value, tuple):
            value = list(value)
        table[key] = value
    return {**table, "root": settings.root, "source": settings.source}
