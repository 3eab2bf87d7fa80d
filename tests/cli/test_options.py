"""An option means the same in every command."""

from __future__ import annotations

from collections.abc import Iterator

import click
import pytest

from transferlint.cli.root import GROUP

SHORT = {"-f": "--output-format", "-q": "--quiet", "-v": "--verbose", "-j": "--jobs"}


def commands(group: click.Group, context: click.Context) -> Iterator[tuple[str, click.Command]]:
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        if isinstance(command, click.Group):
            yield from commands(command, context)
        else:
            yield name, command


def test_a_short_option_is_the_same_long_one_everywhere() -> None:
    met = set()
    for name, command in commands(GROUP, click.Context(GROUP)):
        for parameter in command.params:
            for short in SHORT.keys() & set(parameter.opts):
                assert SHORT[short] in parameter.opts, f"{name} {short}"
                met.add((name, short))
    assert {("check", "-f"), ("report", "-f"), ("rules", "-f"), ("explain", "-f"), ("config", "-f")} <= met


@pytest.mark.parametrize("name", ["check", "rule", "rules", "config", "explain", "report"])
def test_whatever_prints_a_report_has_the_option_of_its_form(name: str) -> None:
    command = GROUP.get_command(click.Context(GROUP), name)
    assert command is not None
    assert "-f" in {option for parameter in command.params for option in parameter.opts}
