"""Edits that no option applies are shown as the lines they change, and said to be shown only."""

from __future__ import annotations

import pytest

from transferlint.model import Edit, Finding, Fix, Safety, Site
from transferlint.reporters import text
from transferlint.reporters.report import Report

SOURCE = "a = 1\nvalue = x.item()\nb = 2\n"


def shown(source: str, edits: tuple[Edit, ...], safety: Safety) -> list[str]:
    finding = Finding("TL101", "n", Site("a.py", 2, 9, 2, 17), "m", fix=Fix("keep it", safety, edits))
    lines = text.render(Report((finding,), {"a.py": source}, 1)).splitlines()
    return [line.strip() for line in lines if line.strip()[:1] in ("-", "+") or "shown only" in line]


def test_a_changed_line_is_shown_before_and_after() -> None:
    start = SOURCE.index(".item()")
    made = shown(SOURCE, (Edit(start, start + 7, ".detach()"),), Safety.DISPLAY)
    assert made == ["= shown only: keep it", "-value = x.item()", "+value = x.detach()"]


@pytest.mark.parametrize("safety", [Safety.SAFE, Safety.UNSAFE])
def test_what_can_be_applied_is_left_to_the_diff(safety: Safety) -> None:
    start = SOURCE.index(".item()")
    assert shown(SOURCE, (Edit(start, start + 7, ".detach()"),), safety) == []


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_added_and_removed_lines(end: str) -> None:
    source = SOURCE.replace("\n", end)
    second = source.index("value")
    assert shown(source, (Edit(second, second, f"new{end}"),), Safety.DISPLAY)[1:] == ["+new"]
    third = source.index("b = 2")
    assert shown(source, (Edit(second, third, ""),), Safety.DISPLAY)[1:] == ["-value = x.item()"]


def test_several_edits_of_a_line_are_one_change() -> None:
    start = SOURCE.index("x")
    edits = (Edit(start + 1, start + 8, ""), Edit(start, start + 1, "y"))
    assert shown(SOURCE, edits, Safety.DISPLAY)[1:] == ["-value = x.item()", "+value = y"]


def test_a_long_preview_ends_in_dots_and_controls_are_escaped() -> None:
    made = text.render(
        Report(
            (
                Finding(
                    "TL101",
                    "n",
                    Site("a.py", 1, 1, 1, 2),
                    "m",
                    fix=Fix("t", Safety.DISPLAY, (Edit(0, 0, "\x1b[2Jz\n" * 40),)),
                ),
            ),
            {"a.py": SOURCE},
            1,
        )
    )
    assert "\x1b" not in made
    assert made.count("+\\x1b[2Jz") == 11
    assert "     ..." in made
