"""How the text of a fix is laid out: lines that it makes too long are wrapped, and the others stay as they are.

One place for all fixes, those of other packs too: builders say what to write, and not on how many lines.
"""

from __future__ import annotations

import ast
import bisect
from collections.abc import Iterable, Sequence

from transferlint import late
from transferlint.fixes.layout_style import Style, closed, style_of
from transferlint.fixes.surroundings import Statements, lines_of, parsed, starts_at, starts_of
from transferlint.fixes.unbracketing import joined_call, without_brackets
from transferlint.fixes.wrapping import balanced, tokens_of, wrapped, wrapped_before
from transferlint.model import Edit

_CHAINED = late.pattern(r"[\r\n][ \t]*\.[ \t]*\w")
_Placed = list[tuple[Edit, int, int]]


def laid_out(statements: Statements, edits: Sequence[Edit], limit: int) -> tuple[Edit, ...]:
    """Edits that make of a text the same program as `edits`, with the lines wrapped that become too long by them."""
    given = tuple(edits)
    placed = _placed(dict.fromkeys(given))  # one import line is often inserted by several fixes
    if placed is None:
        return given
    text = statements.text
    if "\r" in text.replace("\r\n", ""):  # lines that end in a carriage return alone, beside which no line is put
        return given
    made = _applied(text, placed)
    lines = lines_of(made)
    if not lines:  # all that was there is gone
        return given
    starts = starts_of(lines)
    long = [line for line in _touched(placed, starts) if _too_long(lines[line], limit)]
    long = [line for line in long if not _was_as_long(statements, placed, starts[line], lines[line], limit)]
    loose = _loose(text, placed, starts)
    if not (long or loose):
        return given
    old = {line.rstrip("\r\n") for line in statements.lines}
    long = sorted({*(line for line in long if lines[line].rstrip("\r\n") not in old), *loose})
    style = style_of(statements.lines)
    changes: list[Edit] = []
    done = -1
    for line in long:
        if line > done and (part := _part(statements, placed, starts[line], starts[line + 1])) is not None:
            low, high, before, behind = part
            first, done = bisect.bisect_right(starts, low) - 1, bisect.bisect_left(starts, high) - 1
            wanted = [one - first for one in long if first <= one <= done]
            shift = low - len(before)
            found = _changes(before + made[low:high] + behind, before.count("\n"), wanted, limit, style)
            changes += (Edit(one.start + shift, one.end + shift, one.text) for one in found)
    return _joined(text, made, placed, changes) if changes else given


def _changes(whole: str, above: int, wanted: Sequence[int], limit: int, style: Style) -> list[Edit]:
    """Edits of a text that wrap its `wanted` lines, counted from 0 behind the `above` first ones; none where that would
    make another program of it, or where it is none."""
    lines = lines_of(whole)
    starts = starts_of(lines)
    long = [above + one for one in wanted]
    tree = parsed(whole)
    if tree is None:
        return []
    changes: list[Edit] = []
    for first, last in sorted({found for line in long if (found := _statement(tree, line + 1)) is not None}):
        block = [line.rstrip("\r\n") for line in lines[first - 1 : last]]
        new = _block(block, [line - first + 1 for line in long if first - 1 <= line < last], limit, style)
        if new != block:
            end = starts[last - 1] + len(block[-1])
            newline = "\r\n" if lines[first - 1].endswith("\r\n") else "\n"
            changes.append(Edit(starts[first - 1], end, newline.join(new)))
    after = parsed(_applied(whole, _placed(changes) or [])) if changes else None
    return changes if after is not None and ast.dump(after) == ast.dump(tree) else []


def _part(statements: Statements, placed: _Placed, start: int, end: int) -> tuple[int, int, str, str] | None:
    """The offsets, in what was made, of the statements around the edits between `start` and `end`, and what has to
    stand before and behind them to make a module of them."""
    near = [edit for edit, first, last in placed if first <= end and last >= start]
    if not near:
        return None
    while True:
        lines = statements.line(min(edit.start for edit in near)), statements.line(max(edit.end for edit in near))
        around = statements.around(*lines)
        if around is None:
            return None
        low, high = statements.starts[around[0] - 1], statements.starts[around[1]]
        more = [edit for edit, _, _ in placed if edit in near or (edit.start <= high and edit.end >= low)]
        if len(more) == len(near):
            at_end = high == len(statements.text)  # what is inserted there belongs to it
            return _forth(low, placed), _forth(high + at_end, placed) - at_end, around[2], around[3]
        near = more


