"""The table of a package: what a run of the mill left, as a compressed file of JSON lines that is committed.

The first line is the header: the package and its version, torch's and Python's, the `workloads` with their outcomes,
and the `sections`, each [workload, case, kind, phase, number of steps]. Each further line is a file of the package: its
path within site-packages, the SHA-256 of its content, its number of lines, and its rows. Rows name sections by their
index and lines of the file; a list of columns stands for each section, with the lines as differences.

What the phases mean: "first" is the first step of its kind in its case (warm-up), "steps" are the others, and
"outside" what ran between and around steps (making models, computing a metric's result, saving).
"""

from __future__ import annotations

import dataclasses
import json
import lzma
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

DATA = Path(__file__).with_name("data")
VERSION = 1
_KINDS = ("if", "none", "for")


@dataclasses.dataclass(frozen=True)
class Section:
    """A stretch of a case: its steps of one kind, the first of these, or what is outside of steps."""

    workload: str
    case: str
    kind: str
    phase: str
    steps: int


@dataclasses.dataclass(frozen=True)
class Branch:
    """A condition or a loop that ran in a section. `site` is (line, column, end line, end column) of what is asked;
    `kind` what: "if" whether it is true, "none" whether it is None, "for" whether there is a next element."""

    section: int
    site: tuple[int, int, int, int]
    kind: str
    yes: int
    no: int


@dataclasses.dataclass(frozen=True)
class Crossing:
    """What crossed at a place in a section. `direction` is "h2d", "d2h" or "none" (the host waited, and nothing moved);
    `operation` torch's name; `backward` the node of autograd; `via` the package between this line and torch, "" for
    none. `steps` are distinct; `repeated` events moved the same bytes as the one before; `calls` counts those of one
    call that moves many tensors as one; `blocked` is modelled, in nanoseconds."""

    section: int
    site: tuple[int, int, int, int]
    function: str
    direction: str
    operation: str
    sync: bool
    backward: str
    via: str
    count: int
    bytes: int
    blocked: int
    steps: int
    repeated: int
    calls: int


@dataclasses.dataclass
class File:
    """The rows of a file. `lines` maps (section, line) to (executions, distinct steps), `calls` (section, first line,
    qualified name) to the same of a function, `operators` (section, line) to how many operators it started on the
    device and on the host."""

    path: str
    sha256: str
    length: int
    lines: dict[tuple[int, int], tuple[int, int]] = dataclasses.field(default_factory=dict)
    calls: dict[tuple[int, int, str], tuple[int, int]] = dataclasses.field(default_factory=dict)
    operators: dict[tuple[int, int], tuple[int, int]] = dataclasses.field(default_factory=dict)
    branches: list[Branch] = dataclasses.field(default_factory=list)
    crossings: list[Crossing] = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class Table:
    """A package's table. `header` is as it is written, without the sections."""

    header: dict[str, Any]
    sections: list[Section]
    files: dict[str, File]


def path_of(package: str) -> Path:
    """Where a package's table is."""
    return DATA / f"{package}.jsonl.xz"


def write(package: str, table: Table) -> Path:
    """Write a table."""
    rows = [{"version": VERSION, **table.header, "sections": [dataclasses.astuple(one) for one in table.sections]}]
    rows += [_packed(one) for _, one in sorted(table.files.items())]
    text = "".join(json.dumps(row, separators=(",", ":")) + "\n" for row in rows)
    path = path_of(package)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(lzma.compress(text.encode(), preset=9 | lzma.PRESET_EXTREME))
    return path


def read(package: str) -> Table:
    """Read a table. Raises OSError where there is none, and ValueError where it is of another version."""
    rows = [json.loads(line) for line in lzma.decompress(path_of(package).read_bytes()).splitlines()]
    header = rows[0]
    if header.pop("version") != VERSION:
        raise ValueError(f"{path_of(package)}: made by another version of the mill; run it again")
    sections = [Section(*one) for one in header.pop("sections")]
    return Table(header, sections, {row["file"]: _unpacked(row) for row in rows[1:]})


def _packed(file: File) -> dict[str, Any]:
    names: dict[str, int] = {}
    calls = {(one[0], one[1], names.setdefault(one[2], len(names))): row for one, row in file.calls.items()}
    texts: dict[str, int] = {}
    places: dict[tuple[int, ...], int] = {}
    return {
        "file": file.path,
        "sha256": file.sha256,
        "length": file.length,
        "lines": _columns((*key, *row) for key, row in file.lines.items()),
        "operators": _columns((*key, *row) for key, row in file.operators.items()),
        "calls": _columns((*key, *row) for key, row in calls.items()),
        "branches": _columns(
            (one.section, places.setdefault(one.site, len(places)), _KINDS.index(one.kind), one.yes, one.no)
            for one in file.branches
        ),
        "crossings": _columns(
            (
                *(one.section, places.setdefault(one.site, len(places))),
                *(texts.setdefault(text, len(texts)) for text in _texts(one)),
                *(int(one.sync), one.count, one.bytes, one.blocked, one.steps, one.repeated, one.calls),
            )
            for one in file.crossings
        ),
        "names": list(names),
        "texts": list(texts),
        "places": list(places),
    }  # fmt: skip


def _texts(one: Crossing) -> tuple[str, ...]:
    return one.function, one.direction, one.operation, one.backward, one.via


def _columns(rows: Iterable[Sequence[int]]) -> list[list[Any]]:
    """For each section (a row's first number), the other numbers by column; the first of them as differences."""
    by_section: dict[int, list[Sequence[int]]] = {}
    for row in rows:
        by_section.setdefault(row[0], []).append(row[1:])
    packed: list[list[Any]] = []
    for section, found in sorted(by_section.items()):
        columns = [list(column) for column in zip(*sorted(found), strict=True)]
        columns[0] = [line - before for before, line in zip([0, *columns[0]], columns[0], strict=False)]
        packed.append([section, *columns])
    return packed


def _rows(packed: Iterable[Sequence[Any]]) -> Iterable[tuple[int, ...]]:
    for section, differences, *columns in packed:
        line = 0
        for difference, *rest in zip(differences, *columns, strict=True):
            line += difference
            yield (section, line, *rest)


def _unpacked(row: Mapping[str, Any]) -> File:
    names, texts = row["names"], row["texts"]
    places = [(a, b, c, d) for a, b, c, d in row["places"]]
    file = File(row["file"], row["sha256"], row["length"])
    file.lines = {(section, line): (count, steps) for section, line, count, steps in _rows(row["lines"])}
    file.operators = {(section, line): (device, host) for section, line, device, host in _rows(row["operators"])}
    file.calls = {(one[0], one[1], names[one[2]]): (one[3], one[4]) for one in _rows(row["calls"])}
    file.branches = [Branch(one[0], places[one[1]], _KINDS[one[2]], *one[3:]) for one in _rows(row["branches"])]
    for section, place, *rest in _rows(row["crossings"]):
        function, direction, operation, backward, via = (texts[number] for number in rest[:5])
        file.crossings.append(
            Crossing(section, places[place], function, direction, operation, bool(rest[5]), backward, via, *rest[6:])
        )
    return file
