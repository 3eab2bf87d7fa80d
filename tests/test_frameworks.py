"""Frameworks beside torch: planted programs, what is traced, what a rule says of which framework, and what is left of
torch outside of the tables."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from proving import all_rules, check_bytes, default_rules, marks, reported
from transferlint.knowledge.frameworks import FRAMEWORKS
from transferlint.model import Finding
from transferlint.rule import Rule

ROOT = Path(__file__).parents[1]
PLANTED = sorted((Path(__file__).parent / "fixtures" / "planted").glob("*.py"))
NAMES = {framework.name for framework in FRAMEWORKS}
SHOWN = {path.stem for path in PLANTED}
# How often the analysis and the rules spell torch in code: it may only become less. What is told by tables is not here.
TORCH_IN_FLOW = 98
TORCH_IN_RULES = 228


def found(text: str, *also: str) -> tuple[Finding, ...]:
    return check_bytes("example.py", text.encode(), default_rules(*also))


@pytest.mark.parametrize("path", PLANTED, ids=lambda path: path.stem)
def test_ten_planted_mistakes_are_found_and_none_is_invented(path: Path) -> None:
    data = path.read_bytes()
    wanted = marks(data.decode())
    assert sum(wanted.values()) == 10
    findings = check_bytes(path.name, data, default_rules())
    assert reported(findings) == wanted
    assert {finding.framework for finding in findings} == {path.stem}
    assert [finding for finding in findings if finding.fix is not None] == []
    assert [finding.help for finding in findings if "torch" in finding.help] == []


@pytest.mark.parametrize("rule", all_rules(), ids=lambda rule: rule.code)
def test_a_rule_says_which_frameworks_it_serves(rule: Rule) -> None:
    if rule.code.startswith("TL0"):
        return
    assert rule.advice is not None
    assert {name for name, _ in rule.advice} <= NAMES
    assert {example.framework for example in rule.examples} <= NAMES | {""}
    for name, advice in rule.advice:
        assert advice == advice.strip() != ""
        assert not advice.endswith(".")
        for kind in ("fires", "quiet", "suppressed") if name in SHOWN else ():
            assert (ROOT / "tests" / "fixtures" / rule.code / f"{kind}_{name}.py").is_file(), (rule.code, name, kind)


LOOP = """\
import {imported}


def train(batches):
    for batch in batches:
        total = {made}
        print({read})
"""


@pytest.mark.parametrize(
    ("imported", "made", "read", "framework"),
    [
        ("torch", "torch.ones(3, device='cuda').sum()", "total.item()", ""),
        ("jax.numpy as jnp", "jnp.ones(3).sum()", "total.item()", "jax"),
        ("jax.numpy as np", "np.ones(3).sum()", "total.item()", "jax"),
    ],
)
def test_a_finding_names_its_framework(imported: str, made: str, read: str, framework: str) -> None:
    (finding,) = found(LOOP.format(imported=imported, made=made, read=read))
    assert (finding.code, finding.framework) == ("TL101", framework)


@pytest.mark.parametrize(
    "setting",
    [
        'import jax\njax.config.update("jax_platforms", "cpu")',
        'import os\nos.environ["JAX_PLATFORMS"] = "cpu"',
        'import os\nos.environ["CUDA_VISIBLE_DEVICES"] = ""',
    ],
)
def test_a_program_that_asks_for_the_host_has_nothing_on_the_device(setting: str) -> None:
    text = LOOP.format(imported="jax.numpy as jnp", made="jnp.ones(3).sum()", read="total.item()")
    assert found(text)
    assert found(setting + "\n" + text) == ()


def test_a_framework_that_is_not_imported_says_nothing() -> None:
    text = LOOP.format(imported="numpy as jnp", made="jnp.ones(3).sum()", read="total.item()")
    assert found(text) == ()


def test_a_rule_that_knows_nothing_of_frameworks_speaks_of_all() -> None:
    text = LOOP.format(imported="jax.numpy as jnp", made="jnp.ones(3).sum()", read="total.item()")
    (finding,) = found(text)
    rule = next(rule for rule in all_rules() if rule.code == "TL001")
    assert rule.advice is None
    assert rule.served(finding) is finding
    torch_only = next(rule for rule in all_rules() if rule.code == "TL402")
    assert torch_only.served(finding) is None


def _torch_in(folder: Path) -> int:
    """How often code says torch: comments, docstrings and the examples and documents of rules do not count."""
    count = 0
    for path in sorted(folder.glob("*.py")):
        text = path.read_text(encoding="utf-8")
        text = text.partition("\nRULE = Rule(")[0]
        text = re.sub(r'"""(.|\n)*?"""', "", text)
        text = re.sub(r"#.*", "", text)
        count += len(re.findall(r'["\'][^"\'\n]*\btorch\b', text)) + len(re.findall(r"\bTENSOR_ONLY\b", text))
    return count


@pytest.mark.parametrize(
    ("folder", "known"), [("transferlint/flow", TORCH_IN_FLOW), ("rules", TORCH_IN_RULES)], ids=["flow", "rules"]
)
def test_what_assumes_torch_outside_of_the_tables_does_not_grow(folder: str, known: int) -> None:
    assert _torch_in(ROOT / folder) <= known
