"""`transferlint verify` and `transferlint report`: what they run, print, write, and end with."""

from __future__ import annotations

import dataclasses
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from simulated import need_accelerator

from runtime_check import checking, plan
from runtime_check.plan import Plan, Status
from transferlint.model import Site

PROGRAM = """\
import os, signal, sys
import torch

def step(weight, x, optimizer):
    loss = (weight * x.to("cuda")).sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()

def never(loader):
    for x in loader:
        x.to("cuda").sum().item()

weight = torch.ones(4, device="cuda", requires_grad=True)
optimizer = torch.optim.SGD([weight], lr=0.1)
for number in range(12):
    step(weight, torch.full((4,), float(number)), optimizer)
print("sum", round(weight.sum().item(), 4), *sys.argv[1:], flush=True)
if "--raise" in sys.argv:
    raise ValueError("boom")
if "--kill" in sys.argv:
    import glob, time
    while not any('"count":12,' in open(name).read() for name in glob.glob("transferlint-run/*.jsonl")):
        time.sleep(0.05)
    os.kill(os.getpid(), signal.SIGKILL)
if "--exit" in sys.argv:
    os._exit(3)
"""
LINE = PROGRAM.splitlines().index("    return loss.item()") + 1


@dataclasses.dataclass(frozen=True)
class Ran:
    """What a command left."""

    code: int
    out: str
    err: str


