"""Where paths meet: branches, loops to a fixed point, handlers; and the evidence that survives them."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from typing import Any

import pytest

from transferlint.flow.lattice.values import ANYWHERE, CONTAINER, DEVICE, GIVEN, HOST, TENSOR, UNKNOWN

LookUp = Callable[..., Any]
START = """
import torch
h = torch.zeros(3)
x = torch.zeros(3, device="cuda")
"""


def test_the_arms_of_a_branch_are_joined(look: LookUp) -> None:
    found = look(f"""{START}
def job(n):
    if n:
        y = x
        y
    elif n > 2:
        y = h
        y
    else:
        y = x + h
        y
    y
""")
    assert [found.places("y", nth) for nth in range(3)] == [DEVICE, HOST, DEVICE]
    assert found.places("y") == HOST | DEVICE
    assert found.value("y").is_a(TENSOR)


def test_a_branch_without_an_else_is_joined_with_what_was(look: LookUp) -> None:
    found = look(f"{START}def job(n):\n    y = h\n    if n:\n        y = x\n    y\n")
    assert found.places("y") == HOST | DEVICE


def test_an_arm_that_leaves_is_not_joined(look: LookUp) -> None:
    found = look(f"{START}def job(n):\n    y = h\n    if n:\n        y = x\n        return y\n    y\n")
    assert found.places("y") == HOST


def test_of_a_variable_that_one_path_binds_that_path_tells(look: LookUp) -> None:
    found = look(f"{START}def job(n):\n    if n:\n        y = x\n    y\n")
    assert found.places("y") == DEVICE


def test_a_tensor_or_none_is_a_tensor_where_it_is_used(look: LookUp) -> None:
    found = look(f"{START}def job(n):\n    y = None\n    if n:\n        y = x\n    y\n")
    assert found.value("y").is_a(TENSOR)
    assert found.places("y") == DEVICE


def test_a_rebound_name_forgets_what_it_was(look: LookUp) -> None:
    found = look(f"{START}y = x\ny = h\ny\ny = y.cuda()\ny\n")
    assert found.places("y", 0) == HOST
    assert found.places("y") == DEVICE


def test_a_loop_body_sees_what_the_last_turn_left(look: LookUp) -> None:
    found = look(
        f"{START}def job():\n    y = h\n    for _ in range(9):\n        z = y\n        y = y.cuda()\n    (y, z)\n"
    )
    assert found.places("z") == HOST | DEVICE
    assert found.places("y") == HOST | DEVICE


def test_a_while_loop_too(look: LookUp) -> None:
    found = look(f"{START}def job(n):\n    y = h\n    while n:\n        z = y\n        y = x\n    (y, z)\n")
    assert found.places("z") == HOST | DEVICE
    assert found.places("y") == HOST | DEVICE


def test_news_travel_round_a_loop_more_than_once(look: LookUp) -> None:
    names = "abcdefg"
    begin = "\n".join(f"    {one} = h" for one in names)
    lines = "\n".join(f"        {one} = {other}" for one, other in itertools.pairwise(names))
    found = look(f"{START}def job():\n{begin}\n    for _ in range(9):\n{lines}\n        g = x\n    a\n")
    assert found.places("a") == HOST | DEVICE


def test_nested_loops_reach_a_fixed_point(look: LookUp) -> None:
    found = look(f"""{START}
def job(rows):
    a = b = c = h
    for i in rows:
        for j in rows:
            for k in rows:
                a = b
                b = c
            c = x
    (a, b, c)
""")
    for name in "abc":
        assert found.places(name) == HOST | DEVICE


def test_a_continue_joins_the_next_turn_and_a_break_the_end(look: LookUp) -> None:
    found = look(f"""{START}
def job(rows):
    y = z = h
    for i in rows:
        start = y
        if i:
            y = x
            continue
        if not i:
            z = x
            break
    (y, z, start)
""")
    assert found.places("start") == HOST | DEVICE
    assert found.places("z") == HOST | DEVICE


def test_a_handler_sees_both_ends_of_its_suite(look: LookUp) -> None:
    found = look(f"""{START}
def job(f):
    y = h
    try:
        f()
        y = x
        f()
    except ValueError:
        in_handler = y
        in_handler
    finally:
        in_finally = y
        in_finally
    y
""")
    assert found.places("in_handler") == HOST | DEVICE
    assert found.places("in_finally") == HOST | DEVICE
    assert found.places("y") == HOST | DEVICE


def test_the_cases_of_a_match_are_joined(look: LookUp) -> None:
    found = look(f"""{START}
def job(n):
    match n:
        case 0:
            y = x
        case [a, b]:
            y = h
        case _:
            y = h
    y
""")
    assert found.places("y") == HOST | DEVICE


def test_conditional_expressions_and_boolean_operators_join(look: LookUp) -> None:
    found = look(f"{START}def job(n):\n    a = x if n else h\n    b = None or x\n    c = n and x\n    (a, b, c)\n")
    assert found.places("a") == HOST | DEVICE
    assert found.value("b").on_device
    assert found.value("c").on_device


def test_attributes_are_joined_too(look: LookUp) -> None:
    found = look(f"""{START}
class Job:
    def run(self, n):
        if n:
            self.y = x
        else:
            self.y = h
        y = self.y
        y
