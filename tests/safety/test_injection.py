"""Names of files, source, settings and messages are shown, and never obeyed by a terminal or by the log of a CI job."""

from __future__ import annotations

import dataclasses
import json
import os
import re
import unicodedata
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from transferlint import escaping, rows
from transferlint.cli import main
from transferlint.engine import pipeline
from transferlint.model import Edit, Evidence, Finding, Fix, Heat, Level, Safety, Site
from transferlint.reporters import azure, concise, formats, github, grouped, statistics, text
from transferlint.reporters import json as json_reporter
from transferlint.reporters.report import Problem, Report

_SGR = re.compile(r"\x1b\[[\d;]*m")
_COMMAND = re.compile(r"##\w*\[")
NASTY = [
    "\x1b[31m", "\x1b]0;title\x07", "\r", "\n", "\r\n", "\x00", "\x0b", "\x0c", "\x85", "\u2028", "\u2029", "\x9b31m",
    "\u202e", "\u2066", "\u200f", "\ufeff", "\ud800", "::error file=a.py,line=1::forged", "::add-mask::a",
    "##[error]forged",
    "##vso[task.setvariable variable=PATH]x", "##teamcity[message text='x']", "%0A", "%", "\\x1b", "::", ":", "#",
    " ", "\t",
]  # fmt: skip
texts = st.lists(st.one_of(st.sampled_from(NASTY), st.text(max_size=4)), max_size=6).map("".join)


def faults(shown: str, commands: bool = False) -> list[str]:
    """Whatever in a report is more than text; with `commands`, beginning a line with `::error ` is meant."""
    found = []
    for line in shown.split("\n"):
        found += [f"{one!r} in {line!r}" for one in line if unicodedata.category(one) in ("Cc", "Cf", "Cs", "Zl", "Zp")]
        if _COMMAND.search(line):
            found.append(f"a command in {line!r}")
        if line.lstrip().startswith("::") and not (commands and line.startswith("::error title=transferlint")):
            found.append(f"a command at the start of {line!r}")
    return found


def report_of(path: str, message: str, source: str) -> Report:
    """A report in which the three strings stand wherever strings can stand."""
    site = Site(path, 1, 1, 1, 3)
    heat = Heat(Level.PER_STEP, True, message)
    fix = Fix(message, Safety.DISPLAY, (Edit(0, min(1, len(source)), message),))
    links = (Evidence(dataclasses.replace(site, path=message or "x"), source), Evidence(site, message))
    finding = Finding("TL101", "some-rule", site, message, source, links, heat, fix=fix, context=source, source=source)
    other = dataclasses.replace(finding, help="", fix=dataclasses.replace(fix, safety=Safety.SAFE))
    problems = (Problem(path, message), Problem("", source))
    return Report((finding, other), {path: source}, 1, problems, root="/r", unsafe=True)


@given(texts, texts, texts)
def test_reports_for_people(path, message, source):
    report = report_of(path, message, source)
    assert faults(text.render(report)) == []
    coloured = text.render(report, color=True)
    assert faults(_SGR.sub("", coloured)) == []
    assert "\x1b" in coloured
    assert faults(concise.render(report)) == []
    assert concise.render(report).count("\n") == 3
    assert faults(statistics.render(report)) == []
    assert faults(text.render(report, width=60)) == []
    assert faults(grouped.render(report)) == []
    for form in ("markdown", "junit"):
        assert faults(formats.render(report, form)) == [], form


@given(texts, texts, texts)
def test_azure_gets_the_commands_that_are_ours_and_no_more(path, message, source):
    lines = azure.render(report_of(path, message, source)).split("\n")
    assert len(lines) == 5
    for line in lines[:-1]:
        head, body = line.split("]", 1)
        assert re.fullmatch(r"##vso\[task\.logissue (\w+=[^;\]]*;)+", head)
        assert faults(f"]{body}") == []


@given(texts, texts, texts)
def test_github_gets_the_commands_that_are_ours_and_no_more(path, message, source):
    rendered = github.render(report_of(path, message, source))
    assert faults(rendered, commands=True) == []
    assert rendered.count("\n") == 4
    for line in rendered.splitlines():
        body = line.split("::", 2)[2].replace("%0A", "\n").replace("%25", "%")
        assert faults(body) == [], "what the runner prints of it"


@given(texts, texts, texts)
@example("", "\ud800", "")
def test_data_is_ascii_without_commands_and_exact(path, message, source):
    report = report_of(path, message, source)
    made = [formats.render(report, form) for form in ("json", "json-lines", "sarif", "gitlab", "rdjson")]
    for rendered in (*made, statistics.render_json(report)):
        assert rendered.isascii()
        assert faults(rendered) == []
    whole = json.loads(json_reporter.render(report))
    assert whole["findings"][0]["path"] == path
    assert whole["findings"][0]["message"] == message


