"""What every rule file keeps to, so that one rule reads like the next."""

from __future__ import annotations

import ast
import itertools
import re
from pathlib import Path

import pytest

from proving import all_rules, beside, check_bytes, without_marks
from transferlint.model import Confidence, Safety
from transferlint.rule import HEADINGS, Rule

ROOT = Path(__file__).resolve().parents[2]
RULES = all_rules()
RULE_FILES = sorted((ROOT / "rules").glob("tl*.py"))
KINDS = ("fires", "quiet", "suppressed")
# The engine reports what cannot be parsed, before any rule could look at it.
WITHOUT_SUPPRESSION = {"TL001"}
# A baseline is no Python file: tests/engine/test_baseline.py has what fixtures show of other rules.
WITHOUT_SOURCE = {"TL004"}

each = pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.code)


def file_of(rule: Rule) -> Path:
    return ROOT / "rules" / f"{rule.code.lower()}_{rule.name.replace('-', '_')}.py"


def test_there_are_rules_and_each_file_holds_one() -> None:
    assert RULES
    assert [file_of(rule) for rule in RULES] == RULE_FILES


@each
def test_the_file_is_named_after_code_and_name(rule: Rule) -> None:
    assert file_of(rule).is_file()
    assert re.fullmatch(r"TL[0-9]{3}", rule.code)
    assert re.fullmatch(r"[a-z]+(-[a-z]+)*", rule.name)


@each
@pytest.mark.parametrize("kind", KINDS)
def test_there_is_a_fixture_of_each_kind(rule: Rule, kind: str) -> None:
    if rule.code in WITHOUT_SOURCE:
        pytest.skip("what it reports stands in no Python file")
    if rule.code in WITHOUT_SUPPRESSION and kind == "suppressed":
        pytest.skip("a file that cannot be parsed has no comments to read")
    assert list((ROOT / "tests" / "fixtures" / rule.code).glob(f"{kind}_*.py")), f"no {kind}_*.py"


def test_every_fixture_folder_belongs_to_a_rule() -> None:
    folders = {path.name for path in (ROOT / "tests" / "fixtures").iterdir() if path.is_dir() and path.name[:2] == "TL"}
    assert folders == {rule.code for rule in RULES} - WITHOUT_SOURCE


@each
def test_a_suppressed_fixture_would_fire_without_its_comment(rule: Rule) -> None:
    for path in (ROOT / "tests" / "fixtures" / rule.code).glob("suppressed_*.py"):
        text = path.read_text(encoding="utf-8")
        if rule.judge is None:
            text = re.sub(r"#\s*(transferlint:|noqa)", "# was", text)
        else:  # the comments are what it is about: they stay, without the rule's own code
            text = re.sub(rf"# transferlint: ignore-file\[{rule.code}\].*|,\s*{rule.code}\b", "", text)
        least = rule.least(path.stem.rpartition("_")[2])
        codes = {finding.code for finding in check_bytes(path.name, text.encode(), beside(rule), least)}
        assert codes == {rule.code}, path.name


@each
def test_the_docstring_has_the_fixed_headings_in_order(rule: Rule) -> None:
    doc = ast.get_docstring(ast.parse(file_of(rule).read_text(encoding="utf-8")), clean=False)
    assert doc is not None
    assert rule.doc == doc
    lines = doc.splitlines()
    headings = [above for above, line in itertools.pairwise(lines) if line and set(line) == {"-"}]
    assert [heading for heading in headings if heading in HEADINGS] == list(HEADINGS)
    assert set(headings) <= {*HEADINGS, "See also"}
    for heading, line in itertools.pairwise(lines):
        assert not (heading in HEADINGS and len(line) != len(heading)), f"{heading} is underlined unevenly"


@each
def test_no_section_of_the_docstring_is_empty(rule: Rule) -> None:
    sections = re.split(rf"^(?:{'|'.join(HEADINGS)})\n-+$", rule.doc, flags=re.MULTILINE)
    assert len(sections) == len(HEADINGS) + 1
    assert all(section.strip() for section in sections)


@each
def test_summary_and_messages_are_lines_without_a_period(rule: Rule) -> None:
    lines = [rule.summary]
    for example in rule.all_examples():
        bad = without_marks(example.bad).encode()
        for finding in check_bytes("example.py", bad, beside(rule), Confidence.POSSIBLE):
            lines += [finding.message, *filter(None, [finding.help]), *(link.message for link in finding.evidence)]
            lines += [finding.fix.title] if finding.fix else []
            assert finding.code == rule.code
            assert finding.name == rule.name
            assert finding.source
    for line in lines:
        assert line == line.strip() != ""
        assert "\n" not in line
        assert not line.endswith((".", "!")), line


@each
def test_a_rule_has_examples_and_a_fixed_one_where_it_has_a_fix(rule: Rule) -> None:
    if rule.code in WITHOUT_SUPPRESSION | WITHOUT_SOURCE:
        return
    assert rule.examples
    fixable = rule.fix_safety in (Safety.SAFE, Safety.UNSAFE)
    assert any(example.fixed for example in rule.examples) == fixable


@pytest.mark.parametrize("path", RULE_FILES, ids=lambda path: path.stem)
def test_a_rule_file_keeps_no_state(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    assert not [node for node in ast.walk(tree) if isinstance(node, (ast.Global, ast.Nonlocal))]
    for node in tree.body:
        if isinstance(node, (ast.Assign, ast.AnnAssign)):
            mutable = isinstance(node.value, (ast.List, ast.Dict, ast.Set))
            assert not mutable, f"line {node.lineno}: mutable at module level"
