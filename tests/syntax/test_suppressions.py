"""Which findings a comment silences."""

from __future__ import annotations

import textwrap

import pytest

from transferlint.syntax import front_end
from transferlint.syntax.source import Source
from transferlint.syntax.suppressions import Suppression


def found(source: str) -> list[Suppression]:
    text = textwrap.dedent(source).lstrip("\n")
    source = Source("x.py", text, "utf-8", False)
    (_, comments, *_), _ = front_end.by_ast(source)
    assert comments == front_end.by_libcst(source)[0][1]
    return list(comments)


def one(source: str) -> Suppression:
    (only,) = found(source)
    return only


@pytest.mark.parametrize(
    ("comment", "codes", "reason"),
    [
        ("# transferlint: ignore", (), ""),
        ("# transferlint: ignore[TL101]", ("TL101",), ""),
        ("# transferlint: ignore[TL101, tl2] read once, on purpose", ("TL101", "TL2"), "read once, on purpose"),
        ("#transferlint:ignore[TL101]: why", ("TL101",), "why"),
        ("# type: ignore  # transferlint: ignore[TL1] why  # other", ("TL1",), "why"),
        ("# transferlint: ignore because", (), "because"),
    ],
)
def test_forms(comment, codes, reason):
    text = f"x = f()  {comment}\n"
    suppression = one(text)
    assert (suppression.codes, suppression.reason, suppression.kind) == (codes, reason, "line")
    assert (suppression.first_line, suppression.last_line, suppression.line) == (1, 1, 1)
    assert text[suppression.start : suppression.end] == comment


@pytest.mark.parametrize(
    ("comment", "codes"),
    [
        ("# noqa", ()),
        ("# NOQA: TL101", ("TL101",)),
        ("# noqa: E501, TL101 TL102", ("TL101", "TL102")),
        ("#noqa:TL101", ("TL101",)),
    ],
)
def test_noqa(comment, codes):
    suppression = one(f"x = f()  {comment}\n")
    assert (suppression.codes, suppression.kind) == (codes, "noqa")


@pytest.mark.parametrize(
    "comment", ["# noqa: E501", "# noqar", "# about noqa", "# a transfer linter", "# transferlinted"]
)
def test_not_ours(comment):
    assert found(f"x = f()  {comment}\n") == []


@pytest.mark.parametrize(
    "comment",
    [
        "# transferlint: ignroe",
        "# transferlint: ignore[TL101",
        "# transferlint: ignore[]",
        "# transferlint: ignore[no-such code]",
        "# transferlint: off",
        "# transferlint:",
        "# transferlint: ignore-file",  # not on a line of its own
    ],
)
def test_malformed_silences_nothing(comment):
    suppression = one(f"x = f()  {comment}\n")
    assert suppression.kind == "malformed"
    assert suppression.codes
    assert not suppression.silences("TL101", 1, 1)


def test_strings_are_no_comments():
    assert found('x = "# transferlint: ignore"\n"""\n# noqa\n# transferlint: ignore-file\n"""\n') == []
    assert found("x = f'{a}# noqa'\n") == []


def test_any_line_of_a_statement_covers_it():
    source = "x = f(\n    a,  # transferlint: ignore[TL1]\n    b,\n)\ny = 1\n"
    suppression = one(source)
    assert (suppression.first_line, suppression.last_line, suppression.line) == (1, 4, 2)
    assert suppression.silences("TL101", 1, 1)
    assert suppression.silences("TL101", 3, 3)
    assert not suppression.silences("TL201", 1, 1)
    assert not suppression.silences("TL101", 5, 5)


@pytest.mark.parametrize("header", ["def f():", "class A:", "for x in y:", "while x:", "with x:", "async def f():"])
def test_header_covers_the_body(header):
    suppression = one(f"a = 1\n{header}  # transferlint: ignore\n    b = 1\n\n    c = 1\nd = 1\n")
    assert (suppression.first_line, suppression.last_line, suppression.kind) == (2, 5, "block")


@pytest.mark.parametrize("header", ["if x:", "try:", "match x:"])
def test_other_headers_cover_themselves(header):
    body = {"if x:": "    b\n", "try:": "    b\nfinally: pass\n", "match x:": "    case 1: pass\n"}[header]
    suppression = one(f"{header}  # transferlint: ignore\n{body}")
    assert (suppression.first_line, suppression.last_line, suppression.kind) == (1, 1, "line")


def test_long_header():
    suppression = one(
        """
        @decorator
        def f(
            a,
            b=c(),  # transferlint: ignore
        ):
            return 1
        """
    )
    assert (suppression.first_line, suppression.last_line) == (2, 6)


def test_else_of_a_loop_is_not_its_body():
    suppression = one("for x in y:  # transferlint: ignore\n    a\nelse:\n    b\n")
    assert (suppression.first_line, suppression.last_line) == (1, 2)


def test_one_line_suites():
    assert one("for x in y: f(x)  # transferlint: ignore\n").last_line == 1
    suppression = one("if x: f(\n    y,  # transferlint: ignore\n)\n")
    assert (suppression.first_line, suppression.last_line) == (1, 3)


def test_nested_statements():
    suppression = one(
        """
        class A:
            def f(self):
                if a:
                    x = g(
                        b)  # transferlint: ignore
                y = 1
        """
    )
    assert (suppression.first_line, suppression.last_line) == (4, 5)


def test_noqa_on_a_header_covers_its_line_only():
    suppression = one("for x in y:  # noqa: TL101\n    f(x)\n")
    assert (suppression.first_line, suppression.last_line) == (1, 1)


def test_a_comment_of_its_own_in_a_body_covers_only_its_line():
    suppression = one("def f():\n    # transferlint: ignore\n    x = 1\n")
    assert (suppression.first_line, suppression.last_line) == (2, 2)


@pytest.mark.parametrize(
    "where",
    [
        "# transferlint: ignore-file[TL4] generated\nx = 1\n",
        "x = 1\ndef f():\n    # transferlint: ignore-file[TL4] generated\n    pass\n",
    ],
)
def test_file(where):
    suppression = one(where)
    assert (suppression.kind, suppression.codes, suppression.reason) == ("file", ("TL4",), "generated")
    assert suppression.silences("TL401", 1, 1)
    assert suppression.silences("TL401", 2, 3)


def test_two_on_one_line():
    both = found("x = f()  # noqa: TL101  # transferlint: ignore[TL102] why\n")
    assert sorted((s.kind, s.codes) for s in both) == [("line", ("TL102",)), ("noqa", ("TL101",))]


def test_comment_that_the_tree_moved():
    assert one("if a:\n    x = 1\n  # transferlint: ignore-file\ny = 2\n").kind == "file"
