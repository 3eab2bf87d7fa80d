"""Values that the code itself shows to be on the host."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from transferlint.flow.lattice.values import ANYWHERE, GIVEN, HOST, HOST_VALUE

LookUp = Callable[..., Any]


def test_what_is_made_an_array_is_on_the_host_before_and_after(look: LookUp) -> None:
    found = look("""
        def log(worker, batch):
            rewards = worker.score(batch)
            before = rewards.mean()
            print(rewards.numpy())
            after = rewards * 2
    """)
    assert found.places("rewards.mean()") == HOST
    assert found.places("rewards * 2") == HOST


def test_another_value_of_the_same_variable_is_not(look: LookUp) -> None:
    found = look("""
        def log(worker, x):
            x = x.cuda()
            y = x + 1
            x = worker.fetch()
            print(x.numpy())
            return y.sum()
    """)
    assert found.value("y.sum()").on_device


def test_an_argument_that_is_made_an_array_is_on_the_host(look: LookUp) -> None:
    found = look("""
        import torch

        def log(baseline: torch.Tensor, scores: torch.Tensor):
            print(baseline.detach().numpy())
            return baseline.mean(), scores.mean()
    """)
    assert found.places("baseline.mean()") == HOST
    assert found.places("scores.mean()") == GIVEN


def test_so_is_an_item_that_is_made_an_array(look: LookUp) -> None:
    found = look("""
        def log(worker):
            batch = worker.fetch()
            first = batch["length"].sum()
            print(batch["length"].numpy())
            return batch["ids"].sum()

        def other(worker):
            batch = worker.fetch()
            before = batch["length"].max()
            batch["length"] = worker.fetch()
            print(batch["length"].numpy())
    """)
    assert found.places('batch["length"].sum()') == HOST
    assert found.places('batch["ids"].sum()') == ANYWHERE
    assert found.places('batch["length"].max()') == ANYWHERE


@pytest.mark.parametrize(
    "text",
    [
        "if use_cuda:\n        a = x.cpu()\n    else:\n        a = x.numpy()",
        "a = x.cpu().numpy()",
        "a = x.numpy() if x.device.type == 'cpu' else None",
        "a = x.numpy(force=True)",
        "try:\n        a = x.cuda()\n    except TypeError:\n        a = x.numpy()",
    ],
)
def test_code_for_both_shows_nothing(look: LookUp, text: str) -> None:
    found = look(f"import torch\n\ndef f(x: torch.Tensor, use_cuda):\n    {text}\n    return x.sum()\n")
    assert found.places("x.sum()") == GIVEN


def test_in_a_function_that_works_on_the_host_use_as_a_tensor_says_nothing_of_the_device(look: LookUp) -> None:
    found = look("""
        def drive(workers, table):
            rewards = workers.score(table)
            ids = workers.ids(table)
            print(rewards.numpy())
            if ids.unsqueeze(0).any():
                return scale(ids)
            held = table["x"].cuda()
            return held.relu()

        def scale(batch):
            mask = batch["ids"]
            return mask.unsqueeze(0)
    """)
    assert found.places("ids.unsqueeze(0)") == HOST | ANYWHERE
    assert found.value("held.relu()").on_device
    assert not found.value("mask.unsqueeze(0)").on_device


def test_elsewhere_it_does(look: LookUp) -> None:
    found = look("""
        def drive(workers, table):
            rewards = workers.score(table)
            ids = workers.ids(table)
            print(rewards.cpu().numpy())
            return ids.unsqueeze(0)
    """)
    assert found.places("ids.unsqueeze(0)") == GIVEN


def test_a_container_is_brought_to_the_host_in_place(look: LookUp) -> None:
    found = look("""
        import torch

        def drive(workers, state):
            batch = workers.fetch(state.cuda())
            early = batch["first"]
            batch.to("cpu")
            late = batch["second"]
            return judge(batch)

        def judge(batch):
            mask = batch["token_mask"]
            return mask.unsqueeze(0)
    """)
    assert found.value('batch["first"]').on_device
    assert found.places('batch["second"]') == HOST
    assert found.places("mask.unsqueeze(0)") == HOST


def test_a_tensor_is_not(look: LookUp) -> None:
    found = look("""
        import torch

        def f(x):
            x = torch.relu(x.cuda())
            x.to("cpu")
            return x.sum()
    """)
    assert found.value("x.sum()").on_device


def test_what_is_added_in_place_stays_where_it_is(look: LookUp) -> None:
    found = look("""
        import torch

        def step(batches, device):
            count = torch.tensor(0)
            loss = 0.0
            for batch in batches:
                labels = batch["labels"].cuda()
                count += (labels != 0).sum()
                loss += labels.sum()
            return count, loss
    """)
    assert found.places("count") == HOST
    assert found.value("loss").on_device


def test_lengths_of_what_was_packed_are_on_the_host(look: LookUp) -> None:
    found = look("""
        from torch.nn.utils.rnn import pad_packed_sequence

        def f(packed):
            outputs, lengths = pad_packed_sequence(packed.cuda())
            return outputs, lengths
    """)
    assert found.value("outputs").on_device
    assert found.places("lengths") == HOST


@pytest.mark.parametrize(
    "test",
    [
        'x.device == torch.device("cpu")', 'x.device.type == "cpu"', "not x.is_cuda", "x.is_cpu",
        'x.device.type != "cuda"', 'x.ndim and x.device.type == "cpu"',
    ],
)  # fmt: skip
def test_an_arm_for_the_host_sees_it_there(look: LookUp, test: str) -> None:
    found = look(f"""
        import torch

        def f(x: torch.Tensor):
            if {test}:
                here = x * 2
            else:
                there = x * 3
            return x * 4
    """)
    assert found.places("x * 2") == HOST
    assert found.places("x * 3") == GIVEN
    assert found.places("x * 4") == GIVEN


def test_in_an_arm_for_one_type_of_python_it_is_such_a_number(look: LookUp) -> None:
    found = look("""
        def f(ids, scores):
            for one in ids.cuda():
                if type(one) == int and one != scores:
                    a = one
                elif type(one) is not float:
                    b = one
                else:
                    c = one
    """)
    function, _ = found.find("one != scores")
    assert found.value("one", 2).is_a(HOST_VALUE)
    assert not any(t.kind == "truth" for t in function.transfers)


def test_a_variable_that_is_bound_anew_is_no_tensor_for_what_was_done_before(look: LookUp) -> None:
    found = look("""
        import torch

        def f(self, phones, lengths):
            made = torch.zeros_like(phones)
            phones = self.undo(phones, lengths)
            for one in phones:
                torch.tensor([one])

        def g(self, phones, lengths):
            phones = self.undo(phones, lengths)
            made = torch.zeros_like(phones)
            return phones + 1
    """)
    assert not found.transfers("scalar-read")
    assert found.value("phones + 1").on_device


def test_what_a_sampler_draws_by_is_on_the_host(look: LookUp) -> None:
    found = look("""
        import torch

        class Graph:
            def sample_neighbors(self, seeds: torch.Tensor, fanouts: torch.Tensor):
                return self.draw(seeds * 2, fanouts * 2)
    """)
    assert found.places("fanouts * 2") == HOST
    assert found.places("seeds * 2") == GIVEN


def test_items_of_a_result_are_where_the_arguments_are(look: LookUp) -> None:
    found = look("""
        import torch

        def moments(x: torch.Tensor):
            return x.mean(), x.std()

        def host(rows):
            mean, std = moments(torch.tensor(rows))
            return mean

        def device(rows):
            far, std = moments(torch.tensor(rows).cuda())
            return far
    """)
    assert found.places("mean") == HOST
    assert found.value("far").on_device
