"""What `check` does with its options: run, render, write, and the exit code."""

from __future__ import annotations

import collections
import dataclasses
import os
import sys
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import click

from transferlint import late, registry
from transferlint.cache import packs as installed_packs
from transferlint.cache import places, pruning
from transferlint.cache.runs import News
from transferlint.cli import keeping, output, rendering
from transferlint.cli.cards import card
from transferlint.cli.check_options import CheckOptions
from transferlint.cli.codes import FAILED, FOUND
from transferlint.cli.merging import nearest
from transferlint.cli.progress import NoProgress, TerminalProgress
from transferlint.engine import checking
from transferlint.engine.checking import Result
from transferlint.engine.pipeline import Plan
from transferlint.engine.scopes import Scopes
from transferlint.model import Finding
from transferlint.registry import Registry
from transferlint.reporters import order, parts
from transferlint.reporters.report import Problem, Report, count, tallies
from transferlint.settings.formats import usual_order
from transferlint.settings.loading import Settings, SettingsError, as_table
from transferlint.sources.discovery import discover
from transferlint.sources.nearest import Nearest
from transferlint.sources.shards import weight
from transferlint.version import version

if TYPE_CHECKING:
    from transferlint.sources.changes import Changes


def run_check(
    options: CheckOptions, environment: Mapping[str, str], given: Sequence[str] = (), news: News | None = None
) -> int:
    """Do what the options ask and return the exit code; `given` are the arguments of the command line, `news` is what
    changed since they were given last."""
    _refuse_contradictions(options)
    if options.watch:
        from transferlint.cli import watching

        return watching.watch(options.paths or (".",), lambda: _run_once(options, environment))
    return _run_once(options, environment, given, news)


def _run_once(
    options: CheckOptions, environment: Mapping[str, str], given: Sequence[str] = (), news: News | None = None
) -> int:
    began, started = time.time_ns(), time.monotonic()
    try:
        near = nearest({field.name: getattr(options, field.name) for field in dataclasses.fields(options)})
    except SettingsError as error:
        output.complain(error)
        return FAILED
    if options.show_settings:
        output.show_data(as_table(near.top))
        return 0
    if options.show_files:
        return _show_files(options, near)
    settings = near.top
    kept = _cache(options, environment)
    packs = registry.load(installed_packs.installed(kept, registry.entry_points), settings.rules)
    try:
        if not packs.rules:
            raise SettingsError(" ".join(packs.refused) or "no rule pack is installed: reinstall transferlint")
        if options.write_baseline and not settings.baseline:
            raise SettingsError("--write-baseline: name the file with --baseline FILE, or `baseline` in the settings")
        since = _since(options)
        plan = _plan(options, settings, packs, kept, since)
        if options.shard is not None and plan.changes and plan.write:
            raise SettingsError("--shard and --fix exclude each other: no part sees what the others write; try --diff")
    except SettingsError as error:
        for line in (*near.troubles, error):
            output.complain(line)
        return FAILED
    scopes = Scopes(near, plan, lambda other: _plan(options, other, packs, kept, since))
    if options.paths == ("-",):
        return _check_stdin(options, scopes, packs, environment)
    run = keeping.Run(given, began, kept) if kept and given and _only_reports(options, plan) else None
    if run is not None and news is not None:
        from transferlint.cli import resumed

        code = resumed.go_on(run, news, options, settings, plan, environment)
        if code is not None:
            pruning.prune(kept)
            return code
    with TerminalProgress() if _shows_progress(options) else NoProgress() as progress:
        result = checking.check_paths(options.paths or (".",), settings, plan, progress, scopes, options.shard)
    if kept:
        pruning.prune(kept)
    if options.verbose:
        _say_what_it_rests_on(near, plan, packs, kept, result, time.monotonic() - started)
    if options.write_baseline:
        return _write_baseline(options, scopes, packs, result)
    return _report(options, near, packs, result, environment, run=run)


def _only_reports(options: CheckOptions, plan: Plan) -> bool:
    """Whether all that a run leaves is its report on standard output, and that rests on files and settings alone."""
    beside = options.output_file or options.diff or options.fix_only or options.verbose or options.show_fixes
    return not (plan.changes or beside or options.diff_base)  # what changed since a revision, git alone knows


def _since(options: CheckOptions) -> Changes | None:
    """What changed since the revision that was named. Raises SettingsError."""
    if options.diff_base is None:
        return None
    from transferlint.sources import changes

    paths = [options.stdin_filename or "." if path == "-" else path for path in options.paths or (".",)]
    return changes.since(options.diff_base, [path for path in paths if os.path.exists(path)] or ["."])


