"""`transferlint verify --lines`: how often each line ran, in how many steps, and what crossed there."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from simulated import need_accelerator

from runtime_check import records
from runtime_check.line_counts import LineCounts
from runtime_check.records import Counted, SiteRecord
from runtime_check.reports import lines, shown
from runtime_check.verdicts import judge
from transferlint.model import Direction, Site

PROGRAM = """\
import torch
from helping import double

weight = torch.ones(4, device="cuda", requires_grad=True)
optimizer = torch.optim.SGD([weight], lr=0.1)


class Training:
    def step(self, x, number):
        loss = (weight * x.to("cuda")).sum()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        if number % 3 == 0:
            print(loss.item())
        return double(number)


training = Training()
for number in range(6):
    training.step(torch.ones(4), number)
"""
HELPING = "def double(x):\n    twice = x * 2\n    return twice\n"


@pytest.fixture(scope="module")
def counted(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The folder of a run with `--lines`, and what the command said."""
    need_accelerator()
    place = tmp_path_factory.mktemp("counted")
    (place / "program.py").write_text(PROGRAM)
    (place / "helping.py").write_text(HELPING)
    return place, verify(place, "--lines", "-o", "out").stderr


def verify(place: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "transferlint", "verify", "--level", "simulate", *options, "program.py"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    made = subprocess.run(command, cwd=place, env=environment, capture_output=True, text=True, check=False, timeout=600)
    assert made.returncode == 0, made.stderr
    return made


def test_every_line_of_the_programs_own_files_is_counted(counted: tuple[Path, str]) -> None:
    place, _ = counted
    whole = json.loads((place / "out" / "report.json").read_text())
    rows = {
        Path(one["path"]).name: {line: (count, steps) for line, count, steps in one["lines"]} for one in whole["lines"]
    }
    assert set(rows) == {"program.py", "helping.py"}
    assert rows["program.py"][10] == (6, 6)
    assert rows["program.py"][15] == (2, 2)
    assert rows["program.py"][4][0] == 1
    assert rows["helping.py"][2] == rows["helping.py"][3]
    assert rows["helping.py"][2][0] == 6


def test_the_terminal_shows_each_function_in_which_something_crossed(counted: tuple[Path, str]) -> None:
    _, said = counted
    rows = [line.split("|")[0].split() for line in said.splitlines() if " | " in line]
    by_line = {row[0]: row for row in rows if row and row[0].isdigit()}
    assert any(line.startswith("program.py Training.step") for line in said.splitlines())
    assert by_line["10"][:4] == ["10", "6", "6", "6"]
    assert by_line["10"][4:6] == ["96", "B"]
    assert by_line["15"][:4] == ["15", "2", "2", "2"]
    assert by_line["11"] == ["11", "6", "6"]
    assert "twice = x * 2" not in said


def test_without_the_option_nothing_is_counted(counted: tuple[Path, str]) -> None:
    place, _ = counted
    said = verify(place, "-o", "plain").stderr
    assert json.loads((place / "plain" / "report.json").read_text())["lines"] == []
    assert "twice" not in said
    assert not any(line.split()[:3] == list(lines.HEADINGS[:3]) for line in said.splitlines())


def test_only_the_files_below_the_root_are_the_programs_own(tmp_path: Path) -> None:
    for path in ("own.py", "package/own.py", ".hidden/other.py", "venv/lib/python3/site-packages/other.py", "own.txt"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).touch()
    counts = LineCounts(str(tmp_path))
    assert counts.files() == {str((tmp_path / path).resolve()) for path in ("own.py", "package/own.py")}
    assert not counts.wants(json.__file__)


def test_what_is_in_no_file_is_not_the_programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert not LineCounts(str(tmp_path)).wants("<frozen importlib._bootstrap>")
    assert LineCounts(str(tmp_path)).wants("own.py")


def test_marked_lines_are_counted_by_step() -> None:
    counts = LineCounts(str(Path(__file__).parent))
    count = counts.counting()
    for _ in range(2):
        for _ in range(3):
            count(__file__, 7)
        counts.step("optimizer")
    count(__file__, 7)
    assert counts.rows()[os.path.realpath(__file__)] == {7: (7, 3)}


def test_a_line_outside_of_functions_is_shown_alone(tmp_path: Path) -> None:
    path = tmp_path / "script.py"
    path.write_text("a = 1\nb = x.item()\n\ndef f():\n    @deco\n    def g():\n        return x.cpu()\n    return g\n")

    def record(number: int, line: int, blocked: int) -> SiteRecord:
        waited = records.Blocked(blocked, blocked, blocked, blocked)
        site = Site(str(path), line, 1, line, 5)
        return SiteRecord(
            number, site, Direction.D2H, "aten::copy_", 3, 12, True, waited, stepped=3, thread="MainThread"
        )

    header = records.Header(
        program=("script.py",), started="2026-01-02T03:04:05.678+00:00", device="Simulated CUDA device", driver="",
        torch="2.13.0", python="3.12.1", level="simulate", time_source="modelled",
    )  # fmt: skip
    run = records.Run(
        header, (record(0, 2, 5), record(1, 7, 9)), counted=(Counted(str(path), ((1, 1, 1), (2, 3, 1), (7, 3, 3))),)
    )
    found = lines.functions(shown.of(run, judge((), run, [], str(tmp_path)), str(tmp_path)))
    assert [(one.name, [cells[0] for cells, _ in one.lines]) for one in found] == [
        ("f.g", ["5", "6", "7"]),
        ("", ["2"]),
    ]
    assert found[0].lines[2] == (("7", "3", "3", "", "3", "", "12 B", "9 ns"), "        return x.cpu()")
