"""Facts travel through whatever programs put values into and take them out of again: one carrier, and two in a row."""

from __future__ import annotations

import random
import string
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from transferlint.flow.lattice.values import ANYWHERE, HOST, UNKNOWN

LookUp = Callable[..., Any]

# By name: what stands in the module, what a function does with `$e`, and what gives it back; `$n` is a number.
CARRIERS = {
    name: [string.Template(part.strip("\n")) for part in text.split("---\n")]
    for name, _, text in (
        block.partition("\n")
        for block in (Path(__file__).parents[1] / "data" / "carriers.txt").read_text().split("=== ")[1:]
    )
}
ORDER = tuple(CARRIERS)
SILENT = {"map", "partial_bound", "queue", "match"}  # of which nothing is known that comes out
DRAWN = random.Random(11)
PAIRS = [(DRAWN.choice(ORDER), DRAWN.choice(ORDER)) for _ in range(160)]
PROGRAM = """import torch


def name():
    return input()


{defs}


def job():
    held = torch.zeros(3, 3{place})
{body}
    y = {read}
    y


job()
"""


def program(names: tuple[str, ...], place: str) -> str:
    """A program that puts a tensor through some carriers, and reads what comes out as `y`."""
    defs, body, read = [], [], "held"
    for number, one in enumerate(names):
        module, statements, taken = CARRIERS[one]
        defs.append(module.substitute(n=number))
        body += statements.substitute(n=number, e=read).splitlines()
        read = taken.substitute(n=number, e=read)
    indented = "\n".join("    " + line for line in body)
    return PROGRAM.format(defs="\n\n\n".join(defs), body=indented, read=read, place=place)


@pytest.mark.parametrize("carrier", ORDER)
def test_what_goes_in_on_the_device_comes_out_there(look: LookUp, carrier: str) -> None:
    assert look(program((carrier,), ", device='cuda'")).value("y").on_device == (carrier not in SILENT)


def made_up(value: Any) -> bool:
    """Whether a value is taken to be on the device and nowhere else. Of sums over attributes, which begin on the host
    and rest on themselves, both is said."""
    return bool(value.on_device and not value.places & HOST)


@pytest.mark.parametrize("carrier", ORDER)
def test_what_goes_in_on_the_host_never_comes_out_on_the_device(look: LookUp, carrier: str) -> None:
    assert not made_up(look(program((carrier,), "")).value("y"))


def test_two_in_a_row_lose_little(look: LookUp) -> None:
    lost = [
        pair
        for pair in PAIRS
        if SILENT.isdisjoint(pair) and not look(program(pair, ", device='cuda'")).value("y").on_device
    ]
    assert len(lost) <= 16, lost


def test_two_in_a_row_make_nothing_up(look: LookUp) -> None:
    found = [pair for pair in PAIRS if made_up(look(program(pair, "")).value("y"))]
    assert len(found) <= 1, found


def test_a_method_that_computes_with_its_object_alone_gives_nothing_of_the_host(look: LookUp) -> None:
    found = look(
        "import tensordict, torch_geometric.data\n\n"
        "def copied(x):\n"
        "    one, other = tensordict.TensorDict({'a': x}), torch_geometric.data.Data(x=x)\n"
        "    return one.clone(), other.clone()\n"
    )
    assert (found.value("one.clone()").kinds, found.places("one.clone()")) == (UNKNOWN, ANYWHERE)
    assert found.value("other.clone()").name == "torch_geometric.data.Data"
    assert found.places("other.clone()") == ANYWHERE
