"""Fixes of the rules about texts, indices, pinned memory and mistakes of place: what they make runs as before on the
CPU, and is offered as safe only where that is proven."""

from __future__ import annotations

import importlib.util

import pytest
from showing import offered

from proving import all_rules, check_bytes, execute, fix, same
from transferlint.model import Safety

RULES = {rule.code: rule for rule in all_rules()}
HAS_TORCH = importlib.util.find_spec("torch") is not None
needs_torch = pytest.mark.skipif(not HAS_TORCH, reason="needs torch to run the program")
HEAD = "import torch\ndevice = torch.device('cuda')\nx = torch.arange(12., device=device).reshape(4, 3)\n"


def safeties(code: str, text: str) -> list[Safety | None]:
    """How safe the fix of every finding is, None for a finding without one."""
    found = check_bytes("example.py", text.encode(), [RULES[code]])
    return [f.fix.safety if f.fix is not None else None for f in found]


def equal_runs(before: str, after: str) -> None:
    """Run both on the CPU: the same values, printed text and error type."""
    one, two = execute(before), execute(after)
    assert type(one.error) is type(two.error), two.error
    assert one.printed == two.printed
    for name, value in one.values.items():
        assert same(value, two.values[name]), name


def fixed(code: str, text: str, unsafe: bool = False) -> str:
    """The text after the fixes of one rule."""
    made = fix(text, RULES[code], unsafe)
    assert made.refused == ()
    return made.text


# TL303: a logger's call behind its level.


LOGGED = """\
import io
import logging
import torch
out = io.StringIO()
log = logging.getLogger("example")
log.handlers, log.propagate = [logging.StreamHandler(out)], False
log.setLevel(logging.{level})
class Net(torch.nn.Module):
    def forward(self, x: torch.Tensor):
        {call}
        return x * 2
net = Net()
for n in range(3):
    y = net(torch.full((2,), float(n)))
text = out.getvalue()
"""


@needs_torch
@pytest.mark.parametrize("level", ["DEBUG", "INFO", "WARNING", "CRITICAL"])
@pytest.mark.parametrize("name", ["debug", "info"])
def test_a_guarded_log_writes_what_was_written(level: str, name: str) -> None:
    call = f'log.{name}(f"norm {{x.detach().sum()}} of {{x}}")'
    text = LOGGED.format(level=level, call=call)
    made = fixed("TL303", text)
    assert f"        if log.isEnabledFor(logging.{name.upper()}):\n            {call}\n" in made
    equal_runs(text, made)
    assert ("norm" in execute(made).values["text"]) == (level == "DEBUG" or (level, name) == ("INFO", "info"))


@pytest.mark.parametrize(
    ("before", "call", "safety"),
    [
        ("log = logging.getLogger(__name__)", 'log.debug(f"{x}")', Safety.SAFE),
        ("log = logging.getLogger(__name__)", 'log.debug(f"{x.sum()} of {x.shape}")', Safety.SAFE),
        ("log = logging.getLogger(__name__)", 'log.debug(f"{x.abs().max()} at {len(x)}")', Safety.DISPLAY),
        ("log = logging.getLogger(__name__)", 'log.debug(f"{x:.2f}")', Safety.DISPLAY),
        ("log = logging.getLogger(__name__)", 'log.debug(f"{x} {self.steps}")', Safety.DISPLAY),
        ("log = logging.getLogger(__name__)", 'log.debug(f"{x} {self.count(x)}")', Safety.DISPLAY),
        ("log = logging.getLogger(__name__)", 'log.debug(f"{x} {x.add_(1)}")', Safety.DISPLAY),
        ("log = logging.getLogger(__name__)", 'log.debug(f"{x}"); y = 1', None),
        ("log = logging.getLogger(__name__)", 'print(f"{x}")', None),
        ("log = logging.getLogger(__name__)", 'y = log.debug(f"{x}")', None),
        ("log = make_logger()", 'log.debug(f"{x}")', None),
        ("from loguru import logger as log", 'log.debug(f"{x}")', None),
        ("log = logging.getLogger(__name__)\nlog = other(log)", 'log.debug(f"{x}")', None),
        ("from logging import getLogger\nlog = getLogger(__name__)", 'log.debug(f"{x}")', None),
    ],
)
def test_a_guard_needs_a_logger_of_this_file(before: str, call: str, safety: Safety | None) -> None:
    text = f"import logging\nimport torch\n{before}\nclass Net(torch.nn.Module):\n"
    text += f"    def forward(self, x: torch.Tensor):\n        {call}\n        return x\n"
    assert safeties("TL303", text) == [safety]


def test_a_guard_keeps_comments_and_lines() -> None:
    text = "import logging\nimport torch\nlog = logging.getLogger()\nclass Net(torch.nn.Module):\n"
    text += (
        '\tdef forward(self, x: torch.Tensor):\n\t\tlog.info(  # why\n\t\t\tf"{x}"\n\t\t)  # and more\n\t\treturn x\n'
    )
    made = fixed("TL303", text)
    assert '\t\tif log.isEnabledFor(logging.INFO):\n\t\t\tlog.info(  # why\n\t\t\tf"{x}"\n\t\t)  # and more\n' in made
    compile(made, "example.py", "exec")


# TL305: indices.