def _forth(offset: int, placed: _Placed) -> int:
    """Where an offset of a text that no edit goes across lies in what was made: before what is inserted there."""
    return offset + sum(len(edit.text) - (edit.end - edit.start) for edit, _, _ in placed if edit.start < offset)


def _placed(edits: Iterable[Edit]) -> _Placed | None:
    """Edits in order, each with the offsets of its text in what they make; None where they overlap."""
    placed: _Placed = []
    shift = position = 0
    for edit in sorted(edits, key=lambda edit: (edit.start, edit.end, edit.text)):
        if edit.start < position:
            return None
        start = edit.start + shift
        placed.append((edit, start, start + len(edit.text)))
        shift += len(edit.text) - (edit.end - edit.start)
        position = edit.end
    return placed


def _applied(text: str, placed: _Placed) -> str:
    pieces: list[str] = []
    position = 0
    for edit, _, _ in placed:
        pieces += (text[position : edit.start], edit.text)
        position = edit.end
    return "".join(pieces) + text[position:]


def _touched(placed: _Placed, starts: Sequence[int]) -> list[int]:
    """The indices of the lines that hold text of the edits, or from which they took some."""
    found: set[int] = set()
    for edit, start, end in placed:
        last = end - 1 if edit.text.endswith(("\n", "\r")) else end
        first = bisect.bisect_right(starts, start, 0, len(starts) - 1) - 1
        found.update(range(first, bisect.bisect_right(starts, max(last, start), 0, len(starts) - 1)))
    return sorted(found)


def _loose(text: str, placed: _Placed, starts: Sequence[int]) -> list[int]:
    """The indices of the lines from which an edit took a call that stood on a line of its own: what the brackets around
    it hold may need them no longer."""
    gone = [
        start for edit, start, _ in placed if _CHAINED.search(text[edit.start : edit.end]) and "\n" not in edit.text
    ]
    return [bisect.bisect_right(starts, start, 0, len(starts) - 1) - 1 for start in gone]


def _was_as_long(statements: Statements, placed: _Placed, start: int, line: str, limit: int) -> bool:
    """True for a line of what was made that was too long before: by as much, or for its comment alone."""
    here = [one for one in placed if one[1] <= start + len(line) and one[2] >= start]
    if any("\n" in edit.text or "\n" in statements.text[edit.start : edit.end] for edit, _, _ in here):
        return False
    before = statements.lines[statements.line(_back(start, [one for one in placed if one[2] < start])) - 1]
    if not _too_long(before, limit):
        return False
    tokens = tokens_of(line) or []
    code = line[: tokens[-1].start].rstrip() if tokens and tokens[-1].kind == "comment" else line.rstrip("\r\n")
    return len(line) <= len(before) or (len(code) < len(line.rstrip("\r\n")) and not _too_long(code, limit))


def _too_long(line: str, limit: int) -> bool:
    return len(line.rstrip()) > limit


def _statement(tree: ast.Module, line: int) -> tuple[int, int] | None:
    """The first and last line of the simple statement, of the head of the statement or of its decorator, that a line
    belongs to."""
    found = None
    for node in ast.walk(tree):
        if not isinstance(node, ast.stmt) or not starts_at(node) <= line <= (node.end_lineno or 0):
            continue
        for decorator in getattr(node, "decorator_list", ()):
            if decorator.lineno <= line <= (decorator.end_lineno or 0):
                return decorator.lineno, decorator.end_lineno or decorator.lineno
        body = getattr(node, "body", None)
        last = starts_at(body[0]) - 1 if isinstance(body, list) and body else node.end_lineno or node.lineno
        if line <= last and (found is None or node.lineno >= found[0]):
            found = node.lineno, last
    return found


