"""Processes that the program spawns get the simulated device too; their standard library starts them with a command
that is lengthened here. Forked ones get CUDA's error when they touch it."""

from __future__ import annotations

import multiprocessing.spawn
from typing import Any

from runtime_check.simulate.changes import Changes
from runtime_check.simulate.ordinals import count

BEFORE = "from runtime_check.simulate import start; start({}); "


def install(changes: Changes) -> None:
    """Replace multiprocessing's making of the child's command."""
    real = multiprocessing.spawn.get_command_line

    def get_command_line(**kwargs: Any) -> list[str]:
        command: list[str] = real(**kwargs)
        if "-c" in command:
            command[command.index("-c") + 1] = BEFORE.format(count()) + command[command.index("-c") + 1]
        return command

    changes.attribute(multiprocessing.spawn, "get_command_line", get_command_line)
