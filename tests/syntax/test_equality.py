"""The two front ends give the same, and a file that one of them cannot read is read by the other."""

from __future__ import annotations

import contextlib
import importlib
import sys
import textwrap
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from generating import STATEMENTS, suite
from hypothesis import given, settings
from hypothesis import strategies as st

from transferlint.engine import workers
from transferlint.syntax import front_end, spans
from transferlint.syntax.source import Source, SourceError

ROOT = Path(__file__).resolve().parents[2]
TREES = ("examples", "tests/fixtures", "transferlint", "rules", "runtime_check")
LAYOUTS = (
    # parentheses, and to whom they belong
    "x = ( a, b , )\ny = ((a, b,),)\nz = (  # c\n a, # d\n b, # e\n)\nw = ( )\nv = a, b ,\n",
    "f(x for x in y)\nf((x for x in y))\nf( ( x ) for x in y if (z) )\nf((x), (y), k=(z), *(a))\n",
    "with (a):\n  pass\nwith (a), b as (c) :\n  pass\nwith (a, b):\n  pass\nwith (a as b):\n pass\n",
    "with (a).b:\n pass\n",
    "with ((a)):\n pass\nwith (a, b) as c:\n pass\nwith ((a, b)):\n pass\n",
    "with (a,):\n pass\nwith (a for b in c):\n pass\n",
    "def f():\n with (yield):\n  pass\n with (a := b):\n  pass\n with (a) as c, (d) as e:\n  pass\n (yield)\n",
    "class A(B): x = (1)\nclass C(  B, k=(m)  ): x = (1);\nclass D(): pass\nclass E(*(a), **(b)): pass\n",
    "(a).b = (c) = d\n(x) += 1\ndel (a), (b.c), [d, e]\ndel (x, y)\nx[(a, b)], x[(a), (b)], x[a, ], x[(1):(2), ::3]\n",
    "x[ a :  , : # :\n ]\n",
    "if (a and b) and c or d: pass\nx = not ((a)) + (-(b)) if (c) else (lambda x=(1): (x))\n",
    # where clauses and names stand
    "if a: x = 1; y = 2;\nelif b: pass\nelse: pass;  # c\n\nif a:\n  pass\nelse:\n  if b: pass\n# end",
    "try:\n  pass\nexcept (A) as e: pass\nexcept: pass;\nelse:\n  pass # finally:\nfinally : # c\n  x = 1;\n\n",
    "for (a), *b in (c): pass;\nelse: pass\nwhile (a): x;\nwhile 1: break\nwhile True: break\nwhile 0x1: break\n",
    "@(a)\n@ b.c\n@d(\n  1)\ndef e(): 'f'\n",
    "async  def  f(x: (int), y: 'a' 'b' = (3), /, *, z: Dict[\n   str, int]=4) -> a . b: return\n",
    "import a.b . c, d as e\nfrom . import (b)\nfrom .. x import (b as \\\n  c,)\nfrom a import *\n",
    "x = [y for x in [z\n for (a, b) in c # for\n if d if (e)] for f in (g)]\n{a: b for a in c}, {a for a in b}\n",
    "match (x), y:\n  case (A((b), (2), k=(3))) if (c): pass;\n  case {-1: (z), **r}: pass\n  case (a.b) | (1): pass\n"
    "  case (a as b): pass\n  case [*q, (w)]: pass\n  case (((7)) | 8): pass\n  case (d, ): pass\n  case _: pass\n",
    # strings
    "x = f'{(x)!r:>{(y)}} {z=} {a, b}' 'k' f\"{q['a']:%H:%M}\"\ny = (\n  'a'  # c\n  'b'\n)\n",
    'y = f"""\n  {a\n   + b}\n é {f\'{c}{(d, e)}\' } {(x)} {f(*a, k=b)} { {1: 1}[1] :%H {z} } {{no}} {{{q}}}\n"""\n',
    "z = rf'\\{a}\\d{b}' Rf\"{a}\\\"{b}\" f'\\N{DIGIT ONE}{c}' f\"{'a' 'b'}\"\n",
    'f"{(lambda x: x)(1)}{a!=b}{a<=b:=^10}"\n',
    "if'a' in'(' or\"b\" in f'{x}': x = '#'  # noqa\ny = b'(' rb'\\(' + r'\\('  # transferlint: ignore[TL101] ')'\n",
    # characters
    "é = 'ä'; b = (é) . ñ; f'ü{é}ü{b}', ǆ, ﬁ\ndef ﬁ(ﬁ=1, *ª, **º): ﬁ.ﬁ = ﬁ; del ﬁ\nimport ﬁ.ﬁ as ª\n",
    "\x0cx = 1\n\x0c\ndef f():\n\ty = (\x0c2\n\t)\nif x:\n  y\n\x0c  z\n",
    "def f():\n    '''doc'''; x = (a +\\\n  b)  # noqa: TL101\n    y = 1; z = \\\n  2; \\\n  w = 3  # noqa\n",
    "",
    "'''only'''",
    "# only",
    "x = 1;",
)
PUT = ("", " ", "(", ")", ",", ";", "\n", "\\\n", "# c\n", "x", "é", "'", "f'{x}'", ":")
ONLY_BY_AST = ("(x): int = 3\n", "class D(metaclass=M, *a): pass\n", "(x.y): int\n")


