"""Edits to text, in rounds until nothing changes.

A fix is applied whole or not at all. Two fixes whose edits touch the same text, or bind the same new variable
in one function, are never applied in one round: the second waits, is computed anew from the changed text, and mostly is
gone by then. Nothing is kept that does not parse.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from transferlint import late
from transferlint.fixes.layout import laid_out
from transferlint.fixes.surroundings import Statements
from transferlint.model import Edit, Finding, Fix, Safety
from transferlint.syntax.source import Source, SourceError, parse, parse_ast

Check = Callable[[str], "list[Finding]"]


@late.dataclass(frozen=True, slots=True)
class FixOutcome:
    """What fixing made of a text.

    `fixed` are the findings whose fixes were applied, in the order of application, with their sites in the text of
    their round; `remaining` are the findings of the new text; `refused` has one line for every fix that was allowed
    and yet left out, and for rounds that did not come to rest; the lines do not name the file.
    """

    text: str
    fixed: tuple[Finding, ...]
    remaining: tuple[Finding, ...]
    refused: tuple[str, ...]


@late.dataclass(frozen=True, slots=True)
class _Round:
    """What one round made: the new text, what was applied, and the reasons for what must not be tried again."""

    text: str
    applied: tuple[Finding, ...]
    refused: tuple[tuple[Finding, str], ...]


def fix_text(path: str, text: str, check: Check, unsafe: bool, limit: int = 50, line_length: int = 0) -> FixOutcome:
    """Apply the allowed fixes of what `check` finds, and of what it finds then, until nothing changes.

    `text` is decoded and without a byte order mark, its line ends as in the file; `check` maps such a text to the
    findings that count (selected and not suppressed), of which those at `path` are fixed. `unsafe` allows fixes that a
    person should look at; fixes that are only shown are never applied. At most `limit` rounds. Lines that several fixes
    together make longer than `line_length` are wrapped (0: they are not).
    """
    fixed: list[Finding] = []
    refused: list[str] = []
    barred: set[tuple[str, ...]] = set()
    seen = {text}
    least = Safety.UNSAFE if unsafe else Safety.SAFE

    def open_fixes() -> list[Finding]:
        here = (f for f in findings if f.site.path == path and f.fix and f.fix.safety >= least)
        return [finding for finding in here if _key(finding) not in barred]

    findings = check(text)
    strict = bool(open_fixes()) and _refusal_of_compiler(text) == ""
    for _ in range(limit):
        candidates = open_fixes()
        if not candidates:
            break
        made = _one_round(text, candidates, strict, line_length)
        for finding, reason in made.refused:
            barred.add(_key(finding))
            refused.append(_refusal(finding, reason))
        if made.text in seen and made.applied:
            codes = ", ".join(sorted({finding.code for finding in made.applied}))
            refused.append(f"the fixes of {codes} undo each other; stopped")
            break
        if made.applied:
            seen.add(made.text)
            text = made.text
            fixed += made.applied
            findings = check(text)
    else:
        if open_fixes():
            refused.append(f"fixes still change the file after {limit} rounds; stopped")
    return FixOutcome(text, tuple(fixed), tuple(findings), tuple(refused))


def apply_edits(text: str, edits: Iterable[Edit]) -> str:
    """`text` with `edits` applied, each offset counted in `text` itself.

    Raises ValueError where edits overlap or reach beyond the text. An insertion comes before what is replaced from its
    offset on; the same whole line inserted twice at one place is inserted once.
    """
    pieces: list[str] = []
    position = 0
    previous: Edit | None = None
    for edit in sorted(edits, key=_order):
        if not 0 <= edit.start <= edit.end <= len(text):
            raise ValueError(f"the edit of {edit.start}:{edit.end} is outside the text")
        if previous is not None and _clash(previous, edit):
            if _same_line(previous, edit):
                continue
            raise ValueError(f"edits overlap at {edit.start}")
        pieces += (text[position : edit.start], edit.text)
        position = edit.end
        previous = edit
    return "".join(pieces) + text[position:]


def _one_round(text: str, candidates: Sequence[Finding], strict: bool, line_length: int) -> _Round:
    """Apply as many candidates as fit together. Where one of them breaks the text, find out which."""
    chosen, refused = _choose(text, candidates)
    if not chosen:
        return _Round(text, (), tuple(refused))

    def applied(findings: Sequence[Finding]) -> str:
        edits: Sequence[Edit] = _edits(findings)
        if line_length and len(findings) > 1:
            edits = laid_out(Statements(text), edits, line_length)
        return apply_edits(text, edits)

    made = applied(chosen)
    if _problem(made, strict) == "":
        return _Round(made, tuple(chosen), tuple(refused))
    kept: list[Finding] = []
    made = text
    for finding in chosen:
        tried = applied([*kept, finding])
        if _problem(tried, strict) == "":
            kept.append(finding)
            made = tried
        elif problem := _problem(applied([finding]), strict):
            refused.append((finding, f"the text it makes is not valid Python, {problem}"))
    return _Round(made, tuple(kept), tuple(refused))


def _choose(text: str, candidates: Sequence[Finding]) -> tuple[list[Finding], list[tuple[Finding, str]]]:
    """The candidates that fit together, in order of the text (safer ones first in line), and those that never can be
    applied, with the reason."""
    chosen: list[Finding] = []
    refused: list[tuple[Finding, str]] = []
    taken: list[Edit] = []
    bound: dict[str, list[Edit]] = {}  # by function
    for finding in sorted(candidates, key=_rank):
        edits = _fix(finding).edits
        try:
            unchanged = apply_edits(text, edits) == text
        except ValueError as error:
            refused.append((finding, str(error)))
            continue
        if unchanged:
            refused.append((finding, "it changes nothing"))
        elif not any(_clash(a, b) and not _same_line(a, b) for a in edits for b in taken):
            binding = [edit for edit in edits if edit.binds()]
            others = bound.setdefault(finding.context, [])
            if any(one.takes_names_of(other) for one in binding for other in others):
                continue
            others += binding
            chosen.append(finding)
            taken += edits
    chosen.sort(key=lambda finding: _order(min(_fix(finding).edits, key=_order)))
    return chosen, refused


def _clash(a: Edit, b: Edit) -> bool:
    """Whether two edits touch the same text. An insertion clashes with another at its place, not with a neighbour."""
    if a.start == a.end and b.start == b.end:
        return a.start == b.start
    return a.start < b.end and b.start < a.end


def _same_line(a: Edit, b: Edit) -> bool:
    """Whether two insertions are one: the same import or hoisted statement. Two closing brackets would not be."""
    return a == b and a.start == a.end and (a.text.endswith(("\n", "\r")) or a.text.startswith(("\n", "\r")))


def _problem(text: str, strict: bool) -> str:
    """Why `text` does not parse, or (`strict`) not compile, in one line; "" where it does."""
    source = Source("", text, "utf-8", False)
    try:
        parse_ast(source)  # as `check` reads it: what either parser takes is Python
    except SourceError:
        try:
            parse(source)
        except SourceError as error:
            return f"at line {error.line} of it" if error.line else error.message
    return _refusal_of_compiler(text) if strict else ""


def _refusal_of_compiler(text: str) -> str:
    """What this Python's compiler says against a text, in one line: it knows more than a parser (an `await` outside of
    `async`, a keyword given twice), but nothing of newer syntax, so its word counts where it took the text before."""
    import warnings

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(text, "text", "exec", dont_inherit=True)
    except SyntaxError as error:
        return f"at line {error.lineno} of it: {error.msg}"
    except (ValueError, RecursionError, MemoryError) as error:
        return " ".join(str(error).split()) or type(error).__name__
    return ""


def _fix(finding: Finding) -> Fix:
    assert finding.fix is not None
    return finding.fix


def _edits(findings: Iterable[Finding]) -> list[Edit]:
    return [edit for finding in findings for edit in _fix(finding).edits]


def _order(edit: Edit) -> tuple[int, int, str]:
    return (edit.start, edit.end, edit.text)


def _rank(finding: Finding) -> tuple[int, int, str]:
    fix = _fix(finding)
    return (-fix.safety, min((edit.start for edit in fix.edits), default=0), finding.code)


def _key(finding: Finding) -> tuple[str, ...]:
    """What a fix is known by when its offsets have moved."""
    return (finding.fingerprint(), *(edit.text for edit in _fix(finding).edits))


def _refusal(finding: Finding, reason: str) -> str:
    return f"{finding.code} at {finding.site.line}:{finding.site.column} is not fixed: {reason}"
