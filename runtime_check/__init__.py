"""The run-time half: what a program really moved between host and device, with source lines, bytes and waiting time.

A run leaves a file of records (`runtime_check.records`) that can be read, merged with the findings of `check`, and
shown again. Importing this package does no work, imports no torch and changes nothing in the process.
"""

from __future__ import annotations

from runtime_check.records import Blocked, Header, Link, LinkKind, RecordError, Run, SiteRecord, read, write

__all__ = ["Blocked", "Header", "Link", "LinkKind", "RecordError", "Run", "SiteRecord", "read", "write"]
