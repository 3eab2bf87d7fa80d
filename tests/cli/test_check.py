"""`transferlint check`: what is printed where, and the exit code."""

from __future__ import annotations

import io
import json
import re
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from transferlint.cli import output


def test_nothing_found(run, write):
    write("a.py", "x = 1\n")
    ran = run("check")
    assert (ran.code, ran.out, ran.err) == (0, "Nothing found in 1 file.\n", "")


def test_text_shows_source_evidence_heat_and_fix(run, write):
    write("pkg/a.py", "y = 2\nz = 3\nx = bad\n")
    ran = run("check", ".")
    assert ran.code == 1
    assert ran.out == (
        "pkg/a.py:4:5 TST101 bad is slow\n"
        "   1 | import torch\n"
        "     | ------ starts here\n"
        " ...\n"
        "   4 | x = bad\n"
        "     |     ^^^\n"
        "   = hot: per step, in the loop over `loader`\n"
        "   = use instead: fine   [fix: --fix]\n"
        "\n"
        "Found 1 finding (1 fixable with --fix) in 1 file.\n"
    )


def test_summary_counts_unsafe_fixes_apart(run, write):
    write("a.py", "x = bad\ny = worse\n")
    assert "Found 2 findings (1 fixable with --fix, 1 with --unsafe-fixes) in 1 file." in run("check").out
    assert "Found 2 findings (2 fixable with --fix) in 1 file." in run("check", "--unsafe-fixes").out


def test_quiet_leaves_out_the_summary(run, write):
    write("a.py", "x = bad\n")
    assert "Found" not in run("check", "-q").out
    assert run("check", "-q", "--ignore", "TST101").out == ""


def test_concise_and_output_file(run, write, folder):
    write("a.py", "x = bad\n")
    ran = run("check", "--output-format", "concise", "--output-file", "out.txt")
    assert (ran.code, ran.out) == (1, "")
    assert (folder / "out.txt").read_text().splitlines()[0] == "a.py:2:5 TST101 bad is slow [fix: --fix]"


def test_output_file_that_cannot_be_written(run, write):
    write("a.py", "x = bad\n")
    ran = run("check", "-o", "no/where/out.txt")
    assert ran.code == 2
    assert ran.err == "transferlint: no/where/out.txt: not written: No such file or directory\n"


def test_json_holds_everything(run, write):
    write("a.py", "x = bad\n")
    ran = run("check", "--output-format", "json", "--no-cache", "a.py")
    shown = json.loads(ran.out)
    (found,) = shown["findings"]
    assert (found["path"], found["line"], found["end_line"], found["code"]) == ("a.py", 2, 2, "TST101")
    assert found["fix"]["edits"][0]["line"] == 2
    assert shown["summary"]["findings"] == 1
    assert shown["errors"] == []


@pytest.mark.parametrize(
    ("options", "codes"),
    [
        ((), {"TST101", "TST102"}),
        (("--select", "TST101,TST201"), {"TST101", "TST201"}),
        (("--select", "TST1", "--ignore", "TST101"), {"TST102"}),
        (("--select", "TST101", "--ignore", "TST1"), {"TST101"}),
        (("--extend-select", "quiet-word"), {"TST101", "TST102", "TST201"}),
        (("--select", "ALL", "--min-confidence", "possible"), {"TST101", "TST102", "TST103", "TST201"}),
        (("--min-confidence", "certain"), {"TST101"}),
        (("--ignore", "ALL"), set()),
    ],
)
def test_selection(run, write, options, codes):
    write("a.py", "x = bad, worse, doubtful, quiet\n")
    ran = run("check", "--output-format", "json", *options)
    assert {found["code"] for found in json.loads(ran.out)["findings"]} == codes


def test_unknown_selector_names_the_nearest(run, write):
    write("a.py", "x = bad\n")
    ran = run("check", "--select", "bad-wrd")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == "transferlint: 'bad-wrd' names no rule; did you mean bad-word?\n"


def test_exit_zero_only_forgives_findings(run, write):
    write("a.py", "x = bad\n")
    assert run("check", "--exit-zero").code == 0
    assert run("check", "--exit-zero", "a.py", "missing.py").code == 2


