"""What every rule must show: examples that do what they say, and fixtures that are reported exactly as marked.

A mark is the comment `# expect: ABC101` on the line of a finding's site, `# expect: ABC101, ABC101` where several are
expected there. Nothing is executed but the rules.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from transferlint import late
from transferlint.engine import pipeline
from transferlint.engine.plan import Plan
from transferlint.fixes.rounds import FixOutcome, fix_text
from transferlint.flow.lattice.options import AnalysisOptions
from transferlint.model import Confidence, Finding, Safety
from transferlint.rule import Example, Rule

MARK = late.pattern(r"[ \t]*# *expect: *(?P<codes>[A-Z]+[0-9]{3}(?: *, *[A-Z]+[0-9]{3})*)[ \t]*(?=\r?$)", re.M)
Reported = Counter[tuple[int, str]]


@late.dataclass(frozen=True, slots=True)
class Fault:
    """Something that a rule does not keep: where, and what, each in one line."""

    where: str
    message: str


class RuleBroke(Exception):
    """A rule that raised while it was tried; the message is one line."""


def marks(text: str) -> Reported:
    """What a text says is to be reported: how often each code on each 1-based line."""
    wanted: Reported = Counter()
    for match in MARK.finditer(text):
        line = text.count("\n", 0, match.start()) + 1
        wanted.update((line, code) for code in re.split(r" *, *", match["codes"]))
    return wanted


def without_marks(text: str) -> str:
    """The text as a user would have written it. Lines stay where they are."""
    return MARK.sub("", text)


def reported(findings: Iterable[Finding]) -> Reported:
    """How often each code was reported on each line, by a finding of its own or joined to another."""
    return Counter((one.site.line, one.code) for finding in findings for one in finding.apart())


def example_faults(rule: Rule, beside: Sequence[Rule] = ()) -> Iterator[Fault]:
    """What is wrong with a rule's examples: bad fires once on each marked line, good is silent, the fix makes `fixed`
    of bad, a second fix nothing more, and no fix is safer than the rule says. `beside` run too, where the rule judges
    suppressions."""
    fixable = rule.fix_safety in (Safety.SAFE, Safety.UNSAFE)
    if not rule.examples:
        yield Fault(rule.code, "has no examples")
    elif fixable != any(example.fixed for example in rule.examples):
        yield Fault(rule.code, "no example shows what its fix makes" if fixable else "`fixed` without a fix_safety")
    rules = (rule, *beside) if rule.judge is not None else (rule,)
    for number, example in enumerate(rule.all_examples(), start=1):
        where = f"{rule.code} example {number}"
        try:
            yield from (Fault(where, message) for message in _of_example(rule, example, rules))
        except RuleBroke as error:
            yield Fault(where, str(error))


def _of_example(rule: Rule, example: Example, rules: Sequence[Rule]) -> Iterator[str]:
    wanted = marks(example.bad)
    if not wanted:
        yield f"nothing in `bad` is marked with `# expect: {rule.code}`"
    if marks(example.good):
        yield "`good` has a mark"
    bad = without_marks(example.bad)
    least = rule.least(example.framework)
    yield from _differences("bad", wanted, _checked("example.py", bad, rules, least))
    yield from _differences("good", Counter(), _checked("example.py", example.good, rules))
    made = _fixed(bad, rule, rules, example.unsafe or not example.fixed)
    yield from (f"bad: {line}" for line in made.refused)
    if made.text != (example.fixed or bad):
        line = _first_difference(made.text, example)
        yield f"the fix of `bad` makes something else than `fixed`, first in line {line}"
    safer = [one for one in made.fixed if one.fix and rule.fix_safety and one.fix.safety > rule.fix_safety]
    if safer:
        yield "a fix is safer than the rule's fix_safety says"
    if example.fixed and not marks(example.fixed) and _fixed(example.fixed, rule, rules, True).text != example.fixed:
        yield "a second fix changes `fixed`"


def fixture_faults(path: str, rules: Sequence[Rule]) -> Iterator[Fault]:
    """Where a fixture is not reported exactly as it is marked. Only the file's name is told to the rules: code below a
    folder called tests would be cold."""
    try:
        with open(path, "rb") as file:
            data = file.read()
    except OSError as error:
        yield Fault(path, f"cannot be read: {error.strerror or error}")
        return
    wanted = marks(data.decode("utf-8", "replace"))
    kind = os.path.basename(path).partition("_")[0]
    if kind in ("quiet", "suppressed") and wanted:
        yield Fault(path, f"a fixture called {kind} has a mark")
    if kind == "fires" and not wanted:
        yield Fault(path, "a fixture called fires has no mark")
    try:
        found = _findings(os.path.basename(path), data, rules)
    except RuleBroke as error:
        yield Fault(path, str(error))
        return
    for message in _differences("", wanted, found):
        yield Fault(path, message)


def _differences(what: str, wanted: Reported, findings: Sequence[Finding]) -> Iterator[str]:
    prefix = f"{what}: " if what else ""
    found = reported(findings)
    words = {(finding.site.line, finding.code): finding.message for finding in findings}
    for (line, code), number in sorted((wanted - found).items()):
        yield f"{prefix}line {line}: {code} is not reported" + (f", {number} times" if number > 1 else "")
    for (line, code), number in sorted((found - wanted).items()):
        often = f" {number} times" if number > 1 else ""
        yield f"{prefix}line {line}: {code} is reported{often} and not marked: {words[line, code]}"


def _first_difference(made: str, example: Example) -> int:
    pairs = zip(made.split("\n"), (example.fixed or without_marks(example.bad)).split("\n"), strict=False)
    return next((number for number, (one, other) in enumerate(pairs, start=1) if one != other), made.count("\n") + 1)


def _checked(name: str, text: str, rules: Sequence[Rule], least: Confidence = Confidence.LIKELY) -> tuple[Finding, ...]:
    return _findings(name, text.encode(), rules, least)


def _findings(
    name: str, data: bytes, rules: Sequence[Rule], least: Confidence = Confidence.LIKELY
) -> tuple[Finding, ...]:
    outcome = pipeline.check_bytes(name, data, Plan(tuple(rules), AnalysisOptions(excerpts=True), min_confidence=least))
    for trouble in outcome.troubles:
        raise RuleBroke(trouble.message)
    return outcome.findings


def _fixed(text: str, rule: Rule, rules: Sequence[Rule], unsafe: bool) -> FixOutcome:
    """The text after the fixes of one rule."""

    def check(now: str) -> list[Finding]:
        return [finding for finding in _checked("example.py", now, rules) if finding.code == rule.code]

    return fix_text("example.py", text, check, unsafe)
