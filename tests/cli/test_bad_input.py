"""Input that no program should be given: one clear line each, the rest goes on, and never a traceback."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

GOOD = "good.py"


@pytest.fixture
def checked(run, write, folder):
    """Check a file of the given bytes beside a good one with a finding; the findings of the bad one, and the run."""
    write(GOOD, "x = bad\n")

    def check(data: bytes, *options: str):
        (folder / "odd.py").write_bytes(data)
        ran = run("check", "odd.py", GOOD, "-f", "concise", "-q", *options)
        lines = ran.out.splitlines()
        assert f"{GOOD}:2:5 TST101 bad is slow [fix: --fix]" in lines
        return [line for line in lines if not line.startswith(GOOD)], ran

    return check


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"import torch\nx = (1,\n", id="open bracket"),
        pytest.param(b"import torch\ndef f(:\n    pass\n", id="syntax error"),
        pytest.param(b"import torch\nprint 'two', x\n", id="python 2"),
        pytest.param(b"import torch\nx = 1\x00\n", id="NUL byte"),
        pytest.param(b"import torch\nname = '\xff\xfe'\n", id="not UTF-8"),
        pytest.param(b"# coding: no-such-encoding\nimport torch\n", id="unknown cookie"),
        pytest.param("# coding: ascii\nimport torch\nx = 'é'\n".encode(), id="wrong cookie"),
        pytest.param(b"if True:\n\tx = 1\n        y = torch\n  z\n", id="indentation"),
        pytest.param(b"print 'no token of interest'\n", id="nothing to analyse"),
        pytest.param("import torch".encode("utf-16"), id="UTF-16"),
    ],
)
def test_what_is_not_python_is_one_finding(checked, data):
    lines, ran = checked(data)
    assert len(lines) == 1, lines
    assert lines[0].startswith("odd.py:")
    assert " TL001 " in lines[0]
    assert (ran.code, ran.err) == (1, "")


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b"\n\n", id="blank"),
        pytest.param(b"\xef\xbb\xbfimport torch\n", id="byte order mark"),
        pytest.param(b"import torch\r\nx = 1\r\n", id="CRLF"),
        pytest.param(b"# coding: latin-1\nimport torch\nx = '\xe9'\n", id="latin-1"),
        pytest.param(b"import torch\n\x0c\nx = 1", id="form feed, no last newline"),
    ],
)
def test_what_is_odd_but_python_is_silent(checked, data):
    lines, ran = checked(data)
    assert (lines, ran.err) == ([], "")


def test_unparsable_can_be_ignored_but_not_deselected(checked):
    broken = b"import torch\nx = (\n"
    assert checked(broken, "--select", "TST101")[0]
    assert not checked(broken, "--ignore", "TL001")[0]


def test_deep_nesting(checked):
    depth = 3000
    for text in ("[" * depth + "]" * depth, "-" * depth + "1", "(" * depth + ")" * depth + ".a"):
        lines, ran = checked(b"import torch\nx = " + text.encode() + b"\n")
        assert ran.err == ""
        assert all(" TL001 " in line for line in lines)
        assert len(lines) <= 1
    lines, ran = checked(b"import torch\nx = a" + b".b()" * depth + b"\n")
    assert ran.err == ""


def test_one_line_of_five_megabytes(checked):
    lines, ran = checked(b"import torch\nx = '" + b"y" * 5_000_000 + b"'; bad\n")
    assert ran.err == ""
    assert len(lines) == 1


def test_long_lines_are_clipped(run, write):
    write("a.py", "x = '" + "y" * 100_000 + "'; bad; z = '" + "y" * 1000 + "'\n")
    out = run("check").out
    assert "; bad; z" in out
    assert max(map(len, out.splitlines())) < 200


def test_missing_path(run, write):
    write(GOOD, "x = bad\n")
    ran = run("check", "missing.py", "gone/", GOOD, "-q", "-f", "concise")
    assert ran.code == 2
    assert ran.err == ("transferlint: missing.py: no such file or folder\ntransferlint: gone: no such file or folder\n")
    assert ran.out.startswith(GOOD)


def test_unreadable_file(run, write, monkeypatch):
    write(GOOD, "x = bad\n")
    secret = write("secret.py", "x = bad\n")
    secret.chmod(0)
    if os.access(secret, os.R_OK):  # root reads everything
        import builtins

        real = builtins.open

        def refuse(path, *rest, **named):
            if str(path).endswith("secret.py"):
                raise PermissionError(13, "Permission denied")
            return real(path, *rest, **named)

        monkeypatch.setattr(builtins, "open", refuse)
    ran = run("check", "-q", "-f", "concise")
    assert ran.code == 2
    assert ran.err == "transferlint: secret.py: cannot be read: permission denied\n"
    assert ran.out.startswith(GOOD)


def test_links_in_a_circle(run, write, folder: Path):
    write("pkg/a.py", "x = bad\n")
    (folder / "pkg" / "loop").symlink_to(folder / "pkg", target_is_directory=True)
    (folder / "self.py").symlink_to("self.py")
    (folder / "broken.py").symlink_to("nowhere.py")
    ran = run("check", "-q", "-f", "concise")
    assert (ran.code, ran.err) == (1, "")
    assert ran.out.count("\n") == 1
    ran = run("check", "self.py", "broken.py", "pkg", "-q", "-f", "concise")
    assert ran.code == 2
    assert ran.err == (
        "transferlint: self.py: cannot be read: the link leads in a circle\n"
        "transferlint: broken.py: no such file or folder\n"
    )
    assert ran.out.startswith("pkg/a.py")


def test_folder_with_the_name_of_a_file(run, write, folder):
    write("odd.py/a.py", "x = bad\n")
    assert run("check", "-q", "-f", "concise").out.startswith("odd.py/a.py:2:5")


def test_special_file(run, folder):
    os.mkfifo(folder / "pipe.py")
    ran = run("check", "pipe.py")
    assert ran.code == 2
    assert ran.err == "transferlint: pipe.py: cannot be read: not a file or folder\n"
    assert run("check").code == 0


def test_notebook(run, write, folder):
    write(GOOD, "x = bad\n")
    (folder / "demo.ipynb").write_text('{"torch": 1}')
    ran = run("check", ".", "-q", "-f", "concise")
    assert (ran.code, ran.err) == (1, "")
    assert "demo.ipynb:1:1 TL001 is a notebook without cells\n" in ran.out
    assert f"{GOOD}:2:5" in ran.out


def test_file_name_that_is_not_text(run, folder):
    name = os.fsdecode(b"caf\xe9.py")
    try:
        Path(name).write_text("import torch\nx = bad\n")
    except OSError:
        pytest.skip("the file system takes only UTF-8 names")
    for form in ("text", "concise", "json", "github", "sarif"):
        assert run("check", "-f", form).code == 1


def test_a_path_with_a_nul(run):
    ran = run("check", "a\0b.py")
    assert ran.code == 2
    assert ran.err.count("\n") == 1


def test_rule_that_crashes(run, write):
    write("a.py", "crash_the_rule\nx = bad\n")
    write("b.py", "x = bad\n")
    ran = run("check", "-q", "-f", "concise")
    assert ran.code == 2
    assert ran.err == ("transferlint: internal error in TST901 on a.py: ZeroDivisionError: no luck; please report\n")
    assert [line[:6] for line in ran.out.splitlines()] == ["a.py:3", "b.py:2"]


def test_worker_that_dies_names_the_file(run, write):
    for number in range(8):
        write(f"m{number}.py", "x = bad\n")
    write("killer.py", "kill_the_worker\n")
    ran = run("check", "-q", "-f", "concise", "--jobs", "2")
    assert ran.code == 2
    assert ran.err == ("transferlint: internal error: the worker that checked killer.py died; please report\n")
    assert ran.out.count("\n") == 8


@pytest.mark.parametrize(
    ("typed", "nearest"),
    [(("check", "--selec", "TL1"), "--select"), (("check", "--statistic"), "--statistics"),
     (("check", "--nofix"), "--no-fix"), (("chekc",), "check"), (("explian", "a.py:1"), "explain")],
)  # fmt: skip
def test_the_nearest_option_or_command_is_named(run, typed, nearest):
    ran = run(*typed)
    assert ran.code == 2
    assert re.search(r"[dD]id you mean (.*)\?", ran.err)[1] == nearest


def test_what_is_nothing_like_an_option_gets_no_suggestion(run):
    assert run("check", "--zzz").err.splitlines()[-1] == "Error: no such option --zzz"
    assert "Choose from" in run("debug").err


def test_folders_without_python_files(run, folder):
    (folder / "notes").mkdir()
    (folder / "books").mkdir()
    assert run("check", "notes", "books").err == "transferlint: no Python files in notes, books\n"
    (folder / "books" / "demo.ipynb").write_text("{}")
    ran = run("check", "books")
    assert (ran.code, ran.out, ran.err) == (0, "Nothing found in 1 file.\n", "")


ODD_TARGET = b"import torch\n(x): int = bad\n"  # LibCST cannot read it


def test_what_libcst_cannot_read_is_checked(checked):
    lines, ran = checked(ODD_TARGET)
    assert lines == ["odd.py:2:12 TST101 bad is slow [fix: --fix]"]
    assert "odd.py" not in ran.err


@pytest.mark.parametrize("option", ["--fix", "--add-ignore"])
def test_what_libcst_cannot_read_is_not_changed(run, folder, option):
    (folder / "odd.py").write_bytes(ODD_TARGET)
    ran = run("check", "odd.py", "-f", "concise", "-q", option)
    assert ran.out.splitlines() == ["odd.py:2:12 TST101 bad is slow [fix: --fix]"]
    (said,) = [line for line in ran.err.splitlines() if "odd.py" in line]
    assert "nothing is changed" in said
    assert "LibCST" in said
    assert (folder / "odd.py").read_bytes() == ODD_TARGET


def test_a_front_end_that_is_named_reads_alone(checked):
    assert checked(ODD_TARGET, "--front-end", "ast")[0] == ["odd.py:2:12 TST101 bad is slow [fix: --fix]"]
    assert checked(ODD_TARGET, "--front-end", "libcst")[0] == ["odd.py:2:1 TL001 syntax error: invalid syntax"]
    deep = b"import torch\nif a: pass\n" + b"elif a: pass\n" * 6500 + b"x = bad\n"
    (line,) = checked(deep, "--front-end", "ast")[0]
    assert "TL001 nests too deeply" in line
