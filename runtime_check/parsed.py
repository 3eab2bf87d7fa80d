"""A source file, parsed, and what is asked of an expression in it."""

from __future__ import annotations

import ast
import dataclasses
import enum
import re
from collections.abc import Callable, Collection, Iterator, Sequence

from transferlint.knowledge import catalogue
from transferlint.knowledge.api import Effect
from transferlint.knowledge.libraries import ENVIRONMENTS
from transferlint.model import Site

_GIVES = ("step", "reset")  # what an environment gives (gymnasium.farama.org/api/env)
_SETTINGS = re.compile(r"(^|_)(args|config|cfg|opts?|options|hparams|settings)$")
_DRAWS = re.compile(r"((np|numpy)\.)?random\.\w+$")
_Asking = ast.If | ast.While | ast.Assert
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


class Asked(enum.Enum):
    """What hangs on a number that the host reads."""

    ASSERTED = "an assertion"
    CHOSEN = "a branch"  # of which either goes on
    DECIDES = "a way out, or a loop"  # or it is asked by a variable
    NOT = "nothing"


@dataclasses.dataclass(frozen=True, slots=True)
class Option:
    """What a library's line depends on: a parameter of a function, or a setting, which has none."""

    name: str
    function: ast.FunctionDef | None = None


class ParsedFile:
    """The expressions of a file by their places, and the functions, loops and branches around them."""

    def __init__(self, tree: ast.Module, lines: Sequence[str]) -> None:
        self._lines = lines
        self._above: dict[ast.AST, ast.AST] = {}
        self._by_line: dict[int, list[ast.expr | _Asking]] = {}
        for node in ast.walk(tree):
            for below in ast.iter_child_nodes(node):
                self._above[below] = node
            if isinstance(node, ast.expr | _Asking):
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
        return found.test if isinstance(found, _Asking) else found

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

    def asked(self, node: ast.expr) -> Asked:
        """What asks for an expression, or, in the same turn, for a variable that holds it."""
        for above, part in self.around(node):
            if isinstance(above, ast.Assert) and part is above.test:
                return Asked.ASSERTED
            if isinstance(above, ast.If | ast.While | ast.IfExp) and part is above.test:
                return Asked.DECIDES if isinstance(above, ast.While) or _leaves(above) else Asked.CHOSEN
            if isinstance(above, ast.stmt):
                return Asked.DECIDES if self._asked_later(above) else Asked.NOT
        return Asked.NOT

    def _asked_later(self, above: ast.stmt) -> bool:
        names = _targets_of(above)
        loop = next((one for one, _ in self.around(above) if isinstance(one, _Loop)), None)
        if loop is None or not names:
            return False
        tests = (one.test for one in ast.walk(loop) if isinstance(one, ast.If | ast.While | ast.IfExp))
        return any(isinstance(one, ast.Name) and one.id in names for test in tests for one in ast.walk(test))

    def options(self, node: ast.expr) -> Iterator[Option]:
        """What lets an expression run, innermost first: see `Expressions.option`."""
        scope = self.scope(node)
        asked = [one for one in _conjuncts(node) if one is not node]
        for above, part in self.around(node):
            if isinstance(above, ast.BoolOp) and isinstance(above.op, ast.And):
                asked += above.values[: next((n for n, one in enumerate(above.values) if one is part), 0)]
            elif isinstance(above, ast.If) and any(one is part for one in above.body):
                asked.append(above.test)
            if above is scope:
                break
        found = (self._option(one, scope) for test in asked for one in _conjuncts(test))
        yield from (one for one in found if one is not None)

    def told(self, value: ast.expr) -> Option | None:
        """What a function hands on that was told to it, or to its class; None where it knows the value itself."""
        scope = self.scope(value)
        if isinstance(value, ast.Name) and isinstance(scope, ast.FunctionDef):
            return Option(value.id, scope) if value.id in _parameters(scope) else None
        return self._attribute(value, scope, _parameters) if isinstance(value, ast.Attribute) else None

    def _option(self, test: ast.expr, scope: _Scope | None) -> Option | None:
        if isinstance(test, ast.Name) and isinstance(scope, ast.FunctionDef):
            if test.id in _switches(scope):
                return Option(test.id, scope)
            values = [value for _, value in _bindings(scope, test.id)]
            return self._option(values[0], None) if len(values) == 1 else None
        return self._attribute(test, scope, _switches) if isinstance(test, ast.Attribute) else None

    def _attribute(
        self, test: ast.Attribute, scope: _Scope | None, given: Callable[[ast.FunctionDef], Collection[str]]
    ) -> Option | None:
        holding = test.value.attr if isinstance(test.value, ast.Attribute) else getattr(test.value, "id", "")
        if _SETTINGS.search(holding):
            return Option(test.attr)
        holder = next((one for one, _ in self.around(scope) if isinstance(one, ast.ClassDef)), None) if scope else None
        for made in holder.body if holder is not None else ():
            if isinstance(made, ast.FunctionDef) and made.name == "__init__" and test.attr in given(made):
                return Option(test.attr)
        return None


def handed(option: Option, call: ast.expr | None) -> ast.expr | None:
    """What a call gives for a parameter of the function that it calls; None where it leaves it out."""
    if not isinstance(call, ast.Call) or option.function is None:
        return None
    for word in call.keywords:
        if word.arg == option.name:
            return word.value
    plain = [one.arg for one in (*option.function.args.posonlyargs, *option.function.args.args)]
    plain = plain[1:] if plain[:1] in (["self"], ["cls"]) else plain
    spread = any(isinstance(one, ast.Starred) for one in call.args)
    pairs = {} if spread else dict(zip(plain, call.args, strict=False))
    return pairs.get(option.name)


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


def drawn(value: ast.expr) -> bool:
    """True for numbers that numpy or Python draws: `np.random.normal(0, 1, size)`."""
    return isinstance(value, ast.Call) and _DRAWS.match(ast.unparse(value.func)) is not None


def names_in(parts: Sequence[ast.expr]) -> list[str]:
    """The variables that expressions read."""
    return list(dict.fromkeys(one.id for part in parts for one in ast.walk(part) if isinstance(one, ast.Name)))


def _leaves(branch: ast.AST) -> bool:
    """True for an `if` by which a loop or a function ends."""
    ways = (ast.Break, ast.Return, ast.Raise)
    return isinstance(branch, ast.If) and any(isinstance(one, ways) for part in branch.body for one in ast.walk(part))


def _parameters(function: ast.FunctionDef) -> set[str]:
    given = function.args
    return {one.arg for one in (*given.posonlyargs, *given.args, *given.kwonlyargs)}


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
