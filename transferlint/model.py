"""The nouns that every part of transferlint shares: frozen, typed, and importing nothing of ours.

Lines and columns are 1-based and count code points, as editors show them; an end column is the column after the last
character. Offsets are 0-based code points into the decoded text of a file, without its byte order mark.
"""

from __future__ import annotations

import dataclasses
import enum
import hashlib
import re

from transferlint import late

LINES = 2  # that a fix may need on top of those there were
_CELL = late.pattern(r"(.*\.ipynb):cell (\d+)", re.DOTALL)
_ASSIGNMENT = late.pattern(r"\s*(\w+(?:, *\w+)*) = ")


class Place(enum.Enum):
    """Where a value lives."""

    HOST = "host"
    DEVICE = "device"
    EITHER = "either"
    UNKNOWN = "unknown"


class Direction(enum.Enum):
    """Which way a transfer goes; NONE is a sync that moves no data the source asked for."""

    H2D = "h2d"
    D2H = "d2h"
    D2D = "d2d"
    NONE = "none"


class Level(enum.IntEnum):
    """How often a site runs, from rarest to most often."""

    ONCE = 0
    PER_EPOCH = 1
    PER_STEP = 2
    PER_ELEMENT = 3

    @property
    def words(self) -> str:
        """The level as a person says it: "per step"."""
        return self.name.lower().replace("_", " ")

    @property
    def each(self) -> str:
        """The level at the end of a message: "on every step"."""
        if self is Level.ONCE:
            return "once"
        one = self.name.lower().rpartition("_")[2]
        return f"once per {one}" if self is Level.PER_ELEMENT else f"on every {one}"


class Confidence(enum.IntEnum):
    """How sure a finding is of the place it rests on (see the word list in docs/words.md)."""

    POSSIBLE = 0
    LIKELY = 1
    CERTAIN = 2


class Safety(enum.IntEnum):
    """What a fix may change: nothing (SAFE), something a person should look at (UNSAFE), or it is only shown."""

    DISPLAY = 0
    UNSAFE = 1
    SAFE = 2


@dataclasses.dataclass(frozen=True, slots=True, order=True)
class Site:
    """A stretch of a file: path as the user named it, 1-based lines and columns, the end column exclusive. In a report
    the path of a notebook names a cell too (`a.ipynb:cell 3`), whose lines are counted."""

    path: str
    line: int
    column: int
    end_line: int
    end_column: int

    @property
    def file(self) -> str:
        """The path of the file itself."""
        found = _CELL.fullmatch(self.path)
        return found[1] if found else self.path

    @property
    def cell(self) -> int:
        """The number of the notebook's cell, 0 for no cell."""
        found = _CELL.fullmatch(self.path)
        return int(found[2]) if found else 0


class Part(enum.Enum):
    """What a piece of evidence has to do with its finding."""

    CONTEXT = "context"  # what else explains it
    PLACE = "place"  # why a value is where it is
    SAME = "same"  # a site with the same mistake, which the finding speaks for and which has no finding of its own
    BESIDE = "beside"  # the site of another finding, by the rule `Evidence.code`, that was joined to this one
    TRANSFER = "transfer"  # another transfer that the finding is about
    RETURN = "return"  # the other end of a round trip
    CALLEE = "callee"  # the transfer itself, in the function whose call is the finding's site


@late.dataclass(frozen=True, slots=True)
class Evidence:
    """One link of the chain that explains a finding: a site and what it shows ("on the device: moved here"). `source`
    is the site's text where the finding speaks for it (`Part.SAME`, `Part.BESIDE`), `code` and `name` are those of the
    rule that would report it where a finding of that has been joined to this one."""

    site: Site
    message: str
    source: str = ""
    part: Part = Part.CONTEXT
    code: str = ""
    name: str = ""

    @property
    def words(self) -> str:
        """What it shows, with the code of the rule that says so where that is another than the finding's."""
        return f"{self.code}: {self.message}" if self.code else self.message


