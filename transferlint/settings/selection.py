"""Which rules run: selectors are codes, prefixes of codes (`TL1`), names of rules, or `ALL`."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from transferlint.rule import Rule
from transferlint.settings.loading import SettingsError

_EXACT = 1000


def matches(selector: str, code: str, name: str) -> int:
    """How exactly a selector names a rule: 0 not at all, more for longer prefixes, most for the whole code or name."""
    wanted = selector.strip()
    if wanted.upper() == code or wanted.lower() == name:
        return _EXACT
    if wanted.upper() == "ALL":
        return 1
    return len(wanted) + 1 if wanted and code.startswith(wanted.upper()) else 0


def check(selectors: Iterable[str], known: Collection[tuple[str, str]]) -> None:
    """Raise SettingsError for the first selector that names none of the `known` codes and names, with the nearest."""
    for selector in selectors:
        if any(matches(selector, code, name) for code, name in known):
            continue
        import difflib  # which only errors need

        words = [word for pair in known for word in pair]
        near = [*difflib.get_close_matches(selector, words), *difflib.get_close_matches(selector.upper(), words)]
        hint = f"; did you mean {near[0]}?" if near else "; `transferlint rules` lists them"
        raise SettingsError(f"{selector!r} names no rule{hint}")


def choose(
    rules: Iterable[Rule], select: tuple[str, ...] | None, extend: tuple[str, ...], ignore: tuple[str, ...]
) -> tuple[Rule, ...]:
    """The rules that run. The more exact selector wins, and `ignore` wins a tie: `--select TL1 --ignore TL101` leaves
    TL101 out, `--select TL101 --ignore TL1` runs it alone."""
    return tuple(rule for rule in rules if _chosen(rule, select, extend, ignore))


def _chosen(rule: Rule, select: tuple[str, ...] | None, extend: tuple[str, ...], ignore: tuple[str, ...]) -> bool:
    wanted = max((matches(selector, rule.code, rule.name) for selector in (*(select or ()), *extend)), default=0)
    if select is None and rule.default:
        wanted = max(wanted, 1)
    unwanted = max((matches(selector, rule.code, rule.name) for selector in ignore), default=0)
    return wanted > unwanted


def ignored(code: str, name: str, selectors: Iterable[str]) -> bool:
    """Whether one of the selectors names the rule."""
    return any(matches(selector, code, name) for selector in selectors)
