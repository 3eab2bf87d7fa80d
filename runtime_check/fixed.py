"""`verify --fixed`: what the fixes of a program are worth, by running it with and without them, alternately.

The project is copied, and the copy fixed with `check --fix`; then both are run from the same temporary path, each time
from a fresh copy, so that no run sees what another wrote. Where there is an accelerator, times are of runs in which
nothing is recorded; on the simulated one they come from the model, and say how long the host was kept.
"""

from __future__ import annotations

import dataclasses
import difflib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from runtime_check import checking, fixed_copy, fixed_outputs, fixed_run, fixed_text, program
from runtime_check.checking import CheckError
from runtime_check.fixed_copy import CopyError, Listing
from runtime_check.fixed_run import Place, Ran, RunError
from transferlint import escaping

DIFFERS, REFUSED = 1, 2


@dataclasses.dataclass(frozen=True, slots=True)
class Options:
    """The options of `verify --fixed`, as the command's help explains them."""

    program: tuple[str, ...]
    module: bool
    level: str
    device_model: str
    root: str | None
    steps: tuple[int, int]
    warmup: int
    folder: str
    quiet: bool
    rounds: int
    unsafe_fixes: bool
    compare_files: bool
    link: tuple[str, ...]


class _Refusal(Exception):
    """Why what was asked cannot be done, in one line."""


def verify_fixed(options: Options, environment: Mapping[str, str] = os.environ) -> int:
    """Copy, fix, run, compare, report. 0 where both programs did the same (or nothing could be fixed), 1 where not, 2
    where it could not be done."""
    try:
        if environment.get("WORLD_SIZE", "1") not in ("", "1"):
            raise _Refusal("--fixed runs a program of one process; leave out the launcher")
        with tempfile.TemporaryDirectory(prefix="transferlint-", ignore_cleanup_errors=True) as home:
            return _compare(options, Path(os.path.realpath(home)))
    except (_Refusal, CheckError, CopyError, RunError) as error:
        _say(f"transferlint: {error}")
        return REFUSED


def _compare(options: Options, home: Path) -> int:
    wanted = program.Program(options.program, options.module)
    if refusal := program.refusal(wanted):
        raise _Refusal(refusal)
    script = Path.cwd() if options.module else Path(options.program[0])
    root = (Path(options.root) if options.root else checking.project_root(script)).resolve()
    if not options.module and not script.resolve().is_relative_to(root):
        raise _Refusal(f"{options.program[0]}: not in {root}, of which copies are made; name its project: --root")
    folder = Path(options.folder).resolve()
    listed = fixed_copy.listing(root, options.link, (folder,))
    sources = [("original", home / "original"), ("fixed", home / "fixed")]
    for _, source in sources:
        fixed_copy.make(listed, source)
    fixed = _fix(sources[1][1], root, options.unsafe_fixes)
    changes = _diff(listed, *(source for _, source in sources))
    if not changes:
        _say(fixed_text.nothing(fixed, options.unsafe_fixes))
        return 0
    if not options.quiet:
        _say(f"transferlint: {fixed_text.fixes(fixed)}; running {' '.join(options.program)} with and without")
    place = Place(
        home, listed, Path.cwd().resolve(), options.program, options.module, options.level, options.steps,
        options.warmup, options.device_model,
    )  # fmt: skip
    before = fixed_copy.states(listed)
    tell = (lambda line: None) if options.quiet else (lambda line: _say(f"transferlint: {line}"))
    runs = fixed_run.alternately(place, sources, options.rounds, options.compare_files, tell)
    compared = fixed_outputs.compare(runs["original"], runs["fixed"], options.compare_files)
    if not compared.same and len(runs["original"]) == 1:  # which does not show what differs from run to run anyway
        again = fixed_run.again(place, sources[0][1], runs["original"][0], options.compare_files)
        compared = fixed_outputs.compare([*runs["original"], again], runs["fixed"], options.compare_files)
    return _conclude(options, folder, fixed, changes, runs, compared, fixed_copy.changed(listed, before), root)


def _conclude(
    options: Options,
    folder: Path,
    fixed: Mapping[str, Any],
    changes: str,
    runs: Mapping[str, Sequence[Ran]],
    compared: fixed_outputs.Compared,
    touched: Sequence[str],
    root: Path,
) -> int:
    result = fixed_text.result(fixed, runs["original"], runs["fixed"], compared)
    notes = [*result["notes"], *(f"{name} is linked, and the program changed the original" for name in touched)]
    strangers = sorted({name for ran in runs["fixed"] for name in ran.strangers})
    if strangers:
        some = ", ".join(strangers[:3])
        notes.append(f"imported from {root} and not from its copy, so run without fixes: {some}; see --root")
    result["notes"] = notes
    _write(folder, result, changes)
    click.echo(fixed_text.render(result, runs, options.quiet), nl=False, err=True)
    if not options.quiet:
        _say(f"what was changed: {os.path.relpath(folder / 'fixed.diff')}")
    return 0 if compared.same else DIFFERS


def _write(folder: Path, result: Mapping[str, Any], changes: str) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / ".gitignore").write_text("*\n")
        (folder / "fixed.json").write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
        (folder / "fixed.diff").write_text(changes, encoding="utf-8", errors="surrogateescape")
    except OSError as error:
        raise _Refusal(f"{folder}: cannot be written: {(error.strerror or str(error)).lower()}") from None


def _fix(copy: Path, root: Path, unsafe: bool) -> dict[str, Any]:
    """Fix a copy in place; the summary of `check`. Raises CheckError."""
    marker = copy / ".git"  # what git ignores is checked only where there is no git
    if (root / ".git").exists():
        marker.mkdir()
    words = ["check", "--fix", *(["--unsafe-fixes"] if unsafe else []), "-f", "json", "--exit-zero", "--no-cache", "."]
    made = subprocess.run(
        [sys.executable, "-c", checking._COMMAND, *words], cwd=copy, stdin=subprocess.DEVNULL, capture_output=True,
        check=False,
    )  # fmt: skip
    if marker.is_dir():
        marker.rmdir()
    try:
        summary: dict[str, Any] = json.loads(made.stdout)["summary"]
    except (ValueError, KeyError):
        said = made.stderr.decode(errors="replace").strip().splitlines()
        raise CheckError(f"{root}: fixing failed: {said[-1] if said else f'exit code {made.returncode}'}") from None
    return summary


def _diff(listed: Listing, original: Path, fixed: Path) -> str:
    """What fixing changed, as a unified diff."""
    found: list[str] = []
    for name in listed.files:
        if not name.endswith((".py", ".pyi")):
            continue
        old, new = ((one / name).read_bytes() for one in (original, fixed))
        if old != new:
            before, after = (side.decode(errors="surrogateescape").splitlines(keepends=True) for side in (old, new))
            found += difflib.unified_diff(before, after, f"a/{name}", f"b/{name}")
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in found)


def _say(line: str) -> None:
    click.echo(escaping.line(line), err=True)
