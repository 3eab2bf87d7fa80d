"""What a run leaves behind: frozen records in a versioned JSON Lines file, one file a process.

The first line is the header. Every other line is one record; where two site records have the same `id`, or two links
the same kind and ends, the later line replaces the earlier one, so that a running program appends its sums now and
then; so do raw events of the same slot, outcomes, and executed lines of the same path. A process that dies in the
middle of a line loses that line alone. Fields and kinds of record are only ever added, with defaults, so that every
file of the same version stays readable.
"""

from __future__ import annotations

import dataclasses
import enum
import json
import types
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from transferlint.model import Direction, Site

VERSION = 1
OVERFLOW = "(further sites)"  # the path of the record that sums what no longer had room of its own
LEVELS = ("guard", "trace", "profile", "simulate")
IMPORTED = "imported"  # the level of a run that was read from somebody's trace: it names functions, and follows no data
UNPLACED = "by operator: "  # how the path of a record begins that has no place, and is known by its operators alone
TIME_SOURCES = ("measured", "modelled")
T = TypeVar("T")


class RecordError(Exception):
    """A file that is no record of a run, or one that this version cannot read; the message is one line."""


class LinkKind(enum.Enum):
    """How two sites belong together. The last two say something of one site: both ends of the link are that site."""

    DEVICE_HOST_DEVICE = "d2h2d"
    HOST_DEVICE_HOST = "h2d2h"
    REPEAT = "repeat"
    EQUAL_CONTENT = "equal content"
    SCALAR_DETOUR = "scalar detour"
    HOST_DECISION = "host decision"
    NO_OP_MOVE = "no-op move"

    __hash__ = object.__hash__  # there is one object of each; `Enum` would hash its name, in Python, for every event


@dataclasses.dataclass(frozen=True, slots=True)
class Header:
    """Whose records these are. `started` is ISO 8601 in UTC; `level` one of LEVELS or IMPORTED; `time_source` one of
    TIME_SOURCES, which says whether times come from a clock or a model; `overhead_ns` is what recording one event cost,
    measured in this run (0: not measured). `driver` is "" on a simulated device. `clock` is what
    `time.perf_counter_ns` said at `started`, to which raw events count; `parent` the process that this one was forked
    from, or that `spawned` it (0: none of ours). `notes` are for whoever reads a report, one line each; `model` names
    the device whose model of costs the times come from ("" where they are measured). `torch` and `jax` are versions,
    "" of what the program did not import; `watched` are the frameworks whose transfers this run would have recorded."""

    program: tuple[str, ...]
    started: str
    device: str
    driver: str
    torch: str
    python: str
    level: str
    time_source: str
    overhead_ns: int = 0
    rank: int = 0
    ranks: int = 1
    pid: int = 0
    version: int = VERSION
    clock: int = 0
    parent: int = 0
    spawned: bool = False
    notes: tuple[str, ...] = ()
    model: str = ""
    jax: str = ""
    watched: tuple[str, ...] = ("torch",)

    @property
    def times(self) -> str:
        """What to print beside a time: "measured", or "modelled by a100"."""
        return f"{self.time_source} by {self.model}" if self.model else self.time_source


@dataclasses.dataclass(frozen=True, slots=True)
class Blocked:
    """How long the host waited, in nanoseconds: the sum over all events, and of single events the median, the 95th
    percentile (both within 1/16) and the maximum. `buckets` counts events by logarithmic bucket, as pairs of bucket
    and count (see `runtime_check.sketch`), so that the files of several ranks merge."""

    total: int = 0
    p50: int = 0
    p95: int = 0
    max: int = 0
    buckets: tuple[tuple[int, int], ...] = ()


