"""`--baseline` and `--write-baseline`: what is shown, what is written, and what is refused."""

from __future__ import annotations

import json

import pytest


def test_known_findings_are_not_shown_wherever_they_moved(run, write):
    write("a.py", "x = bad\ny = bad\n")
    ran = run("check", "--baseline", "known.json", "--write-baseline")
    assert (ran.code, ran.out, ran.err) == (0, "Wrote 2 findings to known.json.\n", "")
    write("a.py", "\n\n\nx = bad\n# one more\ny = bad\n")
    ran = run("check", "--baseline", "known.json")
    assert (ran.code, ran.out) == (0, "Nothing found in 1 file. 2 findings of the baseline not shown.\n")
    write("a.py", "x = bad\ny = bad\nz = bad\n")
    ran = run("check", "--baseline", "known.json", "-f", "concise", "-q")
    assert (ran.code, ran.out) == (1, "a.py:4:5 TST101 bad is slow [fix: --fix]\n")


def test_writing_again_changes_nothing(run, write, folder):
    write("a.py", "x = bad\ny = worse\n")
    write("b.py", "x = bad\n")
    run("check", "--baseline", "known.json", "--write-baseline")
    first = (folder / "known.json").read_bytes()
    run("check", "b.py", "a.py", "--baseline", "known.json", "--write-baseline")
    assert (folder / "known.json").read_bytes() == first
    assert [row["path"] for row in json.loads(first)["findings"]] == ["a.py", "a.py", "b.py"]


def test_stale_entries_are_reported_on_their_line(run, write):
    write("a.py", "x = bad\ny = worse\n")
    run("check", "--baseline", "known.json", "--write-baseline")
    write("a.py", "x = bad\n")
    ran = run("check", "--baseline", "known.json", "-f", "concise", "-q")
    assert (ran.code, ran.out.count("\n")) == (1, 1)
    assert ran.out.startswith("known.json:5:1 TL004 the entry for `worse` in a.py is stale: TST102 is no longer found")


@pytest.mark.parametrize(
    "options",
    [("--ignore", "TST102"), ("--min-confidence", "certain"), ("--context", "file"), ("b.py",), ("--ignore", "TL004")],
)
def test_an_entry_that_this_run_could_not_find_is_not_stale(run, write, options):
    write("a.py", "x = bad\ny = worse\n")
    write("b.py", "x = bad\n")
    run("check", "--baseline", "known.json", "--write-baseline")
    write("a.py", "x = bad\n")
    ran = run("check", "--baseline", "known.json", *options)
    assert ran.code == 0, ran.out


def test_only_what_is_new_is_fixed(run, write):
    path = write("a.py", "x = bad\n")
    run("check", "--baseline", "known.json", "--write-baseline")
    path.write_text("import torch\nx = bad\ny = bad\n")
    run("check", "--baseline", "known.json", "--fix")
    assert path.read_text() == "import torch\nx = bad\ny = fine\n"


def test_the_settings_may_name_it(run, write, folder, monkeypatch):
    write("src/a.py", "x = bad\n")
    (folder / "transferlint.toml").write_text('baseline = "known.json"\n')
    assert run("check", "--write-baseline").code == 0
    monkeypatch.chdir(folder / "src")
    assert run("check").code == 0
    assert run("check", "--isolated").code == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--write-baseline",), "transferlint: --write-baseline: name the file with --baseline FILE"),
        (("--baseline", "none.json"), "transferlint: none.json: no such baseline"),
        (("--baseline", "a.py"), "transferlint: a.py: is no baseline ("),
        (("--baseline", "no/where.json", "--write-baseline"), "transferlint: no/where.json: not written: No such file"),
        (("--baseline", "k.json", "--write-baseline", "--fix"), "--write-baseline and --fix exclude each other"),
        (("--baseline", "k.json", "--write-baseline", "--diff"), "--write-baseline and --diff exclude each other"),
    ],
)
def test_what_cannot_be_is_one_line(run, write, options, message):
    write("a.py", "x = bad\n")
    ran = run("check", *options)
    assert (ran.code, ran.out) == (2, "")
    assert message in ran.err


def test_workers_know_the_baseline(run, write):
    for number in range(6):
        write(f"m{number}.py", "x = bad\n")
    run("check", "--baseline", "known.json", "--write-baseline")
    assert run("check", "--baseline", "known.json", "--jobs", "3").code == 0
