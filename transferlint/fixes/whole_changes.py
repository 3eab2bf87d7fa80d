"""What an unsafe fix has to show to be applied: that it is a whole and small change of lines that run in every step.

The heuristics rest on 540 unsafe fixes of nine random draws, judged one by one (benchmarks/results/unsafe_fixes.md):

- A statement keeps its lines, and none goes: of those that make a tensor on the device 182 of 211 were taken, and 9 of
  24 of the others (draws 8 to 13).
- A line grows by what `device=` costs, `_GROWTH` characters at most: 163 of 179 of those. Of longer ones 12 of 13 that
  name the type of a tensor with its place, as `.to(x)` does, and 7 of 19 of the others.
- A keyword argument alone that is put in is small however long its name: 23 of 26 (`non_blocking=True`).
- Nothing of the same form stays in the file, nothing of the same rule in the same function, no call of the same method
  with the same arguments in the same block, nor a `.to(...)` behind what is made: nobody takes half of a change.
- It is seen to run repeatedly (`flow/frequency/runs.py`), by loops and calls in code that is seen to run, and not in a
  constructor. Of 188 edits of the projects of draws 14 and 15, these two leave 85 of 150 that were taken (or not
  drawn), and 7 of 38 that were not, of which 4 are written otherwise since.

What does not show it is only shown. Whole lines that are put in are for the rule that makes them to judge.
"""

from __future__ import annotations

import ast
import bisect
import itertools
from collections.abc import Iterable, Iterator, Sequence

from transferlint import late
from transferlint.fixes.rounds import apply_edits
from transferlint.fixes.surroundings import Statements, lines_of
from transferlint.model import Edit, Finding, Fix, Safety

_GROWTH = 16  # characters
_USUAL = 89  # characters of the longest lines of ruff and black, with its end: no line becomes longer than the file has
_CALLS = 2  # in an expression that has a form of its own
_ALIKE = {"TL202": "TL102", "TL104": "TL401", "TL305": "TL401"}
_MOST = 200  # parts of an expression that is held against others
_NAME = late.pattern(r"Name\(id='[^']*'")
_TYPED = late.pattern(r"\bdtype\s*=\s*[\w.]+\.dtype\b")
_KEYWORD = late.pattern(r"\s*,?\s*\w+\s*=\s*[\w.]+,?\s*")

Span = tuple[int, int]


def only_whole(statements: Statements, found: Sequence[Finding]) -> tuple[Finding, ...]:
    """The findings of a file, with each unsafe fix that is not a whole and small change, or of what runs once, only
    shown. What one leaves makes others of the same form half of a change."""
    kept = [_shown(one) if _unsafe(one) and not _worth(statements, one) else one for one in found]
    if not any(map(_unsafe, kept)):
        return tuple(kept)
    expressions = _Expressions(statements)
    while True:
        applied = [one.fix for one in kept if one.fix is not None and _applied(one)]
        places = [(edit.start, edit.end) for fix in applied for edit in fix.edits]
        expressions.forget()
        rest = [one for one in kept if one.heat is not None and one.heat.hot and not _applied(one)]
        left = {(_kind(one), one.context) for one in rest}
        made = [
            _shown(one)
            if _unsafe(one) and ((_kind(one), one.context) in left or _half(expressions, one.fix, places))
            else one
            for one in kept
        ]
        if made == kept:
            return tuple(kept)
        kept = made


def _kind(finding: Finding) -> str:
    """The rule, or the other ones of what one change takes along: copies to the host, and uploads of what is made
    there."""
    return _ALIKE.get(finding.code, finding.code)


def _half(expressions: _Expressions, fix: Fix | None, places: Sequence[Span]) -> bool:
    """True where what a fix changes stays elsewhere in the file, or beside it in the block."""
    return expressions.stay(fix, places) or expressions.stay_beside(fix, places)


def _unsafe(finding: Finding) -> bool:
    return finding.fix is not None and finding.fix.safety is Safety.UNSAFE


def _applied(finding: Finding) -> bool:
    return finding.fix is not None and finding.fix.safety is not Safety.DISPLAY


def _shown(finding: Finding) -> Finding:
    assert finding.fix is not None
    return late.replace(finding, fix=late.replace(finding.fix, safety=Safety.DISPLAY))


def _worth(statements: Statements, finding: Finding) -> bool:
    """True where an unsafe fix, by itself, shows what it has to."""
    assert finding.fix is not None
    return _repeated(finding) and _small(statements, finding.fix)


