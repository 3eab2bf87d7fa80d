"""`explain`: for each reason a small file, and bad input."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from transferlint.cli import main

Explain = Callable[..., list[dict[str, Any]]]

LOOP = """\
import torch
import numpy as np


def train(model, loader, optimizer, device, log_every):
    total = 0.0
    for step, (inputs, labels) in enumerate(loader):
        loss = torch.nn.functional.cross_entropy(model(inputs.to(device)), labels.to(device))
        loss.backward()
        optimizer.step()
{body}    return total
"""


@pytest.fixture
def explain(folder: Path, capsys: pytest.CaptureFixture[str]) -> Explain:
    """`explain(text)`: what is explained of the line that ends in `# here`, as JSON."""

    def command(text: str, *options: str) -> list[dict[str, Any]]:
        line = next(number for number, one in enumerate(text.splitlines(), 1) if "# here" in one)
        (folder / "a.py").write_text(text)
        capsys.readouterr()
        code = main(["explain", f"a.py:{line}", "-f", "json", *options])
        out, err = capsys.readouterr()
        assert (code, err) == (0, "")
        answer = json.loads(out)
        assert (answer["path"], answer["line"]) == ("a.py", line)
        assert "# here" in answer["source"]
        expressions: list[dict[str, Any]] = answer["expressions"]
        return expressions

    return command


def loop(*body: str) -> str:
    """The training loop with these lines in its body."""
    return LOOP.format(body="".join(f"        {line}\n" for line in body))


def reason(found: list[dict[str, Any]]) -> str:
    """Why the only expression is not reported."""
    (one,) = found
    assert not one["verdict"]["reported"]
    return str(one["verdict"]["reason"])


def test_reported(explain: Explain):
    (one,) = explain(loop("total += loss.item()  # here"))
    assert one["verdict"]["reported"]
    assert one["verdict"]["code"] == "TL101"
    assert one["source"] == "loss.item()"
    assert one["subject"] == "loss"
    assert (one["kind"], one["direction"], one["sync"], one["explicit"]) == ("scalar read", "d2h", True, True)
    assert (one["place"]["before"], one["place"]["after"]) == ("device", "host")
    assert one["place"]["why"][0]["site"]["line"] == 8
    assert (one["heat"]["level"], one["heat"]["hot"]) == ("per_step", True)
    assert "in the loop over `enumerate(loader)`" in one["heat"]["why"]
    assert one["confidence"] == "likely"


def test_merged(explain: Explain):
    found = explain(loop("total += loss.item()", "total += loss.item() + loss.tolist()  # here"))
    assert [one["source"] for one in found] == ["loss.item()", "loss.tolist()"]
    assert {one["verdict"]["reason"] for one in found} == {"merged into TL101 at line 11: one change fixes both"}


def test_amortised(explain: Explain):
    found = explain(loop("if step % log_every == 0:", "    print(loss.item())  # here"))
    assert reason(found) == "only every N steps"
    assert not found[0]["heat"]["hot"]
    assert found[0]["heat"]["amortised"] == "only every N steps"


def test_cold(explain: Explain):
    found = explain("import torch\n\ndef save_model(model, loss):\n    return loss.cuda().cpu()  # here\n")
    download = next(one for one in found if one["kind"] == "copy to the host")
    assert download["verdict"]["reason"] == "`save_model` is setup, saving or display code"
    assert download["heat"]["cold"]


def test_not_hot(explain: Explain):
    assert reason(explain("import torch\n\nx = torch.ones(3).sum().cuda()\ny = x.item()  # here\n")) == (
        "not hot: runs once per call"
    )


def test_what_no_rule_reports_whatever_the_least_confidence_is(explain: Explain):
    text = "import torch\n\n\ndef widest(x: torch.Tensor):\n    return x.max().item()  # here\n"
    assert reason(explain(text)) == (
        "too uncertain for a finding: only the function's arguments suggest that it runs repeatedly"
    )


def test_below_min_confidence(explain: Explain):
    words = "words = [len(row) for row in rows]"
    found = explain(loop(words, 'y = torch.tensor(words, device="cuda")  # here'))
    assert reason(found) == "TL104: confidence possible is below min-confidence likely"


def test_host_value(explain: Explain):
    found = explain(loop("rows = np.zeros(3)", "total += rows.sum().item()  # here"))
    assert reason(found) == "host value: no transfer"
    assert (found[0]["kind"], found[0]["confidence"]) == (None, None)
    found = explain(loop("rows = torch.zeros(3)", "total += rows.sum().item()  # here"))
    assert reason(found) == "host value: no transfer"
    assert found[0]["place"]["before"] == "host"


def test_dtype(explain: Explain):
    assert reason(explain(loop("half = loss.to(torch.float16)  # here"))) == (
        "it names a dtype and no device: no transfer"
    )


def test_upload_of_a_batch(explain: Explain):
    found = explain(loop("x = inputs[0].to(device)  # here"))
    assert reason(found) == "an upload of new data: every batch has to be copied to the device once"
    assert found[0]["direction"] == "h2d"


def test_suppressed(explain: Explain):
    found = explain(loop("total += loss.item()  # here  # transferlint: ignore[TL101] wanted"))
    assert reason(found) == "TL101 is suppressed by the comment at line 11: wanted"
    text = "# transferlint: ignore-file\n" + loop("total += loss.item()  # here")
    assert reason(explain(text)) == "TL101 is suppressed by the comment at line 1"


def test_not_selected(explain: Explain):
    found = explain(loop("total += loss.item()  # here"), "--config", 'select = ["TL3"]')
    assert reason(found) == "TL101 would report it, but is not selected"


def test_ignored_in_this_file(explain: Explain):
    found = explain(loop("total += loss.item()  # here"), "--config", 'per-file-ignores = {"a.py" = ["TL1"]}')
    assert reason(found) == "TL101 would report it, but is ignored in this file (per-file-ignores)"


def test_explained_by_another_rule(explain: Explain):
    text = """\
