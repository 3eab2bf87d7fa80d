"""Whole programs make exactly the transfers that were counted by hand beside their lines, on the simulated device.

A program says `# transfers: d2h 4 B x 10, h2d 16 B x 2` at the end of a line: direction, bytes of one, how many in the
whole run (of all ranks). `async`: the host does not wait for it. `wait`: the host waits and no data was asked for; the
bytes are those that a kernel reads back for itself. `no-op`: a move to where the thing is. Lines without a mark make
no transfer. A program names its device once, prints numbers and a hash of its results, and is no test file.
"""

from __future__ import annotations

import ast
import collections
import contextlib
import io
import os
import re
import runpy
import socket
import tempfile
from pathlib import Path
from typing import Any

import pytest
from simulated import ROOT, outcome, side_by_side

PROGRAMS = Path(__file__).with_name("programs")
NAMES = sorted(path.stem for path in PROGRAMS.glob("*.py"))
RANKS = {"ddp_two_ranks": 2}
DEVICES = {"model_parallel": 2, "replicas": 2}
MARK = re.compile(r"# transfers: (.+)$")
ONE = re.compile(r"(?:(h2d|d2h|d2d|wait) (\d+) B|(no-op)) x (\d+)( async)?$")
PAGE = ROOT / "docs" / "simulator.md"
Crossing = tuple[int, str, bool, int]  # line, direction, whether the host waits, bytes


def test_the_page_lists_the_programs_and_their_counts() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert [row for row in rows() if row not in page] == []


def rows() -> list[str]:
    """The page's table: each program, the first line of its docstring, and how often it transfers and waits."""
    found = ["| program | what it shows | h2d | d2h | d2d | other waits |", "| --- | --- | --- | --- | --- | --- |"]
    for name in NAMES:
        path = PROGRAMS / f"{name}.py"
        about = (ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or "").splitlines()[0]
        times = dict.fromkeys(("h2d", "d2h", "d2d", "none"), 0)
        for (_, way, sync, _), count in marked(path).items():
            times[way] += count if sync or way != "none" else 0
        found.append(f"| `{name}.py` | {about} | {' | '.join(map(str, times.values()))} |")
    return found


@pytest.mark.parametrize("name", [name for name in NAMES if name not in RANKS])
def test_a_program_transfers_what_was_counted_and_computes_what_the_cpu_computes(name: str) -> None:
    on_host = outcome(__file__, "printed", False, name=name)
    on_device = outcome(__file__, "recorded_alone", DEVICES.get(name, 1), name=name)
    assert without_places(on_device["said"]) == on_host
    events = collections.Counter(map(tuple, on_device["events"]))
    assert_counted(name, events, {tuple(key): (count, size) for *key, count, size in on_device["sums"]})


@pytest.mark.parametrize("name", RANKS)
def test_ranks_are_counted_together(name: str, tmp_path: Path) -> None:
    outcome(__file__, "recorded_alone", True, name="branches")  # skips where there is no simulated device
    on_host, on_device = together(name, ""), together(name, str(tmp_path))
    assert [without_places(answer["said"]) for answer in on_device] == on_host
    from runtime_check.recording import read_folder

    recorded = read_folder(tmp_path)
    assert len(recorded.runs) == RANKS[name]
    assert recorded.problems == ()
    events = collections.Counter(tuple(crossing) for answer in on_device for crossing in answer["events"])
    assert_counted(name, events, sums(name, recorded.whole))


def assert_counted(name: str, events: collections.Counter[Any], sums: dict[Any, tuple[int, int]]) -> None:
    """Single events are as marked, and records say the same, line by line."""
    expected = marked(PROGRAMS / f"{name}.py")
    assert shown(events) == shown(expected)
    summed: dict[Any, tuple[int, int]] = {}
    for (*key, size), count in expected.items():
        counted, sent = summed.get(tuple(key), (0, 0))
        summed[tuple(key)] = counted + count, sent + count * size
    assert sums == summed


