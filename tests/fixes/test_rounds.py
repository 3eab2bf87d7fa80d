"""Fixing in rounds: what is applied, what waits, what is refused, and that it comes to rest."""

from __future__ import annotations

import re
from collections.abc import Callable

import libcst
import pytest
from hypothesis import given
from hypothesis import strategies as st

from transferlint.fixes.rounds import FixOutcome, apply_edits, fix_text
from transferlint.model import Edit, Finding, Fix, Safety, Site


def finding(text: str, *edits: Edit, safety: Safety = Safety.SAFE, code: str = "TL900") -> Finding:
    """A finding at the first edit of its fix."""
    start = edits[0].start if edits else 0
    line = text.count("\n", 0, start) + 1
    column = start - text.rfind("\n", 0, start)
    site = Site("a.py", line, column, line, column + 1)
    return Finding(code, "fake", site, "fake", fix=Fix("do it", safety, edits), source=repr(edits))


def replacing(pattern: str, by: str, **options: object) -> Callable[[str], list[Finding]]:
    """A check that finds `pattern` and would replace it."""

    def check(text: str) -> list[Finding]:
        found = re.finditer(pattern, text)
        return [finding(text, Edit(m.start(), m.end(), m.expand(by)), **options) for m in found]  # type: ignore[arg-type]

    return check


def fix(text: str, check: Callable[[str], list[Finding]], unsafe: bool = False, limit: int = 50) -> FixOutcome:
    return fix_text("a.py", text, check, unsafe, limit)


def test_every_finding_of_a_round_is_fixed() -> None:
    made = fix("a = old\nb = old\n", replacing("old", "new"))
    assert made.text == "a = new\nb = new\n"
    assert len(made.fixed) == 2
    assert made.remaining == ()
    assert made.refused == ()


def test_rounds_go_on_until_nothing_changes() -> None:
    made = fix("x = f(f(f(1)))\n", replacing(r"f\((f\(.*\)|\d)\)", r"\1"))
    assert made.text == "x = 1\n"
    assert len(made.fixed) == 3


@pytest.mark.parametrize(
    ("safety", "unsafe", "applied"),
    [
        (Safety.SAFE, False, True),
        (Safety.SAFE, True, True),
        (Safety.UNSAFE, False, False),
        (Safety.UNSAFE, True, True),
        (Safety.DISPLAY, False, False),
        (Safety.DISPLAY, True, False),
    ],
)
def test_only_allowed_fixes_are_applied(safety: Safety, unsafe: bool, applied: bool) -> None:
    made = fix("a = old\n", replacing("old", "new", safety=safety), unsafe)
    assert made.text == ("a = new\n" if applied else "a = old\n")
    assert len(made.remaining) == (0 if applied else 1)
    assert made.refused == ()


def test_a_finding_without_a_fix_remains() -> None:
    bare = Finding("TL900", "fake", Site("a.py", 1, 1, 1, 2), "fake")
    made = fix("a\n", lambda _: [bare])
    assert made == FixOutcome("a\n", (), (bare,), ())


def test_overlapping_fixes_wait_for_the_next_round() -> None:
    calls: list[str] = []

    def check(text: str) -> list[Finding]:
        calls.append(text)
        whole = text.find("f(g(1))")
        inner = text.find("g(1)")
        found = [finding(text, Edit(inner, inner + 4, "2"), code="TL901")] if inner >= 0 else []
        return found + ([finding(text, Edit(whole, whole + 7, "g(1)"), code="TL902")] if whole >= 0 else [])

    made = fix("x = f(g(1))\n", check)
    assert made.text == "x = 2\n"
    assert [found.code for found in made.fixed] == ["TL902", "TL901"]
    assert calls == ["x = f(g(1))\n", "x = g(1)\n", "x = 2\n"]


def test_the_safer_of_two_overlapping_fixes_comes_first() -> None:
    def check(text: str) -> list[Finding]:
        if "old" not in text:
            return []
        return [
            finding(text, Edit(0, 3, "risky"), safety=Safety.UNSAFE),
            finding(text, Edit(0, 3, "sound"), safety=Safety.SAFE),
        ]

    assert fix("old\n", check, unsafe=True).text == "sound\n"