@given(texts, texts, texts)
@example("\ud800", "a", "b")
@example("\udcff", "a", "b")
def test_a_diff_shown_and_the_rows_of_an_explanation(path, before, after):
    shown = escaping.diff(pipeline.unified_diff(path, before, after))
    assert faults(shown.replace("\r\n", "\n").replace("\t", " ")) == []
    made = rows.render([[("", path), ("", before)], [("", after)]], {}, False)
    assert faults(made) == []
    assert made.count("\n") == 2


@given(texts)
def test_escaping_twice_is_escaping_once_and_plain_text_stays(written):
    once = escaping.line(written)
    assert escaping.line(once) == once
    assert faults(once) == []
    plain = re.sub(r"[#:]", "", "".join(one for one in written if one.isprintable()))
    assert escaping.line(plain) == plain


@pytest.mark.parametrize("name", ["naïve 漢字.py", "a-b_c (1).py", "C++ #[x].py", "a:b.py", "\u00a0.py"])
def test_ordinary_names_are_shown_as_they_are(name):
    assert escaping.line(name) == name


NAMES = ["::error file=a.py,line=1::forged.py", "a\n::error::forged.py", "a\x1b[2J\u202e.py", "##[error]forged.py"]


@pytest.mark.parametrize("name", NAMES)
def test_the_command_with_a_file_of_such_a_name(tmp_path: Path, monkeypatch, capsys, name: str) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NO_COLOR", "1")
    body = "import torch\n\n\ndef f(x: torch.Tensor):\n    for _ in range(9):\n        y = torch.zeros(3).to(x.device)"
    body += "  # \x1b[31m##[error]\n"
    Path(name).write_text(f'{body}        x = x + y\n    return x\n\n\nTEXT = """\n::error::forged\n"""\n')
    Path("broken" + name).write_text("import torch\nx = (\n")

    def shown(*arguments: str) -> str:
        assert main(arguments) in (0, 1, 2)
        out, err = capsys.readouterr()
        assert faults(err) == [], arguments
        return out

    given = os.path.join(".", name)
    for options in ((), ("-f", "concise"), ("-f", "json"), ("-f", "sarif"), ("--statistics",), ("--diff",)):
        out = shown("check", *options, ".")
        assert faults(out) == [], options
    assert faults(shown("check", "-f", "github", "."), commands=True) == []
    shown("check", "no such " + name)
    shown("check", "--config", f"no-such-key = 1 # {name}")
    shown("check", f"--no-such-{name}")
    shown(name)
    assert faults(shown("check", "--show-files")) == []
    assert faults(shown("check", "--show-settings", "--exclude", name)) == []
    for line in ("6", "12"):
        assert faults(shown("explain", f"{given}:{line}")) == []
        assert faults(shown("explain", f"{given}:{line}", "-f", "json")) == []


@pytest.mark.parametrize("name", NAMES)
def test_settings_and_rules_of_such_a_name(tmp_path: Path, monkeypatch, capsys, name: str) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.py").write_text("import torch\n")
    quoted = json.dumps(name)
    for settings in (
        f"{quoted} = 1", f"select = [{quoted}]", f"baseline = {quoted}", f"output-format = {quoted}",
        f"rules = [{quoted}]", f"[knowledge]\n{quoted} = []", f"[knowledge]\nhot = [{quoted}]",
    ):  # fmt: skip
        Path("transferlint.toml").write_text(settings + "\n")
        assert main(["check", "a.py"]) == 2, settings
        out, err = capsys.readouterr()
        assert err.count("\n") == 1
        assert faults(out + err) == []
    assert main(["check", "--isolated", "a.py", "--rules", name]) == 2
    assert faults(capsys.readouterr().err) == []


def test_a_diff_with_escapes_says_that_it_does_not_apply(tmp_path: Path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    body = "def f(x: torch.Tensor):\n    for _ in range(9):\n        x = x + torch.zeros(3).to(x.device)  # \x1b[31m\n"
    body += "    return x\n"
    Path("a.py").write_text("import torch\n\n\n" + body)
    assert main(["check", "--diff", "a.py"]) == 1
    out, err = capsys.readouterr()
    assert "\\x1b[31m" in out
    assert err.splitlines()[0] == (
        "transferlint: this diff is shown with characters escaped and cannot be applied; "
        "--output-file FILE writes it whole"
    )
    assert main(["check", "--diff", "a.py", "-o", "fix.diff"]) == 1
    assert "\x1b[31m" in Path("fix.diff").read_text()


def test_a_name_in_a_diff_is_quoted_as_git_does() -> None:
    quoted: Callable[[str], str] = lambda path: pipeline.unified_diff(path, "a\n", "b\n").split("\n", 1)[0]  # noqa: E731
    assert quoted("a b.py") == "--- a b.py"
    assert quoted('a"\n\x1bé.py') == '--- "a\\"\\012\\033\\303\\251.py"'
