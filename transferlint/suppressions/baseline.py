"""Findings that are known already: a file of fingerprints with counts, which later runs do not report again.

The file is JSON, one entry a line, sorted, so that a version control system shows what came and went. An entry is known
by its fingerprint, in which the path is relative to the baseline's folder and no line number counts; equal findings of
one function share an entry, and as many of them as it counts are left out. A finding that speaks for several sites has
an entry for each: what joins them later is new, and what is left when one goes is known.
"""

from __future__ import annotations

import collections
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from transferlint import late
from transferlint.model import Confidence, Finding, Site
from transferlint.settings.loading import SettingsError

STALE = ("TL004", "stale-baseline-entry")
VERSION = 1
_FIELDS: Mapping[str, type] = {"fingerprint": str, "code": str, "path": str, "in": str, "source": str, "count": int}


@late.dataclass(frozen=True, slots=True)
class Entry:
    """Findings that share a fingerprint: their code, path (relative to the baseline's folder), function and text, how
    many there are, and the entry's own 1-based line."""

    fingerprint: str
    code: str
    path: str
    context: str
    source: str
    count: int
    line: int = 0


@late.dataclass(frozen=True, slots=True)
class Baseline:
    """A baseline that was read from `path` (as the user named it): its entries by fingerprint, and with which least
    confidence and frequency, and which context (`file` or `project`), they were found."""

    path: str
    entries: Mapping[str, Entry]
    confidence: Confidence = Confidence.LIKELY
    context: str = "project"
    frequency: float = 0.0

    def split(self, findings: Iterable[Finding]) -> tuple[list[Finding], list[str]]:
        """Of findings, each of which stands for its own site alone, those that are new, in order, and the fingerprints
        of those that are known."""
        left = {key: entry.count for key, entry in self.entries.items()}
        new, known = [], []
        for finding in findings:
            key = fingerprint(finding, self.path)
            if left.get(key, 0) > 0:
                left[key] -= 1
                known.append(key)
            else:
                new.append(finding)
        return new, known

    def about(self, paths: Iterable[str]) -> Baseline:
        """The baseline with the entries of some files alone."""
        own = {_relative(path, self.path) for path in paths}
        return late.replace(self, entries={key: one for key, one in self.entries.items() if one.path in own})

    def stale(self, known: Iterable[str], ran: Iterable[tuple[str, str]], gone: bool = True) -> Iterator[Finding]:
        """A finding for each entry that counts more than the run knew again; `ran` are the pairs of path and code that
        the run would have found. Of a file that is gone nothing is found any more, whatever ran; `gone` False leaves
        such entries to another run."""
        seen = collections.Counter(known)
        judged = {(_relative(path, self.path), code) for path, code in ran}
        for key, entry in self.entries.items():
            left = entry.count - seen[key]
            missing = not os.path.exists(os.path.join(os.path.dirname(self.path), entry.path))
            if left > 0 and (gone if missing else (entry.path, entry.code) in judged):
                yield self._stale(entry, left, missing)

    def _stale(self, entry: Entry, gone: int, missing: bool) -> Finding:
        where = f"`{' '.join(entry.source.split())[:60]}` in {entry.path}" if entry.source else entry.path
        count = "is" if entry.count == 1 else f"is, {gone} of {entry.count} times,"
        why = "its file does not exist" if missing else f"{entry.code} {count} no longer found there"
        return Finding(
            *STALE,
            Site(self.path, entry.line, 1, entry.line, 1),
            f"the entry for {where} is stale: {why}",
            "update the baseline with `--write-baseline`",
            source=entry.fingerprint,
        )


def fingerprint(finding: Finding, baseline: str) -> str:
    """A finding's fingerprint within a baseline, wherever the run was started."""
    path = _relative(finding.site.file, baseline).encode("utf-8", "backslashreplace").decode()
    return late.replace(finding, site=late.replace(finding.site, path=path)).fingerprint()


def render(findings: Iterable[Finding], path: str, confidence: Confidence, context: str, frequency: float = 0.0) -> str:
    """The baseline that knows `findings` and their members again, as the text of `path`. Entries of the baseline's own
    rule are left out: they would come and go with what they speak of."""
    groups: dict[str, list[Finding]] = {}
    for finding in (member for whole in findings for member in whole.members()):
        if finding.code != STALE[0]:
            groups.setdefault(fingerprint(finding, path), []).append(finding)
    rows = [
        {
            "fingerprint": key,
            "code": same[0].code,
            "path": _relative(same[0].site.file, path),
            "in": same[0].context,
            "source": " ".join(same[0].source.split()),
            "count": len(same),
        }
        for key, same in groups.items()
    ]
    rows.sort(key=lambda row: (row["path"], row["code"], row["in"], row["fingerprint"]))
    head: dict[str, Any] = {"version": VERSION, "min_confidence": confidence.name.lower(), "context": context}
    if frequency:
        head["min_frequency"] = frequency
    entries = ",\n".join("    " + json.dumps(row) for row in rows)
    inner = json.dumps(head)[1:-1]
    return f'{{\n  {inner},\n  "findings": [\n{entries}\n  ]\n}}\n'


def read(path: str) -> Baseline:
    """The baseline at a path. Raises SettingsError with one line that names the file where there is none."""
    try:
        if os.path.exists(path) and not os.path.isfile(path):
            raise SettingsError(f"{path}: the baseline cannot be read: it is no file")
        with open(path, encoding="utf-8") as file:
            text = file.read()
    except FileNotFoundError:
        raise SettingsError(f"{path}: no such baseline; `--write-baseline` makes one") from None
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path}: the baseline cannot be read: {getattr(error, 'strerror', '') or error}") from None
    try:
        whole = json.loads(text)
        if whole["version"] != VERSION:
            raise ValueError(f"version {whole['version']!r}, not {VERSION}")
        entries = [_entry(row) for row in whole["findings"]]
        confidence, context = Confidence[whole["min_confidence"].upper()], str(whole["context"])
        frequency = float(whole.get("min_frequency", 0.0))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        words = " ".join(str(error).split())
        raise SettingsError(f"{path}: is no baseline ({words}); `--write-baseline` writes one anew") from None
    lines = _lines(text, [entry.fingerprint for entry in entries])
    placed = {entry.fingerprint: late.replace(entry, line=lines[entry.fingerprint]) for entry in entries}
    return Baseline(path, placed, confidence, context, frequency)


def _entry(row: Any) -> Entry:
    for field, kind in _FIELDS.items():
        if not isinstance(row[field], kind) or isinstance(row[field], bool):
            raise ValueError(f"`{field}` of an entry is {row[field]!r}")
    return Entry(*(row[field] for field in _FIELDS))


def _lines(text: str, keys: Sequence[str]) -> dict[str, int]:
    """The line on which each fingerprint stands."""
    wanted = set(keys)
    found = dict.fromkeys(keys, 1)
    for number, line in enumerate(text.split("\n"), start=1):
        for word in re.findall(r'"([0-9a-f]{16})"', line):
            if word in wanted:
                found[word] = number
    return found


def _relative(path: str, baseline: str) -> str:
    folder = os.path.dirname(os.path.abspath(baseline))
    try:
        return os.path.relpath(os.path.abspath(path), folder).replace(os.sep, "/")
    except ValueError:  # another drive
        return path
