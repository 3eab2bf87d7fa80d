"""Commands that other packages bring: each an entry point of the group `transferlint.commands` that names a
`click.Command`, imported when it is used. The run-time half's are found so, like anybody else's."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP = "transferlint.commands"


def names() -> tuple[str, ...]:
    """The names of the commands that are installed, sorted; nothing is imported for them."""
    return tuple(sorted({point.name for point in _points()}))


def load(name: str) -> click.Command | None:
    """The command of that name, None where there is none; one that cannot be imported is a command that says so."""
    point = next((point for point in _points() if point.name == name), None)
    if point is None:
        return None
    try:
        command = point.load()
        if not isinstance(command, click.Command):
            raise TypeError(f"it is a {type(command).__name__} and no click.Command")
    except Exception as error:  # foreign code: whatever it raises, the other commands go on
        return _broken(point, f"{type(error).__name__}: {' '.join(str(error).split())}")
    return command


def _points() -> list[EntryPoint]:
    from importlib.metadata import entry_points  # reads the metadata of every installed package

    return sorted(entry_points(group=GROUP), key=lambda point: (point.name, point.value))


def _broken(point: EntryPoint, why: str) -> click.Command:
    owner = f" of {point.dist.name}" if point.dist is not None else ""
    line = f"the command {point.name} ({point.value}{owner}) cannot be loaded: {why}"

    def refuse() -> None:
        raise click.ClickException(line)

    words = {"ignore_unknown_options": True, "allow_extra_args": True, "help_option_names": []}
    return click.Command(point.name, callback=refuse, short_help="(cannot be loaded)", context_settings=words)
