"""What attributes hold that constructors take from their callers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from transferlint.flow.lattice.values import DEVICE, HOST, TENSOR, UNKNOWN

LookUp = Callable[..., Any]

HELD = """
    import torch

    class Sampler:
        def __init__(self, weights):
            self.weights = weights
            {more}

        def draw(self):
            return self.weights

    def main(loader, device):
        sampler = Sampler({given})
        {others}
        sampler.draw()
"""


@pytest.mark.parametrize(
    ("given", "others", "more", "places"),
    [
        ("torch.ones(3).cuda()", "pass", "pass", DEVICE),
        ("torch.ones(3).cuda()", "Sampler(torch.ones(3).cuda())", "pass", DEVICE),
        ("torch.ones(3).cuda()", "Sampler(device)", "pass", 0),
        ("torch.ones(3).cuda()", "pass", "self.weights = torch.ones(3)", DEVICE | HOST),
        ("device", "pass", "pass", 0),
    ],
    ids=["one call", "two calls", "an unknown one beside it", "another store", "unknown"],
)
def test_an_attribute_is_where_all_calls_of_the_constructor_put_it(
    look: LookUp, given: str, others: str, more: str, places: int
) -> None:
    found = look(HELD.format(given=given, others=others, more=more)).value("self.weights", -1)
    if places:
        assert found.is_a(TENSOR)
        assert found.places & (DEVICE | HOST) == places
    else:
        assert found.may_be(UNKNOWN)
        assert not found.on_device


@pytest.mark.parametrize(
    ("over", "body", "known"),
    [
        ("name, value in values.items()", "setattr(self, name, value)", True),
        ("name, value in values.items()", "print(name); setattr(self, name, value)", True),
        ("name, value in values.items()", "setattr(other, name, value)", False),
        ("name, value in values.items()", "setattr(self, value, name)", False),
        ("name, value in others.items()", "setattr(self, name, value)", False),
        ("name in values", "setattr(self, name, 3)", False),
    ],
)
def test_a_method_that_stores_all_that_it_is_given_by_name(look: LookUp, over: str, body: str, known: bool) -> None:
    found = look(
        f"""
        import torch
        class Base:
            def register_modules(self, **values):
                for {over}:
                    {body}
        class Scheduler:
            def step(self, x):
                return x
        class Pipeline(Base):
            def __init__(self, scheduler: Scheduler):
                self.register_modules(scheduler=scheduler)
            def __call__(self, x):
                return self.scheduler.step(x)
        """
    )
    assert found.value("self.scheduler").name.endswith("#3") == known
