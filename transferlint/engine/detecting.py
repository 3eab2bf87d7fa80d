"""Facts to findings: the rules, the suppressions, and the rules about suppressions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from transferlint import late
from transferlint.engine.joining import joined
from transferlint.engine.plan import Checked, Plan, internal
from transferlint.model import Finding, Fix, QuietSite, Site
from transferlint.rule import CommentFacts, Rule
from transferlint.settings import selection
from transferlint.sources.discovery import Trouble
from transferlint.suppressions.silenced import Silencing

if TYPE_CHECKING:
    from transferlint.flow.facts import FileFacts, FunctionFacts
    from transferlint.syntax.program import Reg
    from transferlint.syntax.suppressions import Suppression


def detected(facts: FileFacts, comments: Sequence[Suppression], plan: Plan, ignored: tuple[str, ...]) -> Checked:
    """What the rules find, without what is suppressed or not sure enough; rules about suppressions come last."""
    troubles: list[Trouble] = []
    firsts: list[tuple[Rule, list[Finding]]] = []
    counting: list[Finding] = []
    rules = [rule for rule in plan.rules if not selection.ignored(rule.code, rule.name, ignored)]
    facts.claimants = tuple((rule.code, claims) for rule in rules if (claims := _claims(rule)) is not None)

    silencing = Silencing(comments)

    def quiet(finding: Finding) -> bool:
        return silencing.first(finding) is not None

    def gone(finding: Finding) -> bool:
        return quiet(finding) or (plan.since is not None and not plan.since.cover(finding.site, facts.text))

    # A baseline is held against all that is found: what it knows elsewhere must not pass for what is new here.
    left_out = gone if plan.known is None else quiet
    for rule in rules:
        try:
            found = findings_of(rule, facts)
            counting += [f for f in regrouped(rule, facts, found, left_out) if not left_out(f)]
            firsts.append((rule, found))
        except Exception as error:
            troubles.append(internal(rule.code, facts.path, error))
    judged = _judgements(facts, silencing, plan, rules, firsts, troubles)
    if plan.since is not None and plan.known is None:
        judged = (finding for finding in judged if plan.since.cover(finding.site, facts.text))
    counting = [finding for finding in (*counting, *judged) if plan.reports(finding)]
    keys: list[str] = []
    hidden = 0
    found = counting
    if plan.known is not None:
        counting, hidden, keys = _fresh(facts, counting, firsts, gone, plan)
    new = told(facts, counting, rules)
    ran = tuple(sorted(rule.code for rule, _ in firsts))
    asked = tuple(_on_purpose(facts, silencing, firsts, found, new)) if plan.quiet else ()
    notes = (*_malformed(facts.path, comments), *_cut(facts))
    return Checked(new, tuple(troubles), notes, tuple(keys), ran, hidden, asked)


def told(facts: FileFacts, counting: Iterable[Finding], rules: Iterable[Rule]) -> tuple[Finding, ...]:
    """The findings that count as they are told, in order: laid out, and waits of one iteration joined."""
    waiting = frozenset(rule.code for rule in rules if rule.waits)
    return joined(facts, _laid_out(facts, sorted(counting, key=_order)), waiting)


def _claims(rule: Rule) -> Callable[[FunctionFacts], Iterable[Reg]] | None:
    """What a rule claims, of the frameworks that it serves."""
    claims = rule.claims
    if claims is None or rule.advice is None:
        return claims
    served = {"", *dict(rule.advice)}
    return lambda function: (reg for reg in claims(function) if function.framework(reg) in served)


def _laid_out(facts: FileFacts, found: list[Finding]) -> tuple[Finding, ...]:
    """Findings whose fixes keep to the line length of the file's project, and to what its comments say."""
    if not any(finding.fix for finding in found):
        return tuple(found)
    # All of this is about the text of fixes, of which most runs show none.
    from transferlint.fixes.layout_style import habits_of
    from transferlint.fixes.layout_worth import laid_out_fix
    from transferlint.fixes.line_length import formatter, line_length
    from transferlint.fixes.stale_comments import without_stale_comments
    from transferlint.fixes.surroundings import Statements
    from transferlint.fixes.whole_changes import only_whole

    limit = line_length(facts.path, facts.text)
    tool = formatter(facts.path, facts.text)
    comments, habits = facts.spans.comments(), habits_of(facts.text)
    functions = (one.function.node for one in facts.functions if one.function.kind == "function")
    statements = Statements(facts.text, [facts.spans.of(node) for node in functions])

    def written(fix: Fix) -> Fix:
        made = late.replace(fix, edits=tuple(habits.written(facts.text, edit) for edit in fix.edits))
        return laid_out_fix(statements, without_stale_comments(facts.text, comments, made), limit, tool)

    laid_out = [late.replace(one, fix=written(one.fix)) if one.fix else one for one in found]
    return only_whole(statements, laid_out)


def _on_purpose(
    facts: FileFacts,
    silencing: Silencing,
    firsts: Sequence[tuple[Rule, list[Finding]]],
    counting: Iterable[Finding],
    new: Iterable[Finding],
) -> Iterator[QuietSite]:
    """What is not among the `new` findings on purpose: suppressed, in the baseline (of those that are `counting`), or
    quiet by the analysis."""
    from transferlint.flow.quiet import quiet_sites

    reported = {one.site for finding in new for one in finding.members()}
    for member in (one for _, group in firsts for finding in group for one in finding.members()):
        comment = silencing.first(member)
        if comment is not None and member.site not in reported:
            reason = f": {comment.reason}" if comment.reason else ""
            said = f"{member.code} is suppressed by the comment at line {comment.line}{reason}"
            yield QuietSite(member.site, None, "suppressed", said)
    for member in (one for finding in counting for one in finding.members()):
        if member.site not in reported:
            yield QuietSite(member.site, None, "baseline", f"{member.code} is in the baseline")
    yield from quiet_sites(facts, reported)


