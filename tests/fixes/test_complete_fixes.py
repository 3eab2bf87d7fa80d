"""An unsafe fix does the whole of what it speaks of, or is only shown: nothing needless is left behind it."""

from __future__ import annotations

import pytest
from showing import module, offered

from transferlint.fixes.stale_comments import without_stale_comments
from transferlint.model import Edit, Fix, Safety

ONLY_SHOWN = {Safety.DISPLAY}


def only(code: str, body: str, arguments: str = "x: torch.Tensor") -> tuple[Safety, str]:
    """How safe the one fix is, and the text it makes."""
    ((safety, _, made),) = offered(code, module(body, arguments))
    return safety, made


def safeties(code: str, body: str, arguments: str = "x: torch.Tensor") -> set[Safety]:
    """How safe the fixes of all findings are."""
    return {safety for safety, _, _ in offered(code, module(body, arguments))}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("y = torch.randn(3)\ny = y.to(x.device)\n", "y = torch.randn(3, device=x.device)\n"),
        ("y = torch.zeros(3)\ny[0] = 1\ny = y.to(x.device)\n", "y = torch.zeros(3, device=x.device)\ny[0] = 1\n"),
        ("y = torch.zeros(3)\ny = y[None].to(x.device)\n", "y = torch.zeros(3, device=x.device)\ny = y[None]\n"),
        ("y = (torch.ones(3) * n).to(x.device)\n", "y = torch.ones(3, device=x.device) * n\n"),
        ("y = x + (torch.ones(3) * n).to(x.device)\n", "y = x + (torch.ones(3, device=x.device) * n)\n"),
        ("y = (torch.ones(3) * n).to(x.device)[0]\n", "y = (torch.ones(3, device=x.device) * n)[0]\n"),
        ("y = x.add((torch.ones(3) * n).to(x.device))\n", "y = x.add(torch.ones(3, device=x.device) * n)\n"),
        ("y = torch.randn(3).view(3, 1).to(x.device)\n", "y = torch.randn(3, device=x.device).view(3, 1)\n"),
    ],
)
def test_a_move_and_parentheses_that_are_needless_then_go(before: str, after: str) -> None:
    safety, made = only("TL401", before)
    assert made == module(after)
    # where a statement goes, or the device computes what the host did
    assert safety is (Safety.DISPLAY if before.count("\n") > 1 or "*" in before else Safety.UNSAFE)


def test_a_moved_tensor_of_another_name_is_only_shown() -> None:
    assert only("TL401", "y = torch.randn(3)\nz = y.to(x.device)\n")[0] is Safety.DISPLAY


def test_one_of_two_neighbours_is_only_shown() -> None:
    one = "y = torch.randn(n).to(x.device)\n"
    assert only("TL401", one)[0] is Safety.UNSAFE
    assert only("TL401", f"{one}z = torch.ByteTensor(words).to(x.device)\n")[0] is Safety.DISPLAY


@pytest.mark.parametrize(
    ("body", "made"),
    [
        (
            "for i in range(n):\n    y = int(x[i])\n",
            "x_on_host = x.cpu()\nfor i in range(n):\n    y = int(x_on_host[i])\n",
        ),
        (
            "for i in range(n):\n    y = int(x[i])\n    z = x[i].shape\n",
            "x_on_host = x.cpu()\nfor i in range(n):\n    y = int(x_on_host[i])\n    z = x[i].shape\n",
        ),
        ("for e, f in zip(x, words):\n    y = e.item()\n", "for e, f in zip(x.cpu(), words):\n    y = e.item()\n"),
    ],
)
def test_a_copy_before_the_loop_serves_the_reads_of_the_loop(body: str, made: str) -> None:
    assert only("TL107", body) == (Safety.DISPLAY, module(made))


