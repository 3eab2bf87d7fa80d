"""A file could not be parsed and was not checked.

What it does
------------
Reports a file that is not valid Python 3 source: a syntax error, Python 2 code, a wrong encoding, NUL bytes, or a size
or nesting depth beyond the limits. All other files are still checked.

Why
---
A file that was not checked must not be mistaken for a file without findings.

Example
-------
    print "hello"

Use instead
-----------
    print("hello")

When it is fine
---------------
Templates, and Python 2 code that is kept on purpose. Exclude such files (`extend-exclude` in `[tool.transferlint]`).

Fix safety
----------
No automatic fix.
"""

from __future__ import annotations

from collections.abc import Iterator

from transferlint.flow.facts import FileFacts
from transferlint.model import Finding
from transferlint.rule import Rule


def detect(facts: FileFacts) -> Iterator[Finding]:
    """Nothing: a file that has facts was parsed. The engine reports the others under this rule's code."""
    del facts
    yield from ()


RULE = Rule(
    code="TL001",
    name="unparsable-file",
    summary="a file that cannot be read as Python 3 source",
    category="linter",
    default=True,
    fix_safety=None,
    since="0.1.0",
    examples=(),
    detect=detect,
    doc=__doc__,
)
