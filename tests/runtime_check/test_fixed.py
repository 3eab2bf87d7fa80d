"""`verify --fixed`: copies, runs in turn, and what it says of them."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from simulated import need_accelerator

from runtime_check import fixed_child, fixed_copy, fixed_outputs, fixed_run, fixed_text, plan
from runtime_check.fixed_copy import CopyError
from runtime_check.fixed_run import Place, Ran
from runtime_check.plan import Plan

PROGRAM = """\
import sys, time
from pathlib import Path
import torch

def train(device):
    weight = torch.ones(4, device=device, requires_grad=True)
    optimizer = torch.optim.SGD([weight], lr=0.1)
    total = 0.0
    for step in range(6):
        loss = (weight * torch.ones(4).to(device)).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    return total

if __name__ == "__main__":
    print("sum", round(train(torch.device("cuda")), 3))
    if "--clock" in sys.argv:
        print(time.perf_counter_ns())
    if "--self" in sys.argv:
        print("reads", Path(__file__).read_text().count(".item()"))
    if "--write" in sys.argv:
        place = Path(__file__).with_name("log.txt")
        place.write_text(place.read_text() + "once more")
"""


@pytest.fixture(scope="module")
def simulated() -> None:
    """Skips where there can be no simulated accelerator."""
    need_accelerator()


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = tmp_path / "project"
    root.mkdir()
    (root / "program.py").write_text(PROGRAM)
    (root / "log.txt").write_text("written before; ")
    (root / "pyproject.toml").write_text("[project]\nname = 'x'\n")
    monkeypatch.chdir(root)
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    for name in ("RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    return root


def verify(*arguments: str, rounds: int = 1) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "transferlint", "verify", "--fixed", "--rounds", str(rounds), *arguments]
    made = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    assert "Traceback" not in made.stderr, made.stderr
    return made


def state(folder: Path) -> dict[str, str]:
    """What a project's files hold, but for what `verify` leaves."""
    found = [path for path in folder.rglob("*") if path.is_file() and "transferlint-run" not in path.parts]
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in found}


def test_both_programs_run_from_copies_and_are_compared(simulated: None, project: Path) -> None:
    before = state(project)
    made = verify("--unsafe-fixes", "--compare-files", "program.py", "--clock", "--write", rounds=2)
    assert made.returncode == 0, made.stderr
    assert state(project) == before  # not even __pycache__
    found = json.loads((project / "transferlint-run" / "fixed.json").read_text())
    assert (found["times"], found["device"], found["rounds"]) == ("modelled", "Simulated CUDA device", 2)
    assert found["fixed_by_code"] == {"TL101": 1, "TL401": 1}
    assert found["crossed"] == {
        "original": {"h2d": 6, "d2h": 6, "waits": 12},
        "fixed": {"h2d": 0, "d2h": 1, "waits": 1},
    }
    assert (found["steps"], found["same"]) == (6, True)
    assert found["step"]["ratio"] > 5
    assert "modelled by a100 on Simulated CUDA device" in made.stderr
    assert "h2d 6 to 0, d2h 6 to 1, waits 12 to 1" in made.stderr
    assert "the same: output (1 line), exit code 0, 1 file written" in made.stderr
    assert "differ from run to run" in made.stderr
    assert "+        total += loss.detach()" in (project / "transferlint-run" / "fixed.diff").read_text()


def test_other_output_is_told_with_its_line_and_what_differs_each_time_is_none_after_one_round(
    simulated: None, project: Path
) -> None:
    made = verify("--unsafe-fixes", "program.py", "--clock", "--self")
    assert made.returncode == 1
    assert "DIFFER: line 3 of the output: 'reads 2' became 'reads 1'" in made.stderr
    assert "the original prints 1 line(s) that differ from run to run, not compared: 2" in made.stderr


def test_nothing_to_fix_is_said(project: Path) -> None:
    (project / "program.py").write_text("import torch\n\nprint(torch.ones(2))\n")
    made = verify("program.py")
    assert (made.returncode, made.stdout) == (0, "")
    assert made.stderr == "transferlint: nothing to compare: no safe fix applies (0 findings)\n"
    assert not (project / "transferlint-run").exists()


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("raise SystemExit('no data')", "ended with exit code 1 before it imported torch, and said: no data"),
        ("raise SystemExit(0)", "did not import torch"),
    ],
)
def test_a_program_that_never_gets_to_torch_is_told(project: Path, line: str, said: str) -> None:
    (project / "program.py").write_text(f"{line}\n{PROGRAM}")
    made = verify("--unsafe-fixes", "program.py")
    assert made.returncode == 2
    assert f"transferlint: the program {said}: there was nothing to compare\n" in made.stderr


