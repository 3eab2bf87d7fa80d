"""Findings that speak for several sites: what is suppressed or known in a group does not hide the rest of it, and what
cannot be fixed does not keep the rest from being fixed."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest

from proving import all_rules, check_bytes, default_rules
from transferlint import registry
from transferlint.cli.explaining import Terms, explain
from transferlint.engine import checking, pipeline
from transferlint.engine.plan import Checked, Plan
from transferlint.fixes.rounds import fix_text
from transferlint.flow.lattice.options import AnalysisOptions
from transferlint.model import Confidence, Finding, Safety
from transferlint.settings.loading import Settings
from transferlint.suppressions import baseline

PLAN = Plan(default_rules(), AnalysisOptions(excerpts=True))
MARK = "  # transferlint: ignore[TL101] wanted"


def reads(*marks: str) -> str:
    """Reads on the lines from 8 on, each with a comment behind it; the host needs their numbers at once."""
    body = "".join(f"        tell(loss.item() + {number}){mark}\n" for number, mark in enumerate(marks))
    head = "import torch\nfrom telling import tell\n\n\ndef train(model, loader, device):\n    for x in loader:\n"
    return f"{head}        loss = model(x.to(device)).mean()\n{body}        loss.backward()\n"


def checked(text: str, plan: Plan = PLAN) -> Checked:
    made = pipeline.check_text("a.py", text, plan)
    assert made.troubles == ()
    return made


def shown(text: str, plan: Plan = PLAN) -> list[tuple[str, list[int]]]:
    """The codes of findings, and the lines that each speaks for."""
    return [(one.code, [at.site.line for at in one.members()]) for one in checked(text, plan).findings]


@pytest.mark.parametrize(
    ("marks", "left"),
    [
        (("", "", ""), [("TL101", [8, 9, 10])]),
        ((MARK, "", ""), [("TL101", [9, 10])]),
        (("", MARK, ""), [("TL101", [8, 10])]),
        (("", "", MARK), [("TL101", [8, 9])]),
        ((MARK, MARK, ""), [("TL101", [10])]),
        (("  # noqa: TL101", "", ""), [("TL101", [9, 10])]),
        ((MARK, MARK, MARK), []),
        (("  # transferlint: ignore[TL301] other", "", ""), [("TL101", [8, 9, 10]), ("TL002", [8])]),
    ],
)
def test_the_next_that_is_not_suppressed_heads_the_group(marks: tuple[str, ...], left: list[tuple[str, list[int]]]):
    assert shown(reads(*marks)) == left


def test_a_comment_that_nothing_answers_to_is_unused_beside_a_group():
    text = reads(MARK, "", MARK).replace("        loss.backward()\n", f"        loss.backward(){MARK}\n")
    assert shown(text) == [("TL101", [9]), ("TL002", [11])]


def test_a_group_stays_together_across_what_is_suppressed_in_it():
    text = reads("", MARK, "").replace("        tell", "\n\n\n\n        tell")
    assert shown(text) == [("TL101", [12, 22])]


def test_the_loop_over_elements_comes_forward_too():
    text = """\
import torch


def rows(x: torch.Tensor, lengths: torch.Tensor):
    x, lengths = x.cuda(), lengths.cuda()
    for i in range(len(x)):
        x[i, lengths[i] :] = 0{mark}
        x[i, int(lengths[i])] = 1
        x[i, : int(lengths[i]) - 1] = 2
    return x
"""
    mark = "  # transferlint: ignore[TL107] few rows"
    assert shown(text.format(mark="")) == [("TL107", [7, 8, 9])]
    assert shown(text.format(mark=mark)) == [("TL107", [8, 9])]


def test_too_few_are_left_to_be_scattered():
    text = """\
import torch


def train(model, loader, device, tracker):
    for x in loader:
        out = model(x.to(device))
        low, high, mean = out.min(), out.max(), out.mean()
        a = low.item(){mark}
        b = high.item()
        c = mean.item()
        tracker.log(a, b, c)
