"""One file, from bytes to findings: decode, parse, lower, analyse, detect, suppress, and fix where that is asked.

`check_file` does all of it in one go. Where files are checked with their project, `steps.py` does it in two, from the
same pieces, between which the project is put together.

Whatever a rule or the analysis raises becomes a trouble of that file; nothing is raised here but KeyboardInterrupt.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from transferlint import late
from transferlint.engine.detecting import detected
from transferlint.engine.plan import UNPARSABLE, Checked, Outcome, Plan, internal
from transferlint.files.screen import worth_analysing
from transferlint.model import Finding, Site
from transferlint.settings import selection
from transferlint.sources.discovery import Target, Trouble

__all__ = ["Outcome", "Plan", "check_bytes", "check_file", "check_text"]

if TYPE_CHECKING:
    from transferlint.flow.facts import FileFacts
    from transferlint.flow.project import Project
    from transferlint.syntax.program import Program
    from transferlint.syntax.source import Source, SourceError


def check_file(target: Target, plan: Plan, ignored: tuple[str, ...] = ()) -> Outcome:
    """Read and check a file; `ignored` are the selectors that do not count in it. Nothing is written."""
    data = read_worth(target)
    return data if isinstance(data, Outcome) else check_bytes(target.path, data, plan, ignored)


def check_bytes(path: str, data: bytes, plan: Plan, ignored: tuple[str, ...] = ()) -> Outcome:
    """Check a file whose bytes are at hand, whatever is in them, and fix it where the plan says so."""
    from transferlint.syntax.source import SourceError, decode

    text = ""
    try:
        source = decode(path, data)
        text = source.text
        return finished(source, data, check_text(path, text, plan, ignored), plan, ignored, None)
    except SourceError as error:
        return unparsable(error, text, path, plan, ignored)
    except Exception as error:  # a defect of ours must not end the run
        return Outcome(path, troubles=(internal("the engine", path, error),))


def check_text(
    path: str, text: str, plan: Plan, ignored: tuple[str, ...] = (), project: Project | None = None
) -> Checked:
    """The findings of a text that are not suppressed and sure enough. Raises SourceError where it is not Python."""
    from transferlint.syntax import front_end
    from transferlint.syntax.portable import FrozenSpans
    from transferlint.syntax.source import Source, SourceError

    try:
        program, comments, *offsets = front_end.read(Source(path, text, "utf-8", False), plan.front_end)
        facts = facts_of(path, text, program, FrozenSpans(text, *offsets), plan, project)
    except SourceError:
        raise
    except Exception as error:
        return Checked((), (internal("the analysis", path, error),))
    checked = detected(facts, comments, plan, ignored)
    facts.let_go()
    return checked


def read_worth(target: Target, always: bool = False) -> bytes | Outcome:
    """The bytes of a file, or the outcome where it cannot be read or (unless `always`) holds nothing of interest."""
    try:
        with open(target.path, "rb") as file:
            data = file.read()
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        return Outcome(target.path, troubles=(Trouble(target.path, f"cannot be read: {why}"),))
    if not (always or worth_analysing(data) or (target.named and suspect(data))):
        return Outcome(target.path)
    return data


def facts_of(path: str, text: str, program: Program, spans: Any, plan: Plan, project: Project | None) -> FileFacts:
    """The facts of one file, within its project where that is known; `spans` belong to the program."""
    from transferlint.flow.analysis import analyse

    if project is None:
        return analyse(path, text, program, spans, plan.options)
    return analyse(path, text, program, spans, plan.options, project=project)


def finished(
    source: Source, data: bytes, checked: Checked, plan: Plan, ignored: tuple[str, ...], project: Project | None
) -> Outcome:
    """The outcome of what was checked, after fixing where that is asked; `data` are the bytes of the file."""
    outcome = Outcome(
        source.path,
        checked.findings,
        troubles=checked.troubles,
        notes=checked.notes,
        text=source.text if checked.findings else "",
        known=checked.known,
        ran=checked.ran,
        hidden=checked.hidden,
        quiet=checked.quiet,
    )
    if not (plan.changes and checked.findings):
        return outcome
    from transferlint.syntax import front_end

    uneditable = front_end.refusal(source) if plan.silence is not None or any(f.fix for f in checked.findings) else ""
    if uneditable:
        return late.replace(outcome, notes=(*outcome.notes, f"{source.path}: nothing is changed: {uneditable}"))

    def check(text: str) -> list[Finding]:
        if text == source.text:
            return list(checked.findings)
        again = check_text(source.path, text, plan, ignored, project).findings
        return [finding for finding in again if finding.code not in judged or _key(finding) in before]

    # A text that changed is checked without what other files say of it: there, more comments seem to silence nothing.
    judged = {rule.code for rule in plan.rules if rule.judge is not None}
    before = {_key(finding) for finding in checked.findings}

    if plan.silence is not None:
        from transferlint.suppressions import silencing

        silent = silencing.silence_text(source.path, source.text, check, plan.silence)
        made = late.replace(
            outcome, findings=silent.remaining, silenced=silent.silenced, text=silent.text, notes=checked.notes
        )
    elif any(finding.fix for finding in checked.findings):
        from transferlint.fixes import rounds
        from transferlint.fixes.line_length import line_length

        width = line_length(source.path, source.text)
        fixed = rounds.fix_text(source.path, source.text, check, plan.unsafe, line_length=width)
        notes = (*checked.notes, *(f"{source.path}: {line}" for line in fixed.refused))
        made = late.replace(outcome, findings=fixed.remaining, fixed=fixed.fixed, text=fixed.text, notes=notes)
    else:
        return outcome
    return _changed(source, data, outcome, made, plan)


def _key(finding: Finding) -> tuple[str, str]:
    return finding.code, finding.source


def _changed(source: Source, data: bytes, before: Outcome, after: Outcome, plan: Plan) -> Outcome:
    """The outcome with its new bytes or diff; that of before where nothing changed or they cannot be had."""
    from transferlint.syntax.source import SourceError, encode

    if after.text == source.text:
        return late.replace(after, fixed=(), silenced=())
    if plan.diff:
        return late.replace(after, changed=True, diff=_diff(source, after.text))
    try:
        new = encode(source, after.text)
    except SourceError as error:  # a character that the file's encoding lacks
        return late.replace(before, troubles=(*before.troubles, Trouble(source.path, error.message)))
    return late.replace(after, changed=True, data=new, before=data, unchanged=before)


def _diff(source: Source, text: str) -> str:
    """The change of a source; of a notebook, cell by cell."""
    if not source.notebook:
        return unified_diff(source.path, source.text, text)
    from transferlint.syntax import notebooks

    pairs = zip(notebooks.split(source.text), notebooks.split(text), strict=False)
    return "".join(unified_diff(f"{source.path}:cell {at}", old + "\n", new + "\n") for (at, old), (_, new) in pairs)


def unified_diff(path: str, before: str, after: str) -> str:
    """The change of a text as a unified diff that `patch` and `git apply` take; lines end at "\\n" alone."""
    import difflib  # which only a diff needs

    old, new = (re.findall(r"[^\n]*\n|[^\n]+", text) for text in (before, after))
    shown = []
    name = _name_in_diff(path)
    for line in difflib.unified_diff(old, new, fromfile=name, tofile=name):
        shown.append(line if line.endswith("\n") else line + "\n\\ No newline at end of file\n")
    return "".join(shown)


def _name_in_diff(path: str) -> str:
    """A path as git writes it in a diff: within quotes where it holds what would end the line, or a quote
    (git-config, `core.quotePath`)."""
    if path.isprintable() and '"' not in path and "\\" not in path:
        return path
    plain = {ord('"'): '\\"', ord("\\"): "\\\\"}
    try:
        data = path.encode("utf-8", "surrogateescape")  # bytes that are no text
    except UnicodeEncodeError:  # half of a pair, as Windows allows it in names
        data = path.encode("utf-8", "surrogatepass")
    return '"' + "".join(plain.get(c) or (chr(c) if 32 <= c < 127 else f"\\{c:03o}") for c in data) + '"'


def unparsable(error: SourceError, text: str, path: str, plan: Plan, ignored: tuple[str, ...]) -> Outcome:
    """TL001 stands whatever is selected: a file that nobody could read must not pass for clean."""
    code, name = UNPARSABLE
    if selection.ignored(code, name, (*plan.ignore, *ignored)) or (plan.since and not plan.since.touch(path)):
        return Outcome(path)
    line = error.line or 1
    finding = Finding(code, name, Site(path, line, 1, line, 1), " ".join(error.message.split()), source=error.message)
    new, known = ([finding], []) if plan.known is None else plan.known.split([finding])
    return Outcome(path, findings=tuple(new), text=text, known=tuple(known), ran=(code,), hidden=len(known))


def suspect(data: bytes) -> bool:
    """Whether a file that holds nothing of interest may not even be Python; Python's own parser is asked first, as it
    is ten times as fast as the one that then decides."""
    import ast
    import warnings

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(data)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return True
    return False
