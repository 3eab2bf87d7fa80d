"""Settings: what a user may set in a file, read and checked (`setting_keys.py` has the keys).

They stand in `[tool.transferlint]` of a `pyproject.toml`, or at the top level of a `transferlint.toml`. A key that is
not known, or has a value of another type, is refused with the file's name. The command line beats the file.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import Any

from transferlint import late
from transferlint.files.repository import repository
from transferlint.knowledge.user import EFFECT_KEYS, HEAT_KEYS, NOTHING_SAID, UserKnowledge
from transferlint.model import Confidence
from transferlint.settings.setting_keys import KEYS, SettingsError, shown, unknown

__all__ = ["DEFAULT_EXCLUDE", "Settings", "SettingsError", "as_table", "from_table", "holds", "inline", "origins"]
DEFAULT_EXCLUDE = (
    ".bzr", ".direnv", ".eggs", ".git", ".git-rewrite", ".hg", ".ipynb_checkpoints", ".mypy_cache", ".nox", ".pants.d",
    ".pyenv", ".pytest_cache", ".pytype", ".ruff_cache", ".svn", ".tox", ".venv", ".vscode", "__pycache__",
    "__pypackages__", "_build", "buck-out", "build", "dist", "node_modules", "site-packages", "venv",
)  # fmt: skip


@late.dataclass(frozen=True, slots=True)
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
    min_frequency: float = 0.0
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


def from_table(table: Mapping[str, Any], where: str, base: Settings) -> Settings:
    """`base` with the keys of `table`; `where` names the table in messages. Raises SettingsError."""
    values: dict[str, Any] = {}
    for key, value in table.items():
        if key == "extend":  # in a file it is gone by now
            raise SettingsError(f"{where}: `extend` can only stand in a settings file; --config FILE names one")
        if key not in KEYS:
            raise SettingsError(f"{where}: {unknown(key, key, tuple(KEYS))}")
        try:
            values[key.replace("-", "_")] = KEYS[key].read(value)
        except SettingsError as error:
            raise SettingsError(f"{where}: {error}") from None
        except TypeError as error:
            raise SettingsError(f"{where}: `{key}` must be {error}, not {shown(value)}") from None
    return late.replace(base, **values)


def read(path: str, named: bool = False) -> Settings:
    """The settings that a file holds; a `pyproject.toml` without our table holds none. Raises SettingsError.

    A file that the user did not name himself belongs to what is checked, and who wrote that is not asked what to run,
    nor which file elsewhere to read or to write: its `rules` are left out, with a word in `refused`, and a `baseline`
    outside of its folder is an error.
    """
    base = Settings(root=os.path.dirname(os.path.abspath(path)), source=path)
    limit = "" if named else repository(os.path.realpath(base.root)) or os.path.realpath(base.root)
    refused: list[str] = []
    for one, table in _chain(path, limit):
        base = late.replace(_read(one, table, base, named), source=path)
        refused += [base.refused] if base.refused and base.refused not in refused else []
    return late.replace(base, refused=" ".join(refused))


def _chain(path: str, limit: str) -> list[tuple[str, Mapping[str, Any]]]:
    """A settings file and those that it extends, with their tables, the farthest first; all of them within the folder
    `limit`, "" for anywhere. Raises SettingsError."""
    found: list[tuple[str, Mapping[str, Any]]] = []
    where = _place(path)
    while True:
        held = holds(path)
        if held is None and found:
            raise SettingsError(f"{where}: `extend` names {_relative(path)}, which has no [tool.transferlint]")
        table = dict(held or {})
        extended = table.pop("extend", None)
        found.insert(0, (path, table))
        if extended is None:
            return found
        where = _place(path)
        if not isinstance(extended, str) or not extended or "\0" in extended:
            raise SettingsError(f"{where}: `extend` must be the name of a file, not {shown(extended)}")
        path = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(path)), os.path.expanduser(extended)))
        if limit and not _within(os.path.realpath(path), limit):
            raise SettingsError(f"{where}: `extend` leads out of its repository; --config FILE takes that file")
        if any(os.path.samefile(path, other) for other, _ in found if os.path.exists(path)):
            raise SettingsError(f"{where}: `extend` leads in a circle")


def _place(path: str) -> str:
    """A settings file as messages name it."""
    return _relative(path) + (" [tool.transferlint]" if os.path.basename(path) == "pyproject.toml" else "")


def _read(path: str, table: Mapping[str, Any], base: Settings, named: bool) -> Settings:
    """`base` with what one file says; paths in it are relative to it, wherever a run starts. Raises SettingsError."""
    root, place = os.path.dirname(os.path.abspath(path)), _place(path)
    found = from_table(table, place, base)
    if "rules" in table:
        found = late.replace(found, rules=tuple(_relative(os.path.join(root, rule)) for rule in found.rules))
    if table.get("baseline"):
        found = late.replace(found, baseline=_relative(os.path.join(root, found.baseline)))
    if named:
        return found
    known = found.baseline if table.get("baseline") else ""
    if known and not _within(os.path.realpath(known), os.path.realpath(root)):
        raise SettingsError(f"{place}: `baseline` leads out of its folder; name it with --baseline {known}")
    if not found.rules:
        return late.replace(found, refused="")
    options = " ".join(f"--rules {rule}" for rule in found.rules)
    refused = f"{place}: `rules` is code, which runs only if you name it: {options}, or --config {_relative(path)}"
    return late.replace(found, rules=(), refused=refused)


def origins(path: str) -> dict[str, str]:
    """For each key that a settings file or one that it extends has, the file that decides it. Raises SettingsError."""
    return {key: one for one, table in _chain(path, "") for key in table}


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
        with open(path, encoding="utf-8-sig") as file:
            whole = _toml().loads(file.read())
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


def as_table(settings: Settings) -> dict[str, Any]:
    """The settings as plain data under the keys that a file uses, and where they came from."""
    table: dict[str, Any] = {}
    for key in KEYS:
        if key == "extend":
            continue  # what it says is in the others
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
