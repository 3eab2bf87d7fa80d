"""What the parts of a run say together is what the whole run says."""

from __future__ import annotations

import contextlib
import io
import json
import os
import random
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from transferlint.cli import main
from transferlint.reporters import sarif
from transferlint.reporters.report import Report
from transferlint.settings.formats import FORMATS
from transferlint.sources.shards import Shard, parse

COUNTS = range(1, 8)
BODIES = (
    # Whether `read` is called in a loop is what another file says, and what it is given.
    "def read(x):\n    return x.item()\n",
    "def read(x):\n    return x.cpu().numpy()\n",
    "def read(x):\n    return x.item()  # transferlint: ignore[TL101]\n",
    "def read(x):\n    return x.shape[0]  # transferlint: ignore[TL101] nothing is read here\n",
    "def read(x):\n    if x.sum() > 0:\n        return x\n    return x[x > 0]\n",
    "class Net(torch.nn.Module):\n    def forward(self, x):\n        return x.sum().item()\n\n\nread = Net()\n",
)
LOOP = "def train(loader, model):\n    model.cuda()\n    for x in loader:\n        print(read(model(x.cuda())))\n"

CERTAIN = "for _ in range(9):\n    print(torch.ones(3, device='cuda').sum().item())\n"


def generate(seed: int) -> None:
    """A project of two dozen files in three folders, in which files use one another, below the current folder."""
    draw = random.Random(seed)
    names = [f"{folder}/m{number}" for folder in ("a", "b", "a/deep") for number in range(8)]
    for name in names:
        other = draw.choice(names).replace("/", ".")
        text = f"import torch\nfrom {other} import read as other\n\n\n{draw.choice(BODIES)}\n\n{LOOP}"
        text += draw.choice(("", "\n\ndef go(rows):\n    for x in rows:\n        other(x.cuda())\n"))
        text += f"\n\n# {'-' * draw.randrange(3000)}\n" if draw.random() < 0.5 else ""
        write(f"{name}.py", text)
    write("a/broken.py", "import torch\ndef f(:\n")
    write("b/odd.py", "import torch\nx = torch.ones(3)  # transferlint: ignore[\n")
    write("b/quiet.py", f"import torch\n{CERTAIN.rstrip()}  # transferlint: ignore[TL101]\n")
    write("b/cells.ipynb", json.dumps(NOTEBOOK))
    write("b/transferlint.toml", "extend-select = ['TL003']\n")
    write("pyproject.toml", "[tool.transferlint]\nmin-confidence = 'possible'\n")


CELL = {"cell_type": "code", "source": f"import torch\nread = print\n{LOOP}", "metadata": {}, "outputs": []}
NOTEBOOK = {"cells": [CELL], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}


def write(name: str, text: str) -> None:
    os.makedirs(os.path.dirname(name) or ".", exist_ok=True)
    Path(name).write_text(text, encoding="utf-8")


def check(*arguments: str) -> tuple[int, str, str]:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(["check", *arguments])
    return code, out.getvalue(), err.getvalue()


def reports(*arguments: str) -> Callable[[int], tuple[dict[str, Any], list[dict[str, Any]]]]:
    """The report of the whole run, and those of the parts for a number of them; exit codes and words are compared."""
    code, out, err = check("-f", "json", *arguments)
    whole = json.loads(out)
    assert whole["findings"]

    def parts(count: int) -> tuple[dict[str, Any], list[dict[str, Any]]]:
        ran = [check("-f", "json", *arguments, "--shard", f"{index}/{count}") for index in range(1, count + 1)]
        assert max(one[0] for one in ran) == code
        assert {line for one in ran for line in one[2].splitlines()} == set(err.splitlines())
        return whole, [json.loads(one[1]) for one in ran]

    return parts


def compare(whole: dict[str, Any], parts: list[dict[str, Any]]) -> None:
    """Every finding is in one part, in its place, and the parts' counts add up."""
    found = [finding for part in parts for finding in part["findings"]]
    by_place = [json.dumps(finding) for finding in found]
    assert sorted(by_place) == sorted(json.dumps(finding) for finding in whole["findings"])
    for name in ("files", "findings", "fixable", "in_baseline"):
        assert sum(part["summary"][name] for part in parts) == whole["summary"][name]
    assert {json.dumps(error) for part in parts for error in part["errors"]} == set(map(json.dumps, whole["errors"]))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TRANSFERLINT_CACHE_DIR", str(tmp_path.parent / f"{tmp_path.name}-kept"))
    return tmp_path


@pytest.mark.parametrize(("seed", "context"), [(1, "project"), (2, "file")])
def test_the_parts_are_the_whole(folder: Path, seed: int, context: str) -> None:
    generate(seed)
    parts = reports(".", "--context", context)
    for count in COUNTS:
        whole, some = parts(count)
        assert {"TL001", "TL002", "TL003"} <= set(whole["summary"]["by_code"])
        compare(whole, some)


def test_what_cannot_be_read_is_said_by_every_part(folder: Path) -> None:
    generate(1)
    whole, some = reports("a", "gone.py")(3)
    compare(whole, some)
    assert all(part["errors"] for part in some)


