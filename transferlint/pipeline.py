"""One file, from bytes to findings: decode, parse, lower, analyse, detect, suppress, and fix where that is asked.

`check_file` does all of it in one go. Where files are checked with their project, `steps.py` does it in two, from the
same pieces, between which the project is put together.

Whatever a rule or the analysis raises becomes a trouble of that file; nothing is raised here but KeyboardInterrupt.
"""

from __future__ import annotations

import dataclasses
import difflib
import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from transferlint import selection
from transferlint.discovery import Target, Trouble
from transferlint.flow.options import AnalysisOptions
from transferlint.model import Confidence, Finding, Site
from transferlint.rule import Rule
from transferlint.screen import worth_analysing

if TYPE_CHECKING:
    from transferlint.flow.facts import FileFacts
    from transferlint.flow.project import Project
    from transferlint.syntax.program import Program
    from transferlint.syntax.source import Source, SourceError
    from transferlint.syntax.suppressions import Suppression

UNPARSABLE = ("TL001", "unparsable-file")


@dataclasses.dataclass(frozen=True, slots=True)
class Plan:
    """What is done to every file: the rules that run, what is left out, and whether fixes are made (and written).

    `ignore` holds the selectors of `--ignore` (for TL001, which no rule detects). `write` False leaves files as they
    are; `diff` asks for the change of each as a unified diff.
    """

    rules: tuple[Rule, ...]
    options: AnalysisOptions = dataclasses.field(default_factory=AnalysisOptions)
    min_confidence: Confidence = Confidence.LIKELY
    ignore: tuple[str, ...] = ()
    fix: bool = False
    unsafe: bool = False
    write: bool = True
    diff: bool = False


@dataclasses.dataclass(frozen=True, slots=True)
class Outcome:
    """What came of one file.

    `text` is what the findings' lines refer to (after fixing, the fixed text), "" where there is nothing to show;
    `notes` are remarks on fixes left out and comments not understood; `changed` says that fixing changed the text,
    `diff` is that change as a unified diff, and `data` the new bytes where they were neither written nor shown.
    """

    path: str
    findings: tuple[Finding, ...] = ()
    fixed: tuple[Finding, ...] = ()
    troubles: tuple[Trouble, ...] = ()
    notes: tuple[str, ...] = ()
    text: str = ""
    diff: str = ""
    data: bytes = b""
    changed: bool = False


@dataclasses.dataclass(frozen=True, slots=True)
class Checked:
    """The findings of a text that count, in order, one trouble for each rule (or analysis) that broke on it, and notes
    on comments that are not understood."""

    findings: tuple[Finding, ...]
    troubles: tuple[Trouble, ...] = ()
    notes: tuple[str, ...] = ()


def check_file(target: Target, plan: Plan, ignored: tuple[str, ...] = ()) -> Outcome:
    """Read and check a file; `ignored` are the selectors that do not count in it. Fixes are written by `plan.write`."""
    data = read_worth(target)
    return data if isinstance(data, Outcome) else check_bytes(target.path, data, plan, ignored)


def check_bytes(path: str, data: bytes, plan: Plan, ignored: tuple[str, ...] = ()) -> Outcome:
    """Check a file whose bytes are at hand, whatever is in them, and fix it where the plan says so."""
    from transferlint.syntax.source import SourceError, decode

    text = ""
    try:
        source = decode(path, data)
        text = source.text
        return finished(source, data, check_text(path, text, plan, ignored), plan, ignored, None)
    except SourceError as error:
        return Outcome(path, findings=unparsable(error, path, plan, ignored), text=text)
    except Exception as error:  # a defect of ours must not end the run
        return Outcome(path, troubles=(internal("the engine", path, error),))


def check_text(
    path: str, text: str, plan: Plan, ignored: tuple[str, ...] = (), project: Project | None = None
) -> Checked:
    """The findings of a text that are not suppressed and sure enough. Raises SourceError where it is not Python."""
    from transferlint.syntax.source import Source, SourceError, parse

    tree = parse(Source(path, text, "utf-8", False))
    try:
        from transferlint.syntax import lower, spans, suppressions

        program = lower.lower(tree, path)
        positions = spans.Spans(tree, text)
        facts = facts_of(path, text, program, positions, plan, project)
        comments = suppressions.find(text, tree, positions)
    except SourceError:
        raise
    except Exception as error:
        return Checked((), (internal("the analysis", path, error),))
    return detected(facts, comments, plan, ignored)


def read_worth(target: Target, always: bool = False) -> bytes | Outcome:
    """The bytes of a file, or the outcome where it cannot be read or (unless `always`) holds nothing of interest."""
    try:
        with open(target.path, "rb") as file:
            data = file.read()
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        return Outcome(target.path, troubles=(Trouble(target.path, f"cannot be read: {why}"),))
    if not (always or worth_analysing(data) or (target.named and _suspect(data))):
        return Outcome(target.path)
    return data


def facts_of(path: str, text: str, program: Program, spans: Any, plan: Plan, project: Project | None) -> FileFacts:
    """The facts of one file, within its project where that is known; `spans` belong to the program."""
    from transferlint.flow.facts import analyse

    if project is None:
        return analyse(path, text, program, spans, plan.options)
    return analyse(path, text, program, spans, plan.options, project=project)


