"""The plugin fails tests that transfer too often, shows what was seen, and stays out of the way elsewhere."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

pytest.importorskip("torch")
ROOT = Path(__file__).resolve().parents[2]
CONFTEST = """
    from runtime_check import simulate
    simulate.start()
"""
TESTS = """
    import pytest, torch

    @pytest.fixture
    def x():
        return torch.ones(3).to("cuda")

    @pytest.mark.transfers(d2h=0)
    def test_reads(x):
        for _ in range(3):
            x.sum().item()

    @pytest.mark.transfers(d2h=0, h2d=0, sync=0)
    def test_computes(x):
        x * 2

    @pytest.mark.transfers(d2h=2, sync=2)
    def test_reads_within_its_limit(x):
        x.cpu()
        x.sum().item()

    @pytest.mark.transfers(sync=0)
    def test_waits(x):
        x.nonzero()

    def test_counts(transfers, x):
        x.cpu()
        assert (transfers.d2h, transfers.d2h_bytes, transfers.h2d) == (1, 12, 0)

    def test_not_watched(x):
        x.cpu()

    @pytest.mark.transfers(dh2=0)
    def test_marked_wrongly():
        pass

    @pytest.mark.transfers(d2h=0)
    def test_fails_by_itself(x):
        x.cpu()
        assert False, "its own"