def test_unsafe_fixes_are_named_where_no_safe_one_is(project: Path) -> None:
    text = PROGRAM.replace("torch.ones(4).to(device)", "1.0")
    (project / "program.py").write_text(text)
    assert "1 finding, 1 fix with --unsafe-fixes" in verify("program.py").stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("nothing.py",), "nothing.py: no such file"),
        (("book.ipynb",), "book.ipynb: is a notebook, and no Python source; make a script of it: jupyter nbconvert"),
        (("--level", "trace", "program.py"), "torch finds no accelerator for --level trace"),
        (("--root", "elsewhere", "program.py"), "program.py: not in"),
        (("--fail-on", "missed", "program.py"), "--fixed compares two programs and takes no --fail-on"),
        (("--output", "pyproject.toml/x", "program.py"), "cannot be written"),
    ],
)
def test_what_can_not_be_done_is_said_in_a_line(
    simulated: None, project: Path, arguments: tuple[str, ...], said: str
) -> None:
    (project / "elsewhere").mkdir()
    (project / "book.ipynb").write_text("{}")
    made = verify(*arguments)
    assert made.returncode == 2
    assert said in made.stderr


def test_options_of_fixed_are_refused_without_it(project: Path) -> None:
    command = [sys.executable, "-m", "transferlint", "verify", "--unsafe-fixes", "program.py"]
    made = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (made.returncode, "--unsafe-fixes goes with --fixed" in made.stderr) == (2, True)


