"""Blocks say what can follow what, regions what stands in what."""

from __future__ import annotations

import pytest

from transferlint.syntax import program as p


def test_if_elif_else(lowered):
    low = lowered("if a: f()\nelif b: g()\nelse: h()\nk()\n")
    assert [t.kind for t in low.all(p.Test)] == ["if", "elif"]
    assert low.kinds(low.call("f")) == ["then"]
    assert low.kinds(low.call("g")) == ["then", "else"]
    assert low.kinds(low.call("h")) == ["else", "else"]
    assert low.kinds(low.call("k")) == []
    for name in "fgh":
        assert low.reaches(low.call(name), low.call("k"))
    assert not low.reaches(low.call("f"), low.call("g"))
    first, second = low.all(p.Test)
    assert low.region(second).test == first.value
    assert low.region(low.call("h")).test == second.value


def test_the_rest_after_an_arm_that_leaves_is_its_else(lowered):
    low = lowered("def f():\n    if a: return\n    if b: raise E\n    g()\n").at(1)
    assert low.kinds(low.call("g")) == ["else", "else"]
    implied = [r for r in low.function.regions if r.implied]
    assert [r.kind for r in implied] == ["else", "else"]
    assert [r.leaves for r in low.function.regions if r.kind == "then"] == ["return", "raise"]


def test_nothing_is_implied_without_a_rest_or_with_another_arm(lowered):
    low = lowered("for x in y:\n    if a: continue\nfor x in y:\n    if a: continue\n    else: pass\n    g()\n")
    assert not any(region.implied for region in low.function.regions)
    assert low.kinds(low.call("g")) == ["for"]


@pytest.mark.parametrize(
    ("source", "leaves"),
    [
        ("if a: return\nelse: raise E", True),
        ("if a: return\nelif b: return\nelse: return", True),
        ("if a: return\nelif b: return", False),
        ("while True: pass", True),
        ("while True:\n    if a: break", False),
        ("while a: return", False),
        ("with a: return", True),
        ("try: return\nfinally: f()", True),
        ("try: return\nexcept E: pass", False),
        ("try: return\nexcept E: raise", True),
        ("try: pass\nexcept E: raise\nelse: return\nfinally: pass", True),
        ("try: pass\nfinally: return", True),
        ("match a:\n    case 1: return\n    case _: return", True),
        ("match a:\n    case 1: return", False),
        ("match a:\n    case x if x: return", False),
        ("match a:\n    case x | _: return", True),
        ("return\nf()", True),
        ("for x in y: return", False),
        ("for x in y: pass\nelse: return", True),
        ("for x in y: break\nelse: return", False),
        ("assert False", False),
    ],
)
def test_leaves(lowered, source, leaves):
    body = "".join(f"    {line}\n" for line in source.splitlines())
    low = lowered(f"def f():\n{body}    after()\n").at(1)
    entry_reaches = {0}
    waiting = [0]
    while waiting:
        for block in low.function.blocks[waiting.pop()].successors:
            if block not in entry_reaches:
                entry_reaches.add(block)
                waiting.append(block)
    after = low.block(low.reg(low.call("after")))
    assert (after in entry_reaches) is not leaves


def test_elif_chain_regions_leave_as_their_arms_do(lowered):
    low = lowered("def f():\n    if a: g()\n    elif b: return\n    else: raise E\n").at(1)
    by_kind = [(r.kind, r.leaves) for r in low.function.regions[1:]]
    assert by_kind == [("then", ""), ("else", "raise"), ("then", "return"), ("else", "raise")]
    assert low.function.regions[0].leaves == ""


def test_for(lowered):
    low = lowered(
        """
        for x, (y, z.w) in f():
            if a: continue
            if b: break
            g()
        else:
            h()
        k()
        """
    )
    loop = low.function.regions[1]
    assert (loop.kind, loop.test) == ("for", low.reg(low.call("f")))
    assert [low.function.slot_names[s] for s in loop.target_slots] == ["x", "y"]
    next_ = low.one(p.Next)
    assert (next_.iterable, next_.region) == (loop.test, 1)
    header = low.function.blocks[low.block(low.reg(next_))]
    assert header.region == 1
    assert [low.function.blocks[b].region for b in header.successors] == [1, 0]
    assert low.kinds(low.call("g")) == ["else", "else", "for"]
    assert low.reaches(low.call("g"), next_)
    assert low.kinds(low.call("h")) == []
    assert not low.reaches(low.call("h"), next_)
    stop = next(r for r in low.function.regions if r.leaves == "break")
    (block,) = [b for b in low.function.blocks if b.region == low.function.regions.index(stop)]
    assert block.successors == [low.block(low.reg(low.call("k")))]