@late.dataclass(frozen=True, slots=True)
class Heat:
    """How often a site runs and how we know.

    `level` is how often; `seen` is True where a loop, step method or call chain in the checked source shows it and
    False where it is assumed (a `forward` nobody calls here). `why` says it in words ("per step, in the loop over
    `loader` at line 31"). `amortised` names the guard that makes the site rare ("every 100 steps"), "" without one;
    `cold` says why the code runs rarely whatever its loops ("setup: `load_weights`"), "" where it does not. `shown`:
    a chain of calls from code that is seen to run shows that the site runs repeatedly (see `flow/frequency/runs.py`;
    who makes a `Heat` without asking vouches for it). `share`: the share of the steps, 0 to 1, in which it is expected
    to run (`flow/frequency/shares.py`), for a finding that speaks for several sites the largest; None where nobody
    worked that out.
    """

    level: Level
    seen: bool
    why: str
    amortised: str = ""
    cold: str = ""
    shown: bool = True
    share: float | None = None

    @property
    def hot(self) -> bool:
        """True where the site runs at least once a step and no guard or cold context makes it rare."""
        return self.level >= Level.PER_STEP and not self.amortised and not self.cold


@late.dataclass(frozen=True, slots=True)
class Edit:
    """Replace the text between two offsets (0-based code points, end exclusive) by `text`."""

    start: int
    end: int
    text: str

    def binds(self) -> frozenset[str]:
        """The variables that an inserted assignment binds: `x_on_host` of `x_on_host = x.cpu()`."""
        made = _ASSIGNMENT.match(self.text) if self.start == self.end else None
        return frozenset(re.findall(r"\w+", made[1])) if made else frozenset()

    def takes_names_of(self, other: Edit) -> bool:
        """Whether both bind a variable, to different things: each was named knowing nothing of the other, and within a
        function only one of them can be made."""
        return self.text.strip() != other.text.strip() and not self.binds().isdisjoint(other.binds())


@late.dataclass(frozen=True, slots=True)
class Fix:
    """Edits that remove a finding, applied together or not at all. `title` completes "fix: ...". `lines`: the most that
    it may need on top of those there were, unsafe as it is, to be worth them."""

    title: str
    safety: Safety
    edits: tuple[Edit, ...]
    lines: int = LINES


@late.dataclass(frozen=True, slots=True)
class QuietSite:
    """A transfer that was seen and is not reported, on purpose: the `kind` of reason, a word, and the `reason`.
    `direction` is None where the rule that would report it does not say."""

    site: Site
    direction: Direction | None
    kind: str
    reason: str


@late.dataclass(frozen=True, slots=True)
class Finding:
    """A rule's statement about a site.

    `message` is one line without the code; `help` says what to write instead ("" where the message does);
    `context` is what stands between the site and its evidence in the fingerprint: the qualified name of the function.
    `framework` is the one beside torch whose data it is about ("jax"), "" for torch.
    """

    code: str
    name: str
    site: Site
    message: str
    help: str = ""
    evidence: tuple[Evidence, ...] = ()
    heat: Heat | None = None
    confidence: Confidence = Confidence.CERTAIN
    fix: Fix | None = None
    context: str = ""
    source: str = ""
    framework: str = ""

    def fingerprint(self) -> str:
        """A hash that survives moved lines: code, path, function and the text of the site, not its line number."""
        parts = (self.code, self.site.file, self.context, " ".join(self.source.split()))
        return hashlib.sha256("\0".join(parts).encode(errors="surrogatepass")).hexdigest()[:16]

    def members(self) -> tuple[Finding, ...]:
        """The finding for each site that it speaks for, its own first; the others have neither evidence nor fix."""
        return (self, *(self.member(one) for one in self.evidence if one.part in (Part.SAME, Part.BESIDE)))

    def member(self, one: Evidence) -> Finding:
        """The finding for a site that this one speaks for, of the rule that reports it."""
        found = late.replace(self, site=one.site, source=one.source, evidence=(), fix=None)
        return late.replace(found, code=one.code, name=one.name, message=one.message) if one.code else found

    def apart(self) -> tuple[Finding, ...]:
        """The finding, and those that were joined to it, without evidence and fix."""
        return (self, *(self.member(one) for one in self.evidence if one.part is Part.BESIDE))
