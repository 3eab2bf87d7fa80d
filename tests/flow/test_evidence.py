"""What names, calls and annotations tell of a value, beyond the flow of the function itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from transferlint.flow.lattice.values import ANYWHERE, CONTAINER, GIVEN, HOST, OBJECT, TENSOR

LookUp = Callable[..., Any]


def test_what_is_handed_to_an_annotated_function_is_of_that_type(look: LookUp) -> None:
    found = look("""
        import torch

        def scale_by(layer, scales: torch.Tensor, names: list[str]):
            return layer.weight * scales

        def apply(layers, found, device):
            for layer, scales, names in found:
                scales.to(device)
                scale_by(layer, scales, names=names)
                (scales, names)
    """)
    assert found.value("scales").is_a(TENSOR)
    assert not found.value("names").kinds & TENSOR


@pytest.mark.parametrize(("test", "tensor"), [("x.dtype == torch.long", True), ("x.dtype == torch.float16", False)])
def test_only_a_tensor_is_asked_for_an_integer_type(look: LookUp, test: str, tensor: bool) -> None:
    found = look(f"""
        import torch

        def job(x):
            assert {test}
            return (x, 1)
    """)
    assert found.value("x").is_a(TENSOR) is tensor


@pytest.mark.parametrize(
    ("number", "tensor"),
    [("int(lengths[i])", True), ("int(lengths[i] * 0.5)", True), ("lengths[i]", False), ("int(lengths)", False)],
)
def test_lengths_of_which_numbers_are_made_one_by_one(look: LookUp, number: str, tensor: bool) -> None:
    found = look(f"""
        import torch

        class Mask(torch.nn.Module):
            def forward(self, x, lengths):
                for i in range(x.shape[0]):
                    x[i, : {number}] = 0
                return (lengths, x)
    """)
    assert found.value("lengths").is_a(TENSOR) is tensor


def test_a_parameter_of_which_a_tensor_is_made_need_not_be_one(look: LookUp) -> None:
    found = look("""
        import torch

        def align(labels, scores):
            labels = torch.tensor(labels).long()
            scores = scores.float()
            return labels.view(-1), scores.view(-1)
    """)
    assert not found.value("labels", 0).kinds & TENSOR
    assert found.places("torch.tensor(labels).long()") == HOST
    assert found.value("scores", 0).is_a(TENSOR)


@pytest.mark.parametrize(("hook", "given"), [("return batch", False), ("return batch.to(device)", True)])
def test_a_module_that_tells_its_trainer_to_leave_batches_alone(look: LookUp, hook: str, given: bool) -> None:
    found = look(f"""
        import lightning

        class Net(lightning.LightningModule):
            def transfer_batch_to_device(self, batch, device, dataloader_idx):
                {hook}

            def training_step(self, batch, batch_idx):
                x = batch["x"]
                return (x, 1)
    """)
    assert found.value("x").on_device is given


def test_sizes_in_tuples_say_nothing_of_the_place(look: LookUp) -> None:
    found = look("""
        import torch
        import torch.nn.functional as F

        class Pad(torch.nn.Module):
            def forward(self, n: torch.Tensor, x: torch.Tensor):
                index = torch.arange(8)
                return F.pad(index, (0, n), "constant", -1), torch.cat((x, x))
    """)
    assert found.places('F.pad(index, (0, n), "constant", -1)') == HOST
    assert found.value("torch.cat((x, x))").on_device


def test_the_parts_of_an_annotated_tuple_are_kept_apart(look: LookUp) -> None:
    found = look("""
        import torch
        from typing import List, Tuple

        def pad(specs: List[Tuple[torch.Tensor, int]], pair: Tuple[torch.Tensor, str]):
            for tensor, dim in specs:
                (tensor, dim)
            first, second = pair
            (first, second)
    """)
    for name in ("tensor", "first"):
        assert found.value(name).is_a(TENSOR)
    for name in ("dim", "second"):
        assert not found.value(name).kinds & TENSOR


def test_a_number_says_nothing_of_where_the_result_is(look: LookUp) -> None:
    found = look("""
        import torch

        def above(x: torch.Tensor, limit: float):
            return x * limit

        def job(config):
            return above(torch.rand(3), config.get("limit"))
    """)
    assert found.places('above(torch.rand(3), config.get("limit"))') == HOST


def test_attributes_that_methods_annotate(look: LookUp) -> None:
    found = look("""
        from typing import List

        class Token:
            pass

        class Sentence:
            def __init__(self):
                self.tokens: List[Token] = []

            def add(self, token):
                self.tokens.append(token)

        def job(sentence: Sentence):
            for token in sentence.tokens:
                (token, 1)
    """)
    assert found.value("sentence.tokens").is_a(CONTAINER)
    assert found.value("token").kinds == OBJECT


@pytest.mark.parametrize("body", ["return iter(self.items)", "yield from self.items", "for x in self.items: yield x"])
def test_what_an_object_gives_when_one_goes_over_it(look: LookUp, body: str) -> None:
    found = look(f"""
        import torch

        class Batches:
            def __init__(self, n):
                self.items = [torch.zeros(n, device="cuda")]

            def __iter__(self):
                {body}

        def job(batches: Batches):
            for batch in batches:
                (batch, 1)
    """)
    assert found.value("batch").is_a(TENSOR)
    assert found.value("batch").on_device


def test_what_is_not_known_of_an_object_is_not_guessed(look: LookUp) -> None:
    found = look("""
        class Batches:
            def __iter__(self):
                return open_them(self)

        def job(batches: Batches):
            for batch in batches:
                (batch, 1)
    """)
    assert found.value("batch").places in (ANYWHERE, GIVEN | ANYWHERE)