""")
    assert found.places("y") == HOST | DEVICE


def test_of_the_lengths_of_tuples_only_equal_ones_are_kept(look: LookUp) -> None:
    found = look(
        f"{START}def job(n):\n    t = (x, h) if n else (h, h)\n    u = (x, h) if n else (h,)\n"
        "    a = t[1]\n    b = u[0]\n    (t, a, b)\n"
    )
    assert found.places("a") == HOST
    assert found.places("b") == HOST | DEVICE


def test_a_value_that_wraps_itself_in_a_loop_ends(look: LookUp) -> None:
    found = look(f"{START}def job(rows):\n    t = x\n    for _ in rows:\n        t = (t, [t], {{'a': t}})\n    t\n")
    assert found.value("t").may_be(CONTAINER)


def test_globals_that_functions_rebind(look: LookUp) -> None:
    found = look(f"""{START}
def job():
    global h
    h = x
    y = h
    y
""")
    assert found.places("y") == DEVICE


@pytest.mark.parametrize("statement", ["del y\n    y = h", "import y\n    y = h", "def y(): pass\n    y = h"])
def test_other_bindings_replace(look: LookUp, statement: str) -> None:
    found = look(f"{START}def job(n):\n    y = x\n    {statement}\n    y\n")
    assert found.places("y") == HOST


def test_a_deleted_name_is_unknown(look: LookUp) -> None:
    found = look(f"{START}def job(n):\n    y = x\n    del y\n    y\n")
    assert found.value("y").is_a(UNKNOWN)
    assert found.places("y") == ANYWHERE


def test_the_walrus_binds(look: LookUp) -> None:
    found = look(f"{START}def job(n):\n    if (y := x) is not None:\n        y\n")
    assert found.places("y") == DEVICE


# Evidence


def test_the_evidence_is_the_move(look: LookUp) -> None:
    found = look(f"{START}def job(n, device):\n    y = h.to(device)\n    z = y.view(-1) * 2\n    z\n")
    assert found.why("z") == ["h.to(device)"]


def test_the_evidence_is_where_it_was_made(look: LookUp) -> None:
    found = look("import torch\ny = torch.zeros(3, device='cuda')\nz = y.sum()\nz\n")
    assert found.why("z") == ["torch.zeros(3, device='cuda')"]


def test_the_evidence_of_what_a_model_returns_is_the_model(look: LookUp) -> None:
    found = look(
        "import torch\nmodel = torch.nn.Linear(3, 3).cuda()\ny = model(torch.zeros(3))\nloss = y.sum()\nloss\n"
    )
    assert found.why("loss") == ["torch.nn.Linear(3, 3).cuda()"]


def test_the_evidence_of_an_argument_is_the_function(look: LookUp) -> None:
    found = look("import torch\ndef loss(x: torch.Tensor):\n    y = x.sum()\n    y\n")
    assert found.why("y") == ["def loss(x: torch.Tensor):"]
    function, reg = found.find("y")
    (link,) = function.why(function.values[reg])
    assert "`x`" in link.message
    assert "`loss`" in link.message


def test_after_a_join_the_device_side_explains(look: LookUp) -> None:
    found = look(f"{START}def job(n, device):\n    y = h\n    if n:\n        y = h.cuda()\n    y\n")
    assert found.why("y") == ["h.cuda()"]


def test_round_a_loop_the_evidence_stays(look: LookUp) -> None:
    found = look(
        "import torch\ndef job(rows, device):\n    y = torch.zeros(3, device=device)\n"
        "    for row in rows:\n        y += 1\n    y\n"
    )
    assert found.why("y") == ["torch.zeros(3, device=device)"]


@pytest.mark.parametrize(
    "computed",
    ["y[0]", "y + y", "[y][0]", "(y, 1)[0]", "torch.cat([y, y])", "y.float()", "{k: v for k, v in {'a': y}.items()}"],
)
def test_what_is_on_the_device_is_explained(look: LookUp, computed: str) -> None:
    found = look(f"import torch\ndef job(device):\n    y = torch.zeros(3, device=device)\n    z = {computed}\n    z\n")
    assert found.value("z").on_device
    assert found.why("z") == ["torch.zeros(3, device=device)"]


def test_what_a_call_of_this_file_returns_is_explained_here(look: LookUp) -> None:
    found = look("""
        import torch

        def made(device):
            return torch.zeros(3, device=device)

        def job(device):
            y = made(device)
            y
    """)
    assert found.places("y") == GIVEN
    assert found.why("y") == ["made(device)"]


@pytest.mark.parametrize(
    ("module", "places"),
    [
        ("y = h\ny = x\n", DEVICE),
        ("y = x\ny = h\n", HOST),
        ("y = h\nif h:\n    y = x\n", HOST | DEVICE),
        ("y = h\nfor _ in range(3):\n    y = x\n", HOST | DEVICE),
        ("if h:\n    y = x\ny = h\n", HOST),
    ],
)
def test_functions_see_what_a_module_binds_last(look: LookUp, module: str, places: int) -> None:
    assert look(f"{START}{module}\ndef job():\n    (y,)\n").places("y") == places


def test_a_function_that_is_called_before_sees_what_was_bound_by_then(look: LookUp) -> None:
    found = look(f"{START}y = h\n\ndef job():\n    return y\n\nz = job()\ny = x\nz\n")
    assert found.places("z") & HOST


def test_any_cell_of_a_notebook_may_run_last(look: LookUp) -> None:
    cells = [f"{START}y = h\n", "y = x\n", "def job():\n    (y,)\n"]
    text = json.dumps({"cells": [{"cell_type": "code", "source": one} for one in cells], "nbformat": 4, "metadata": {}})
    found = look(text, path="train.ipynb")
    assert found.places("y") == HOST | DEVICE
