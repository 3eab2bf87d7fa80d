"""What fixes make of programs, shown by running both on the simulated accelerator: values, what is printed, what is
written to arguments and weights, gradients, errors and random numbers are the same, and no more is transferred.

The programs are the examples of all rules, their fixtures, and those below, in which data is shared. Their functions
are called with arguments that are made up (`driving.py`), the same before and after. Safe fixes must leave the same
bit for bit, unsafe ones the same numbers, or their rule's page says what differs.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import textwrap
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from simulated import outcome

from proving import all_rules, beside, check_bytes, default_rules, fix, without_marks
from transferlint.fixes.rounds import fix_text
from transferlint.model import Finding
from transferlint.rule import Rule

FIXTURES = Path(__file__).parents[1] / "fixtures"
TRIES = 18  # recipes with which a function is tried
ENOUGH = 2  # of those with which it runs

# Rules whose unsafe fixes are meant to change what is computed, with the words of their pages that say so.
CHANGES = {"TL501": "makes the program do what it says, which is not what it did before"}


@dataclasses.dataclass(frozen=True)
class Pair:
    """A program before and after the fixes of a rule, safe ones alone or all."""

    name: str
    code: str
    safe: bool
    before: str
    after: str


def pairs(name: str, text: str, rule: Rule) -> Iterator[Pair]:
    """What the fixes of one rule make of a program, where they change it."""
    safe = fix(text, rule, unsafe=False).text
    both = fix(text, rule, unsafe=True).text
    if safe != text:
        yield Pair(name, rule.code, True, text, safe)
    if both != safe:
        yield Pair(name, rule.code, False, safe, both)


def of_examples() -> Iterator[Pair]:
    for rule in all_rules():
        for number, example in enumerate(rule.all_examples(), start=1):
            if example.fixed:
                yield from pairs(f"{rule.code} example {number}", without_marks(example.bad), rule)


def of_fixtures(part: int) -> Iterator[Pair]:
    for rule in all_rules()[part::2]:
        if rule.fix_safety is not None and rule.code != "TL001":
            for path in sorted(FIXTURES.glob(f"{rule.code}/fires_*.py")):
                text = without_marks(path.read_text(encoding="utf-8"))
                if any(one.fix for one in check_bytes("a.py", text.encode(), beside(rule)) if one.code == rule.code):
                    yield from pairs(f"{rule.code}/{path.stem}", text, rule)


def compared(found: Iterable[Pair], tmp_path: Path) -> list[dict[str, Any]]:
    """Run all, in one process with the simulated device."""
    path = tmp_path / "pairs.json"
    path.write_text(json.dumps([dataclasses.asdict(pair) for pair in found]))
    answer: list[dict[str, Any]] = outcome(__file__, "compare_all", True, listed=str(path))
    return answer


def compare_all(listed: str) -> list[dict[str, Any]]:
    """In the process with the device: each pair with how often it ran, its transfers and waits before and after, and
    what was wrong."""
    import driving
    from listening import told

    driving.stand_in()
    with told() as kept:

        @contextlib.contextmanager
        def count() -> Iterator[driving.Crossings]:
            counted = driving.Crossings(kept.events)
            try:
                yield counted
            finally:
                counted.stop()

        return [_compared(Pair(**pair), count) for pair in json.loads(Path(listed).read_text())]


def _compared(pair: Pair, count: Any) -> dict[str, Any]:
    import driving

    ran, before, after, loaded = 0, 0, 0, False
    wrong: list[str] = []
    for target in ("", *driving.targets(pair.before, pair.after)):
        runs = 0
        for recipe in driving.recipes()[: TRIES if target else 1]:
            old = driving.call(pair.before, target, recipe, count)
            if old.error:
                continue
            new = driving.call(pair.after, target, recipe, count)
            runs += 1
            before, after = before + old.crossings, after + new.crossings
            where = f"{target or 'the program'} with {recipe}"
            if new.error:
                wrong.append(f"{where}: {new.error}")
            elif not driving.alike(old.data, new.data, pair.safe):
                wrong.append(f"{where}: leaves something else: {driving.difference(old.data, new.data)}")
            elif new.crossings > old.crossings:
                wrong.append(f"{where}: crosses or waits {new.crossings} times, {old.crossings} before")
            if runs == ENOUGH:
                break
        ran += runs if target else 0
        loaded |= not target and runs > 0
    counts = {"ran": ran, "loaded": loaded, "before": before, "after": after}
    return {"name": pair.name, "safe": pair.safe, **counts, "wrong": wrong}


def faults(answers: Iterable[dict[str, Any]]) -> list[str]:
    return [
        f"{one['name']} ({'safe' if one['safe'] else 'unsafe'}): {line}"
        for one in answers
        for line in one["wrong"]
        if one["safe"] or one["name"][:5] not in CHANGES
    ]


def fewer(answers: Iterable[dict[str, Any]]) -> tuple[int, int]:
    """How many programs ran, and how many of them cross or wait less than before."""
    ran = [one for one in answers if one["ran"] or (one["loaded"] and one["before"])]
    return len(ran), sum(one["after"] < one["before"] for one in ran)


def test_examples_compute_the_same_and_cross_less(tmp_path: Path) -> None:
    answers = compared(of_examples(), tmp_path)
    assert faults(answers) == []
    ran, less = fewer(answers)
    assert ran >= 17
    assert less >= 11


@pytest.mark.parametrize("part", range(2))
def test_fixtures_compute_the_same_and_cross_less(tmp_path: Path, part: int) -> None:
    answers = compared(of_fixtures(part), tmp_path)
    assert faults(answers) == []
    ran, less = fewer(answers)
    assert ran >= 10
    assert less >= 5


@pytest.mark.parametrize("code", CHANGES)
def test_what_a_fix_means_to_change_stands_on_its_page(code: str) -> None:
    (rule,) = (rule for rule in all_rules() if rule.code == code)
    assert CHANGES[code] in " ".join(rule.doc.partition("Fix safety")[2].split())


# Data that is shared, or written after it was copied: a fix that reuses, hoists or leaves on the device must see it.
# Each is a loop over `step` in a function that hot code calls; `x` and `kept` are on the device, `t` on the host.

SHARED = {
    "the source is written after the loop": ("kept = kept + t.to(device)", "t.add_(1)\nkept = kept + t.to(device)"),
    "the source is written through an array": ("a[0] += 1\nkept = kept + t.to(device)", ""),
    "the source is written by who shares it": ("view[0] = step\nkept = kept + t.to(device)", ""),
    "the copy is written": ("y = t.to(device)\ny.add_(step)\nkept = kept + y", ""),
    "the copy is written through a view": ("y = t.to(device).view(-1)\ny[0] = step\nkept = kept + y", ""),
    "the copy is kept and written later": ("outs.append(t.to(device))", "outs[0].add_(1)"),
    "a download is written": ("y = x.cpu()\ny.add_(1)\nouts.append(y)\nx = x * 2", ""),
    "an array is written": ("y = x.cpu().numpy()\ny[0] = step\nouts.append(y.sum())\nx = x + 1", ""),
    "what was collected is written next": ("outs.append(x.cpu())\nx.add_(1)", "result = torch.stack(outs)"),
    "an array of what is written next": (
        "outs.append(x.detach().cpu().numpy())\nx.mul_(2)",
        "result = np.concatenate(outs)",
    ),
    "a number of what is written next": ("outs.append(x.sum().item())\nx.mul_(2)", ""),
    "a number of a buffer": ("s.copy_(x.sum())\nouts.append(s.item())\ns.zero_()\nx = x + 1", ""),
    "a sum of a buffer": ("s.copy_(x.sum())\ntotal += s.item()\ns.zero_()\nx = x + 1", ""),
    "a sum that is read in the loop": ("total += x.sum().item()\nif total > 9:\n    x = x * 0", ""),
    "a sum of integers": ("count += (x > 0).sum().item()\nx = x - 1", "result = count / 2"),
    "a round trip that is written": (
        "y = torch.from_numpy(x.cpu().numpy()).to(device)\ny.add_(1)\nkept = kept + x",
        "",
    ),
    "a round trip of a number": ("y = torch.tensor(x.sum().item(), device=device)\ny.add_(1)\nkept = kept + y", ""),
    "two uploads, one written": ("p = t.to(device)\np.add_(1)\nq = t.to(device)\nkept = kept + p * q", ""),
    "two uploads, written between": ("p = t.to(device)\nt.add_(1)\nq = t.to(device)\nkept = kept + p * q", ""),
    "two uploads that are read": ("t = t + 1\np = t.to(device)\nkept = kept + p\nkept = kept * t.to(device)", ""),
    "a needless move": ("y = x.to(device)\ny.add_(1)\nkept = kept + x", ""),
    "a needless copy": ("y = x.cpu().cpu()\ny.add_(1)\nkept = kept + x", ""),
    "a part of a download": ("row = x.cpu()[0]\nrow.add_(1)\nouts.append(row)\nx = x + 1", ""),
    "a reduction of a download": ("outs.append(x.cpu().sum())\nx.add_(1)", ""),
    "a created tensor that is written": ("y = torch.zeros(3).to(device)\ny.add_(step)\nkept = kept + y", ""),
    "random numbers": ("y = torch.rand(3).to(device)\nkept = kept + y * torch.rand(3).to(device)", ""),
    "a constant that is written": ("w = torch.tensor([1.5, 2.5, 3.5], device=device)\nw += x\nkept = kept + w", ""),
    "a constant that is kept": ("outs.append(torch.tensor(2.0, device=device))", "outs[0].add_(1)"),
    "an index that copies": ("y = x[[0, 1]]\ny.add_(1)\nkept = kept + x", ""),
    "an index list that copies": ("y = x[[2, 0]]\ny.zero_()\nkept = kept + x", ""),
    "a mask that copies": ("y = x[x > 0]\ny.add_(1)\nkept = kept + x.sum()", ""),
    "a mask that is summed": ("kept = kept + x[x > 0].sum()\nx = x - 1", ""),
    "a mask that is written": ("x[x > step] = 0\nkept = kept + x", ""),
    "elements of what the loop writes": ("for i in range(3):\n    total += x[i].item()\n    x[i] = 0", ""),
    "elements of what a view writes": ("v = x[1:]\nfor i in range(3):\n    total += x[i].item()\n    v.add_(1)", ""),
    "elements that are read": ("for i in range(3):\n    total += x[i].item() * 2\nx = x + 1", ""),
    "numbers that are written between": (
        "p = x.sum().item()\nx.add_(1)\nq = x.sum().item()\nr = x.max().item()",
        "outs += [p, q, r]",
    ),
    "numbers side by side": ("outs += [x.sum().item(), x.max().item(), x.min().item()]\nx = x + 1", ""),
    "a larger type before the move": ("y = half.float().to(device)\ny.add_(1)\nkept = kept + y\nhalf.add_(1)", ""),
    "a truth": ("if x.sum() > 3:\n    x = x * 0\nkept = kept + x", ""),
    "a repeated upload after a write": (
        "ids = torch.from_numpy(a)\np = ids.to(device)\na += 1\nkept = kept + p * ids.to(device)",
        "",
    ),
    "gradients": ("y = w * t.to(device)\ny.sum().backward()\ntotal += y.sum().item()", "result = w.grad"),
    "a read without gradients": (
        "outs.append((w * x).sum())\ntotal += outs[-1].item()",
        "result = outs[0].requires_grad",
    ),
}
HEAD = """\
import numpy as np
import torch


