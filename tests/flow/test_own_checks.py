"""What torch checks by itself, values whose kind their place tells, and methods of the program's modules."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from transferlint.flow.lattice.transfers import BUILD, NUMBER, TRUTH
from transferlint.flow.lattice.values import HOST, TENSOR

LookUp = Callable[..., Any]


def _kinds(found: Any, text: str) -> list[str]:
    function, reg = found.find(text)
    return [transfer.kind for transfer in function.transfers if transfer.register == reg]


def _on_device(look: LookUp, text: str) -> Any:
    return look(
        f"""
        import torch
        from torch.distributions import Beta, Categorical, Normal, kl_divergence

        def step(x: torch.Tensor, scale: torch.Tensor, host):
            return {text}
        """
    )


@pytest.mark.parametrize(
    "text",
    [
        "torch.linalg.inv(x)",
        "torch.linalg.eigh(x)",
        "x.inverse()",
        "torch.normal(x, scale)",
        "torch.normal(0.0, std=scale)",
        "Normal(x, scale)",
        "torch.distributions.categorical.Categorical(logits=x)",
        "Normal(x, 1.0).log_prob(x)",
        "Normal(x, scale).sample()",
    ],
)
def test_a_check_of_device_data_is_a_truth_test(look: LookUp, text: str) -> None:
    assert _kinds(_on_device(look, text), text) == [TRUTH]


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("Normal(0.0, scale)", [BUILD, TRUTH]),
        ("Normal(0.0, scale, validate_args=False)", [BUILD]),
        ("Normal(scale, 1.0, validate_args=False)", [BUILD]),
        ("Normal(0.0, 1.0, validate_args=False)", []),
        ("Normal(x, scale, None)", [TRUTH]),
        ("torch.distributions.Bernoulli(scale, validate_args=False)", []),
    ],
)
def test_a_number_beside_tensors_is_uploaded(look: LookUp, text: str, kinds: list[str]) -> None:
    assert sorted(_kinds(_on_device(look, text), text)) == sorted(kinds)


@pytest.mark.parametrize(
    "text",
    [
        "torch.linalg.inv_ex(x)",
        "torch.multinomial(x, 1)",
        "x.multinomial(1)",
        "torch.cholesky_inverse(x)",
        "torch.normal(x, 1.0)",
        "Normal(x, scale, validate_args=False)",
        "Normal(x, scale, validate_args=False).log_prob(x)",
        "Normal(x, scale).rsample()",
        "Normal(0.0, 1.0)",
        "kl_divergence(Normal(x, scale), Normal(x, scale))",
    ],
)
def test_what_does_not_look_is_none(look: LookUp, text: str) -> None:
    assert _kinds(_on_device(look, text), text) == []


def test_what_is_drawn_is_a_tensor_where_the_parameters_are(look: LookUp) -> None:
    drawn = _on_device(look, "Beta(x, scale).rsample()").value("Beta(x, scale).rsample()")
    assert drawn.is_a(TENSOR)
    assert drawn.on_device


def test_a_fill_from_a_tensor_reads_it(look: LookUp) -> None:
    assert NUMBER in _kinds(_on_device(look, "x.masked_fill(x > 0, x.sum())"), "x.sum()")
    assert _kinds(_on_device(look, "x.masked_fill(x > 0, 0.0)"), "0.0") == []


@pytest.mark.parametrize(("moved", "known"), [('value.to("cuda")', True), ("value", False)])
def test_what_is_moved_and_compared_is_a_tensor(look: LookUp, moved: str, known: bool) -> None:
    found = look(
        f"""
        def step(value):
            there = {moved}
            return there > 1.0
        """
    )
    assert found.value("there > 1.0").is_a(TENSOR) is known


def test_a_tensor_on_one_path_and_a_number_on_the_other_is_tested(look: LookUp) -> None:
    found = look(
        """
        def step(x):
            done = False
            if len(x.cuda()) > 1:
                done = x.cuda().sum() > 0
            if done:
                return x
        """
    )
    assert TRUTH in [transfer.kind for function in found.facts.functions for transfer in function.transfers]


def test_a_method_of_a_module_of_the_program_gives_what_it_returns(look: LookUp) -> None:
    found = look(
        """
        import torch

        class Net(torch.nn.Module):
            def start(self):
                return torch.zeros(4)

            def to(self, device):
                return self

        net = Net().to("cuda")
        first = net.start()
        """
    )
    value = found.value("net.start()")
    assert value.is_a(TENSOR)
    assert value.places == HOST
