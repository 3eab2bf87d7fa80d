"""The time of an analysis grows with the length of the text, whatever its shape."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from transferlint.flow.analysis import analyse
from transferlint.flow.lattice.options import AnalysisOptions
from transferlint.syntax import collector
from transferlint.syntax.lower import lower
from transferlint.syntax.source import decode, parse
from transferlint.syntax.spans import Spans

START = "import torch\nx = torch.zeros(3, device='cuda')\ndef forward(a, n, rows):\n    y = y0 = a\n"


def indent(depth: int) -> str:
    return "    " * depth


def sequential_ifs(n: int) -> str:
    return "".join(f"    if n > {i}:\n        y = y + {i}\n" for i in range(n))


def ifs_on_a_variable(n: int) -> str:
    return "    flag = n\n" + "    if flag:\n        y = y.sum().item()\n" * n


def early_returns(n: int) -> str:
    return "".join(f"    if n > {i}:\n        return a.sum().item()\n" for i in range(n))


def validations(n: int) -> str:
    return "".join(f"    if n > {i}:\n        raise ValueError(a.item())\n" for i in range(n))


def type_dispatch(n: int) -> str:
    return "".join(f"    if isinstance(a, str):\n        return {i}\n" for i in range(n))


def guards_on_guards(n: int) -> str:
    return "    b0 = a\n" + "".join(
        f"    b{i + 1} = b{i} and b{i}\n    if b{i + 1}:\n        y = x\n" for i in range(n)
    )


def lists_in_lists(n: int) -> str:
    return "    y = [y]\n" * n + "    if n:\n        y = x\n    return y\n"


def tuples_of_themselves(n: int) -> str:
    return "".join("    y = (y, [y], {'a': y})\n" for _ in range(n)) + "    if n:\n        y = x\n    return y\n"


def elifs(n: int) -> str:
    return "    if n == 0:\n        y = 1\n" + "".join(
        f"    elif n == {i}:\n        y = a.item()\n" for i in range(1, n)
    )


def assignments(n: int) -> str:
    return "    y = y + x\n" * n


def assignments_to_new_names(n: int) -> str:
    return "".join(f"    y{i + 1} = y{i} + x\n" for i in range(n))


def nested_loops(n: int) -> str:
    body = "".join(f"{indent(i + 1)}for i{i} in rows:\n{indent(i + 2)}y{i + 1} = y{i}\n" for i in range(n))
    return f"{body}{indent(n + 1)}y0 = y0.cuda()\n"


def nested_whiles(n: int) -> str:
    body = "".join(f"{indent(i + 1)}while y{i}:\n{indent(i + 2)}y{i + 1} = y{i}\n" for i in range(n))
    return f"{body}{indent(n + 1)}y0 = x\n"


def tries(n: int) -> str:
    return "".join(f"    try:\n        y = y + 1\n    except E{i}:\n        y = x\n" for i in range(n))


def nested_finallies(n: int) -> str:
    down = "".join(f"{indent(i + 1)}try:\n{indent(i + 2)}y{i} = a\n" for i in range(n))
    up = "".join(f"{indent(i + 1)}finally:\n{indent(i + 2)}y = x\n" for i in reversed(range(n)))
    return down + up


def a_long_list(n: int) -> str:
    return f"    y = [{', '.join(f'[{i}, a]' for i in range(n))}]\n"


def a_long_dict(n: int) -> str:
    return f"    y = {{{', '.join(f'{i!r}: a' for i in range(n))}}}\n"


def a_long_sum(n: int) -> str:
    return f"    y = {' + '.join(['a'] * n)}\n"


def a_long_chain(n: int) -> str:
    return f"    y = a{'.sum()' * n}\n"


def appends(n: int) -> str:
    return "    r = []\n" + "    r.append([a, r])\n" * n


def functions_that_call_the_next(n: int) -> str:
    return "".join(f"def m{i}(a):\n    return m{i + 1}(a) + m{i + 2}(a)\n" for i in range(n))


def methods_that_call_the_next(n: int) -> str:
    body = "".join(
        f"    def m{i}(self, a):\n        self.a{i} = a\n        return self.m{i + 1}(self.a{i})\n" for i in range(n)
    )
    return f"class A:\n{body}"


def formatted(n: int) -> str:
    return "".join(f"    print(f'{{a}} {{a.x{i}}}')\n" for i in range(n))


def seconds(text: str) -> float:
    """How long the processor takes to analyse a text that is lowered already, and to tell the heat of everything."""
    read = decode("train.py", (START + text).encode())
    tree = parse(read)
    program, spans = lower(tree, read.path), Spans(tree, read.text)
    with collector.paused():  # as in a run; a collection would count the objects of all other tests
        started = time.process_time()
        facts = analyse(read.path, read.text, program, spans, AnalysisOptions())
        for function in facts.functions:
            for reg in range(len(function.code)):
                function.warmth(reg)
        return time.process_time() - started


@pytest.mark.parametrize(
    ("shape", "size"),
    [
        (sequential_ifs, 2000),
        (ifs_on_a_variable, 1000),
        (early_returns, 250),
        (validations, 250),
        (type_dispatch, 200),
        (guards_on_guards, 100),
        (lists_in_lists, 1500),
        (tuples_of_themselves, 300),
        (elifs, 250),
        (assignments, 3000),
        (assignments_to_new_names, 3000),
        (tries, 400),
        (a_long_list, 1500),
        (a_long_dict, 1500),
        (a_long_sum, 150),
        (a_long_chain, 150),
        (appends, 500),
        (functions_that_call_the_next, 200),
        (methods_that_call_the_next, 200),
        (formatted, 1000),
    ],
)
def test_time_grows_with_the_text(shape: Callable[[int], str], size: int) -> None:
    seconds(shape(10))
    once = min(seconds(shape(size)) for _ in range(3))
    twice = float("inf")
    for _ in range(3):  # the least of three; where an earlier one is small enough, the least is
        twice = min(twice, seconds(shape(2 * size)))
        if twice < min(12, 3.5 * once + 0.2):
            break
    assert twice < 12
    assert twice < 3.5 * once + 0.2, f"{once:.2f} s for {size}, {twice:.2f} s for {2 * size}"


@pytest.mark.parametrize(("shape", "depth"), [(nested_loops, 17), (nested_whiles, 17), (nested_finallies, 17)])
def test_nesting_is_cheap(shape: Callable[[int], str], depth: int) -> None:
    assert seconds(shape(depth)) < 2


def test_a_guard_that_is_made_of_itself_ends() -> None:
    assert seconds("    n = n and rows or n and not rows or n\n    if n:\n        a.item()\n") < 1


def test_forty_loops_in_one_another_end() -> None:
    assert seconds(nested_loops(40)) < 5
