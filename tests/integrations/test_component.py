"""The component of GitLab: the commands of its job are run in order, as GitLab's runner does, with `pip` left out."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from acting import BUG, component


@pytest.fixture
def job() -> dict[str, Any]:
    made: dict[str, Any] = component()[1]["transferlint"]
    return made


def run(job: dict[str, Any], folder: Path, script: list[str]) -> int:
    """Run a job in a folder; the exit code of `before_script` and `script`. `after_script` runs in any case."""
    programs = folder.parent / "bin"
    programs.mkdir(exist_ok=True)
    check = f'"{sys.executable}" -m transferlint "$@"'
    for name, code in (("python", 'echo "$*" >> ../pip.log'), ("transferlint", check)):
        (programs / name).write_text(f"#!/usr/bin/env bash\n{code}\n")
        (programs / name).chmod(0o755)
    variables = {"CI_PROJECT_DIR": str(folder), "PATH": f"{programs}:{os.environ['PATH']}"}
    for name, value in job["variables"].items():
        inside = value.replace("$CI_PROJECT_DIR", str(folder))
        variables[name] = inside if inside != value else value.replace("/tmp", str(folder.parent))

    def shell(lines: list[str]) -> int:
        command = ["bash", "-e", "-o", "pipefail", "-c", "\n".join(lines)]
        environment = {**os.environ, **variables}
        return subprocess.run(command, cwd=folder, env=environment, capture_output=True, check=False).returncode

    code = shell([*job["before_script"], *script])
    assert shell(job["after_script"]) == 0
    return code


def test_findings_are_a_report_and_fail_the_job(job: dict[str, Any], tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    (work / "train.py").write_text(BUG)
    assert run(job, work, job["script"]) == 1
    report = json.loads((work / job["artifacts"]["reports"]["codequality"]).read_text())
    assert [(one["check_name"].split()[0], one["location"]["path"]) for one in report] == [("TL101", "train.py")]
    assert (tmp_path / "pip.log").read_text().split()[-1] == "transferlint"

    kept = work / job["cache"]["paths"][0]
    assert any(kept.iterdir())
    for path in (kept, *kept.rglob("*")):  # GitLab unpacks with umask 0
        path.chmod(path.stat().st_mode | 0o022)
    before = {path.relative_to(kept): path.read_bytes() for path in kept.rglob("*.*") if path.is_file()}
    used = 'test -z "$(find "$TRANSFERLINT_CACHE_DIR" -perm -002)" && ls -A "$TRANSFERLINT_CACHE_DIR" > ../used'
    assert run(job, work, [used]) == 0
    assert set((tmp_path / "used").read_text().split()) == {path.name for path in kept.iterdir()}
    assert {name for name in before if (kept / name).exists()} == before.keys()
