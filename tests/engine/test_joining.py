"""Waits for the device that follow one another are one finding, whichever rules find them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from proving import default_rules
from runtime_check.findings import read_findings
from transferlint.cli.explaining import Terms, explain
from transferlint.engine import pipeline
from transferlint.engine.plan import Plan
from transferlint.flow.lattice.options import AnalysisOptions
from transferlint.model import Confidence, Finding, Safety
from transferlint.reporters import json as as_json
from transferlint.reporters import text as as_text
from transferlint.reporters.report import Report
from transferlint.suppressions import baseline
from transferlint.suppressions.silencing import silence_text
from transferlint.syntax import front_end
from transferlint.syntax.portable import FrozenSpans
from transferlint.syntax.source import Source

PLAN = Plan(default_rules(), AnalysisOptions(excerpts=True))
HEAD = """\
import torch
from telling import tell


def train(model: torch.nn.Module, loader, optimizer, device):
    for x in loader:
        out = model(x.to(device))
        loss = out.mean()
"""
BRANCH = "        if out.max() > 3:\n            tell('much')\n"
READ = "        tell(loss.item())\n"
COPY = "        tell(out.cpu().numpy())\n"
RUN = "        loss.backward()\n"


def found(text: str, plan: Plan = PLAN) -> list[Finding]:
    made = pipeline.check_text("a.py", text, plan)
    assert made.troubles == ()
    return list(made.findings)


def shown(body: str) -> list[list[tuple[int, str]]]:
    """The line and code of each finding, behind it those that it speaks for."""
    return [[(one.site.line, one.code) for one in finding.members()] for finding in found(HEAD + body)]


def test_waits_of_one_iteration_are_one_finding() -> None:
    (finding,) = found(HEAD + BRANCH + READ + COPY)
    assert [(one.site.line, one.code) for one in finding.members()] == [(9, "TL301"), (11, "TL101"), (12, "TL102")]
    assert finding.message.endswith("; 2 more waits in the same iteration, the first at line 11")
    assert finding.members()[1].source == "loss.item()"


def test_a_run_of_a_model_parts_them() -> None:
    assert shown(BRANCH + RUN + READ) == [[(9, "TL301")], [(12, "TL101")]]
    assert shown(BRANCH + "        out = model(out)\n" + READ) == [[(9, "TL301")], [(12, "TL101")]]
    helper = "\n\ndef helped(model: torch.nn.Module, x):\n    return model(x)\n"
    assert shown(BRANCH + "        helped(model, out)\n" + READ + helper) == [[(9, "TL301")], [(12, "TL101")]]


def test_what_runs_no_model_does_not() -> None:
    helper = "\n\ndef helped(x):\n    return x.sum()\n"
    assert shown(BRANCH + "        helped(out)\n" + READ + helper) == [[(9, "TL301"), (12, "TL101")]]


def test_two_arms_of_which_one_runs_are_two() -> None:
    body = f"        if x.ndim:\n    {READ}        else:\n    {BRANCH.splitlines()[0]}\n                tell(1)\n"
    assert shown(body) == [[(10, "TL101")], [(12, "TL301")]]


def test_what_follows_an_arm_that_leaves_stands_in_the_other() -> None:
    body = f"        if x.ndim:\n    {READ}            continue\n" + COPY
    assert shown(body) == [[(10, "TL101")], [(12, "TL102")]]


def test_arms_of_two_branches_are_one() -> None:
    assert shown(f"        if x.ndim:\n    {READ}        if loader:\n    {COPY}") == [[(10, "TL101"), (12, "TL102")]]


INNER = "        for y in x:\n            tell((y * out).sum().item())\n"


def test_a_loop_within_the_iteration_is_one_with_what_stands_around_it_and_comes_first() -> None:
    assert shown(BRANCH + INNER) == [[(12, "TL101"), (9, "TL301")]]
    assert shown(BRANCH + INNER + "            y = model(y)\n") == [[(9, "TL301")], [(12, "TL101")]]


def test_two_loops_over_batches_are_two() -> None:
    second = "    for x in loader:\n" + READ.replace("loss", "model(x.to(device)).mean()")
    made = [[(one.site.line, one.code) for one in finding.members()] for finding in found(HEAD + READ + second)]
    assert made == [[(9, "TL101")], [(11, "TL101")]]
    without = HEAD.replace("model: torch.nn.Module", "model")
    made = [[(one.site.line, one.code) for one in finding.members()] for finding in found(without + READ + second)]
    assert made == [[(9, "TL101")], [(11, "TL101")]]


def test_one_in_an_arm_and_one_around_it_are_one_and_a_context_is_no_arm() -> None:
    within = "        if x.ndim:\n    " + READ
    assert shown(within + COPY) == [[(10, "TL101"), (11, "TL102")]]
    context = "        with torch.no_grad():\n    "
    assert shown(context + READ + context + COPY) == [[(10, "TL101"), (12, "TL102")]]


def test_what_can_be_fixed_by_itself_stays_a_finding_of_its_own() -> None:
    text = """\
