"""What other services read is as their published schemas say; check-jsonschema brings copies of these."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from acting import ROOT, complaints, component

FORMS = sorted(path for path in (ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml") if path.stem != "config")
FILES = [
    ("github-actions", ROOT / "action.yml"),
    *(("github-workflows", path) for path in sorted((ROOT / ".github" / "workflows").glob("*.yml"))),
    *(("github-issue-forms", path) for path in FORMS),
    ("github-issue-config", ROOT / ".github" / "ISSUE_TEMPLATE" / "config.yml"),
    ("dependabot", ROOT / ".github" / "dependabot.yml"),
]


@pytest.mark.parametrize(("schema", "path"), FILES, ids=lambda value: getattr(value, "name", value))
def test_a_file_is_as_its_schema_says(schema: str, path: Path) -> None:
    assert complaints(schema, path) == ""


def test_a_wrong_file_is_refused(tmp_path: Path) -> None:
    wrong = tmp_path / "action.yml"
    wrong.write_text((ROOT / "action.yml").read_text(encoding="utf-8").replace("using: composite", "using: shell"))
    assert "using" in complaints("github-actions", wrong)


def test_both_parts_of_the_component_are_as_gitlab_says(tmp_path: Path) -> None:
    for name, part in zip(("header", "job"), component(), strict=True):
        path = tmp_path / f"{name}.json"
        path.write_text(json.dumps(part), encoding="utf-8")
        assert complaints("gitlab-ci", path) == ""


def test_hadolint_has_nothing_against_the_image() -> None:
    hadolint = shutil.which("hadolint", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    if hadolint is None:
        pytest.skip("hadolint is not installed: its package has no build for this platform")
    made = subprocess.run([hadolint, "--no-color", "Dockerfile"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (made.returncode, made.stdout) == (0, "")


def test_the_image_is_built_of_what_the_package_needs() -> None:
    """What .dockerignore lets through are the folders of the package, and the files that its metadata names."""
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    table = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    folders = {name.partition(".")[0] for name in table["tool"]["setuptools"]["packages"]}
    named = {table["tool"]["setuptools"]["package-dir"].get(name, name) for name in folders}
    wanted = named | {"pyproject.toml", table["project"]["readme"], *table["project"]["license-files"]}
    let = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    assert {line[1:] for line in let if line.startswith("!")} == wanted


def test_what_the_workflows_run_is_there() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.MULTILINE))
    met = 0
    for path in sorted((ROOT / ".github" / "workflows").glob("*.yml")):
        text = path.read_text(encoding="utf-8")
        assert set(re.findall(r"make ([a-z-]+)", text)) <= targets
        for script in re.findall(r"(?:bash|python3) (\S+)", text):
            assert (ROOT / script).is_file(), f"{path.name}: {script}"
            met += 1
    assert met >= 2