"""


def run(
    folder: Path, *arguments: str, tests: str = TESTS, conftest: str = CONFTEST
) -> subprocess.CompletedProcess[str]:
    (folder / "conftest.py").write_text(textwrap.dedent(conftest))
    (folder / "test_it.py").write_text(textwrap.dedent(tests))
    command = [sys.executable, "-m", "pytest", "-p", "runtime_check.pytest_plugin", "-p", "no:cacheprovider"]
    paths = os.pathsep.join((str(ROOT), os.environ.get("PYTHONPATH", "")))
    environment = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONPATH": paths}
    return subprocess.run(
        [*command, *arguments], cwd=folder, env=environment, capture_output=True, text=True, timeout=600, check=False
    )


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    folder = tmp_path_factory.mktemp("watched")
    done = run(folder, "-q", "-rA")
    if "cannot start" in done.stdout + done.stderr:
        pytest.skip("the simulated device does not start here")
    return done.stdout, folder


def test_limits_decide_which_tests_pass(ran: tuple[str, Path]) -> None:
    output, _ = ran
    failed = set(re.findall(r"^FAILED test_it\.py::(\w+)", output, re.MULTILINE))
    assert failed == {"test_reads", "test_waits", "test_marked_wrongly", "test_fails_by_itself"}, output


def test_a_failure_names_limit_line_and_count(ran: tuple[str, Path]) -> None:
    output, _ = ran
    line = TESTS.splitlines().index("            x.sum().item()") + 1
    where = rf"test_it\.py:{line}: d2h 3 times, 12 bytes \(aten::_local_scalar_dense\)"
    assert re.search(rf"transferred too often: d2h 3, limit 0\n  {where}", output), output
    assert "transferred too often: sync 1, limit 0" in output
    assert "takes h2d=, d2h= and sync=: unknown dh2" in output
    assert "its own" in output


def test_the_summary_counts_watched_tests(ran: tuple[str, Path]) -> None:
    output, _ = ran
    section = output[output.index(" transfers =") :]
    assert "test_it.py::test_reads: h2d 0 (0 bytes), d2h 3 (12 bytes), waits 3" in section
    assert "test_it.py::test_fails_by_itself: h2d 0 (0 bytes), d2h 1 (12 bytes), waits 1" in section
    assert "1 watched test transferred nothing" in section
    assert "test_not_watched:" not in section


def test_the_report_has_every_test(tmp_path: Path) -> None:
    report = tmp_path / "seen.json"
    done = run(tmp_path, "-q", f"--transfers-report={report}", "-k", "not_watched or computes")
    assert done.returncode == 0, done.stdout
    written = json.loads(report.read_text())
    assert written["version"] == 1
    first, second = written["tests"]
    assert (first["test"], first["d2h"], first["d2h_bytes"]) == ("test_it.py::test_not_watched", 1, 12)
    assert [(site["direction"], site["operation"], site["count"]) for site in first["sites"]] == [
        ("d2h", "aten::copy_", 1)
    ]
    assert second["sites"] == []
    assert f"written to {report}" in done.stdout


def test_a_report_that_cannot_be_written_is_said_at_the_start(tmp_path: Path) -> None:
    done = run(tmp_path, f"--transfers-report={tmp_path}/missing/seen.json", conftest="")
    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    assert "seen.json: no such file or directory" in done.stderr
    assert "Traceback" not in done.stderr


def test_tests_without_marks_import_no_torch_and_show_nothing(tmp_path: Path) -> None:
    tests = """
        import sys

        def test_plain():
            assert "torch" not in sys.modules
    """
    done = run(tmp_path, "-q", tests=tests, conftest="")
    assert done.returncode == 0, done.stdout
    assert "transfers" not in done.stdout


def test_without_an_accelerator_marked_tests_pass_and_the_summary_says_why(tmp_path: Path) -> None:
    tests = """
        import pytest, torch

        @pytest.mark.transfers(d2h=0)
        def test_on_the_host():
            torch.ones(3).sum().item()
    """
    done = run(tmp_path, "-q", tests=tests, conftest="")
    assert done.returncode == 0, done.stdout
    assert "torch has no accelerator here: nothing can be transferred" in done.stdout


def test_the_plugin_is_an_entry_point() -> None:
    assert '[project.entry-points.pytest11]\ntransferlint = "runtime_check.pytest_plugin"' in (
        ROOT / "pyproject.toml"
    ).read_text(encoding="utf-8")


def test_the_simulation_starts_by_an_option_before_any_conftest(tmp_path: Path) -> None:
    conftest = """
        from torch.cuda import is_available
        HAD = is_available()
        def pytest_report_header():
            return f"conftest saw {HAD}"
    """
    done = run(tmp_path, "--transfers=simulate", conftest=conftest)
    if "--transfers=simulate: " in done.stderr:
        pytest.skip("the simulated device does not start here")
    assert "conftest saw True" in done.stdout
    assert "transfers: counted on a" in done.stdout
    failed = set(re.findall(r"^FAILED test_it\.py::(\w+)", done.stdout, re.MULTILINE))
    assert failed == {"test_reads", "test_waits", "test_marked_wrongly", "test_fails_by_itself"}, done.stdout


def test_the_setting_is_the_option_and_a_guard_stops_in_the_line(tmp_path: Path) -> None:
    (tmp_path / "pytest.ini").write_text("[pytest]\ntransfers = simulate,guard\n")
    done = run(tmp_path, "-k", "reads or computes", conftest="")
    if "--transfers=simulate: " in done.stderr:
        pytest.skip("the simulated device does not start here")
    line = TESTS.splitlines().index("            x.sum().item()") + 1
    assert re.search(r">\s+x\.sum\(\)\.item\(\)\n", done.stdout)
    assert re.search(rf"TransferForbidden: \S*test_it\.py:{line}: device-to-host transfer of 4 bytes", done.stdout)
    assert "1 failed, 2 passed" in done.stdout


def test_off_looks_at_nothing(tmp_path: Path) -> None:
    done = run(tmp_path, "--transfers=off", "-k", "reads or marked_wrongly", conftest=CONFTEST)
    if "cannot start" in done.stdout + done.stderr:
        pytest.skip("the simulated device does not start here")
    assert "1 failed, 2 passed" in done.stdout, done.stdout  # a wrong mark is wrong
    assert " transfers =" not in done.stdout


def test_a_wrong_mode_is_one_line(tmp_path: Path) -> None:
    done = run(tmp_path, "--transfers=simulated")
    assert done.returncode == 4
    assert done.stderr.strip() == "ERROR: --transfers=simulated: simulate, guard, simulate,guard or off"
