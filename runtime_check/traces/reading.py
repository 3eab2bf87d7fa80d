"""A file that somebody calls a trace, whichever it is."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from runtime_check.traces import kineto, nsys
from runtime_check.traces.calls import Trace, TraceError
from runtime_check.traces.kineto import Wanted


def read(path: Path, wanted: Wanted) -> Trace:
    """Read a trace of torch.profiler or an export of nsys; see `kineto.read` for `wanted`. Raises TraceError."""
    try:
        with open(path, "rb") as stream:
            beginning = stream.read(len(nsys.MAGIC))
    except OSError as error:
        raise TraceError(f"{path}: cannot be read: {(error.strerror or str(error)).lower()}") from None
    if not beginning:
        raise TraceError(f"{path}: is empty")
    if path.suffix in (".nsys-rep", ".qdrep"):
        raise TraceError(f"{path}: export it first: `nsys export --type sqlite {path.name}`")
    if beginning == nsys.MAGIC:
        return nsys.read(path)
    if beginning[:2] != b"\x1f\x8b" and beginning.lstrip()[:1] not in (b"{", b""):
        raise TraceError(f"{path}: is neither a trace of torch.profiler (JSON) nor a SQLite export of nsys")
    return kineto.read(path, wanted)


def read_all(paths: Sequence[Path], wanted: Wanted) -> tuple[list[Trace], list[str]]:
    """Those that can be read, and why the others cannot, in one line each."""
    found, problems = [], []
    for path in paths:
        try:
            found.append(read(path, wanted))
        except TraceError as error:
            problems.append(str(error))
    return found, problems
