"""A report that is put together from what is said of each file is the one that is made of all findings at once."""

from __future__ import annotations

import dataclasses
import itertools

import pytest

from transferlint.model import Site
from transferlint.reporters import formats, order, parts
from transferlint.reporters.parts import Look
from transferlint.reporters.report import Report
from transferlint.settings.formats import ORDERS


@pytest.mark.parametrize("color", [False, True])
@pytest.mark.parametrize("unsafe", [False, True])
@pytest.mark.parametrize(("form", "by"), list(itertools.product(parts.FORMS, ORDERS)))
def test_parts_make_the_whole(report: Report, form: str, by: str, unsafe: bool, color: bool) -> None:
    first, second, third = report.findings
    twin = dataclasses.replace(first, site=Site("src/a b.py", 2, 1, 2, 9))
    other = dataclasses.replace(second, site=Site("z.py", 1, 1, 1, 2))
    report = dataclasses.replace(report, findings=(second, first, twin, third, other), unsafe=unsafe)
    look = Look(form, by, unsafe, color, 60)
    found = [parts.of_file(findings, report.texts, look) for _, findings in parts.by_file(report.findings)]
    assert len(found) == 3
    whole = dataclasses.replace(report, findings=order.ordered(report.findings, by))
    assert parts.joined(found, report, look, quiet=False) == formats.render(whole, form, color, width=60)
    bare = dataclasses.replace(report, findings=(), texts={})
    assert parts.joined(found, bare, look, quiet=False) == formats.render(whole, form, color, width=60)


def test_nothing_found(report: Report) -> None:
    empty = dataclasses.replace(report, findings=())
    for form in parts.FORMS:
        assert parts.joined((), empty, Look(form, "cost"), quiet=False) == formats.render(empty, form)
