"""Formats of services and people beside text and SARIF: each says what the report says, as its readers take it."""

from __future__ import annotations

import dataclasses
import json
import re
import xml.etree.ElementTree as ElementTree
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from transferlint.model import Confidence, Edit, Evidence, Finding, Fix, Heat, Level, Part, Safety, Site
from transferlint.reporters import (
    azure,
    formats,
    gitlab,
    grouped,
    html,
    json_lines,
    junit,
    markdown,
    order,
    rdjson,
    text,
)
from transferlint.reporters import json as json_reporter
from transferlint.reporters.report import Report, RuleCard, fingerprints
from transferlint.settings import formats as names

SCHEMA = json.loads(Path(str(json_reporter.__file__)).with_name("report.schema.json").read_text(encoding="utf-8"))
EMPTY = Report((), {}, 3)
# What docs.gitlab.com (ci/testing/code_quality) asks of an entry.
GITLAB = {
    "type": "array",
    "items": {
        "type": "object",
        "required": ["description", "check_name", "fingerprint", "severity", "location"],
        "properties": {
            "description": {"type": "string"},
            "check_name": {"type": "string"},
            "fingerprint": {"type": "string"},
            "severity": {"enum": ["info", "minor", "major", "critical", "blocker"]},
            "location": {
                "type": "object",
                "required": ["path", "lines"],
                "properties": {
                    "path": {"type": "string", "not": {"pattern": "^\\./"}},
                    "lines": {"type": "object", "required": ["begin"], "properties": {"begin": {"type": "integer"}}},
                },
            },
        },
    },
}


