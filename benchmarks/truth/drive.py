"""Loops that most workloads are made of: a model trained and evaluated, a function called with new data each step.

train("resnet", lambda: Resnet(8), lambda: (torch.randn(2, 3, 32, 32, device=DEVICE),))
calls("ssim", ssim, lambda: (images(), images()), backward=True)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch

from truth.marks import case, step

DEVICE = "cuda"


def train(
    name: str, make: Callable[[], Any], batch: Callable[[], Any], *,
    turns: int = 4, evaluate: int = 2, loss: Callable[..., Any] | None = None,
) -> None:  # fmt: skip
    """A case: a model on the device, so many steps of training with what `batch` gives, and of evaluation. The loss is
    made of all that the model answers, where `loss` does not compute it of the model and the batch."""
    with case(name):
        model = make().to(DEVICE).train()
        parameters = [one for one in model.parameters() if one.requires_grad]
        optimizer = torch.optim.AdamW(parameters, 1e-3) if parameters else None
        for _ in range(turns):
            given = batch()
            with step("train"):
                found = scalar(_answer(model, given)) if loss is None else loss(model, *_positional(given))
                if optimizer is not None and found.requires_grad:
                    found.backward()
                    optimizer.step()
                    optimizer.zero_grad()
        model.eval()
        with torch.no_grad():
            for _ in range(evaluate):
                given = batch()
                with step("eval"):
                    _answer(model, given) if loss is None else loss(model, *_positional(given))


def calls(
    name: str, function: Callable[..., Any], data: Callable[[], Any], *, turns: int = 5, backward: bool = False,
    kind: str = "call",
) -> None:  # fmt: skip
    """A case: so many steps that call this with what `data` gives, differentiated where `backward` says so."""
    with case(name):
        if isinstance(function, torch.nn.Module):
            function.to(DEVICE)
        for _ in range(turns):
            given = data()
            with step(kind):
                found = _answer(function, given)
                if backward:
                    scalar(found).backward()


def scalar(answer: Any) -> Any:
    """The sum of the means of all floating tensors in an answer."""
    found = [one.abs() if one.is_complex() else one for one in tensors(answer)]
    return torch.stack([one.float().mean() for one in found if one.is_floating_point()]).sum()


def tensors(answer: Any) -> Iterator[torch.Tensor]:
    """All tensors in nested lists, mappings and objects like them."""
    if isinstance(answer, torch.Tensor):
        yield answer
    elif isinstance(answer, dict):
        for one in answer.values():
            yield from tensors(one)
    elif isinstance(answer, (list, tuple)):
        for one in answer:
            yield from tensors(one)
    elif hasattr(answer, "__dict__"):
        yield from tensors([one for one in vars(answer).values() if isinstance(one, (torch.Tensor, list, tuple))])


def _positional(given: Any) -> tuple[Any, ...]:
    return given if isinstance(given, tuple) else (given,)


def _answer(function: Callable[..., Any], given: Any) -> Any:
    return function(**given) if isinstance(given, dict) else function(*_positional(given))
