"""The keys that a settings file may have: what each is for, what it takes, and how its value is read.

From this table values are checked, `transferlint config` explains them, and the JSON schema for editors is made; a test
holds that the schema accepts what is accepted here, and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from transferlint import late
from transferlint.files import wildcards
from transferlint.knowledge.user import EFFECT_KEYS, HEAT_KEYS, UserKnowledge
from transferlint.model import Confidence
from transferlint.settings.formats import FORMATS, ORDERS

CONTEXTS = ("file", "project")
CONFIDENCES = tuple(level.name.lower() for level in Confidence)


class SettingsError(Exception):
    """A settings file or option that cannot be used; the message is one line and names where it stands."""


@late.dataclass(frozen=True, slots=True)
class Key:
    """A key: `read` makes its value of TOML's, and raises TypeError with what it should be instead; `schema` is what a
    JSON schema says of it, `doc` one sentence or two."""

    read: Callable[[Any], Any]
    schema: Mapping[str, Any]
    doc: str


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


def _share(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise TypeError("a number from 0 to 1")
    return float(value)


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
            raise SettingsError(unknown(f"knowledge.{key}", key, (*EFFECT_KEYS, *HEAT_KEYS), "knowledge."))
        try:
            rows[key] = _strings(names)
        except TypeError as error:
            raise SettingsError(f"`knowledge.{key}` must be {error}, not {shown(names)}") from None
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


_WRITTEN = r"[\w*?\[\]!-]+(\.[\w*?\[\]!-]+)*"
_NAME = late.pattern(_WRITTEN)

_LIST: Mapping[str, Any] = {"type": "array", "items": {"type": "string"}}
_FLAG: Mapping[str, Any] = {"type": "boolean"}


def _list_of(words: str) -> Mapping[str, Any]:
    return {**_LIST, "examples": [words.split()]}


KEYS: Mapping[str, Key] = {
    "select": Key(_strings, _list_of("TL1 TL203"), "Rules to run: codes, prefixes, names or \"ALL\". Not set: all "
                  "rules that are on by default."),
    "extend-select": Key(_strings, _list_of("TL003"), "Additional rules to run."),
    "ignore": Key(_strings, _list_of("TL501"), "Rules not to run: codes, prefixes or names."),
    "per-file-ignores": Key(_by_pattern, {"type": "object", "additionalProperties": _LIST}, "Rules not to run in "
                            "files that match a pattern: a table from patterns, as in .gitignore, to lists of codes."),
    "min-frequency": Key(_share, {"type": "number", "minimum": 0, "maximum": 1}, "Report only what is expected to run "
                         "in at least this share of the steps, 0 to 1."),
    "min-confidence": Key(_confidence, {"enum": list(CONFIDENCES)}, "Minimum confidence of reported findings."),
    "exclude": Key(_patterns, _LIST, "Files and folders to exclude, as in .gitignore; replaces the built-in list."),
    "extend-exclude": Key(_patterns, _list_of("third_party/"), "More files and folders to exclude."),
    "force-exclude": Key(_flag, _FLAG, "Whether to exclude files even if they are named on the command line, as "
                         "pre-commit does."),
    "respect-gitignore": Key(_flag, _FLAG, "Whether to skip what git ignores."),
    "test-paths": Key(_strings, _list_of("tests/**"), "Tests and benchmarks, which are not read. Not "
                      "set: a built-in list."),
    "knowledge": Key(_knowledge, {"type": "object", "additionalProperties": False, "properties": {
        key: {"type": "array", "items": {"type": "string", "pattern": f"^(?:{_WRITTEN})$"}}
        for key in (*EFFECT_KEYS, *HEAT_KEYS)
    }}, "What your own functions do, by patterns of their qualified names (docs/knowledge.md)."),
    "output-format": Key(_format, {"enum": list(FORMATS)}, "Format of the report."),
    "sort": Key(_order, {"enum": list(ORDERS)}, "Order of the findings. Not set: most expensive first in text reports, "
                "by file in others."),
    "fix": Key(_flag, _FLAG, "Whether to apply safe fixes."),
    "unsafe-fixes": Key(_flag, _FLAG, "Whether to apply fixes that need a review, too."),
    "jobs": Key(_count, {"type": "integer", "minimum": 0}, "Worker processes, 0 for one per core."),
    "context": Key(_context, {"enum": list(CONTEXTS)}, "Whether to analyse each file within its project, or alone."),
    "rules": Key(_strings, _LIST, "Files and folders with your own rules, relative to this file. They are code, and "
                 "only run if --config names this file."),
    "baseline": Key(_string, {"type": "string"}, "The file of known findings, relative to this file."),
    "extend": Key(_string, {"type": "string"}, "Another settings file, whose keys apply if this one does not set "
                  "them; relative to this file."),
}  # fmt: skip


def unknown(name: str, key: str, known: tuple[str, ...], prefix: str = "") -> str:
    """What is wrong with a key that is not known, with the nearest one that is."""
    import difflib  # which only errors need

    near = difflib.get_close_matches(key.replace("_", "-"), known, n=1, cutoff=0.5)
    hint = f"did you mean `{prefix}{near[0]}`?" if near else "known are " + ", ".join(known)
    return f"unknown key `{name}`; {hint}"


def shown(value: Any) -> str:
    """A value as a message shows it."""
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def schema() -> dict[str, Any]:
    """The JSON schema of a `transferlint.toml`, and of `[tool.transferlint]`."""
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",  # what editors with TOML support read
        "title": "transferlint settings",
        "type": "object",
        "additionalProperties": False,
        "properties": {name: {**key.schema, "description": key.doc} for name, key in KEYS.items()},
    }