def _repeated(finding: Finding) -> bool:
    """False for what is not seen to run at least once a step, and in a constructor: objects are made once mostly."""
    repeated = finding.heat is None or (finding.heat.hot and finding.heat.shown)
    return repeated and finding.context.rpartition(".")[2] != "__init__"


def _small(statements: Statements, fix: Fix) -> bool:
    """True where a fix puts in a keyword argument and nothing else, or each line that it rewrites stays one line and
    becomes hardly longer."""
    if all(map(_keyword_alone, fix.edits)):
        return True
    made = any("device=" in edit.text for edit in fix.edits)
    if made and any(edit.text.startswith(".to(") for edit in fix.edits):
        return False
    rewriting = [edit for edit in fix.edits if not _inserts_lines(edit)]
    lines = {statements.line(at) for edit in rewriting for at in (edit.start, max(edit.start, edit.end - 1))}
    if not lines:
        return True
    first, last = min(lines), max(lines)
    start = statements.starts[first - 1]
    moved = [late.replace(one, start=one.start - start, end=one.end - start) for one in rewriting]
    new = lines_of(apply_edits("".join(statements.lines[first - 1 : last]), moved))
    old = statements.lines[first - 1 : last]
    if len(new) != len(old) or any(edit.text.count("\n") != _breaks(statements, edit) for edit in rewriting):
        return False
    most = max(_USUAL, *map(len, statements.lines))
    return all(_grows_little(*pair) and len(pair[1]) <= most for pair in zip(old, new, strict=True))


def _keyword_alone(edit: Edit) -> bool:
    """True for an edit that puts in a keyword argument and nothing else."""
    return edit.start == edit.end and bool(_KEYWORD.fullmatch(edit.text))


def _grows_little(old: str, new: str) -> bool:
    typed = len(_TYPED.findall(new)) > len(_TYPED.findall(old))
    return len(new) - len(old) <= _GROWTH or typed


def _breaks(statements: Statements, edit: Edit) -> int:
    return statements.text.count("\n", edit.start, edit.end)


def _inserts_lines(edit: Edit) -> bool:
    return edit.start == edit.end and edit.text.endswith(("\n", "\r"))


