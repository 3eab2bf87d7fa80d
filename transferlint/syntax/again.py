"""What is kept of a text, made from what was kept of it before a change within one function.

The text of that function, from its `def` to the end of the line that its last statement ends on, is parsed by itself.
What stands before it is the same, and what comes behind it begins on a line of its own that is indented no further; so
where that text is one definition again, the rest of the file means what it meant, and stands a few characters further
on (docs.python.org, 'Lexical analysis': lines and indentation).
"""

from __future__ import annotations

import array
import ast
import bisect
import functools
import itertools
from collections.abc import Callable, Iterable
from typing import Any

from transferlint import late
from transferlint.syntax import lower_ast, suppressions
from transferlint.syntax.from_ast import statement_lines
from transferlint.syntax.from_ast.fields import Misplaced
from transferlint.syntax.from_ast.places import Places
from transferlint.syntax.heads import Head, head_of
from transferlint.syntax.parts import Parts
from transferlint.syntax.portable import FrozenSpans, Shift
from transferlint.syntax.positions import NEWLINE
from transferlint.syntax.program import Function, Program
from transferlint.syntax.regions import Region
from transferlint.syntax.scan import Scan
from transferlint.syntax.source import Source, SourceError, parse_ast, refuse_too_long
from transferlint.syntax.suppressions import Suppression

_HEAD = "if 1:\n"  # what a definition that is indented stands in
_DECLARES = late.pattern(r"(?:^|[\r\n;:])[ \t\f(]*self\s*\.\s*\w+[\s)]*:")  # `self.x: T`, and more


@late.dataclass(frozen=True, slots=True)
class _Change:
    """A change from the text `old` to `new`, from `start` on, within the function at `index`. The line of its `def`
    begins at `begin`; in the old text it ended at `end`, on the line before that which begins at `stop`."""

    old: str
    new: str
    index: int
    begin: int
    start: int
    end: int
    stop: int

    @property
    def delta(self) -> int:
        """How much longer the text is."""
        return len(self.new) - len(self.old)


@late.dataclass(frozen=True, slots=True)
class _Made:
    """A function parsed by itself: its functions (itself first), its suppressions, what `portable.parenthesised` gives,
    and the offsets of its comments, all as they stand in the whole text; and, where its head may have changed, how to
    put that into the function around it."""

    functions: list[Function]
    comments: list[Suppression]
    parentheses: array.array[int]
    marks: array.array[int]
    put: Callable[[Function], None] | None


def read(source: Source, before: tuple[Source, Parts]) -> Parts | None:
    """What `front_end.read` makes of a source (but for the order of the parentheses), from another text and what it
    made of that; None where that takes more than one function. The functions that are not touched share their code
    with those from before."""
    program, comments, lines, marks, parentheses = before[1]
    change = _change(before[0].text, source.text, program, lines)
    if change is None:
        return None
    try:
        refuse_too_long(source)
        made = _made(source, program, change)
    except (SourceError, Misplaced, RecursionError):
        return None
    if made is None:
        return None
    shift = Shift(change.end, made.functions[0].node[1], change.delta)
    starts = array.array("i", [0, *(match.end() for match in NEWLINE.finditer(source.text))])
    return (
        Program(program.path, _functions(program, made, shift, len(source.text))),
        tuple(_comments(comments, change, made.comments, _by_lines(shift, lines, starts), len(starts))),
        starts,
        _marks(marks, change, made.marks),
        _parentheses(parentheses, program.functions[change.index].node, shift, made.parentheses),
    )


def _change(old: str, new: str, program: Program, lines: array.array[int]) -> _Change | None:
    """The change between two texts, where it lies within one function; the innermost."""
    start = _alike(old, new, False)
    last = len(old) - _alike(old[start:], new[start:], True)
    for function in reversed(program.functions):
        at, end = function.node
        follows = bisect.bisect_right(lines, end)
        stop = lines[follows] if follows < len(lines) else len(old)
        if function.kind == "function" and at < start and last <= at + len(old[at:stop].rstrip("\r\n")):
            begin = lines[bisect.bisect_right(lines, at) - 1]
            blank = not old[begin:at].strip(" \t")
            return _Change(old, new, function.index, begin, start, end, stop) if blank else None
    return None


