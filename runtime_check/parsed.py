"""A source file, parsed, and what is asked of an expression in it."""

from __future__ import annotations

import ast
import enum
import re
from collections.abc import Iterator, Sequence

from transferlint.knowledge import catalogue
from transferlint.knowledge.api import Effect
from transferlint.knowledge.libraries import ENVIRONMENTS
from transferlint.model import Site

_GIVES = ("step", "reset")  # what an environment gives (gymnasium.farama.org/api/env)
_SETTINGS = re.compile(r"(^|_)(args|config|cfg|opts?|options|hparams|settings)$")
_Loop = ast.For | ast.AsyncFor | ast.While
_Scope = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.Module


class Origin(enum.Enum):
    """Where the data of an upload comes from, as far as the function shows."""

    ENVIRONMENT = "an environment"  # a simulated one, which computes on the host
    LOADER = "a loader"  # what a loop goes over
    MADE = "made"  # a tensor that is made there, of data that differs from turn to turn
    STEADY = "steady"  # the same, of what no loop around it binds
    FILL = "fill"  # values that the device could make as well
    UNKNOWN = "unknown"


class ParsedFile:
    """The expressions of a file by their places, and the functions, loops and branches around them."""

    def __init__(self, tree: ast.Module, lines: Sequence[str]) -> None:
        self._lines = lines
        self._above: dict[ast.AST, ast.AST] = {}
        self._by_line: dict[int, list[ast.expr | ast.If | ast.While]] = {}
        for node in ast.walk(tree):
            for below in ast.iter_child_nodes(node):
                self._above[below] = node
            if isinstance(node, ast.expr | ast.If | ast.While):
                self._by_line.setdefault(node.lineno, []).append(node)

    def at(self, site: Site) -> ast.expr | None:
        """The expression at a site; where no columns are known, the only call of the line. A branch by what a test says
        has the columns of the whole statement: it is at the test."""
        here = self._by_line.get(site.line, [])
        if not site.column:
            calls = [node for node in here if isinstance(node, ast.Call)]
            outer = [node for node in calls if not any(node is not one and node in ast.walk(one) for one in calls)]
            return outer[0] if len(outer) == 1 else None
        found = next((node for node in here if self._spans(node, site)), None)
        return found.test if isinstance(found, ast.If | ast.While) else found

    def _spans(self, node: ast.expr | ast.stmt, site: Site) -> bool:
        end = (node.end_lineno or node.lineno, node.end_col_offset or node.col_offset)
        start = (site.line, self._byte(site.line, site.column))
        return start == (node.lineno, node.col_offset) and end == (
            site.end_line,
            self._byte(site.end_line, site.end_column),
        )

    def _byte(self, line: int, column: int) -> int:
        return len(self._lines[line - 1][: column - 1].encode()) if line <= len(self._lines) else -1

    def around(self, node: ast.AST) -> Iterator[tuple[ast.AST, ast.AST]]:
        """What a node lies in, innermost first, each with the part of it that the node lies in."""
        while (above := self._above.get(node)) is not None:
            yield above, node
            node = above

    def scope(self, node: ast.AST) -> _Scope | None:
        """The function that a node lies in, else the module."""
        return next((above for above, _ in self.around(node) if isinstance(above, _Scope)), None)

    def bound(self, name: str, node: ast.AST, followed: bool = False) -> Origin:
        """What a variable holds where a node uses it: STEADY where no loop around binds it."""
        scope = self.scope(node)
        loop: ast.AST | None = None
        for above, _ in self.around(node):
            if above is scope:
                break
            if isinstance(above, ast.For | ast.AsyncFor) and name in _targets(above.target):
                return Origin.LOADER
            if isinstance(above, ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp) and any(
                name in _targets(one.target) for one in above.generators
            ):
                return Origin.LOADER
            loop = above if isinstance(above, _Loop) else loop
        bindings = [] if scope is None else list(_bindings(scope, name))
        if any(_of_environment(value) for _, value in bindings):
            return Origin.ENVIRONMENT
        sources = () if followed else (one for _, value in bindings for one in _plainly_of(value) if one.id != name)
        if any(self.bound(one.id, one, True) is Origin.ENVIRONMENT for one in sources):
            return Origin.ENVIRONMENT
        if loop is None and not isinstance(scope, ast.Module):
            return Origin.UNKNOWN  # whoever calls the function knows
        inside = loop is not None and any(loop is above for at, _ in bindings for above, _ in self.around(at))
        return Origin.UNKNOWN if inside else Origin.STEADY

    def decides(self, node: ast.expr) -> bool:
        """True where a branch or a loop asks for an expression, or, in the same turn, for a variable that holds it."""
        for above, part in self.around(node):
            if isinstance(above, ast.If | ast.While | ast.IfExp) and part is above.test:
                return True
            if isinstance(above, ast.stmt):
                break
        else:
            return False
        names = _targets_of(above)
        loop = next((one for one, _ in self.around(above) if isinstance(one, _Loop)), None)
        if loop is None or not names:
            return False
        tests = (one.test for one in ast.walk(loop) if isinstance(one, ast.If | ast.While | ast.IfExp))
        return any(isinstance(one, ast.Name) and one.id in names for test in tests for one in ast.walk(test))

    def option(self, node: ast.expr) -> str:
        """What lets an expression run: see `Expressions.option`."""
        scope = self.scope(node)
        own = (name for one in _conjuncts(node) if one is not node and (name := self._switch(one, scope)))
        if found := next(own, ""):
            return found
        for above, part in self.around(node):
            tests: list[ast.expr] = []
            if isinstance(above, ast.BoolOp) and isinstance(above.op, ast.And):
                tests = above.values[: next((n for n, one in enumerate(above.values) if one is part), 0)]
            elif isinstance(above, ast.If) and any(one is part for one in above.body):
                tests = [above.test]
            named = (name for test in tests for one in _conjuncts(test) if (name := self._switch(one, scope)))
            if found := next(named, ""):
                return found
            if above is scope:
                break
        return ""

    def _switch(self, test: ast.expr, scope: _Scope | None) -> str:
        """What a test asks for, where that is an option."""
        if isinstance(test, ast.Compare) and isinstance(test.left, ast.Name) and isinstance(scope, ast.FunctionDef):
            none = isinstance(test.ops[0], ast.Is) and isinstance(test.comparators[0], ast.Constant)
            given = {one.arg for one in (*scope.args.args, *scope.args.kwonlyargs)}
            return f"`{test.left.id}` being None" if none and test.left.id in given else ""
        name = self._option(test, scope)
        return f"the option `{name}`" if name else ""

    def _option(self, test: ast.expr, scope: _Scope | None) -> str:
        if isinstance(test, ast.Name) and isinstance(scope, ast.FunctionDef):
            if test.id in _switches(scope):
                return test.id
            values = [value for _, value in _bindings(scope, test.id)]
            return self._option(values[0], None) if len(values) == 1 else ""
        if not isinstance(test, ast.Attribute):
            return ""
        holding = test.value.attr if isinstance(test.value, ast.Attribute) else getattr(test.value, "id", "")
        if _SETTINGS.search(holding):
            return test.attr
        holder = next((one for one, _ in self.around(scope) if isinstance(one, ast.ClassDef)), None) if scope else None
        for made in holder.body if holder is not None else ():
            if isinstance(made, ast.FunctionDef) and made.name == "__init__" and test.attr in _switches(made):
                return test.attr
        return ""