def test_usage_errors_are_two(run):
    assert run("check", "--no-such-option").code == 2
    assert run("frobnicate").code == 2
    assert run("check", "--output-format", "yaml").code == 2
    assert run("check", "-", "a.py").code == 2


def test_fix_writes_and_reports_what_remains(run, write):
    path = write("a.py", "x = bad\ny = worse\n")
    ran = run("check", "--fix")
    assert ran.code == 1
    assert "Fixed 1 finding. Found 1 finding" in ran.out
    assert path.read_text() == "import torch\nx = fine\ny = worse\n"
    ran = run("check", "--fix", "--unsafe-fixes")
    assert (ran.code, ran.out) == (0, "Fixed 1 finding. Nothing found in 1 file.\n  fixed:     TST102 1\n")
    assert path.read_text() == "import torch\nx = fine\ny = fine\n"


def test_unsafe_fixes_alone_changes_nothing(run, write):
    path = write("a.py", "x = worse\n")
    run("check", "--unsafe-fixes")
    assert "worse" in path.read_text()


def test_fix_only_reports_nothing(run, write):
    path = write("a.py", "x = bad\ny = worse\n")
    ran = run("check", "--fix-only")
    assert (ran.code, ran.out) == (0, "")
    assert ran.err == "Fixed 1 finding in 1 file.\n  fixed:     TST101 1\n  remaining: TST102 1\n"
    assert "x = fine" in path.read_text()


def test_diff_writes_nothing(run, write):
    path = write("a.py", "x = bad\ny = worse\n")
    ran = run("check", "--diff")
    assert ran.code == 1
    assert ran.out == "--- a.py\n+++ a.py\n@@ -1,3 +1,3 @@\n import torch\n-x = bad\n+x = fine\n y = worse\n"
    assert ran.err == "Would fix 1 finding in 1 file.\n"
    assert "x = bad" in path.read_text()
    write("a.py", "y = worse\n")
    assert run("check", "--diff").code == 0


def test_diff_of_a_file_without_a_last_newline(run, write):
    write("a.py", "x = bad")
    assert run("check", "--diff").out.endswith(
        "-x = bad\n\\ No newline at end of file\n+x = fine\n\\ No newline at end of file\n"
    )


def test_statistics(run, write):
    write("a.py", "x = bad, bad, worse\n")
    ran = run("check", "--statistics")
    assert ran.out == "     2  TST101  [*]  bad-word\n     1  TST102  [u]  worse-word\n"
    assert json.loads(run("check", "--statistics", "-f", "json").out)[0]["count"] == 2


def _stdin(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(text.encode())))


def test_stdin(run, monkeypatch):
    _stdin(monkeypatch, "import torch\nx = bad\n")
    ran = run("check", "-", "--stdin-filename", "pkg/a.py", "-f", "concise", "-q")
    assert (ran.code, ran.out) == (1, "pkg/a.py:2:5 TST101 bad is slow [fix: --fix]\n")


def test_stdin_of_a_test(run, monkeypatch):
    _stdin(monkeypatch, "import torch\nx = bad\n")
    ran = run("check", "-", "--stdin-filename", "tests/a.py", "-f", "concise", "-q")
    assert (ran.code, ran.out) == (0, "")


def test_stdin_fix_prints_the_text_and_reports_on_stderr(run, monkeypatch):
    _stdin(monkeypatch, "import torch\r\nx = bad\r\ny = worse\r\n")
    ran = run("check", "-", "--fix", "-f", "concise")
    assert (ran.code, ran.out) == (1, "import torch\r\nx = fine\r\ny = worse\r\n")
    assert ran.err.startswith("-:3:5 TST102")


def test_stdin_fix_never_loses_the_text(run, monkeypatch):
    for text in ("import torch\nx = (\n", "import torch\ncrash_the_rule\n", "x = 1\n", ""):
        _stdin(monkeypatch, text)
        assert run("check", "-", "--fix", "-q").out == text


def test_show_files(run, write):
    write("b.py", "")
    write("a/c.py", "")
    write("build/d.py", "")
    ran = run("check", "--show-files")
    assert (ran.code, ran.out) == (0, "b.py\na/c.py\n")


