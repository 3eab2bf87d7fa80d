"""`verify`: check, run, judge, report; and `report`, which does the last two again."""

from __future__ import annotations

import dataclasses
import datetime
import os
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import click

from runtime_check import budgets, checking, child, claims, cost, launch, plan, program, recording, verdicts
from runtime_check.budgets import Budget, BudgetError
from runtime_check.checking import Checked, CheckError
from runtime_check.plan import Plan
from runtime_check.records import Outcome, RecordError, Run
from runtime_check.reports import shown as parts
from runtime_check.reports.shown import Shown
from runtime_check.reports.source import own_path
from runtime_check.reports.units import count
from runtime_check.verdicts import Judgement
from transferlint import escaping
from transferlint.files import atomic

FAILED, REFUSED = 1, 2
_FINDINGS = "findings.json"
_WAIT = 20.0  # seconds for the other ranks of this machine to end, after rank 0


@dataclasses.dataclass(frozen=True, slots=True)
class Options:
    """The options of `verify`, as its help explains them."""

    program: tuple[str, ...]
    module: bool
    level: str
    device_model: str
    findings: str | None
    root: str | None
    steps: tuple[int, int]
    warmup: int
    fail_on: tuple[str, ...]
    max_blocked: str | None
    max_per_step: tuple[str, ...]
    baseline: str | None
    folder: str
    html: bool
    lines: bool
    color: bool | None
    quiet: bool
    guard: str | None = None


class _Refusal(Exception):
    """Why what was asked cannot be done, in one line."""


def verify(options: Options, environment: Mapping[str, str] = os.environ) -> int:
    """Run the program and report; the exit code is the program's where it is not 0, see the command's help. Where a
    signal ended the program, it ends this process too."""
    try:
        budget = _budget(options)
        asked, checked = _prepare(options, environment)
        if not options.quiet and asked.rank == 0:
            _say(_beginning(asked, checked))
        code = child.run(launch.command(child.interpreter(), asked.folder, asked.rank))
        status = plan.read_status(asked.folder, asked.rank)
        if status.refused:
            raise _Refusal(status.refused)
        if asked.rank != 0:
            return child.end_as(code)
        if not (status.torch or status.jax):
            _say("transferlint: the program imported neither torch nor JAX, so there was nothing to record")
            return child.end_as(code) if code else REFUSED
        _await_ranks(asked, environment)
        failed = _conclude(options, budget, asked, checked, code)
    except (_Refusal, CheckError, BudgetError, RecordError) as error:
        _say(f"transferlint: {error}")
        return REFUSED
    return child.end_as(code) if code else failed


def verify_trace(options: Options) -> int:
    """Judge what somebody's traces hold, and report; the exit code as of `verify`, without a program's."""
    from runtime_check.traces import command

    what = command.asked(options.program, options.root)
    folder = Path(options.folder).resolve()
    try:
        if not what.files:
            raise _Refusal("--trace: name a trace: transferlint verify --trace FILE... [PATH...]")
        budget = _budget(options)
        checked = command.check(what, options.findings)
        asked = command.leave(what, folder, checked)
        read = command.read(what, checked, folder)
        return _conclude(options, budget, asked, checked, 0, read)
    except (_Refusal, CheckError, BudgetError, RecordError) as error:
        for line in str(error).splitlines():
            _say(f"transferlint: {line}")
    except OSError as error:
        _say(f"transferlint: {folder}: cannot be written: {(error.strerror or str(error)).lower()}")
    return REFUSED


def report(run: str, form: str, output: str | None, color: bool | None) -> int:
    """Show a run that is in a folder, or one file of it."""
    if color is None:
        color = output is None and sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    try:
        text = _trace(Path(run)) if form == "perfetto" else _rendered(_recorded(Path(run)), form, bool(color))
    except (RecordError, CheckError) as error:
        _say(f"transferlint: {error}")
        return REFUSED
    if output is None:
        click.echo(text, nl=False, color=color)
        return 0
    return 0 if _written(Path(output), text) else REFUSED