@pytest.fixture(scope="session")
def simulated() -> None:
    """Skips where there can be no simulated accelerator."""
    need_accelerator()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    for name in ("RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "program.py").write_text(PROGRAM)
    return tmp_path


def run(*arguments: str, module: str = "transferlint") -> Ran:
    made = subprocess.run(
        [sys.executable, "-m", module, *arguments], capture_output=True, text=True, check=False, timeout=600
    )
    assert "internal error" not in made.stderr
    return Ran(made.returncode, made.stdout, made.stderr)


@pytest.fixture(scope="module")
def verified(simulated: None, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Ran]:
    """The folder of one run, and what the command said."""
    place = tmp_path_factory.mktemp("verified")
    (place / "program.py").write_text(PROGRAM)
    command = [sys.executable, "-m", "transferlint", "verify", "--html", "-o", "out"]
    command += ["--baseline", "base.json", "program.py", "--lr", "0.1"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    made = subprocess.run(command, cwd=place, env=environment, capture_output=True, text=True, check=False, timeout=600)
    return place, Ran(made.returncode, made.stdout, made.stderr)


def test_the_program_has_its_output_and_we_have_ours(verified: tuple[Path, Ran]) -> None:
    _, ran = verified
    assert ran.code == 0, ran.err
    assert ran.out == "sum -22.4 --lr 0.1\n"
    assert f"confirmed   program.py:{LINE}:12 TL101" in ran.err
    assert "12 times (1 a step), d2h, 48 B: blocked the host for 276 µs (modelled by a100" in ran.err
    assert "not reached program.py:13:9 TL" in ran.err
    assert ran.err.rstrip().endswith(f"{Path('out', 'report.html')} shows it beside the source")


def test_the_folder_holds_records_findings_and_reports(verified: tuple[Path, Ran]) -> None:
    place, _ = verified
    names = {re.sub(r"\d+-\d+", "RANK-PID", path.name) for path in (place / "out").iterdir()}
    wanted = "RANK-PID.jsonl findings.json plan-0.json status-0.json report.json report.html .gitignore"
    assert names == set(wanted.split())
    whole = json.loads((place / "out" / "report.json").read_text())
    assert whole["summary"]["confirmed"] == 1
    assert whole["outcome"]["status"] == 0
    assert whole["header"]["program"] == ["program.py", "--lr", "0.1"]
    assert {(one["site"]["line"], one["direction"], one["count"], one["bytes"]) for one in whole["sites"]} >= {
        (LINE, "d2h", 12, 48),
        (5, "h2d", 12, 192),
    }


@pytest.mark.parametrize("form", ["text", "json", "html", "perfetto"])
def test_report_shows_it_again(verified: tuple[Path, Ran], form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    place, _ = verified
    monkeypatch.chdir(place)
    made = run("report", "out", "--format", form)
    assert made.code == 0
    assert made.err == ""
    if form == "json":
        assert json.loads(made.out) == json.loads((place / "out" / "report.json").read_text())
    elif form == "html":
        assert made.out == (place / "out" / "report.html").read_text()
    elif form == "text":
        assert f"confirmed   program.py:{LINE}:12 TL101" in made.out
    else:
        assert len(json.loads(made.out)["traceEvents"]) > 20
    written = run("report", "out", "--format", form, "--output-file", "again")
    assert (written.code, written.out) == (0, "")
    assert (place / "again").read_text() == made.out


@pytest.mark.parametrize("kind", ["mps", "xpu"])
def test_devices_that_are_not_cudas_are_refused_in_one_line(folder: Path, kind: str) -> None:
    made = run("verify", "--device-type", kind, "program.py")
    assert (made.code, made.out) == (2, "")
    assert made.err.startswith(f"Error: the simulated device is CUDA's and --device-type {kind} can not be had")
    assert made.err.count("\n") == 1


TWO_DEVICES = """
import torch

x = torch.ones(4, device="cuda")
for _ in range(3):
    y = x.to("cuda:1")
print(torch.cuda.device_count(), y.sum().item())
"""


@pytest.mark.usefixtures("simulated")
def test_several_devices_are_simulated_where_they_are_asked_for(folder: Path) -> None:
    (folder / "two.py").write_text(TWO_DEVICES)
    made = run("verify", "--devices", "2", "two.py")
    assert (made.code, made.out) == (0, "2 4.0\n")
    headline = next(line for line in made.err.splitlines() if line.startswith("transferlint verify: "))
    assert "two.py on 2 simulated CUDA devices (level simulate)" in headline
    assert " · 1 d2h (4 B), 3 d2d (48 B) · " in headline
    assert "invalid device ordinal" in run("verify", "two.py").err
    assert (
        "--devices simulates devices, and --level guard takes"
        in run("verify", "--devices", "2", "--level", "guard", "two.py").err
    )


@pytest.mark.usefixtures("simulated")
@pytest.mark.parametrize(
    ("option", "code"), [("--raise", 1), ("--kill", -signal.SIGKILL), ("--exit", 3)], ids=["raised", "killed", "left"]
)
def test_the_program_s_own_end_wins_and_what_was_recorded_is_shown(folder: Path, option: str, code: int) -> None:
    made = run("verify", "--fail-on", "confirmed", "program.py", option)
    assert made.code == code
    assert made.out == f"sum -22.4 {option}\n"
    assert "12 times (1 a step), d2h, 48 B" in made.err
    assert "failed: 1 finding confirmed" in made.err
    ended = "was killed by SIGKILL" if option == "--kill" else f"failed with exit status {code}"
    headline = next(line for line in made.err.splitlines() if line.startswith("transferlint verify: "))
    assert f"(level simulate) · {ended} · " in headline
    assert ("the kernel does this if memory runs out" in made.err) == (option == "--kill")
    shown = [line for line in made.err.splitlines() if line.startswith(("Traceback", "  File"))]
    assert len(shown) == (2 if option == "--raise" else 0)


SPAWNING = """\
import subprocess, sys
import torch
import torch.multiprocessing

def work(rank):
    x = torch.ones(4).to("cuda")
    for _ in range(3 + rank):
        x.sum().item()

if __name__ == "__main__":
    torch.ones(2).to("cuda").sum().item()
    torch.multiprocessing.spawn(work, nprocs=2)
    context = torch.multiprocessing.get_context("spawn")
    process = context.Process(target=sys.exit, args=(5,))
    process.start()
    process.join()
    subprocess.run([sys.executable, "-c", "pass"], check=True)
    print("ended with", process.exitcode)
"""


@pytest.mark.usefixtures("simulated")
def test_spawned_processes_record_too_and_others_are_said_to_be_missing(folder: Path) -> None:
    (folder / "program.py").write_text(SPAWNING)
    made = run("verify", "program.py")
    assert (made.code, made.out) == (0, "ended with 5\n"), made.err
    whole = json.loads((folder / "transferlint-run" / "report.json").read_text())
    seen = {(one["site"]["line"], one["direction"]): (one["count"], one["processes"]) for one in whole["sites"]}
    line = SPAWNING.splitlines().index("        x.sum().item()") + 1
    assert seen[line, "d2h"] == (7, 2)
    assert seen[line - 2, "h2d"] == (2, 2)
    (missing,) = whole["outcome"]["missing"]
    assert f"`{sys.executable} -c pass`" in missing["process"]
    assert "are missing: it is a program of its own" in made.err


@pytest.mark.usefixtures("simulated")
def test_a_profile_is_of_the_asked_steps(folder: Path) -> None:
    made = run("verify", "--level", "profile", "--steps", "3:7", "program.py")
    assert made.code == 0
    whole = json.loads((folder / "transferlint-run" / "report.json").read_text())
    (profile,) = whole["profiles"]
    assert (profile["first"], profile["steps"], profile["on_device"], profile["problem"]) == (3, 4, False, "")
    assert profile["operators"] > 20
    assert 0 < profile["host"] <= profile["duration"]
    assert whole["header"]["overhead_ns"] > 0
    assert json.loads((folder / "transferlint-run" / profile["trace"]).read_text())["traceEvents"]
    assert "profiled after step 3: 4 steps in" in made.err
    assert "recording took about" in made.err


PLAYING = """\
import torch

class Envs:
    def step(self, action):
        return torch.ones(4)

def play(envs, policy):
    state = torch.ones(4)
    for _ in range(20):
        action = policy(state.to("cuda")).argmax()
        state = envs.step(action.cpu().numpy())

play(Envs(), torch.nn.Linear(4, 4).to("cuda"))
"""


@pytest.mark.usefixtures("simulated")
def test_what_check_is_quiet_about_on_purpose_is_not_missed(folder: Path) -> None:
    (folder / "program.py").write_text(PLAYING)
    made = run("verify", "program.py")
    assert made.code == 0
    whole = json.loads((folder / "transferlint-run" / "report.json").read_text())
    explained = {(one["line"], one["direction"]): one["explained"] for one in whole["missed"]}
    line = PLAYING.splitlines().index("        state = envs.step(action.cpu().numpy())") + 1
    assert explained[line, "d2h"] == "`envs.step` takes it, which only the host can do"
    assert f"as it is    program.py:{line}:" in made.err


def test_what_the_program_can_import_is_checked_and_what_it_imported_in_other_ways(
    folder: Path, simulated: None
) -> None:
    never = "import torch\ndef never(loader):\n    for x in loader.cuda():\n        print(x.item())\n"
    for name in ("imported", "unrelated", "loaded"):
        (folder / f"{name}.py").write_text(never)
    (folder / "loaded.py").write_text(f"{never}never(torch.ones(20))\n")
    (folder / "start.py").write_text("import torch, imported\nload = __builtins__.__import__\nload('load' + 'ed')\n")
    made = run("verify", "start.py")
    assert "1 finding in 2 files of . to verify" in made.err
    assert "unrelated.py" not in made.err
    assert "1 finding in 1 file that the run" not in made.err
    assert re.search(r"confirmed +loaded\.py:4", made.err), made.err
    checked = json.loads((folder / "transferlint-run" / "findings.json").read_text())
    assert checked["summary"]["files"] == 3


def test_of_a_folder_that_is_no_project_only_what_the_program_can_import_is_checked(tmp_path: Path) -> None:
    script = tmp_path / "start.py"
    script.write_text("import beside\nbeside.load('it')\n")
    (tmp_path / "beside.py").write_text("import importlib\nload = lambda name: importlib.import_module(name)\n")
    (tmp_path / "unrelated.py").write_text("")
    assert checking.check(tmp_path, [script], str(script), whole=False).asked == ("start.py",)
    assert checking.check(tmp_path, [script], str(script)).files == 3
    script.write_text("import beside, elsewhere\n")
    (tmp_path / "beside.py").write_text("")
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "elsewhere.py").write_text("")
    assert checking.check(tmp_path, [script], str(script), whole=False).asked == ("beside.py", "start.py")
    assert checking.check(tmp_path, [script], str(script)).asked == ("beside.py", "start.py", "sub/elsewhere.py")


def test_budgets_and_a_baseline_fail_a_run_that_was_well(folder: Path, verified: tuple[Path, Ran]) -> None:
    made = json.loads((verified[0] / "base.json").read_text())
    assert (made["per_step"], len(made["findings"])) == ({"d2h": 1.0, "h2d": 1.0, "sync": 2.0}, 1)
    assert "transferlint: base.json: made, as the baseline of later runs\n" in verified[1].err
    (folder / "base.json").write_text(json.dumps({**made, "findings": [], "per_step": {"d2h": 0.5}}))
    budgets = ["--max-per-step", "d2h=0", "--max-blocked", "100us", "--baseline", "base.json"]
    ran = run("verify", "-q", *budgets, "--level", "simulate", "program.py")
    assert ran.code == 1
    assert ran.err.splitlines() == [
        "failed: the host was blocked for 500 µs (modelled by a100), allowed are 100 µs",
        "failed: 1 d2h a step, allowed are 0",
        "failed: 1 d2h a step, 0.5 in the baseline",
        f"failed: a confirmed finding that is not in the baseline: {made['findings'][0]}",
    ]


@pytest.mark.usefixtures("simulated")
def test_a_module_runs_under_python_m_runtime_check_with_findings_of_its_own(folder: Path) -> None:
    check = run("check", "-f", "json", "--output-file", "found.json", "program.py")
    assert check.code == 1
    made = run("--findings", "found.json", "--steps", "3:6", "-m", "program", "-m", module="runtime_check")
    assert made.code == 0
    assert made.out == "sum -22.4 -m\n"
    assert "3 times (1 a step), d2h, 12 B" in made.err


@pytest.mark.usefixtures("simulated")
def test_ranks_are_merged_under_torchrun(folder: Path) -> None:
    made = run(
        "--standalone", "--nproc-per-node", "2", "-m", "runtime_check", "program.py", module="torch.distributed.run"
    )
    assert made.code == 0, made.err
    assert made.out.count("sum -22.4") == 2
    assert made.err.count("transferlint verify: ") == 1
    assert "2 ranks" in made.err
    assert "24 times (1 a step), d2h, 96 B" in made.err
    assert len(list((folder / "transferlint-run").glob("*.jsonl"))) == 2


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (("verify", "nothing.py"), "transferlint: nothing.py: no such file"),
        (
            ("verify", "book.ipynb"),
            "transferlint: book.ipynb: is a notebook, and no Python source; "
            "make a script of it: jupyter nbconvert --to script book.ipynb",
        ),
        (("verify", "--max-blocked", "5", "program.py"), "transferlint: --max-blocked 5: "),
        (("verify", "--max-per-step", "up=1", "program.py"), "transferlint: --max-per-step up=1: "),
        (("verify", "--fail-on", "bad", "program.py"), "transferlint: --fail-on bad: "),
        (("verify", "--steps", "6:3", "program.py"), "Error: Invalid value for '--steps': '6:3' is no window of steps"),
        (("verify",), "Error: name the program to run"),
        (("verify", "-m"), "Error: name the program to run"),
        (("verify", "--findings", "program.py", "program.py"), "transferlint: program.py: not a report of"),
        (("verify", "-o", "program.py/x", "program.py"), "transferlint: "),
        (("report", "program.py"), "transferlint: program.py:1: not a record of a run"),
        (("report", "."), "transferlint: .: no records of a run"),
    ],
)
def test_what_cannot_be_done_is_said_in_one_line(arguments: tuple[str, ...], line: str) -> None:
    Path("book.ipynb").write_text("{}")
    made = run(*arguments)
    assert made.code == 2
    assert made.out == ""
    said = [one for one in made.err.splitlines() if one and not one.startswith(("Usage:", "Try "))]
    assert len(said) == 1, made.err
    assert said[0].startswith(line)


