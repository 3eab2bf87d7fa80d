"""`check` needs no torch: with torch and numpy blocked, every rule loads and the examples are checked."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BLOCKED = """
import sys


class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {"torch", "numpy"}:
            raise ImportError(f"{name} is blocked")
        return None


sys.meta_path.insert(0, Blocker())
from transferlint import cli, registry

loaded = registry.load()
assert loaded.refused == (), loaded.refused
assert loaded.rules
sys.exit(cli.main(["check", "--isolated", "--output-format", "concise", "--select", "ALL", *sys.argv[1:]]))
"""


def check(*names: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", BLOCKED, *names]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def test_every_rule_loads_and_the_examples_are_checked() -> None:
    made = check("examples/train.py")
    assert made.returncode == 1, made.stderr
    codes = {line.split()[1] for line in made.stdout.splitlines() if line.startswith("examples/train.py:")}
    assert {"TL101", "TL103", "TL201", "TL301", "TL401", "TL501"} <= codes


def test_the_well_written_example_reports_nothing() -> None:
    made = subprocess.run(
        [sys.executable, "-m", "transferlint", "check", "--isolated", "examples/train_well.py"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert made.returncode == 0, made.stdout + made.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ["examples/train.py"],
        ["examples/train.py", "--context", "file"],
        ["examples/train.py", "-f", "json"],
        ["-", "--stdin-filename", "examples/train.py"],
    ],
)
def test_a_file_is_checked_without_heavy_imports(arguments: list[str], tmp_path: Path) -> None:
    """Twice, so that the second time everything is in the cache."""
    code = (
        "import sys; from transferlint import cli; "
        "cli.main(['check', '--isolated', '--output-format', 'concise', *sys.argv[1:]]); "
        "sys.exit(' '.join({'libcst', 'rich', 'torch'} & set(sys.modules)))"
    )
    for _ in range(2):
        made = subprocess.run(
            [sys.executable, "-c", code, *arguments],
            cwd=ROOT,
            env={**os.environ, "TRANSFERLINT_CACHE_DIR": str(tmp_path)},
            input=(ROOT / "examples" / "train.py").read_text(encoding="utf-8"),
            capture_output=True,
            text=True,
            check=False,
        )
        assert made.stderr.strip() == ""
        assert "TL101" in made.stdout


def test_version_is_said_without_heavy_imports() -> None:
    code = (
        "import sys; from transferlint import cli; cli.main(['--version']); "
        "sys.exit(' '.join({'libcst', 'rich', 'torch', 'pathspec'} & set(sys.modules)))"
    )
    made = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert made.stderr.strip() == ""
    assert made.stdout.startswith("transferlint ")