@pytest.fixture(scope="module")
def equal() -> ModuleType:
    sys.path.insert(0, str(ROOT))
    try:
        return importlib.import_module("benchmarks.equal")
    finally:
        sys.path.remove(str(ROOT))


def source(text: str) -> Source:
    return Source("x.py", text, "utf-8", False)


@pytest.mark.parametrize("tree", TREES)
def test_trees(equal: Any, tree: str) -> None:
    """Every fourth file; `make equal TREE=FOLDER` compares all."""
    tally = equal.compared(sorted((ROOT / tree).rglob("*.py"))[::4])
    assert tally.different == []
    assert tally.files > 0
    assert tally.only_ast == []
    newer = [path for path in tally.only_libcst if "new_syntax" not in path]
    assert newer == []


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("text", LAYOUTS)
def test_layouts(equal: Any, text: str, newline: str) -> None:
    assert equal.differences(source(text.replace("\n", newline))) == []


@given(text=suite(STATEMENTS), newline=st.sampled_from(["\n", "\r\n", "\r"]))
@settings(max_examples=75, deadline=None)
def test_generated_sources(equal: Any, text: str, newline: str) -> None:
    assert equal.differences(source(text.replace("\n", newline))) == []


@given(data=st.data())
@settings(max_examples=100, deadline=None)
def test_mutated_sources(equal: Any, data: st.DataObject) -> None:
    """Whatever is put into or taken out of a source: where both can read it, both give the same."""
    text = data.draw(st.sampled_from(LAYOUTS))
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(text)))
        taken = data.draw(st.integers(0, 2))
        put = data.draw(st.sampled_from(PUT))
        text = text[:at] + put + text[at + taken :]
    assert equal.differences(source(text)) in ([], "", "ast", "libcst")


@pytest.mark.parametrize("text", ONLY_BY_AST)
def test_what_libcst_cannot_read_is_read(text: str) -> None:
    assert front_end.read(source(text)) == front_end.read(source(text), front_end.AST)
    with pytest.raises(SourceError):
        front_end.read(source(text), front_end.LIBCST)
    assert "LibCST" in front_end.refusal(source(text))


def test_what_ast_cannot_read_is_read() -> None:
    text = "import a\n" * 3 + "if a: pass\n" + "elif a: pass\n" * 6500  # beyond the stack of Python's parser
    with pytest.raises(SourceError, match="nests too deeply"):
        front_end.read(source(text), front_end.AST)
    assert front_end.refusal(source(text)) == ""
    refused: tuple[type[Exception], ...] = (SourceError,) if sys.version_info >= (3, 12) else ()
    with contextlib.suppress(*refused):  # from 3.12 on, calls by way of C have a limit of their own
        program = workers.deep(lambda: front_end.read(source(text))[0])
        assert len(program.functions[0].regions) > 6500


def test_what_nests_too_deeply_for_the_interpreter_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def recurse(*_: object) -> None:
        raise RecursionError

    monkeypatch.setattr(spans, "_record", recurse)
    with pytest.raises(SourceError, match="nests too deeply"):
        front_end.read(source("x = [a]\n"), front_end.LIBCST)


@pytest.mark.parametrize("name", [front_end.EITHER, front_end.AST, front_end.LIBCST])
@pytest.mark.parametrize(
    "text",
    [
        "x = a" + " + a" * 300_000,
        "x = a" + ".b" * 300_000,
        "x = a" + "()" * 300_000,
        "x = " + "(" * 5000 + "1" + ")" * 5000,
        "x = " + "-" * 300_000 + "1",
        "x = " + "a if b else " * 50_000 + "c",
        "x = [" + "1," * 400_000 + "]",
        "x = (",
        "def f(:",
    ],
    ids=lambda text: text[:12],
)
def test_what_nobody_can_read_is_one_line(text: str, name: str) -> None:
    with pytest.raises(SourceError) as error:
        workers.deep(lambda: front_end.read(source(text), name))
    assert "\n" not in error.value.message
    assert error.value.path == "x.py"


def test_long_chains_need_no_stack(equal: Any) -> None:
    text = "x = " + "f(a).b[0] + " * 300 + "1\ny = a" + ".b()[0]" * 300 + "\n"
    assert workers.deep(lambda: equal.differences(source(text))) == []


def test_a_surrogate_is_one_line() -> None:
    with pytest.raises(SourceError):
        front_end.read(source("x = '\udc80'\n"), front_end.AST)


def test_differences_are_seen(equal: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The comparison itself: programs of other texts differ in each of the things that are compared."""
    text = textwrap.dedent("""\
        def f(x: int = 1):
            return (x) + 1.0  # noqa: TL101
    """)
    other = front_end.by_libcst
    for changed in (
        text.replace("1.0", "1"),
        text.replace("(x)", " x "),
        text.replace("#", " #"),
        text.replace("return", "yield "),
        text.replace("int", "str"),
        text + "\n",
    ):
        monkeypatch.setattr(front_end, "by_libcst", lambda _, changed=changed: other(source(changed)))
        assert equal.differences(source(text)) not in ([], "ast", "libcst")