def test_the_same_line_wanted_by_two_fixes_is_inserted_once() -> None:
    def check(text: str) -> list[Finding]:
        found = re.finditer(r"\bpi\b", text)
        new_line = Edit(0, 0, "import math\n")
        return [finding(text, new_line, Edit(m.start(), m.end(), "math.tau")) for m in found]

    made = fix("a = pi\nb = pi\n", check)
    assert made.text == "import math\na = math.tau\nb = math.tau\n"
    assert len(made.fixed) == 2


def test_two_closing_brackets_at_one_place_are_both_inserted() -> None:
    def check(text: str) -> list[Finding]:
        found = []
        for name in ("f", "g"):
            start = text.find("x")
            if start >= 0 and f"{name}(" not in text:
                found.append(finding(text, Edit(start, start, f"{name}("), Edit(start + 1, start + 1, ")"), code=name))
        return found

    assert fix("a = x\n", check).text == "a = f(g(x))\n"


def test_a_fix_is_applied_whole_or_not_at_all() -> None:
    def check(text: str) -> list[Finding]:
        if "new" in text:
            return []
        return [
            finding(text, Edit(0, 3, "new")),
            finding(text, Edit(0, 3, "two"), Edit(10, 13, "new"), code="TL999"),
        ]

    assert fix("old = 1 + old\n", check).text == "new = 1 + old\n"


def test_a_fix_that_breaks_the_text_is_refused_and_the_others_are_applied() -> None:
    def check(text: str) -> list[Finding]:
        good = [finding(text, Edit(m.start(), m.end(), "new")) for m in re.finditer("old", text)]
        bad = [finding(text, Edit(m.start(), m.end(), "1 +"), code="TL666") for m in re.finditer("bad", text)]
        return good + bad

    made = fix("a = old\nb = bad\nc = old\n", check)
    assert made.text == "a = new\nb = bad\nc = new\n"
    assert [found.code for found in made.remaining] == ["TL666"]
    assert len(made.refused) == 1
    assert made.refused[0].startswith("TL666 at 2:5 is not fixed: the text it makes is not valid Python, at line ")
    assert "\n" not in made.refused[0]


def test_fixes_that_only_break_together_are_applied_one_after_the_other() -> None:
    def check(text: str) -> list[Finding]:
        # Each removes one of two statements of a suite; without both the suite is empty.
        if "p" not in text or "q" not in text:
            return []
        return [finding(text, Edit(m.start(), m.end() + 1, "")) for m in re.finditer("  [pq]", text)]

    made = fix("if x:\n  p\n  q\n", check)
    assert made.text == "if x:\n  q\n"
    assert made.refused == ()


@pytest.mark.parametrize("edit", [Edit(-1, 2, "x"), Edit(0, 99, "x"), Edit(3, 1, "x")])
def test_an_edit_outside_the_text_is_refused(edit: Edit) -> None:
    made = fix("a = 1\n", lambda text: [finding(text, edit)])
    assert made.text == "a = 1\n"
    assert "outside the text" in made.refused[0]


def test_a_fix_that_overlaps_itself_is_refused() -> None:
    made = fix("a = 1\n", lambda text: [finding(text, Edit(0, 3, "x"), Edit(2, 4, "y"))])
    assert made.text == "a = 1\n"
    assert "overlap" in made.refused[0]


@pytest.mark.parametrize("edits", [(), (Edit(0, 1, "a"),)])
def test_a_fix_that_changes_nothing_is_refused(edits: tuple[Edit, ...]) -> None:
    made = fix("a = 1\n", lambda text: [finding(text, *edits)])
    assert made.text == "a = 1\n"
    assert made.fixed == ()
    assert made.refused == ("TL900 at 1:1 is not fixed: it changes nothing",)


def test_fixes_that_undo_each_other_stop() -> None:
    def check(text: str) -> list[Finding]:
        return [finding(text, Edit(0, 1, "b" if text.startswith("a") else "a"))]

    made = fix("a = 1\n", check)
    assert made.text == "b = 1\n"
    assert made.refused == ("the fixes of TL900 undo each other; stopped",)


def test_a_fix_that_never_ends_stops_at_the_limit() -> None:
    made = fix("a = 1\n", lambda text: [finding(text, Edit(0, 0, "a"))], limit=7)
    assert made.text == "a" * 7 + "a = 1\n"
    assert made.refused == ("fixes still change the file after 7 rounds; stopped",)


