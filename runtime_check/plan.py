"""What `verify` asks of the process that runs the program, and what that process answers: two small JSON files in the
folder of the run, one of each for every rank."""

from __future__ import annotations

import dataclasses
import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from transferlint.model import Site

POLICIES = ("allow", "log", "disallow", "log_explicit", "disallow_explicit")  # those of `jax.transfer_guard`
LEVELS = ("auto", "guard", "trace", "profile", "simulate")
_OURS = re.compile(r"(?P<rank>[0-9]+)-[0-9-]+\.(jsonl|new)|(plan|status|profile)-(?P<of>[0-9]+)(-[0-9]+)?\.json")


@dataclasses.dataclass(frozen=True, slots=True)
class Plan:
    """How to run `program` (SCRIPT or MODULE, as `module` says, and its arguments) and what to record of it.

    `folder` is absolute and holds everything that the run leaves; `sites` are those of the findings; `steps` is the
    window [first, end) of steps to record, an end of -1 for no end; the first `warmup` steps are not counted. `lines`:
    how often each line below `root` ran is counted, too. `device_model` names whose model of costs a simulated device
    takes ("": the default). `guard` is the policy that transfers are held to while the program runs ("": none).
    """

    program: tuple[str, ...]
    module: bool
    folder: str
    level: str = "auto"
    sites: tuple[Site, ...] = ()
    steps: tuple[int, int] = (0, -1)
    warmup: int = 0
    rank: int = 0
    ranks: int = 1
    root: str = ""
    started: str = ""
    lines: bool = False
    device_model: str = ""
    guard: str = ""


@dataclasses.dataclass(frozen=True, slots=True)
class Status:
    """What became of a plan. `refused` is the one line that says why it could not be done, "" where it could; `torch`
    and `jax` say that the program imported them and that they are recorded (without either there is nothing to record);
    `ended` that it ran to its end."""

    refused: str = ""
    level: str = ""
    torch: bool = False
    ended: bool = False
    jax: bool = False


def write(folder: str | Path, name: str, value: Plan | Status) -> None:
    """Write it as `NAME.json`, whole or not at all: the process may be killed at any time. Raises OSError."""
    path = Path(folder) / f"{name}.json"
    beside = path.with_suffix(f".{os.getpid()}")
    beside.write_text(json.dumps(dataclasses.asdict(value), indent=1), encoding="utf-8", errors="surrogateescape")
    os.replace(beside, path)


def read_plan(folder: str | Path, rank: int = 0) -> Plan:
    """The plan of a rank. Raises OSError, and ValueError where the file is something else."""
    fields = _fields(Path(folder) / f"plan-{rank}.json", Plan)
    return Plan(
        **{
            **fields,
            "program": tuple(fields["program"]),
            "sites": tuple(Site(**site) for site in fields["sites"]),
            "steps": (fields["steps"][0], fields["steps"][1]),
        }
    )


def read_status(folder: str | Path, rank: int = 0) -> Status:
    """What became of the plan of a rank; the empty status where the process left none."""
    try:
        return Status(**_fields(Path(folder) / f"status-{rank}.json", Status))
    except (OSError, ValueError):
        return Status()


def clear(folder: Path, rank: int, ranks: int) -> None:
    """Remove what an earlier run left in the folder: this rank's files, and by rank 0 those of ranks there are no more
    of. Every rank clears its own, so that none takes away what another has begun. Raises OSError."""
    for path in folder.iterdir():
        found = _OURS.fullmatch(path.name)
        if found:
            owner = int(found["rank"] or found["of"])
            if owner == rank or (rank == 0 and owner >= ranks):
                path.unlink(missing_ok=True)


def _fields(path: Path, kind: type[Plan] | type[Status]) -> Mapping[str, Any]:
    """The fields of a file; those that this version does not know are left out."""
    fields = json.loads(path.read_text(encoding="utf-8", errors="surrogateescape"))
    names = {field.name for field in dataclasses.fields(kind)}
    if not isinstance(fields, dict) or (kind is Plan and not {"program", "sites", "steps"} <= fields.keys()):
        raise ValueError(f"{path}: not a file of transferlint's")
    return {name: value for name, value in fields.items() if name in names}