def of_data() -> frozenset[str]:
    """Names of what makes a tensor of the data that it is given."""
    return catalogue.makers(Effect.DATA, Effect.ARRAY, Effect.NEW)


def fills() -> frozenset[str]:
    """Names of what makes a tensor of numbers that it knows or draws."""
    return catalogue.makers(Effect.FILL, Effect.LIKE)


def data_of(node: ast.expr) -> tuple[str, list[ast.expr]]:
    """What makes the tensor that an expression moves, and what of: ("tensor", [`[w, v]`]); ("", [`x`]) for one that is
    there."""
    while isinstance(node, ast.Call):
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if name in of_data() or name in fills():
            return name, node.args[:1] if name in of_data() else []
        if not isinstance(node.func, ast.Attribute):
            break
        node = node.func.value
    return "", [node]


def names_in(parts: Sequence[ast.expr]) -> list[str]:
    """The variables that expressions read."""
    return list(dict.fromkeys(one.id for part in parts for one in ast.walk(part) if isinstance(one, ast.Name)))


def _targets(target: ast.expr) -> set[str]:
    return {one.id for one in ast.walk(target) if isinstance(one, ast.Name)}


def _stored(target: ast.expr) -> set[str]:
    return {one.id for one in ast.walk(target) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)}


def _targets_of(statement: ast.AST) -> set[str]:
    if isinstance(statement, ast.Assign):
        return {name for target in statement.targets for name in _stored(target)}
    return _stored(statement.target) if isinstance(statement, ast.AnnAssign) else set()


def _bindings(scope: _Scope, name: str) -> Iterator[tuple[ast.stmt, ast.expr]]:
    """The statements of a scope that bind a variable, each with the value."""
    for one in ast.walk(scope):
        if isinstance(one, ast.Assign | ast.AnnAssign) and one.value is not None and name in _targets_of(one):
            yield one, one.value


def _of_environment(value: ast.expr) -> bool:
    """True for what `env.step(...)` or `env.reset()` gives."""
    if not isinstance(value, ast.Call) or not isinstance(value.func, ast.Attribute) or value.func.attr not in _GIVES:
        return False
    holder = value.func.value
    name = holder.attr if isinstance(holder, ast.Attribute) else getattr(holder, "id", "")
    return ENVIRONMENTS.search(name) is not None


def _plainly_of(value: ast.expr) -> list[ast.Name]:
    """The variables whose data the host hands on in a value: `x`, `x.copy()`, `np.logical_or(x, y)`."""
    if isinstance(value, ast.Name):
        return [value]
    if not isinstance(value, ast.Call) or not isinstance(value.func, ast.Attribute):
        return []
    holder = value.func.value
    if isinstance(holder, ast.Name) and holder.id in ("np", "numpy"):
        return [one for one in value.args if isinstance(one, ast.Name)]
    return [holder] if isinstance(holder, ast.Name) else []


def _conjuncts(test: ast.expr) -> list[ast.expr]:
    return test.values if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) else [test]


def _switches(function: ast.FunctionDef) -> set[str]:
    """The parameters of a function that are on or off by default."""
    plain = [*function.args.posonlyargs, *function.args.args]
    pairs = [*zip(plain[len(plain) - len(function.args.defaults) :], function.args.defaults, strict=True)]
    pairs += [
        (one, value) for one, value in zip(function.args.kwonlyargs, function.args.kw_defaults, strict=True) if value
    ]
    return {one.arg for one, value in pairs if isinstance(value, ast.Constant) and isinstance(value.value, bool)}