def detected(facts: FileFacts, comments: Sequence[Suppression], plan: Plan, ignored: tuple[str, ...]) -> Checked:
    """What the rules find, without what is suppressed or not sure enough."""
    path = facts.path
    found: list[Finding] = []
    troubles: list[Trouble] = []
    for rule in plan.rules:
        if selection.ignored(rule.code, rule.name, ignored):
            continue
        try:
            found.extend(_named(finding, rule) for finding in rule.detect(facts))
        except Exception as error:
            troubles.append(internal(rule.code, path, error))
    counting = (f for f in found if f.confidence >= plan.min_confidence and not _silenced(f, comments))
    return Checked(tuple(sorted(counting, key=_order)), tuple(troubles), _malformed(path, comments))


def finished(
    source: Source, data: bytes, checked: Checked, plan: Plan, ignored: tuple[str, ...], project: Project | None
) -> Outcome:
    """The outcome of what was checked, after fixing where that is asked; `data` are the bytes of the file."""
    outcome = Outcome(
        source.path,
        checked.findings,
        troubles=checked.troubles,
        notes=checked.notes,
        text=source.text if checked.findings else "",
    )
    if plan.fix and any(finding.fix for finding in checked.findings):
        return _fixed(source, data, outcome, plan, ignored, project)
    return outcome


def _silenced(finding: Finding, comments: Iterable[Suppression]) -> bool:
    first, last = finding.site.line, max(finding.site.line, finding.site.end_line)
    return any(comment.silences(finding.code, first, last) for comment in comments)


def _named(finding: Finding, rule: Rule) -> Finding:
    """Facts make findings without code and name; they are those of the rule that yields them."""
    return finding if finding.code else dataclasses.replace(finding, code=rule.code, name=rule.name)


def _order(finding: Finding) -> tuple[int, int, str, str]:
    return finding.site.line, finding.site.column, finding.code, finding.message


def internal(where: str, path: str, error: BaseException) -> Trouble:
    """A defect of ours or of a rule pack, in one line; `where` is the code of a rule, or a stage."""
    words = " ".join(str(error).split())[:200]
    return Trouble("", f"internal error in {where} on {path}: {type(error).__name__}: {words}; please report")


def _malformed(path: str, comments: Iterable[Suppression]) -> tuple[str, ...]:
    """A line for each comment that is addressed to us and silences nothing because it is not understood."""
    return tuple(
        f"{path}:{one.line}: this suppression is not understood: {' '.join(one.codes)}"
        for one in comments
        if one.kind == "malformed"
    )


def _fixed(
    source: Source, data: bytes, found: Outcome, plan: Plan, ignored: tuple[str, ...], project: Project | None
) -> Outcome:
    """What fixing makes of a file in which `found` was found; where it cannot be written, that and the reason."""
    from transferlint import fixes
    from transferlint.syntax.source import SourceError, encode

    path = source.path
    outcome = fixes.fix_text(
        path, source.text, lambda text: list(check_text(path, text, plan, ignored, project).findings), plan.unsafe
    )
    changed = outcome.text != source.text
    if changed and plan.write:
        try:
            fixes.write_atomically(path, encode(source, outcome.text), data)
        except (fixes.FixError, SourceError) as error:  # the latter: a character that the file's encoding lacks
            return dataclasses.replace(found, troubles=(*found.troubles, Trouble(path, error.message)))
    return Outcome(
        path,
        findings=outcome.remaining,
        fixed=outcome.fixed,
        troubles=found.troubles,
        notes=(*found.notes, *outcome.refused),
        text=outcome.text,
        diff=unified_diff(path, source.text, outcome.text) if changed and plan.diff else "",
        data=encode(source, outcome.text) if changed and not (plan.write or plan.diff) else b"",
        changed=changed,
    )


def unified_diff(path: str, before: str, after: str) -> str:
    """The change of a text as a unified diff that `patch` and `git apply` take; lines end at "\\n" alone."""
    old, new = (re.findall(r"[^\n]*\n|[^\n]+", text) for text in (before, after))
    shown = []
    for line in difflib.unified_diff(old, new, fromfile=path, tofile=path):
        shown.append(line if line.endswith("\n") else line + "\n\\ No newline at end of file\n")
    return "".join(shown)


def unparsable(error: SourceError, path: str, plan: Plan, ignored: tuple[str, ...]) -> tuple[Finding, ...]:
    """TL001 stands whatever is selected: a file that nobody could read must not pass for clean."""
    code, name = UNPARSABLE
    if selection.ignored(code, name, (*plan.ignore, *ignored)):
        return ()
    line = error.line or 1
    site = Site(path, line, 1, line, 1)
    return (Finding(code, name, site, " ".join(error.message.split()), source=error.message),)


def _suspect(data: bytes) -> bool:
    """Whether a file that holds nothing of interest may not even be Python; Python's own parser is asked first, as it
    is ten times as fast as the one that then decides."""
    import ast
    import warnings

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(data)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return True
    return False
