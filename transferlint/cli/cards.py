"""Rules as plain data: what lists, pages and reports show of them."""

from __future__ import annotations

from typing import Any

from transferlint.knowledge.frameworks import FRAMEWORKS
from transferlint.links import rule_page
from transferlint.model import Safety
from transferlint.reporters.report import RuleCard
from transferlint.rule import Rule

_FIX = {None: "", Safety.DISPLAY: "", Safety.UNSAFE: "unsafe", Safety.SAFE: "safe"}


def card(rule: Rule) -> RuleCard:
    """A rule as reporters show it."""
    doc = rule.doc.strip() + "\n"
    fix, url = _FIX[rule.fix_safety], rule_page(rule.code) if _built_in(rule) else ""
    return RuleCard(rule.code, rule.name, rule.summary, rule.category, rule.default, fix, doc, url)


def beside_torch(rule: Rule) -> list[dict[str, str]]:
    """What a rule says of each framework beside torch that it serves: its advice there, and code that it reports and
    does not report ("" where it has no example)."""
    from transferlint.rule_tests import without_marks

    found = []
    for framework in FRAMEWORKS:
        advice = dict(rule.advice or ()).get(framework.name)
        if advice is None:
            continue
        example = next((one for one in rule.all_examples() if one.framework == framework.name), None)
        bad, good = (without_marks(example.bad), example.good) if example is not None else ("", "")
        rate = dict(rule.doubted).get(framework.name)
        asked = "" if rate is None else f"Only with `--min-confidence possible`: {rate:.0%} of its findings were right"
        found.append({"framework": framework.title, "advice": advice, "asked": asked, "bad": bad, "good": good})
    return found


def _built_in(rule: Rule) -> bool:
    """Whether the rule is of our own pack: only of these it is known where their pages are."""
    return rule.detect.__module__.partition(".")[0] == "transferlint_rules"


def row(rule: Rule) -> dict[str, Any]:
    """A rule as a JSON object, without its page."""
    return {
        "code": rule.code,
        "name": rule.name,
        "summary": rule.summary,
        "category": rule.category,
        "default": rule.default,
        "fix": _FIX[rule.fix_safety],
        "since": rule.since,
    }
