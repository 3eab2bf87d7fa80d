"""What is known under names: of dicts under keys that are written out, of objects in what their constructors were
given, and through calls of what is told and returned."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from transferlint.flow.lattice.values import (
    ANYWHERE,
    DEVICE,
    HOST,
    HOST_VALUE,
    NONE,
    PYTHON,
    TENSOR,
    Value,
    join,
    with_field,
)

LookUp = Callable[..., Any]
START = """
import torch
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

h = torch.zeros(3)
x = torch.zeros(3, device="cuda")


@dataclass
class Out:
    loss: Any
    n: int = 0


class Pair(NamedTuple):
    a: Any
    b: Any


@dataclass
class Longer(Out):
    count: ClassVar[int] = 0
    extra: Any = None


class Kept:
    def __init__(self):
        self.loss = None


def shown(t):
    return {"loss": t, "n": 3}


def stored(t):
    out = {}
    out["loss"] = t
    out["n"] = 3
    return out


def called(t):
    return dict(loss=t, n=3)


def spread(t):
    return {**shown(t), "m": 2}


def updated(t):
    out = {"n": 3}
    out.update(loss=t)
    out.update(stored(t))
    return out


def sometimes(t, flag):
    return (t, {"loss": t.sum()}) if flag else (t, {})


def absent(t):
    if t.shape[0] > 3:
        return None
    return t.sum()


def twice(t):
    return shown(shown(t)["loss"])["loss"]


def handed(op, t):
    return op(t, 3)


def late(t):
    out = Out(loss=3)
    out.loss = t
    return out
"""

READS = (
    'shown({})["loss"]',
    'shown({}).get("loss")',
    'stored({})["loss"]',
    'called({})["loss"]',
    'spread({})["loss"]',
    'updated({})["loss"]',
    "twice({})",
    "sometimes({}, 3)[1]['loss']",
    "absent({})",
    "Out(loss={}).loss",
    "Out({}, 2).loss",
    "Longer({}, 2, 3).loss",
    "Longer(1, 2, {}).extra",
    "late({}).loss",
    "Pair(1, {}).b",
    "Pair(1, {})[1]",
    "handed(print, {})",
    '{{"out": {{"loss": {}, "n": 1}}}}["out"]["loss"]',
)


@pytest.mark.parametrize("read", READS)
def test_a_name_has_what_was_put_under_it(look: LookUp, read: str) -> None:
    assert look(f"{START}\ny = {read.format('x')}\ny\n").places("y") == DEVICE


@pytest.mark.parametrize("read", READS)
def test_nothing_is_on_the_device_for_data_of_the_host(look: LookUp, read: str) -> None:
    assert not look(f"{START}\ny = {read.format('h')}\ny\n").value("y").on_device


@pytest.mark.parametrize("read", ['shown(x)["n"]', 'stored(x)["n"]', 'called(x)["n"]', 'spread(x)["m"]'])
def test_a_number_beside_a_tensor_is_one(look: LookUp, read: str) -> None:
    value = look(f"{START}\ny = {read}\ny\n").value("y")
    assert value.is_a(HOST_VALUE)
    assert value.places == HOST


def test_what_an_unknown_function_makes_of_host_data_may_be_anywhere(look: LookUp) -> None:
    assert look(f"{START}\ny = handed(print, h)\ny\n").places("y") == ANYWHERE


def test_a_key_that_varies_may_be_any(look: LookUp) -> None:
    found = look(f"{START}\ndef job(k):\n    d = stored(x)\n    d[k] = h\n    y = d['loss']\n    y\n")
    assert found.places("y") != DEVICE


def test_a_key_that_is_written_again_holds_that(look: LookUp) -> None:
    assert look(f"{START}\nd = stored(x)\nd['loss'] = h\ny = d['loss']\ny\n").places("y") == HOST


def test_an_attribute_that_is_set_again_holds_that(look: LookUp) -> None:
    found = look(
        f"{START}\ndef job():\n    o = Out(loss=x)\n    o.loss = h\n    return o\n\ny = job().loss\ny\n"
    )
    assert not found.value("y").on_device


def test_an_argument_of_a_class_with_an_unknown_base_has_no_name(look: LookUp) -> None:
    text = f"{START}\nfrom elsewhere import Base\n\n@dataclass\nclass Own(Base):\n    loss: Any\n\n"
    assert look(f"{text}y = Own(x).loss\ny\n").places("y") != DEVICE
    assert look(f"{text}y = Own(loss=x).loss\ny\n").places("y") == DEVICE


def test_what_an_object_held_on_the_host_may_have_been_replaced(look: LookUp) -> None:
    found = look(
        f"{START}\nclass Late(Out):\n    pass\n\ndef job(o, f):\n    o = Out(loss=3)\n    f(o)\n    y = o.loss\n    y\n"
    )
    assert not found.value("y").is_a(HOST_VALUE)


def test_an_attribute_that_is_only_none_holds_something_else_when_it_is_read(look: LookUp) -> None:
    found = look(f"{START}\ndef job():\n    o = Kept()\n    y = o.loss\n    y\n")
    assert found.places("y") == ANYWHERE


def test_callers_tell_of_fields(look: LookUp) -> None:
    found = look(f"""{START}
