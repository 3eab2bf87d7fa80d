"""`verify --trace`: check, read the traces, judge, report; nothing is run."""

from __future__ import annotations

import dataclasses
import datetime
import os
from collections.abc import Sequence
from pathlib import Path

from runtime_check import checking, plan, records
from runtime_check.checking import Checked
from runtime_check.merging import Folder, merge
from runtime_check.plan import Plan
from runtime_check.records import RecordError, Run
from runtime_check.traces import reading
from runtime_check.traces.running import run_of
from runtime_check.traces.sources import Sources


@dataclasses.dataclass(frozen=True, slots=True)
class Asked:
    """`files` are traces, `paths` what is to be checked (empty: the project around the current folder)."""

    files: tuple[Path, ...]
    paths: tuple[Path, ...]
    root: Path

    @property
    def sources(self) -> tuple[Path, ...]:
        """Where the program's own code is looked for."""
        return self.paths or (self.root,)


def asked(words: Sequence[str], root: str | None) -> Asked:
    """What `--trace` is followed by: folders and Python files are to be checked, all else are traces."""
    given = [Path(word) for word in words]
    paths = tuple(one for one in given if one.is_dir() or one.suffix in (".py", ".ipynb"))
    files = tuple(one for one in given if one not in paths)
    start = paths[0] if paths else Path.cwd()
    folder = Path(root).resolve() if root else checking.project_root(start)
    return Asked(files, tuple(one.resolve() for one in paths), folder)


def check(what: Asked, findings: str | None) -> Checked:
    """What `check` says of it, or has said. Raises CheckError."""
    if findings:
        return checking.read(Path(findings), what.root)
    return checking.check_only(what.root, what.paths) if what.paths else checking.check(what.root, [])


def read(what: Asked, checked: Checked, folder: Path) -> Folder:
    """The traces as runs, which are left in the folder as those of programs are. Raises RecordError where none can be
    read, and OSError."""
    sources = Sources(what.sources)
    traces, problems = reading.read_all(what.files, lambda name: sources.function(name) is not None)
    if not traces:
        raise RecordError("\n".join(problems))
    ranks = _ranks([trace.rank for trace in traces])
    runs = [
        run_of(dataclasses.replace(trace, rank=rank, ranks=len(traces)), number, checked.findings, sources)
        for number, (rank, trace) in enumerate(zip(ranks, traces, strict=True))
    ]
    runs[0] = _with_notes(runs[0], tuple(sorted(sources.doubtful.values())))
    for run in runs:
        records.write(folder / f"{run.header.rank}-{run.header.pid}.jsonl", run)
    return Folder(tuple(runs), _whole(merge(runs), [trace.path for trace in traces]), tuple(problems))


def leave(what: Asked, folder: Path, checked: Checked) -> Plan:
    """Make the folder of the run what `report` needs it to be. Raises OSError."""
    folder.mkdir(parents=True, exist_ok=True)
    plan.clear(folder, 0, 1)
    (folder / ".gitignore").write_text("*\n")
    (folder / "findings.json").write_text(checked.text, encoding="utf-8")
    started = datetime.datetime.now(datetime.timezone.utc).isoformat()
    made = Plan(tuple(map(str, what.files)), False, str(folder), root=str(what.root), started=started)
    plan.write(folder, "plan-0", made)
    return made


def _ranks(told: list[int]) -> list[int]:
    """What the traces say, where they tell them apart; else their order."""
    return told if len(set(told)) == len(told) else list(range(len(told)))


def _with_notes(run: Run, notes: tuple[str, ...]) -> Run:
    return dataclasses.replace(run, header=dataclasses.replace(run.header, notes=(*run.header.notes, *notes)))


def _whole(run: Run, paths: Sequence[str]) -> Run:
    names = [os.path.basename(path) for path in paths]
    shown = tuple(names if len(names) < 4 else [names[0], f"and {len(names) - 1} more"])
    header = dataclasses.replace(run.header, program=shown)
    return dataclasses.replace(run, header=header)
