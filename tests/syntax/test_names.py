"""Which variable a name is: Python's scoping, function by function."""

from __future__ import annotations

import pytest

from transferlint.syntax import program as p

BINDINGS = [
    "x = 1",
    "x: int = 1",
    "x: int",
    "x += 1",
    "for x in a: pass",
    "for (x, y) in a: pass",
    "with a as x: pass",
    "with a as (y, [*x]): pass",
    "import x",
    "import x.y",
    "import y as x",
    "from y import x",
    "from y import z as x",
    "def x(): pass",
    "class x: pass",
    "try: pass\n    except E as x: pass",
    "if (x := 1): pass",
    "[(x := y) for y in a]",
    "del x",
    "match a:\n        case {'k': x}: pass",
    "match a:\n        case [1, *x]: pass",
    "match a:\n        case C(k=(1 | 2) as x): pass",
    "match a:\n        case {**x}: pass",
    "type x = int",
    "x, *y = a",
]


@pytest.mark.parametrize("binding", BINDINGS)
def test_a_name_bound_anywhere_is_local_everywhere(lowered, binding):
    low = lowered(f"def f():\n    use(x)\n    {binding}\n").at(1)
    read = low.function.code[low.call("use").args[0]]
    assert type(read) is p.Load
    assert low.function.slot_names[read.slot] == "x"
    assert low.function.slots["x"] == read.slot


def test_a_name_not_bound_is_outer(lowered):
    low = lowered("def f():\n    y = x\n").at(1)
    assert low.one(p.Outer).name == "x"


@pytest.mark.parametrize("word", ["global", "nonlocal"])
def test_declared_outer(lowered, word):
    low = lowered(
        f"def f():\n    {word} x, g, C\n    x = x\n    def g(): pass\n    class C: pass\n    x += 1\n    del x\n"
    ).at(1)
    assert [store.name for store in low.all(p.StoreOuter)] == ["x", "g", "C", "x"]
    assert low.all(p.Store) == []
    assert "x" not in low.function.slots


def test_global_at_module_level_changes_nothing(lowered):
    assert len(lowered("global x\nx = 1\n").all(p.Store)) == 1


def test_comprehension_targets_shadow_and_do_not_leak(lowered):
    low = lowered("def f(x):\n    y = [g(x) for x in h(x)]\n    k(x)\n").at(1)
    parameter = low.function.parameters[0].slot
    assert low.function.code[low.call("h").args[0]] == p.Load(parameter)
    inside = low.function.code[low.call("g").args[0]]
    assert inside.slot != parameter
    assert low.function.slot_names[inside.slot] == "x"
    assert low.function.code[low.call("k").args[0]] == p.Load(parameter)


def test_comprehension_targets_are_unique(lowered):
    low = lowered("[x for x in a]; [x for x in b]")
    assert len({load.slot for load in low.all(p.Load)}) == 2
    assert "x" not in low.function.slots


def test_second_iterable_sees_the_first_target_only(lowered):
    low = lowered("[y for x in a for y in x]")
    assert [low.function.slot_names[load.slot] for load in low.all(p.Load)] == ["x", "y"]


def test_lambda_in_a_comprehension_reads_its_target(lowered):
    low = lowered("x = 1\nfs = [lambda: x for x in a]\n")
    outer = low.at(1).one(p.Outer)
    slot = low.program.functions[0].slots[outer.name]
    (target,) = low.program.functions[0].regions[1].target_slots
    assert slot == target != low.program.functions[0].slots["x"]


def test_class_names_are_read_outside_until_bound_and_not_in_comprehensions(lowered):
    low = lowered("class C:\n    x = x\n    y = x\n    z = [x for i in x]\n").at(1)
    assert low.function.kind == "class"
    assert [type(i).__name__ for i in low.function.code if type(i) in (p.Outer, p.Load)] == [
        "Outer",  # x = x
        "Load",  # y = x
        "Load",  # the first iterable
        "Outer",  # the element
    ]


def test_methods_do_not_see_class_names(lowered):
    low = lowered("class C:\n    x = 1\n    def f(self): return x\n").at(2)
    assert low.function.qualname == "C.f"
    assert low.one(p.Outer).name == "x"


def test_type_parameters_are_variables(lowered):
    low = lowered("def f[T: int, *Ts, **P](a: T): return T\n").at(1)
    assert low.function.code[low.one(p.Return).value] == p.Load(low.function.slots["T"])


def test_functions_are_listed_in_source_order_with_parents(lowered):
    low = lowered("class A:\n    def f(self):\n        def g(): pass\n    def h(self): pass\ndef k(): pass\n")
    assert [(f.qualname, f.kind, f.parent) for f in low.program.functions] == [
        ("<module>", "module", -1),
        ("A", "class", 0),
        ("A.f", "function", 1),
        ("A.f.g", "function", 2),
        ("A.h", "function", 1),
        ("k", "function", 0),
    ]
    assert [f.index for f in low.program.functions] == list(range(6))
