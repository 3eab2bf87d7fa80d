"""Findings of several rules that a reader wants to hear of as one: waits for the device that follow one another."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from transferlint import late
from transferlint.model import Evidence, Finding, Part, Safety, Site

if TYPE_CHECKING:
    from transferlint.flow.facts import FileFacts, FunctionFacts
    from transferlint.flow.stretches import Stretch
    from transferlint.syntax.program import Reg

_EXPLAINING = (Part.PLACE, Part.CONTEXT)
_MOST_ARMS = 16  # that are looked at for a place of a finding
Member = tuple[Finding, "Reg"]


def joined(facts: FileFacts, found: Sequence[Finding], codes: frozenset[str]) -> tuple[Finding, ...]:
    """The findings, in order; of those with one of the codes that stand in one iteration, with no run of a model
    between them, one speaks for the others: the surest, the first of these. What has a fix of its own that can be
    applied is left as it is."""
    waits = [finding for finding in found if finding.code in codes and not _applicable(finding)]
    if len({finding.context for finding in waits}) == len(waits):
        return tuple(found)
    # Most files come to nothing here, and do without what tells of models.
    from transferlint.flow.stretches import stretch

    groups: dict[tuple[int, Stretch], list[Member]] = {}
    for function, finding, reg in _placed(facts, waits):
        groups.setdefault((function.index, stretch(function, reg)), []).append((finding, reg))
    spoken: dict[int, Finding] = {}
    gone: set[int] = set()
    for (index, (loop, _)), group in groups.items():
        for head, others in _parts(facts.functions[index], group, loop):
            spoken[id(head)] = _speaking(head, others, "iteration" if loop else "call")
            gone.update(map(id, others))
    return tuple(spoken.get(id(one), one) for one in found if id(one) not in gone)


def _placed(facts: FileFacts, waits: Iterable[Finding]) -> Iterator[tuple[FunctionFacts, Finding, Reg]]:
    """The findings of functions that have several, with the register that each is about."""
    by_name: dict[str, list[Finding]] = {}
    for finding in waits:
        by_name.setdefault(finding.context, []).append(finding)
    for function in facts.transferring:
        own = by_name.get(function.function.qualname, ())
        if len(own) > 1:
            at = _registers(function, {finding.site for finding in own})
            yield from ((function, finding, at[finding.site]) for finding in own if finding.site in at)


def _registers(function: FunctionFacts, sites: set[Site]) -> dict[Site, Reg]:
    """What stands at these sites: transfers, and what a rule reports in their place."""
    found: dict[Site, Reg] = {}
    for some in ((one.register for one in function.transfers), range(len(function.code))):
        if len(found) < len(sites):
            with_text = ((function.site(reg), reg) for reg in some if function.has_text(reg))
            found = {**{site: reg for site, reg in with_text if site in sites}, **found}
    return found


def _parts(function: FunctionFacts, group: list[Member], loop: int) -> Iterator[tuple[Finding, list[Finding]]]:
    """A group by what speaks for what; what stands in another arm of a branch has no other beside it."""
    from transferlint.flow.stretches import branches

    heads: list[tuple[dict[Reg, int], list[Member]]] = []
    for finding, reg in sorted(group, key=_first):
        taken = branches(function, reg, loop)
        near = (members for arms, members in heads[:_MOST_ARMS] if not _apart(arms, taken))
        members = next(near, None)
        if members is None:
            heads.append((taken, members := []))
        members.append((finding, reg))
    for _, ((head, _), *others) in heads:
        if others:
            yield head, [one for one, _ in sorted(others, key=lambda one: one[1])]


def _apart(arms: dict[Reg, int], others: dict[Reg, int]) -> bool:
    """True for places in two arms of one branch."""
    return any(others.get(test, arm) != arm for test, arm in arms.items())


def _first(member: Member) -> tuple[int, bool, int, int]:
    """What speaks for a group: what runs most often, of that what is about several transfers, the surest, the first."""
    finding, reg = member
    several = any(link.part in (Part.RETURN, Part.TRANSFER) for link in finding.evidence)
    return -(finding.heat.level if finding.heat is not None else 0), not several, -finding.confidence, reg


def _applicable(finding: Finding) -> bool:
    return finding.fix is not None and finding.fix.safety is not Safety.DISPLAY


def _links(joined: Finding) -> Iterator[Evidence]:
    """A joined finding as evidence of another, and the other sites that it is about."""
    code, name = joined.code, joined.name
    yield Evidence(joined.site, joined.message, joined.source, Part.BESIDE, code, name)
    yield from (late.replace(one, code=code, name=name) for one in joined.evidence if one.part not in _EXPLAINING)


def _speaking(head: Finding, others: Sequence[Finding], turn: str) -> Finding:
    beside = [link for other in others for link in _links(other)]
    more = sum(link.part in (Part.SAME, Part.BESIDE) for link in beside)
    count = "another wait" if more == 1 else f"{more} more waits"
    message = (
        f"{head.message}; {count} in the same {turn}{', the first' if more > 1 else ''} at line {beside[0].site.line}"
    )
    shares = [one.heat.share for one in (head, *others) if one.heat is not None and one.heat.share is not None]
    heat = late.replace(head.heat, share=max(shares)) if head.heat is not None and shares else head.heat
    return late.replace(head, message=message, evidence=(*head.evidence, *beside), heat=heat)
