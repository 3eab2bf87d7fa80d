"""Rules from paths: the documented template, `--rules`, `test-rules`, and files that are broken."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "writing-rules.md").read_text(encoding="utf-8")
TEMPLATE = next(block for block in re.findall(r"^```python\n(.*?)^```$", PAGE, re.M | re.S))
HOT = "def train(model, loader, device):\n    for x in loader:\n        model(x.to(device))\n        "


@pytest.fixture
def own(folder: Path) -> Path:
    """A folder with the template as its only rule."""
    rules = folder / "my_rules"
    rules.mkdir()
    (rules / "abc101_print_in_hot_code.py").write_text(TEMPLATE, encoding="utf-8")
    return rules


def test_the_documented_template_passes_its_tests(run, own):
    ran = run("test-rules", "my_rules")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out == "1 rule(s), 1 example(s), 0 fixture(s): all as they should be\n"


@pytest.mark.parametrize("path", ["my_rules", "my_rules/abc101_print_in_hot_code.py"])
def test_check_runs_it_beside_the_others(run, own, write, path):
    write("a.py", f"{HOT}print('x')\n\n\ntrain(None, [], 'cuda')\nx = bad\n")
    ran = run("check", "a.py", "--rules", path, "-f", "concise", "-q")
    assert [line.split()[1] for line in ran.out.splitlines()] == ["ABC101", "TST101"]
    run("check", "a.py", "--rules", path, "--select", "ABC", "--fix", "--unsafe-fixes")
    assert "        pass\n" in Path("a.py").read_text()
    assert "not a rule" not in run("rule", "ABC101", "--rules", path).out
    assert "ABC101" in run("rules", "--rules", path).out
    assert "ABC101" in run("explain", "a.py:5", "--rules", path).out or run("check", "a.py").code == 1


def test_what_a_rule_file_prints_is_no_part_of_the_report(run, own, write):
    path = own / "abc101_print_in_hot_code.py"
    path.write_text(f"{path.read_text()}\nprint('loading')\n")
    write("a.py", f"{HOT}print('x')\n")
    ran = run("check", "a.py", "--rules", "my_rules", "-f", "json", "--select", "ABC101")
    assert [one["code"] for one in json.loads(ran.out)["findings"]] == ["ABC101"]
    assert "loading" in ran.err


def test_workers_run_it_too(run, own, write):
    for number in range(6):
        write(f"m{number}.py", f"{HOT}print('x')\n")
    ran = run("check", "--rules", "my_rules", "--select", "ABC101", "-f", "concise", "-q", "--jobs", "3")
    assert ran.out.count("ABC101") == 6


def test_the_settings_may_name_it(run, own, write, folder, monkeypatch):
    write("src/a.py", f"{HOT}print('x')\n")
    (folder / "transferlint.toml").write_text('rules = ["my_rules"]\nselect = ["ABC101"]\n')
    ran = run("check", "-q", "-f", "concise", "--config", "transferlint.toml")
    assert ran.out.startswith("src/a.py:5:9 ABC101")


@pytest.mark.parametrize("command", [("check", "-q", "-f", "concise"), ("explain", "a.py:5")])
def test_settings_that_nobody_named_run_no_code(run, own, write, folder, monkeypatch, command):
    write("src/a.py", f"{HOT}print('x')\n\n\nx = bad\n")
    (folder / "transferlint.toml").write_text('rules = ["my_rules"]\n')
    monkeypatch.chdir(folder / "src")
    ran = run(*command)
    settings = f"{folder}/transferlint.toml"
    assert ran.err == (
        f"transferlint: {settings}: `rules` is code, which runs only if you name it: "
        f"--rules {folder}/my_rules, or --config {settings}\n"
    )
    assert ran.code == (2 if command[0] == "check" else 0)
    assert "ABC101" not in ran.out
    assert "TST101" in ran.out or command[0] == "explain"


BROKEN = {
    "syntax.py": ("def broken(:\n", "SyntaxError: "),
    "raises.py": ("1 / 0\n", "ZeroDivisionError: division by zero"),
    "leaves.py": ("raise SystemExit('no\\nmore')\n", "SystemExit: no more"),
    "missing.py": ("import no_such_module_anywhere\n", "ModuleNotFoundError: No module named"),
    "other.py": ("RULE = 3\n", "TypeError: RULES holds a int"),
    "taken.py": (TEMPLATE.replace("ABC101", "TST101").replace("print-in-hot-code", "other-name"), "the code TST101 is"),
    "lower.py": (TEMPLATE.replace('code="ABC101"', 'code="abc1"'), "the code 'abc1' is not capital letters"),
    "headless.py": (TEMPLATE.replace("Fix safety\n", "Safety\n"), "ABC101: the documentation lacks the heading"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_file_is_named_and_the_others_go_on(run, own, write, name):
    text, message = BROKEN[name]
    (own / name).write_text(text)
    write("a.py", f"{HOT}print('x')\n\n\nx = bad\n")
    ran = run("check", "a.py", "--rules", "my_rules", "-f", "concise", "-q")
    assert ran.code == 2
    assert [line.split()[1] for line in ran.out.splitlines()] == ["ABC101", "TST101"]
    (line,) = ran.err.splitlines()
    assert line.startswith(f"transferlint: rule file my_rules/{name} is left out: {message}")
    assert run("test-rules", "my_rules").code == (0 if name == "taken.py" else 2)  # there, nobody else has the code


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("nowhere", "rule file nowhere is left out: no such file or folder"),
        ("empty", "rule folder empty is left out: no rule file is in it"),
        ("plain.py", "rule file plain.py is left out: it has neither RULE nor RULES"),
        ("notes.txt", "rule file notes.txt is left out: its name is not that of a Python module"),
    ],
)
def test_a_path_without_rules_is_named(run, folder, write, path, message):
    (folder / "empty").mkdir()
    (folder / "plain.py").write_text("x = 1\n")
    (folder / "notes.txt").write_text("")
    write("a.py", "x = bad\n")
    ran = run("check", "a.py", "--rules", path, "-q", "-f", "concise")
    assert (ran.code, ran.err) == (2, f"transferlint: {message}\n")
    assert "TST101" in ran.out


def test_rules_share_code_of_their_folder(run, own):
    (own / "shared.py").write_text("CODE = 'ABC102'\n")
    text = TEMPLATE.replace('code="ABC101"', "code=CODE").replace("print-in-hot-code", "second-one")
    text = text.replace("# expect: ABC101", "# expect: ABC102")
    text = text.replace("from transferlint.syntax import", "from .shared import CODE\nfrom transferlint.syntax import")
    (own / "second.py").write_text(text)
    ran = run("test-rules", "my_rules")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith("2 rule(s), 2 example(s)")


def test_a_rule_that_yields_nonsense_breaks_alone(run, own, write):
    text = TEMPLATE.replace("ABC101", "ABC103").replace("print-in-hot-code", "nonsense")
    loop = "    for function in facts.functions:"
    (own / "nonsense.py").write_text(text.replace(loop, f"    yield 'x'\n{loop}", 1))
    write("a.py", f"{HOT}print('x')\n\n\nx = bad\n")
    ran = run("check", "a.py", "--rules", "my_rules", "-f", "concise", "-q")
    assert ran.code == 2
    why = "TypeError: yields a str, not a Finding with a Site"
    assert ran.err == f"transferlint: internal error in ABC103 on a.py: {why}; please report\n"
    assert [line.split()[1] for line in ran.out.splitlines()] == ["ABC101", "TST101"]


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ('print("a step")  # expect', 'print("a step", x)  # expect', "ABC101 example 1: bad: line 7: ABC101 is not"),
        ("if step % 100 == 0:", "if True:", "ABC101 example 1: good: line 8: ABC101 is reported and not marked"),
        ("        pass\n", "        ...\n", "the fix of `bad` makes something else than `fixed`, first in line 7"),
        ("Safety.UNSAFE,\n    since", "None,\n    since", "ABC101: `fixed` without a fix_safety"),
        ("Safety.UNSAFE, (Edit", "Safety.SAFE, (Edit", "a fix is safer than the rule's fix_safety says"),
        (',"pass")', ", 'pass')", ""),
        ('(Edit(start, end, "pass"),)', '(Edit(start, end, "print(1)"),)', "ABC101 at 7:9 is not fixed: it changes"),
    ],
)  # fmt: skip
def test_examples_that_do_not_say_what_happens(run, own, before, after, message):
    (own / "abc101_print_in_hot_code.py").write_text(TEMPLATE.replace(before, after))
    ran = run("test-rules", "my_rules/abc101_print_in_hot_code.py")
    assert (ran.code == 1) == bool(message), ran.out
    assert message in ran.out


def test_fixtures_are_held_to_their_marks(run, own, folder):
    fixtures = own / "fixtures" / "ABC101"
    fixtures.mkdir(parents=True)
    body = f"import torch\n\n\n{HOT}print('x')"
    (fixtures / "fires_once.py").write_text(f"{body}  # expect: ABC101\n")
    (fixtures / "quiet_once.py").write_text("import torch\nprint('x')\n")
    (fixtures / "suppressed_once.py").write_text(f"{body}  # transferlint: ignore[ABC101] wanted\n")
    ran = run("test-rules", "my_rules")
    assert (ran.code, ran.out) == (0, "1 rule(s), 1 example(s), 3 fixture(s): all as they should be\n")
    (fixtures / "quiet_twice.py").write_text(f"{body}\n")
    (fixtures / "fires_never.py").write_text("import torch\n")
    ran = run("test-rules", "my_rules")
    assert ran.code == 1
    assert ran.out.splitlines() == [
        "my_rules/fixtures/ABC101/fires_never.py: a fixture called fires has no mark",
        "my_rules/fixtures/ABC101/quiet_twice.py: line 7: ABC101 is reported and not marked: "
        "`print('x')` prints the same on every step",
        "1 rule(s), 1 example(s), 5 fixture(s): 2 failure(s)",
    ]
    shutil.move(own / "fixtures", folder / "elsewhere")
    assert run("test-rules", "my_rules", "--fixtures", "elsewhere").code == 1
    assert run("test-rules", "my_rules").code == 0