import logging

import torch

logger = logging.getLogger(__name__)


def train(model, loader, tell):
    for x, y in loader:
        loss = torch.nn.functional.mse_loss(model(x.cuda()), y.cuda())
        logger.debug(f"loss {loss}")
        tell(loss.item(), "much" if loss > 3 else "")
"""
    made = found(text)
    assert [(one.code, len(one.members())) for one in made] == [("TL303", 1), ("TL106", 2)]
    assert made[0].fix is not None
    assert made[0].fix.safety is Safety.SAFE


@pytest.mark.parametrize(
    ("line", "left"),
    [
        (9, [[(11, "TL101"), (12, "TL102")]]),
        (11, [[(9, "TL301"), (12, "TL102")]]),
        (12, [[(9, "TL301"), (11, "TL101")]]),
    ],
)
def test_what_is_suppressed_is_in_no_group(line: int, left: list[list[tuple[int, str]]]) -> None:
    lines = (HEAD + BRANCH + READ + COPY).splitlines()
    lines[line - 1] += "  # transferlint: ignore[TL301, TL101, TL102] wanted"
    made = found("\n".join(lines) + "\n")
    assert [[(a.site.line, a.code) for a in one.members()] for one in made if one.code != "TL002"] == left


def test_a_baseline_knows_each_wait_by_itself(tmp_path: Path) -> None:
    text = HEAD + BRANCH + READ
    path = tmp_path / "known.json"
    path.write_text(baseline.render(found(text), str(path), Confidence.LIKELY, "project"))
    known = Plan(default_rules(), PLAN.options, known=baseline.read(str(path)))
    assert {row["code"] for row in json.loads(path.read_text())["findings"]} == {"TL301", "TL101"}
    assert found(text, known) == []
    assert found(HEAD + READ, known) == []  # the one that spoke for it is gone
    (new,) = found(text + COPY, known)
    assert [(one.site.line, one.code) for one in new.members()] == [(12, "TL102")]


def test_each_is_silenced_on_its_own_line() -> None:
    silent = silence_text("a.py", HEAD + BRANCH + READ, found, "known")
    lines = silent.text.splitlines()
    assert "TL301" in lines[8]
    assert "TL101" in lines[10]
    assert silent.remaining == ()


def test_the_report_names_the_rule_of_each_and_a_run_judges_each_by_itself() -> None:
    text = HEAD + BRANCH + READ
    (finding,) = found(text)
    report = Report((finding,), {"a.py": text}, 1)
    data = as_json.render(report)
    (link,) = [one for one in json.loads(data)["findings"][0]["evidence"] if one["part"] == "beside"]
    assert (link["line"], link["code"], link["name"]) == (11, "TL101", "scalar-read-in-hot-code")
    assert link["fingerprint"] == finding.members()[1].fingerprint()
    parted = read_findings(data)
    assert [(one.site.line, one.code, one.fingerprint) for one in parted] == [
        (one.site.line, one.code, one.fingerprint()) for one in finding.members()
    ]
    assert "TL101: `loss.item()` waits for the GPU" in as_text.render(report)


def test_explain_says_with_what_a_wait_is_told() -> None:
    text = HEAD + BRANCH + READ
    program, comments, *offsets = front_end.read(Source("a.py", text, "utf-8", False))
    facts = pipeline.facts_of("a.py", text, program, FrozenSpans(text, *offsets), PLAN, None)
    terms = Terms(frozenset(rule.code for rule in PLAN.rules), Confidence.LIKELY, (), comments)
    (read,) = [one for one in explain(facts, 11, PLAN.rules, terms) if one.verdict.code == "TL101"]
    assert read.verdict.reported
    assert read.verdict.reason.endswith("; told with TL301 at line 9")
