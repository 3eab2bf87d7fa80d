"""`make demo` verifies one example: a finding is confirmed, one refuted, and something missed; all of it said."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def test_the_demo_shows_a_confirmed_a_refuted_and_a_missed_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch")
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    line = next(one for one in (ROOT / "Makefile").read_text().splitlines() if "$(BIN)/transferlint verify" in one)
    words = line.strip().lstrip("@").partition(" || ")[0].split()[1:]
    words[1:1] = ["--output", str(tmp_path)]
    command = [sys.executable, "-m", "transferlint", *words]
    made = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=600)
    if made.returncode == 2 and "the simulated accelerator cannot start" in made.stderr:
        pytest.skip(made.stderr.strip().splitlines()[-1])
    assert made.returncode == 0, made.stderr
    source = (ROOT / "examples" / "sequences.py").read_text().splitlines()
    verdicts = re.findall(r"^(confirmed|refuted|missed) +examples/sequences\.py:(\d+)", made.stderr, re.MULTILINE)
    assert [(kind, source[int(number) - 1].strip()) for kind, number in verdicts] == [
        ("confirmed", "total += loss.item()"),
        ("refuted", "tokens = tokens[:, : lengths.cpu().max()]  # nothing behind the longest"),
        ("missed", "scheduler.step(loss.detach())"),
    ]
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    shown = re.findall(r"^```console\n(.*?)^```$", readme, re.DOTALL | re.MULTILINE)
    lines_of_torch = re.compile(r"(?<=lr_scheduler\.py:)\d+")  # which differ by its version
    assert lines_of_torch.sub("N", shown[0]) in lines_of_torch.sub("N", made.stderr)
    assert made.stderr.count("seen: 32 times (1 a step), d2h, 128 B") == 2
    assert "seen: it ran 32 times, and the value was already there" in made.stderr
    assert made.stdout.startswith("epoch 0: loss 0.")


def test_the_example_learns_the_same_on_the_host(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch")
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    command = [sys.executable, "examples/sequences.py", "--device", "cpu"]
    made = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, timeout=600)
    first, last = (float(line.rpartition(" ")[2]) for line in made.stdout.splitlines())
    assert last < first / 2
