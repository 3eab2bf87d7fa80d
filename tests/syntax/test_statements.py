"""Simple statements, targets, imports and definitions."""

from __future__ import annotations

import pytest

from transferlint.syntax import program as p


def test_chained_assignment_computes_once_and_stores_left_to_right(lowered):
    low = lowered("a = b.c = d[e] = f()")
    value = low.reg(low.call("f"))
    assert [type(i).__name__ for i in low.function.code] == [
        "Outer", "Call", "Store", "Outer", "SetAttr", "Outer", "Outer", "SetItem",
    ]  # fmt: skip
    assert low.one(p.Store).value == low.one(p.SetAttr).value == low.one(p.SetItem).value == value


def test_unpacking(lowered):
    low = lowered("a, (b, *c), [d] = e")
    assert [(u.index, u.count, u.star) for u in low.all(p.Unpack)] == [
        (0, 3, -1),
        (1, 3, -1),
        (0, 2, 1),
        (1, 2, 1),
        (2, 3, -1),
        (0, 1, -1),
    ]
    assert [low.function.slot_names[s.slot] for s in low.all(p.Store)] == ["a", "b", "c", "d"]


def test_augmented_targets_are_computed_once(lowered):
    low = lowered("x += 1; a.b -= 2; c[d, e] @= 3")
    assert [(b.operator, b.inplace) for b in low.all(p.Binary)] == [("+", True), ("-", True), ("@", True)]
    read, written = low.one(p.Attr), low.one(p.SetAttr)
    assert read.object == written.object
    old, new = low.one(p.Subscript), low.one(p.SetItem)
    assert (old.object, old.index) == (new.object, new.index)
    assert len([i for i in low.all(p.Outer) if i.name == "a"]) == 1


def test_annotations_are_text(lowered):
    low = lowered("x: List[ int ] = a\ny: 'T'\nz.w: int = b\nv[0]: int\n")
    slots = low.function.slots
    assert low.function.annotations == {slots["x"]: "List[ int ]", slots["y"]: "'T'"}
    assert [type(i).__name__ for i in low.function.code] == ["Outer", "Store", "Outer", "Outer", "SetAttr"]


def test_delete(lowered):
    low = lowered("del a, b.c, (d[e], [f])")
    assert [low.function.slot_names[d.slot] for d in low.all(p.Delete)] == ["a", "f"]
    assert [i.name for i in low.all(p.Outer)] == ["b", "d", "e"]


@pytest.mark.parametrize(
    ("text", "module", "name", "bound"),
    [
        ("import a.b.c", "a", "", "a"),
        ("import a.b as c", "a.b", "", "c"),
        ("from a.b import c", "a.b", "c", "c"),
        ("from a import (b as c,)", "a", "b", "c"),
        ("from . import a", ".", "a", "a"),
        ("from ..a.b import c", "..a.b", "c", "c"),
    ],
)
def test_import(lowered, text, module, name, bound):
    low = lowered(text)
    assert low.one(p.Import) == p.Import(module, name)
    assert low.function.slot_names[low.one(p.Store).slot] == bound


def test_star_import_binds_nothing(lowered):
    low = lowered("from a import *")
    assert low.function.code == [p.Import("a", "*")]


def test_definition(lowered):
    low = lowered(
        '''
        @first
        @second(1)
        async def f(a, b: T = x, /, c=y, *args: int, d, e: U = z, **kw) -> List[T]:
            """Documentation."""
            return a
        '''
    )
    made = low.one(p.Make)
    assert [low.function.code[reg] for reg in made.decorators] == [low.all(p.Outer)[0], low.call("second")]
    assert [(key, low.name(reg)) for key, reg in made.defaults] == [("b", "x"), ("c", "y"), ("e", "z")]
    f = low.program.functions[made.function]
    assert [(q.name, q.kind, q.annotation, q.default) for q in f.parameters] == [
        ("a", "positional", "", ""),
        ("b", "positional", "T", "x"),
        ("c", "positional", "", "y"),
        ("args", "star", "int", ""),
        ("d", "keyword", "", ""),
        ("e", "keyword", "U", "z"),
        ("kw", "double_star", "", ""),
    ]
    assert [q.slot for q in f.parameters] == list(range(7))
    assert (f.decorators, f.returns, f.is_async) == (["first", "second(1)"], "List[T]", True)
    assert [type(i).__name__ for i in f.code] == ["Load", "Return"]
    assert f.regions[0].leaves == "return"


def test_class(lowered):
    low = lowered("@d\nclass A(B, metaclass=M, **kw):\n    'doc'\n    x: int\n    y = 1\n    def f(self): pass\n")
    made = low.one(p.Make)
    assert [low.name(reg) for reg in made.bases] == ["B"]
    assert [(key, low.name(reg)) for key, reg in made.keywords] == [("metaclass", "M"), ("", "kw")]
    body = low.program.functions[made.function]
    assert body.annotations == {body.slots["x"]: "int"}
    assert list(body.slots) == ["x", "y", "f"]


@pytest.mark.parametrize("source", ['"""doc"""\n', "'a' 'b'; x = 1\n", 'def f(): "doc"\n', "class C:\n    r'doc'\n"])
def test_docstrings_are_left_out(lowered, source):
    low = lowered(source)
    assert all(type(i) is not p.Discard for f in low.program.functions for i in f.code)


@pytest.mark.parametrize("source", ["b'no doc'\n", "f'{x}'\n", "x = 1\n'no doc'\n"])
def test_other_strings_are_not(lowered, source):
    assert len(lowered(source).all(p.Discard)) == 1


def test_discard_has_the_statement_as_its_node(lowered):
    low = lowered("f(x); y")
    first, second = low.all(p.Discard)
    assert [low.text(low.reg(first)), low.text(low.reg(second))] == ["f(x); ", "y"]


def test_assert_message_stands_apart(lowered):
    low = lowered("assert f(x), g(x)\nh(x)\n")
    test = low.one(p.Test)
    assert (test.kind, test.value) == ("assert", low.reg(low.call("f")))
    assert low.kinds(low.call("g")) == ["message"]
    assert low.region(low.call("g")).test == test.value
    assert low.kinds(low.call("h")) == []
    assert not low.reaches(low.call("g"), low.call("h"))
    assert low.reaches(test, low.call("h"))


def test_raise(lowered):
    low = lowered("def f():\n    raise E(x) from y\n").at(1)
    assert low.one(p.Raise).value == low.reg(low.call("E"))
    assert low.function.regions[0].leaves == "raise"
    assert [i.name for i in low.all(p.Outer)] == ["E", "x", "y"]


def test_type_alias(lowered):
    low = lowered("type X[T] = a.B\n")
    assert low.one(p.Store).value == low.reg(low.one(p.Attr))


@pytest.mark.parametrize("source", ["", "\n", "# only a comment", "pass", "\\\n\n"])
def test_nothing_at_all(lowered, source):
    low = lowered(source)
    assert low.function.code == []
    assert len(low.function.blocks) == 1
