"""What every reporter gets: plain data, so that a format depends on nothing but the nouns."""

from __future__ import annotations

import bisect
import collections
import functools
from collections.abc import Iterable, Mapping

from transferlint import late
from transferlint.model import Finding, QuietSite, Safety

# How many findings there are, by code, name and the option that fixes them ("" for none).
Counts = dict[tuple[str, str, str], int]
_LINE_ENDS = late.pattern(r"\r\n|\r|\n")


@late.dataclass(frozen=True, slots=True)
class RuleCard:
    """A rule as reporters show it: `fix` is "safe", "unsafe" or "" ; `doc` is Markdown, `url` where it stands, ""
    for nowhere."""

    code: str
    name: str
    summary: str
    category: str
    default: bool
    fix: str
    doc: str
    url: str = ""


@late.dataclass(frozen=True, slots=True)
class Problem:
    """Something that could not be done; `path` is "" where it is about no file."""

    path: str
    message: str


@late.dataclass(frozen=True, slots=True)
class Report:
    """The result of a run. `texts` maps a path to the text that its findings' lines and offsets refer to; `unsafe`
    says that unsafe fixes are allowed; `root` is the absolute folder that paths are relative to; for the `silenced`
    suppressions were added, and as many more as `known` says stand in the baseline; `quiet` are the transfers that are
    quiet on purpose, None where nobody asked; `shard` is the part of a run that this is, such as 2/4, "" for all.
    `counts` are how many findings there are, None for those of `findings`."""

    findings: tuple[Finding, ...]
    texts: Mapping[str, str]
    files: int
    problems: tuple[Problem, ...] = ()
    fixed: tuple[Finding, ...] = ()
    rules: tuple[RuleCard, ...] = ()
    version: str = ""
    unsafe: bool = False
    root: str = ""
    silenced: tuple[Finding, ...] = ()
    known: int = 0
    quiet: tuple[QuietSite, ...] | None = None
    shard: str = ""
    counts: Counts | None = None

    def counted(self) -> Counts:
        """How many findings of each kind there are."""
        return counted(self.findings, self.unsafe) if self.counts is None else self.counts


def lines_of(text: str) -> list[str]:
    """The lines of a text as Python counts them (a form feed ends none), without their ends."""
    return _LINE_ENDS.split(text)


def position(text: str, offset: int) -> tuple[int, int]:
    """The 1-based line and column, in code points, of an offset into a text."""
    starts = _line_starts(text)
    line = bisect.bisect_right(starts, offset)
    return line, offset - starts[line - 1] + 1


@functools.lru_cache(maxsize=4)
def _line_starts(text: str) -> tuple[int, ...]:
    return (0, *(end.end() for end in _LINE_ENDS.finditer(text)))


def fingerprint(finding: Finding) -> str:
    """The finding's fingerprint, also where its path holds bytes that are no text."""
    path = finding.site.path.encode("utf-8", "backslashreplace").decode()
    site = late.replace(finding.site, path=path)
    return late.replace(finding, site=site).fingerprint()


def fingerprints(findings: Iterable[Finding]) -> list[str]:
    """The fingerprint of each finding, with a number behind those that another one before has too: for readers that
    tell findings apart by them."""
    seen: collections.Counter[str] = collections.Counter()
    found = []
    for finding in findings:
        key = fingerprint(finding)
        seen[key] += 1
        found.append(key if seen[key] == 1 else f"{key}:{seen[key]}")
    return found


def fixable(finding: Finding, unsafe: bool) -> str:
    """Which option applies the finding's fix: "--fix", "--unsafe-fixes", or "" where none does."""
    if finding.fix is None or finding.fix.safety is Safety.DISPLAY:
        return ""
    return "--fix" if unsafe or finding.fix.safety is Safety.SAFE else "--unsafe-fixes"


def counted(findings: Iterable[Finding], unsafe: bool) -> Counts:
    """How many of these findings there are of each kind."""
    return dict(collections.Counter((one.code, one.name, fixable(one, unsafe)) for one in findings))


def count(number: int, noun: str) -> str:
    """ "1 file", "2 files"."""
    return f"{number} {noun}" + ("" if number == 1 else "s")


def summary(report: Report) -> str:
    """One line: what was found, what can be fixed, what was, in how many files."""
    where = f"in {count(report.files, 'file')}" + (f" of shard {report.shard}" if report.shard else "")
    done = f"Fixed {count(len(report.fixed), 'finding')}. " if report.fixed else ""
    done += f"Suppressed {count(len(report.silenced), 'finding')}. " if report.silenced else ""
    known = f" {count(report.known, 'finding')} of the baseline not shown." if report.known else ""
    options: collections.Counter[str] = collections.Counter()
    for (_, _, option), number in report.counted().items():
        options[option] += number
    if not options:
        return f"{done}Nothing found {where}.{known}"
    safe, unsafe = options["--fix"], options["--unsafe-fixes"]
    parts = [f"{safe} fixable with --fix"] if safe else []
    if unsafe:
        parts.append(f"{unsafe} with --unsafe-fixes" if safe else f"{unsafe} fixable with --fix --unsafe-fixes")
    fixes = f" ({', '.join(parts)})" if parts else ""
    return f"{done}Found {count(options.total(), 'finding')}{fixes} {where}.{known}"


def tallies(fixed: Iterable[Finding], remaining: Iterable[Finding]) -> str:
    """What was fixed and what remains, by rule, a line each; "" where nothing was fixed."""
    parts = [_tally("fixed", fixed), _tally("remaining", remaining)]
    return "".join(part for part in parts if part) if parts[0] else ""


def _tally(label: str, findings: Iterable[Finding]) -> str:
    counts = collections.Counter(finding.code for finding in findings)
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return f"  {label + ':':<10} " + ", ".join(f"{code} {number}" for code, number in ordered) + "\n" if ordered else ""