def _budget(options: Options) -> Budget:
    blocked = budgets.parse_blocked(options.max_blocked) if options.max_blocked else Budget()
    fail_on = budgets.parse_fail_on(options.fail_on)
    return dataclasses.replace(blocked, per_step=budgets.parse_per_step(options.max_per_step), fail_on=fail_on)


def _prepare(options: Options, environment: Mapping[str, str]) -> tuple[Plan, Checked]:
    """Check the program's code, and leave the plan in the folder of the run. Raises _Refusal and CheckError."""
    wanted = program.Program(options.program, options.module)
    _known_model(options.device_model)
    if refusal := program.refusal(wanted):
        raise _Refusal(refusal)
    rank, ranks = _number(environment, "RANK", 0), _number(environment, "WORLD_SIZE", 1)
    script = Path.cwd() if options.module else Path(options.program[0])
    root = Path(options.root).resolve() if options.root else checking.project_root(script)
    folder = Path(options.folder).resolve()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        plan.clear(folder, rank, ranks)
        (folder / ".gitignore").write_text("*\n")
        checked = Checked("", ())
        if rank == 0:  # the lines that one rank ran stand for all
            checked = _checked(options, root, script)
            (folder / _FINDINGS).write_text(checked.text, encoding="utf-8")
        sites = tuple(dict.fromkeys(site for one in checked.findings for site in claims.sites(one)))
        started = datetime.datetime.now(datetime.timezone.utc).isoformat()
        asked = Plan(
            options.program, options.module, str(folder), options.level, sites, options.steps, options.warmup, rank,
            ranks, str(root), started, options.lines, options.device_model, options.guard or "",
        )  # fmt: skip
        plan.write(folder, f"plan-{rank}", asked)
    except OSError as error:
        raise _Refusal(f"{folder}: cannot be written: {(error.strerror or str(error)).lower()}") from None
    return asked, checked


def _known_model(name: str) -> None:
    """Raise _Refusal where a device has no model."""
    try:
        cost.named(name or cost.DEFAULT)
    except cost.CostError as error:
        raise _Refusal(f"--device-model: {error}" if name else str(error)) from None


def _number(environment: Mapping[str, str], name: str, default: int) -> int:
    """A number that a launcher left in the environment."""
    text = environment.get(name, "")
    return int(text) if text.isdecimal() else default


def _checked(options: Options, root: Path, script: Path) -> Checked:
    if options.findings:
        return checking.read(Path(options.findings), root)
    whole = bool(options.root) or checking.is_project(root)
    return checking.check(root, [] if options.module else [script], options.program[0], whole)


def _beginning(asked: Plan, checked: Checked) -> str:
    found = count(len(checked.findings), "finding")
    where = f" in {count(checked.files, 'file')}" if checked.files else ""
    words = " ".join((*(("-m",) if asked.module else ()), *asked.program))
    return f"transferlint: {found}{where} of {os.path.relpath(asked.root)} to verify; running {words}"


def _await_ranks(asked: Plan, environment: Mapping[str, str]) -> None:
    """Wait for the ranks that run on this machine to have written what they recorded; not for ever."""
    local = _number(environment, "LOCAL_WORLD_SIZE", 1)
    end = time.monotonic() + _WAIT
    while time.monotonic() < end and not all(
        plan.read_status(asked.folder, rank).ended for rank in range(1, min(local, asked.ranks))
    ):
        time.sleep(0.1)


