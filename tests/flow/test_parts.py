"""Modules that others are made with, what their `forward` gives, and methods that are kept in tables."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from transferlint.flow.lattice.values import ANYWHERE, CONTAINER, DEVICE, GIVEN, HOST, HOST_VALUE, MODULE, TENSOR

LookUp = Callable[..., Any]
MATCHER = """
    import torch
    from torch import nn

    class Matcher(nn.Module):
        def forward(self, scores, boxes):
            cost = (scores - boxes).cpu().numpy()
            return [(torch.as_tensor(cost[0]), torch.as_tensor(cost[1]))]

    class Loss(nn.Module):
        def __init__(self, matcher):
            super().__init__()
            self.matcher = matcher

        def forward(self, scores, boxes):
            found = self.matcher(scores, boxes)
            return self.total({method}(scores, found))

        def labels(self, scores, pairs):
            first = torch.cat([one for one, _ in pairs])
            scores[first]
            return scores.sum()

        def total(self, loss):
            return loss * 2

    def main(loader):
        loss = Loss({given})
        for scores, boxes in loader:
            loss(scores.cuda(), boxes.cuda())
"""


@pytest.mark.parametrize("method", ["self.labels", "{{'labels': self.labels}}['labels']", "(self.labels,)[0]"])
def test_what_a_part_copies_to_the_host_is_there_in_the_methods_that_it_is_handed_to(look: LookUp, method: str) -> None:
    found = look(MATCHER.format(given="Matcher()", method=method.format()))
    assert found.value("self.matcher").is_a(MODULE)
    pairs = found.value("self.matcher(scores, boxes)")
    assert pairs.is_a(CONTAINER)
    assert pairs.on_host
    assert found.value("torch.cat([one for one, _ in pairs])").on_host
    function, at = found.find("scores[first]")
    assert [t.kind for t in function.transfers if t.register == at] == ["host-index"]


def test_of_parts_of_several_classes_nothing_is_known(look: LookUp) -> None:
    text = MATCHER.format(given="Matcher()", method="self.labels")
    found = look(f"{text}\n    def other():\n        Loss(nn.Linear(3, 3))\n")
    assert not found.value("self.matcher(scores, boxes)").on_host


@pytest.mark.parametrize(
    ("returned", "places"),
    [
        ("x.cpu()", HOST),
        ("torch.zeros(3)", HOST),
        ("x.detach().cpu().numpy()", HOST),
        ("self.layer(x)", DEVICE),
        ("x * 2", DEVICE),
        ("torch.zeros_like(x)", DEVICE),
        ("x if x.shape[0] else x.cpu()", DEVICE),
        ("make(x)", DEVICE),
    ],
)
def test_what_forward_makes_on_the_host_is_there_whatever_the_module_is_given(
    look: LookUp, returned: str, places: int
) -> None:
    found = look(f"""
        import torch
        from given import make
        from torch import nn

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = nn.Linear(3, 3)

            def forward(self, x):
                return {returned}

            def pair(self, x):
                return x

        net = Net().cuda()
        y = net(torch.ones(3, device="cuda"))
        y
    """)
    assert found.places("y") == places


def test_a_number_that_forward_gives_is_one(look: LookUp) -> None:
    found = look("""
        import torch
        from torch import nn

        class Net(nn.Module):
            def forward(self, x):
                return x.sum().item()

        y = Net().cuda()(torch.ones(3, device="cuda"))
        y
    """)
    assert found.value("y").is_a(HOST_VALUE)
    assert found.value("y").on_host


def test_the_class_of_a_model_is_told_by_who_trains_it(look: LookUp) -> None:
    found = look("""
        import torch
        from torch import nn

        class Net(nn.Module):
            def forward(self, x):
                return {"loss": x.sum(), "name": "net"}

        def train(model, loader):
            for x in loader:
                out = model(x.cuda())
                loss = out["loss"]
                name = out["name"]
                for key in out:
                    key
                (loss, name)

        train(Net().cuda(), [])
    """)
    assert found.value("loss").is_a(TENSOR)
    assert found.value("loss").on_device
    assert found.value("name").is_a(HOST_VALUE)
    assert found.value("key").is_a(HOST_VALUE)


def test_a_module_that_a_caller_made_on_the_host_may_be_moved_by_others(look: LookUp) -> None:
    found = look("""
        import torch
        from torch import nn

        class Net(nn.Module):
            def forward(self, x):
                return x * 2

        def train(part):
            part

        train(Net())
    """)
    assert found.value("part").is_a(MODULE)
    assert found.places("part") == ANYWHERE


@pytest.mark.parametrize("called", ["Net.both(net, x)", "kept(x)", "net.both(x)", "{1: net.both}[1](x)"])
def test_a_method_takes_its_object_first_or_was_kept_with_it(look: LookUp, called: str) -> None:
    found = look(f"""
        import torch

        class Net:
            def both(self, t):
                t
                return t

        x = torch.ones(3, device="cuda")
        net = Net()
        kept = net.both
        y = {called}
        y
    """)
    assert found.places("t", 0) == DEVICE
    assert found.places("y") == DEVICE


def test_what_a_convention_names_is_where_all_its_callers_say(look: LookUp) -> None:
    text = """
        import torch
        from torch import nn

        class Net(nn.Module):
            def forward(self, x: torch.Tensor):
                return self.NAME(x, [torch.zeros(3), torch.ones(3)])

            def NAME(self, x, pairs):
                pairs
                return x
    """
    assert look(text.replace("NAME", "get_loss")).places("pairs") == HOST
    assert look(text.replace("NAME", "training_step")).places("pairs") == GIVEN