def _alike(one: str, other: str, backwards: bool) -> int:
    """How many characters two texts begin (or end) with alike."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[-middle:] == other[-middle:] if backwards else one[:middle] == other[:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _made(source: Source, program: Program, change: _Change) -> _Made | None:
    """The function, parsed and lowered by itself; None where there is not the one function that there was."""
    old = program.functions[change.index]
    indent = _HEAD if change.begin < old.node[0] else ""
    text = indent + change.new[change.begin : change.stop + change.delta]
    tree = parse_ast(late.replace(source, text=text))
    node = _definition(tree, bool(indent))
    if node is None:
        return None
    scan = Scan(text)
    places = Places(text, scan)
    by = change.begin - len(indent)
    lowered = _lowered(program, change, node, places, _begins(places, node) + by > change.start)
    if lowered is None:
        return None
    functions, stand_in, head = lowered
    parentheses = lower_ast.freeze(Program(program.path, [stand_in, *functions]), places)
    lines = functools.partial(statement_lines.lines, tree, places, FrozenSpans(text, places.lines))
    below = len(NEWLINE.findall(change.new, 0, change.begin)) - bool(indent)
    return _Made(
        [_moved(one, Shift(-1, -1, by)) for one in functions],
        [_lower_down(one, by, below) for one in suppressions.find(text, scan.comments, lines)],
        array.array("i", [at + by for at in parentheses]),
        array.array("i", [at + by for span in scan.comments for at in span]),
        functools.partial(head.put, stand_in, Shift(-1, -1, by)) if head is not None else None,
    )


def _begins(places: Places, node: Any) -> int:
    """Where the first statement of a function begins, or the first of its decorators."""
    first = node.body[0]
    return places.start((getattr(first, "decorator_list", None) or [first])[0])


def _lowered(
    program: Program, change: _Change, node: Any, places: Places, headed: bool
) -> tuple[list[Function], Function, Head | None] | None:
    """The functions of a definition, what it was lowered into, and (where it is `headed`: its head may have changed)
    its place in the function around it; None where that would not be what it was."""
    old = program.functions[change.index]
    owner = program.functions[old.parent]
    head = head_of(owner, old) if headed else None
    # The lambdas among its defaults come before it.
    first = next(at for at, other in enumerate(program.functions) if other.node[0] >= old.node[0] and at)
    if headed and (head is None or first != old.index or node.name != old.name):
        return None
    stand_in = Function(owner.index, owner.kind, owner.name, owner.qualname, owner.parent, node)
    if head is not None:
        head.fill(stand_in)
    functions = lower_ast.lower_function(node, places, program.functions[:first], stand_in)[old.index - first :]
    declares = owner.kind == "class" and (stand_in.declared or _DECLARES.search(change.old, *old.node))
    if declares or len(functions) != _count(program, old) or functions[0].node is not node:
        return None
    functions[0].decorators = old.decorators
    return (functions, stand_in, head) if head is None or head.fits(stand_in) else None


def _definition(tree: ast.Module, indented: bool) -> Any:
    """The function that is all there is in a tree, within an `if` where it is `indented`; else None."""
    body = tree.body
    if indented:
        body = body[0].body if len(body) == 1 and isinstance(body[0], ast.If) and not body[0].orelse else []
    return body[0] if len(body) == 1 and isinstance(body[0], ast.FunctionDef | ast.AsyncFunctionDef) else None


def _count(program: Program, function: Function) -> int:
    """How many functions a function is, with those that stand in it: they come right behind it."""
    behind = itertools.takewhile(lambda one: one.parent >= function.index, program.functions[function.index + 1 :])
    return 1 + sum(1 for _ in behind)


def _functions(program: Program, made: _Made, shift: Shift, length: int) -> list[Function]:
    first = made.functions[0].index
    found = [
        one if one.node[1] < shift.end or (not shift.by and one.node[0] > shift.end) else _moved(one, shift)
        for one in program.functions
    ]
    found[first : first + len(made.functions)] = made.functions
    if made.put is not None:
        made.put(found[made.functions[0].parent])
    module = found[0]
    module.node = module.regions[0].node = (0, length)
    return found


def _moved(function: Function, shift: Shift) -> Function:
    regions = [
        Region(one.kind, one.parent, one.test, shift.span(one.node), one.implied, one.leaves, one.target_slots)
        for one in function.regions
    ]
    return function.moved(shift.span(function.node), function.nodes.moved(shift), regions)


def _by_lines(shift: Shift, old: array.array[int], new: array.array[int]) -> Shift:
    """The same for line numbers. What ends where the function did ends on its last line."""
    ends = bisect.bisect_right(old, shift.end - 1), bisect.bisect_right(new, shift.to - 1)
    return Shift(*ends, len(new) - len(old))


def _comments(
    old: Iterable[Suppression], change: _Change, made: Iterable[Suppression], shift: Shift, every: int
) -> list[Suppression]:
    """The suppressions of the whole text, which has `every` many lines; `shift` is of line numbers."""
    found = list(made)
    for one in old:
        if one.start < change.begin or one.start >= change.stop:
            by = change.delta if one.start >= change.stop else 0
            first, last, line = shift.of(one.first_line), shift.of(one.last_line), shift.of(one.line)
            found.append(Suppression(one.codes, one.reason, first, last, line, one.start + by, one.end + by, one.kind))
    whole = (late.replace(one, last_line=every) if one.kind == "file" else one for one in found)
    return sorted(whole, key=lambda one: one.start)


def _lower_down(one: Suppression, by: int, lines: int) -> Suppression:
    first = one.first_line if one.kind == "file" else one.first_line + lines
    down = first, one.last_line + lines, one.line + lines
    return Suppression(one.codes, one.reason, *down, one.start + by, one.end + by, one.kind)


def _marks(old: array.array[int], change: _Change, made: array.array[int]) -> array.array[int]:
    """The offsets of the comments of the whole text."""
    before, behind = bisect.bisect_left(old, change.begin), bisect.bisect_left(old, change.stop)
    return old[:before] + made + array.array("i", [at + change.delta for at in old[behind:]])


def _parentheses(
    old: array.array[int], span: tuple[int, int], shift: Shift, made: array.array[int]
) -> array.array[int]:
    """What `portable.parenthesised` gives for the whole text, where the function had `span`."""
    found = array.array("i")
    for at in range(0, len(old), 4):
        if not span[0] <= old[at] < span[1]:
            found.extend(map(shift.of, old[at : at + 4]))
    return found + made
