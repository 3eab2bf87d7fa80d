"""Spans are exact, whatever the text is made of."""

from __future__ import annotations

import libcst as cst
import pytest
from libcst.metadata import MetadataWrapper, PositionProvider

from transferlint.model import Site
from transferlint.syntax.lower import lower
from transferlint.syntax.spans import Spans, align

TRICKY = {
    "plain": "x = f(a.b, c[0])\n",
    "no newline at the end": "f(x)",
    "tabs": "if a:\n\tf(\tx )\n\tif b:\n\t\tg( x\t)\n",
    "non-ascii": "naïve = 'Größe 漢字 😀'; f(naïve, '😀').δ(x)\n",
    "crlf": "if a:\r\n    f(x)\r\n    g(y)\r\n",
    "cr": "if a:\r    f(x)\r    g(y)\r",
    "mixed newlines": "f(a)\r\ng(b)\nh(c)\ri(d)\n",
    "lost by the tree: form feed": "f(a)\n\x0c\ng(b)\n\x0cdef h():\n    i(c)\n",
    "line separator in a string": "f('a\u2028b', 'c\x85d'); g(x)\n",
    "multi-line call": "x = f(\n    a,  # first\n    g(\n        b,\n    ),\n).h()\n",
    "backslashes": "x = f(a) + \\\n    g(b)\n",
    "parentheses": "x = ((f)((a + b)), (c))\n(d)\n",
    "f-strings": "f'{a(b)!r:>{c(d)}} {e(f)=}' f\"{g(h)}\"\n",
    "nested f-strings": 'f"{a(f"{b(c)}")}"\n',
    "decorators": "@a(b)\n# comment\n@c\ndef f(x: int = d(e)) -> g: return h(x)\n",
    "comments everywhere": "# a\n\nif x: # b\n    # c\n    f(y) # d\n    # e\n# f\ng(z)\n",
    "semicolons": "f(a); g(b); h(c)\n",
    "statements": (
        "with a as b, (c): pass\ntry:\n  d\nexcept E as e:\n  f\nelse:\n  g\nfinally:\n  h\n"
        "for i in j:\n  continue\nelse: k\nwhile l: break\nassert m, n\ndel o, p[q]\nimport r.s as t\n"
        "from u import (v as w, x,)\nmatch y:\n  case [z, *_]: pass\nclass A(B, k=C): pass\nasync def f(): await g\n"
    ),
    "lost by the tree: blank before a colon": "try:\n    f(a)\nexcept E :\n    g(b)\nh(c)\n",
    "lost by the tree: comment at an odd column": "def f():\n    g(a)\n\n\t# x\n   # y\nh(b)\n",
    "lost by the tree: last carriage return": "f(a)\r\ng(b)\r",
}


def expressions(tree: cst.Module) -> list[cst.BaseExpression]:
    found: list[cst.BaseExpression] = []

    class Find(cst.CSTVisitor):
        def on_visit(self, node: cst.CSTNode) -> bool:
            if isinstance(node, cst.BaseExpression) and not isinstance(node, cst.StarredElement):
                found.append(node)
            return True

    tree.visit(Find())
    return found


def lines_of(text: str) -> list[int]:
    """The offsets at which lines start, by a plain walk over the characters."""
    starts = [0]
    for i, c in enumerate(text):
        if c == "\n" or (c == "\r" and text[i + 1 : i + 2] != "\n"):
            starts.append(i + 1)
    return starts


@pytest.mark.parametrize("name", [name for name in TRICKY if "lost" not in name])
def test_spans_are_libcst_positions(name):
    text = TRICKY[name]
    wrapper = MetadataWrapper(cst.parse_module(text), unsafe_skip_copy=True)
    positions = wrapper.resolve(PositionProvider)
    spans = Spans(wrapper.module, text)
    starts = lines_of(text)
    checked = 0
    for node, position in positions.items():
        if isinstance(node, (cst.BaseExpression, cst.BaseStatement, cst.BaseSmallStatement)):
            expected = (
                starts[position.start.line - 1] + position.start.column,
                starts[position.end.line - 1] + position.end.column,
            )
            assert spans.of(node) == expected, node
            checked += 1
    assert checked


@pytest.mark.parametrize("name", TRICKY)
def test_text_of_an_expression_is_its_code(name):
    text = TRICKY[name]
    tree = cst.parse_module(text)
    spans = Spans(tree, text)
    for node in expressions(tree):
        start, end = spans.outer(node)
        assert text[start:end] == tree.code_for_node(node)
        inner_start, inner_end = spans.of(node)
        assert start <= inner_start <= inner_end <= end
        assert spans.text(node) == text[inner_start:inner_end]


@pytest.mark.parametrize("name", TRICKY)
def test_every_node_of_the_program_has_a_span(name):
    text = TRICKY[name]
    tree = cst.parse_module(text)
    spans = Spans(tree, text)
    for function in lower(tree, "x.py").functions:
        for node in (*function.nodes, *(region.node for region in function.regions), function.node):
            if node is not None:
                start, end = spans.of(node)
                assert 0 <= start <= end <= len(text)


def test_own_parentheses_are_outside():
    text = "x = ( a + b )\n"
    tree = cst.parse_module(text)
    spans = Spans(tree, text)
    (value,) = [node for node in expressions(tree) if isinstance(node, cst.BinaryOperation)]
    assert spans.text(value) == "a + b"
    start, end = spans.outer(value)
    assert text[start:end] == "( a + b )"


def test_statement_is_without_the_comments_before_it():
    text = "# comment\n\nfor x in y:\n    f(x)  # comment\n# end\n"
    tree = cst.parse_module(text)
    assert Spans(tree, text).text(tree.body[0]) == "for x in y:\n    f(x)"


def test_sites_count_from_one_and_lines_as_editors_do():
    text = "a = '\x0c\u2028'\r\n\tf(é😀x)\rlast"
    spans = Spans(cst.parse_module("pass"), text)
    start = text.index("f(")
    assert spans.site("p.py", start, start + 6) == Site("p.py", 2, 2, 2, 8)
    assert spans.site("p.py", 0, len(text)) == Site("p.py", 1, 1, 3, 5)


def test_comments_are_found_in_order():
    text = TRICKY["comments everywhere"]
    spans = Spans(cst.parse_module(text), text)
    assert [text[start:end] for start, end in spans.comments()] == ["# a", "# b", "# c", "# d", "# e", "# f"]


def test_a_node_of_another_tree_is_refused():
    spans = Spans(cst.parse_module("x"), "x")
    with pytest.raises(KeyError):
        spans.of(cst.parse_module("y").body[0])


def test_align_finds_several_gaps():
    assert align("abcd", "ab cd") == [(2, 1)]
    assert align("f(a)g(b)", "f(a)  g(b)\r") == [(4, 2)]
    assert align("same", "same") == []


def test_comments_that_the_tree_lost_are_found():
    text = "def f():\n  h(b)\n\n\t# x\n # y\n"
    tree = cst.parse_module(text)
    assert "# x" not in tree.code
    spans = Spans(tree, text)
    assert [text[start:end] for start, end in spans.comments()] == ["# x", "# y"]
    (call,) = [node for node in expressions(tree) if isinstance(node, cst.Call)]
    assert spans.text(call) == "h(b)"