@dataclasses.dataclass(frozen=True, slots=True)
class SiteRecord:
    """All events of one operation in one direction at one site and thread.

    `operation` is torch's name ("aten::copy_"); `count` the events, of which `pinned` had a pinned host side,
    `non_blocking` were asked not to wait and `hint_ignored` kept the host nonetheless, because the memory was pageable
    or not dense, and more than a few bytes; `bytes` the sum over all events; `sync` says that the host waited. A record
    with direction NONE and without sync is a move that crossed nothing. `first_step` and `last_step` are -1 where no
    step was seen; `stepped` counts the events within full steps (after the first step's end, before the last's),
    `steps` those full steps.
    `thread` is without its number. `site` is the nearest line outside torch, in `function`; `user` the nearest of the
    program's own, None where `site` is; `backward` the autograd node that ran, "" elsewhere. `chain` are the callers,
    innermost first, as they were when the site was first seen. `processes` counts those that saw the site.
    `executions` counts the events with those of one call that moves many tensors (`Module.to`, `torch.save`) as one (0:
    not counted). `inside` is what of torch's own Python ran below `site`, innermost first, as it was when the site was
    first seen: "torch/distributions/distribution.py:71 Distribution.__init__". `maybe` are the expressions of which the
    program's own site is one, where it is not known which: `site` or `user` is then where their function begins.
    `unknown_memory` counts the events of which it is not known whether their host side was pinned. `framework` is the
    one beside torch whose data it was ("jax"); `untimed` counts the events whose time nothing tells.
    """

    id: int
    site: Site
    direction: Direction
    operation: str
    count: int
    bytes: int
    sync: bool
    blocked: Blocked = Blocked()
    pinned: int = 0
    non_blocking: int = 0
    first_step: int = -1
    last_step: int = -1
    thread: str = ""
    chain: tuple[Site, ...] = ()
    user: Site | None = None
    function: str = ""
    backward: str = ""
    hint_ignored: int = 0
    stepped: int = 0
    steps: int = 0
    processes: int = 1
    executions: int = 0
    inside: tuple[str, ...] = ()
    maybe: tuple[Site, ...] = ()
    unknown_memory: int = 0
    framework: str = ""
    untimed: int = 0

    @property
    def crossed(self) -> bool:
        """True where data went between host and device or the host waited: not for moves that did nothing."""
        return self.sync or self.direction in (Direction.H2D, Direction.D2H)


@dataclasses.dataclass(frozen=True, slots=True)
class Link:
    """Data that left by the site record `first` and came back, or went again, by `second`. `changed` says whether the
    content differed between the two, None where that was not seen; the same ends can have a link for each."""

    kind: LinkKind
    first: int
    second: int
    count: int
    bytes: int
    changed: bool | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class RawEvent:
    """One event of the record `site`, drawn at random from all: `at` is nanoseconds after the header's clock, `step`
    the step it fell in (0 before the first step's end). What is drawn has a `slot`, and may lose it to a later one."""

    slot: int
    site: int
    at: int
    blocked: int
    bytes: int
    step: int = 0


@dataclasses.dataclass(frozen=True, slots=True)
class Missing:
    """A process whose events did not come back, in words ("DataLoader worker 4711"), why, and how many they were where
    that is known (-1: it is not)."""

    process: str
    why: str
    events: int = -1


@dataclasses.dataclass(frozen=True, slots=True)
class StepTime:
    """One step: its number from 0, its wall time and how long the host was blocked in it, in nanoseconds, its transfers
    by direction, the waits that moved nothing, and bytes."""

    number: int
    wall: int
    blocked: int
    h2d: int
    d2h: int
    waits: int
    bytes: int


@dataclasses.dataclass(frozen=True, slots=True)
class Outcome:
    """How the run went, so far or at its end.

    `steps` counts step boundaries and `full_steps` the recorded steps between two of them, summed over processes;
    `events` counts what was seen; `duration` is the wall time in nanoseconds, of the recorded steps where only some
    were, and `processes` that of all processes together (the same for one). `status` is the exit status, as
    `subprocess` gives it; None where the program still runs or was killed. `overflow` counts the events that were
    summed without a site, and the links that found no room. `timed` are the first step, a median one and the slowest.
    `marks` are steps as (number, start, wall time), the start in nanoseconds after the header's clock: of many, some
    that lie evenly. The first starts where recording does.
    """

    steps: int = 0
    full_steps: int = 0
    events: int = 0
    duration: int = 0
    processes: int = 0
    status: int | None = None
    overflow: int = 0
    missing: tuple[Missing, ...] = ()
    timed: tuple[StepTime, ...] = ()
    marks: tuple[tuple[int, int, int], ...] = ()


@dataclasses.dataclass(frozen=True, slots=True)
class Executed:
    """Those lines of interest (lines with findings) of the file `path` that ran. `decided` are the sites (line and
    column, as `Site` counts them) in expressions that may not run although their line does, `evaluated` those of them
    that ran; `started` says whether anything of the file ran, and is False of one that was never imported."""

    path: str
    lines: tuple[int, ...]
    decided: tuple[tuple[int, int], ...] = ()
    evaluated: tuple[tuple[int, int], ...] = ()
    started: bool = True


@dataclasses.dataclass(frozen=True, slots=True)
class Counted:
    """How often lines of the file `path` ran: (line, executions, distinct steps), the lines in order."""

    path: str
    lines: tuple[tuple[int, int, int], ...]


@dataclasses.dataclass(frozen=True, slots=True)
class BusTime:
    """Copies of the record `site` in a profile: how many, and for how many nanoseconds they were on the bus."""

    site: int
    count: int
    time: int