@pytest.mark.usefixtures("folder", "simulated")
def test_an_error_in_an_operator_is_shown_without_our_frames() -> None:
    Path("wrong.py").write_text("import torch\ntorch.ones(3, device='cuda').copy_(torch.ones(4))\n")
    made = run("verify", "-q", "wrong.py")
    assert made.code == 1
    assert made.err.count('  File "') == 1
    assert made.err.splitlines()[-1].startswith("RuntimeError: The size of tensor a (3) must match")


@pytest.mark.usefixtures("folder")
def test_a_program_without_torch_has_nothing_to_record(simulated: None) -> None:
    Path("plain.py").write_text("import sys\nprint('hello')\nsys.exit(int(sys.argv[1]))\n")
    made = run("verify", "-q", "plain.py", "0")
    assert (made.code, made.out) == (2, "hello\n")
    assert made.err == "transferlint: the program imported neither torch nor JAX, so there was nothing to record\n"
    assert run("verify", "-q", "plain.py", "5").code == 5


@pytest.mark.usefixtures("folder", "simulated")
def test_a_level_that_needs_an_accelerator_says_so() -> None:
    import torch

    if torch.accelerator.is_available():
        pytest.skip("there is one")
    made = run("verify", "-q", "--level", "trace", "program.py")
    assert (made.code, made.out) == (2, "")
    assert made.err == "transferlint: torch finds no accelerator for --level trace; --level simulate does without one\n"


