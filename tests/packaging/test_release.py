"""What `docs/release.py` reads of the changelog, and that this one can be read."""

from __future__ import annotations

import re
import runpy
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
RELEASE = runpy.run_path(str(ROOT / "docs" / "release.py"))
obstacles: Callable[[str, str, str], list[str]] = RELEASE["obstacles"]
PROJECT = 'name = "x"\nversion = "0.2.0"\n'
LOG = "# Changelog\n\n## [Unreleased](https://x)\n\n- new\n\n## [0.2.0] - 2026-12-01\n\n### Added\n\n- this\n"


def test_a_tree_that_is_ready_has_no_obstacles() -> None:
    assert obstacles("v0.2.0", PROJECT, LOG) == []
    assert RELEASE["sections"](LOG)["0.2.0"] == ("- 2026-12-01", "### Added\n\n- this")


@pytest.mark.parametrize(
    ("tag", "project", "log", "word"),
    [
        ("0.2.0", PROJECT, LOG, "a tag is v"),
        ("v0.2.1", PROJECT, LOG, "version is 0.2.0"),
        ("v0.2.0", PROJECT, LOG.replace(" - 2026-12-01", ""), "no section of 0.2.0 with its date"),
        ("v0.2.0", PROJECT, LOG.partition("### Added")[0], "is empty"),
    ],
)
def test_what_is_missing_is_said(tag: str, project: str, log: str, word: str) -> None:
    assert any(word in line for line in obstacles(tag, project, log))


def test_the_changelog_is_kept_by_versions() -> None:
    sections = RELEASE["sections"]((ROOT / "CHANGELOG.md").read_text(encoding="utf-8"))
    assert next(iter(sections)) == RELEASE["UNRELEASED"]
    for version, (heading, _) in sections.items():
        assert version == RELEASE["UNRELEASED"] or re.fullmatch(r"- \d{4}-\d{2}-\d{2}( \[YANKED\])?", heading)


@pytest.mark.parametrize("name", ["README.md", "docs/ci.md", "templates/transferlint.yml"])
def test_the_version_that_is_shown_is_this_one(name: str) -> None:
    found = re.search(r'^version = "(.+)"$', (ROOT / "pyproject.toml").read_text(encoding="utf-8"), re.MULTILINE)
    assert found
    text = (ROOT / name).read_text(encoding="utf-8")
    shown = set(re.findall(r"(?:transferlint(?:@v|==|/v|\.git#v)|rev: v)(\d+\.\d+\.\d+\w*)", text))
    assert shown <= {found[1]}