def _conclude(
    options: Options, budget: Budget, asked: Plan, checked: Checked, code: int, read: recording.Folder | None = None
) -> int:
    """Judge, write the reports and print one. The exit code where the program's is 0. `read` is what was recorded,
    where it does not have to be read from the folder."""
    read = read or recording.read_folder(asked.folder)
    run, outcome = read.whole, read.whole.outcome or Outcome()
    if code and not outcome.status:  # it could not say so itself
        run = dataclasses.replace(run, outcome=dataclasses.replace(outcome, status=code))
    now = checking.further(checked, Path(asked.root), {own_path(record) for record in run.sites if record.crossed})
    if now is not checked:
        checked = now
        _written(Path(asked.folder) / _FINDINGS, checked.text)
    problems = (*read.problems, *checked.problems)
    judgement = verdicts.judge(checked.findings, run, root=asked.root, quiet=checked.quiet)
    failures: list[str] = []
    try:
        failures += budgets.breaches(budget, run, judgement)
        if options.baseline and not code:
            failures += _ratchet(Path(options.baseline), run, judgement, asked.root)
    except BudgetError as error:
        problems = (*problems, str(error))
        unjudged = True
    else:
        unjudged = False
    shown = parts.of(run, judgement, os.getcwd(), failures=tuple(failures), problems=problems, version=_version())
    folder = Path(asked.folder)
    written = _written(folder / "report.json", _rendered(shown, "json", False))
    if options.html:
        written &= _written(folder / "report.html", _rendered(shown, "html", False))
    color = options.color
    if color is None:
        color = sys.stderr.isatty() and not os.environ.get("NO_COLOR")
    from runtime_check.reports import terminal

    sys.stdout.flush()
    click.echo(terminal.render(shown, bool(color), options.quiet), nl=False, err=True, color=color)
    if options.html and not options.quiet:
        _say(f"{shown.path(str(folder / 'report.html'))} shows it beside the source")
    return REFUSED if unjudged or not written else FAILED if failures else 0


def _ratchet(path: Path, run: Run, judgement: Judgement, root: str) -> tuple[str, ...]:
    """Hold the run against the baseline, which takes over what is better; a first run makes it. Raises BudgetError."""
    now = budgets.baseline_of(run, judgement, root)
    try:
        if not path.exists():
            budgets.write_baseline(path, now)
            _say(f"transferlint: {path}: made, as the baseline of later runs")
            return ()
        old = budgets.read_baseline(path)
        worse, kept = budgets.compare(old, now)
        if kept != old and not worse:
            budgets.write_baseline(path, kept)
        return worse
    except OSError as error:
        raise BudgetError(f"{path}: {(error.strerror or str(error)).lower()}") from None


def _recorded(place: Path) -> Shown:
    """A run as it was left: judged again where its folder holds what `check` said."""
    read = recording.read_folder(place)
    folder = place if place.is_dir() else place.parent
    try:
        root = plan.read_plan(folder).root
        checked = checking.parse((folder / _FINDINGS).read_text(encoding="utf-8"), Path(root), str(folder / _FINDINGS))
    except (OSError, ValueError):  # records that something other than `verify` made
        root, checked = "", Checked("", ())
    judgement = verdicts.judge(checked.findings, read.whole, root=root, quiet=checked.quiet)
    return parts.of(read.whole, judgement, os.getcwd(), problems=read.problems, version=_version())


def _trace(place: Path) -> str:
    """The run as a trace for Perfetto, of each process by itself."""
    from runtime_check.reports import perfetto

    return perfetto.render(recording.read_folder(place).runs, place if place.is_dir() else place.parent)


def _rendered(shown: Shown, form: str, color: bool) -> str:
    if form == "json":
        from runtime_check.reports import json

        return json.render(shown)
    if form == "html":
        from runtime_check.reports import html

        return html.render(shown)
    from runtime_check.reports import terminal

    return terminal.render(shown, color)


def _written(path: Path, text: str) -> bool:
    """Write a file whole, or leave what was there; what is no file (a pipe, a device) is written to."""
    data = text.encode("utf-8", "backslashreplace")
    try:
        if path.exists() and not path.is_file():
            path.write_bytes(data)
        else:
            atomic.write(path, data, None)
    except OSError as error:
        why = error.message if isinstance(error, atomic.WriteError) else f"not written: {error.strerror or error}"
        _say(f"transferlint: {path}: {why}")
        return False
    return True


def _version() -> str:
    from importlib import metadata

    try:
        return metadata.version("transferlint")
    except metadata.PackageNotFoundError:
        return "0"


def _say(line: str) -> None:
    click.echo(escaping.line(line), err=True)