def test_line_ends_and_characters_beyond_ascii_are_kept() -> None:
    made = fix("s = 'ü€🙂'\r\na = old\r\n\tb\r\n".replace("\tb\r\n", ""), replacing("old", "new"))
    assert made.text == "s = 'ü€🙂'\r\na = new\r\n"


@st.composite
def text_and_edits(draw: st.DrawFn) -> tuple[str, list[Edit]]:
    """A text and edits that do not overlap, in any order."""
    text = draw(st.text("abc\n é", max_size=40))
    cuts = sorted(draw(st.lists(st.integers(0, len(text)), max_size=12, unique=True)))
    pairs = list(zip(cuts[::2], cuts[1::2], strict=False))
    edits = [Edit(start, end, draw(st.text("xyz\n", max_size=4))) for start, end in pairs]
    return text, draw(st.permutations(edits))


@given(text_and_edits())
def test_applying_keeps_what_no_edit_covers(case: tuple[str, list[Edit]]) -> None:
    text, edits = case
    by_hand = text
    for edit in sorted(edits, key=lambda edit: -edit.start):
        by_hand = by_hand[: edit.start] + edit.text + by_hand[edit.end :]
    assert apply_edits(text, edits) == by_hand


@given(st.text("ab", min_size=4, max_size=20), st.data())
def test_overlapping_edits_are_never_applied(text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text) - 2))
    end = data.draw(st.integers(start + 2, len(text)))
    inner = data.draw(st.integers(start + 1, end - 1))
    with pytest.raises(ValueError, match="overlap"):
        apply_edits(text, [Edit(start, end, "x"), Edit(inner, data.draw(st.integers(inner, len(text))), "y")])


NAMES = st.sampled_from(["a", "bb", "old", "old2", "f(old)", "old + old", "(", "'é' + old"])


@given(st.lists(NAMES, max_size=12), st.sampled_from(["new", "(new", "", "old"]))
def test_fixing_comes_to_rest_and_what_parsed_still_parses(values: list[str], by: str) -> None:
    text = "".join(f"x{index} = {value}\n" for index, value in enumerate(values) if value != "(")
    check = replacing(r"\bold\b", by)
    made = fix(text, check)
    libcst.parse_module(made.text)
    again = fix(made.text, check)
    assert again.text == made.text
    assert again.fixed == ()
    assert sorted(made.remaining, key=repr) == sorted(check(made.text), key=repr)


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 6), st.sampled_from(["", "x", "xy\n"])), max_size=10))
def test_whatever_is_proposed_the_applied_fixes_never_overlap(proposals: list[tuple[int, int, str]]) -> None:
    text = "aaaaaaaaa\n" * 3

    def check(now: str) -> list[Finding]:
        if now != text:
            return []
        return [finding(now, Edit(start, min(start + size, 30), new)) for start, size, new in proposals]

    made = fix(text, check)
    edits = [edit for found in made.fixed if found.fix for edit in found.fix.edits]
    for index, one in enumerate(edits):
        for other in edits[index + 1 :]:
            apart = one.end <= other.start or other.end <= one.start
            assert apart or (one == other and one.start == one.end)
    assert made.text == apply_edits(text, edits)


def test_a_fix_whose_result_parses_and_does_not_compile_is_refused() -> None:
    made = fix("def f(x):\n    return g(x, a=1, b=2)\n", replacing("b=2", "a=2"))
    assert made.fixed == ()
    assert made.refused == (
        "TL900 at 2:22 is not fixed: the text it makes is not valid Python, at line 2 of it:"
        " keyword argument repeated: a",
    )


def test_what_never_compiled_may_still_be_fixed() -> None:
    assert fix("return 1 + old\n", replacing("old", "new")).text == "return 1 + new\n"


def test_fixes_that_would_bind_one_name_to_different_things_wait_for_each_other() -> None:
    def check(text: str) -> list[Finding]:
        name = next(name for name in ("kept", "kept_2", "kept_3") if name not in text)
        found = re.finditer(r"^( *).*(get\(\w\))\n", text, re.MULTILINE)
        return [
            finding(text, Edit(m.start(), m.start(), f"{m[1]}{name} = {m[2][4]}\n"), Edit(m.start(2), m.end(2), name))
            for m in found
        ]

    made = fix("for i in r:\n    for j in r:\n        get(b)\n    get(a)\n", check)
    assert made.text == ("for i in r:\n    for j in r:\n        kept = b\n        kept\n    kept_2 = a\n    kept_2\n")
    assert len(made.fixed) == 2
