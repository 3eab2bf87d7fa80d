"""What the source says of the expression that a record stands at: what goes up is made of what, and where that comes
from; what an option of the library's would leave out; what decides by a number that is read.

It is read where a report is made, from files that the run names. What is not seen there is not known: names are
followed within one function, and nothing is imported.
"""

from __future__ import annotations

import ast
import enum
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from runtime_check.operands import lines_of
from transferlint.knowledge.libraries import ENVIRONMENTS
from transferlint.model import Site

# What makes a tensor of data of the host's (docs.pytorch.org/docs/stable/torch.html#creation-ops, and the old
# constructors: docs.pytorch.org/docs/stable/tensors.html).
_OF_DATA = frozenset(
    "tensor as_tensor asarray from_numpy frombuffer new_tensor Tensor FloatTensor DoubleTensor HalfTensor LongTensor"
    " IntTensor ShortTensor ByteTensor BoolTensor".split()
)
_FILLS = frozenset(
    "zeros ones full eye empty arange linspace logspace rand randn randint randperm normal zeros_like ones_like"
    " full_like rand_like randn_like empty_like tril_indices triu_indices".split()
)
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


class Expressions:
    """Looks up expressions; each file is read and parsed once. None is found in a file that cannot be."""

    def __init__(self) -> None:
        self._files: dict[str, _File | None] = {}

    def origin(self, site: Site) -> Origin:
        """Where what is uploaded at a site comes from."""
        file, node = self._at(site)
        if file is None or node is None:
            return Origin.UNKNOWN
        maker, data = _data(node)
        if maker in _FILLS:
            return Origin.FILL
        bound = [file.bound(name, node) for name in _names(data)]
        if Origin.ENVIRONMENT in bound:
            return Origin.ENVIRONMENT
        if maker not in _OF_DATA:
            return Origin.LOADER if Origin.LOADER in bound else Origin.UNKNOWN
        plain = not any(isinstance(one, ast.Call) for part in data for one in ast.walk(part))
        return Origin.STEADY if plain and all(one is Origin.STEADY for one in bound) else Origin.MADE

    def assigns_item(self, site: Site) -> bool:
        """True where a site is an element or a part that is assigned to: `x[i] = value`."""
        file, node = self._at(site)
        return file is not None and isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store)

    def decides(self, site: Site) -> bool:
        """True where a branch or a loop depends on what stands at a site, itself or by a variable, in the same turn."""
        file, node = self._at(site)
        return file is not None and node is not None and file.decides(node)

    def text(self, site: Site) -> str:
        """The text of an expression in one line; "" where there is none."""
        _, node = self._at(site)
        return "" if node is None else " ".join(ast.unparse(node).split())

    def option(self, places: Sequence[Site]) -> str:
        """The option that lets any of these places in a library run, the first that there is: a parameter that is on or
        off by default, or a setting; "" where none is seen."""
        for place in places:
            file, node = self._at(place)
            found = file.option(node) if file is not None and node is not None else ""
            if found:
                return found
        return ""

    def left_out(self, call: Site, function: Site) -> tuple[str, tuple[str, ...]]:
        """The name of the function that holds the site `function`, and of its parameters those that default to None and
        that the call at `call` does not give."""
        caller, node = self._at(call)
        called, inside = self._at(function)
        if caller is None or called is None or not isinstance(node, ast.Call) or inside is None:
            return "", ()
        scope = called.scope(inside)
        if not isinstance(scope, ast.FunctionDef):
            return "", ()
        given = {word.arg for word in node.keywords}
        plain = [*scope.args.posonlyargs, *scope.args.args]
        defaults = list(zip(plain[len(plain) - len(scope.args.defaults) :], scope.args.defaults, strict=True))
        defaults += [(one, value) for one, value in zip(scope.args.kwonlyargs, scope.args.kw_defaults, strict=True)
                     if value is not None]  # fmt: skip
        placed = {one.arg for one in plain[: len(node.args)]}
        names = [one.arg for one, value in defaults if isinstance(value, ast.Constant) and value.value is None]
        return scope.name, tuple(name for name in names if name not in given | placed)

    def _at(self, site: Site) -> tuple[_File | None, ast.expr | None]:
        if site.path not in self._files:
            self._files[site.path] = _read(site.path)
        file = self._files[site.path]
        return file, None if file is None else file.at(site)


def _read(path: str) -> _File | None:
    try:
        source = Path(path).read_bytes()
        return _File(ast.parse(source), lines_of(source))
    except (OSError, SyntaxError, ValueError, RecursionError):
        return None


class _File:
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
        """The name of an option that a test asks for."""
        if isinstance(test, ast.Name) and isinstance(scope, ast.FunctionDef):
            if test.id in _switches(scope):
                return test.id
            values = [value for _, value in _bindings(scope, test.id)]
            return self._switch(values[0], None) if len(values) == 1 else ""
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


def _data(node: ast.expr) -> tuple[str, list[ast.expr]]:
    """What makes the tensor that an expression moves, and what of: ("tensor", [`[w, v]`]); ("", [`x`]) for one that is
    there."""
    while isinstance(node, ast.Call):
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if name in _OF_DATA or name in _FILLS:
            return name, node.args[:1] if name in _OF_DATA else []
        if not isinstance(node.func, ast.Attribute):
            break
        node = node.func.value
    return "", [node]


def _names(parts: Sequence[ast.expr]) -> list[str]:
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
