"""An unsafe fix is applied where it is a whole and small change of what runs in every step, and shown elsewhere."""

from __future__ import annotations

import pytest
from showing import module, offered

from transferlint.model import Safety

APPLIED, SHOWN = {Safety.UNSAFE}, {Safety.DISPLAY}


def safeties(code: str, body: str) -> set[Safety]:
    """How safe the fixes of a rule are in a body."""
    return {safety for safety, _, _ in offered(code, module(body))}


@pytest.mark.parametrize(
    ("body", "safety"),
    [
        ("y = torch.randn(n).to(self.device)\n", APPLIED),
        ("y = torch.randn(n).to(x)\n", APPLIED),  # the type and the place of a tensor
        ("y = torch.randn(n).cuda().half()\n", SHOWN),  # a line grows by more
        ("y = torch.randn(n)\ny = y.to(self.device)\n", SHOWN),  # a statement goes
    ],
    ids=["as long as before", "place and type", "longer", "a statement less"],
)
def test_a_line_stays_one_line_and_grows_hardly(body: str, safety: set[Safety]) -> None:
    assert safeties("TL401", body) == safety


@pytest.mark.parametrize(("longest", "safety"), [(120, SHOWN), (140, APPLIED)])
def test_no_line_becomes_longer_than_the_longest_of_its_file(longest: int, safety: set[Safety]) -> None:
    comment = "# so many of these are made that each is told apart by the noise it gets here, n at a time"
    body = f"{'#'.ljust(longest - 4, '-')}\n    y = torch.randn(n).cuda()  {comment}\n"
    text = f"import torch\n\n\ndef noise(n):\n    {body}    return y\n\n\nfor x in loader:\n    noise(3)\n"
    assert {one for one, _, _ in offered("TL401", text)} == safety


@pytest.mark.parametrize(("name", "safety"), [("forward", APPLIED), ("__init__", SHOWN)])
def test_what_a_constructor_makes_is_only_shown(name: str, safety: set[Safety]) -> None:
    text = f"import torch\n\n\nclass Mask:\n    def {name}(self, x: torch.Tensor, n):\n"
    text += "        self.mask = torch.randn(n).to(x.device)\n\n\n"
    text += f"for x in loader:\n    {'Mask(x.cuda(), 3)' if name == '__init__' else 'Mask().forward(x.cuda(), 3)'}\n"
    assert {one for one, _, _ in offered("TL401", text)} == safety


def test_what_runs_once_is_only_shown() -> None:
    text = "import torch\n\n\ndef noise(n):\n    y = torch.randn(n).to('cuda')\n    return y\n"
    assert {one for one, _, _ in offered("TL401", text)} == SHOWN
    assert {one for one, _, _ in offered("TL401", f"{text}\n\nfor _ in range(1000):\n    noise(3)\n")} == APPLIED


def test_what_is_only_shown_for_its_length_is_right() -> None:
    ((safety, _, made),) = offered(
        "TL401", module("y = torch.unsqueeze(torch.Tensor([29871]).long(), 0).to(x.device)\n")
    )
    assert "y = torch.unsqueeze(torch.full((1,), 29871, dtype=torch.long, device=x.device), 0)\n" in made
    assert safety is Safety.DISPLAY


def test_what_has_the_same_form_elsewhere_in_the_file_is_changed_too_or_nothing_is() -> None:
    text = module("y = torch.randn(n).to(x.device)\n")
    silent = "\n\ndef other(z, n):\n    return torch.randn(n).to(z.device)  # transferlint: ignore[TL401] as measured\n"
    assert {safety for safety, _, _ in offered("TL401", text)} == APPLIED
    assert {safety for safety, _, _ in offered("TL401", text + silent)} == SHOWN


def test_the_same_text_beyond_ascii_is_found() -> None:
    text = module('y = torch.randn(n).to(x.device), "ü"\n')
    silent = '\n\ndef other(z, n):\n    return "ü", torch.randn(n).to(z.device)  # transferlint: ignore[TL401] why\n'
    assert {safety for safety, _, _ in offered("TL401", text)} == APPLIED
    assert {safety for safety, _, _ in offered("TL401", text + silent)} == SHOWN


def test_a_shuffled_index_is_only_shown() -> None:
    assert safeties("TL305", "y = x.cuda()\ny = y[torch.randperm(n)]\n") == SHOWN
    assert safeties("TL305", "y = x.cuda()\ny = y[torch.arange(n), 0]\n") <= {Safety.SAFE, Safety.UNSAFE}
