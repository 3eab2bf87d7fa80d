"""Lowering of what makes a function of its own: `def`, `class` and `lambda`."""

from __future__ import annotations

from typing import Any

import libcst as cst

from transferlint.syntax import scopes
from transferlint.syntax.builder import Builder
from transferlint.syntax.constants import written
from transferlint.syntax.program import Make, Parameter, Reg, Return
from transferlint.syntax.spelling import identifier


def define(b: Builder, node: cst.FunctionDef) -> None:
    """`def`: decorators, defaults, the function, its name."""
    decorators = _decorators(b, node.decorators)
    defaults = _defaults(b, node.params)
    name = identifier(node.name.value)
    inner = _begin(b, "function", name, node)
    function = inner.function
    function.is_async = node.asynchronous is not None
    function.decorators = [written(decorator.decorator) for decorator in node.decorators]
    function.returns = written(node.returns.annotation) if node.returns is not None else ""
    _type_parameters(inner, node)
    _parameters(inner, node.params)
    inner.run(without_docstring(node.body))
    inner.finish()
    made = b.emit(Make(function.index, decorators, defaults, (), ()), node)
    b.bind(name, made, node.name)


def define_class(b: Builder, node: cst.ClassDef) -> None:
    """`class`: decorators, bases, keywords, the body as a function, its name."""
    decorators = _decorators(b, node.decorators)
    table = b.expressions
    bases = tuple(table[type(base.value)](b, base.value) for base in node.bases)
    keywords = tuple(
        (
            identifier(argument.keyword.value) if argument.keyword is not None else "",
            table[type(argument.value)](b, argument.value),
        )
        for argument in node.keywords
    )
    name = identifier(node.name.value)
    inner = _begin(b, "class", name, node)
    inner.function.decorators = [written(decorator.decorator) for decorator in node.decorators]
    _type_parameters(inner, node)
    inner.run(without_docstring(node.body))
    inner.finish()
    made = b.emit(Make(inner.function.index, decorators, (), bases, keywords), node)
    b.bind(name, made, node.name)


def lambda_(b: Builder, node: cst.Lambda) -> Reg:
    """`lambda`: a function whose body is returned."""
    defaults = _defaults(b, node.params)
    inner = _begin(b, "lambda", "<lambda>", node)
    _parameters(inner, node.params)
    body = node.body
    inner.emit(Return(inner.expressions[type(body)](inner, body)), body)
    inner.function.regions[0].leaves = "return"
    inner.finish()
    return b.emit(Make(inner.function.index, (), defaults, (), ()), node)


def without_docstring(body: Any) -> list[Any]:
    """The statements of a function, class or module without the docstring they begin with."""
    statements = list(body.body)
    if not statements:
        return statements
    line = type(statements[0]) is cst.SimpleStatementLine
    small = statements[0].body if line else statements
    if not small or type(small[0]) is not cst.Expr or not _is_text(small[0].value):
        return statements
    return [*small[1:], *statements[1:]] if line else statements[1:]


def _is_text(node: Any) -> bool:
    """Whether a literal is a string that can be a docstring: no bytes, nothing formatted."""
    while type(node) is cst.ConcatenatedString:
        if not _is_text(node.left):
            return False
        node = node.right
    return type(node) is cst.SimpleString and "b" not in node.prefix.lower()


def _begin(b: Builder, kind: str, name: str, node: Any) -> Builder:
    """A new function of the program within the one under construction."""
    function, captured = scopes.function(b, kind, name, node)
    return Builder(b.program, function, b.statements, b.expressions, captured)


def _decorators(b: Builder, decorators: Any) -> tuple[Reg, ...]:
    table = b.expressions
    return tuple(table[type(item.decorator)](b, item.decorator) for item in decorators)


def _all(params: cst.Parameters) -> list[tuple[cst.Param, str]]:
    """The parameters in their order, each with its kind."""
    found = [(param, "positional") for param in (*params.posonly_params, *params.params)]
    if isinstance(params.star_arg, cst.Param):
        found.append((params.star_arg, "star"))
    found += [(param, "keyword") for param in params.kwonly_params]
    if params.star_kwarg is not None:
        found.append((params.star_kwarg, "double_star"))
    return found


def _defaults(b: Builder, params: cst.Parameters) -> tuple[tuple[str, Reg], ...]:
    """The default values, computed where the function is made."""
    table = b.expressions
    found: list[tuple[str, Reg]] = []
    for group in (params.posonly_params, params.params, params.kwonly_params):
        for param in group:
            value = param.default
            if value is not None:
                found.append((identifier(param.name.value), table[type(value)](b, value)))
    return tuple(found)


def _parameters(inner: Builder, params: cst.Parameters) -> None:
    function = inner.function
    for param, kind in _all(params):
        name = identifier(param.name.value)
        slot = inner.slot(name)
        annotation = written(param.annotation.annotation) if param.annotation is not None else ""
        default = written(param.default) if param.default is not None else ""
        function.parameters.append(Parameter(name, slot, kind, annotation, default))
        if annotation:
            function.annotations[slot] = annotation


def _type_parameters(inner: Builder, node: Any) -> None:
    """`def f[T]`: T is a variable that nothing stores to."""
    found = getattr(node, "type_parameters", None)
    if found is not None:
        for item in found.params:
            inner.slot(identifier(item.param.name.value))