def test_show_settings(run, write, folder):
    (folder / "pyproject.toml").write_text('[tool.transferlint]\nselect = ["TST1"]\nmin-confidence = "certain"\n')
    shown = json.loads(run("check", "--show-settings", "--ignore", "TST101").out)
    assert shown["select"] == ["TST1"]
    assert shown["ignore"] == ["TST101"]
    assert shown["min-confidence"] == "certain"
    assert shown["source"].endswith("pyproject.toml")


def test_settings_file_and_command_line(run, write, folder):
    write("a.py", "x = bad, worse\n")
    (folder / "pyproject.toml").write_text('[tool.transferlint]\nignore = ["TST101"]\noutput-format = "concise"\n')
    assert "TST102" in run("check").out
    assert "TST101" not in run("check").out
    assert "TST101" in run("check", "--extend-select", "TST101").out
    assert "TST101" in run("check", "--isolated").out
    assert "TST102" not in run("check", "--config", 'ignore = ["TST102"]').out
    (folder / "other.toml").write_text('select = ["TST102"]\n')
    assert "TST101" not in run("check", "--isolated", "--config", 'select = ["TST102"]').out
    assert "TST102" in run("check", "--config", "other.toml").out


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ('selct = ["TST1"]', "unknown key `selct`; did you mean `select`?"),
        ('select = "TST1"', "`select` must be a list of strings, not 'TST1'"),
        ("fix = 1", "`fix` must be true or false, not 1"),
        ('min-confidence = "sure"', "`min-confidence` must be one of possible, likely, certain, not 'sure'"),
        ("jobs = -1", "`jobs` must be a whole number, 0 for one worker a core, not -1"),
        ("per-file-ignores = []", "`per-file-ignores` must be a table from patterns to lists of codes, not []"),
    ],
)
def test_wrong_settings_are_one_line(run, write, folder, table, message):
    write("a.py", "x = bad\n")
    (folder / "pyproject.toml").write_text(f"[tool.transferlint]\n{table}\n")
    ran = run("check")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == f"transferlint: pyproject.toml [tool.transferlint]: {message}\n"


def test_settings_that_are_not_toml(run, folder):
    (folder / "pyproject.toml").write_text("[tool.transferlint\n")
    ran = run("check")
    assert ran.code == 2
    assert re.fullmatch(r"transferlint: pyproject\.toml: not valid TOML: .*\n", ran.err)


def test_per_file_ignores(run, write, folder):
    write("tests/a.py", "x = bad\n")
    write("src/a.py", "x = bad\n")
    (folder / "transferlint.toml").write_text('[per-file-ignores]\n"tests/**" = ["TST1"]\n')
    assert run("check", "-f", "concise", "-q").out == "src/a.py:2:5 TST101 bad is slow [fix: --fix]\n"


def test_suppression(run, write):
    write("a.py", "x = bad  # transferlint: ignore[TST101] measured\ny = bad\n")
    assert run("check", "-f", "concise", "-q").out == "a.py:3:5 TST101 bad is slow [fix: --fix]\n"


def test_suppression_that_is_not_understood(run, write):
    write("a.py", "x = bad  # transferlint: ignroe[TST101]\n")
    ran = run("check", "-f", "concise", "-q")
    assert ran.code == 1
    assert ran.err.startswith("transferlint: a.py:2: this suppression is not understood: ignroe")


