"""Frozen programs: no tree left, the same answers about places, and the same program after a journey as bytes."""

from __future__ import annotations

import gc
import math
import pickle
import types
from pathlib import Path
from typing import Any, get_args

import libcst as cst
import pytest

from transferlint.syntax import portable
from transferlint.syntax import program as p
from transferlint.syntax.lower import lower
from transferlint.syntax.portable import FrozenSpans, freeze, is_frozen, pack, parenthesised, unpack
from transferlint.syntax.spans import Spans

ROOT = Path(portable.__file__).parents[1]
EVERYTHING = '''
"""Docstring."""
import a.b, c as d
from .e import *
x: int = (1 + 2) * -3 if a else not d
x += [1, *x, {2}, {**x, "k": 1}][0:1, ...]
y = z.w = (yes and no) < 3 <= 4
z.w, y[0] = f"{x!r:>{y}}", b"b"
del y, z.w
try:
    assert x, "no"
except (A, B) as error:
    raise error from None
finally:
    pass

@dec(1)
class K(Base, metaclass=M):
    z = lambda self, *args, q=1, **kw: q.r

    async def f(self, a: "T", /, b=2, *, c: int = 3) -> R:
        global gx
        gx = a
        with open(a) as f, g:
            async for i in f:
                await i
        return (yield x)

def g():
    for i, *rest in h(*s, t=1, **u):
        if i:
            continue
        yield from [j for j in rest if j]
    while True:
        match x:
            case [1, p] if p:
                break
'''


def program_of(text: str) -> tuple[p.Program, Spans]:
    tree = cst.parse_module(text)
    return lower(tree, "some/file.py"), Spans(tree, text)


def frozen(text: str) -> p.Program:
    return freeze(*program_of(text))


def nodes(program: p.Program) -> list[Any]:
    found = []
    for function in program.functions:
        found += [function.node, *function.nodes, *(region.node for region in function.regions)]
    return found


def objects(root: Any) -> list[Any]:
    """Everything that can be reached from a program, classes and modules left out."""
    seen: dict[int, Any] = {}
    waiting = [root]
    while waiting:
        one = waiting.pop()
        if id(one) not in seen and not isinstance(one, type | types.ModuleType):
            seen[id(one)] = one
            waiting.extend(gc.get_referents(one))
    return list(seen.values())


def test_everything_means_everything():
    kinds = {type(instruction) for function in frozen(EVERYTHING).functions for instruction in function.code}
    assert set(get_args(p.Instruction)) - kinds == set()


def test_a_frozen_program_has_the_offsets_of_its_nodes():
    program, spans = program_of(EVERYTHING)
    expected = [None if node is None else spans.of(node) for node in nodes(program)]
    assert not is_frozen(program)
    assert freeze(program, spans) is program
    assert is_frozen(program)
    assert nodes(program) == expected


def test_nothing_of_the_tree_is_left():
    assert not [one for one in objects(frozen(EVERYTHING)) if type(one).__module__.startswith("libcst")]


def test_freezing_twice_changes_nothing():
    program, spans = program_of(EVERYTHING)
    before = nodes(freeze(program, spans))
    assert nodes(freeze(program, spans)) == before


@pytest.mark.parametrize("text", [EVERYTHING, "", "\n", "x = (  # ä\n 'ü𝄞' )\r\ny = 1\r\n", "x=1\ry=2\r", "a\f=1\n\fb"])
def test_frozen_spans_answer_as_spans(text):
    program, spans = program_of(text)
    ours = FrozenSpans(text)
    for node, pair in zip(nodes(program), nodes(frozen(text)), strict=True):
        if node is None:
            assert pair is None
            continue
        start, end = spans.of(node)
        assert ours.of(pair) == ours.outer(pair) == (start, end)
        assert ours.text(pair) == spans.text(node)
        assert ours.site("f.py", *pair) == spans.site("f.py", start, end)
    assert list(ours.line_starts()) == spans.line_starts()
    assert ours.position(len(text)) == spans.position(len(text))


def test_sites_need_only_the_line_starts():
    lines = FrozenSpans(EVERYTHING).line_starts()
    assert FrozenSpans("", lines).site("f.py", 30, 40) == FrozenSpans(EVERYTHING).site("f.py", 30, 40)


@pytest.mark.parametrize("foreign", [None, cst.Name("x"), "text"])
def test_a_foreign_node_is_refused(foreign):
    with pytest.raises(KeyError):
        FrozenSpans("x").of(foreign)


@pytest.mark.parametrize("text", [EVERYTHING, "", *(path.read_text() for path in sorted(ROOT.glob("flow/**/*.py")))])
def test_a_packed_program_comes_back_equal(text):
    program = frozen(text)
    again = unpack(pack(program))
    assert again == program
    assert again.path == "some/file.py"
    assert [type(i) for f in again.functions for i in f.code] == [type(i) for f in program.functions for i in f.code]


CONSTANTS = ["1", "True", "1.0", "-0.0", "1e400", "2j", "...", "None", "''", "'\\ud800'", "b'\\xff'", "9" * 80, "'ü𝄞'"]


@pytest.mark.parametrize("constant", CONSTANTS)
def test_constants_come_back_as_they_were(constant):
    program = frozen(f"x = {constant}")
    before, after = (
        [i.value for i in one.functions[0].code if type(i) is p.Const] for one in (program, unpack(pack(program)))
    )
    assert [(type(value), value) for value in after] == [(type(value), value) for value in before]
    signs = [[math.copysign(1, value) for value in one if type(value) is float] for one in (before, after)]
    assert signs[0] == signs[1]


def test_only_frozen_programs_are_packed():
    with pytest.raises(ValueError, match="frozen"):
        pack(program_of("x = 1")[0])


def test_packing_is_compact():
    texts = [path.read_text() for path in sorted(ROOT.glob("flow/**/*.py"))]
    text = "".join([one for one in texts if "__future__" in one][::4])
    text = text.replace("from __future__ import annotations", "")
    program = frozen(text)
    assert len(pack(program)) < 0.8 * len(pickle.dumps(program, 5))


def test_depth_is_no_trouble():
    text = "x = " + "a(" * 100 + ")" * 100 + "\n" + "if x:\n    pass\nel" * 50 + "se:\n    pass\n"
    program = frozen(text)
    assert unpack(pack(program)) == program


def test_parentheses_and_comments_survive_freezing():
    text = "x = ((a) + b)  # why\ny = f((0.5), c)\n"
    program, spans = program_of(text)
    expected = {spans.of(node): spans.outer(node) for node in nodes(program) if node is not None}
    parentheses = parenthesised(program, spans)
    comments = [offset for pair in spans.comments() for offset in pair]
    freeze(program, spans)
    ours = FrozenSpans(text, (), comments, parentheses)
    assert {node: ours.outer(node) for node in nodes(program) if node is not None} == expected
    assert ours.comments() == spans.comments() == [(text.index("#"), text.index("\n"))]
    assert ours.outer(next(n for n in nodes(program) if n and text[slice(*n)] == "0.5")) == (
        text.index("(0.5)"),
        text.index("(0.5)") + 5,
    )
