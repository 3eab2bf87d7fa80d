"""The examples of every rule are run: bad fires, good is silent, and the fix does what it says and no more."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import libcst
import pytest

from proving import all_rules, beside, check_bytes, execute, fix, marks, reported, same, without_marks
from transferlint.rule import Example, Rule

CASES = [
    pytest.param(rule, example, id=f"{rule.code}-{number}")
    for rule in all_rules()
    for number, example in enumerate(rule.all_examples(), start=1)
]
FIXED = [case for case in CASES if case.values[1].fixed]  # type: ignore[union-attr]
SAFE = [case for case in FIXED if not case.values[1].unsafe]  # type: ignore[union-attr]
each = pytest.mark.parametrize(("rule", "example"), CASES)
each_fixed = pytest.mark.parametrize(("rule", "example"), FIXED)


@each
def test_bad_fires_once_on_every_marked_line(rule: Rule, example: Example) -> None:
    wanted = marks(example.bad)
    assert wanted, "nothing is marked with `# expect:`"
    assert set(wanted.values()) == {1}
    least = rule.least(example.framework)
    assert reported(check_bytes("example.py", without_marks(example.bad).encode(), beside(rule), least)) == wanted


@each
def test_good_is_silent(rule: Rule, example: Example) -> None:
    assert not marks(example.good)
    assert not reported(check_bytes("example.py", example.good.encode(), beside(rule)))


@each
def test_the_fix_makes_what_the_example_says(rule: Rule, example: Example) -> None:
    bad = without_marks(example.bad)
    made = fix(bad, rule, unsafe=example.unsafe or not example.fixed)
    assert made.refused == ()
    assert made.text == (example.fixed or bad)


@each_fixed
def test_a_second_fix_changes_nothing(rule: Rule, example: Example) -> None:
    libcst.parse_module(example.fixed)
    again = fix(example.fixed, rule, unsafe=True)
    assert again.text == example.fixed
    assert again.fixed == ()


@each_fixed
def test_a_fix_is_as_safe_as_the_rule_says(rule: Rule, example: Example) -> None:
    assert rule.fix_safety is not None
    made = fix(without_marks(example.bad), rule, unsafe=True)
    assert all(found.fix and found.fix.safety <= rule.fix_safety for found in made.fixed)


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="needs torch to run the examples")
@pytest.mark.parametrize(("rule", "example"), SAFE)
def test_a_safe_fix_computes_the_same(rule: Rule, example: Example) -> None:
    bad, fixed = execute(without_marks(example.bad)), execute(example.fixed)
    if isinstance(bad.error, NameError):
        pytest.skip("the example uses names it does not define")
    assert bad.error is None, "the example cannot be run on the CPU"
    assert fixed.error is None
    assert fixed.printed == bad.printed
    assert bad.values.keys() <= fixed.values.keys()
    assert [name for name, value in bad.values.items() if not same(value, fixed.values[name])] == []


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="needs torch to run the program")
def test_the_fixed_program_prints_what_the_original_prints(tmp_path: Path) -> None:
    program = Path(__file__).parents[1] / "examples" / "train.py"
    fixed = tmp_path / "train.py"
    fixed.write_bytes(program.read_bytes())
    command = [sys.executable, "-m", "transferlint", "check", "--isolated", "--fix", str(fixed)]
    done = subprocess.run(command, capture_output=True, check=False)
    assert done.returncode == 1  # some of its findings have no safe fix
    assert fixed.read_bytes() != program.read_bytes()
    original, after = (
        subprocess.run(
            [sys.executable, str(path), "--device", "cpu", "--epochs", "1"], capture_output=True, text=True, check=True
        )
        for path in (program, fixed)
    )
    assert "accuracy" in original.stdout
    assert after.stdout == original.stdout
