"""`--min-frequency`: what is expected to run in fewer steps is not reported."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from transferlint.cli import main

TEXT = """import torch
from torch import nn


class Net(nn.Module):
    def __init__(self, wide):
        self.wide = wide
        self.scale = nn.Parameter(torch.ones(3))

    def forward(self, x):
        if self.wide:
            print(self.scale.mean().item())
        return self.last(x)

    def last(self, x):
        return x * self.scale.mean().item()
"""
TOGETHER = """
class Sum(nn.Module):
    def __init__(self, wide):
        self.wide = wide

    def forward(self, x):
        if self.wide:
            x = x + x.mean().item()
        return x * x.sum().item()
"""


@pytest.fixture
def check(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    (tmp_path / "net.py").write_text(TEXT)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TRANSFERLINT_CACHE_DIR", str(tmp_path / "kept"))

    def checked(*options: str) -> tuple[int, str, str]:
        code = main([*options])
        made = capsys.readouterr()
        return code, made.out, made.err

    return checked


def lines(out: str) -> list[tuple[int, float]]:
    return sorted((one["line"], one["heat"]["share"]) for one in json.loads(out)["findings"])


def test_what_runs_seldom_is_left_out(check) -> None:
    found = lines(check("check", "-f", "json")[1])
    assert [line for line, _ in found] == [12, 16]
    assert found[0][1] < 0.5 < found[1][1]
    for _ in range(2):  # the second time from what the first kept
        assert [line for line, _ in lines(check("check", "-f", "json", "--min-frequency", "0.5")[1])] == [16]
    assert [line for line, _ in lines(check("check", "-f", "json", "--config", "min-frequency = 0.5")[1])] == [16]
    assert check("check", "-f", "json", "--min-frequency", "1")[0] == 0


def test_what_runs_most_often_comes_first(check) -> None:
    _, out, _ = check("check", "-f", "concise", "--sort", "cost")
    assert [line.split(":")[1] for line in out.splitlines()[:2]] == ["16", "12"]


def test_explain_says_what_is_expected(check) -> None:
    _, out, _ = check("explain", "net.py:12", "--min-frequency", "0.5")
    assert "not reported: TL101: expected in 4 of 10 steps, below min-frequency 0.5" in out
    assert "behind a condition on attributes of its object" in out
    assert "in about 9 of 10 steps: in no branch, in code that runs for every batch" in check("explain", "net.py:16")[1]


@pytest.mark.parametrize("given", ["2", "-1", "often", "true"])
def test_no_share(check, given: str) -> None:
    for options in (("--min-frequency", given), ("--config", f"min-frequency = {given!r}")):
        code, _, err = check("check", *options)
        assert code == 2
        assert "min-frequency" in err


def test_a_baseline_that_knows_more_is_not_stale_for_it(check) -> None:
    check("check", "--baseline", "known.json", "--write-baseline")
    assert check("check", "--baseline", "known.json", "--min-frequency", "0.5")[0] == 0
    assert "min_frequency" not in Path("known.json").read_text()
    check("check", "--baseline", "fewer.json", "--write-baseline", "--min-frequency", "0.5")
    assert json.loads(Path("fewer.json").read_text())["min_frequency"] == 0.5
    Path("net.py").write_text(TEXT.replace("return x * self.scale.mean().item()", "return x"))
    code, out, _ = check("check", "--baseline", "fewer.json", "--min-frequency", "0.5", "-f", "concise")
    assert code == 1
    assert "TL004" in out


def test_a_finding_runs_as_often_as_the_sites_that_it_speaks_for(check) -> None:
    Path("net.py").write_text(TEXT[: TEXT.index("\n\nclass")] + TOGETHER)
    _, out, _ = check("check", "-f", "json", "--min-frequency", "0.5")
    (finding,) = json.loads(out)["findings"]
    assert (finding["line"], finding["heat"]["share"]) == (10, 0.85)
    assert [one["line"] for one in finding["evidence"] if one["part"] == "same"] == [11]
