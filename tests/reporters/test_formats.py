"""Every format says what the report says, in the way of its readers."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from transferlint.model import Edit, Evidence, Finding, Fix, Safety, Site
from transferlint.reporters import concise, github, sarif, statistics, text
from transferlint.reporters import json as json_reporter
from transferlint.reporters.report import Report, lines_of, position, summary

# The OASIS schema of SARIF 2.1.0 in the edition rtm.5 of the JSON Schema Store, as the npm package
# @microsoft/jest-sarif (MIT licence) ships it; see the file beside it.
SCHEMA = json.loads((Path(__file__).parent / "sarif-schema-2.1.0.json").read_text(encoding="utf-8"))


def test_text(report):
    assert text.render(report) == (
        "src/a b.py:6:14 TL101 `sum(out).item()` makes the host wait, 100%: really\n"
        "   2 | model.to(device)\n"
        "     | ---------------- on the device: model moved here\n"
        " ...\n"
        "   5 |     out = model(batch)  # 漢字\n"
        "     |           ------------ on the device\n"
        "   6 |     total += sum(\n"
        "     |              ^^^^\n"
        "   7 |         out).item()\n"
        "     |         ^^^^^^^^^^^ d2h, a sync\n"
        "   = note: called here (lib/other.py:9)\n"
        "   = hot: per step, in the loop over `loader` at line 4\n"
        "   = use instead: total += sum(out).detach()   [fix: --unsafe-fixes]\n"
        "\n"
        "src/a b.py:2:1 TL401 created on the host, then moved\n"
        "   2 | model.to(device)\n"
        "     | ^^^^^^^^\n"
        "   = heat: per step, but every 100 steps\n"
        "   = fix: create it there   [fix: --fix]\n"
        "\n"
        "/abs/é.py:3:1 TL001 no, Python: 2\n"
        "\n"
        "Found 3 findings (1 fixable with --fix, 1 with --unsafe-fixes) in 3 files.\n"
        "     1  TL001  [ ]  unparsable-file\n"
        "     1  TL101  [u]  scalar-read-in-hot-code\n"
        "     1  TL401  [*]  create-then-move\n"
    )


def test_one_line_between_marks_is_shown(report):
    first = report.findings[0]
    evidence = (Evidence(Site("src/a b.py", 4, 1, 4, 4), "the loop"),)
    shown = text.render(dataclasses.replace(report, findings=(dataclasses.replace(first, evidence=evidence),)))
    assert "   4 | for batch in loader:\n     | --- the loop\n   5 |     out = model" in shown


@pytest.mark.parametrize(
    ("line", "column", "end", "shown", "marks"),
    [
        ("\tx.item()", 2, 10, "    x.item()", "    ^^^^^^^^"),
        ("漢 = x.item()", 5, 13, "漢 = x.item()", "     ^^^^^^^^"),
        ("e\u0301 = x.item()", 6, 14, "e\u0301 = x.item()", "    ^^^^^^^^"),
        ("a\x1b[31m = x.y", 9, 12, "a\\x1b[31m = x.y", "           ^^^"),
    ],
)
def test_marks_stand_under_what_they_mark(line, column, end, shown, marks):
    finding = Finding("TL101", "x", Site("a.py", 1, column, 1, end), "m")
    rendered = text.render(Report((finding,), {"a.py": line}, 1)).splitlines()
    assert rendered[1] == f"   1 | {shown}"
    assert rendered[2] == f"     | {marks}"


def test_a_site_beyond_the_text_shows_no_source():
    finding = Finding("TL101", "x", Site("a.py", 9, 1, 9, 2), "m")
    assert text.render(Report((finding,), {"a.py": "x\n"}, 1), quiet=True) == "a.py:9:1 TL101 m\n\n"


def test_concise(report):
    assert concise.render(report).splitlines() == [
        "src/a b.py:6:14 TL101 `sum(out).item()` makes the host wait, 100%: really [fix: --unsafe-fixes]",
        "src/a b.py:2:1 TL401 created on the host, then moved [fix: --fix]",
        "/abs/é.py:3:1 TL001 no, Python: 2",
        "Found 3 findings (1 fixable with --fix, 1 with --unsafe-fixes) in 3 files.",
    ]


def test_json(report):
    shown = json.loads(json_reporter.render(report))
    first, second, third = shown["findings"]
    assert shown["version"] == "1.2.3"
    assert {key: first[key] for key in ("path", "line", "column", "end_line", "end_column", "code", "name")} == {
        "path": "src/a b.py", "line": 6, "column": 14, "end_line": 7, "end_column": 20,
        "code": "TL101", "name": "scalar-read-in-hot-code",
    }  # fmt: skip
    assert first["confidence"] == "likely"
    assert first["heat"]["level"] == "per_step"
    assert first["heat"]["hot"] is True
    assert second["heat"]["amortised"] == "every 100 steps"
    assert [link["line"] for link in first["evidence"]] == [2, 5, 6, 9]
    assert first["fix"] == {
        "title": "keep it on the device",
        "safety": "unsafe",
        "edits": [
            {"start": 108, "end": 115, "line": 7, "column": 13, "end_line": 7, "end_column": 20, "text": ".detach()"}
        ],
    }
    assert (third["heat"], third["fix"], third["help"]) == (None, None, "")
    assert len({found["fingerprint"] for found in shown["findings"]}) == 3
    assert shown["errors"][0] == {"path": "gone.py", "message": "no such file or folder"}
    assert shown["summary"] == {
        "files": 3, "findings": 3, "fixed": 0, "fixable": 1, "fixable_unsafely": 1,
        "fixed_by_code": {},
        "suppressed": 0,
        "in_baseline": 0,
        "by_code": {"TL001": 1, "TL101": 1, "TL401": 1},
    }  # fmt: skip


def test_github_escapes(report):
    lines = github.render(report).splitlines()
    assert lines == [
        "::error title=transferlint TL101 (scalar-read-in-hot-code),file=src/a b.py,line=6,endLine=7"
        "::src/a b.py:6:14: TL101 `sum(out).item()` makes the host wait, 100%25: really%0Atotal += sum(out).detach()",
        "::error title=transferlint TL401 (create-then-move),file=src/a b.py,line=2,endLine=2,col=1,endColumn=9"
        "::src/a b.py:2:1: TL401 created on the host, then moved",
        "::error title=transferlint TL001 (unparsable-file),file=/abs/é.py,line=3,endLine=3,col=1,endColumn=1"
        "::/abs/é.py:3:1: TL001 no, Python: 2",
        "::error title=transferlint,file=gone.py::no such file or folder",
        "::error title=transferlint::internal error: x%0Ay",
    ]


def _sarif(report: Report) -> dict[str, Any]:
    log: dict[str, Any] = json.loads(sarif.render(report))
    jsonschema.Draft4Validator(SCHEMA).validate(log)
    return log


def test_sarif_is_valid_and_complete(report):
    (run,) = _sarif(report)["runs"]
    assert run["columnKind"] == "unicodeCodePoints"
    assert run["originalUriBaseIds"] == {"%SRCROOT%": {"uri": "file:///work%20dir/x/"}}
    driver = run["tool"]["driver"]
    assert (driver["name"], driver["semanticVersion"]) == ("transferlint", "1.2.3")
    assert [rule["id"] for rule in driver["rules"]] == ["TL001", "TL101", "TL401"]
    assert driver["rules"][1]["help"]["markdown"].startswith("What it does")
    (invocation,) = run["invocations"]
    assert invocation["executionSuccessful"] is False
    assert [note["message"]["text"] for note in invocation["toolExecutionNotifications"]] == [
        "no such file or folder", "internal error: x\ny",
    ]  # fmt: skip
    first, second, third = run["results"]
    place = first["locations"][0]["physicalLocation"]
    assert place["artifactLocation"] == {"uri": "src/a%20b.py", "uriBaseId": "%SRCROOT%"}
    assert place["region"] == {"startLine": 6, "startColumn": 14, "endLine": 7, "endColumn": 20}
    steps = first["codeFlows"][0]["threadFlows"][0]["locations"]
    assert [step["location"]["physicalLocation"]["region"]["startLine"] for step in steps] == [2, 5, 6, 9, 6]
    assert steps[0]["location"]["message"]["text"] == "on the device: model moved here"
    key = report.findings[0].fingerprint()
    assert first["partialFingerprints"] == {"transferlint/v1": key, "primaryLocationLineHash": key}
    assert driver["informationUri"].startswith("https://")
    assert [rule.get("helpUri") for rule in driver["rules"]] == [None, "https://x/TL101", None]
    (replacement,) = second["fixes"][0]["artifactChanges"][0]["replacements"]
    assert replacement["deletedRegion"] == {"startLine": 2, "startColumn": 1, "endLine": 2, "endColumn": 6}
    assert replacement["insertedContent"] == {"text": "there"}
    assert third["locations"][0]["physicalLocation"]["artifactLocation"] == {"uri": "file:///abs/%C3%A9.py"}
    for result in run["results"]:
        assert driver["rules"][result["ruleIndex"]]["id"] == result["ruleId"]


def test_sarif_of_nothing(report):
    (run,) = _sarif(Report((), {}, 0))["runs"]
    assert run["results"] == []
    assert run["invocations"][0]["executionSuccessful"] is True


def test_statistics(report):
    twice = dataclasses.replace(report, findings=(*report.findings, report.findings[0]))
    assert statistics.render(twice).splitlines() == [
        "     2  TL101  [u]  scalar-read-in-hot-code",
        "     1  TL001  [ ]  unparsable-file",
        "     1  TL401  [*]  create-then-move",
    ]


@pytest.mark.parametrize(
    ("safeties", "words"),
    [
        ((), "Nothing found in 1 file."),
        ((None,), "Found 1 finding in 1 file."),
        ((Safety.DISPLAY,), "Found 1 finding in 1 file."),
        ((Safety.SAFE, None), "Found 2 findings (1 fixable with --fix) in 1 file."),
        ((Safety.UNSAFE,), "Found 1 finding (1 fixable with --fix --unsafe-fixes) in 1 file."),
    ],
)
def test_summary(safeties, words):
    findings = tuple(Finding("TL101", "x", Site("a.py", 1, 1, 1, 2), "m", fix=_fix(safety)) for safety in safeties)
    assert summary(Report(findings, {}, 1)) == words


def _fix(safety: Safety | None) -> Fix | None:
    return None if safety is None else Fix("t", safety, (Edit(0, 1, ""),))


def test_lines_and_positions():
    source = "a\r\nb\x0cc\rd\n"
    assert lines_of(source) == ["a", "b\x0cc", "d", ""]
    assert [position(source, offset) for offset in (0, 3, 5, 7, 9)] == [(1, 1), (2, 1), (2, 3), (3, 1), (4, 1)]
