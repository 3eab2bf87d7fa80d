"""Suppressions for everything that is found, written into the text: what `--add-ignore` does."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from transferlint import late
from transferlint.fixes.rounds import apply_edits
from transferlint.model import Edit, Finding
from transferlint.syntax.positions import Positions

Check = Callable[[str], "list[Finding]"]
# The rules about the linter's own comments and files: what they find is mended, not silenced.
_OWN = "TL0"
_ROUNDS = 10


@late.dataclass(frozen=True, slots=True)
class Silent:
    """What silencing made of a text: the findings that are silent now (sites as in the text that was given), and those
    that are not."""

    text: str
    silenced: tuple[Finding, ...]
    remaining: tuple[Finding, ...]


def reason_fault(reason: str) -> str:
    """Why a text cannot be the reason of a suppression, in words; "" where it can."""
    if "\n" in reason or "\r" in reason:
        return "it is more than one line"
    if "#" in reason:
        return "`#` would end it"
    return "it begins with `[`, as codes do" if reason.lstrip(" :-").startswith("[") else ""


def silence_text(path: str, text: str, check: Check, reason: str) -> Silent:
    """Put a suppression with `reason` at every finding of `check` at `path`, and at every site that one speaks for,
    until there are none.

    A suppression stands at the end of the statement's last line, behind what comments are there or within one of ours.
    On the header of a block it would cover the block: there a `noqa` with the code is put on the finding's own line,
    and a suppression only where no line of the finding can hold a comment. What cannot be silenced remains.
    """
    before = text
    found = remaining = check(text)
    wider = False
    for _ in range(_ROUNDS):
        open_ = [finding for finding in remaining if finding.site.path == path and not finding.code.startswith(_OWN)]
        if not open_:
            break
        tried = _commented(text, [one for finding in open_ for one in finding.members()], reason, wider)
        made = check(tried) if tried != text else remaining
        if len(made) >= len(remaining):
            if wider:
                break
            wider = True
            continue
        text, remaining = tried, made
    if text == before:
        return Silent(text, (), tuple(remaining))
    left = {(finding.code, finding.fingerprint()) for finding in remaining}
    silenced = tuple(finding for finding in found if (finding.code, finding.fingerprint()) not in left)
    return Silent(text, silenced, tuple(remaining))


def _commented(text: str, findings: Iterable[Finding], reason: str, wider: bool) -> str:
    """The text with a comment for each finding; `wider`: also ones that cover a whole block."""
    import libcst

    from transferlint.syntax import comment_edits
    from transferlint.syntax.spans import Spans
    from transferlint.syntax.statement_lines import lines as lines_of

    tree = libcst.parse_module(text)
    spans = Spans(tree, text)
    lines = lines_of(tree, spans)
    comments = {spans.position(start)[0]: (start, end) for start, end in spans.comments()}
    wanted: dict[tuple[int, bool], set[str]] = {}
    for finding in findings:
        first, last, kind = lines.statement(finding.site.line)
        own = range(finding.site.line, max(finding.site.line, min(finding.site.end_line, last)) + 1)
        free = [line for line in own if line == last or line in comments or _takes_comment(text, spans, line)]
        if kind == "block" and free and not wider:
            wanted.setdefault((free[-1], True), set()).add(finding.code)
        else:
            wanted.setdefault((last if last >= first else finding.site.line, False), set()).add(finding.code)
    edits: dict[int, Edit] = {}
    for (line, header), codes in sorted(wanted.items()):
        listed = sorted(codes)
        if line in comments:
            start, end = comments[line]
            edits[line] = comment_edits.extended(text, start, end, listed, reason, header)
        else:
            start = spans.line_starts()[line - 1]
            end = start + len(_line(text, spans, line).rstrip())
            edits[line] = comment_edits.appended(end, listed, reason, header)
    return apply_edits(text, edits.values())


def _line(text: str, spans: Positions, line: int) -> str:
    starts = spans.line_starts()
    return text[starts[line - 1] : starts[line] if line < len(starts) else len(text)]


def _takes_comment(text: str, spans: Positions, line: int) -> bool:
    """Whether a comment at the end of this line would be one: not within a string, nor before a joined line."""
    import libcst

    from transferlint.syntax.spans import Spans

    end = spans.line_starts()[line - 1] + len(_line(text, spans, line).rstrip())
    tried = f"{text[:end]}  # {text[end:]}"
    try:
        made = Spans(libcst.parse_module(tried), tried).comments()
    except libcst.ParserSyntaxError:
        return False
    return (end + 2) in {start for start, _ in made}
