"""The contract of a rule: what a rule file exports, whoever wrote it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from transferlint import late
from transferlint.model import Confidence, Finding, Fix, Safety, Site

if TYPE_CHECKING:
    from transferlint.flow.facts import FileFacts, FunctionFacts
    from transferlint.syntax.program import Reg
    from transferlint.syntax.suppressions import Suppression

HEADINGS = ("What it does", "Why", "Example", "Use instead", "When it is fine", "Fix safety")
CATEGORIES = ("linter", "repeated", "round-trip", "hidden-sync", "wasteful", "mistake")


@late.dataclass(frozen=True, slots=True)
class Example:
    """Code that is run as a test: `bad` fires exactly once a line marked `# expect: CODE`, `good` is silent.

    `fixed` is what the rule's fix makes of `bad` (without the marks), "" where the rule has none. `unsafe` says that
    the fix needs `--unsafe-fixes`. `framework` is the one that it is written for ("jax"), "" for torch.
    """

    bad: str
    good: str
    fixed: str = ""
    unsafe: bool = False
    framework: str = ""


@late.dataclass(frozen=True, slots=True)
class CommentFacts:
    """What a rule may ask that judges the suppressions of a file, once all others have run on it.

    `comments` stand in order; `silenced[i]` are the codes of the findings that `comments[i]` silences, sure or not;
    `ran` are the codes of the rules that ran to their end on this file, and `usual` those of all installed rules that
    are on by default. `whole` says that the file was seen within its project, as far as that could be read.
    """

    path: str
    text: str
    comments: tuple[Suppression, ...]
    silenced: tuple[frozenset[str], ...]
    ran: frozenset[str]
    usual: frozenset[str]
    whole: bool

    def finding(self, start: int, end: int, message: str, help: str = "", fix: Fix | None = None) -> Finding:
        """A finding at two offsets of the text. Code and name are the rule's to add."""
        site = Site(self.path, *_position(self.text, start), *_position(self.text, end))
        return Finding("", "", site, message, help, fix=fix, source=self.text[start:end])


def _position(text: str, offset: int) -> tuple[int, int]:
    """The 1-based line and column of an offset; lines end at \\n, \\r\\n or \\r."""
    before = text[:offset].replace("\r\n", "\n").replace("\r", "\n")
    return before.count("\n") + 1, len(before) - before.rfind("\n")


@late.dataclass(frozen=True, slots=True)
class Rule:
    """One rule: its identity, its explanation and its pure detector.

    `code` matches [A-Z]+[0-9]{3}; `name` is the bad pattern in kebab case, so that "allow NAME" reads naturally;
    `default` says whether it runs without being selected; `detect` maps the facts of one file to findings and keeps
    no state between calls; `doc` is the rule file's docstring under the fixed headings `HEADINGS`. `judge` is the
    detector of a rule about suppressions: it runs after all others, and only a comment that names its code in full
    silences what it finds.

    `claims` gives the registers of the transfers of one function of which this rule says more than that they repeat:
    rules that report any repeated read or upload leave those to it where it runs (`FunctionFacts.claimed`). Of two
    rules that claim the same register the one with the higher code reports it.

    `advice` are the frameworks beside torch that the rule serves, each with the help that its findings give there:
    findings about the data of others are not made, and none there has a fix, which would be torch's. None where a rule
    does not look at frameworks, and what it says holds for all. `doubted` are those of them of whose findings in code
    that nobody had mended against fewer than three in four were right, with the share: there none is more than
    possible (benchmarks/results/frameworks.md).

    `waits` says that each finding is about a wait for the device: of those that follow one another in one iteration,
    also of other such rules, one finding speaks for all.

    `more_examples` gives examples that are read where somebody asks for them: `all_examples` has both.
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
    judge: Callable[[CommentFacts], Iterator[Finding]] | None = None
    claims: Callable[[FunctionFacts], Iterable[Reg]] | None = None
    advice: tuple[tuple[str, str], ...] | None = None
    doubted: tuple[tuple[str, float], ...] = ()
    more_examples: Callable[[], tuple[Example, ...]] | None = None
    waits: bool = False

    def all_examples(self) -> tuple[Example, ...]:
        """The examples, with those that are read when they are asked for."""
        return self.examples + (self.more_examples() if self.more_examples is not None else ())

    def least(self, framework: str) -> Confidence:
        """The least confidence at which what it has to say of a framework is reported at all, where it is known."""
        return Confidence.POSSIBLE if framework in dict(self.doubted) else Confidence.LIKELY

    def findings(self, facts: FileFacts) -> Iterator[Finding]:
        """What the rule finds in a file, with its code and name on it."""
        for found in self.detect(facts):
            served = self.served(found)
            if served is not None:
                yield late.replace(served, code=self.code, name=self.name)

    def served(self, found: Finding) -> Finding | None:
        """A finding as it is said of the framework that it is about; None where the rule does not serve that."""
        if not found.framework or self.advice is None:
            return found
        help = dict(self.advice).get(found.framework)
        if help is None:
            return None
        doubted = found.framework in dict(self.doubted)
        confidence = Confidence.POSSIBLE if doubted else found.confidence
        return late.replace(found, help=help, fix=None, confidence=confidence)


class RuleFileError(Exception):
    """A path at which there are no rules; the message is one line."""
