"""What is rare within a loop by the turn it is, what is around a loop over a loader, and which indices are uploaded."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from transferlint.flow.lattice import transfers as t
from transferlint.model import Direction, Level

LookUp = Callable[..., Any]


@pytest.mark.parametrize(
    ("test", "rare"),
    [
        ("step == last", True),
        ("step == args.warmup", True),
        ("step == len(items) - 1", True),
        ("e % 5 == 0", True),
        ("step != last", False),
        ("step == e", False),
        ("label == wanted", False),
        ("step > last", False),
    ],
)
def test_one_turn_of_a_loop_is_rare(look: LookUp, test: str, rare: bool) -> None:
    found = look(
        f"""
        def train(loader, items, args, last, label, wanted):
            for e in range(args.n):
                for step, x in enumerate(loader):
                    if {test}:
                        loss = x.sum()
        """
    )
    assert bool(found.warmth("x.sum()").amortised) is rare


def test_a_loop_around_a_loop_over_a_loader_is_an_epoch(look: LookUp) -> None:
    found = look(
        """
        def run(model, loaders, names):
            for name in names:
                loader = DataLoader(name)
                for x in loader:
                    y = model(x)
                z = model(name)
            for name in names:
                w = model(name).sum()
        from torch.utils.data import DataLoader
        """
    )
    assert found.warmth("model(x)").level is Level.PER_STEP
    assert found.warmth("model(name)", 0).level is Level.PER_EPOCH
    assert found.warmth("model(name).sum()").level is Level.PER_STEP


START = """
import torch
x = torch.zeros(4, 3, device="cuda")
index = torch.arange(4)
keep = index > 1
"""


@pytest.mark.parametrize("line", ["y = x[index]", "y = x[[0, 2]]", "x[index] = 1", "x[:, [0, 2]] = 1.0", "y = x[keep]"])
def test_an_index_on_the_host_is_uploaded(look: LookUp, line: str) -> None:
    made = look(START + line).transfers(t.HOST_INDEX, t.SHAPE)
    assert [(one.kind, one.direction) for one in made] == [(t.HOST_INDEX, Direction.H2D)]


@pytest.mark.parametrize("line", ["y = x[0]", "y = x[:2]", "y = x[[]]", "y = index[[0, 1]]", "y = x[x.argmax()]"])
def test_numbers_and_slices_are_not(look: LookUp, line: str) -> None:
    assert look(START + line).transfers(t.HOST_INDEX) == []


@pytest.mark.parametrize("text", ['"{}".format(x)', '"{a}".format(a=x)', '"%s" % x', 'f"{x}"'])
def test_every_way_to_put_a_tensor_into_words_is_recorded(look: LookUp, text: str) -> None:
    assert [one.kind for one in look(f"{START}y = {text}").transfers(t.FORMAT)] == [t.FORMAT]


def test_a_bar_around_a_loader_is_a_bar(look: LookUp) -> None:
    found = look(
        """
        import torch
        from tqdm import tqdm
        def train(model, loader):
            pbar = tqdm(loader)
            for x in pbar:
                loss = model(x.cuda()).float().sum()
                pbar.set_postfix(loss=loss)
        """
    )
    assert [one.kind for one in found.at("pbar.set_postfix(loss=loss)")] == [t.FORMAT]


@pytest.mark.parametrize(
    ("line", "moves"),
    [
        ("y = torch.arange(n) * k", []),
        ("y = torch.exp(torch.zeros(n, 2) / k).float()", []),
        ("y = torch.tensor([1, 2]) + k", []),
        ("y = torch.full((), 1.0) * k", ["?"]),
        ("y = torch.zeros(2, 3) @ k", []),
        ("y = (torch.zeros(2, 3) @ torch.ones(3)) * k", []),
        ("y = (torch.zeros(3) @ torch.ones(3)) * k", ["?"]),
        ("y = torch.tensor(1.0) * k", ["?"]),
    ],
)
def test_nothing_on_the_device_is_computed_with_a_host_tensor_of_some_dimension(
    look: LookUp, line: str, moves: list[str]
) -> None:
    """What is not known, `k`, may be on the device where a number would do, and nowhere else."""
    found = look(f"import torch\ndef f(n, k):\n    {line}\n    z = y.cuda()\n").at("y.cuda()")
    assert [one.kind for one in found] == [t.MOVE]
    assert [one.before.on_host for one in found] == [not moves]


@pytest.mark.parametrize(
    ("size", "index", "copied"),
    [
        ("n, 4", "rows", True),
        ("n, 4", "rows[:2], 0", True),
        ("n, 4", "0, -1", True),
        ("(n, 4)", "0, i", True),
        ("n", "0", True),
        ("k", "0", False),
        ("[n]", "0", True),
        ("n, 4", "0", False),
        ("n, 4", "0, 1:", False),
        ("n, 4", "..., 0", False),
        ("n, 4", "None, 0", False),
        ("n, 4", "k, 0", False),
        ("n, 4", "k", False),
        ("n, 4", "rows > 2", False),
        ("n, 4", "x > 2", False),
    ],
)
def test_a_number_is_copied_to_where_positions_say_and_to_one_element(
    look: LookUp, size: str, index: str, copied: bool
) -> None:
    """By rows, slices and masks a kernel fills it in, and what an unknown index is, is not known."""
    found = look(
        f"""
        import torch
        def f(x: torch.Tensor, k, n: int):
            rows = torch.argmax(x, dim=1)
            y = torch.zeros({size}, device="cuda")
            for i in range(n):
                y[{index}] = 1
        """
    )
    stored = found.transfers(t.COPY_INTO)
    assert [one.direction for one in stored] == ([Direction.H2D] if copied else [])