def marked(path: Path) -> collections.Counter[Crossing]:
    """What the marks of a program say."""
    found: collections.Counter[Crossing] = collections.Counter()
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        mark = MARK.search(line)
        for text in mark[1].split(", ") if mark else ():
            one = ONE.match(text)
            assert one is not None, f"{path.name}:{number}: a mark that says nothing: {text}"
            way = "none" if one[1] in (None, "wait") else one[1]
            found[number, way, not (one[3] or one[5]), int(one[2] or 0)] += int(one[4])
    return found


def shown(events: collections.Counter[Any]) -> list[str]:
    """Sorted lines, which a failing test shows the difference of."""
    ways = {(True, "none"): "wait", (False, "none"): "no-op"}
    return [
        f"{line:3}: {ways.get((sync, way), way)} {size} B x {count}{'' if sync or way == 'none' else ' async'}"
        for (line, way, sync, size), count in sorted(events.items())
    ]


def without_places(said: str) -> str:
    """What was printed, as if all of it lay on the host."""
    return said.replace(", device='cuda:0'", "")


def printed(name: str) -> str:
    """Run a program here, as it would be by itself, and give what it printed."""
    if "RANK" not in os.environ:
        os.environ.update(RANK="0", WORLD_SIZE="1", MASTER_ADDR="127.0.0.1", MASTER_PORT=free_port())
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        runpy.run_path(str(PROGRAMS / f"{name}.py"), run_name="__main__")
    return said.getvalue()


def recorded_alone(name: str) -> dict[str, Any]:
    """As `ran`, whose records nobody else wants."""
    with tempfile.TemporaryDirectory() as folder:
        return ran(name, folder)


def ran(name: str, folder: str) -> dict[str, Any]:
    """Run a program here and record it as `transferlint verify` does: what it printed, its single events, and the sums
    in its records, which are written to `folder`."""
    from runtime_check import collect, merging, provenance, recording, records, session

    collector = collect.Collector(None, 1 << 20, provenance=provenance.Provenance(lifetimes=True))
    header = records.Header(
        program=(name,), started="", device="", driver="", torch="", python="", level="simulate",
        time_source="measured", rank=int(os.environ.get("RANK", "0")),
    )  # fmt: skip
    written = recording.Recording(folder, header, collector)
    written.start()
    try:
        with session.start("trace", collector):
            said = printed(name)
    finally:
        written.stop(0)
    assert written.problem == ""
    run = merging.merge([records.read(written.path)])
    assert run.outcome is not None
    assert run.outcome.overflow == 0
    assert run.outcome.missing == ()
    assert len(run.raw) == run.outcome.events
    sites = {record.id: record for record in run.sites}
    events = [[*place(name, sites[event.site]), event.bytes] for event in run.raw]
    return {"said": said, "events": events, "sums": [[*key, *both] for key, both in sums(name, run).items()]}


def place(name: str, record: Any) -> tuple[int, str, bool]:
    """Line, direction and wait of a record, which must be the program's own."""
    site = record.user or record.site
    assert os.path.basename(site.path) == f"{name}.py", f"{site.path}:{site.line}: {record.operation}"
    return site.line, record.direction.value, record.sync


def sums(name: str, run: Any) -> dict[tuple[int, str, bool], tuple[int, int]]:
    """Count and bytes by line, direction and wait."""
    found: dict[tuple[int, str, bool], tuple[int, int]] = {}
    for record in run.sites:
        count, size = found.get(place(name, record), (0, 0))
        found[place(name, record)] = count + record.count, size + record.bytes
    return found


def together(name: str, folder: str) -> list[Any]:
    """Run a program's ranks as `torchrun` does, each in a process of its own, and give what each answered: `ran` on the
    simulated device, which writes to `folder`, or `printed` where there is none."""
    ranks = {"WORLD_SIZE": str(RANKS[name]), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": free_port()}
    given = [{"name": name, "folder": folder, "env": {**ranks, "RANK": str(rank)}} for rank in range(RANKS[name])]
    return side_by_side(__file__, "one_rank", bool(folder), given)


def one_rank(name: str, folder: str, env: dict[str, str]) -> Any:
    os.environ.update(env)
    return ran(name, folder) if folder else printed(name)


def free_port() -> str:
    """A port that nobody listens on."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return str(free.getsockname()[1])