def strict(schema: Any) -> Any:
    """The schema with every key that it does not name refused: what is written must stand in it."""
    if isinstance(schema, list):
        return [strict(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    made = {key: strict(value) for key, value in schema.items()}
    if "properties" in schema:
        made["unevaluatedProperties"] = False
    return made


def whole() -> Any:
    made = strict(SCHEMA)
    made["$defs"]["site"].pop("unevaluatedProperties")  # it is a part of others
    return made


def test_json_is_what_its_schema_says(report):
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    validator = jsonschema.Draft202012Validator(whole())
    data = json.loads(json_reporter.render(dataclasses.replace(report, quiet=())))
    validator.validate(data)
    assert data["format_version"] == 1
    validator.validate(json.loads(json_reporter.render(EMPTY)))
    data["findings"][0]["new"] = 1
    assert not validator.is_valid(data)


def test_a_line_of_json_lines_is_a_finding_of_json(report):
    lines = json_lines.render(report).splitlines()
    assert [json.loads(line) for line in lines] == json.loads(json_reporter.render(report))["findings"]
    assert json_lines.render(EMPTY) == ""


def test_gitlab(report):
    same = dataclasses.replace(report, findings=(*report.findings, report.findings[0]))
    rows = json.loads(gitlab.render(same))
    jsonschema.validate(rows, GITLAB)
    assert len({row["fingerprint"] for row in rows}) == len(rows) == 6
    assert rows[0]["location"] == {"path": "src/a b.py", "lines": {"begin": 6, "end": 7}}
    assert [row["severity"] for row in rows] == ["minor", "major", "blocker", "minor", "blocker", "blocker"]
    assert json.loads(gitlab.render(EMPTY)) == []


def test_fingerprints_stay_when_lines_move(report):
    moved = [
        dataclasses.replace(one, site=dataclasses.replace(one.site, line=one.site.line + 9)) for one in report.findings
    ]
    assert fingerprints(moved) == fingerprints(report.findings)
    assert fingerprints([moved[0], moved[0]]) == [moved[0].fingerprint(), moved[0].fingerprint() + ":2"]


def test_azure_escapes(report):
    odd = Finding("TL101", "x", Site("a;b].py", 3, 4, 3, 5), "100%; [a]\r\n##vso[x]")
    lines = azure.render(dataclasses.replace(report, findings=(odd, report.findings[1]))).splitlines()
    assert lines == [
        "##vso[task.logissue type=warning;sourcepath=a%3Bb%5D.py;linenumber=3;columnnumber=4;code=TL101;]"
        r"100%AZP25; [a]\r\n#\x23vso[x]",
        "##vso[task.logissue type=warning;sourcepath=src/a b.py;linenumber=2;columnnumber=1;code=TL401;]"
        "created on the host, then moved",
        "##vso[task.logissue type=error;sourcepath=gone.py;]no such file or folder",
        r"##vso[task.logissue type=error;]internal error: x\ny",
    ]


def test_junit(report):
    odd = dataclasses.replace(report.findings[0], message='<a> & "b" \x00\x1b')
    suites = ElementTree.fromstring(junit.render(dataclasses.replace(report, findings=(odd, *report.findings[1:]))))
    assert (suites.get("tests"), suites.get("failures"), suites.get("errors")) == ("5", "3", "2")
    assert [(suite.get("name"), suite.get("tests")) for suite in suites] == [
        ("/abs/é.py", "1"), ("src/a b.py", "2"), ("problems", "2"),
    ]  # fmt: skip
    case = suites[1][0]
    assert (case.get("file"), case.get("line")) == ("src/a b.py", "6")
    assert case[0].get("message") == r'<a> & "b" \x00\x1b'
    assert "use instead: total += sum(out).detach()" in (case[0].text or "")
    (suite,) = ElementTree.fromstring(junit.render(EMPTY))
    assert (suite.get("tests"), suite.get("failures"), len(suite[0])) == ("1", "0", 0)


def test_rdjson_counts_bytes_and_joins_edits():
    source = "import torch\nx = '漢字', a.item()\n"
    at = source.index(".item")
    fix = Fix("t", Safety.SAFE, (Edit(at + 1, at + 5, "detach"), Edit(at - 1, at, "b")))
    finding = Finding("TL101", "x", Site("a.py", 2, 11, 2, 19), "m", fix=fix)
    cards = (RuleCard("TL101", "x", "s", "c", True, "safe", "", "https://x/TL101"),)
    made = json.loads(rdjson.render(Report((finding,), {"a.py": source}, 1, rules=cards)))
    (diagnostic,) = made["diagnostics"]
    assert diagnostic["location"]["range"] == {"start": {"line": 2, "column": 15}, "end": {"line": 2, "column": 23}}
    assert diagnostic["code"] == {"value": "TL101", "url": "https://x/TL101"}
    (suggestion,) = diagnostic["suggestions"]
    assert suggestion["text"] == "b.detach"
    assert suggestion["range"]["start"] == {"line": 2, "column": 15}


def test_grouped(report):
    assert grouped.render(report).splitlines() == [
        "/abs/é.py: 1 finding",
        "  3:1  TL001  no, Python: 2",
        "",
        "src/a b.py: 2 findings",
        "  6:14  TL101  `sum(out).item()` makes the host wait, 100%: really [fix: --unsafe-fixes]",
        "   2:1  TL401  created on the host, then moved [fix: --fix]",
        "",
        "Found 3 findings (1 fixable with --fix, 1 with --unsafe-fixes) in 3 files.",
    ]


def test_markdown(report):
    odd = dataclasses.replace(report.findings[0], message="`a|b` <b>x</b>", help="write *this* `or|that`")
    cards = (dataclasses.replace(report.rules[0], url="https://x/TL101", summary="reads | `x`"), *report.rules[1:])
    made = markdown.render(dataclasses.replace(report, findings=(odd, *report.findings[1:]), rules=cards))
    lines = made.splitlines()
    assert lines[0] == "<!-- transferlint -->"
    assert "| [TL101](https://x/TL101) | 1 | reads \\| `x` |" in lines
    title = "<code>src/a b.py:6</code> <b>TL101</b> <code>a|b</code> &lt;b&gt;x&lt;/b&gt;"
    assert f"<summary>{title}</summary>" in lines
    assert "- use instead: write \\*this\\* `or\\|that` (`--unsafe-fixes` does it)" in lines
    assert lines.count("<details>") == lines.count("</details>") == 3
    assert lines.count("```text") == 2


def test_markdown_fences_source_that_holds_fences_and_keeps_to_the_limit(report):
    fenced = Report((Finding("TL101", "x", Site("a.py", 1, 1, 1, 2), "m"),), {"a.py": "x = '````'\n"}, 1)
    assert markdown.render(fenced).count("`````") == 2
    many = tuple(Finding("TL101", "x", Site("a.py", n, 1, n, 2), f"message {n}" * 20) for n in range(1, 2000))
    made = markdown.render(Report(many, {}, 1))
    assert len(made) < 65_536
    left = re.search(r"and (\d+) findings more", made)
    assert left is not None
    assert int(left[1]) + made.count("<summary>") == 1999


def _tags(page: str) -> list[tuple[str, dict[str, str | None]]]:
    found: list[tuple[str, dict[str, str | None]]] = []

    class Tags(HTMLParser):
        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            found.append((tag, dict(attrs)))

    Tags(convert_charrefs=True).feed(page)
    return found


def test_html(report):
    odd = dataclasses.replace(report.findings[0], message="<script>alert(1)</script> `x < y`")
    page = html.render(dataclasses.replace(report, findings=(odd, *report.findings[1:])))
    tags = _tags(page)
    articles = [attributes for tag, attributes in tags if tag == "article"]
    assert [one["data-code"] for one in articles] == ["TL101", "TL401", "TL001"]
    assert [one["data-heat"] for one in articles] == [
        "per step", "per step, but rarely (assumed)", "not about frequency",
    ]  # fmt: skip
    chosen = {(one["data-filter-kind"], one["value"]) for tag, one in tags if "data-filter-kind" in one}
    assert {(kind, article[f"data-{kind}"]) for article in articles for kind in ("code", "heat", "path")} == chosen
    assert "alert(1)</script>" not in page
    assert "<code>x &lt; y</code>" in page
    assert '<mark class="site">sum(</mark>' in page
    assert [tag for tag, one in tags if one.get("src") or tag in ("link", "img", "iframe")] == []
    assert "prefers-color-scheme: dark" in page
    assert ("meta", {"name": "viewport", "content": "width=device-width, initial-scale=1"}) in tags


def test_html_of_nothing():
    page = html.render(EMPTY)
    assert "Nothing found in 3 files." in page
    assert "<article" not in page


@pytest.mark.parametrize("form", names.FORMATS)
def test_every_format_has_its_reporter(report, form):
    assert formats.render(report, form)
    formats.render(EMPTY, form, width=80)


def _hot(path: str, level: Level, seen: bool = True, cold: str = "", **other: Any) -> Finding:
    return Finding("TL101", "x", Site(path, 1, 1, 1, 2), "m", heat=Heat(level, seen, "w", cold=cold), **other)


def test_what_costs_most_comes_first():
    bare = Finding("TL501", "x", Site("bare", 1, 1, 1, 2), "m")
    findings = [
        Finding("TL001", "x", Site("unread", 1, 1, 1, 2), "m"),
        _hot("element", Level.PER_ELEMENT),
        _hot("step", Level.PER_STEP),
        _hot("step likely", Level.PER_STEP, confidence=Confidence.LIKELY),
        _hot("step assumed", Level.PER_STEP, seen=False),
        _hot("cold", Level.PER_ELEMENT, cold="setup"),
        _hot("epoch", Level.PER_EPOCH),
        bare,
    ]
    assert order.ordered(findings[::-1], "cost") == tuple(findings)
    assert order.ordered(findings, "place") == tuple(findings)
    assert [one.code for one in order.ordered(findings, "rule")] == ["TL001", *["TL101"] * 6, "TL501"]


def test_repeated_sites_are_told_once():
    first = Finding("TL101", "x", Site("a.py", 2, 1, 2, 2), "m", context="f")
    sites = [Site(path, line, 1, line, 2) for path, line in (("a.py", 9), ("b.py", 4))]
    again = tuple(Evidence(one, "and again here", part=Part.SAME) for one in sites)
    group = dataclasses.replace(first, evidence=again)
    twin = dataclasses.replace(first, site=Site("a.py", 5, 1, 5, 2))
    other = dataclasses.replace(first, context="g")
    one, two = order.told([group, twin, other], unsafe=False)
    assert (one.also, one.count, one.finding.evidence) == ("lines 5, 9, b.py:4", 2, ())
    assert (two.also, two.count) == ("", 1)
    shown = text.render(Report((group, twin), {}, 1), quiet=True)
    assert shown == "a.py:2:1 TL101 m\n   = also: lines 5, 9, b.py:4\n\n"


def test_findings_with_different_shown_fixes_are_told_apart():
    fixes = [Fix("t", Safety.DISPLAY, (Edit(at, at + 1, "x"),)) for at in (0, 4)]
    findings = [Finding("TL101", "x", Site("a.py", 1, at, 1, 9), "m", fix=fix) for at, fix in enumerate(fixes, 1)]
    assert len(order.told(findings, unsafe=False)) == 2


@pytest.mark.parametrize("width", [52, 60, 80, 100])
def test_text_fits_the_terminal(width):
    source = "import torch\n" + "value = " + "some_function(argument_number_one) + " * 6 + "loss.item()\n"
    at = source.index("loss") - len("import torch\n") + 1
    site = Site("src/some/long/folder/name/a_module.py", 2, at, 2, at + 11)
    words = "a message of many words that says what happens, and why it does, " * 3
    finding = Finding(
        "TL101", "x", site, words, words,
        (Evidence(dataclasses.replace(site, column=9, end_column=20), words),), Heat(Level.PER_STEP, True, words),
        fix=Fix(words, Safety.UNSAFE, (Edit(0, 1, "x"),)),
    )  # fmt: skip
    lines = text.render(Report((finding,), {site.path: source}, 1), width=width).splitlines()
    source_of = [line for line in lines if line.strip() and not line.startswith("Found")]
    assert max(map(len, source_of)) <= width
    assert "loss.item()" in "\n".join(lines)
    joined = " ".join(" ".join(lines).replace("|", " ").split())
    assert joined.count("says what happens, and why it does, a message") >= 4
    unfitted = text.render(Report((finding,), {site.path: source}, 1)).splitlines()
    assert " ".join(words.split()) in unfitted[0]
