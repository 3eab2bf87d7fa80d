"""Runs of `verify --fixed`: one at a time, each from a fresh copy at the same path, with what it printed and took."""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import json
import os
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO

from runtime_check import child, fixed_child, fixed_copy, plan, recording
from runtime_check.fixed_copy import Listing
from runtime_check.plan import Plan
from runtime_check.records import RecordError, Run
from runtime_check.reports.units import count
from transferlint.model import Direction

_STARTER = Path(__file__).with_name("fixed_start.py")


class RunError(Exception):
    """Why a run can not be had; one line."""


@dataclasses.dataclass(frozen=True, slots=True)
class Ran:
    """One run. `out` is its standard output, `files` what it wrote or changed in the project, by a hash of the content;
    `whole` is the wall time of its process in nanoseconds; `step` the median time of a step (0 where there were fewer
    than two). `blocked` is how long the host was kept, by the model or a clock, where the run was recorded
    (`crossed`: how many transfers and syncs, by direction; `steps`: how many steps; `model`: whose model it is)."""

    level: str
    code: int
    out: str
    err: str
    whole: int
    step: float = 0.0
    steps: int = 0
    blocked: int = 0
    crossed: Mapping[str, int] = dataclasses.field(default_factory=dict)
    device: str = ""
    model: str = ""
    files: Mapping[str, str] = dataclasses.field(default_factory=dict)
    strangers: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True, slots=True)
class Place:
    """Where runs happen: `home` is a temporary folder, `listed` what the project is made of, `here` the current folder
    and `words` the program and its arguments as they were given."""

    home: Path
    listed: Listing
    here: Path
    words: tuple[str, ...]
    module: bool
    level: str = "auto"
    steps: tuple[int, int] = (0, -1)
    warmup: int = 0
    device_model: str = ""

    @property
    def copy(self) -> Path:
        """The folder that every run finds the project in."""
        return self.home / "run" / self.listed.root.name

    def mapped(self, path: Path) -> Path:
        """The copy's path for one in the project; others stay."""
        whole = Path(os.path.abspath(self.here / path))
        if not whole.is_relative_to(self.listed.root):
            return path
        return self.copy / whole.relative_to(self.listed.root)


def run(place: Place, source: Path, level: str, with_files: bool) -> Ran:
    """Run the program once with the files of `source`. Raises RunError and CopyError."""
    shutil.rmtree(place.copy, ignore_errors=True)
    fixed_copy.make(place.listed, place.copy, source)
    folder = place.home / "records"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    words = _words(place)
    asked = Plan(
        words, place.module, str(folder), level, (), place.steps, place.warmup, 0, 1, str(place.copy), "",
        device_model=place.device_model,
    )  # fmt: skip
    plan.write(folder, "plan-0", asked)
    command = [*child.interpreter(), str(_STARTER), str(folder), str(place.listed.root)]
    with open(place.home / "out", "w+b") as out, open(place.home / "err", "w+b") as err:
        began = time.perf_counter_ns()
        code = subprocess.run(
            command, cwd=_cwd(place), env=_environment(place), stdin=subprocess.DEVNULL, stdout=out, stderr=err,
            check=False,
        ).returncode  # fmt: skip
        whole = time.perf_counter_ns() - began
        printed, said = _text(out), _text(err)
    status = plan.read_status(folder)
    if status.refused:
        raise RunError(status.refused)
    if not status.torch:
        said = f", and said: {' '.join(last)}" if (last := said.strip().splitlines()[-1:]) else ""
        how = f"ended with exit code {code} before it imported torch{said}" if code else "did not import torch"
        raise RunError(f"the program {how}: there was nothing to compare")
    files = written(place, source) if with_files else {}
    answer = _answer(folder)
    step = statistics.median(answer.steps) if answer.steps else 0.0
    ran = Ran(
        status.level, code, printed, said, whole, step, len(answer.steps), files=files, strangers=answer.strangers
    )  # fmt: skip
    return ran if level == fixed_child.TIME else _with_records(ran, folder)


def written(place: Place, source: Path) -> dict[str, str]:
    """What the last run wrote: path in the project to a hash, "(gone)" for files that it removed."""
    linked = {place.copy / name for name in place.listed.links}
    found: dict[str, str] = {}
    for path in sorted(place.copy.rglob("*")):
        inside = path.relative_to(place.copy)
        if path.is_symlink() or not path.is_file() or "__pycache__" in inside.parts or linked & set(path.parents):
            continue
        data = path.read_bytes()
        before = source / inside
        if not before.is_file() or before.read_bytes() != data:
            found[inside.as_posix()] = hashlib.sha256(data).hexdigest()[:16]
    gone = [name for name in place.listed.files if not (place.copy / name).exists()]
    return found | dict.fromkeys(gone, "(gone)")


