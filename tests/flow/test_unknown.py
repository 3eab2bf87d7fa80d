"""Only proof makes a value Python's or the host's: generated programs in which something that nothing is known of goes
through names, containers, branches, loops and functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import hypothesis
from hypothesis import strategies as st

from transferlint.flow.lattice.values import BOOLEAN, DEVICE, HOST, HOST_VALUE, NAME, TENSOR

LookUp = Callable[..., Any]

# Where something unknown comes from. `given` and `other` are parameters, `Any` is typing's.
SOURCES = st.sampled_from(
    [
        "given",
        "other",
        "mystery.make()",
        "thing",
        "thing(1)",
        "starred",
        "starred(2, k=3)",
        "given.parts",
        "given['x']",
        "mystery.table[0]",
        "next(given)",
        "mystery.start() if other else 'cpu'",
        "self.unknown",
        "self.method()",
        "self.step(1)",
        "TensorDict({'a': given}, [])['a']",
        "torch.compile(given)(other)",
        "Categorical(logits=given).sample()",
        "sum(given)",
        "max(given, 2)",
        "given @ mystery.made",
    ]
)
# What leaves it unknown: `{}` is what was made before, `{}` again another of those.
STEPS = st.sampled_from(
    [
        "{0}.part",
        "{0}.step()",
        "{0}.sample()",
        "{0}.result(1)",
        "{0}.fetch(key={1})",
        "{0}(1)",
        "{0}(*{1})",
        "{0}[0]",
        "{0}[1:]",
        "{0}['key']",
        "{0} + 1",
        "2 * {0}",
        "-{0}",
        "{0} + {1}",
        "{0} if {1} is None else {1}",
        "{0} if other else 'cpu'",
        "{0} if other else 0",
        "({0}, {1})[0]",
        "[{1}, {0}][-1]",
        "{{'a': {0}}}['a']",
        "{0} or {1}",
        "[one for one in {0}][0]",
        "passed({0})",
        "first({1}, {0})",
        "kept(value={0})",
        "Holder({0}).value",
        "(lambda one: one)({0})",
        "copy.copy({0})",
    ]
)
STATEMENTS = st.sampled_from(
    [
        "{v} = {e}",
        "for {v} in {e}:\n        other.use({v})",
        "if other:\n        {v} = {e}\n    else:\n        {v} = {b}",
        "with {e} as {v}:\n        pass",
        "{v}, _ = {e}",
        "{v} = {b}\n    {v} += {e}",
        "try:\n        {v} = {e}\n    except KeyError:\n        {v} = {b}",
        "{v} = None\n    while other:\n        {v} = {e}",
    ]
)
HEAD = """\
import copy
from typing import Any

import mystery
import torch
from mystery import thing
from tensordict import TensorDict
from torch.distributions import Categorical
from puzzle import *


class Holder:
    def __init__(self, value):
        self.value = value


def passed(one):
    return one


def first(one, two=None):
    return two


def kept(*, value: Any) -> Any:
    return value


class Worker(mystery.Base):
    def run(self, given, other: Any):
"""


@st.composite
def programs(draw: st.DrawFn) -> str:
    """A program whose last expression is `answer`, made of what nothing is known of."""
    lines = []
    names = []
    for number in range(draw(st.integers(1, 6))):
        if names:
            before = st.sampled_from(names)
            made = draw(STEPS).format(draw(before), draw(before))
        else:
            made = draw(SOURCES)
        beside = draw(st.sampled_from(names)) if names else draw(SOURCES)
        lines.append(draw(STATEMENTS).format(v=f"v{number}", e=made, b=beside))
        names.append(f"v{number}")
    lines.append(f"answer = {names[-1]}\n    return answer")
    return HEAD + "".join(f"        {line}\n" for text in lines for line in text.replace("\n    ", "\n").split("\n"))


@hypothesis.given(programs())
@hypothesis.settings(deadline=None, max_examples=150)
def test_what_nothing_is_known_of_is_never_taken_for_the_hosts(look: LookUp, text: str) -> None:
    value = look(text).value("answer")
    hypothesis.assume(value.kinds != NAME)  # of another library; what is done with it tells what it is
    assert value.places & ~HOST
    assert value.kinds & ~HOST_VALUE


def test_a_method_that_other_things_have_too_computes_for_what_is_proven_to_be_a_tensor_alone(look: LookUp) -> None:
    found = look("""
        import torch

        def run(batch):
            kept = torch.ones(3).cuda().positive().less(2)
            other = batch.positive()
        """)
    assert found.value("torch.ones(3).cuda().positive().less(2)").places == DEVICE
    assert found.value("torch.ones(3).cuda().positive().less(2)").flags & BOOLEAN
    assert not found.value("batch.positive()").is_a(TENSOR)