def of_dict(d):
    y = d["loss"]
    y

def of_object(o):
    z = o.loss
    z

def of_annotated(o: Out):
    w = o.loss
    w

def job():
    of_dict(shown(x))
    of_object(Out(loss=x))
    of_annotated(Out(loss=x))
""")
    assert [found.value(name).on_device for name in "yzw"] == [True] * 3


def test_groups_of_an_optimizer_hold_parameters(look: LookUp) -> None:
    found = look("""
import torch

class Own(torch.optim.Optimizer):
    def step(self):
        for group in self.param_groups:
            lr = group["lr"]
            for p in group["params"]:
                y = p.grad
                y, lr
""")
    assert found.value("y").is_a(TENSOR)
    assert found.value("y").on_device
    assert found.places("lr") == ANYWHERE


def test_none_adds_nothing_to_what_is_no_plain_value() -> None:
    tensor = Value(TENSOR, DEVICE)
    assert join(NONE, tensor) == join(tensor, NONE) == tensor.or_none()
    assert join(NONE, NONE) == NONE
    assert join(NONE, PYTHON) == join(PYTHON, NONE)


def test_fields_are_joined_by_name() -> None:
    here, there = Value(TENSOR, HOST), Value(TENSOR, DEVICE)
    left = Value(16, HOST, fields=with_field((), "a", here))
    right = Value(16, HOST, fields=with_field(with_field((), "a", there), "b", there))
    both = join(left, right)
    assert both is not None
    assert both.field("b") == there
    assert both.field("a") == Value(TENSOR, HOST | DEVICE)
    unknown = join(left, Value(16, HOST))
    assert unknown is not None
    assert unknown.fields is None


def test_no_more_fields_are_kept_than_a_bound() -> None:
    fields = with_field((), "a", PYTHON)
    for number in range(100):
        fields = with_field(fields, f"k{number}", PYTHON)
    assert fields is None


@pytest.mark.parametrize("read", ["d['loss']", "d.get('loss')"])
def test_under_another_name_somebody_else_has_put_something(look: LookUp, read: str) -> None:
    value = look(f"{START}\ndef job(fill):\n    d = {{'n': 3}}\n    fill(d)\n    y = {read}\n    y\n").value("y")
    assert not value.is_a(HOST_VALUE)
    assert value.places == ANYWHERE


def test_what_is_mapped_is_where_it_is_and_not_what_it_is_looked_up_with(look: LookUp) -> None:
    text = f"{START}\ndef job(other):\n    y = list(map(lambda t: MADE, [x]))[0]\n    y\n"
    assert look(text.replace("MADE", "t * 2")).value("y").on_device
    assert not look(text.replace("MADE", "other")).value("y").on_device
