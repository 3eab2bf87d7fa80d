"""The baseline: what it knows again, what it does not, and when an entry is stale (TL004)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from transferlint.model import Confidence, Finding, Site
from transferlint.settings.loading import SettingsError
from transferlint.suppressions import baseline


def finding(path: str, line: int, code: str = "TL101", context: str = "train", source: str = "loss.item()") -> Finding:
    return Finding(code, "some-rule", Site(path, line, 5, line, 16), "message", context=context, source=source)


@pytest.fixture
def known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Write a baseline of findings into the current folder and read it again."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "src").mkdir()
    for name in ("a.py", "b.py"):
        (tmp_path / "src" / name).write_text("")

    def write(*findings: Finding) -> baseline.Baseline:
        text = baseline.render(findings, "known.json", Confidence.LIKELY, "project")
        Path("known.json").write_text(text)
        return baseline.read("known.json")

    return write


def test_what_it_holds_is_known_wherever_its_line_moved(known):
    made = known(finding("src/a.py", 4))
    new, seen = made.split([finding("src/a.py", 40)])
    assert (new, len(seen)) == ([], 1)


def test_equal_findings_are_counted(known):
    made = known(finding("src/a.py", 4), finding("src/a.py", 9))
    (entry,) = made.entries.values()
    assert (entry.count, entry.path, entry.context) == (2, "src/a.py", "train")
    findings = [finding("src/a.py", line) for line in (1, 2, 3)]
    new, seen = made.split(findings)
    assert new == findings[2:]
    assert len(seen) == 2


@pytest.mark.parametrize(
    "other",
    [
        finding("src/b.py", 4),
        finding("src/a.py", 4, code="TL102"),
        finding("src/a.py", 4, context="evaluate"),
        finding("src/a.py", 4, source="loss.mean().item()"),
    ],
)
def test_another_finding_is_new(known, other):
    new, seen = known(finding("src/a.py", 4)).split([other])
    assert (new, seen) == ([other], [])


def test_paths_are_relative_to_the_baseline(known, tmp_path, monkeypatch):
    known(finding("src/a.py", 4))
    monkeypatch.chdir(tmp_path / "src")
    made = baseline.read("../known.json")
    assert made.split([finding("a.py", 4)])[0] == []
    assert made.split([finding(str(tmp_path / "src" / "a.py"), 4)])[0] == []


def test_an_entry_is_stale_where_its_rule_ran_on_its_file(known):
    made = known(finding("src/a.py", 4), finding("src/b.py", 4, code="TL401"))
    _, seen = made.split([finding("src/a.py", 4)])
    assert list(made.stale(seen, [("src/a.py", "TL101"), ("src/b.py", "TL101"), ("src/a.py", "TL401")])) == []
    (stale,) = made.stale(seen, [("src/b.py", "TL401")])
    assert (stale.code, stale.site.path, stale.site.line) == ("TL004", "known.json", 5)
    assert stale.message == "the entry for `loss.item()` in src/b.py is stale: TL401 is no longer found there"
    assert Path("known.json").read_text().splitlines()[stale.site.line - 1].count("TL401") == 1


def test_an_entry_may_count_too_many(known):
    made = known(*(finding("src/a.py", line) for line in (1, 2, 3)))
    _, seen = made.split([finding("src/a.py", 1)])
    (stale,) = made.stale(seen, [("src/a.py", "TL101")])
    assert "TL101 is, 2 of 3 times, no longer found there" in stale.message


def test_an_entry_of_a_file_that_is_gone_is_stale(known):
    made = known(finding("src/gone.py", 4))
    (stale,) = made.stale([], [])
    assert "its file does not exist" in stale.message


def test_nothing_of_the_file_depends_on_order(known):
    one, two = finding("src/a.py", 4), finding("src/b.py", 4)
    texts = {baseline.render(order, "known.json", Confidence.LIKELY, "file") for order in ([one, two], [two, one])}
    assert len(texts) == 1
    assert json.loads(texts.pop())["context"] == "file"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is no baseline (Expecting value"),
        ("[]", "is no baseline (list indices"),
        ('{"version": 2}', "is no baseline (version 2, not 1)"),
        ('{"version": 1, "min_confidence": "likely", "context": "file"}', "is no baseline ('findings')"),
        ('{"version": 1, "findings": [{}]}', "is no baseline ('fingerprint')"),
        ('{"version": 1, "findings": 3}', "is no baseline ('int' object"),
    ],
)
def test_what_is_no_baseline_is_refused_in_one_line(tmp_path, monkeypatch, text, message):
    monkeypatch.chdir(tmp_path)
    Path("known.json").write_text(text)
    with pytest.raises(SettingsError) as caught:
        baseline.read("known.json")
    assert str(caught.value).startswith(f"known.json: {message}")
    assert "\n" not in str(caught.value)


def test_a_baseline_that_is_missing_says_how_to_write_one(tmp_path):
    with pytest.raises(SettingsError, match="no such baseline; `--write-baseline` makes one"):
        baseline.read(str(tmp_path / "none.json"))
