"""How often the lines of the program's own files ran, and in how many steps: what a line profiler counts.

From Python 3.12 on `sys.monitoring` tells of every line (`runtime_check.tally`). On 3.10 and 3.11 the program's own
files are compiled with a call before each statement: there a line counts where a statement starts on it, and the header
of a loop counts once for the loop.
"""

from __future__ import annotations

import os
import site
import sys
import sysconfig
from collections.abc import Callable, Iterator

from runtime_check import marking, tally
from runtime_check.leading import Leader
from runtime_check.tally import Rows, Tally

_FILES = 20_000  # more Python files than this below a folder are no project's own


class LineCounts:
    """Counts lines of the files below `root` that belong to the program: not those of an environment that lies there.

    It takes the notes of a recorder's listener that it needs: `step`, as `runtime_check.collect.Collector` does.
    """

    def __init__(self, root: str) -> None:
        self._root = os.path.join(os.path.realpath(root), "")
        folders = {sys.prefix, *sysconfig.get_paths().values(), *site.getsitepackages()}
        inside = (os.path.join(os.path.realpath(folder), "") for folder in folders)
        self._others = tuple(folder for folder in inside if folder.startswith(self._root) and folder != self._root)
        self._counter = tally.Counter(self.wants) if sys.version_info >= (3, 12) else None
        self._marked: dict[str, dict[int, list[int]]] = {}
        self._tally = Tally()
        self._leader = Leader()
        self._known: dict[str, bool] = {}
        os.register_at_fork(after_in_child=self._forget)

    def wants(self, path: str) -> bool:
        """Whether the lines of a file are counted."""
        found = self._known.get(path)
        if found is None:
            real = os.path.realpath(path)
            packages = f"{os.sep}site-packages{os.sep}" in real or f"{os.sep}dist-packages{os.sep}" in real
            named = not path.startswith("<")  # "<frozen importlib>" is no file
            found = named and real.startswith(self._root) and not packages and not real.startswith(self._others)
            self._known[path] = found
        return found

    def files(self) -> frozenset[str]:
        """The Python files whose lines are counted, as real paths."""
        found: set[str] = set()
        for folder, folders, names in os.walk(self._root):
            folders[:] = [name for name in folders if not name.startswith(".") and name != "__pycache__"]
            paths = (os.path.join(folder, name) for name in names if name.endswith(".py"))
            found.update(os.path.realpath(path) for path in paths if self.wants(path))
            if len(found) > _FILES:
                break
        return frozenset(found)

    def start(self) -> None:
        """Begin to count; where other tools hold every number of `sys.monitoring`, nothing is counted."""
        if self._counter is not None:
            self._counter.tally = self._tally
            self._counter.start()

    def stop(self) -> None:
        """Count no more."""
        if self._counter is not None:
            self._counter.stop()

    def step(self, source: object = "") -> None:
        """A step ended; see `Collector.step`."""
        if self._leader.ends(source):
            self._tally.step += 1

    def __call__(self, event: object) -> None:
        """An event of the recorder, which says nothing of lines."""

    def counting(self) -> Callable[[str, int], None]:
        """What marked code calls before each statement."""
        marked = self._marked

        def count(path: str, line: int) -> None:
            if marking.compiling():
                return
            row = marked.setdefault(path, {}).get(line)
            step = self._tally.step
            if row is None:
                marked[path][line] = [1, step, 1]
                return
            row[0] += 1
            if row[1] != step:
                row[1] = step
                row[2] += 1

        return count

    def rows(self) -> dict[str, Rows]:
        """By real path and line, how often it ran and in how many steps (what ran before the first step's end is in
        one step, and so is what ran after the last's)."""
        found: dict[str, Rows] = {}
        for path, rows in self._counted():
            into = found.setdefault(os.path.realpath(path), {})
            for line, (count, steps) in rows.items():
                before = into.get(line, (0, 0))
                into[line] = (before[0] + count, max(before[1], steps))
        return found

    def _counted(self) -> Iterator[tuple[str, Rows]]:
        if self._counter is not None:
            yield from tally.by_line(self._tally, self._counter.codes).items()
        for path, rows in self._marked.copy().items():
            yield path, {line: (row[0], row[2]) for line, row in rows.copy().items()}

    def _forget(self) -> None:
        """In a forked process, whose parent keeps what was counted before."""
        self._marked.clear()
        self._tally = Tally()
        if self._counter is not None:
            self._counter.tally = self._tally