"""
    assert shown(text.format(mark="")) == [("TL106", [8, 9, 10])]
    assert shown(text.format(mark="  # transferlint: ignore[TL106] three small reads")) == []


def test_explain_says_what_check_reports():
    from transferlint.syntax import front_end
    from transferlint.syntax.portable import FrozenSpans
    from transferlint.syntax.source import Source

    text = reads(MARK, "", "")
    program, comments, *offsets = front_end.read(Source("a.py", text, "utf-8", False))
    facts = pipeline.facts_of("a.py", text, program, FrozenSpans(text, *offsets), PLAN, None)
    selected = frozenset(rule.code for rule in PLAN.rules)
    terms = Terms(selected, Confidence.LIKELY, (), comments)

    def said(line: int) -> list[str]:
        found = [one for one in explain(facts, line, PLAN.rules, terms) if one.verdict.code == "TL101"]
        return [f"{one.verdict.reported}: {one.verdict.reason}" for one in found]

    assert said(8) == ["False: TL101 is suppressed by the comment at line 8: wanted"]
    assert [one.partition(":")[0] for one in said(9)] == ["True"]
    assert said(10) == ["False: merged into TL101 at line 9: one change fixes both"]


# The baseline.


@pytest.fixture
def known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """The plan of a run whose baseline holds what is found in a text."""
    monkeypatch.chdir(tmp_path)

    def write(text: str) -> Plan:
        Path("a.py").write_text(text)
        made = baseline.render(checked(text).findings, "known.json", Confidence.LIKELY, "file")
        Path("known.json").write_text(made)
        return dataclasses.replace(PLAN, known=baseline.read("known.json"), whole=False)

    return write


def test_a_group_in_the_baseline_is_known_whole(known):
    plan = known(reads("", "", ""))
    again = checked(reads("", "", ""), plan)
    assert (again.findings, again.hidden, len(again.known)) == ((), 1, 3)
    assert [row["count"] for row in json.loads(Path("known.json").read_text())["findings"]] == [3]


def test_what_joins_a_known_group_is_new(known):
    plan = known(reads("", ""))
    joined = "tell(loss.sum().item())\n        tell(loss.item())"
    found = checked(reads("", "").replace("tell(loss.item() + 0)", joined), plan)
    assert [(one.site.line, one.source) for one in found.findings] == [(8, "loss.sum().item()")]
    assert found.hidden == 1


def test_what_is_left_of_a_known_group_is_known(known):
    plan = known(reads("", "", "").replace("loss.item() + 0", "loss.sum().item()"))
    assert shown(reads("", ""), plan) == []


def test_what_is_gone_from_a_known_group_is_stale(known):
    plan = known(reads("", "", ""))
    left = checked(reads("", ""), plan)
    assert plan.known is not None
    (stale,) = plan.known.stale(left.known, [("a.py", "TL101")])
    assert "TL101 is, 1 of 3 times, no longer found there" in stale.message


def test_comments_and_baseline_are_taken_together(known):
    distinct = reads("", "", "").replace("loss.item() + 1", "loss.sum().item()")
    plan = known(distinct.replace("loss.item() + 0)", f"loss.item() + 0){MARK}").replace("loss.item() + 2", "0"))
    found = checked(distinct.replace("loss.item() + 0)", f"loss.item() + 0){MARK}"), plan)
    assert [(one.code, [at.site.line for at in one.members()]) for one in found.findings] == [("TL101", [10])]
    assert found.hidden == 1


def test_only_what_is_new_in_a_group_is_fixed(known):
    text = "import torch\n\n\ndef f(model, x, device: torch.device, n):\n    for _ in range(n):\n"
    text += "        a = torch.zeros(3).to(device)\n        b = torch.ones(3).to(device)\n"
    text += "        x = model(x, a, b)\n    return x\n"
    plan = known(text.replace("        b = torch.ones(3).to(device)\n", "        b = 2\n"))
    made = pipeline.check_bytes("a.py", text.encode(), dataclasses.replace(plan, fix=True))
    assert made.data.decode() == text.replace("torch.ones(3).to(device)", "torch.ones(3, device=device)")
    assert (made.findings, made.hidden) == ((), 1)


# Suppressions that are written.


def test_suppressions_are_added_for_every_member(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("a.py").write_text(reads(*[""] * 25))
    settings = Settings(jobs=1, context="file")
    silence = checking.plan_for(settings, registry.load(), silence="measured")
    made = checking.check_paths(["a.py"], settings, silence, Unheard())
    assert (made.findings, len(made.silenced)) == ((), 1)
    text = Path("a.py").read_text()
    assert text.count("# transferlint: ignore[TL101] measured\n") == 25
    fixing = dataclasses.replace(settings, fix=True, unsafe_fixes=True)
    again = checking.check_paths(["a.py"], fixing, checking.plan_for(fixing, registry.load()), Unheard())
    assert (again.findings, again.changed) == ((), 0)
    assert Path("a.py").read_text() == text


class Unheard:
    def begin(self, total: int) -> None: ...

    def advance(self, count: int) -> None: ...


# Fixes of a part.


MADE = """\
import torch
from making import make


