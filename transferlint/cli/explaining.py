"""What `explain` does: believe, ask the rules, and say for each expression what became of it."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from transferlint import late
from transferlint.engine import detecting, pipeline, steps, workers
from transferlint.engine.pipeline import Outcome, Plan
from transferlint.engine.steps import Prepared
from transferlint.flow.explain import Belief, beliefs
from transferlint.flow.within_calls import Within
from transferlint.model import Confidence, Direction, Evidence, Finding, Heat, Part, Site
from transferlint.rule import Rule
from transferlint.settings import selection
from transferlint.sources import context
from transferlint.sources.discovery import Target
from transferlint.syntax import collector

if TYPE_CHECKING:
    from transferlint.engine.scopes import Scopes
    from transferlint.flow.facts import FileFacts
    from transferlint.flow.project import Project
    from transferlint.syntax.suppressions import Suppression


@late.dataclass(frozen=True, slots=True)
class Terms:
    """What decides whether a finding counts: the rules that are selected, the least confidence, the selectors that do
    not count in this file, its suppression comments, and the least frequency."""

    selected: frozenset[str]
    least: Confidence
    ignored: tuple[str, ...]
    comments: tuple[Suppression, ...]
    frequency: float = 0.0


@late.dataclass(frozen=True, slots=True)
class Verdict:
    """What became of an expression: "reported" or "not reported", the rule's code where one has to do with it ("" where
    none has), and the reason in words."""

    reported: bool
    code: str
    reason: str


@late.dataclass(frozen=True, slots=True)
class Explained:
    """A belief and its verdict."""

    belief: Belief
    verdict: Verdict


def explain(facts: FileFacts, line: int, rules: Iterable[Rule], terms: Terms) -> tuple[Explained, ...]:
    """Everything on a line, explained. `rules` are all that are installed, selected or not."""
    findings = []
    rules = tuple(rules)
    for rule in rules:
        found = detecting.findings_of(rule, facts)
        findings += detecting.regrouped(rule, facts, found, lambda one: _silencer(one, terms.comments) is not None)
    told = detecting.told(facts, [one for one in findings if _of_finding(one, terms).reported], rules)
    heads = {(link.site, link.code): head for head in told for link in head.evidence if link.part is Part.BESIDE}
    return tuple(Explained(belief, _verdict(belief, findings, heads, terms)) for belief in beliefs(facts, line))


def _verdict(
    belief: Belief, findings: Sequence[Finding], heads: Mapping[tuple[Site, str], Finding], terms: Terms
) -> Verdict:
    at = [one for one in findings if one.site == belief.site]
    verdicts = [_of_finding(one, terms, heads.get((one.site, one.code))) for one in at]
    reported = [one for one in verdicts if one.reported]
    if reported:
        return reported[0] if len(reported) == 1 else _joined(reported)
    counting = [one for one in findings if _of_finding(one, terms).reported]
    part = _part(belief.site, counting)
    if part is not None:
        return part
    if verdicts:
        return verdicts[0]
    hidden = next((one for one in findings if _mentions(one, belief.site)), None)
    if hidden is not None:
        why = _of_finding(hidden, terms)
        return Verdict(False, hidden.code, f"part of {hidden.code} at line {hidden.site.line}, which is {why.reason}")
    if belief.quiet:
        return Verdict(False, "", belief.quiet)
    if belief.confidence is Confidence.POSSIBLE:
        return Verdict(False, "", f"too uncertain for a finding: {belief.confidence_words}")
    return Verdict(False, "", f"no installed rule reports this {belief.kind}")


def _joined(verdicts: Sequence[Verdict]) -> Verdict:
    return Verdict(True, ", ".join(one.code for one in verdicts), "; ".join(one.reason for one in verdicts))


def _of_finding(finding: Finding, terms: Terms, head: Finding | None = None) -> Verdict:
    """What the settings and the comments make of a finding at the expression itself; `head` is what it is joined to."""
    code = finding.code
    if code not in terms.selected:
        return Verdict(False, code, f"{code} would report it, but is not selected")
    if selection.ignored(code, finding.name, terms.ignored):
        return Verdict(False, code, f"{code} would report it, but is ignored in this file (per-file-ignores)")
    comment = _silencer(finding, terms.comments)
    if comment is not None:
        reason = f": {comment.reason}" if comment.reason else ""
        return Verdict(False, code, f"{code} is suppressed by the comment at line {comment.line}{reason}")
    if finding.confidence < terms.least:
        sure, least = finding.confidence.name.lower(), terms.least.name.lower()
        return Verdict(False, code, f"{code}: confidence {sure} is below min-confidence {least}")
    share = finding.heat.share if finding.heat is not None else None
    if share is not None and share < terms.frequency:
        words = f"expected in {10 * share:.0f} of 10 steps, below min-frequency {terms.frequency:g}"
        return Verdict(False, code, f"{code}: {words}")
    joined = f"; told with {head.code} at line {head.site.line}" if head is not None else ""
    return Verdict(True, code, finding.message + joined)


def _silencer(finding: Finding, comments: Iterable[Suppression]) -> Suppression | None:
    first, last = finding.site.line, max(finding.site.line, finding.site.end_line)
    return next((one for one in comments if one.silences(finding.code, first, last)), None)


def _part(site: Site, counting: Sequence[Finding]) -> Verdict | None:
    """Where a reported finding speaks for this expression too."""
    for finding in counting:
        for evidence in finding.evidence:
            if evidence.site == site and evidence.part is Part.SAME:
                reason = f"merged into {finding.code} at line {finding.site.line}: one change fixes both"
                return Verdict(False, finding.code, reason)
    for finding in counting:
        if _mentions(finding, site) or _encloses(finding.site, site):
            reason = f"explained by {finding.code} at line {finding.site.line}: {finding.message}"
            return Verdict(False, finding.code, reason)
    return None


def _mentions(finding: Finding, site: Site) -> bool:
    return any(one.site == site and one.part is not Part.PLACE for one in finding.evidence)


def _encloses(outer: Site, inner: Site) -> bool:
    starts = (outer.line, outer.column) <= (inner.line, inner.column)
    return starts and (inner.end_line, inner.end_column) <= (outer.end_line, outer.end_column) and outer != inner


class Unreadable(Exception):
    """A file of which no facts can be had; the message is one line and names it."""


def look(path: str, data: bytes, scopes: Scopes) -> tuple[FileFacts, tuple[Suppression, ...]]:
    """The facts of a file as `check` has them, within its project unless the settings say otherwise, and its
    suppressions. Raises SourceError where it is not Python, Unreadable where something else goes wrong."""
    from transferlint.syntax.front_end import read
    from transferlint.syntax.portable import FrozenSpans
    from transferlint.syntax.source import decode

    plan = scopes.plans[scopes.of(path)]
    workers.deep(lambda: read(decode(path, data)))  # for its SourceError: the steps make a finding of it
    with collector.paused():
        prepared = workers.deep(lambda: steps.prepare_bytes(path, data, plan))
        source, program = prepared.source, prepared.program
        if source is None or program is None:
            troubles = prepared.outcome.troubles if prepared.outcome is not None else ()
            raise Unreadable("; ".join(str(trouble) for trouble in troubles) or f"{path}: cannot be analysed")
        project = _project(prepared, data, scopes)
        spans = FrozenSpans(source.text, prepared.lines, prepared.marks, prepared.parentheses)
        facts = workers.deep(lambda: pipeline.facts_of(path, source.text, program, spans, plan, project))
    return facts, prepared.comments


def _project(prepared: Prepared, data: bytes, scopes: Scopes) -> Project | None:
    """The project of a file, read from the files around it that matter for it."""
    path, settings = prepared.path, scopes.nearest.top
    if settings.context == "file" or not path.endswith(".py"):
        return None
    around = context.around((path,), (Target(path),), scopes.nearest, {path: data})
    scope = scopes.of(path)
    jobs = [
        workers.Job(index, Target(other), wanted=False, scope=scopes.of(other))
        for index, other in enumerate(around.others)
    ]
    plans = tuple(scopes.plans)
    task = functools.partial(_prepare, plans=plans)
    others = workers.run(jobs, task, _lost, settings.jobs, lambda _: None)
    known = [prepared, *others]
    own = {job.target.path: plans[job.scope].options for job in jobs if job.scope != scope}
    return workers.deep(lambda: steps.linked(known, around.index(), plans[scope], around.users | {path}, own))


def _prepare(job: workers.Job, plans: Sequence[Plan]) -> Prepared:
    return steps.prepare(job.target, plans[job.scope], job.ignored, job.wanted)


def _lost(job: workers.Job) -> Prepared:
    return Prepared(job.target.path, outcome=Outcome(job.target.path))


def as_data(
    path: str, line: int, source: str, explained: Sequence[Explained], within: Sequence[Within]
) -> dict[str, Any]:
    """The explanation as plain data, for JSON."""
    return {
        "version": 1,
        "path": path,
        "line": line,
        "source": source,
        "expressions": [{**_believed(one.belief), "verdict": dataclasses.asdict(one.verdict)} for one in explained],
        "calls": [
            {
                "site": dataclasses.asdict(one.site),
                "source": one.source,
                "function": one.function,
                "waits_at": dataclasses.asdict(one.at),
            }
            for one in within
        ],
    }


def _believed(belief: Belief) -> dict[str, Any]:
    direction = belief.direction.value if belief.direction not in (None, Direction.NONE) else None
    return {
        "site": dataclasses.asdict(belief.site),
        "source": belief.source,
        "function": belief.function,
        "kind": belief.kind or None,
        "api": belief.api or None,
        "direction": direction,
        "sync": belief.waits,
        "explicit": belief.explicit,
        "subject": belief.subject or None,
        "place": {
            "before": belief.place.value,
            "after": belief.after.value if belief.after is not None else None,
            "words": belief.place_words,
            "why": [_evidence(one) for one in belief.why],
        },
        "heat": _heated(belief.heat),
        "confidence": belief.confidence.name.lower() if belief.confidence is not None else None,
        "confidence_words": belief.confidence_words or None,
        "quiet": belief.quiet or None,
    }


def _heated(heat: Heat) -> dict[str, Any]:
    return {
        "level": heat.level.name.lower(),
        "seen": heat.seen,
        "hot": heat.hot,
        "why": heat.why,
        "amortised": heat.amortised or None,
        "cold": heat.cold or None,
        "share": heat.share,
    }


def _evidence(evidence: Evidence) -> dict[str, Any]:
    return {"site": dataclasses.asdict(evidence.site), "message": evidence.message}
