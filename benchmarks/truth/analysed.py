"""What `transferlint check` says of the files of a package: findings, what is quiet on purpose, and every transfer that
the analysis knows of."""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

_EVERY = Path(__file__).with_name("rules") / "every_transfer.py"
EVERY = "TRUTH001"
SAME = ("same", "beside")  # the parts of evidence that a finding speaks for


@dataclasses.dataclass(frozen=True)
class Spot:
    """A place, (line, column, end line, end column), and what is said of it. `direction` is "h2d", "d2h", "none", or ""
    where it is not said; `evidence`: a finding only names the place."""

    path: str
    site: tuple[int, int, int, int]
    direction: str
    code: str = ""
    kind: str = ""
    reason: str = ""
    evidence: bool = False


@dataclasses.dataclass(frozen=True)
class Fact:
    """A transfer that the analysis knows of: see `rules/every_transfer.py` for the fields."""

    path: str
    site: tuple[int, int, int, int]
    said: dict[str, Any]
    function: str


@dataclasses.dataclass(frozen=True)
class Analysed:
    """Findings (each site that one speaks for by itself, and the lines it names as evidence), quiet sites, facts."""

    findings: tuple[Spot, ...]
    quiet: tuple[Spot, ...]
    facts: tuple[Fact, ...]
    errors: tuple[str, ...]


def analyse(root: Path, files: Sequence[str]) -> Analysed:
    """Check the files, relative to `root`, as one project. Raises RuntimeError where check says nothing."""
    rules = ("--rules", str(_EVERY), "--extend-select", EVERY, "--min-confidence", "possible")
    said = check(root, files, *rules)
    findings, facts = [], []
    for one in said["findings"]:
        if one["code"] == EVERY:
            facts.append(Fact(os.path.normpath(one["path"]), _site(one), json.loads(one["message"]), one["context"]))
        elif one["confidence"] != "possible":  # what check reports where it is not asked for more
            findings.append(_spot(one, one["code"], one["message"]))
            for link in one.get("evidence") or ():
                code = link.get("code", one["code"])
                findings.append(_spot(link, code, link["message"], link["part"] not in SAME))
    reported = {(one.path, one.site) for one in findings if not one.evidence}
    quiet = [
        Spot(one.path, one.site, one.said["direction"], kind=one.said["quiet"], reason=one.said["why"])
        for one in facts
        if one.said["on purpose"] and (one.path, one.site) not in reported
    ]
    errors = tuple(f"{one.get('path', '')}: {one.get('message', '')}" for one in said.get("errors") or ())
    return Analysed(tuple(findings), tuple(quiet), tuple(facts), errors)


def check(root: Path, files: Sequence[str], *options: str) -> dict[str, Any]:
    """What `check -f json` answers with some options. Raises RuntimeError where it says nothing."""
    tool = [sys.executable, "-c", "from transferlint.cli import main; import sys; sys.exit(main())"]
    command = [
        *tool,
        "check",
        "-f",
        "json",
        "--exit-zero",
        "--isolated",
        "--project-root",
        ".",
        "--jobs",
        "1",
        *options,
    ]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    made = subprocess.run(
        [*command, "--", *files], cwd=root, env=environment, capture_output=True, text=True, check=False
    )
    try:
        answer: dict[str, Any] = json.loads(made.stdout)
    except ValueError:
        raise RuntimeError(f"check said nothing of {root}: {made.stderr.strip()[-300:]}") from None
    return answer


def _spot(one: dict[str, Any], code: str, message: str, evidence: bool = False) -> Spot:
    path = os.path.normpath(one["path"])
    return Spot(path, _site(one), "", code, "", message, evidence)


def _site(one: dict[str, Any]) -> tuple[int, int, int, int]:
    return one["line"], one["column"], one["end_line"], one["end_column"]