@pytest.mark.parametrize(
    ("body", "safety"),
    [
        ("y = torch.randn(3).to(x.device)  # noise\n", Safety.UNSAFE),
        ("y = torch.randn(3).to(x.device)  # on the GPU\n", Safety.DISPLAY),
        ("# drawn on the host\n# for the sake of the seed\ny = torch.randn(3).to(x.device)\n", Safety.DISPLAY),
        ("# drawn on the host\n\ny = torch.randn(3).to(x.device)\n", Safety.UNSAFE),
        ("z = n  # a list\ny = torch.randn(3).to(x.device)\n", Safety.UNSAFE),
        ("y = f(\n    torch.randn(3).to(x.device)\n)  # on the GPU\n", Safety.DISPLAY),
        ("y = f(\n    g(\n        torch.randn(3).to(x.device)\n    )\n)  # on the GPU\n", Safety.DISPLAY),
        ("y = f(\n    torch.randn(3).to(x.device)\n)\nz = n  # a list\n", Safety.UNSAFE),
    ],
)
def test_a_comment_that_speaks_of_what_is_changed_must_not_go_stale(body: str, safety: Safety) -> None:
    text = module(body)
    at = text.index(".to(x.device)")
    fix = Fix("make it on the device", Safety.UNSAFE, (Edit(at, at + len(".to(x.device)"), ""),))
    comments = [(i, text.index("\n", i)) for i, one in enumerate(text) if one == "#"]
    assert without_stale_comments(text, comments, fix).safety is safety
    assert only("TL401", body)[0] is safety


def test_a_number_that_may_do_by_itself_is_only_shown() -> None:
    line = "y = torch.tensor(float(n), device=x.device)\n"
    assert only("TL104", line)[0] is Safety.DISPLAY
    assert only("TL104", f"if n:\n    {line}")[0] is Safety.DISPLAY
    assert only("TL104", "y = torch.tensor([float(n)] * 2, device=x.device)\n")[0] is Safety.UNSAFE


def test_what_is_moved_under_a_condition_is_not_made_there() -> None:
    for made in ("ones(3)", "tensor([n, 1])"):
        body = f"y = torch.{made}\nif words:\n    y = y.to(x.device)\n"
        shown = [text for _, _, text in offered("TL401", module(body))]
        unasked = module(body.replace("x.device", "x.device, non_blocking=True"))
        assert shown == ([unasked] if "tensor" in made else [])


@pytest.mark.parametrize("data", ["float(n)", "-math.inf", "[n, 2]"])
def test_an_upload_of_the_same_data_that_takes_more_text_is_only_shown(data: str) -> None:
    assert only("TL401", f"y = torch.tensor({data}).to(x)\n")[0] is Safety.DISPLAY
    assert only("TL401", f"y = torch.tensor({data}).to(x.device)\n")[0] is Safety.SAFE


@pytest.mark.parametrize(
    ("made", "instead", "safety"),
    [
        ("torch.LongTensor(n, 4).fill_(0)", "torch.zeros(n, 4, dtype=torch.long, D)", Safety.UNSAFE),
        ("torch.FloatTensor(n, 4).zero_()", "torch.zeros(n, 4, dtype=torch.float, D)", Safety.UNSAFE),
        ("torch.empty(n, 4).fill_(1)", "torch.ones(n, 4, D)", Safety.UNSAFE),
        ("torch.empty((n, 4)).fill_(-1.5)", "torch.full((n, 4), -1.5, D)", Safety.UNSAFE),
        ("torch.LongTensor(n, 4).fill_(3)", "torch.full((n, 4), 3, dtype=torch.long, D)", Safety.UNSAFE),
        ("torch.empty(n, 4).fill_(7)", "torch.empty(n, 4, D).fill_(7)", Safety.DISPLAY),  # `full` of a whole number
        ("torch.empty(n).fill_(0.5)", "torch.empty(n, D).fill_(0.5)", Safety.DISPLAY),  # or is it a size?
        ("torch.ones(n, 4).view(-1, 2).fill_(0)", "torch.ones(n, 4, D).view(-1, 2).fill_(0)", Safety.DISPLAY),
    ],
)
def test_what_is_filled_at_once_is_made_full(made: str, instead: str, safety: Safety) -> None:
    wanted = instead.replace("D)", "device=x.device)")
    assert only("TL401", f"y = {made}.to(x.device)\n") == (safety, module(f"y = {wanted}\n"))


def test_the_like_that_stays_beside_it_leaves_it_shown() -> None:
    one = "y = torch.randn(n).to(x.device)\n"
    assert only("TL401", one)[0] is Safety.UNSAFE
    assert only("TL401", f"z = (torch.arange(n) % n == torch.arange(n)).to(x.device)\n{one}")[0] is Safety.DISPLAY
    assert only("TL401", f"z = torch.from_numpy(words).to(x.device)\n{one}")[0] is Safety.UNSAFE


def test_a_tensor_gets_its_type_from_another_at_once() -> None:
    made = only("TL401", "y = torch.rand(n, 3).to(x.device).type_as(x)\n")[1]
    assert made == module("y = torch.rand(n, 3, device=x.device, dtype=x.dtype)\n")