def work(loader, device):
    x = torch.ones(3, device=device)
    kept = torch.zeros(3, device=device)
    w = torch.ones(3, device=device, requires_grad=True)
    s = torch.zeros((), device=device)
    a = np.ones(3, dtype=np.float32)
    t = torch.from_numpy(a)
    half = torch.ones(3, dtype=torch.float16)
    view = t[0:1]
    total = 0.0
    count = 0
    outs = []
    result = None
    for step in loader:
"""


def sharing(name: str) -> str:
    """The whole program of an entry of SHARED."""
    inside, after = SHARED[name]
    text = HEAD + textwrap.indent(inside, "        ") + "\n" + textwrap.indent(after, "    ")
    end = "    return x, kept, t, outs, total, count, result\n\n\nanswer = work(range(5), torch.device('cuda'))\n"
    return f"{text.rstrip()}\n{end}"


def of_sharing() -> Iterator[Pair]:
    """Each program and what the fixes of all rules make of it together."""
    for name in SHARED:
        text = sharing(name)

        def found(now: str) -> list[Finding]:
            return list(check_bytes("a.py", now.encode(), default_rules()))

        safe = fix_text("a.py", text, found, False)
        both = fix_text("a.py", text, found, True)
        assert (safe.refused, both.refused) == ((), ())
        yield Pair(name, "", True, text, safe.text)
        yield Pair(name, "", False, text, both.text)


def test_what_is_shared_or_written_is_seen(tmp_path: Path) -> None:
    found = list(of_sharing())
    answers = compared(found, tmp_path)
    assert faults(answers) == []
    assert [one["name"] for one in answers if not one["loaded"]] == []
    assert sum(pair.before != pair.after for pair in found) >= 15
    assert sum(one["after"] < one["before"] for one in answers) >= 14
