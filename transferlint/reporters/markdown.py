"""For a comment on a change, as GitHub and GitLab read it: a table by rule, then each finding folded, with source."""

from __future__ import annotations

import collections
import html
import re
from collections.abc import Sequence

from transferlint import escaping
from transferlint.model import Finding
from transferlint.reporters import excerpt, order
from transferlint.reporters.order import Told
from transferlint.reporters.report import Report, count, fixable, lines_of, summary

MOST = 60_000  # characters; a comment of GitHub's holds 65,536


def render(report: Report) -> str:
    """The report. What would make the comment too long is left out, and it says how much."""
    # By its first line a comment is found again, so that it can be replaced and not be joined by another.
    mark = f"<!-- transferlint {report.shard} -->" if report.shard else "<!-- transferlint -->"
    head = [mark, "", f"### transferlint: {_plain(summary(report))}", ""]
    if report.findings:
        head += [*_table(report), ""]
    head += [
        f"- {_plain(f'{problem.path}: ' if problem.path else '')}{_plain(problem.message)}"
        for problem in report.problems
    ]
    parts, size, left = ["\n".join(head)], len("\n".join(head)), 0
    for one in order.told(report.findings, report.unsafe):
        shown = "\n".join(_finding(one, report))
        if left or size + len(shown) > MOST:
            left += one.count
            continue
        parts.append(shown)
        size += len(shown) + 1
    if left:
        parts.append(f"... and {count(left, 'finding')} more: run `transferlint check` to see all.")
    return "\n".join(parts).rstrip("\n") + "\n"


def _table(report: Report) -> list[str]:
    cards = {card.code: card for card in report.rules}
    counts = collections.Counter(finding.code for finding in report.findings)
    rows = ["| rule | findings | what it reports |", "| --- | ---: | --- |"]
    for code, number in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
        card = cards.get(code)
        shown = f"[{code}]({card.url})" if card and card.url else code
        rows.append(f"| {shown} | {number} | {_plain(card.summary if card else '')} |")
    return rows


def _finding(one: Told, report: Report) -> list[str]:
    finding = one.finding
    place = f"{finding.site.path}:{finding.site.line}"
    title = f"<code>{_html(place)}</code> <b>{finding.code}</b> {_words(finding.message)}"
    lines = ["<details>", f"<summary>{title}</summary>", "", *_source(finding, report)]
    lines += [f"- also {_plain(one.also)}"] if one.also else []
    lines += [f"- runs {_plain(finding.heat.why or finding.heat.level.words)}"] if finding.heat else []
    option = fixable(finding, report.unsafe)
    mark = f" (`{option}` does it)" if option else ""
    lines += [f"- use instead: {_plain(finding.help)}{mark}"] if finding.help else []
    return [*lines, "", "</details>", ""]


def _source(finding: Finding, report: Report) -> list[str]:
    text = lines_of(report.texts.get(finding.site.path, ""))
    rows = excerpt.rows(finding, text) if text != [""] else []
    if not rows:
        return []
    shown = [escaping.escaped("".join(piece for _, piece in row)).rstrip() for row in rows]
    fence = "`" * max(3, 1 + max((len(run) for line in shown for run in re.findall(r"`+", line)), default=0))
    return [f"{fence}text", *shown, fence, ""]


def _words(text: str) -> str:
    """A message within HTML, with what stands between backticks set as code."""
    pieces = re.split(r"`([^`]+)`", " ".join(text.split()))
    return "".join(f"<code>{_html(one)}</code>" if at % 2 else _html(one) for at, one in enumerate(pieces))


def _html(text: str) -> str:
    return html.escape(escaping.escaped(text))


def _plain(text: str) -> str:
    """A text of ours or of the source in a line of Markdown: its code spans stay, all else is shown as it is."""
    pieces: Sequence[str] = re.split(r"(`[^`]+`)", escaping.escaped(" ".join(text.split())))
    shown = [one if at % 2 else re.sub(r"([\\*_\[\]<>#~`!@])", r"\\\1", one) for at, one in enumerate(pieces)]
    return "".join(shown).replace("|", "\\|")
