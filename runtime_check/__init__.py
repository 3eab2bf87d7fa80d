"""The run-time half: what a program really moved between host and device, with source lines, bytes and waiting time.

A run leaves a file of records (`runtime_check.records`) that can be read, merged with the findings of `check`, and
shown again. Importing this package does no work, imports no torch and changes nothing in the process.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from runtime_check.records import Blocked, Header, Link, LinkKind, RecordError, Run, SiteRecord, read, write

if TYPE_CHECKING:
    from runtime_check.guards import TransferForbidden, allow, guard, step
    from runtime_check.watching import watch

__all__ = [
    "Blocked",
    "Header",
    "Link",
    "LinkKind",
    "RecordError",
    "Run",
    "SiteRecord",
    "TransferForbidden",
    "allow",
    "guard",
    "read",
    "step",
    "watch",
    "write",
]


def __getattr__(name: str) -> Any:
    """What needs torch is imported when it is asked for."""
    if name in ("TransferForbidden", "allow", "guard", "step"):
        from runtime_check import guards

        return getattr(guards, name)
    if name == "watch":
        from runtime_check.watching import watch

        return watch
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