@pytest.mark.parametrize(
    ("files", "script", "root"),
    [
        (("pyproject.toml", "a/b/train.py"), "a/b/train.py", "."),
        (("a/setup.py", "a/b/train.py"), "a/b/train.py", "a"),
        (("a/b/train.py",), "a/b/train.py", "a/b"),
    ],
)
def test_the_project_is_the_nearest_folder_with_its_mark(
    files: tuple[str, ...], script: str, root: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path.parent))
    for name in files:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    assert checking.project_root(tmp_path / script) == (tmp_path / root).resolve()


def test_a_folder_is_cleared_rank_by_rank(tmp_path: Path) -> None:
    names = ["0-12.jsonl", "0-12-2.jsonl", "1-13.jsonl", "5-14.jsonl", "plan-0.json", "status-5.json", "mine.jsonl"]
    names += ["profile-0-12.json", "profile-0.html"]

    def left(clear: Callable[[], None]) -> set[str]:
        for name in names:
            (tmp_path / name).write_text("")
        clear()
        return {path.name for path in tmp_path.iterdir()}

    assert left(lambda: plan.clear(tmp_path, 0, 2)) == {"1-13.jsonl", "mine.jsonl", "profile-0.html"}
    assert left(lambda: plan.clear(tmp_path, 1, 2)) == {*names} - {"1-13.jsonl"}


