"""What a run leaves behind: frozen records in a versioned JSON Lines file, one file a process.

The first line is the header. Every other line is one record; where two site records have the same `id`, or two links
the same kind and ends, the later line replaces the earlier one, so that a running program appends its sums now and
then. A process that dies in the middle of a line loses that line alone.
"""

from __future__ import annotations

import dataclasses
import enum
import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from transferlint.model import Direction, Site

VERSION = 1
LEVELS = ("guard", "trace", "profile", "simulate")
TIME_SOURCES = ("measured", "modelled")
T = TypeVar("T")


class RecordError(Exception):
    """A file that is no record of a run, or one that this version cannot read; the message is one line."""


class LinkKind(enum.Enum):
    """How two sites belong together."""

    DEVICE_HOST_DEVICE = "d2h2d"
    HOST_DEVICE_HOST = "h2d2h"
    REPEAT = "repeat"
    SCALAR_DETOUR = "scalar detour"
    SCATTERED_READS = "scattered reads"


@dataclasses.dataclass(frozen=True, slots=True)
class Header:
    """Whose records these are. `started` is ISO 8601 in UTC; `level` one of LEVELS; `time_source` one of TIME_SOURCES,
    which says whether times come from a clock or a model; `overhead_ns` is what recording one event cost, measured in
    this run (0: not measured). `driver` is "" on a simulated device."""

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


@dataclasses.dataclass(frozen=True, slots=True)
class Blocked:
    """How long the host waited, in nanoseconds: the sum over all events, and of single events the median, the 95th
    percentile and the maximum."""

    total: int = 0
    p50: int = 0
    p95: int = 0
    max: int = 0


@dataclasses.dataclass(frozen=True, slots=True)
class SiteRecord:
    """All events of one operation in one direction at one site and thread.

    `operation` is torch's name ("aten::copy_"); `count` the events, of which `pinned` had a pinned host side and
    `non_blocking` were asked not to wait; `bytes` the sum over all events; `sync` says that the host waited.
    `first_step` and `last_step` are -1 where no step was seen. `chain` are the callers, innermost first, as they were
    when the site was first seen.
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


@dataclasses.dataclass(frozen=True, slots=True)
class Link:
    """Data that left by the site record `first` and came back, or went again, by `second`. `changed` says whether the
    content differed between the two, None where that was not seen."""

    kind: LinkKind
    first: int
    second: int
    count: int
    bytes: int
    changed: bool | None = None


Record = SiteRecord | Link


@dataclasses.dataclass(frozen=True, slots=True)
class Run:
    """One process's records. `truncated` says that the last line was cut off and left out."""

    header: Header
    sites: tuple[SiteRecord, ...] = ()
    links: tuple[Link, ...] = ()
    truncated: bool = False


def write(path: str | Path, run: Run) -> None:
    """Write a whole run. Raises OSError."""
    with open(path, "w", encoding="utf-8", newline="\n") as stream:
        stream.writelines(lines((run.header, *run.sites, *run.links)))


def lines(records: Iterable[Header | Record]) -> Iterable[str]:
    """Each record as a line of the file, for whoever appends while a program runs."""
    kinds: dict[type, str] = {Header: "header", SiteRecord: "site", Link: "link"}
    for record in records:
        fields = {"record": kinds[type(record)], **dataclasses.asdict(record)}
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
    header = _header(path, decoded)
    sites: dict[int, SiteRecord] = {}
    links: dict[tuple[LinkKind, int, int], Link] = {}
    for number, fields in enumerate(decoded[1:], start=2):
        record = _decode(path, number, fields)
        if isinstance(record, SiteRecord):
            sites[record.id] = record
        else:
            links[record.kind, record.first, record.second] = record
    return Run(header, tuple(sites.values()), tuple(links.values()), truncated)


def _header(path: str | Path, decoded: list[Mapping[str, Any]]) -> Header:
    if not decoded or decoded[0].get("record") != "header":
        raise RecordError(f"{path}: not a record of a run: it has no header")
    version = decoded[0].get("version")
    if not isinstance(version, int) or version < 1:
        raise RecordError(f"{path}: the header names no version")
    if version > VERSION:
        raise RecordError(f"{path}: written by a newer transferlint (version {version}, this one reads {VERSION})")
    fields = dict(decoded[0], program=tuple(decoded[0].get("program", ())))
    return _build(path, 1, lambda: Header(**_without_kind(fields)))


def _decode(path: str | Path, number: int, fields: Mapping[str, Any]) -> Record:
    if fields.get("record") == "site":
        return _build(path, number, lambda: _site_record(_without_kind(fields)))
    if fields.get("record") == "link":
        return _build(path, number, lambda: Link(**{**_without_kind(fields), "kind": LinkKind(fields["kind"])}))
    raise RecordError(f"{path}:{number}: unknown record {fields.get('record')!r}")


def _site_record(fields: dict[str, Any]) -> SiteRecord:
    changed = {
        "site": Site(**fields["site"]),
        "direction": Direction(fields["direction"]),
        "blocked": Blocked(**fields["blocked"]),
        "chain": tuple(Site(**site) for site in fields["chain"]),
    }
    return SiteRecord(**{**fields, **changed})


def _build(path: str | Path, number: int, make: Callable[[], T]) -> T:
    try:
        return make()
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise RecordError(f"{path}:{number}: a damaged record: {error}") from error


def _without_kind(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in fields.items() if key != "record"}