class _Expressions:
    """The expressions of a text, by what they are at their root: a call of which method, a subscript."""

    def __init__(self, statements: Statements) -> None:
        self._statements = statements
        self._spans: list[tuple[Span, ast.expr]] = []
        for node in ast.walk(statements.tree() or ast.Module([], [])):
            if isinstance(node, ast.expr) and node.end_lineno is not None and node.end_col_offset is not None:
                start = self._offset(node.lineno, node.col_offset)
                self._spans.append(((start, self._offset(node.end_lineno, node.end_col_offset)), node))
        self._like: dict[str, list[tuple[Span, str]]] = {}
        self._starts: dict[int, list[int]] = {}  # of the statements of a block
        self._asked: dict[int, dict[str, list[Span]]] = {}
        self._left: dict[tuple[int, str], bool] = {}  # whether a call stays in a block, while the places are the same

    def forget(self) -> None:
        """Forget what was found out for other places."""
        self._left.clear()

    def _offset(self, line: int, column: int) -> int:
        """The offset of a place that is given as Python's parser counts: in bytes of UTF-8."""
        text = self._statements.lines[line - 1]
        within = column if text.isascii() else len(text.encode()[:column].decode(errors="ignore"))
        return self._statements.starts[line - 1] + within

    def stay(self, fix: Fix | None, places: Iterable[Span]) -> bool:
        """True where an expression of the form of one that a fix changes is changed at none of these places."""
        assert fix is not None
        changed = sorted(places)
        return any(
            form == other and not any(start <= first and last <= end for first, last in changed)
            for node in self._changed(fix)
            if (form := _form(node))
            for (start, end), other in self._alike(node)
        )

    def stay_beside(self, fix: Fix | None, places: Sequence[Span]) -> bool:
        """True where a fix puts keywords into calls of a method, and calls of it with the same arguments, on whatever,
        stay as they are in the statements of the same block."""
        assert fix is not None
        if not all(_keyword_alone(edit) for edit in fix.edits):
            return False
        for edit in fix.edits:
            around = [one for one in self._holding(edit.start, edit.end) if _method(self._spans[one[3]][1])]
            if around and self._stays(self._block(edit.start), _asked(self._spans[min(around)[3]][1]), places):
                return True
        return False

    def _stays(self, block: list[ast.stmt], asked: str, places: Sequence[Span]) -> bool:
        """True where a call with these arguments in a block holds none of the places; asked once for all its fixes."""
        known = self._left.get((id(block), asked))
        if known is None:
            starts = sorted(at for at, _ in places)
            calls = self._calls(block).get(asked, ())
            known = any(bisect.bisect_left(starts, first) == bisect.bisect_right(starts, last) for first, last in calls)
            self._left[id(block), asked] = known
        return known

    def _calls(self, block: list[ast.stmt]) -> dict[str, list[Span]]:
        """Where methods are called in the statements of a block, without those that hold others, by what is asked."""
        found = self._asked.get(id(block))
        if found is None:
            found = self._asked[id(block)] = {}
            for statement in block:
                if not any(_blocks(statement)):
                    for one in ast.walk(statement):
                        if isinstance(one, ast.expr) and _method(one):
                            found.setdefault(_asked(one), []).append(self._span(one))
        return found

    def _block(self, offset: int) -> list[ast.stmt]:
        """The innermost block around an offset."""
        block, inner = [], (self._statements.tree() or ast.Module([], [])).body
        while inner:
            block = inner
            starts = self._starts.get(id(block))
            if starts is None:
                starts = self._starts[id(block)] = [self._span(one)[0] for one in block]
            at = bisect.bisect_right(starts, offset) - 1
            within = _blocks(block[at]) if at >= 0 else ()
            inner = next((one for one in within if self._from_to(one, offset)), [])
        return block

    def _from_to(self, block: list[ast.stmt], offset: int) -> bool:
        return self._span(block[0])[0] <= offset <= self._span(block[-1])[1]

    def _span(self, node: ast.stmt | ast.expr) -> Span:
        start = self._offset(node.lineno, node.col_offset)
        return start, self._offset(node.end_lineno or node.lineno, node.end_col_offset or 0)

    def _changed(self, fix: Fix) -> list[ast.expr]:
        """The smallest expressions around the edits of a fix, without those that are in others of them."""
        edits = [(edit.start, edit.end) for edit in fix.edits if not _inserts_lines(edit)]
        around = {min(holding)[1:] for edit in edits if (holding := list(self._holding(*edit)))}
        found = sorted(around, key=lambda one: (one[0], -one[1]))
        outer: list[tuple[int, int, int]] = []
        for start, end, index in found:
            if not outer or end > outer[-1][1]:
                outer.append((start, end, index))
        return [self._spans[index][1] for _, _, index in outer]

    def _holding(self, first: int, last: int) -> Iterator[tuple[int, int, int, int]]:
        """The expressions with more than a place in them: how long they are, from where to where, and which."""
        for index, ((start, end), _) in enumerate(self._spans):
            inside = start < first and last < end if first == last else start <= first and last <= end
            if inside and end - start > last - first:
                yield end - start, start, end, index

    def _alike(self, node: ast.expr) -> list[tuple[Span, str]]:
        root = _root(node)
        if root not in self._like:
            self._like[root] = [(span, _form(one)) for span, one in self._spans if _root(one) == root]
        return self._like[root]


def _method(node: ast.expr) -> str:
    """The method that an expression calls, "" for any other."""
    return node.func.attr if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else ""


def _asked(node: ast.expr) -> str:
    """The method that an expression calls, and with which arguments, as a text."""
    assert isinstance(node, ast.Call)
    return " ".join((_method(node), *(ast.dump(one) for one in (*node.args, *node.keywords))))


def _blocks(statement: ast.stmt) -> Iterator[list[ast.stmt]]:
    """The blocks right inside a statement."""
    holders: list[ast.AST] = [statement, *getattr(statement, "handlers", ()), *getattr(statement, "cases", ())]
    for holder in holders:
        for name in ("body", "orelse", "finalbody"):
            block = getattr(holder, name, None)
            if isinstance(block, list) and block:
                yield block


def _root(node: ast.expr) -> str:
    """What an expression is, and of a call what it calls."""
    called = node.func if isinstance(node, ast.Call) else None
    return f"{type(node).__name__} {called.attr if isinstance(called, ast.Attribute) else ''}"


def _form(node: ast.expr) -> str:
    """The structure of an expression, with any names for its variables; a single call of nothing but variables, as
    `x.to(device)`, keeps them: it has no form of its own. "" of what is too long to be written twice."""
    inner = list(itertools.islice(ast.walk(node), _MOST + 1))
    if len(inner) > _MOST:
        return ""
    plain = sum(isinstance(one, ast.Call) for one in inner) < _CALLS and not any(map(_constant, inner))
    return ast.dump(node) if plain else _NAME.sub("Name(id=''", ast.dump(node))


def _constant(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant)