def test_a_baseline_is_held_against_each_file_once(folder: Path) -> None:
    generate(3)
    assert check(".", "--write-baseline", "--baseline", "known.json")[0] == 0
    for name in (f"{part}/m{number}.py" for part in "ab" for number in (0, 1, 3, 4)):
        Path(name).write_text(f"import torch\n{CERTAIN}")  # what was known there is gone, and this is new
    for name in ("a/m2.py", "b/m2.py"):
        Path(name).unlink()
    parts = reports(".", "--baseline", "known.json")
    for count in (1, 3):
        whole, some = parts(count)
        assert whole["summary"]["in_baseline"]
        gone = [finding for finding in whole["findings"] if "does not exist" in finding["message"]]
        assert gone
        assert len({finding["line"] for finding in gone}) == len(gone)
        assert len([finding for finding in whole["findings"] if finding["code"] == "TL004"]) > len(gone)
        compare(whole, some)


def test_lines_that_changed_are_shared_out(folder: Path) -> None:
    generate(4)
    for words in (("init", "-q"), ("add", "."), ("-c", "user.name=a", "-c", "user.email=a@b.c", "commit", "-qm", "a")):
        subprocess.run(["git", *words], check=True)
    for number in range(8):
        path = Path(f"a/m{number}.py")
        path.write_text(path.read_text() + "\n\ndef last(x):\n    for _ in range(9):\n        print(x.cuda().item())\n")
    parts = reports(".", "--diff-base", "HEAD")
    for count in (1, 3):
        whole, some = parts(count)
        assert whole["summary"]["files"] == 8
        compare(whole, some)


def test_changes_that_are_only_shown_are_shared_out(folder: Path) -> None:
    generate(5)
    code, whole, _ = check(".", "--diff", "--unsafe-fixes")
    ran = [check(".", "--diff", "--unsafe-fixes", "--shard", f"{index}/3") for index in (1, 2, 3)]
    assert whole
    assert "".join(out for _, out, _ in ran) == whole
    assert max(one for one, _, _ in ran) == code


def test_files_are_listed_by_part(folder: Path) -> None:
    generate(1)
    whole = check(".", "--show-files")[1].splitlines()
    parts = [check(".", "--show-files", "--shard", f"{index}/4")[1].splitlines() for index in range(1, 5)]
    assert [path for part in parts for path in part] == whole
    assert min(map(len, parts)) > 1


def test_more_parts_than_files_leave_some_empty(folder: Path) -> None:
    write("a.py", f"import torch\n{CERTAIN}")
    ran = [check("a.py", "-f", "concise", "--shard", f"{index}/3") for index in (1, 2, 3)]
    assert sorted(code for code, _, _ in ran) == [0, 0, 1]


@pytest.mark.parametrize("form", FORMATS)
def test_every_format_tells_a_part(folder: Path, form: str) -> None:
    generate(2)
    first, second = (check(".", "-f", form, "--shard", f"{index}/2") for index in (1, 2))
    assert first[1] != second[1]
    if form == "json":
        assert json.loads(second[1])["shard"] == "2/2"
    if form in ("text", "markdown"):
        assert "of shard 2/2" in second[1]
    if form == "markdown":
        assert second[1].startswith("<!-- transferlint 2/2 -->\n")


def test_each_part_is_an_analysis_of_its_own_for_code_scanning() -> None:
    """GitHub closes the alerts that a later upload of the same category does not have."""
    logs = [json.loads(sarif.render(Report((), {}, 0, shard=shard))) for shard in ("", "1/2", "2/2")]
    assert [log["runs"][0].get("automationDetails") for log in logs] == [
        None,
        {"id": "transferlint/shard-1-of-2/"},
        {"id": "transferlint/shard-2-of-2/"},
    ]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--shard", "0/3"], "counted from 1 to 3"),
        (["--shard", "4/3"], "counted from 1 to 3"),
        (["--shard", "a/b"], "'a/b' is not I/N"),
        (["--shard", "1/0"], "from 1 to 10,000"),
        (["--shard", "1/2", "--fix"], "--shard and --fix exclude each other"),
        (["--shard", "1/2", "--config", "fix=true"], "--shard and --fix exclude each other"),
        (["--shard", "1/2", "--add-ignore"], "--shard and --fix exclude each other"),
        (["--shard", "1/2", "--watch"], "--shard goes with neither"),
        (["--shard", "1/2", "--write-baseline", "--baseline", "b.json"], "--shard goes with neither"),
    ],
)
def test_what_makes_no_part_is_one_line(folder: Path, arguments: list[str], words: str) -> None:
    write("a.py", "import torch\n")
    code, out, err = check(*arguments, ".")
    assert (code, out) == (2, "")
    assert words in err.splitlines()[-1]


def test_a_part_has_its_share_of_the_bytes() -> None:
    draw = random.Random(7)
    weights = [draw.randrange(200, 40_000) for _ in range(500)]
    for count in (*COUNTS, 64):
        parts = [Shard(index, count).of(weights, weights) for index in range(1, count + 1)]
        assert [weight for part in parts for weight in part] == weights
        assert all(abs(sum(part) - sum(weights) / count) <= max(weights) for part in parts)


def test_what_changes_moves_only_what_stands_at_a_seam() -> None:
    draw = random.Random(8)
    weights = [draw.randrange(200, 40_000) for _ in range(500)]
    grown = [weight + (20_000 if number == 250 else 0) for number, weight in enumerate(weights)]
    names = list(range(500))
    moved = 0
    for index in range(1, 6):
        moved += len(set(Shard(index, 5).of(names, weights)) ^ set(Shard(index, 5).of(names, grown)))
    assert moved <= 2 * 4 * 2


def test_spaces_and_zeros_are_no_matter() -> None:
    assert str(parse(" 02 / 4\n")) == "2/4"
