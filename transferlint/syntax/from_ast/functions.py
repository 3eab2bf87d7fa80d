"""Lowering of what makes a function of its own; see `syntax/functions.py`."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from transferlint.syntax import scopes
from transferlint.syntax.from_ast import parts
from transferlint.syntax.from_ast.builder import Builder
from transferlint.syntax.from_ast.places import Part
from transferlint.syntax.program import Make, Parameter, Reg, Return


def define(b: Builder, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
    """`def`: decorators, defaults, the function, its name."""
    decorators = _decorators(b, node.decorator_list)
    defaults = _defaults(b, node.args)
    inner = _begin(b, "function", node.name, node)
    function = inner.function
    function.is_async = type(node) is ast.AsyncFunctionDef
    function.decorators = [b.places.written(decorator) for decorator in node.decorator_list]
    function.returns = b.places.written(node.returns) if node.returns is not None else ""
    _type_parameters(inner, node)
    _parameters(inner, node.args)
    inner.run(without_docstring(node.body))
    inner.finish()
    made = b.emit(Make(function.index, decorators, defaults, (), ()), node)
    b.bind(node.name, made, Part(parts.defined_name, node))


def define_class(b: Builder, node: ast.ClassDef) -> None:
    """`class`: decorators, bases, keywords, the body as a function, its name."""
    decorators = _decorators(b, node.decorator_list)
    table = b.expressions
    bases = tuple(table[type(base)](b, base) for base in node.bases)
    keywords = tuple((item.arg or "", table[type(item.value)](b, item.value)) for item in node.keywords)
    if bases or keywords:
        b.places.closers.add(parts.end_of_bases(b.places, node))
    inner = _begin(b, "class", node.name, node)
    inner.function.decorators = [b.places.written(decorator) for decorator in node.decorator_list]
    _type_parameters(inner, node)
    inner.run(without_docstring(node.body))
    inner.finish()
    made = b.emit(Make(inner.function.index, decorators, (), bases, keywords), node)
    b.bind(node.name, made, Part(parts.defined_name, node))


def lambda_(b: Builder, node: ast.Lambda) -> Reg:
    """`lambda`: a function whose body is returned."""
    defaults = _defaults(b, node.args)
    inner = _begin(b, "lambda", "<lambda>", node)
    _parameters(inner, node.args)
    body = node.body
    inner.emit(Return(inner.expressions[type(body)](inner, body)), body)
    inner.function.regions[0].leaves = "return"
    inner.finish()
    return b.emit(Make(inner.function.index, (), defaults, (), ()), node)


def without_docstring(body: list[ast.stmt]) -> list[ast.stmt]:
    """The statements of a function, class or module without the docstring they begin with."""
    first: Any = body[0] if body else None
    text = type(first) is ast.Expr and type(first.value) is ast.Constant and type(first.value.value) is str
    return body[1:] if text else body


def _begin(b: Builder, kind: str, name: str, node: Any) -> Builder:
    """A new function of the program within the one under construction."""
    function, captured = scopes.function(b, kind, name, node)
    return Builder(b.program, function, b.statements, b.expressions, captured, b.places)


def _decorators(b: Builder, decorators: list[ast.expr]) -> tuple[Reg, ...]:
    table = b.expressions
    return tuple(table[type(item)](b, item) for item in decorators)


def _all(given: ast.arguments) -> Iterator[tuple[ast.arg, str, ast.expr | None]]:
    """The parameters in their order, each with its kind and its default."""
    positional = [*given.posonlyargs, *given.args]
    missing = len(positional) - len(given.defaults)
    for i, one in enumerate(positional):
        yield one, "positional", given.defaults[i - missing] if i >= missing else None
    if given.vararg is not None:
        yield given.vararg, "star", None
    for one, default in zip(given.kwonlyargs, given.kw_defaults, strict=True):
        yield one, "keyword", default
    if given.kwarg is not None:
        yield given.kwarg, "double_star", None


def _defaults(b: Builder, given: ast.arguments) -> tuple[tuple[str, Reg], ...]:
    """The default values, computed where the function is made."""
    table = b.expressions
    return tuple((one.arg, table[type(default)](b, default)) for one, _, default in _all(given) if default is not None)


def _parameters(inner: Builder, given: ast.arguments) -> None:
    function = inner.function
    written = inner.places.written
    for one, kind, value in _all(given):
        slot = inner.slot(one.arg)
        annotation = written(one.annotation) if one.annotation is not None else ""
        default = written(value) if value is not None else ""
        function.parameters.append(Parameter(one.arg, slot, kind, annotation, default))
        if annotation:
            function.annotations[slot] = annotation


def _type_parameters(inner: Builder, node: Any) -> None:
    """`def f[T]`: T is a variable that nothing stores to."""
    for item in getattr(node, "type_params", ()):
        inner.slot(item.name)
