"""SQLite exports of Nsight Systems (`nsys export --type sqlite`).

Tables and columns are those of NVIDIA's "SQLite Export Schema Reference" (docs.nvidia.com/nsight-systems): calls of the
runtime and the driver in CUPTI_ACTIVITY_KIND_RUNTIME, copies in CUPTI_ACTIVITY_KIND_MEMCPY, joined by correlationId
within a process; names in StringIds; NVTX ranges, among them the operators of `torch.autograd.profiler.emit_nvtx`, in
NVTX_EVENTS. There are no Python stacks in them. Tables are made when there is something to put into them.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from runtime_check.traces.calls import COPY, WAIT, Copied, Driver, Points, Stretch, Trace, TraceError, assemble, plain
from transferlint.model import Direction

MAGIC = b"SQLite format 3\x00"
_RUNTIME = "CUPTI_ACTIVITY_KIND_RUNTIME"
_MEMCPY = "CUPTI_ACTIVITY_KIND_MEMCPY"
_KERNEL = "CUPTI_ACTIVITY_KIND_KERNEL"
_WAYS = {1: Direction.H2D, 2: Direction.D2H, 8: Direction.D2D, 10: Direction.D2D}  # CUDA memcopy kinds
_PAGEABLE, _PINNED = 0, 1  # CUDA memory kinds
_RANGES = (59, 60)  # NVTX event types: a push and pop range, and a range of its own start and end
_STEP = re.compile(r"(ProfilerStep|step|iteration|iter|batch)\W*\d+", re.IGNORECASE)
_OPERATOR = re.compile(r"([\w:]+), (op_id|seq) = \d+")  # emit_nvtx: "aten::item, op_id = 512"
_PROCESS = 0x1000000  # serialized ids hold process and thread, 24 bits each


def read(path: Path) -> Trace:
    """Read an export. Raises TraceError."""
    try:
        database = sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro&immutable=1", uri=True)
        try:
            return _read(path, database)
        finally:
            database.close()
    except sqlite3.DatabaseError as error:
        raise TraceError(f"{path}: is cut off or damaged: {error}") from None


def _read(path: Path, database: sqlite3.Connection) -> Trace:
    tables = {name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    if "StringIds" not in tables:
        raise TraceError(f"{path}: is a SQLite file, but not one that `nsys export --type sqlite` wrote")
    if _RUNTIME not in tables:
        raise TraceError(f"{path}: has no calls of CUDA ({_RUNTIME}); profile with `nsys profile --trace=cuda,nvtx`")
    names = {number: plain(name) for number, name in database.execute("SELECT id, value FROM StringIds")}
    wanted = [number for number, name in names.items() if COPY.fullmatch(name) or WAIT.fullmatch(name)]
    drivers = _drivers(database, wanted, names)
    copies = _copies(database) if _MEMCPY in tables else {}
    points = Points(drivers)
    around: dict[object, list[Stretch]] = {}
    steps: list[tuple[str, int, int]] = []
    for thread, name, start, end in _ranges(database, names) if "NVTX_EVENTS" in tables else ():
        if _STEP.fullmatch(name):
            steps.append((name, start, end))
        elif points.within(thread, start, end):
            operator = _OPERATOR.match(name)
            around.setdefault(thread, []).append(Stretch(operator[1] if operator else name, start, end - start))
    calls, unknown = assemble(drivers, copies, around)
    notes = (f"{path}: {unknown} copies are left out: the device did not say what they were",) if unknown else ()
    start, end = _extent(database, [name for name in (_RUNTIME, _MEMCPY, _KERNEL) if name in tables])
    steps.sort(key=lambda one: one[1])
    return Trace(
        str(path), tuple(calls), _device(database, tables), 0, 1, start, end - start, tuple(steps), notes=notes
    )


def _drivers(database: sqlite3.Connection, wanted: Sequence[int], names: dict[int, str]) -> list[Driver]:
    marks = ",".join("?" * len(wanted))
    rows = database.execute(
        f"SELECT start, end, globalTid, correlationId, nameId FROM {_RUNTIME} WHERE nameId IN ({marks})", wanted
    )
    return [
        Driver(names[name], start, end - start, thread, (thread // _PROCESS, correlation))
        for start, end, thread, correlation, name in rows
    ]


def _copies(database: sqlite3.Connection) -> dict[object, Copied]:
    """By process and correlation id; older exports do not name the process of a copy, and hold one alone."""
    columns = _columns(database, _MEMCPY)
    process = "globalPid" if "globalPid" in columns else "NULL"
    source, target = (name if name in columns else "NULL" for name in ("srcKind", "dstKind"))
    only = None if process != "NULL" else _only_process(database)
    found: dict[object, Copied] = {}
    for start, end, size, kind, correlation, pid, source_kind, target_kind in database.execute(
        f"SELECT start, end, bytes, copyKind, correlationId, {process}, {source}, {target} FROM {_MEMCPY}"
    ):
        way = _WAYS.get(kind)
        if way is not None:
            host = source_kind if way is Direction.H2D else target_kind
            pinned = {_PAGEABLE: False, _PINNED: True}.get(host)
            owner = only if pid is None else pid // _PROCESS
            found[owner, correlation] = Copied(way, size, pinned, start, end - start)
    return found


def _only_process(database: sqlite3.Connection) -> int | None:
    rows = database.execute(f"SELECT DISTINCT globalTid / {_PROCESS} FROM {_RUNTIME} LIMIT 2").fetchall()
    return int(rows[0][0]) if len(rows) == 1 else None


def _ranges(database: sqlite3.Connection, names: dict[int, str]) -> Iterable[tuple[object, str, int, int]]:
    columns = _columns(database, "NVTX_EVENTS")
    identity = "textId" if "textId" in columns else "NULL"
    kinds = f"AND eventType IN {_RANGES}" if "eventType" in columns else ""
    for start, end, thread, text, number in database.execute(
        f"SELECT start, end, globalTid, text, {identity} FROM NVTX_EVENTS WHERE end IS NOT NULL {kinds}"
    ):
        name = text if text is not None else names.get(number, "")
        if name:
            yield thread, str(name), start, end


def _extent(database: sqlite3.Connection, tables: Sequence[str]) -> tuple[int, int]:
    found = [database.execute(f"SELECT min(start), max(end) FROM {table}").fetchone() for table in tables]
    known = [(start, end) for start, end in found if start is not None]
    return min((start for start, _ in known), default=0), max((end for _, end in known), default=0)


def _device(database: sqlite3.Connection, tables: set[str]) -> str:
    if "TARGET_INFO_GPU" not in tables or "name" not in _columns(database, "TARGET_INFO_GPU"):
        return ""
    row: Any = database.execute("SELECT name FROM TARGET_INFO_GPU LIMIT 1").fetchone()
    return str(row[0]) if row else ""


def _columns(database: sqlite3.Connection, table: str) -> set[str]:
    return {str(row[1]) for row in database.execute(f"PRAGMA table_info({table})")}
