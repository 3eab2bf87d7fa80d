"""What a function evaluates itself, in order, and what is known of how often: calls, subscripts, truth tests."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Iterable, Iterator

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_FOR = (ast.For, ast.AsyncFor)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_TESTS = (ast.If, ast.While, ast.IfExp, ast.Assert)
_WITH = (ast.With, ast.AsyncWith)
_ON = (ast.Continue, ast.Break)  # what leaves out the rest of a turn, and the loop goes on or is entered again


@dataclasses.dataclass(frozen=True, slots=True)
class Where:
    """Whether an expression may run several times in one call of the function, and which stretch of straight code it
    belongs to (see `sources.Place`)."""

    repeats: bool
    stretch: tuple[int, int, int] | None

    def perhaps(self) -> Where:
        """The same for what is conditional."""
        return Where(self.repeats, None)


Evaluated = Iterator[tuple[ast.expr, str, Where]]
_ONCE = Where(False, (0, 0, 0))


def in_body(node: ast.AST) -> Evaluated:
    """What a function or module evaluates, operands before what takes them: expressions, with "" for calls and else
    "truth" or "subscript". Of nested functions and classes there is only what their definition evaluates."""
    if isinstance(node, ast.Lambda):
        yield from _evaluated(node.body, _ONCE)
    elif isinstance(node, (*FUNCTIONS, ast.ClassDef, ast.Module)):
        yield from _statements(node.body, _ONCE)
    else:  # a comprehension
        yield from _evaluated(node, Where(True, None))


def _statements(body: Iterable[ast.stmt], where: Where) -> Evaluated:
    """Statements one after the other; one that may go on with the next turn ends a stretch of a loop's body."""
    for statement in body:
        yield from _evaluated(statement, where)
        if where.repeats and where.stretch and any(isinstance(one, _ON) for one in ast.walk(statement)):
            first, last, number = where.stretch
            where = Where(True, (first, last, number + 1))


def _evaluated(node: ast.AST, where: Where) -> Evaluated:
    if isinstance(node, (*_FOR, ast.While)):
        yield from _loop(node, where)
        return
    if isinstance(node, _WITH):
        for item in node.items:
            yield from _evaluated(item, where)
        yield from _statements(node.body, where)
        return
    if isinstance(node, _COMPREHENSIONS):
        where = Where(True, None)
    for child, certain in _operands(node):
        yield from _evaluated(child, where if certain else where.perhaps())
    if isinstance(node, ast.Call):
        yield node, "", where
    elif isinstance(node, ast.Subscript):
        yield node, "subscript", where
    for test in _tests(node):
        yield from ((one, "truth", where.perhaps()) for one in _tested(test))


def _loop(node: ast.For | ast.AsyncFor | ast.While, where: Where) -> Evaluated:
    turn = Where(True, (node.lineno, node.end_lineno or node.lineno, 0))
    if isinstance(node, ast.While):
        yield from _evaluated(node.test, turn.perhaps())
        yield from ((one, "truth", turn.perhaps()) for one in _tested(node.test))
    else:
        yield from _evaluated(node.iter, where)
        yield from _evaluated(node.target, turn)
    yield from _statements(node.body, turn)
    for statement in node.orelse:
        yield from _evaluated(statement, where.perhaps())


def _operands(node: ast.AST) -> Iterable[tuple[ast.AST, bool]]:
    """What is evaluated within a node, in order, and whether it is whenever the node is."""
    if isinstance(node, (*FUNCTIONS, ast.Lambda)):
        decorators = [] if isinstance(node, ast.Lambda) else node.decorator_list
        defaults = [*node.args.defaults, *(one for one in node.args.kw_defaults if one is not None)]
        return [(one, True) for one in (*decorators, *defaults)]
    if isinstance(node, ast.ClassDef):
        return [(one, True) for one in (*node.decorator_list, *node.bases, *node.keywords)]
    if isinstance(node, ast.Assign):
        return [(one, True) for one in (node.value, *node.targets)]
    if isinstance(node, (ast.If, ast.IfExp)):
        return [(child, child is node.test) for child in ast.iter_child_nodes(node)]
    if isinstance(node, ast.BoolOp):
        return [(child, child is node.values[0]) for child in node.values]
    if isinstance(node, ast.Compare):
        return [(child, number < 2) for number, child in enumerate((node.left, *node.comparators))]
    certain = not isinstance(node, (ast.Try, ast.Match, ast.Assert))
    return [(child, certain) for child in ast.iter_child_nodes(node)]


def _tests(node: ast.AST) -> Iterable[ast.expr]:
    """The expressions whose truth a node asks."""
    if isinstance(node, _TESTS):
        return (node.test,)
    if isinstance(node, ast.BoolOp):
        return node.values
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return (node.operand,)
    if isinstance(node, ast.comprehension):
        return node.ifs
    if isinstance(node, ast.match_case) and node.guard is not None:
        return (node.guard,)
    if isinstance(node, ast.Compare) and len(node.ops) > 1:  # a < b < c asks whether a < b
        return (node,)
    return ()


def _tested(test: ast.expr) -> Iterable[ast.expr]:
    """The expression whose truth is asked: not one of whose parts it is asked instead, nor what is a bool anyway."""
    if isinstance(test, (ast.BoolOp, ast.Constant)) or (isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not)):
        return ()
    if isinstance(test, ast.Compare) and all(isinstance(one, (ast.Is, ast.IsNot)) for one in test.ops):
        return ()
    return (test,)
