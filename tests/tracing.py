"""Traces as torch.profiler and nsys write them, made by hand: calls that nest, each a microsecond after the last."""

from __future__ import annotations

import contextlib
import gzip
import json
import sqlite3
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

PROCESS = 77


class Kineto:
    """Writes a trace in Kineto's JSON. Times are microseconds."""

    def __init__(self, device: str = "NVIDIA A100-SXM4-80GB", stacks: bool = True) -> None:
        self.events: list[dict[str, Any]] = []
        self.head: dict[str, Any] = {"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": device}]}
        self.now = 1000.0
        self.thread = PROCESS
        self._stacks = stacks
        self._ids: dict[int, list[int]] = {}
        self._count = self._correlation = 0

    @contextlib.contextmanager
    def on(self, thread: int) -> Iterator[None]:
        """What follows is another thread's."""
        before, self.thread = self.thread, thread
        yield
        self.thread = before

    @contextlib.contextmanager
    def _event(self, category: str, name: str, **args: Any) -> Iterator[None]:
        start = self.now
        self.now += 1
        thread = self.thread
        yield
        self.now += 1
        self.events.append(
            {"ph": "X", "cat": category, "name": name, "pid": PROCESS, "tid": thread, "ts": start,
             "dur": self.now - start, "args": args}
        )  # fmt: skip

    @contextlib.contextmanager
    def python(self, name: str) -> Iterator[None]:
        """A Python function, as "train.py(3): step"."""
        if not self._stacks:
            yield
            return
        above = self._ids.setdefault(self.thread, [])
        self._count += 1
        number, parent = self._count, above[-1] if above else None
        above.append(number)
        with self._event("python_function", name, **{"Python id": number, "Python parent id": parent}):
            yield
        above.pop()

    def builtin(self, name: str, of: str = "Tensor") -> contextlib.AbstractContextManager[None]:
        """A function of C's, as a method of a tensor."""
        return self.python(f"<built-in method {name} of {of} object at 0x7f7cef17ee40>")

    @contextlib.contextmanager
    def op(self, *names: str) -> Iterator[None]:
        """Operators, one within the other."""
        with contextlib.ExitStack() as stack:
            for name in names:
                stack.enter_context(self._event("cpu_op", name))
            yield

    def step(self, number: int) -> contextlib.AbstractContextManager[None]:
        """What torch.profiler's schedule marks."""
        return self._event("user_annotation", f"ProfilerStep#{number}")

    def call(self, name: str, took: float, **more: Any) -> int:
        """A call of the driver; its correlation id."""
        self._correlation += 1
        category = "cuda_driver" if name.startswith("cu") and not name.startswith("cuda") else "cuda_runtime"
        self.events.append(
            {"ph": "X", "cat": category, "name": name, "pid": PROCESS, "tid": self.thread, "ts": self.now, "dur": took,
             "args": {"External id": self._correlation, "correlation": self._correlation, **more}}
        )  # fmt: skip
        self.now += took
        return self._correlation

    def copy(self, way: str, moved: int, took: float = 20.0, call: str = "cudaMemcpyAsync", **more: Any) -> None:
        """A copy: the call, and what the device did, as "DtoH (Device -> Pageable)"; -1 bytes are not told."""
        number = self.call(call, took, **more)
        told = {"bytes": moved} if moved >= 0 else {}
        self.events.append(
            {"ph": "X", "cat": "gpu_memcpy", "name": f"Memcpy {way}", "pid": 0, "tid": 7, "ts": self.now - took / 2,
             "dur": 2, "args": {"device": 0, "stream": 7, "correlation": number, **told}}
        )  # fmt: skip

    def read(self, size: int = 4, took: float = 20.0) -> None:
        """What a blocking read does: a copy to pageable memory, and a wait."""
        self.copy("DtoH (Device -> Pageable)", size, took)
        self.call("cudaStreamSynchronize", 3.0)

    def item(self, *outer: str) -> None:
        """`Tensor.item` below some operators."""
        with self.op(*outer, "aten::item", "aten::_local_scalar_dense"):
            self.read()

    def write(self, path: Path) -> Path:
        """Write it, gzipped where the name says so."""
        text = json.dumps({**self.head, "traceEvents": self.events, "traceName": path.name}).encode()
        path.write_bytes(gzip.compress(text) if path.suffix == ".gz" else text)
        return path


def nsys(path: Path, rows: Mapping[str, list[tuple[Any, ...]]]) -> Path:
    """Write an export of nsys with the tables that are given, by NVIDIA's SQLite Export Schema Reference."""
    columns = {
        "StringIds": "id INTEGER PRIMARY KEY, value TEXT NOT NULL",
        "CUPTI_ACTIVITY_KIND_RUNTIME": "start INT, end INT, eventClass INT, globalTid INT, correlationId INT,"
        " nameId INT, returnValue INT, callchainId INT",
        "CUPTI_ACTIVITY_KIND_MEMCPY": "start INT, end INT, deviceId INT, contextId INT, streamId INT,"
        " correlationId INT, globalPid INT, bytes INT, copyKind INT, deprecatedSrcId INT, srcKind INT, dstKind INT",
        "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION": "start INT, end INT, deviceId INT, contextId INT, streamId INT,"
        " correlationId INT, globalPid INT, syncType INT, eventId INT",
        "NVTX_EVENTS": "start INT, end INT, eventType INT, text TEXT, globalTid INT, textId INT, domainId INT",
        "TARGET_INFO_GPU": "id INT, name TEXT",
    }
    database = sqlite3.connect(path)
    for table, values in rows.items():
        database.execute(f"CREATE TABLE {table} ({columns[table]})")
        for row in values:
            database.execute(f"INSERT INTO {table} VALUES ({', '.join('?' * len(row))})", row)
    database.commit()
    database.close()
    return path
