"""A report put together from what it says of each file, so that only what is news is rendered anew.

What is said of a file rests on its own findings and text; where it stands in the report, on the order alone.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from transferlint import late
from transferlint.model import Finding
from transferlint.reporters import order
from transferlint.reporters.report import Counts, Report, counted

FORMS = ("text", "concise")


@late.dataclass(frozen=True, slots=True)
class Look:
    """How findings are shown: the format (of `FORMS`), the order, whether unsafe fixes are allowed, colours, and the
    width of the terminal, 0 for none."""

    form: str
    order: str
    unsafe: bool = False
    color: bool = False
    width: int = 0


@late.dataclass(frozen=True, slots=True)
class Part:
    """What a report says of a file: texts, each with what its place in the report follows from, and how many findings
    of each kind these tell."""

    texts: tuple[tuple[tuple[int | str, ...], str], ...]
    counts: Counts


def by_file(findings: Sequence[Finding]) -> Iterator[tuple[str, list[Finding]]]:
    """The findings of each file, which stand together."""
    for path, found in itertools.groupby(findings, key=lambda finding: finding.site.file):
        yield path, list(found)


def of_file(findings: Sequence[Finding], texts: Mapping[str, str], look: Look) -> Part:
    """What is said of the findings of one file; `texts` are as in `Report`."""
    place: Callable[[Finding], tuple[int | str, ...]] = order.key(look.order)
    shown = order.ordered(findings, look.order)
    if look.form == "text":
        from transferlint.reporters import text  # of the two, only the one that is asked for

        blocks = text.blocks(shown, texts, look.unsafe, look.color, look.width)
    else:
        from transferlint.reporters import concise

        blocks = concise.blocks(shown, look.unsafe)
    return Part(tuple((place(first), block) for first, block in blocks), counted(findings, look.unsafe))


def joined(parts: Iterable[Part], report: Report, look: Look, quiet: bool) -> str:
    """The whole report; `parts` are those of all files, in the order of these, `report` has what is said of them
    together (its findings are not looked at)."""
    counts: Counts = {}
    blocks: list[tuple[tuple[int | str, ...], str]] = []
    for part in parts:
        blocks += part.texts
        for kind, number in part.counts.items():
            counts[kind] = counts.get(kind, 0) + number
    blocks.sort(key=lambda block: block[0])
    report = late.replace(report, counts=counts)
    if look.form == "text":
        from transferlint.reporters import text

        tail = text.tail(report, look.color, quiet)
    else:
        from transferlint.reporters import concise

        tail = concise.tail(report, quiet)
    return "".join([block for _, block in blocks]) + tail
