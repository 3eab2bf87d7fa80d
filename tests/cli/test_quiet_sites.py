"""`check --quiet-sites`: the transfers that are quiet on purpose, in JSON, and only where they are asked for."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

PROGRAM = """\
import torch


def play(policy, envs, steps):
    policy = policy.to("cuda")
    seen = torch.zeros(4, device="cuda")
    for step in range(steps):
        action = policy(seen).argmax()
        state = envs.step(action.cpu().numpy())
        total = action.item()  # transferlint: ignore[TL101] the log wants it
        print(total, state)
"""


def check(folder: Path, *options: str) -> dict[str, object]:
    command = [sys.executable, "-m", "transferlint", "check", "--isolated", "-f", "json", *options, "."]
    made = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    found: dict[str, object] = json.loads(made.stdout)
    return found


def test_they_are_listed_with_their_reasons_where_they_are_asked_for(tmp_path: Path) -> None:
    (tmp_path / "play.py").write_text(PROGRAM, encoding="utf-8")
    plain, asked = check(tmp_path), check(tmp_path, "--quiet-sites")
    assert "quiet" not in plain
    listed = asked.pop("quiet")
    assert asked == plain
    assert isinstance(listed, list)
    by_line = {one["line"]: one for one in listed}
    action = by_line[PROGRAM.splitlines().index("        state = envs.step(action.cpu().numpy())") + 1]
    assert (action["path"], action["column"], action["end_column"]) == ("play.py", 27, 39)
    assert (action["direction"], action["kind"]) == ("d2h", "host")
    assert "envs.step" in action["reason"]
    silent = [one for one in listed if one["kind"] == "suppressed"]
    assert ["the log wants it" in one["reason"] and one["direction"] is None for one in silent] == [True]


def test_the_baseline_is_a_purpose_too(tmp_path: Path) -> None:
    (tmp_path / "play.py").write_text(PROGRAM.replace("  # transferlint: ignore[TL101] the log wants it", ""))
    subprocess.run(
        [sys.executable, "-m", "transferlint", "check", "--isolated", "--baseline", "known.json", "--write-baseline"],
        cwd=tmp_path,
        check=True,
        capture_output=True,
    )
    asked = check(tmp_path, "--quiet-sites", "--baseline", "known.json")
    assert asked["findings"] == []
    assert isinstance(asked["quiet"], list)
    assert "baseline" in {one["kind"] for one in asked["quiet"]}