def test_colour(run, write, monkeypatch):
    write("a.py", "x = bad\n")
    assert "\x1b[" not in run("check").out
    assert "\x1b[" in run("check", "--color").out
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert "\x1b[" in run("check").out
    assert "\x1b[" not in run("check", "--no-color").out
    monkeypatch.setenv("FORCE_COLOR", "")
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[" not in run("check").out


def test_coloured_text_says_the_same(run, write):
    write("a.py", "x = bad  # [bold]not markup[/bold] é 漢字\n")
    plain, coloured = run("check").out, run("check", "--color").out
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == plain


def test_workers_give_the_same_in_the_same_order(run, write):
    for number in range(12):
        write(f"p{number % 3}/m{number}.py", "x = bad\n" * (number + 1))
    serial = run("check", "--jobs", "1", "-f", "json")
    assert serial.code == 1
    assert run("check", "--jobs", "3", "-f", "json").out == serial.out


def test_github(run, write):
    write("a.py", "x = bad\n")
    assert run("check", "-f", "github").out == (
        "::error title=transferlint TST101 (bad-word),file=a.py,line=2,endLine=2,col=5,endColumn=8"
        "::a.py:2:5: TST101 bad is slow%0Afine\n"
    )


def test_project_root(run, write, folder: Path):
    write("deep/a.py", "x = bad\n")
    (folder / "transferlint.toml").write_text('ignore = ["TST101"]\n')
    assert run("check", "deep").code == 0
    other = folder / "deep" / "other"
    other.mkdir()
    (other / "transferlint.toml").write_text('output-format = "concise"\n')
    assert run("check", "deep", "--project-root", str(other)).out.startswith("deep/a.py:2:5 TST101")


def test_add_ignore_silences_everything_once(run, write):
    path = write("a.py", "x = bad  # first\ny = worse\nz = bad, worse\n")
    ran = run("check", "--add-ignore", "--reason", "known")
    assert (ran.code, ran.out) == (0, "Suppressed 4 findings. Nothing found in 1 file.\n")
    assert path.read_text() == (
        "import torch\n"
        "x = bad  # first  # transferlint: ignore[TST101] known\n"
        "y = worse  # transferlint: ignore[TST102] known\n"
        "z = bad, worse  # transferlint: ignore[TST101, TST102] known\n"
    )
    assert run("check", "--add-ignore", "--reason", "other").out == "Nothing found in 1 file.\n"
    assert "other" not in path.read_text()


def test_add_ignore_shows_with_diff_and_takes_standard_input(run, write, monkeypatch):
    path = write("a.py", "x = bad\n")
    ran = run("check", "--add-ignore", "--diff")
    assert (ran.code, ran.err) == (1, "Would suppress 1 finding in 1 file.\n")
    assert "+x = bad  # transferlint: ignore[TST101]\n" in ran.out
    assert "ignore" not in path.read_text()
    _stdin(monkeypatch, "import torch\nx = bad\n")
    assert run("check", "-", "--add-ignore", "-q").out == "import torch\nx = bad  # transferlint: ignore[TST101]\n"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--reason", "x"), "--reason: it is given without --add-ignore"),
        (("--add-ignore", "--reason", "see #1"), "--reason: `#` would end it"),
        (("--add-ignore", "--fix"), "--add-ignore and --fix exclude each other"),
    ],
)
def test_add_ignore_refuses(run, write, options, message):
    path = write("a.py", "x = bad\n")
    ran = run("check", *options)
    assert ran.code == 2
    assert message in ran.err
    assert path.read_text() == "import torch\nx = bad\n"


def test_what_costs_most_is_told_first_to_people_and_files_in_order_to_programs(run, write, monkeypatch):
    write("a.py", "x = worse\n")
    write("b.py", "x = bad\n")
    places = [line.split()[0] for line in run("check", "-q").out.splitlines() if "TST" in line]
    assert places == ["b.py:2:5", "a.py:2:5"]  # certain before likely
    ordered = [line.split()[0] for line in run("check", "-q", "-f", "concise").out.splitlines()]
    assert ordered == ["a.py:2:5", "b.py:2:5"]
    found = json.loads(run("check", "-f", "json", "--sort", "rule", "--config", "sort = 'cost'").out)["findings"]
    assert [one["code"] for one in found] == ["TST101", "TST102"]
    assert run("check", "--config", "sort = 'odd'").err == (
        "transferlint: --config: `sort` must be one of cost, place, rule, not 'odd'\n"
    )


def test_a_file_does_not_fit_to_the_terminal(run, write, monkeypatch, folder):
    write("a.py", "value = bad  # " + "long " * 20 + "\n")
    monkeypatch.setattr(output, "width", lambda: 50)
    assert max(map(len, run("check", "-q").out.splitlines())) <= 50
    run("check", "-q", "-o", "out.txt")
    assert max(map(len, (folder / "out.txt").read_text().splitlines())) > 100


def test_the_schema_of_reports_holds_for_a_report(run, write):
    import jsonschema

    write("a.py", "x = bad\n")
    schema = json.loads(run("schema", "report").out)
    jsonschema.validate(json.loads(run("check", "-f", "json").out), schema)