def f(model, x, device: torch.device, n):
    for _ in range(n):
        a = {}
        b = {}
        c = {}
        x = model(x, a, b, c)
    return x
"""
PLAIN, WRITTEN = "torch.zeros(3).to(device)", "(w := torch.ones(3)).to(device)"
RANDOM = "torch.rand(3).to(device)"


def fixed(text: str, unsafe: bool = False, plan: Plan = PLAN) -> str:
    def check(now: str) -> list[Finding]:
        return list(checked(now, plan).findings)

    made = fix_text("a.py", text, check, unsafe)
    assert made.refused == ()
    again = fix_text("a.py", made.text, check, unsafe)
    assert (again.text, again.fixed) == (made.text, ())
    return made.text


def title(text: str) -> tuple[str, Safety]:
    (found,) = (one for one in check_bytes("a.py", text.encode(), default_rules()) if one.code == "TL401")
    assert found.fix is not None
    return found.fix.title, found.fix.safety


def test_what_can_be_fixed_is_fixed_and_the_rest_is_named():
    text = MADE.format(PLAIN, WRITTEN, PLAIN)
    assert title(text) == (f"create it on the device; `{WRITTEN}` at line 8 remains", Safety.SAFE)
    there = "torch.zeros(3, device=device)"
    assert fixed(text) == MADE.format(there, WRITTEN, there)
    assert shown(fixed(text)) == [("TL401", [8])]


def test_the_finding_stands_at_its_head_though_that_cannot_be_fixed():
    text = MADE.format(WRITTEN, WRITTEN, PLAIN)
    assert title(text)[0] == "create it on the device, at line 9; 2 others remain, the first at line 7"
    assert fixed(text) == MADE.format(WRITTEN, WRITTEN, "torch.zeros(3, device=device)")


def test_safe_fixes_do_not_wait_for_unsafe_ones():
    text = MADE.format(RANDOM, PLAIN, RANDOM)
    there = "torch.zeros(3, device=device)"
    assert title(text)[1] is Safety.SAFE
    assert fixed(text) == MADE.format(RANDOM, there, RANDOM)
    random = "torch.rand(3, device=device)"
    assert fixed(text, unsafe=True) == MADE.format(random, there, random)


def test_what_is_suppressed_in_a_group_is_not_fixed():
    text = MADE.format(PLAIN, f"{PLAIN}  # transferlint: ignore[TL401] on purpose", PLAIN)
    there = "torch.zeros(3, device=device)"
    assert fixed(text) == text.replace(PLAIN, there).replace(f"{there}  #", f"{PLAIN}  #")


def test_the_first_read_that_can_be_collected_is():
    text = """\
import torch


def train(model, loader, device):
    total = 0.0
    for x in loader:
        loss = model(x.to(device)).mean()
        if loss.item() > 3:
            break
        total += loss.item()
    return total
"""
    (found,) = checked(text).findings
    assert found.fix is not None
    here = "accumulate on the device, read once after the loop, at line 10"
    assert found.fix.title == f"{here}; `loss.item()` at line 8 remains"
    assert found.fix.safety is Safety.DISPLAY  # every step waits as before
    assert fixed(text, unsafe=True) == text


def test_uploads_that_could_be_made_before_the_loop_are_one_finding():
    lines = [f"        {name} = torch.tensor([1.5, {number}.25], device=device)\n" for number, name in enumerate("abc")]
    text = "import torch\n\n\ndef train(model, loader, device):\n    model.to(device)\n    for x in loader:\n"
    text += "".join(lines) + "        model(x.to(device), a, b, c).backward()\n"
    assert shown(text) == [("TL104", [7, 8, 9])]
    assert fixed(text, unsafe=True) == text, "what is only shown was applied"


def test_every_rule_that_groups_names_the_sites_it_speaks_for():
    """What a baseline knows a member by is its text."""
    texts = [example.bad for rule in all_rules() for example in rule.all_examples()]
    texts += [reads("", ""), MADE.format(PLAIN, PLAIN, PLAIN)]
    members = [
        member
        for text in texts
        for finding in check_bytes("a.py", text.encode(), all_rules())
        for member in finding.members()[1:]
    ]
    assert len(members) > 5
    assert [member for member in members if not member.source] == []
