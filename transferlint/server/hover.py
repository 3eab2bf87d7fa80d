"""What is shown of a finding under the cursor, as Markdown or as plain text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from transferlint import escaping, late
from transferlint.model import Finding, Heat, Safety
from transferlint.server.found import Found, Link

_SAFETY = {Safety.SAFE: "safe", Safety.UNSAFE: "unsafe: review it", Safety.DISPLAY: "shown only: review it"}
_MARKUP = late.pattern(r"([\\*_\[\]<>#~`!|])")


def markdown(one: Found, evidence: Iterable[Link], page: str) -> str:
    """A finding in Markdown: what happens, why, how often, how sure that is, what to write, and where its rule is
    explained."""
    finding = one.told
    lines = [f"**{finding.code}** {finding.name}", "", f"{_words(finding.message)}", ""]
    for label, words, link in _notes(finding, evidence):
        place = f"[{_words(link.place)}]({link.uri}#L{link.range.start.line + 1}): " if link is not None else ""
        lines.append(f"- {label}: {place}{_words(words)}")
    if page:
        lines += ["", f"[{finding.code} explained]({page})"]
    return "\n".join(lines)


def plain(one: Found, evidence: Iterable[Link], page: str) -> str:
    """The same without markup, for clients that show none."""
    finding = one.told
    lines = [f"{finding.code} {finding.name}", escaping.escaped(finding.message)]
    for label, words, link in _notes(finding, evidence):
        place = f"{link.place}: " if link is not None else ""
        lines.append(f"{label}: {escaping.escaped(place + words)}")
    return "\n".join([*lines, *filter(None, [page])])


def _notes(finding: Finding, evidence: Iterable[Link]) -> Iterator[tuple[str, str, Link | None]]:
    """What there is to say beside the message: a label, words, and where that stands."""
    if finding.heat is not None:
        yield *_frequency(finding.heat), None
    for link in evidence:
        yield "because", link.message, link
    yield "confidence", finding.confidence.name.lower(), None
    if finding.help:
        yield "use instead", " ".join(finding.help.split()), None
    if finding.fix is not None:
        yield f"fix ({_SAFETY[finding.fix.safety]})", finding.fix.title, None


def _frequency(heat: Heat) -> tuple[str, str]:
    """How often it runs, and whether that was seen in the source or is assumed."""
    rare = [f"but {one}" for one in (heat.amortised, heat.cold) if one]
    known = "seen in the source" if heat.seen else "assumed"
    return f"runs ({known})", ", ".join([heat.why or heat.level.words, *rare])


def _words(text: str) -> str:
    """A text of ours or of the source in a line of Markdown: its code spans stay, all else is shown as it is."""
    pieces = re.split(r"(`[^`]+`)", escaping.escaped(" ".join(text.split())))
    return "".join(one if at % 2 else _MARKUP.sub(r"\\\1", one) for at, one in enumerate(pieces))
