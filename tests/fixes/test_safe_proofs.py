"""A safe fix needs proof of each thing it rests on. Every builder of safe fixes is tried on receivers and arguments of
every kind: what a fix changes leaves the same, with the same error, whatever the program is given.

The programs are made of an expression or some lines, and of where the value in it comes from. What comes from an
argument, an attribute, a call, may be anything, and is fed with everything (`feeding.py`); what is proven is fixed.
"""

from __future__ import annotations

import ast
import itertools
import json
import sys
import textwrap
from collections.abc import Iterable
from pathlib import Path

import pytest
from simulated import outcome

from proving import all_rules, check_bytes
from transferlint.fixes.rounds import fix_text
from transferlint.model import Finding, Safety

# Where a value comes from: what is written before it is used, and how it is spelled. `given`, `holder` (with `.y` and
# `.device`) and `get` are the arguments; nothing is known of them.
UNKNOWN = {
    "an argument": ("", "given"),
    "an attribute called device": ("", "holder.device"),
    "what is starred": ("kept = [given]\n", "*kept"),
}
ALIKE = {
    "what is called device": ("device = given\n", "device"),
    "an attribute of self": ("self.device = given\n", "self.device"),
    "what may be set by name": (
        'self.place = torch.device("cuda")\nsetattr(self, "place", given)\n',
        "self.place",
    ),
    "an item": ("kept = [given]\n", "kept[0]"),
    "a result": ("", "get()"),
    "one of two": ('y = given if holder else torch.device("cuda")\n', "y"),
    "another on one path": ('y = torch.ones(3, 2, device="cuda")\nif holder:\n    y = given\n', "y"),
    "rebound in a loop": ('y = torch.ones(3, 2, device="cuda")\nfor _ in range(2):\n    {use}\n    y = given\n', "y"),
    "of a loop": ("for y in [given]:\n    pass\n", "y"),
    "unpacked": ("y, _ = given, 1\n", "y"),
    "bound in the expression": ("", "(y := given)"),
    "bound by a function": ('y = torch.device("cuda")\ndef bind():\n    nonlocal y\n    y = given\nbind()\n', "y"),
    "of another scope": ("def inner(device: torch.device):\n    return device\ny = get()\n", "y"),
    "of a class": ('class Kept:\n    device = torch.device("cuda")\nKept.device = given\n', "Kept.device"),
}
# What is proven, and the rules that are tried on it.
PROVEN = {
    "a device": ('y = torch.device("cuda")\n', "y", "TL401 TL104 TL103 TL204 TL407"),
    "a tensor of the device": ('y = torch.ones(3, 2, device="cuda")\n', "y", "TL401 TL303 TL305 TL405 TL407"),
    "a tensor of the host": ("y = torch.ones(3, 2)\n", "y", "TL401 TL103 TL204 TL405"),
    "a sum": ('y = torch.ones(3, 2, device="cuda").sum()\n', "y", "TL401 TL104 TL201 TL303 TL407"),
    "the device of a tensor": ("", "here.device", "TL401 TL103 TL204"),
    "a dtype": ("", "torch.float16", "TL401 TL104"),
    "a number": ("", "2.5", "TL401 TL104"),
    "a length": ("", "len([1, 2])", "TL401 TL104"),
    "a large number": ("", "1e300", "TL401 TL104"),
    "what is not finite": ("", 'float("inf")', "TL401 TL104"),
    "what was taken as a device": ("y = given\nw = torch.zeros(2, device=y)\n", "y", "TL401 TL407"),
}
# The uses of a value, by the rules whose fixes they are for.
USES = {
    "TL401": [
        "torch.zeros(3).to({v})",
        "torch.zeros(3).to(device={v})",
        "torch.zeros(3).cuda({v})",
        "torch.zeros(3).to({v}, torch.float16)",
        'torch.ones(3).to("cuda", {v})',
        "torch.zeros_like({v}).cuda()",
        "torch.arange({v}).cuda()",
        "torch.arange(0, {v}, 1).cuda()",
        "torch.tensor({v}).cuda()",
        "torch.full((2,), {v}).cuda()",
        "torch.zeros({v}).cuda()",
        "torch.arange(3)[None].to({v})",
        "torch.tensor([2.5])[None].to({v}, torch.int32)",
        "torch.tensor({v}).long().cuda()",
        "torch.zeros(1, 3).expand(2, 3).cuda().is_contiguous()",
        "torch.zeros(4, 4)[:, :2].cuda().is_contiguous()",
        "torch.arange(6).view({v}).cuda()",
        "torch.zeros(3)[{v}].cuda()",
        "torch.zeros(3).to({v}).to({v})",
        "torch.zeros(3, requires_grad=True).to({v})",
    ],
    "TL104": [
        'torch.tensor({v}, device="cuda")',
        'torch.tensor([{v}], device="cuda")',
        'torch.tensor(float({v}), device="cuda")',
        'torch.tensor(int({v}), device="cuda")',
        'torch.tensor(-{v}, device="cuda")',
        'torch.tensor(len({v}), device="cuda")',
        "torch.tensor(1.5, device={v})",
        'torch.tensor(1, dtype={v}, device="cuda")',
    ],
    "TL103": ['{v}.to("cuda").sum()', "host.to({v}).sum()"],
    "TL204": ['{v}.to("cuda").sum() + {v}.to("cuda").max()', "other.to({v}).sum() + other.to({v}).max()"],
    "TL201": ["torch.tensor({v}.item(), dtype={v}.dtype, device={v}.device)"],
    "TL303": ['log.debug(f"{{{v}}}")', 'log.debug(f"{{here.sum()}} {{{v}}}")', 'log.debug(f"{{here[{v}]}}")'],
    "TL305": ["{v}[torch.arange(2)]", "{v}[torch.tensor([0, 1])]", "here[torch.zeros_like({v})]"],
    "TL405": ["len({v}.cpu())", "{v}.cpu().shape", "{v}.cpu().numel()", "here.to({v}).shape", "len({v}.tolist())"],
    "TL407": ["{v}.to({v}.device)", "{v}.cuda().cuda()", "{v}.cpu().cpu()", "torch.zeros(3, device={v}).to({v})"],
}
FIRST = {code: uses[:1] for code, uses in USES.items()}
HEAD = """\
import logging
import numpy as np
import torch
log = logging.getLogger("example")
"""
FRAME = """\
class {name}(torch.nn.Module):
    def run(self, given):
        return self.forward(torch.ones(3, 2).cuda(), **given)
    def forward(self, here: torch.Tensor, given, holder, get):
        out = []
        host = torch.ones(2)
{before}
        for step in range(3):
            other = torch.from_numpy(np.arange(3) + step)
{use}
        return out
"""


