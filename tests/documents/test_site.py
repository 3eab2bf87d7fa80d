"""The site builds without a warning, has every page in its navigation, and links lead somewhere."""

from __future__ import annotations

import json
import re
import runpy
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urldefrag

import pytest
from pages import DOCS, PAGES, ROOT, RULE_PAGES

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib
HOME = "https://github.com/OWNER/transferlint/blob/main/"
LARGEST = 200_000  # bytes of a picture


class Page(HTMLParser):
    """The addresses that a page refers to, and the names within it."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.targets: list[str] = []
        self.names: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.names |= {value for name in ("id", "name") if (value := given.get(name))}
        self.targets += [value for name in ("href", "src") if (value := given.get(name))]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built from copies so that nothing is written beside the pages."""
    pytest.importorskip("zensical", reason="zensical needs Python 3.11 or later")
    folder = tmp_path_factory.mktemp("site")
    shutil.copytree(DOCS, folder / "docs", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "zensical.toml", folder)
    command = [sys.executable, "-m", "zensical", "build", "--clean", "--strict"]
    made = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stdout + made.stderr
    assert "No issues found" in made.stdout + made.stderr
    return folder / "build" / "site"


def test_links_within_the_site_lead_somewhere(site: Path) -> None:
    pages = {path: Page(path) for path in site.rglob("*.html")}
    assert len(pages) > 50
    broken = []
    for path, page in pages.items():
        if path.name == "404.html":  # shown at any address, so that its links are absolute
            continue
        for target in page.targets:
            if re.match(r"[a-z]+:", target):
                continue
            address, name = urldefrag(target)
            found = (path.parent / unquote(address)).resolve() if address else path
            found = found / "index.html" if found.is_dir() else found
            known = pages[found].names if found in pages else None
            if not found.exists() or (name and known is not None and unquote(name) not in known):
                broken.append(f"{path.relative_to(site)}: {target}")
    assert broken == []


def test_nothing_is_fetched_from_elsewhere(site: Path) -> None:
    for path in (site / "index.html", site / "rules" / "TL101" / "index.html"):
        text = path.read_text(encoding="utf-8")
        assert re.findall(r'<(?:script|img|link rel="stylesheet")[^>]*(?:src|href)="(?:https?:)?//[^"]*"', text) == []


def test_programs_are_no_part_of_the_site(site: Path) -> None:
    assert list(site.rglob("*.py")) == []


def entries(table: Any) -> list[str]:
    """The pages of a navigation, however deep."""
    if isinstance(table, str):
        return [table]
    return [name for one in (table.values() if isinstance(table, dict) else table) for name in entries(one)]


def test_every_page_is_in_the_navigation() -> None:
    settings = tomllib.loads((ROOT / "zensical.toml").read_text(encoding="utf-8"))["project"]
    wanted = {path.relative_to(DOCS).as_posix() for path in (*PAGES[1:], *RULE_PAGES)}
    assert set(entries(settings["nav"])) == wanted


def test_what_is_linked_in_the_repository_exists() -> None:
    texts = {path: path.read_text(encoding="utf-8") for path in (*PAGES, *RULE_PAGES)}
    broken = []
    for path, text in texts.items():
        for target in re.findall(rf"\]\({re.escape(HOME)}([^)#]*)", text):
            broken += [] if (ROOT / target).exists() else [f"{path.name}: {target}"]
        for target in re.findall(r"!\[[^\]]*\]\(([^):]+)\)", text):
            broken += [] if (path.parent / target).is_file() else [f"{path.name}: {target}"]
    assert broken == []


def test_pictures_are_small_and_current() -> None:
    pictures = list((DOCS / "pictures").iterdir())
    used = "".join(path.read_text(encoding="utf-8") for path in PAGES)
    assert [path.name for path in pictures if f"pictures/{path.name}" not in used] == []
    assert [path.name for path in pictures if path.stat().st_size > LARGEST] == []
    command = [sys.executable, str(DOCS / "pictures.py"), "--check"]
    made = subprocess.run(command, capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stdout + made.stderr + "write them with: make docs"


def test_the_comparison_quotes_what_was_measured() -> None:
    module = runpy.run_path(str(ROOT / "benchmarks" / "comparison.py"))
    result = json.loads((ROOT / "benchmarks" / "results" / "comparison.json").read_text(encoding="utf-8"))
    page = (DOCS / "comparison.md").read_text(encoding="utf-8")
    for table in module["tables"](result):
        assert table in page
    profiler = result["profiler"]
    assert f"{profiler['operators']} operators of torch, and {profiler['reads']} reads" in page
    assert f"`{profiler['frames'][0]}`" in page
    assert f"{result['programs']} small programs" in page
    own = result["tools"]["transferlint"]
    assert f"Of the {result['lines']['waits'] - own['waits']} lines" in page
    assert f"it says of {own['explained']} why it is silent" in page


def test_functions_of_torch_that_rules_link_exist() -> None:
    torch = pytest.importorskip("torch")
    names = {
        name for path in RULE_PAGES for name in re.findall(r"/generated/(torch[\w.]*)\.html", path.read_text("utf-8"))
    }
    assert len(names) > 15
    for name in names:
        value: Any = torch
        for part in name.split(".")[1:]:
            value = getattr(value, part)


@pytest.mark.parametrize("dry", [False, True])
def test_a_rule_says_what_its_fix_was_measured_to_gain(dry: bool) -> None:
    """Results of `benchmarks.fixes` from a GPU are on the page; those of a dry run are none."""
    counted = runpy.run_path(str(DOCS / "generate.py"))["_counted"]
    counts = {name: {"h2d": 0, "d2h": 1, "waits": 1} for name in ("before", "after")}
    step = {"ratio": 1.251, "low": 1.2, "high": 1.3}
    results = {
        "crossings.json": {"rules": {"TL101": {"about": "A sum.", **counts}}},
        "fixes.json": {"about": {"device": "X"}, "dry": dry, "rules": [{"code": "TL101", "step_ns": step}]},
    }
    counted.__globals__["_results"] = results.__getitem__
    said = "\n".join(counted("TL101"))
    assert ("Time per step on X, before over after: 1.25 (1.20 to 1.30)" in said) is not dry
    assert list(counted("TL999")) == []
