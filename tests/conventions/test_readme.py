"""The README shows what is: its example is printed so, its settings exist, its commands are there."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from transferlint import links
from transferlint.settings import loading

ROOT = Path(__file__).resolve().parents[2]
BLOB = f"{links.HOME}/blob/main/"
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", README, flags=re.MULTILINE | re.DOTALL)


def test_the_findings_shown_are_the_findings_printed() -> None:
    command = [sys.executable, "-m", "transferlint", "check", "--isolated", "examples/train.py"]
    made = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    shown = [finding for block in blocks("text") for finding in block.strip().split("\n\n")]
    printed = [finding.strip() for finding in made.stdout.split("\n\n")]
    assert shown
    assert [finding for finding in shown if finding not in printed] == []


def test_the_settings_shown_are_accepted() -> None:
    shown = next(block for block in blocks("toml") if block.startswith("[tool.transferlint]"))
    made = loading.inline(shown.replace("[tool.transferlint]\n", ""), loading.Settings())
    assert made.per_file_ignores == (("scripts/*.py", ("TL1",)),)


def test_the_make_targets_shown_exist() -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.MULTILINE))
    assert set(re.findall(r"(?:^|`)make ([a-z]+)", README, flags=re.MULTILINE)) <= targets


def test_what_is_linked_exists() -> None:
    """Links are absolute, since PyPI shows this page too, and name files of this repository."""
    targets = re.findall(r"\]\(([^)#]+)[^)]*\)", README)
    assert targets
    assert [link for link in targets if not link.startswith(BLOB)] == []
    assert [link for link in targets if not (ROOT / link.removeprefix(BLOB)).exists()] == []