def _block(block: list[str], wanted: list[int], limit: int, style: Style) -> list[str]:
    """The lines of a statement, with the `wanted` ones wrapped."""
    if len(block) == 3 and wanted == [1] and (whole := joined_call(*block)):
        return wrapped(whole, limit, style.unit, inside=False)
    if bare := without_brackets(block, limit, style.unit):
        return bare
    made: list[str] = []
    for number, line in enumerate(block):
        if number not in wanted or not _too_long(line, limit):
            made.append(line)
            continue
        tokens = tokens_of(line.strip())
        alone = len(block) == 1 or not any(one.strip() for one in block[1:])
        if tokens is None:
            made.append(line)
        elif balanced(tokens) or alone:
            made += _wrapped_whole(block, number, limit, style)
        elif line.rstrip().endswith(("(", "[", "{")) and (opened := wrapped_before(line, limit, style.unit)):
            made += opened
        else:
            made += _filled(line, limit, number > 0)
    return without_brackets(made, limit, style.unit) or made


def _wrapped_whole(block: list[str], number: int, limit: int, style: Style) -> list[str]:
    line = block[number]
    if style.aligned and len(by_hand := _filled(line, limit, number > 0)) > 1:
        return by_hand
    hand = number > 0 and not block[number - 1].rstrip().endswith(("(", "[", "{", ","))
    made = wrapped(line, limit, style.unit, inside=number > 0 and not hand)
    if style.closed and len(made) > 1:
        return closed(made, limit)
    if number and len(made) > 1 and block[number - 1].rstrip().endswith(("(", "[", "{")):
        closes = number + 1 < len(block) and block[number + 1].lstrip().startswith((")", "]", "}"))
        indent = line[: len(line) - len(line.lstrip())]
        several = any(part[len(indent) : len(indent) + 1].strip() and part.rstrip().endswith(",") for part in made)
        if closes and several and not made[-1].rstrip().endswith(","):
            made[-1] += ","
    return made


def _filled(line: str, limit: int, inside: bool) -> list[str]:
    """A line whose brackets close on another one, broken behind the last comma that leaves it short enough, and gone on
    beneath what the bracket holds."""
    indent = line[: len(line) - len(line.lstrip())]
    tokens = tokens_of(line) or []
    for index in range(len(tokens) - 2, 0, -1):
        token = tokens[index]
        if token.text != "," or token.end > limit:
            continue
        opened = [one for one in tokens[:index] if one.text in "([{" and one.kind == "symbol"]
        around = [one for one in opened if one.mate < 0 or one.mate > index]
        if not around and not inside:
            continue
        lead = " " * around[-1].end if around else indent
        rest = lead + line[token.end :].strip()
        return [line[: token.end], rest] if len(rest) <= limit else [line]
    return [line]


def _joined(text: str, made: str, placed: _Placed, changes: Sequence[Edit]) -> tuple[Edit, ...]:
    """Edits of `text` for edits of what was `made` of it: those that a change touches become one with it."""
    groups: list[tuple[int, int, list[Edit]]] = []
    for change in changes:
        inner = [one for one in placed if one[1] <= change.end and one[2] >= change.start]
        start = min([change.start, *(one[1] for one in inner)])
        end = max([change.end, *(one[2] for one in inner)])
        group = [change]
        if groups and start <= groups[-1][1]:
            before = groups.pop()
            start, end, group = min(start, before[0]), max(end, before[1]), [*before[2], change]
        groups.append((start, end, group))
    found = [edit for edit, start, end in placed if not any(a <= end and start <= b for a, b, _ in groups)]
    for start, end, group in groups:
        moved = [Edit(one.start - start, one.end - start, one.text) for one in group]
        new = _applied(made[start:end], _placed(moved) or [])
        inner = [one for one in placed if one[2] <= end and not (one[1] < start or one[2] < start)]
        earlier = [one for one in placed if one not in inner and one[2] <= start]
        found.append(Edit(_back(start, earlier), _back(end, [*earlier, *inner]), new))
    return tuple(sorted(found, key=lambda edit: (edit.start, edit.end, edit.text)))


def _back(offset: int, before: _Placed) -> int:
    """The offset in the text that an offset in what was made of it comes from, given the edits before it."""
    return offset - (before[-1][2] - before[-1][0].end) if before else offset
