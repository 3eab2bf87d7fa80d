"""`rule`, `rules`, `debug`, `--version`, and what holds for the program as a whole."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from interrupts import interruptible

ROOT = Path(__file__).parents[2]
PATH = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])


def _python(*arguments: str, **named: object) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": PATH}
    return subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, env=environment, timeout=600, check=False, **named
    )


def test_rule_prints_its_page(run):
    ran = run("rule", "TST101")
    assert ran.code == 0
    assert ran.out.startswith("# TST101 bad-word\n\nrepeated · on by default · fixed by --fix · since 0.1.0\n\n")
    assert "What it does\n---" in ran.out
    assert run("rule", "bad-word").out == ran.out
    assert "# TST902" in run("rule", "--all").out
    assert json.loads(run("rule", "TST102", "--output-format", "json").out)["fix"] == "unsafe"


def test_rule_that_is_not_known(run):
    ran = run("rule", "bad-wor")
    assert (ran.code, ran.err) == (2, "transferlint: no rule 'bad-wor'; did you mean bad-word?\n")
    assert run("rule").code == 2


def test_rules(run):
    lines = run("rules").out.splitlines()
    assert lines[1].split() == ["TST101", "bad-word", "on", "safe", "finds", "bad-word"]
    assert [row["code"] for row in json.loads(run("rules", "--output-format", "json").out)][:2] == ["TL004", "TST101"]


@pytest.mark.parametrize("stage", ["program", "facts"])
def test_debug(run, write, stage):
    write("a.py", "def f(x):\n    return x.cuda().item()\n")
    ran = run("debug", stage, "a.py")
    assert ran.code == 0
    assert ran.out.strip()
    write("b.py", "x = (\n")
    ran = run("debug", stage, "b.py")
    assert ran.code == 2
    assert ran.err.startswith("transferlint: b.py")


def test_version_is_fast():
    done = _python("-X", "importtime", "-m", "transferlint", "--version")
    assert done.returncode == 0
    assert re.fullmatch(r"transferlint \S+\n", done.stdout)
    imported = {line.rpartition("|")[2].strip().partition(".")[0] for line in done.stderr.splitlines()}
    assert "transferlint" in imported
    assert not imported & {"click", "libcst", "rich", "pathspec", "torch", "numpy", "multiprocessing"}


def test_check_without_colour_never_imports_rich(tmp_path):
    (tmp_path / "a.py").write_text("import torch\nx = torch.ones(1).cuda().item()\n")
    code = "import sys; from transferlint.cli import main; main(['check', 'a.py']); assert 'rich' not in sys.modules"
    done = _python("-c", code, cwd=tmp_path)
    assert done.returncode == 0, done.stderr


def test_torch_is_never_imported(tmp_path):
    """Every rule is loaded and a file is checked with torch out of reach."""
    (tmp_path / "a.py").write_text("import torch\nfor x in loader:\n    total += model(x.cuda()).item()\n")
    program = """
        import sys

        class Blocker:
            def find_spec(self, name, path=None, target=None):
                if name.partition(".")[0] in ("torch", "numpy"):
                    raise AssertionError(name + " was imported")

        sys.meta_path.insert(0, Blocker())
        from transferlint import registry
        from transferlint.cli import main

        packs = registry.load()
        assert not packs.refused, packs.refused
        code = main(["check", "--select", "ALL", "--min-confidence", "possible", "a.py"])
        assert code in (0, 1), code
        assert not {"torch", "numpy"} & set(sys.modules)
    """
    done = _python("-c", textwrap.dedent(program), cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


def test_broken_pipe_is_silent(tmp_path):
    for number in range(50):
        (tmp_path / f"m{number}.py").write_text("import torch\nx = (\n" + "#" * 200 + "\n")
    command = f"{sys.executable} -m transferlint check | true; echo ${{PIPESTATUS[0]}}"
    environment = {**os.environ, "PYTHONPATH": PATH}
    done = subprocess.run(
        ["bash", "-c", command], capture_output=True, text=True, cwd=tmp_path, env=environment, timeout=600, check=False
    )
    assert done.stderr == ""
    assert done.stdout.strip() in ("0", "1")


# Runs the command line, and interrupts it when it, or a worker of its, opens one of the files, once.
INTERRUPTED = """
import os, signal, sys
main = os.getpid()
def opened(event, given):
    if event == "open" and str(given[0]).endswith("m2.py"):
        try:
            os.mkdir("interrupted")
        except FileExistsError:
            return
        os.kill(main, signal.SIGINT)
sys.addaudithook(opened)
from transferlint.cli import main as run
sys.exit(run(["check", "--jobs", sys.argv[1]]))
"""


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_interrupt(tmp_path, jobs):
    for number in range(40):
        (tmp_path / f"m{number}.py").write_text("import torch\n" + "x = torch.ones(1, 2, 3).cuda()\n" * 500)
    environment = {**os.environ, "PYTHONPATH": PATH}
    done = subprocess.run(
        interruptible([sys.executable, "-c", INTERRUPTED, jobs]),
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=environment,
        timeout=600,
        check=False,
    )
    assert (done.returncode, done.stderr) == (130, "interrupted\n")
    assert "m39.py" not in done.stdout, "what was not checked yet is left alone"


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp1252"])
def test_output_in_a_narrow_encoding(tmp_path, encoding):
    (tmp_path / "a.py").write_text("import torch\nx = '漢字' (\n", encoding="utf-8")
    environment = {**os.environ, "PYTHONIOENCODING": encoding, "PYTHONPATH": PATH}
    done = subprocess.run(
        [sys.executable, "-m", "transferlint", "check", "a.py"],
        capture_output=True,
        cwd=tmp_path,
        env=environment,
        timeout=600,
        check=False,
    )
    assert (done.returncode, done.stderr) == (1, b"")
    assert b"TL001" in done.stdout