def _plan(options: CheckOptions, settings: Settings, packs: Registry, kept: str, since: Changes | None) -> Plan:
    """The plan of files for which these settings hold. Raises SettingsError."""
    known = None
    if settings.baseline and not options.write_baseline:
        from transferlint.suppressions import baseline

        known = baseline.read(settings.baseline)
    silence = (options.reason or "") if options.add_ignore else None
    plan = checking.plan_for(settings, packs, not options.write_baseline, options.diff, silence, known, kept)
    return late.replace(plan, quiet=options.quiet_sites, front_end=options.front_end or "", since=since)


def _cache(options: CheckOptions, environment: Mapping[str, str]) -> str:
    """The folder of kept programs, "" for none."""
    if options.no_cache or options.front_end:  # what is kept may come from either front end
        return ""
    where = places.folder(environment)
    paths = [options.stdin_filename or "." if path == "-" else path for path in options.paths or (".",)]
    why = places.unfit(where, paths)
    if why and not options.quiet:
        output.complain(f"the cache in {os.path.dirname(where)} is not used: {why}")
    return "" if why else where


def _check_stdin(options: CheckOptions, scopes: Scopes, packs: Registry, environment: Mapping[str, str]) -> int:
    """With --fix standard output is the fixed text, whatever happened, and the report goes to standard error."""
    if sys.stdin is None:
        output.complain("standard input is closed: there is nothing to check")
        return FAILED
    data = sys.stdin.buffer.read()
    plan = scopes.plans[0]
    result, outcome = checking.check_stdin(options.stdin_filename or "-", data, scopes.nearest.top, plan, scopes)
    fixing = plan.changes and not options.diff
    if fixing:
        output.write_bytes(outcome.data or data)
    return _report(options, scopes.nearest, packs, result, environment, err=fixing)


def _refuse_contradictions(options: CheckOptions) -> None:
    """Raises UsageError for options that cannot be together."""
    if "-" in options.paths and len(options.paths) > 1:
        raise click.UsageError("`-` reads standard input and stands alone")
    if options.write_baseline:
        others = {"-": options.paths == ("-",), "--fix": bool(options.fix), "--add-ignore": options.add_ignore}
        others.update({"--fix-only": options.fix_only, "--diff": options.diff})
        for name in (name for name, given in others.items() if given):
            raise click.UsageError(f"--write-baseline and {name} exclude each other")
    if options.add_ignore and (options.fix or options.fix_only):
        raise click.UsageError("--add-ignore and --fix exclude each other: fix first, then suppress what remains")
    if options.quiet and options.verbose:
        raise click.UsageError("--quiet and --verbose exclude each other")
    if options.watch and ("-" in options.paths or options.diff or options.write_baseline):
        raise click.UsageError("--watch goes with neither `-`, --diff nor --write-baseline")
    if options.shard is not None and ("-" in options.paths or options.watch or options.write_baseline):
        raise click.UsageError("--shard goes with neither `-`, --watch nor --write-baseline")
    if options.diff_base is not None and options.write_baseline:
        raise click.UsageError("--write-baseline and --diff-base exclude each other: a baseline knows everything")
    if options.reason is not None:
        from transferlint.suppressions.silencing import reason_fault

        fault = "it is given without --add-ignore" if not options.add_ignore else reason_fault(options.reason)
        if fault:
            raise click.UsageError(f"--reason: {fault}")


def _write_baseline(options: CheckOptions, scopes: Scopes, packs: Registry, result: Result) -> int:
    """Write all that was found, each finding to the baseline that its file's settings name; what could not be checked
    is said, and is in none."""
    from transferlint.suppressions import baseline

    problems = _said(packs, result)
    found: dict[str, list[Finding]] = {scopes.nearest.top.baseline: []}
    for finding in result.findings:
        found.setdefault(scopes.nearest.of(finding.site.path).baseline, []).append(finding)
    for path, findings in found.items():
        if not path:
            where = ", ".join(sorted({scopes.nearest.of(finding.site.path).source for finding in findings}))
            problems.append(Problem("", f"{count(len(findings), 'finding')} not written: no `baseline` in {where}"))
            output.complain(problems[-1].message)
            continue
        settings = scopes.nearest.of(findings[0].site.path) if findings else scopes.nearest.top
        text = baseline.render(findings, path, settings.min_confidence, settings.context, settings.min_frequency)
        if not output.write(text, path):
            return FAILED
        if not options.quiet:
            output.show([f"Wrote {count(len(findings), 'finding')} to {path}."])
    return FAILED if problems else 0


def _said(packs: Registry, result: Result) -> list[Problem]:
    """Print notes and problems to standard error; the problems."""
    problems = [Problem("", line) for line in packs.refused]
    problems += [Problem(trouble.path, trouble.message) for trouble in result.troubles]
    for note in result.notes:
        output.complain(note)
    for problem in problems:
        place = f"{problem.path}: " if problem.path else ""
        output.complain(f"{place}{problem.message}")
    return problems