def _with_records(ran: Ran, folder: Path) -> Ran:
    try:
        whole: Run = recording.read_folder(folder).whole
    except RecordError as error:
        if ran.code:
            return ran
        raise RunError(str(error)) from None
    crossing = [one for one in whole.sites if one.crossed]
    crossed = {
        "h2d": sum(one.count for one in crossing if one.direction is Direction.H2D),
        "d2h": sum(one.count for one in crossing if one.direction is Direction.D2H),
        "waits": sum(one.count for one in crossing if one.sync),
    }
    steps = whole.outcome.steps if whole.outcome else 0
    blocked = sum(one.blocked.total for one in crossing)
    return dataclasses.replace(
        ran, steps=steps, step=blocked / steps if steps else 0.0, blocked=blocked, crossed=crossed,
        device=whole.header.device, model=whole.header.model,
    )  # fmt: skip


def _words(place: Place) -> tuple[str, ...]:
    """The command with the copy's paths: the script's, and those arguments' that are absolute and in the project."""
    first, *rest = place.words
    if not place.module and not _inside(place):
        first = str(place.mapped(Path(first)))
    root = str(place.listed.root)
    return (
        first, *(str(place.mapped(Path(word))) if word.startswith(root + os.sep) else word for word in rest)
    )  # fmt: skip


def _inside(place: Place) -> bool:
    return place.here.is_relative_to(place.listed.root) and not os.path.isabs(place.words[0])


def _cwd(place: Place) -> Path:
    return place.mapped(place.here)


def _environment(place: Place) -> dict[str, str]:
    """The project may be installed in place: its folders on the import path are put before, as the copy's."""
    given = os.environ.get("PYTHONPATH", "")
    paths = [Path(one) for one in (*given.split(os.pathsep), *sys.path) if one and os.path.isdir(one)]
    inside = [
        place.mapped(one)
        for one in paths
        if Path(os.path.abspath(one)).is_relative_to(place.listed.root) and "site-packages" not in one.parts
    ]
    sources = [place.copy / "src"] if (place.listed.root / "src").is_dir() else []
    ours = {os.path.realpath(Path(__file__).parents[1])}  # runs must find this package where this process did
    kept = [str(one) for one in (*inside, *sources) if os.path.realpath(one) not in ours]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(dict.fromkeys((*kept, *filter(None, [given]))))}


@dataclasses.dataclass(frozen=True, slots=True)
class _Answer:
    """What a run's process left: the times of its steps, and the modules that came from elsewhere than the copy."""

    steps: tuple[int, ...] = ()
    strangers: tuple[str, ...] = ()


def _answer(folder: Path) -> _Answer:
    with contextlib.suppress(OSError, ValueError, KeyError):
        answer = json.loads((folder / fixed_child.ANSWER).read_text(encoding="utf-8"))
        return _Answer(tuple(answer["steps"]), tuple(answer["strangers"]))
    return _Answer()


def _text(stream: IO[bytes]) -> str:
    stream.seek(0)
    return stream.read().decode(errors="replace")


def alternately(
    place: Place, sources: Sequence[tuple[str, Path]], rounds: int, with_files: bool, tell: Callable[[str], None]
) -> dict[str, list[Ran]]:
    """Every source's program in turn, round after round: first one recorded run of each where there is an accelerator,
    which decides the level of the others. Raises RunError and CopyError."""
    recorded = {name: [run(place, source, place.level, with_files)] for name, source in sources}
    simulated = any(one.level == "simulate" for ran in recorded.values() for one in ran)
    level = "simulate" if simulated else fixed_child.TIME
    by = next((f" by {one.model}" for ran in recorded.values() for one in ran if one.model), "")
    tell(f"{f'modelled{by}' if simulated else 'measured'} times; {count(rounds, 'round')} of {len(sources)} runs")
    timed: dict[str, list[Ran]] = {name: list(recorded[name]) if simulated else [] for name, _ in sources}
    for number in range(rounds - simulated):
        order = sources if number % 2 else sources[::-1]  # what the first of two leaves warm helps each as often
        for name, source in order:
            timed[name].append(run(place, source, level, with_files))
    if simulated:
        return timed
    return {name: [_joined(recorded[name][0], one) for one in runs] for name, runs in timed.items()}


def again(place: Place, source: Path, ran: Ran, with_files: bool) -> Ran:
    """One more run of a program that ran before. Raises RunError and CopyError."""
    return run(place, source, "simulate" if ran.level == "simulate" else fixed_child.TIME, with_files)


def _joined(recorded: Ran, timed: Ran) -> Ran:
    """A timed run with what the recorded one crossed."""
    return dataclasses.replace(
        timed, crossed=recorded.crossed, blocked=recorded.blocked, device=recorded.device, level=recorded.level
    )
