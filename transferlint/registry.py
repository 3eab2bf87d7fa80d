"""The rule packs that are installed: found by entry point, checked, and refused one by one where they are broken.

A pack is a package named by an entry point of the group `transferlint.rules`; its attribute `RULES` is a tuple of
`transferlint.rule.Rule`. The built-in pack is found in the same way as anybody else's. Rule files that belong to no
package are taken from their paths (`own_rules.py`).
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Protocol

from transferlint import late
from transferlint.model import Safety
from transferlint.rule import CATEGORIES, HEADINGS, Example, Rule, RuleFileError

GROUP = "transferlint.rules"
_CODE = late.pattern(r"[A-Z]+[0-9]{3}\Z")
_NAME = late.pattern(r"[a-z][a-z0-9]*(-[a-z0-9]+)*\Z")


class EntryPoint(Protocol):
    """What this module needs of `importlib.metadata.EntryPoint`."""

    @property
    def name(self) -> str:
        """The name that the pack registered itself under."""

    @property
    def value(self) -> str:
        """The module, optionally followed by `:attribute`."""


@late.dataclass(frozen=True, slots=True)
class Registry:
    """The rules of every sound pack, by code, and one line for each pack that was refused."""

    rules: tuple[Rule, ...]
    refused: tuple[str, ...] = ()

    def find(self, wanted: str) -> Rule | None:
        """The rule with that code or name (case does not matter), or None."""
        for rule in self.rules:
            if wanted.upper() == rule.code or wanted.lower() == rule.name:
                return rule
        return None


def load(points: Iterable[EntryPoint] | None = None, paths: Sequence[str] = ()) -> Registry:
    """Import and check every pack, and then the rule files at `paths` (files and folders); `points` replaces the
    installed entry points. Never raises for a broken pack or file."""
    points = entry_points() if points is None else points
    sources: list[tuple[str, Callable[[], tuple[Rule, ...]]]] = []
    for point in sorted(points, key=lambda point: (point.name, point.value)):
        sources.append((f"rule pack {point.name} ({point.value})", functools.partial(_pack, point)))
    if paths:
        from transferlint import own_rules

        sources += own_rules.sources(paths, checked)
    rules: dict[str, Rule] = {}
    names: set[str] = set()
    refused: list[str] = []
    for described, source in sources:
        try:
            with contextlib.redirect_stdout(sys.stderr):  # standard output is the report's
                pack = source()
            faults = [fault for rule in pack for fault in _faults(rule)] + list(_clashes(pack, set(rules), names))
        except (Exception, SystemExit) as error:  # foreign code: whatever it raises, the others go on
            faults = [_fault(error)]
            pack = ()
        if faults:
            refused.append(f"{described} is left out: {faults[0]}" + _others(faults))
            continue
        rules.update((rule.code, rule) for rule in pack)
        names.update(rule.name for rule in pack)
    return Registry(tuple(rules[code] for code in sorted(rules)), tuple(refused))


def entry_points() -> Iterable[EntryPoint]:
    """The entry points of the installed packs."""
    from importlib import metadata  # which takes long, and reads the metadata of every installed package

    return metadata.entry_points(group=GROUP)


def _pack(point: EntryPoint) -> tuple[Rule, ...]:
    """The rules of a pack; raises TypeError where `RULES` is not a tuple of rules."""
    module, _, attribute = point.value.partition(":")
    return checked(getattr(importlib.import_module(module.strip()), attribute.strip() or "RULES"))


def checked(found: Any) -> tuple[Rule, ...]:
    """What a pack calls its rules, as a tuple; raises TypeError where it holds anything else."""
    if not isinstance(found, (tuple, list)):
        raise TypeError(f"RULES is a {type(found).__name__}, not a tuple of rules")
    for item in found:
        if not isinstance(item, Rule):
            raise TypeError(f"RULES holds a {type(item).__name__}, not a transferlint.rule.Rule")
    return tuple(found)


def _faults(rule: Any) -> Iterator[str]:
    """What is wrong with one rule, in words; no field is taken to have the type it is declared with."""
    if not (isinstance(rule.code, str) and _CODE.match(rule.code)):
        yield f"the code {rule.code!r} is not capital letters and three digits"
        return
    if not (isinstance(rule.name, str) and _NAME.match(rule.name)):
        yield f"{rule.code}: the name {rule.name!r} is not kebab case"
    for field in ("summary", "doc", "since"):
        if not isinstance(getattr(rule, field), str) or not getattr(rule, field).strip():
            yield f"{rule.code}: {field} is not a text"
            return
    if "\n" in rule.summary:
        yield f"{rule.code}: the summary is not one line"
    if rule.category not in CATEGORIES:
        yield f"{rule.code}: the category {rule.category!r} is none of {', '.join(CATEGORIES)}"
    if not isinstance(rule.default, bool):
        yield f"{rule.code}: default is not a bool"
    if rule.fix_safety is not None and not isinstance(rule.fix_safety, Safety):
        yield f"{rule.code}: fix_safety is neither None nor a Safety"
    if not callable(rule.detect) or not (rule.judge is None or callable(rule.judge)):
        yield f"{rule.code}: {'judge' if callable(rule.detect) else 'detect'} cannot be called"
    if not isinstance(rule.examples, tuple) or not all(isinstance(example, Example) for example in rule.examples):
        yield f"{rule.code}: examples is not a tuple of Example"
    said = headings(rule.doc)
    missing = [heading for heading in HEADINGS if heading not in said]
    if missing:
        yield f"{rule.code}: the documentation lacks the heading {missing[0]!r}"


def headings(doc: str) -> set[str]:
    """The lines of a rule's documentation that may be headings: `## Why`, `Why:` and an underlined `Why` all are."""
    return {line.strip().lstrip("#").strip().rstrip(":").strip("*").strip() for line in doc.splitlines()}


def _clashes(pack: tuple[Rule, ...], codes: set[str], names: set[str]) -> Iterator[str]:
    codes, names = set(codes), set(names)
    for rule in pack:
        if rule.code in codes:
            yield f"the code {rule.code} is taken"
        if rule.name in names:
            yield f"{rule.code}: the name {rule.name} is taken"
        codes.add(rule.code)
        names.add(rule.name)


def _others(faults: list[str]) -> str:
    return f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""


def _fault(error: BaseException) -> str:
    """An error in one line; where it has no message of ours, with its type."""
    words = " ".join(str(error).split())[:300]
    return words if isinstance(error, RuleFileError) else f"{type(error).__name__}: {words}"