def test_while_test_stands_in_the_loop(lowered):
    low = lowered("while f():\n    g()\nelse:\n    h()\n")
    test = low.one(p.Test)
    assert test.kind == "while"
    assert low.kinds(test) == ["while"]
    assert low.region(test).test == test.value == low.reg(low.call("f"))
    assert low.reaches(low.call("g"), low.call("f"))
    assert low.kinds(low.call("h")) == []


@pytest.mark.parametrize("test", ["True", "1"])
def test_endless_loop_ends_at_its_breaks_only(lowered, test):
    low = lowered(f"while {test}:\n    if a: break\n    f()\ng()\n")
    assert low.function.regions[1].test is None
    assert [t.kind for t in low.all(p.Test)] == ["if"]
    assert low.reaches(low.call("f"), low.call("g"))
    assert low.reaches(low.call("f"), low.call("f"))


def test_try(lowered):
    low = lowered(
        """
        try:
            f()
            if a: g()
        except A as e:
            h(e)
        except (B, C):
            i()
        except:
            j()
        else:
            k()
        finally:
            l()
        m()
        """
    )
    assert low.kinds(low.call("g")) == ["then", "try"]
    assert low.kinds(low.call("k")) == ["try"]
    handlers = [r for r in low.function.regions if r.kind == "handler"]
    assert [r.test is None for r in handlers] == [False, False, True]
    assert low.name(handlers[0].test) == "A"
    assert low.one(p.Exception_).subject is None
    for handler in "hij":
        assert low.kinds(low.call(handler)) == ["handler"]
        for raising in "fg":
            assert low.reaches(low.call(raising), low.call(handler))
        assert not low.reaches(low.call("k"), low.call(handler))
    for name in "fghijk":
        assert low.reaches(low.call(name), low.call("l"))
    assert low.kinds(low.call("l")) == ["finally"]
    assert low.kinds(low.call("m")) == []


def test_try_star(lowered):
    low = lowered("try: f()\nexcept* A as e: g()\n")
    assert low.kinds(low.call("g")) == ["handler"]


def test_a_handler_follows_the_beginning_of_its_try(lowered):
    low = lowered("x = 1\ntry:\n    x = f()\nexcept E:\n    g(x)\n")
    handler = low.block(low.reg(low.call("g")))
    assert handler in low.function.blocks[0].successors


def test_with(lowered):
    low = lowered("with f() as a, g() as (b, c):\n    h()\nk()\n")
    first, second = low.all(p.Enter)
    assert low.kinds(first) == []
    assert low.kinds(second) == ["with"]
    assert low.kinds(low.call("h")) == ["with", "with"]
    assert low.function.regions[second.region].test == low.reg(low.call("g"))
    assert low.function.regions[first.region].test == first.context
    assert low.kinds(low.call("k")) == []


def test_match(lowered):
    low = lowered(
        """
        match f():
            case a.B | 1: g()
            case C(x, k=[y, *z]) if h(x): i()
            case {"k": w, **rest}: j()
            case _: k()
        l()
        """
    )
    cases = [r for r in low.function.regions if r.kind == "case"]
    assert len(cases) == 4
    assert {r.test for r in cases} == {low.reg(low.call("f"))}
    captured = [low.function.slot_names[s.slot] for s in low.all(p.Store)]
    assert captured == ["x", "y", "z", "w", "rest"]
    assert {e.subject for e in low.all(p.Exception_)} == {low.reg(low.call("f"))}
    assert low.one(p.Test).kind == "case"
    assert low.kinds(low.call("i")) == ["then", "case"]
    assert low.reaches(low.one(p.Test), low.call("j"))
    assert not low.reaches(low.call("g"), low.call("i"))
    for name in "gijk":
        assert low.reaches(low.call(name), low.call("l"))


def test_code_after_return_has_no_way_in(lowered):
    low = lowered("def f():\n    return g()\n    h()\n").at(1)
    assert not low.reaches(low.call("g"), low.call("h"))
    assert low.function.regions[0].leaves == "return"


def test_async_statements(lowered):
    low = lowered(
        "async def f():\n    async with a as b:\n        async for x in b: g(x)\n    return [y async for y in b]\n"
    ).at(1)
    assert low.kinds(low.call("g")) == ["for", "with"]
    assert low.one(p.Collect).kind == "list"
