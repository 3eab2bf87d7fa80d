"""Fixes of the rules of wasteful and repeated transfers: safe ones are run, unsafe ones say what they make."""

from __future__ import annotations

import importlib.util
import textwrap

import pytest
from showing import offered

from proving import all_rules, check_bytes, execute, fix, same
from transferlint.fixes.rounds import apply_edits
from transferlint.model import Safety

RULES = {rule.code: rule for rule in all_rules()}
HAS_TORCH = importlib.util.find_spec("torch") is not None
HEAD = """\
import numpy as np
import torch
import torch.nn.functional as F
device = torch.device("cuda")
x = torch.arange(6.0, device=device).reshape(2, 3)
host = torch.from_numpy(np.asarray(range(6)).reshape(2, 3))
bytes_ = torch.from_numpy(np.asarray(range(6)).astype(np.uint8))
"""
MADE = "t = torch.from_numpy(np.asarray([0.0, 1.0, 2.0]))"


def findings(code: str, text: str) -> list[Safety | None]:
    found = check_bytes("example.py", text.encode(), [RULES[code]])
    return [f.fix.safety if f.fix is not None else None for f in found]


def shown(code: str, text: str) -> str:
    """The text with the edits of the only finding, which are not applied."""
    (found,) = check_bytes("example.py", text.encode(), [RULES[code]])
    assert found.fix is not None
    assert found.fix.safety is Safety.DISPLAY
    return apply_edits(text, found.fix.edits)


def safely_fixed(code: str, text: str) -> str:
    """The text after safe fixes alone, shown to run as before on the CPU."""
    made = fix(text, RULES[code], unsafe=False)
    assert made.refused == ()
    if HAS_TORCH and made.text != text:
        before, after = execute(text), execute(made.text)
        assert before.error is None
        assert type(before.error) is type(after.error), after.error
        assert before.printed == after.printed
        for name, value in before.values.items():
            assert same(value, after.values[name]), name
    return made.text


def loop(body: str) -> str:
    return HEAD + "for step in range(10):\n" + textwrap.indent(textwrap.dedent(body), "    ")


def step(body: str) -> str:
    """A function that is called for every step, so that its variables are its own."""
    head = HEAD + "def work(kept):\n" + textwrap.indent(textwrap.dedent(body), "    ")
    return head + "    return kept\nout = [work(torch.zeros(3)) for _ in range(10)]\n"


# TL405: sizes are asked of the tensor, parts are taken first


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("len(x.cpu())", "len(x)"),
        ("len(x.tolist())", "len(x)"),
        ("x.detach().cpu().shape[0]", "x.detach().shape[0]"),
        ("x.cpu().numel()", "x.numel()"),
        ('x.to("cpu").size(1)', "x.size(1)"),
        ("(x + 1).cpu().dim()", "(x + 1).dim()"),
        ("x.cpu().numpy().ndim", "x.cpu().numpy().ndim"),
    ],
)
def test_sizes_are_asked_of_the_tensor(old: str, new: str) -> None:
    text = loop(f"kept = {old}\n")
    assert safely_fixed("TL405", text) == text.replace(old, new)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("x.cpu().sum()", "x.sum().cpu()"),
        ("x.detach().cpu().numpy().max()", "x.detach().max().item()"),
        ("x.cpu().numpy().argmax(axis=1)", "x.argmax(axis=1).cpu().numpy()"),
        ("torch.norm(x.cpu())", "torch.norm(x).cpu()"),
        ("(x > 2).cpu().numpy().mean()", "(x > 2).float().mean().item()"),
        ("x.cpu()[-1]", "x[-1].cpu()"),
        ("x.tolist()[1]", "x[1].tolist()"),
        ("x.cpu().numpy().shape", "x.shape"),
        ("(x\n .cpu()\n .sum())", "(x\n .sum()\n .cpu())"),
    ],
)
def test_parts_are_taken_first(old: str, new: str) -> None:
    text = loop(f"kept = torch.as_tensor({old})\n")
    ((safety, _, made),) = offered("TL405", text)
    assert safety is Safety.DISPLAY
    assert made.split() == loop(f"kept = torch.as_tensor({new})\n").split()
    if HAS_TORCH:
        before, after = execute(text), execute(made)
        assert before.error is None
        assert after.error is None
        assert before.values["kept"].allclose(after.values["kept"].to(before.values["kept"].dtype))


@pytest.mark.parametrize(
    "old",
    [
        "x.cpu().numpy().std()",  # another divisor
        "x.cpu().numpy().max(axis=1)",  # values and indices
        "x.cpu().max(1)",
        "x.cpu()[step % 2]",
        "x.cpu(  # now\n    ).sum()",
        "x.cpu().numpy().size",
    ],
)
def test_what_would_mean_something_else_has_no_fix(old: str) -> None:
    text = loop(f"kept = {old}\n")
    assert set(findings("TL405", text)) <= {None} or "step" in old
    assert fix(text, RULES["TL405"], unsafe=False).text == text


# TL204: the first copy serves again


def test_a_copy_without_a_name_gets_one() -> None:
    text = step(f"{MADE}\nkept = kept + t.to(device)\nkept = kept * t.to(device)\n")
    assert findings("TL204", text) == [Safety.SAFE]
    fixed = safely_fixed("TL204", text)
    assert "    t_on_device = t.to(device)\n    kept = kept + t_on_device\n    kept = kept * t_on_device\n" in fixed


