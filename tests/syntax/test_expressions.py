"""Each kind of expression becomes the instruction it stands for, in Python's order of evaluation."""

from __future__ import annotations

import pytest

from transferlint.syntax import program as p

LITERALS = [
    ("1_000", 1000),
    ("0xFF", 255),
    ("0o17", 15),
    ("0b11", 3),
    ("00", 0),
    ("1e3", 1000.0),
    ("1_0.5", 10.5),
    ("2j", 2j),
    ("None", None),
    ("True", True),
    ("...", ...),
    ("'a'", "a"),
    ('""', ""),
    ('""""""', ""),
    ("'''a\nb'''", "a\nb"),
    (r"'\x41\n'", "A\n"),
    (r"r'\n'", r"\n"),
    ("u'a'", "a"),
    (r"b'\x00'", b"\x00"),
    (r"Rb'\d'", rb"\d"),
    ("'a' \"b\" r'\\c'", "ab\\c"),
    ("b'a' b'b'", b"ab"),
    ("'\\d'", "\\d"),
]


@pytest.mark.parametrize(("text", "value"), LITERALS)
def test_literal(lowered, text, value):
    found = lowered(f"x = {text}").one(p.Const).value
    assert type(found) is type(value)
    assert found == value


def test_huge_integer_does_not_fail(lowered):
    assert lowered("x = " + "9" * 5000).one(p.Const).value == float("inf")


def test_carriage_returns_in_a_string_are_newlines(lowered):
    assert lowered("x = '''a\r\nb'''\r\n").one(p.Const).value == "a\nb"


def test_call_keeps_stars_and_evaluates_positional_before_keywords(lowered):
    low = lowered("f(a, k=b, *c, **d)")
    call = low.one(p.Call)
    assert [low.name(reg) for reg in call.args] == ["a", "c"]
    assert call.stars == (False, True)
    assert [(key, low.name(reg)) for key, reg in call.keywords] == [("k", "b"), ("", "d")]
    assert [low.name(r) for r in range(5)] == ["f", "a", "c", "b", "d"]


def test_call_without_stars_has_none(lowered):
    assert lowered("f(a)").one(p.Call).stars == ()


def test_method_call_is_a_call_of_an_attribute(lowered):
    low = lowered("a.b(c).d[e]")
    attr = low.all(p.Attr)
    call = low.one(p.Call)
    subscript = low.one(p.Subscript)
    assert [one.name for one in attr] == ["b", "d"]
    assert low.function.code[call.function] is attr[0]
    assert low.function.code[attr[1].object] is call
    assert low.function.code[subscript.object] is attr[1]
    assert low.text(low.reg(call)) == "a.b(c)"
    assert low.text(low.reg(attr[0])) == "a.b"


@pytest.mark.parametrize(
    ("text", "operator"),
    [(f"a {op} b", op) for op in ("+", "-", "*", "/", "//", "%", "**", "@", "<<", ">>", "|", "&", "^")],
)
def test_binary(lowered, text, operator):
    low = lowered(text)
    binary = low.one(p.Binary)
    assert (binary.operator, low.name(binary.left), low.name(binary.right), binary.inplace) == (
        operator,
        "a",
        "b",
        False,
    )


@pytest.mark.parametrize("operator", ["-", "+", "~", "not"])
def test_unary(lowered, operator):
    low = lowered(f"{operator} a")
    unary = low.one(p.Unary)
    assert (unary.operator, low.name(unary.operand)) == (operator, "a")


def test_comparison_chain(lowered):
    low = lowered("a < b not in c is not d")
    compare = low.one(p.Compare)
    assert compare.operators == ("<", "not in", "is not")
    assert [low.name(reg) for reg in compare.operands] == ["a", "b", "c", "d"]


def test_subscripts(lowered):
    low = lowered("a[i]; a[i, j]; a[i,]; a[x:y:z]; a[:, None]; a[*i]")
    one, two, comma, slice_, mixed, star = (low.function.code[s.index] for s in low.all(p.Subscript))
    assert type(one) is p.Outer
    assert (two.kind, len(two.items), two.stars) == ("tuple", 2, ())
    assert (comma.kind, len(comma.items)) == ("tuple", 1)
    assert [low.name(reg) for reg in (slice_.lower, slice_.upper, slice_.step)] == ["x", "y", "z"]
    assert low.function.code[mixed.items[0]] == p.Slice(None, None, None)
    assert star.stars == (True,)


def test_displays(lowered):
    low = lowered("(a, *b); [c]; {d, e}; {f: g, **h}; ()")
    assert [(s.kind, s.stars) for s in low.all(p.Sequence)] == [
        ("tuple", (False, True)),
        ("list", ()),
        ("set", ()),
        ("tuple", ()),
    ]
    mapping = low.one(p.Mapping)
    assert [None if key is None else low.name(key) for key in mapping.keys] == ["f", None]
    assert [low.name(value) for value in mapping.values] == ["g", "h"]


