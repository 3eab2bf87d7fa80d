"""The one error of the simulator's start."""

from __future__ import annotations

KNOWN = ("2.13.0+cpu",)
"""Builds of torch that this simulator was tested with, on Linux x86-64 and CPython."""


class Refused(Exception):
    """The simulated accelerator cannot be had in this process. The message is one line: what was not as expected, and
    which builds of torch are known to work."""

    def __init__(self, why: str, torch_version: str = "") -> None:
        here = f", here is {torch_version}" if torch_version else ""
        known = f"tested with torch {', '.join(KNOWN)} on Linux x86-64{here}"
        super().__init__(f"the simulated accelerator cannot start: {why} ({known})")
        self.why = why
