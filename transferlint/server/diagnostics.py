"""Findings as diagnostics (LSP 3.17, "Diagnostic")."""

from __future__ import annotations

from collections.abc import Callable

from lsprotocol import types

from transferlint import escaping
from transferlint.engine.plan import UNPARSABLE
from transferlint.server.found import Found, Link
from transferlint.server.positions import Range

SOURCE = "transferlint"
# What is reported of these is that something does nothing.
_UNNECESSARY = frozenset(("TL002", "TL407", "TL501"))


def diagnostic(one: Found, evidence: list[Link], page: Callable[[str], str]) -> types.Diagnostic:
    """The diagnostic of a finding; `page` gives the address of a rule's page by its code, "" where there is none."""
    finding = one.told
    url = page(finding.code)
    text = escaping.escaped(finding.message)
    if finding.help:
        text += f"\nuse instead: {escaping.escaped(' '.join(finding.help.split()))}"
    return types.Diagnostic(
        range=protocol_range(one.range),
        message=text,
        severity=_severity(finding.code),
        code=finding.code,
        code_description=types.CodeDescription(href=url) if url else None,
        source=SOURCE,
        tags=[types.DiagnosticTag.Unnecessary] if finding.code in _UNNECESSARY else None,
        related_information=[_related(link) for link in evidence] or None,
        data={"number": one.number, "fingerprint": finding.fingerprint()},
    )


def _severity(code: str) -> types.DiagnosticSeverity:
    return types.DiagnosticSeverity.Error if code == UNPARSABLE[0] else types.DiagnosticSeverity.Warning


def _related(link: Link) -> types.DiagnosticRelatedInformation:
    place = types.Location(uri=link.uri, range=protocol_range(link.range))
    return types.DiagnosticRelatedInformation(location=place, message=escaping.escaped(link.message))


def protocol_range(one: Range) -> types.Range:
    """A range as the protocol has it."""
    (line, character), (end_line, end_character) = one
    return types.Range(start=types.Position(line, character), end=types.Position(end_line, end_character))
