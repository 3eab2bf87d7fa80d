"""What a collector has seen goes to a file while the program runs, so that a process that dies loses a second at most.

The file is `FOLDER/RANK-PID.jsonl` (see `runtime_check.records`). A thread appends what has changed; where the file has
grown to several times what it says, it is written anew beside and put in its place, so that its size depends on the
number of sites and not on the length of the run. What the operating system has been given outlives the process, so
nothing is forced to the disk.
"""

from __future__ import annotations

import atexit
import dataclasses
import datetime
import os
import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from runtime_check import records
from runtime_check.collect import Collector
from runtime_check.merging import Folder, read_folder
from runtime_check.records import Counted, Executed, Header, Outcome, Profile, Record

__all__ = ["Folder", "Recording", "read_folder"]

_GROWTH = 4  # a file is written anew when it is so many times as long as it need be,
_SMALLEST = 1 << 20  # and this many bytes
Lines = Callable[[], Iterable[Executed]]
Counts = Callable[[], Mapping[str, Mapping[int, tuple[int, int]]]]


class Recording:
    """Writes a collector's sums to `folder` every `interval` seconds, between `start` and `stop`.

    `header` is written with its `started` and `clock` set to where the collector began; `renew` changes it until
    `stop`. `executed`, where given, tells by file which lines of interest ran. A file that cannot be written does not
    stop the program: `problem` then says why, in one line. A forked child writes a file of its own as soon as it has
    something to say, until it ends.
    """

    def __init__(
        self,
        folder: str | Path,
        header: Header,
        collector: Collector,
        executed: Lines | None = None,
        interval: float = 0.5,
    ) -> None:
        self.header = header
        self.profile: Profile | None = None  # to be written with the rest at the end, as counts of lines are
        self.counts: Counts | None = None
        self.problem = ""
        self.path = Path()
        self._folder = Path(folder)
        self._collector = collector
        self._executed = executed
        self._interval = interval
        self._owner = 0  # the process whose file is open
        self._file = -1

    def start(self) -> None:
        """Make the file, with its header, and start the thread. Raises OSError where there can be no file."""
        self._folder.mkdir(parents=True, exist_ok=True)
        self._collector.on_fork = self._in_child
        self._open(os.getpid())
        atexit.register(self.stop)

    def renew(self, **changed: Any) -> None:
        """Change fields of the header: the file is written anew when it is next written."""
        self.header = dataclasses.replace(self.header, **changed)
        self._broken = True

    def stop(self, status: int | None = None) -> None:
        """Write all there is, with the exit status, and end the thread. Does nothing the second time, nor in a forked
        child that has no file of its own."""
        if self._owner != os.getpid():
            return
        self._ended.set()
        self._thread.join()
        with self._writing:
            if self._owner:
                self._rewrite(status)
                self._close()
                self._owner = 0
        self._collector.on_fork = None
        atexit.unregister(self.stop)

    def flush(self) -> None:
        """Write what has changed, now."""
        with self._writing:
            if self._owner != os.getpid():
                return
            changed = (*self._collector.changes(), *self._lines(), self._collector.outcome())
            if self._broken or self._size > self._limit:
                self._rewrite(None)
            else:
                self._append(changed)

    def _open(self, pid: int) -> None:
        began = time.time() - (time.perf_counter_ns() - self._collector.origin) / 1e9
        started = datetime.datetime.fromtimestamp(began, datetime.timezone.utc).isoformat()
        self.header = dataclasses.replace(self.header, started=started, clock=self._collector.origin, pid=pid)
        self._written: dict[str, Executed] = {}
        self._broken = False
        self._limit = _SMALLEST
        self._writing = threading.Lock()
        self._ended = threading.Event()
        self.path, self._file = _new_file(self._folder, f"{self.header.rank}-{pid}")
        self._size = 0
        self._append((self.header,))
        self._owner = pid
        self._thread = threading.Thread(target=self._run, name="transferlint-recording", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._ended.wait(self._interval):
            self.flush()

    def _lines(self) -> list[Executed]:
        """The executed lines of those files that have more of them than were written."""
        found = () if self._executed is None else self._executed()
        now = {one.path: one for one in found}
        new = [one for path, one in now.items() if self._written.get(path) != one]
        self._written = now
        return new

    def _append(self, changed: Iterable[Header | Record]) -> None:
        text = "".join(records.lines(changed)).encode()
        try:
            written = os.write(self._file, text)
        except OSError as error:
            written = 0
            self._cannot(error)
        self._size += written
        if written < len(text):  # a full disk: what is half there would spoil the next line
            self._broken = True

    def _rewrite(self, status: int | None) -> None:
        """Replace the file by one that says everything once."""
        beside = self.path.with_suffix(".new")
        try:
            text = "".join(records.lines((self.header, *self._everything(status)))).encode()
            beside.write_bytes(text)
            self._close()
            os.replace(beside, self.path)
            self._file = os.open(self.path, os.O_WRONLY | os.O_APPEND)
        except OSError as error:
            self._cannot(error)
            return
        self._size = len(text)
        self._limit = max(_SMALLEST, _GROWTH * self._size)
        self._broken = False

    def _everything(self, status: int | None) -> Iterable[Record]:
        links = self._collector.links()
        self._lines()
        executed = self._written.values()
        outcome: Outcome = self._collector.outcome(status)
        profiles = () if self.profile is None else (self.profile,)
        counted = self._counted()
        return (*self._collector.records(), *links, *self._collector.raw(), *executed, *counted, *profiles, outcome)

    def _counted(self) -> Iterable[Counted]:
        found = {} if self.counts is None else self.counts()
        for path, rows in sorted(found.items()):
            yield Counted(path, tuple((line, count, steps) for line, (count, steps) in sorted(rows.items())))

    def _cannot(self, error: OSError) -> None:
        self.problem = f"{self.path}: not all of the run could be recorded: {error.strerror or error}"

    def _close(self) -> None:
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def _in_child(self) -> None:
        """In a forked process that has its first event: leave the parent's file alone and begin another."""
        self._close()
        self.header = dataclasses.replace(self.header, parent=self.header.pid)
        try:
            self._open(os.getpid())
        except OSError as error:
            self._cannot(error)
            return
        atexit.unregister(self.stop)
        atexit.register(self.stop)
        util = sys.modules.get("multiprocessing.util")
        if util is not None:  # its children leave without what `atexit` has to do
            util.Finalize(None, self.stop, exitpriority=0)


def _new_file(folder: Path, name: str) -> tuple[Path, int]:
    """A file of that name, or of that name and a number, that was not there."""
    for number in range(1, 10_000):
        path = folder / (f"{name}.jsonl" if number == 1 else f"{name}-{number}.jsonl")
        try:
            return path, os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_EXCL, 0o644)
        except FileExistsError:
            continue
    raise FileExistsError(f"{folder}: too many files named {name}")