@dataclasses.dataclass(frozen=True, slots=True)
class Profile:
    """What torch.profiler saw of a window of `steps` steps, from the end of step `first` on.

    Nanoseconds: `duration` of the window, `host` in which an operator (of which there were `operators`) ran on the host
    in any thread, `device` in which anything ran on the device, and `copied` that copies between the two were on the
    bus, `copies` those of them that were found among the recorded transfers. The last four say nothing unless
    `on_device`. `trace` is the file, beside the records, that a viewer opens; `process` whose it is.
    `problem` says in one line why nothing was seen, "" where something was.
    """

    first: int
    steps: int
    duration: int
    operators: int
    host: int
    on_device: bool = False
    device: int = 0
    copied: int = 0
    copies: tuple[BusTime, ...] = ()
    trace: str = ""
    process: int = 0
    problem: str = ""


Record = SiteRecord | Link | RawEvent | Outcome | Executed | Counted | Profile


@dataclasses.dataclass(frozen=True, slots=True)
class Run:
    """One process's records, or several processes' as one. `truncated` says that the last line of a file was cut off
    and left out; `outcome` is None where none was written; `executed` is empty where no lines were watched, `counted`
    where none were counted."""

    header: Header
    sites: tuple[SiteRecord, ...] = ()
    links: tuple[Link, ...] = ()
    truncated: bool = False
    raw: tuple[RawEvent, ...] = ()
    outcome: Outcome | None = None
    executed: tuple[Executed, ...] = ()
    profiles: tuple[Profile, ...] = ()
    counted: tuple[Counted, ...] = ()

    def records(self) -> tuple[Record, ...]:
        """All its records, in the order of a file."""
        outcome = () if self.outcome is None else (self.outcome,)
        return (*self.sites, *self.links, *self.raw, *self.executed, *self.counted, *self.profiles, *outcome)


def write(path: str | Path, run: Run) -> None:
    """Write a whole run. Raises OSError."""
    with open(path, "w", encoding="utf-8", newline="\n") as stream:
        stream.writelines(lines((run.header, *run.records())))


def lines(records: Iterable[Header | Record]) -> Iterable[str]:
    """Each record as a line of the file, for whoever appends while a program runs."""
    for record in records:
        fields = {"record": _KINDS[type(record)], **dataclasses.asdict(record)}
        yield json.dumps(fields, default=lambda value: value.value, separators=(",", ":")) + "\n"


def read(path: str | Path) -> Run:
    """Read a file of records; a last line that was cut off is left out. Raises RecordError and OSError."""
    rows = [row for row in Path(path).read_bytes().split(b"\n") if row.strip()]
    decoded: list[Mapping[str, Any]] = []
    truncated = False
    for number, row in enumerate(rows, start=1):
        try:
            fields = json.loads(row)
        except ValueError as error:  # not JSON, or cut in the middle of a character
            if number < len(rows) or number == 1:
                raise RecordError(f"{path}:{number}: not a record of a run") from error
            truncated = True
            continue
        if not isinstance(fields, dict):
            raise RecordError(f"{path}:{number}: not a record of a run")
        decoded.append(fields)
    from runtime_check import decoding  # which needs the kinds of records, defined here

    header = decoding.header(path, decoded)
    latest: dict[object, Record] = {}
    for number, fields in enumerate(decoded[1:], start=2):
        record = decoding.record(path, number, fields)
        latest[_identity(record)] = record
    kept = list(latest.values())
    return Run(
        header,
        tuple(record for record in kept if isinstance(record, SiteRecord)),
        tuple(record for record in kept if isinstance(record, Link)),
        truncated,
        tuple(record for record in kept if isinstance(record, RawEvent)),
        next((record for record in kept if isinstance(record, Outcome)), None),
        tuple(record for record in kept if isinstance(record, Executed)),
        tuple(record for record in kept if isinstance(record, Profile)),
        tuple(record for record in kept if isinstance(record, Counted)),
    )


def _identity(record: Record) -> object:
    """What a later record has in common with the one that it replaces."""
    if isinstance(record, SiteRecord):
        return SiteRecord, record.id
    if isinstance(record, Link):
        return Link, record.kind, record.first, record.second, record.changed
    if isinstance(record, RawEvent):
        return RawEvent, record.slot
    if isinstance(record, Profile):
        return Profile, record.process
    return (type(record), record.path) if isinstance(record, (Executed, Counted)) else Outcome


_KINDS: Mapping[type, str] = types.MappingProxyType(
    {
        Header: "header",
        SiteRecord: "site",
        Link: "link",
        RawEvent: "raw",
        Outcome: "outcome",
        Executed: "executed",
        Counted: "counted",
        Profile: "profile",
    }
)