def findings_of(rule: Rule, facts: FileFacts) -> list[Finding]:
    """What a rule finds, with its code and name. Raises whatever the rule raises."""
    served = (rule.served(_checked(finding)) for finding in rule.detect(facts))
    return [_named(finding, rule) for finding in served if finding is not None]


def regrouped(rule: Rule, facts: FileFacts, found: list[Finding], silent: Callable[[Finding], bool]) -> list[Finding]:
    """The findings of a rule, found again where one of them speaks for sites of which only some are `silent`: those
    are put into groups of their own, and what hid behind them comes forward."""
    members = [finding.members() for finding in found]
    if all(len({silent(one) for one in group}) == 1 for group in members):
        return found
    facts.silent = frozenset(one.site for group in members for one in group if silent(one))
    try:
        return findings_of(rule, facts)
    finally:
        facts.silent = frozenset()


def _fresh(
    facts: FileFacts,
    counting: list[Finding],
    firsts: Iterable[tuple[Rule, list[Finding]]],
    quiet: Callable[[Finding], bool],
    plan: Plan,
) -> tuple[list[Finding], int, list[str]]:
    """The findings that the baseline does not know, how many others there are, and the fingerprints of what it knows.
    `firsts` are what the rules found at first, `counting` what counts of it and of the judgements on comments."""
    assert plan.known is not None
    members = [one for finding in sorted(counting, key=_order) for one in finding.members()]
    unknown, keys = plan.known.split(members)
    known = {_place(one) for one in members} - {_place(one) for one in unknown}

    def silent(finding: Finding) -> bool:
        return _place(finding) in known or quiet(finding)

    grouped = [(rule, found) for rule, found in firsts if any(len(finding.members()) > 1 for finding in found)]
    codes = {finding.code for _, found in grouped for finding in found}
    again = [finding for finding in counting if finding.code not in codes]
    for rule, found in grouped:
        made = regrouped(rule, facts, found, silent)
        again += [one for one in made if plan.reports(one)]
    new = [finding for finding in again if not silent(finding)]
    left_out = [one for one in again if silent(one) and not known.isdisjoint(map(_place, one.members()))]
    return new, len(left_out), keys


def _place(finding: Finding) -> tuple[str, Site]:
    return finding.code, finding.site


def _judgements(
    facts: FileFacts,
    silencing: Silencing,
    plan: Plan,
    rules: Iterable[Rule],
    firsts: Sequence[tuple[Rule, list[Finding]]],
    troubles: list[Trouble],
) -> Iterator[Finding]:
    """What the rules about suppressions say of the comments, given what the others found; adds to `troubles`."""
    comments = silencing.comments
    judging = [rule for rule in rules if rule.judge is not None]
    if not comments or not judging:
        return
    silenced = silencing.codes(finding for _, group in firsts for finding in group)
    usual = frozenset(rule.code for rule in plan.rules if rule.default) if plan.usual is None else plan.usual
    ran = frozenset(rule.code for rule, _ in firsts)
    judged = CommentFacts(facts.path, facts.text, comments, silenced, ran, usual, plan.whole)
    for rule in judging:
        try:
            yield from [f for f in _judged(rule, judged) if not _names(silencing, f)]
        except Exception as error:
            troubles.append(internal(rule.code, facts.path, error))


def _judged(rule: Rule, facts: CommentFacts) -> list[Finding]:
    assert rule.judge is not None
    return [_named(_checked(finding), rule) for finding in rule.judge(facts)]


def _names(silencing: Silencing, finding: Finding) -> bool:
    """Whether a comment that names the code in full silences a finding about comments."""
    return any(finding.code in silencing.comments[number].codes for number in silencing.of(finding))


def _checked(finding: Finding) -> Finding:
    """Raises TypeError for what is no finding: rules are anybody's code."""
    made: Any = finding
    if not (isinstance(made, Finding) and isinstance(made.site, Site)):
        raise TypeError(f"yields a {type(made).__name__}, not a Finding with a Site")
    return finding


def _named(finding: Finding, rule: Rule) -> Finding:
    """Facts make findings without code and name; they are those of the rule that yields them."""
    return finding if finding.code else late.replace(finding, code=rule.code, name=rule.name)


def _order(finding: Finding) -> tuple[int, int, str, str]:
    return finding.site.line, finding.site.column, finding.code, finding.message


def _cut(facts: FileFacts) -> Iterator[str]:
    """A line where the file has functions in which something was not followed to its end."""
    if facts.cut:
        names = sorted(facts.cut)
        shown = ", ".join(f"`{name}`" for name in names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
        yield f"{facts.path}: too much is computed from one value in {shown}: not all of it was followed"


def _malformed(path: str, comments: Iterable[Suppression]) -> tuple[str, ...]:
    """A line for each comment that is addressed to us and silences nothing because it is not understood."""
    return tuple(
        f"{path}:{one.line}: this suppression is not understood: {' '.join(one.codes)}"
        for one in comments
        if one.kind == "malformed"
    )