import torch

model = torch.nn.Linear(4, 4).cuda()
x = torch.ones(4).cuda()
weights = torch.zeros(4, device="cuda")
for step in range(1000):
    weights += model(x)
    if int(weights.cpu().sum()) == 0:  # here
        weights += 1
"""
    found = {one["source"]: one["verdict"] for one in explain(text)}
    assert found["weights.cpu()"]["reported"] is False
    assert found["weights.cpu()"]["reason"].startswith("explained by TL203 at line 8: ")


def test_a_cause_is_not_its_effect(explain: Explain):
    """The upload is evidence of the read's finding, and no part of it."""
    text = loop("x = inputs[0].to(device)  # here", "total += model(x).sum().item()")
    assert "TL101" not in reason(explain(text))


def test_what_a_function_only_wraps_counts_at_its_calls(explain: Explain):
    text = """import torch


def use(x):
    return x.item()


def use_dict(d):
    return d["loss"].item()  # here


def go(loader):
    for _ in loader:
        x = torch.ones(3, device="cuda")
        use(x)
        use_dict({"loss": x, "n": 1})
"""
    said = "it transfers what `use_dict` is given, and is judged at the calls of `use_dict`, as in `go`"
    assert reason(explain(text)) == said


def test_implicit(explain: Explain):
    found = explain(loop("if torch.isnan(loss):  # here", "    break"))
    one = next(one for one in found if one["kind"] == "truth test")
    assert one["verdict"]["code"] == "TL301"
    assert not one["explicit"]


def test_nothing_on_the_line(explain: Explain):
    assert explain(loop("count = step + 1  # here")) == []


def test_every_line_of_a_statement(explain: Explain):
    text = loop("total += (", "    loss  # here", "    .item()", ")")
    assert [one["verdict"]["code"] for one in explain(text)] == ["TL101"]