def test_a_plan_and_a_status_are_read_as_they_were_written(tmp_path: Path) -> None:
    asked = Plan(
        ("a.py", "é\udcff"), True, str(tmp_path), "guard", (Site("/a.py", 1, 2, 3, 4),), (3, 5), 1, 0, 2, "/", "now"
    )
    plan.write(tmp_path, "plan-0", asked)
    assert plan.read_plan(tmp_path) == asked
    assert plan.read_status(tmp_path) == Status()
    plan.write(tmp_path, "status-0", Status("no", "guard", True, True))
    assert plan.read_status(tmp_path) == Status("no", "guard", True, True)


def test_a_device_that_nobody_measured_has_no_model(folder: Path) -> None:
    ran = run("verify", "--device-model", "h100", "program.py")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == "transferlint: --device-model: no measured times of 'h100': there are those of a100, h200, v100\n"


def test_times_are_of_the_device_that_is_named(folder: Path) -> None:
    ran = run("verify", "--device-model", "V100", "--level", "simulate", "program.py")
    assert ran.code == 0, ran.err
    assert "blocked the host for 288 µs (modelled by v100; " in ran.err
    report = json.loads((folder / "transferlint-run" / "report.json").read_text())
    low, high = report["blocked_range_ns"]
    assert report["time_model"] == "v100"
    assert low < report["blocked_ns"] < high
    assert "(modelled by v100, by its quartiles " in ran.err.splitlines()[1]