def test_a_copy_with_a_name_is_used_again() -> None:
    text = step(f"{MADE}\nthere = t.to(device)\nkept = kept + there * t.to(device)\n")
    assert findings("TL204", text) == [Safety.SAFE]
    assert "kept = kept + there * there\n" in safely_fixed("TL204", text)


@pytest.mark.parametrize(
    "body",
    [
        "there = t.to(device)\nthere += 1\nkept = kept + t.to(device)\n",  # the first copy is written to
        "kept = kept + t.to(device)\nother = t.to(device)\nother.mul_(2)\n",  # the second is
        "kept = kept + t.to(device)\nkept = t.to(device)\n",  # handed on
        "kept = kept + t.to(device)\nseen.append(t.to(device))\n",
        "there = t.to(device)\nseen.append(there)\nkept = kept + t.to(device)\n",
    ],
)
def test_copies_that_are_written_to_or_kept_are_not_joined_safely(body: str) -> None:
    text = step(f"seen = []\n{MADE}\n{body}")
    assert len(findings("TL204", text)) == 1
    assert safely_fixed("TL204", text) == text


@pytest.mark.parametrize("between", ["t = t + 1", "t += 1", "t[0] = 5", "t.copy_(kept)", "device = kept.device"])
def test_what_changes_in_between_is_uploaded_again(between: str) -> None:
    start = f"{MADE}\ndevice = torch.device('cuda')\nkept = kept + t.to(device)\n"
    assert findings("TL204", step(f"{start}{between}\nkept = kept * t.to(device)\n")) == []
    assert len(findings("TL204", step(f"{start}kept = kept * t.to(device)\n"))) == 1


# TL407: the needless move is left out


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("x.to(device).to(device)", "x.to(device)"),
        ("x.cuda().detach().cuda()", "x.cuda().detach()"),
        ("host.cpu().float().cpu()", "host.cpu().float()"),
        ("x.to(x.device)", "x"),
        ("torch.ones(3, device=device).to(device)", "torch.ones(3, device=device)"),
        ("(x\n .to(device)\n .to(device))", "x.to(device)"),
    ],
)
def test_a_move_to_the_same_place_is_left_out(old: str, new: str) -> None:
    text = loop(f"kept = {old}\n")
    assert findings("TL407", text) == [Safety.SAFE]
    assert safely_fixed("TL407", text) == loop(f"kept = {new}\n")


def test_a_statement_that_would_do_nothing_is_shown_to_go() -> None:
    body = "t = host.to(device)\nkept = kept + t.sum()\nt = t.to(device)  # again\nkept = kept * t.sum()\n"
    assert fix(step(body), RULES["TL407"], unsafe=True).text == step(body)  # not without its comment
    body = body.replace("  # again", "")
    assert shown("TL407", step(body)) == step(body.replace("t = t.to(device)\n", ""))
    assert fix(step(body), RULES["TL407"], unsafe=True).text == step(body)


@pytest.mark.parametrize(
    "old", ["x.to('cpu').to(device)", "x.to(device).to(torch.float16)", "x.to(device).to('cuda:1')"]
)
def test_moves_that_do_something_stay(old: str) -> None:
    assert Safety.SAFE not in findings("TL407", loop(f"kept = {old}\n"))


# TL106: read together


def test_reads_of_one_statement_become_one() -> None:
    text = loop("kept = (x.min().item(), float(x.max()), int(x.sum()))\n")
    made = shown("TL106", text)
    assert "    min_value, max_value, sum_value = torch.stack([x.min(), x.max(), x.sum()]).tolist()\n" in made
    assert "    kept = (min_value, float(max_value), int(sum_value))\n" in made
    if HAS_TORCH:
        assert execute(made).values["kept"] == execute(text).values["kept"]


def test_reads_of_statements_in_a_row_become_one() -> None:
    text = loop("a = x.min().item()\nb = x.max().item()\nc = x.sum().item()\n")
    made = shown("TL106", text)
    assert "    a = min_value\n    b = max_value\n    c = sum_value\n" in made
    if HAS_TORCH:
        before, after = execute(text).values, execute(made).values
        assert all(before[name] == after[name] for name in "abc")


def test_elements_of_one_tensor_are_read_with_it() -> None:
    text = loop("row = x[1]\na = int(row[0].item())\nb = bool(row[2].item())  # kept\nc = float(row[1])\n")
    made = shown("TL106", text)
    assert "    values = row.tolist()\n    a = int(values[0])\n    b = bool(values[2])  # kept\n" in made
    if HAS_TORCH:
        before, after = execute(text).values, execute(made).values
        assert all(before[name] == after[name] for name in "abc")


@pytest.mark.parametrize(
    "body",
    [
        "a = x.min().item()\nx = x + 1\nb = x.max().item()\nc = x.sum().item()\n",
        "a = x.min().item()\nx.add_(1)\nb = x.max().item()\nc = x.sum().item()\n",
        "a = x.min().item()\nprint(a)\nb = x.max().item()\nc = x.sum().item()\n",
        "a = (x.min().item(), x.max().item(),  # two\n     x.sum(  # three\n     ).item())\n",
    ],
)
def test_reads_with_something_between_have_no_fix(body: str) -> None:
    assert set(findings("TL106", loop(body))) == {None}
