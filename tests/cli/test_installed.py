"""Commands of other packages: found by entry point, imported when used, and named where they are broken."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import EntryPoint

import click
import pytest

from transferlint.cli import installed, main

POINTS = [
    EntryPoint("good", "here:GOOD", installed.GROUP),
    EntryPoint("absent", "no.such.module:COMMAND", installed.GROUP),
    EntryPoint("wrong", "os:sep", installed.GROUP),
]


@pytest.fixture
def points(monkeypatch: pytest.MonkeyPatch) -> None:
    @click.command("good", short_help="Does good.")
    @click.argument("words", nargs=-1)
    def good(words: tuple[str, ...]) -> int:
        """Do good."""
        click.echo(" ".join(words))
        return 3

    class Found(EntryPoint):
        def load(self) -> object:
            return good if self.value == "here:GOOD" else super().load()

    monkeypatch.setattr(installed, "_points", lambda: [Found(one.name, one.value, one.group) for one in POINTS])


@pytest.mark.usefixtures("points")
def test_a_command_of_another_package_is_one_of_ours(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["good", "a", "b"]) == 3
    assert capsys.readouterr().out == "a b\n"


@pytest.mark.usefixtures("points")
@pytest.mark.parametrize(
    ("name", "why"), [("absent", "ModuleNotFoundError: No module named 'no'"), ("wrong", "it is a str and no click")]
)
def test_one_that_is_broken_is_named(name: str, why: str, capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in ([name], [name, "--help"], [name, "--option", "x"]):
        assert main(arguments) == 2
        out, err = capsys.readouterr()
        assert out == ""
        assert err.count("\n") == 1
        assert f"the command {name} (" in err
        assert why in err


@pytest.mark.usefixtures("points")
def test_help_lists_all_and_a_broken_one_does_not_break_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    out = capsys.readouterr().out
    assert "Does good." in out
    assert out.count("(cannot be loaded)") == 2
    assert main(["god"]) == 2
    assert "absent, good, wrong" in capsys.readouterr().err


def test_commands_that_are_built_in_import_none_of_them() -> None:
    code = (
        "import sys; from transferlint.cli import main; main(['rules']); "
        "sys.exit(bool({'runtime_check', 'torch', 'jinja2'} & set(sys.modules)))"
    )
    made = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (made.returncode, made.stderr) == (0, "")
