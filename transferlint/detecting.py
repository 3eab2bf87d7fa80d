"""Facts to findings: the rules, the suppressions, and the rules about suppressions."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from transferlint import selection
from transferlint.discovery import Trouble
from transferlint.model import AGAIN, Finding, Site
from transferlint.plan import Checked, Plan, internal
from transferlint.rule import CommentFacts, Rule

if TYPE_CHECKING:
    from transferlint.flow.facts import FileFacts
    from transferlint.syntax.suppressions import Suppression


def detected(facts: FileFacts, comments: Sequence[Suppression], plan: Plan, ignored: tuple[str, ...]) -> Checked:
    """What the rules find, without what is suppressed or not sure enough; rules about suppressions come last."""
    path = facts.path
    found: list[Finding] = []
    troubles: list[Trouble] = []
    ran: set[str] = set()
    rules = [rule for rule in plan.rules if not selection.ignored(rule.code, rule.name, ignored)]
    facts.claimants = tuple((rule.code, rule.claims) for rule in rules if rule.claims is not None)
    for rule in rules:
        try:
            found.extend([_named(finding, rule) for finding in rule.detect(facts)])
            ran.add(rule.code)
        except Exception as error:
            troubles.append(internal(rule.code, path, error))
    silenced = [frozenset(_silenced_by(comment, found)) for comment in comments]
    counting = [f for f in found if not any(_silences(comment, f) for comment in comments)]
    judging = [rule for rule in rules if rule.judge is not None]
    if comments and judging:
        usual = frozenset(rule.code for rule in plan.rules if rule.default) if plan.usual is None else plan.usual
        judged = CommentFacts(path, facts.text, tuple(comments), tuple(silenced), frozenset(ran), usual, plan.whole)
        for rule in judging:
            try:
                counting += [f for f in _judged(rule, judged) if not _names(comments, f)]
            except Exception as error:
                troubles.append(internal(rule.code, path, error))
    sure = sorted((finding for finding in counting if finding.confidence >= plan.min_confidence), key=_order)
    new, known = (sure, []) if plan.known is None else plan.known.split(sure)
    return Checked(tuple(new), tuple(troubles), _malformed(path, comments), tuple(known), tuple(sorted(ran)))


def _judged(rule: Rule, facts: CommentFacts) -> list[Finding]:
    assert rule.judge is not None
    return [_named(finding, rule) for finding in rule.judge(facts)]


def _silences(comment: Suppression, finding: Finding) -> bool:
    first, last = finding.site.line, max(finding.site.line, finding.site.end_line)
    return comment.silences(finding.code, first, last)


def _silenced_by(comment: Suppression, found: Iterable[Finding]) -> Iterator[str]:
    """The codes of what a comment silences: findings, or sites for which a finding elsewhere speaks too."""
    for finding in found:
        speaks_for = (link.site for link in finding.evidence if link.message == AGAIN)
        if any(comment.silences(finding.code, at.line, at.end_line) for at in (finding.site, *speaks_for)):
            yield finding.code


def _names(comments: Iterable[Suppression], finding: Finding) -> bool:
    """Whether a comment that names the code in full silences a finding about comments."""
    return any(finding.code in comment.codes and _silences(comment, finding) for comment in comments)


def _named(finding: Finding, rule: Rule) -> Finding:
    """Facts make findings without code and name; they are those of the rule that yields them. Raises TypeError for what
    is no finding: rules are anybody's code."""
    made: Any = finding
    if not (isinstance(made, Finding) and isinstance(made.site, Site)):
        raise TypeError(f"yields a {type(made).__name__}, not a Finding with a Site")
    return finding if finding.code else dataclasses.replace(finding, code=rule.code, name=rule.name)


def _order(finding: Finding) -> tuple[int, int, str, str]:
    return finding.site.line, finding.site.column, finding.code, finding.message


def _malformed(path: str, comments: Iterable[Suppression]) -> tuple[str, ...]:
    """A line for each comment that is addressed to us and silences nothing because it is not understood."""
    return tuple(
        f"{path}:{one.line}: this suppression is not understood: {' '.join(one.codes)}"
        for one in comments
        if one.kind == "malformed"
    )