def _show_files(options: CheckOptions, near: Nearest) -> int:
    found = discover(options.paths or (".",), near)
    paths = [target.path for target in found.targets]
    output.show(paths if options.shard is None else options.shard.of(paths, list(map(weight, paths))))
    for trouble in (*filter(None, [found.note]), *found.troubles, *near.troubles):
        output.complain(trouble)
    return FAILED if found.troubles or near.troubles else 0


def _shows_progress(options: CheckOptions) -> bool:
    return sys.stderr is not None and sys.stderr.isatty() and not options.quiet


def _report(
    options: CheckOptions,
    near: Nearest,
    packs: Registry,
    result: Result,
    environment: Mapping[str, str],
    err: bool = False,
    run: keeping.Run | None = None,
) -> int:
    """Write everything where it belongs, and decide the exit code. `err`: the report goes to standard error; `run`: it
    is kept for that run where all went well."""
    settings = near.top
    problems = _said(packs, result)
    failed = bool(problems)
    found = False
    if options.diff:
        failed |= not output.write_diff("".join(result.diffs), options.output_file)
        if not options.quiet:
            verb, done = ("suppress", result.silenced) if options.add_ignore else ("fix", result.fixed)
            output.remark(f"Would {verb} {count(len(done), 'finding')} in {count(result.changed, 'file')}.")
        found = bool(result.changed)
    elif options.fix_only:
        if not options.quiet:
            output.remark(f"Fixed {count(len(result.fixed), 'finding')} in {count(result.changed, 'file')}.")
            output.remark(tallies(result.fixed, result.findings))
    else:
        report = _as_report(result, settings, packs, problems, options)
        coloured = output.coloured(options.color, options.output_file, environment, sys.stderr if err else sys.stdout)
        look = rendering.look(options, settings, coloured)
        said = rendering.in_parts(report, look) if look is not None else []
        if look is not None:
            content = parts.joined((part for _, part in said), report, look, options.quiet)
        else:
            content = rendering.whole(report, options, settings, coloured)
        failed |= not output.write(content, options.output_file, coloured, err)
        found = bool(result.findings)
        if run is not None and not problems and not (coloured and os.name == "nt"):  # where colours are no text
            code = FOUND if found and not options.exit_zero else 0
            words = content, "".join(map(output.complaint, result.notes)), code
            kept = keeping.keep(run, near, packs, options.paths or (".",), environment, result, words)
            if kept is not None and look is not None:
                from transferlint.cli import resumed

                resumed.leave(run, kept, near.listed, result, dict(said))
    if options.show_fixes and not options.diff:
        output.remark(_fixes(result))
    found |= options.exit_non_zero_on_fix and bool(result.fixed) and not options.diff
    return FAILED if failed else FOUND if found and not options.exit_zero else 0


def _fixes(result: Result) -> str:
    """What was fixed, file by file."""
    counts = collections.Counter((one.site.path, one.code, one.name) for one in result.fixed)
    lines = [f"Fixed {count(len(result.fixed), 'finding')}:"] if counts else []
    shown = ""
    for (path, code, name), number in sorted(counts.items()):
        if path != shown:
            lines.append(f"- {path}:")
            shown = path
        lines.append(f"    {number} of {code} ({name})")
    return "".join(f"{line}\n" for line in lines)


def _say_what_it_rests_on(
    near: Nearest, plan: Plan, packs: Registry, kept: str, result: Result, seconds: float
) -> None:
    """What decided about the run, on standard error."""
    settings = near.top
    output.complain(f"settings: {settings.source or 'none: what is usual'}")
    for other in sorted({one.source for one in near.used() if one.source != settings.source}):
        output.complain(f"settings: {other}, for what is below it")
    output.complain(f"rules: {len(plan.rules)} of {len(packs.rules)} run")
    output.complain(f"cache: {kept or 'none'}")
    changed = " changed" if plan.since is not None else ""
    output.complain(f"checked: {count(result.files, f'{changed} file'.strip())} in {seconds:.1f} s")


def _as_report(
    result: Result, settings: Settings, packs: Registry, problems: list[Problem], options: CheckOptions
) -> Report:
    findings = result.findings
    if options.statistics or settings.output_format not in parts.FORMS:
        findings = order.ordered(findings, settings.sort or usual_order(settings.output_format))
    return Report(
        findings=findings,
        texts=result.texts,
        files=result.files,
        problems=tuple(problems),
        fixed=result.fixed,
        silenced=result.silenced,
        known=result.known,
        rules=tuple(card(rule) for rule in packs.rules),
        version=version(),
        unsafe=settings.unsafe_fixes,
        root=os.getcwd(),
        quiet=result.quiet if options.quiet_sites else None,
        shard=str(options.shard or ""),
    )
