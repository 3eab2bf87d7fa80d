"""Python sources for property tests: every kind of statement and expression, oddly laid out."""

from __future__ import annotations

from hypothesis import strategies as st

NAMES = st.sampled_from(["a", "b", "x", "self", "torch", "loss"])
ATOMS = st.one_of(
    NAMES, st.sampled_from(["1", "'s'", "None", "b'x'", "1.5", "...", "f'{a}{b!r:>{x}}'", "'é😀'", "(\n  x\n )"])
)
EXPRESSIONS = st.recursive(
    ATOMS,
    lambda e: st.one_of(
        st.tuples(e, st.sampled_from(["+", "@", "<", "is not", "not in", "and", "or", "**"]), e).map(
            lambda t: f"({t[0]} {t[1]} {t[2]})"
        ),
        st.tuples(e, NAMES).map(lambda t: f"({t[0]}).{t[1]}"),
        st.tuples(e, st.lists(e, max_size=3), e).map(
            lambda t: f"({t[0]})({', '.join(t[1])}{', ' if t[1] else ''}*a, k={t[2]}, **b)"
        ),
        st.tuples(e, e, e).map(lambda t: f"({t[0]})[{t[1]}, {t[2]}:]"),
        st.tuples(e, e, e).map(lambda t: f"({t[0]} if {t[1]} else {t[2]})"),
        st.tuples(e, NAMES, e, e).map(lambda t: f"[{t[0]} for {t[1]} in {t[2]} if {t[3]} for a in b]"),
        st.tuples(e, NAMES, e).map(lambda t: f"{{{t[0]}: 1 for {t[1]} in {t[2]}}}"),
        st.tuples(NAMES, e, e).map(lambda t: f"(lambda {t[0]}={t[1]}: {t[2]})"),
        st.tuples(e, e).map(lambda t: f"({t[0]}, *{t[1]})"),
        st.tuples(e, e).map(lambda t: f"{{{t[0]}: {t[1]}, **a}}"),
        st.tuples(st.sampled_from(["-", "not ", "~"]), e).map(lambda t: f"({t[0]}{t[1]})"),
    ),
    max_leaves=8,
)
TARGETS = st.one_of(NAMES, st.sampled_from(["a.b", "x[0]", "a, (b, *x)", "[a, b]"]))
SIMPLE = st.one_of(
    EXPRESSIONS,
    st.tuples(TARGETS, EXPRESSIONS).map(lambda t: f"{t[0]} = {t[1]}"),
    st.tuples(NAMES, EXPRESSIONS).map(lambda t: f"{t[0]} += {t[1]}"),
    st.tuples(NAMES, EXPRESSIONS).map(lambda t: f"{t[0]}: int = {t[1]}"),
    st.tuples(EXPRESSIONS, EXPRESSIONS).map(lambda t: f"assert {t[0]}, {t[1]}"),
    EXPRESSIONS.map(lambda e: f"return {e}"),
    EXPRESSIONS.map(lambda e: f"raise {e}"),
    EXPRESSIONS.map(lambda e: f"(x := {e})"),
    st.sampled_from(["pass", "return", "raise", "import a.b", "from . import x as y", "del a, b.c"]),
    EXPRESSIONS.map(lambda e: f"yield {e}"),
)


def indented(lines: str) -> str:
    return "".join(f"\t{line}\n" if line else "\n" for line in lines.split("\n")[:-1])


def compound(suite: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    body = suite.map(indented)
    loop = st.tuples(body, st.sampled_from(["", "\tcontinue\n", "\tbreak\n", "\tif a: continue\n\tx\n"])).map("".join)
    return st.one_of(
        st.tuples(EXPRESSIONS, body, EXPRESSIONS, body, body).map(
            lambda t: f"if {t[0]}:\n{t[1]}elif {t[2]}:\n{t[3]}else:\n{t[4]}"
        ),
        st.tuples(EXPRESSIONS, body).map(lambda t: f"if {t[0]}:\n{t[1]}"),
        st.tuples(TARGETS, EXPRESSIONS, loop, body).map(lambda t: f"for {t[0]} in {t[1]}:\n{t[2]}else:\n{t[3]}"),
        st.tuples(EXPRESSIONS, loop).map(lambda t: f"while {t[0]}:\n{t[1]}"),
        loop.map(lambda b: f"while True:\n{b}"),
        st.tuples(EXPRESSIONS, TARGETS, body).map(lambda t: f"with {t[0]} as ({t[1]}), b:\n{t[2]}"),
        st.tuples(body, body, body, body).map(
            lambda t: f"try:\n{t[0]}except a as x :\n{t[1]}else:\n{t[2]}finally:\n{t[3]}"
        ),
        st.tuples(NAMES, EXPRESSIONS, body).map(
            lambda t: f"@a\ndef {t[0]}(a, /, b={t[1]}, *x, c, **d) -> a.b:\n{t[2]}"
        ),
        st.tuples(NAMES, EXPRESSIONS, body).map(lambda t: f"class {t[0]}(a, k={t[1]}):\n{t[2]}"),
        st.tuples(EXPRESSIONS, EXPRESSIONS, body, body).map(
            lambda t: f"match {t[0]}:\n\tcase [a, *b] if {t[1]}:\n{indented(t[2])}\tcase x:\n{indented(t[3])}"
        ),
    )


def suite(statement: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.lists(statement, min_size=1, max_size=3).map("".join)


STATEMENTS = st.recursive(SIMPLE.map(lambda s: f"{s}  # é\n"), lambda s: compound(suite(s)), max_leaves=6)
