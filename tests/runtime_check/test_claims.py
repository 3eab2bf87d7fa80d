"""What each rule claims, held against a run that bears it out and one that refutes it."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from simulated import need_accelerator

from runtime_check import claims
from transferlint import registry

PROGRAM = Path(__file__).parent / "claims" / "program.py"
# Rules that the program has no line for, and why.
ELSEWHERE = {
    "TL306": "a wait that is written out waits on every device",
    "TL307": "it is about what JAX and TensorFlow compile, which the recorder does not see",
    "TL506": "a collective takes several processes",
}


@pytest.fixture(scope="module")
def verdicts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[tuple[int, str], str]]:
    """By device, the verdict on each finding, by line and code."""
    need_accelerator()
    folder = tmp_path_factory.mktemp("claims")
    shutil.copy(PROGRAM, folder)
    (folder / "pyproject.toml").write_text('[tool.transferlint]\nselect = ["TL"]\n')
    return {device: judged(folder, device) for device in ("cuda", "cpu")}


def judged(folder: Path, device: str) -> dict[tuple[int, str], str]:
    command = [sys.executable, "-m", "transferlint", "verify", "--level", "simulate", "-q", PROGRAM.name, device]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    made = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=600, check=False
    )
    assert made.returncode == 0, made.stderr
    report = json.loads((folder / "transferlint-run" / "report.json").read_text())
    return {(one["line"], one["code"]): one["verdict"] for one in report["verdicts"]}


def tagged() -> set[tuple[int, str]]:
    """The lines of the program that a rule claims something of."""
    lines = PROGRAM.read_text().splitlines()
    return {(number, tag[1]) for number, line in enumerate(lines, 1) if (tag := re.search(r"# (TL\d+)$", line))}


def test_every_rule_that_claims_something_has_a_line() -> None:
    codes = {rule.code for rule in registry.load().rules}
    claiming = {code for code in codes if not code.startswith(claims.NO_TRANSFER)}
    assert {code for _, code in tagged()} == claiming - ELSEWHERE.keys()


def test_a_run_bears_out_each_claim(verdicts: dict[str, dict[tuple[int, str], str]]) -> None:
    assert verdicts["cuda"] == dict.fromkeys(tagged(), "confirmed")


def test_a_run_refutes_each_claim(verdicts: dict[str, dict[tuple[int, str], str]]) -> None:
    assert verdicts["cpu"] == dict.fromkeys(tagged(), "refuted")