def program(cases: Iterable[tuple[str, str, str, list[str]]]) -> tuple[str, dict[str, str]]:
    """One text with a class for each use in each case (source, what is written before, spelling, uses), and what each
    class is about."""
    parts, about = [HEAD], {}
    for source, before, spelled, uses in cases:
        for use in uses:
            use = use if use.startswith("log.") else f"out.append({use})"
            line, name = use.format(v=spelled), f"Case{len(about)}"
            start = textwrap.indent(before.replace("{use}", line), " " * 8)
            text = FRAME.format(name=name, before=start, use=textwrap.indent(line, " " * 12))
            if valid(text):
                about[name] = f"{source}: {line}"
                parts.append(text)
    return "".join(parts), about


def valid(text: str) -> bool:
    """Not every spelling fits everywhere: a starred one is an argument."""
    try:
        compile(text, "case.py", "exec")
    except SyntaxError:
        return False
    return True


def fixed(text: str) -> str:
    """The text after the safe fixes of all rules, those that run unasked among them."""

    def found(now: str) -> list[Finding]:
        return list(check_bytes("a.py", now.encode(), all_rules()))

    made = fix_text("a.py", text, found, unsafe=False)
    assert made.refused == ()
    assert all(one.fix and one.fix.safety is Safety.SAFE for one in made.fixed)
    return made.text


def changed(before: str, after: str) -> list[str]:
    """The classes that the fixes changed."""
    old, new = (
        {node.name: ast.dump(node) for node in ast.parse(text).body if isinstance(node, ast.ClassDef)}
        for text in (before, after)
    )
    return [name for name, text in old.items() if new[name] != text]


def compare(listed: str) -> list[str]:
    """In the process with the device."""
    import driving
    import feeding

    driving.stand_in()
    pair = json.loads(Path(listed).read_text())
    found: list[str] = feeding.differences(pair["before"], pair["after"], pair["names"])
    return found


def faults(text: str, about: dict[str, str], tmp_path: Path) -> tuple[list[str], list[str]]:
    """What the safe fixes of a program break, and what they changed."""
    after = fixed(text)
    names = changed(text, after)
    path = tmp_path / "pair.json"
    path.write_text(json.dumps({"before": text, "after": after, "names": names}))
    found: list[str] = outcome(__file__, "compare", True, listed=str(path))
    return [f"{about[one.partition(',')[0]]} | {one}" for one in found], [about[name] for name in names]


@pytest.mark.parametrize(("sources", "used"), [(UNKNOWN, USES), (ALIKE, FIRST)], ids=["each use", "each source"])
def test_what_may_be_anything_is_left_or_changed_for_all_alike(
    tmp_path: Path, sources: dict[str, tuple[str, str]], used: dict[str, list[str]]
) -> None:
    uses = list(itertools.chain(*used.values()))
    found, _ = faults(*program((source, *how, uses) for source, how in sources.items()), tmp_path)
    assert found == []


def proven(source: str) -> tuple[str, str, str, list[str]]:
    before, spelled, codes = PROVEN[source]
    return source, before, spelled, [use for code in codes.split() for use in USES[code]]


def test_what_is_proven_is_fixed_and_leaves_the_same(tmp_path: Path) -> None:
    found, names = faults(*program(map(proven, PROVEN)), tmp_path)
    assert found == []
    assert len(names) >= 50


@pytest.mark.parametrize(
    ("obligation", "source", "code"),
    [
        ("device", "given", "TL401"),
        ("tensor", "given", "TL405"),
        ("scalar", 'torch.ones(1, 1, device="cuda")', "TL201"),
        ("representable", "1e300", "TL104"),
        ("harmless", "given", "TL303"),
    ],
)
def test_a_proof_that_is_left_out_is_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, obligation: str, source: str, code: str
) -> None:
    modules = [one for name, one in sys.modules.items() if name.startswith("transferlint_rules.")]
    # Rules hold the module of the proofs, or what stands for it and keeps what it was asked for.
    for held in [one for module in modules for one in vars(module).values()]:
        if getattr(held, "__name__", "") == "transferlint_rules.proofs.proven":
            monkeypatch.setattr(held, obligation, lambda *given, **named: True)
    assert faults(*program([(source, f"y = {source}\n", "y", USES[code])]), tmp_path)[0]
