"""What the source says of the expression at a site."""

from __future__ import annotations

from pathlib import Path

import pytest

from runtime_check.expressions import Asked, Expressions, Origin
from transferlint.model import Site

PROGRAM = """\
import numpy as np
import torch

def train(loader, envs, weights, device):
    obs = envs.reset()
    for step, (x, y) in enumerate(loader):
        x = x.to(device)
        batch = {k: v.to(device) for k, v in y.items()}
        w = torch.tensor(weights).to(device)
        n = torch.tensor(len(weights)).to(device)
        order = torch.randperm(8).to(device)
        action = model(torch.Tensor(obs).to(device))
        new, reward, done = envs.step(action)
        late = np.logical_or(done, reward)
        late_up = torch.Tensor(late).to(device)
        obs = new
        rows = step * 2
        r = torch.tensor([rows]).to(device)
        token = action.item()
        if token == 3:
            break
        noise = torch.Tensor(np.random.normal(0, 1, (rows, 2))).to(device)
        loss = action.mean().item()
        print(loss)
        if action.sum().item() > 0:
            x[step] = 5
        assert action.min().item() >= 0, step
        while action.max().item() > 1:
            action = action / rows
        if action.std().item() > 9:
            raise ValueError(step)

def made(array):
    return torch.tensor(array, device="cuda")

class Layer:
    def __init__(self, loops=True, size=None):
        self.loops = loops

    def forward(self, x, config, check=False, mask=None):
        sample = config.do_sample
        if self.loops:
            x = x[x.isnan()]
        if check and x.any():
            pass
        if sample:
            x = draw(x)
        if mask is None and config is not None:
            x = x.max()
        if (
            config.strict and
            x.isnan().all()
        ):
            pass
        return config.filter and x.all()
"""


@pytest.fixture
def at(tmp_path: Path) -> object:
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    lines = PROGRAM.splitlines()

    def site(text: str) -> Site:
        ((number, line),) = [(n, one) for n, one in enumerate(lines, start=1) if text in one]
        start = line.index(text) + 1
        return Site(str(path), number, start, number, start + len(text))

    return site


@pytest.mark.parametrize(
    ("text", "origin"),
    [
        ("x.to(device)", Origin.LOADER),
        ("v.to(device)", Origin.LOADER),
        ("torch.tensor(weights).to(device)", Origin.STEADY),
        ("torch.tensor(len(weights)).to(device)", Origin.MADE),
        ("torch.randperm(8).to(device)", Origin.FILL),
        ("torch.Tensor(np.random.normal(0, 1, (rows, 2))).to(device)", Origin.FILL),
        ("torch.Tensor(obs).to(device)", Origin.ENVIRONMENT),
        ("torch.Tensor(late).to(device)", Origin.ENVIRONMENT),
        ("torch.tensor([rows]).to(device)", Origin.MADE),
        ('torch.tensor(array, device="cuda")', Origin.MADE),
        ("action.item()", Origin.UNKNOWN),
    ],
)
def test_where_data_comes_from(at, text: str, origin: Origin) -> None:  # type: ignore[no-untyped-def]
    assert Expressions().origin(at(text)) is origin


def test_what_decides(at) -> None:  # type: ignore[no-untyped-def]
    source = Expressions()
    assert source.asked(at("action.item()")) is Asked.DECIDES
    assert source.asked(at("action.sum().item()")) is Asked.CHOSEN
    assert source.asked(at("action.min().item()")) is Asked.ASSERTED
    assert source.asked(at("action.max().item()")) is Asked.DECIDES
    assert source.asked(at("action.std().item()")) is Asked.DECIDES
    assert source.asked(at("action.mean().item()")) is Asked.NOT
    test = at("assert action")
    whole = Site(
        test.path, test.line, test.column, test.line, test.column + len("assert action.min().item() >= 0, step")
    )
    assert source.asked(whole) is Asked.ASSERTED  # as 3.11 has it of a jump


def test_an_element_that_is_assigned_or_asked_for(at) -> None:  # type: ignore[no-untyped-def]
    source = Expressions()
    for text, said in (("x[step]", (True, False)), ("x[x.isnan()]", (False, True)), ("x.any()", (False, False))):
        assert (source.assigns_item(at(text)), source.indexes(at(text))) == said


def test_an_option_of_a_library(at) -> None:  # type: ignore[no-untyped-def]
    source = Expressions()
    assert source.option([at("x[x.isnan()]")]) == "loops"
    assert source.option([at("x.any()")]) == "check"
    assert source.option([at("draw(x)")]) == "do_sample"
    assert source.option([at("x.all()")]) == "filter"
    assert source.option([at("x.max()")]) == ""  # data that is left out is no option: other data may be asked as well
    assert source.option([at("envs.step(action)")]) == ""
    test = at("if (")
    branch = Site(test.path, test.line, test.column, test.line + 4, 17)  # as 3.11 has it of a jump
    assert source.option([branch]) == "strict"
    assert source.asked(branch) is Asked.CHOSEN


INNER = """\
class Layer:
    def __init__(self, loops=None):
        self.loops = loops

    def forward(self, x, norm=True, *, skip=True):
        x = inner(x, 3, self.loops)
        x = outer(x, norm=norm)
        x = inner(x, 4, x is None)
        return inner(x, skips=skip) + inner(x)

def outer(x, **more):
    return inner(x, 5, more)

def inner(x, size, loops=True, skips=True):
    if loops:
        x.any()
    if skips:
        x.all()
"""


def test_a_parameter_is_an_option_where_the_program_can_give_it(tmp_path: Path) -> None:
    path, lines = tmp_path / "inner.py", INNER.splitlines()
    path.write_text(INNER)

    def site(text: str) -> Site:
        number, line = next((n, one) for n, one in enumerate(lines, start=1) if text in one)
        start = line.index(text) + 1
        return Site(str(path), number, start, number, start + len(text))

    option = Expressions().option
    assert option([site("x.any()")]) == "loops"  # the program calls it itself
    assert option([site("x.any()"), site("inner(x, 3, self.loops)")]) == "loops"  # of the class
    assert option([site("x.all()"), site("inner(x, skips=skip)")]) == "skip"  # of the function that it calls
    assert option([site("x.any()"), site("inner(x, 4, x is None)")]) == ""  # the library knows it
    assert option([site("x.all()"), site("inner(x, 4, x is None)")]) == ""  # left out
    assert option([site("x.any()"), site("inner(x, 5, more)"), site("outer(x, norm=norm)")]) == ""


def test_a_file_that_is_not_there_says_nothing() -> None:
    source, site = Expressions(), Site("/none.py", 3, 1, 3, 9)
    assert (source.origin(site), source.text(site), source.asked(site)) == (Origin.UNKNOWN, "", Asked.NOT)
    assert (source.option([site]), source.left_out(site, site)) == ("", ("", ()))