def test_as_text(folder: Path, capsys: pytest.CaptureFixture[str]):
    (folder / "a.py").write_text(loop("total += loss.item()"))
    assert main(["explain", "a.py:11"]) == 0
    out = capsys.readouterr().out
    assert out.splitlines()[:5] == [
        "a.py:11",
        "  total += loss.item()",
        "",
        "`loss.item()`  (column 18, in train)",
        "  verdict     reported: TL101 `loss.item()` waits for the GPU (device-to-host copy and sync) on every step",
    ]
    assert "  place       `loss` is a tensor assumed to be on the device\n" in out
    assert "  heat        hot: per step, in the loop over `enumerate(loader)` at line 7\n" in out
    assert "\x1b[" not in out
    assert main(["explain", "a.py:11", "--color"]) == 0
    assert "\x1b[" in capsys.readouterr().out
    assert main(["explain", "a.py:1"]) == 0
    assert "Nothing on this line" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("place", "error"),
    [
        ("nowhere.py:3", "transferlint: nowhere.py: cannot be read: no such file or directory\n"),
        (".:3", "transferlint: .: is a folder; name a file\n"),
        ("a.py:0", "transferlint: a.py: has no line 0; it ends at line 2\n"),
        ("a.py:3", "transferlint: a.py: has no line 3; it ends at line 2\n"),
        ("broken.py:1", "transferlint: broken.py:2: "),
        ("a.py", "'a.py' is not FILE:LINE; write for example train.py:42\n"),
        ("a.py:x", "'a.py:x' is not FILE:LINE"),
        (":3", "':3' is not FILE:LINE"),
    ],
)
def test_bad_input(folder: Path, capsys: pytest.CaptureFixture[str], place: str, error: str):
    (folder / "a.py").write_text("import torch\nx = torch.ones(1)\n")
    (folder / "broken.py").write_text("import torch\nx = (\n")
    assert main(["explain", place]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert error in err
    assert "Traceback" not in err
    assert "internal error" not in err


def test_wrong_settings_are_one_line(folder: Path, capsys: pytest.CaptureFixture[str]):
    (folder / "a.py").write_text("import torch\n")
    (folder / "pyproject.toml").write_text("[tool.transferlint]\nslect = []\n")
    assert main(["explain", "a.py:1"]) == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert main(["explain", "a.py:1", "--isolated"]) == 0


def test_empty_file(folder: Path, capsys: pytest.CaptureFixture[str]):
    (folder / "a.py").write_text("")
    assert main(["explain", "a.py:1"]) == 2
    assert "has no line 1" in capsys.readouterr().err


def test_a_call_of_what_waits_names_the_place(folder: Path, capsys: pytest.CaptureFixture[str]):
    (folder / "pyproject.toml").write_text("")
    finite = "import torch\n\n\ndef finite(x):\n    return torch.isfinite(x).all().item()\n"
    (folder / "helpers.py").write_text(finite + "\n\ndef both(x):\n    return finite(x) and x.dim()\n")
    (folder / "a.py").write_text("from helpers import both\n\n" + loop("if not both(loss):", "    break"))
    line = next(n for n, one in enumerate((folder / "a.py").read_text().splitlines(), 1) if "both(loss)" in one)
    assert main(["explain", f"a.py:{line}", "-f", "json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    (call,) = answer["calls"]
    assert (call["source"], call["function"]) == ("both(loss)", "finite")
    assert (call["waits_at"]["path"], call["waits_at"]["line"]) == ("helpers.py", 5)
    assert main(["explain", f"a.py:{line}"]) == 0
    said = capsys.readouterr().out
    assert "helpers.py:5, in `finite`" in said
    assert "Nothing on this line" not in said


def test_what_is_judged_in_the_function_says_where(folder: Path, capsys: pytest.CaptureFixture[str]):
    (folder / "pyproject.toml").write_text("")
    (folder / "helpers.py").write_text("def keep(rows, x):\n    rows.append(x.item())\n")
    (folder / "a.py").write_text("from helpers import keep\n\n" + loop("keep([], loss)"))
    line = next(n for n, one in enumerate((folder / "a.py").read_text().splitlines(), 1) if "keep([]" in one)
    assert main(["explain", f"a.py:{line}", "-f", "json"]) == 0
    (one,) = json.loads(capsys.readouterr().out)["expressions"]
    assert one["verdict"]["reason"] == "it is made in the function that is called, and judged there: helpers.py:2"


def test_a_function_that_only_waits_is_judged_at_its_calls(folder: Path, capsys: pytest.CaptureFixture[str]):
    (folder / "pyproject.toml").write_text("")
    (folder / "helpers.py").write_text("import torch\n\n\ndef tidy():\n    torch.cuda.synchronize()\n")
    (folder / "a.py").write_text("from helpers import tidy\n\n" + loop("tidy()"))
    assert main(["explain", "helpers.py:5", "-f", "json"]) == 0
    (one,) = json.loads(capsys.readouterr().out)["expressions"]
    assert one["verdict"]["reason"] == "`tidy` does nothing but wait, and is judged at its calls, as in `train`"