@needs_torch
@pytest.mark.parametrize(
    ("index", "wanted", "safety"),
    [
        ("torch.arange(4)", "torch.arange(4, device=x.device)", Safety.SAFE),
        ("torch.arange(4), 1", "torch.arange(4, device=x.device), 1", Safety.SAFE),
        ("torch.tensor([2, 0])", "torch.tensor([2, 0], device=x.device)", Safety.SAFE),
        ("[0, 1]", ":2", Safety.UNSAFE),
        (":, [1, 2]", ":, 1:3", Safety.UNSAFE),
        ("[-1]", "-1:", Safety.UNSAFE),
    ],
)
def test_an_index_is_made_on_the_device_or_sliced(index: str, wanted: str, safety: Safety) -> None:
    text = f"{HEAD}for step in range(10):\n    y = x[{index}]\n"
    assert safeties("TL305", text) == [safety]
    made = fixed("TL305", text, unsafe=True)
    assert f"y = x[{wanted}]\n" in made
    equal_runs(text, made)
    assert fixed("TL305", text) == (made if safety is Safety.SAFE else text)


@needs_torch
@pytest.mark.parametrize("index", ["[2, 1, 0]", ":, [2, 1, 0]", ":, (2, 0)", "[0, -1]", "[3, 1], :2"])
def test_rows_are_stacked_only_by_hand(index: str) -> None:
    text = f"{HEAD}for step in range(10):\n    y = x[{index}] + 1\n"
    ((safety, _, made),) = offered("TL305", text)
    assert safety is Safety.DISPLAY
    assert "torch.stack([x[" in made
    equal_runs(text, made)


@pytest.mark.parametrize(
    "index", ["[0, 1], [1, 2]", "[n, 0]", "1, [2, 0]", "..., [2, 0]", "[0, 1, 3, 2, 0]", "[*rows]"]
)
def test_other_lists_are_only_shown(index: str) -> None:
    assert safeties("TL305", f"{HEAD}n, rows = 1, [1]\nfor step in range(10):\n    y = x[{index}]\n") == [None]


@pytest.mark.parametrize("index", ["torch.arange(4, out=buffer)", "torch.arange(4, pin_memory=True)"])
def test_an_index_that_says_where_it_is_made_is_left(index: str) -> None:
    head = f"{HEAD}buffer = torch.zeros(4)\n"
    assert safeties("TL305", f"{head}for step in range(10):\n    y = x[{index}]\n") == [None]


# TL403, TL404: pinned memory.


LOADER = """\
import torch
from torch.utils.data import DataLoader
def train(model, data):
    loader = {loader}
    for x in loader:
        model(x.cuda({hint})).sum().backward()
"""
MANY = "DataLoader(\n        data,\n        num_workers=2,{}\n    )"


@pytest.mark.parametrize(("code", "hint"), [("TL403", "non_blocking=True"), ("TL404", "")])
@pytest.mark.parametrize(
    ("loader", "wanted"),
    [
        ("DataLoader(data, num_workers=n)", "DataLoader(data, num_workers=n, pin_memory=True)"),
        ("DataLoader(data, num_workers=2,)", "DataLoader(data, num_workers=2, pin_memory=True,)"),
        ("DataLoader(data, num_workers=2, pin_memory=False)", "DataLoader(data, num_workers=2, pin_memory=True)"),
        (
            "DataLoader(data, 8, False, None, None, 2, None, False)",
            "DataLoader(data, 8, False, None, None, 2, None, True)",
        ),
        (MANY.format(""), MANY.format("\n        pin_memory=True,")),
    ],
)
def test_a_loader_is_told_to_pin(code: str, hint: str, loader: str, wanted: str) -> None:
    text = LOADER.format(loader=loader, hint=hint)
    assert safeties(code, text) == [Safety.UNSAFE]
    assert fixed(code, text, unsafe=True) == LOADER.format(loader=wanted, hint=hint)


@pytest.mark.parametrize("loader", ["DataLoader(data)", "DataLoader(data, num_workers=0)"])
def test_a_loader_without_workers_would_pin_where_it_is_waited_for(loader: str) -> None:
    for code, hint in (("TL403", "non_blocking=True"), ("TL404", "")):
        assert safeties(code, LOADER.format(loader=loader, hint=hint)) == []


@pytest.mark.parametrize(
    "loader",
    [
        "DataLoader(data, pin_memory=True)",
        "DataLoader(data, **options)",
        "DataLoader(data, pin_memory=options.pin)",
        "DataLoader(*options)",
        "loaders[0]",
        "other.DataLoader(data)",
    ],
)
def test_a_loader_that_may_pin_is_left_alone(loader: str) -> None:
    for code, hint in (("TL403", "non_blocking=True"), ("TL404", "")):
        assert safeties(code, LOADER.format(loader=loader, hint=hint)) == []


def test_a_loader_is_one_finding_and_its_moves_decide_whose() -> None:
    loader = "DataLoader(data, num_workers=2)"
    text = LOADER.format(loader=loader, hint="") + "        model(x.cuda(non_blocking=True))\n"
    assert len(safeties("TL404", text)) == 1
    only = LOADER.format(loader=loader, hint="non_blocking=True")
    assert (len(safeties("TL403", only)), safeties("TL404", only)) == (1, [])


# TL503: the wait comes back.


@needs_torch
@pytest.mark.parametrize(
    ("move", "wanted"),
    [
        ('y = x.to("cpu", non_blocking=True)', 'y = x.to("cpu")'),
        ('y = x.to("cpu", non_blocking = True, copy=True)', 'y = x.to("cpu", copy=True)'),
        ("y = x.to(non_blocking=True, device='cpu')", "y = x.to(non_blocking=False, device='cpu')"),
    ],
)
def test_the_hint_is_taken_out(move: str, wanted: str) -> None:
    text = f"{HEAD}{move}\ntotal = y.sum()\n"
    assert safeties("TL503", text) == [Safety.UNSAFE]
    made = fixed("TL503", text, unsafe=True)
    assert made == f"{HEAD}{wanted}\ntotal = y.sum()\n"
    equal_runs(text, made)
