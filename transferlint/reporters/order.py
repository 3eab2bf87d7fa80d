"""In which order findings are told, and which of them are told together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from transferlint import late
from transferlint.model import Finding, Part
from transferlint.reporters.report import fixable


def ordered(findings: Iterable[Finding], order: str) -> tuple[Finding, ...]:
    """The findings in an order of `formats.ORDERS`; equals stay as they are, which is by path and line."""
    return tuple(sorted(findings, key=_KEYS[order]))


def key(order: str) -> Callable[[Finding], tuple[int | str, ...]]:
    """What an order goes by."""
    return _KEYS[order]


def _cost(finding: Finding) -> tuple[int | str, ...]:
    """What a program in sight runs repeatedly first, as more of such findings are right (7 of 18 against 12 of 61 in
    benchmarks/results/precision.md); then what runs most often, by its level and by the share of steps; of that, what
    is seen and not assumed, and what is surest. What could not even be read (TL001) comes before all: nobody knows what
    it costs."""
    if finding.code == "TL001":
        return (0,)
    heat = finding.heat
    if heat is None:
        return (3, 0, 0, 0, 0, -finding.confidence)
    often = round(10 * heat.share) if heat.share is not None else 10
    reached = 0 if heat.shown else 1
    return (1 if heat.hot else 2, reached, -heat.level, -often, 0 if heat.seen else 1, -finding.confidence)


def _rule(finding: Finding) -> tuple[int | str, ...]:
    return (finding.code,)


def _place(_: Finding) -> tuple[int | str, ...]:
    return ()


_KEYS: Mapping[str, Callable[[Finding], tuple[int | str, ...]]] = {"cost": _cost, "place": _place, "rule": _rule}


@late.dataclass(frozen=True, slots=True)
class Told:
    """A finding as it is told once: without the links to the sites that it speaks for, whose lines in its own file are
    `lines`; `elsewhere` are those in other files as `path:line`; `count` is how many findings this tells."""

    finding: Finding
    lines: tuple[int, ...]
    elsewhere: tuple[str, ...]
    count: int

    @property
    def also(self) -> str:
        """The other sites in words, "" for none."""
        parts = []
        if self.lines:
            parts.append(("line " if len(self.lines) == 1 else "lines ") + ", ".join(map(str, self.lines)))
        return ", ".join([*parts, *self.elsewhere])


def told(findings: Iterable[Finding], unsafe: bool) -> list[Told]:
    """Findings that say the same of the same function, told once, where the first of them stands."""
    groups: dict[tuple[Any, ...], list[Finding]] = {}
    for finding in findings:
        groups.setdefault(_same(finding, unsafe), []).append(finding)
    return [_told(group) for group in groups.values()]


def _same(finding: Finding, unsafe: bool) -> tuple[Any, ...]:
    """What makes two findings one to a reader. A fix that is only shown differs by its text, which is shown."""
    fix = finding.fix
    shown = fix.edits if fix is not None and not fixable(finding, unsafe) else ()
    heat = finding.heat and late.replace(finding.heat, share=None)
    said = (finding.message, finding.help, heat, fixable(finding, unsafe), fix and fix.title, shown)
    return (finding.code, finding.site.path, finding.context, finding.confidence, said)


def _told(group: list[Finding]) -> Told:
    first = group[0]
    shown = {link.site for link in first.evidence if link.code}
    sites = [one.site for finding in group for one in finding.members() if one.site not in shown][1:]
    own = sorted({site.line for site in sites if site.path == first.site.path} - {first.site.line})
    other = dict.fromkeys(f"{site.path}:{site.line}" for site in sites if site.path != first.site.path)
    kept = tuple(link for link in first.evidence if link.code or link.part is not Part.SAME)
    return Told(late.replace(first, evidence=kept), tuple(own), tuple(other), len(group))