def test_a_launcher_of_several_processes_is_refused(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORLD_SIZE", "2")
    made = verify("program.py")
    assert (made.returncode, "one process" in made.stderr) == (2, True)


def test_a_run_without_a_recorder_says_how_long_steps_took(project: Path, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    patch = tmp_path / "patch"
    patch.mkdir()
    code = "import runtime_check.hooks.device as d; d.key = lambda: 'CUDA'\n"  # as if there were a device
    (patch / "sitecustomize.py").write_text(code)
    (project / "program.py").write_text(PROGRAM.replace('torch.device("cuda")', 'torch.device("cpu")'))
    records = tmp_path / "records"
    records.mkdir()
    asked = Plan(("program.py",), False, str(records), fixed_child.TIME, root=str(project), warmup=1)
    plan.write(records, "plan-0", asked)
    command = [sys.executable, str(fixed_run._STARTER), str(records), str(project)]
    made = subprocess.run(
        command, env={**os.environ, "PYTHONPATH": str(patch)}, capture_output=True, text=True, check=False
    )
    assert (made.returncode, made.stdout) == (0, "sum 18.0\n"), made.stderr
    answer = json.loads((records / fixed_child.ANSWER).read_text())
    assert len(answer["steps"]) == 4  # six ends of steps, five steps, one of them to warm up
    assert all(step > 0 for step in answer["steps"])
    assert plan.read_status(records).level == fixed_child.TIME
    assert list(records.glob("*.jsonl")) == []


def test_a_copy_leaves_out_what_is_not_read_and_links_what_is_named(tmp_path: Path) -> None:
    root = tmp_path / "project"
    for name in ("src/a.py", "data/train/x.bin", ".git/HEAD", "venv/pyvenv.cfg", "out/old.txt", "__pycache__/a.pyc"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(name)
    (root / "inner").symlink_to("src/a.py")
    listed = fixed_copy.listing(root, ("data",), ((root / "out").resolve(),))
    fixed_copy.make(listed, tmp_path / "copy")
    copied = sorted(str(path.relative_to(tmp_path / "copy")) for path in (tmp_path / "copy").rglob("*"))
    assert copied == ["data", "inner", "src", "src/a.py"]
    assert (tmp_path / "copy" / "data").resolve() == (root / "data").resolve()
    assert (tmp_path / "copy" / "inner").resolve() == (tmp_path / "copy" / "src" / "a.py").resolve()
    before = fixed_copy.states(listed)
    assert fixed_copy.changed(listed, before) == ()
    (root / "data/train/x.bin").write_text("other words")
    assert fixed_copy.changed(listed, before) == ("data/train/x.bin",)


def test_a_project_that_is_too_large_is_refused_with_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "x.bin").write_bytes(bytes(3000))
    with pytest.raises(CopyError, match=r"the largest data/x\.bin .*--link 'data'"):
        fixed_copy.listing(tmp_path, limit=1000)
    assert fixed_copy.listing(tmp_path, ("data",), limit=1000).links == ("data",)


def test_commands_and_folders_are_mapped_into_the_copy(tmp_path: Path) -> None:
    root = (tmp_path / "project").resolve()
    (root / "src").mkdir(parents=True)
    listed = fixed_copy.listing(root)
    words = ("../program.py", str(root / "data.txt"), "--out=x", "/elsewhere")
    place = Place(tmp_path / "home", listed, root / "src", words, False)
    assert place.mapped(root / "src") == place.copy / "src"
    assert fixed_run._words(place) == ("../program.py", str(place.copy / "data.txt"), "--out=x", "/elsewhere")
    assert str(place.copy / "src") in fixed_run._environment(place)["PYTHONPATH"].split(os.pathsep)


def ran(out: str = "", code: int = 0, **more: Any) -> Ran:
    return Ran("trace", code, out, "", 10, **more)


@pytest.mark.parametrize(
    ("before", "after", "same", "said"),
    [
        (["a\nb"], ["a\nb"], True, "output (2 lines)"),
        (["a\nb"], ["a\nc"], False, "line 2 of the output: 'b' became 'c'"),
        (["a"], ["a\nb"], False, "lines: 1 before, 2 after; line 2: '(nothing)' became 'b'"),
        (["t 1.5", "t 2.5"], ["t 9.5", "t 7.5"], True, "output (0 lines)"),
        (["loss 0.12345"], ["loss 0.12346"], True, "but for numbers, which differ by up to 8.1e-05"),
        (["loss 0.1"], ["loss 0.2"], False, "became 'loss 0.2'"),
        (["count 100000"], ["count 100001"], False, "became 'count 100001'"),
        (["loss 1.0"], ["loss nan"], False, "became 'loss nan'"),
        (["a", "a\nb"], ["c"], True, "output not compared"),
    ],
)
def test_outputs_are_compared_line_by_line(before: list[str], after: list[str], same: bool, said: str) -> None:
    found = fixed_outputs.compare([ran(one) for one in before], [ran(one) for one in after], False)
    assert found.same is same
    assert said in found.text


def test_codes_and_files_are_compared() -> None:
    assert fixed_outputs.compare([ran()], [ran(code=1)], False).text == "exit code 0 before, 1 after"
    one, other = ran(files={"a": "1", "b": "2"}), ran(files={"a": "1", "b": "3"})
    assert fixed_outputs.compare([one], [one], True).same
    assert fixed_outputs.compare([one], [other], True).text == "files with other content: b"
    unstable = fixed_outputs.compare([one, other], [other], True)
    assert unstable.same
    assert "b" in unstable.notes[0]


def test_a_ratio_has_the_spread_of_neighbouring_runs() -> None:
    found = fixed_text.ratio([10.0, 12.0, 11.0], [5.0, 6.0, 10.0])
    assert found is not None
    assert (found["ratio"], found["least"], found["most"]) == (11 / 6, 1.1, 2.0)
    assert fixed_text.ratio([0.0], [1.0]) is None


def test_a_report_of_a_slower_program_says_so() -> None:
    from runtime_check.fixed_outputs import Compared

    slow = [ran(step=2e6, steps=9, device="GPU")] * 2
    fast = [ran(step=1e6, steps=9, device="GPU")] * 2
    found = fixed_text.result({"fixed": 1, "fixed_by_code": {"TL101": 1}}, fast, slow, Compared(True, "output"))
    text = fixed_text.render(found, {"original": fast, "fixed": slow})
    assert "1 fix (TL101 1), 2 rounds, measured on GPU" in text
    assert "wall time 1.00 ms before, 2.00 ms after: 0.50x (0.50 to 0.50), SLOWER" in text
    assert "in all      wall time 10 ns before, 10 ns after: 1.00x (1.00 to 1.00), no difference" in text
