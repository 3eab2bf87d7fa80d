"""What the repository keeps to as a whole."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
TEXT = {".py", ".md", ".toml", ".txt", ".yaml", ".yml", ".cfg", ".json", ""}
# Paths of one machine and words about how this was made say nothing to whoever reads the code.
FORBIDDEN = ("/" + "work/", "sha" + "red/", "helper" + " session")
SUPPORT = {
    "acting.py",
    "keystrokes.py",
    "chromium.py",
    "counting.py",
    "training.py",
    "tracing.py",
    "driving.py",
    "pages.py",
    "generating.py",
    "feeding.py",
    "interrupts.py",
    "proving.py",
    "showing.py",
    "simulated.py",
    "listening.py",
    "kineto.py",
    "editing.py",
}  # what tests import
VAGUE = {"utils", "helpers", "common", "manager", "misc"}


def files() -> list[Path]:
    """Every file that is tracked, or would be; the whole folder where this is no git checkout."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    try:
        listed = subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout.decode().split("\0")
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("not a git checkout")
    return [ROOT / name for name in listed if name and (ROOT / name).is_file()]


def setuptools_table() -> dict[str, Any]:
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    table: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["setuptools"]
    return table


def test_no_text_names_where_it_was_made() -> None:
    found = []
    for path in files():
        if path.suffix in TEXT:
            text = path.read_text(encoding="utf-8", errors="replace")
            found += [f"{path.relative_to(ROOT)}: {word}" for word in FORBIDDEN if word in text]
    assert found == []


def test_no_file_has_a_name_that_says_nothing() -> None:
    assert [path.name for path in files() if path.stem in VAGUE] == []


def test_every_package_on_disk_is_packaged() -> None:
    on_disk = {
        ".".join(path.parent.relative_to(ROOT).parts)
        for top in ("transferlint", "rules", "runtime_check")
        for path in (ROOT / top).rglob("__init__.py")
    }
    assert set(setuptools_table()["packages"]) == {re.sub(r"^rules\b", "transferlint_rules", name) for name in on_disk}


def test_nothing_but_rules_lies_beside_them() -> None:
    beside = [path.name for path in (ROOT / "rules").glob("*.py") if not re.match(r"tl\d{3}_\w+\.py$", path.name)]
    assert beside == ["__init__.py"]


def test_the_rule_pack_refuses_another_name() -> None:
    code = "import sys; sys.path.insert(0, sys.argv[1])\ntry:\n import rules\nexcept ImportError as e:\n print(e)"
    made = subprocess.run([sys.executable, "-c", code, str(ROOT)], capture_output=True, text=True, check=True)
    assert made.stdout.startswith("this package is installed as transferlint_rules")


def test_nobody_imports_the_rule_pack_by_name() -> None:
    pattern = re.compile(r"^\s*(from|import) transferlint_rules\b", re.MULTILINE)
    code = [path for path in files() if path.suffix == ".py" and path.parts[len(ROOT.parts)] != "tests"]
    assert [path for path in code if pattern.search(path.read_text(encoding="utf-8", errors="replace"))] == []


def test_the_rule_pages_are_current() -> None:
    command = [sys.executable, str(ROOT / "docs" / "generate.py"), "--check"]
    made = subprocess.run(command, capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stdout + made.stderr + "write them with: make docs"


def test_every_test_file_is_found() -> None:
    tests = [path for path in files() if path.parts[len(ROOT.parts)] == "tests" and path.suffix == ".py"]
    programs = {"claims", "fixtures", "fuzz", "programs", "site-packages"}
    inner = [path for path in tests if not programs & set(path.parts)]
    strays = [path.name for path in inner if path.name not in {"conftest.py", "__init__.py", *SUPPORT}]
    assert [name for name in strays if not name.startswith("test_")] == []


def test_programs_hold_no_tests() -> None:
    programs = [path for path in files() if "programs" in path.parts and path.suffix == ".py"]
    assert len(programs) >= 25
    assert [path.name for path in programs if path.name.startswith("test_") or path.name == "conftest.py"] == []


def test_the_addresses_of_the_package_are_those_that_reports_name() -> None:
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    from transferlint import links

    urls = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["urls"]
    assert (urls["Homepage"], urls["Documentation"]) == (links.HOME, links.PAGES)
    assert (ROOT / links.rule_page("TL101").removeprefix(links.PAGES).join(("docs", ""))).is_file()