@pytest.mark.parametrize("text", ['f"{a!r:{b}.{c}}x{d=}"', 'f"{a:{b}.{c}}" "x" f"{d}"', "f'{a:{b}.{c}}{f\"{d}\"}'"])
def test_format(lowered, text):
    low = lowered(text)
    names = []
    for format_ in low.all(p.Format):
        names += [low.name(reg) for reg in format_.values if low.name(reg)]
    assert sorted(names) == ["a", "b", "c", "d"]


def test_format_with_the_same_quotes_inside(lowered):
    low = lowered('f"{a["k"]}"')
    assert low.function.code[low.one(p.Format).values[0]] is low.one(p.Subscript)


def test_boolean_is_flat_and_each_operand_stands_under_the_one_before(lowered):
    low = lowered("f() and g() and h()")
    boolean = low.one(p.Boolean)
    assert boolean.operator == "and"
    assert [low.function.code[reg] for reg in boolean.operands] == [low.call("f"), low.call("g"), low.call("h")]
    assert low.kinds(low.call("f")) == []
    assert low.kinds(low.call("g")) == ["then"]
    assert low.kinds(low.call("h")) == ["then", "then"]
    assert low.region(low.call("h")).test == low.reg(low.call("g"))
    assert low.kinds(boolean) == []
    assert low.reaches(low.call("f"), boolean)
    assert low.function.blocks[0].successors == [1, 3]


def test_or_stands_in_else_regions_and_is_not_mixed_with_and(lowered):
    low = lowered("a and f() or g()")
    inner, outer = low.all(p.Boolean)
    assert (inner.operator, outer.operator) == ("and", "or")
    assert low.kinds(low.call("f")) == ["then"]
    assert low.kinds(low.call("g")) == ["else"]
    assert low.region(low.call("g")).test == low.reg(inner)


def test_choice(lowered):
    low = lowered("x = f() if t else g()")
    test = low.one(p.Test)
    choice = low.one(p.Choice)
    assert (test.kind, low.name(test.value)) == ("choice", "t")
    assert choice == p.Choice(test.value, low.reg(low.call("f")), low.reg(low.call("g")))
    assert low.kinds(low.call("f")) == ["then"]
    assert low.kinds(low.call("g")) == ["else"]
    assert low.kinds(choice) == []
    assert not low.reaches(low.call("f"), low.call("g"))


def test_walrus_binds_and_is_its_value(lowered):
    low = lowered("f(x := g())")
    assert low.call("f").args == (low.reg(low.call("g")),)
    assert low.one(p.Store).value == low.reg(low.call("g"))


def test_yield_await_and_star(lowered):
    low = lowered(
        """
        async def f():
            x = yield a
            yield
            await b
            for y in (*c, d): pass
        def g():
            yield from e
        """
    ).at(1)
    assert low.function.is_async
    assert low.function.is_generator
    assert [(y.value is None, y.many) for y in low.all(p.Yield)] == [(False, False), (True, False)]
    assert low.name(low.one(p.Await).value) == "b"
    assert low.at(2).one(p.Yield).many


def test_lambda_returns_its_body(lowered):
    low = lowered("f = lambda x, *, k=d: x + k")
    made = low.one(p.Make)
    assert [(key, low.name(reg)) for key, reg in made.defaults] == [("k", "d")]
    low.at(made.function)
    assert (low.function.kind, low.function.name, low.function.parent) == ("lambda", "<lambda>", 0)
    assert low.one(p.Return).value == low.reg(low.one(p.Binary))
    assert low.function.regions[0].leaves == "return"


def test_comprehension_is_a_loop_with_the_collection_after_it(lowered):
    low = lowered("y = [f(x, z) for x in a if g(x) for z in h(x)]")
    collect = low.one(p.Collect)
    assert (collect.kind, collect.key) == ("list", None)
    assert collect.value == low.reg(low.call("f"))
    assert low.kinds(low.call("f")) == ["comprehension", "then", "comprehension"]
    assert low.kinds(low.call("g")) == ["comprehension"]
    assert low.kinds(low.call("h")) == ["then", "comprehension"]
    assert low.kinds(collect) == []
    assert low.one(p.Test).kind == "filter"
    region = low.function.regions[collect.region]
    assert low.name(region.test) == "a"
    assert [low.function.slot_names[slot] for slot in region.target_slots] == ["x"]
    first, second = low.all(p.Next)
    assert first.region == collect.region
    assert low.reaches(second, first)
    assert low.reaches(low.call("f"), second)
    assert low.reaches(first, collect)
    assert not low.reaches(collect, first)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("[x for x in a]", "list"),
        ("{x for x in a}", "set"),
        ("(x for x in a)", "generator"),
        ("{x: y for x, y in a}", "dict"),
    ],
)
def test_kinds_of_comprehension(lowered, text, kind):
    collect = lowered(text).one(p.Collect)
    assert collect.kind == kind
    assert (collect.key is not None) == (kind == "dict")
