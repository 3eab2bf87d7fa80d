"""The contract of a rule: what a rule file exports, whoever wrote it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from transferlint.model import Finding, Safety

if TYPE_CHECKING:
    from transferlint.flow.facts import FileFacts

HEADINGS = ("What it does", "Why", "Example", "Use instead", "When it is fine", "Fix safety")
CATEGORIES = ("linter", "repeated", "round-trip", "hidden-sync", "wasteful", "mistake")


@dataclasses.dataclass(frozen=True, slots=True)
class Example:
    """Code that is run as a test: `bad` fires exactly once a line marked `# expect: CODE`, `good` is silent.

    `fixed` is what the rule's fix makes of `bad` (without the marks), "" where the rule has none. `unsafe` says that
    the fix needs `--unsafe-fixes`.
    """

    bad: str
    good: str
    fixed: str = ""
    unsafe: bool = False


@dataclasses.dataclass(frozen=True, slots=True)
class Rule:
    """One rule: its identity, its explanation and its pure detector.

    `code` matches [A-Z]+[0-9]{3}; `name` is the bad pattern in kebab case, so that "allow NAME" reads naturally;
    `default` says whether it runs without being selected; `detect` maps the facts of one file to findings and keeps
    no state between calls; `doc` is the rule file's docstring under the fixed headings `HEADINGS`.
    """

    code: str
    name: str
    summary: str
    category: str
    default: bool
    fix_safety: Safety | None
    since: str
    examples: tuple[Example, ...]
    detect: Callable[[FileFacts], Iterator[Finding]]
    doc: str

    def findings(self, facts: FileFacts) -> Iterator[Finding]:
        """What the rule finds in a file, with its code and name on it."""
        for found in self.detect(facts):
            yield dataclasses.replace(found, code=self.code, name=self.name)
