"""Lowering of simple statements, and the table of all statements; see `syntax/statements.py`."""

from __future__ import annotations

import ast
from typing import Any

from transferlint.syntax.from_ast import branches, functions, loops, parts, targets
from transferlint.syntax.from_ast.builder import Builder
from transferlint.syntax.from_ast.places import Part
from transferlint.syntax.program import Discard, Import, Raise, Return, Test


def discard(b: Builder, node: ast.Expr) -> None:
    b.emit(Discard(b.expressions[type(node.value)](b, node.value)), node)


def assign(b: Builder, node: ast.Assign) -> None:
    value = b.expressions[type(node.value)](b, node.value)
    for target in node.targets:
        targets.assign(b, target, value)


def annotated(b: Builder, node: ast.AnnAssign) -> None:
    """The annotation is recorded as text and not computed; without a value nothing else happens."""
    target: Any = node.target
    if type(target) is ast.Name:
        if target.id not in b.declared_outer:
            b.function.annotations[b.slot(target.id)] = b.places.written(node.annotation)
    elif type(target) is ast.Attribute:
        _declare(b, target, node.annotation)
    if node.value is not None:
        targets.assign(b, target, b.expressions[type(node.value)](b, node.value))


def _declare(b: Builder, target: ast.Attribute, annotation: ast.expr) -> None:
    """`self.x: T` in a method of a class."""
    owner = b.program.functions[b.function.parent] if b.function.parent >= 0 else None
    given = b.function.parameters[0].name if b.function.parameters else ""
    of_self = isinstance(target.value, ast.Name) and target.value.id == given == "self"
    if of_self and owner is not None and owner.kind == "class":
        owner.declared.setdefault(target.attr, b.places.written(annotation))


def delete(b: Builder, node: ast.Delete) -> None:
    for target in node.targets:
        targets.delete(b, target)


def return_(b: Builder, node: ast.Return) -> None:
    b.emit(Return(None if node.value is None else b.expressions[type(node.value)](b, node.value)), node)
    b.left = "return"


def raise_(b: Builder, node: ast.Raise) -> None:
    value = None if node.exc is None else b.expressions[type(node.exc)](b, node.exc)
    if node.cause is not None:
        b.expressions[type(node.cause)](b, node.cause)
    b.emit(Raise(value), node)
    b.left = "raise"


def assert_(b: Builder, node: ast.Assert) -> None:
    """The message stands in a region of its own, which nothing follows: it is computed on the way out."""
    outer = b.region
    test = b.expressions[type(node.test)](b, node.test)
    b.emit(Test(test, "assert"), node.test)
    if node.msg is not None:
        asked = b.block
        region = b.add_region("message", test, node, outer)
        b.open(region, asked)
        b.expressions[type(node.msg)](b, node.msg)
        b.function.regions[region].leaves = "raise"
        b.open(outer, asked)


def import_(b: Builder, node: ast.Import) -> None:
    for alias in node.names:
        if alias.asname is not None:
            b.bind(alias.asname, b.emit(Import(alias.name, ""), alias), Part(parts.last_name, alias))
        else:
            module = alias.name.split(".", 1)[0]
            b.bind(module, b.emit(Import(module, ""), alias), Part(parts.first_name, alias))


def import_from(b: Builder, node: ast.ImportFrom) -> None:
    module = "." * node.level + (node.module or "")
    for alias in node.names:
        made = b.emit(Import(module, alias.name), alias)
        if alias.name != "*":
            b.bind(alias.asname or alias.name, made, Part(parts.last_name, alias))


def declare(b: Builder, node: ast.Global | ast.Nonlocal) -> None:
    if b.function.kind != "module":
        b.declared_outer.update(node.names)


def type_alias(b: Builder, node: Any) -> None:
    """`type X = value`: computed only when asked for, but what X stands for is known here."""
    targets.assign(b, node.name, b.expressions[type(node.value)](b, node.value))


def break_(b: Builder, node: ast.Break) -> None:
    if b.loops:
        b.loops[-1].breaks.append(b.block)
    b.left = "break"


def continue_(b: Builder, node: ast.Continue) -> None:
    if b.loops:
        b.link((b.block,), b.loops[-1].header)
    b.left = "continue"


def nothing(b: Builder, node: Any) -> None:
    """`pass`, and kinds of statements that this version does not know."""


STATEMENTS: dict[type, Any] = {
    ast.Expr: discard,
    ast.Assign: assign,
    ast.AnnAssign: annotated,
    ast.AugAssign: targets.augment,
    ast.Delete: delete,
    ast.Return: return_,
    ast.Raise: raise_,
    ast.Assert: assert_,
    ast.Import: import_,
    ast.ImportFrom: import_from,
    ast.Global: declare,
    ast.Nonlocal: declare,
    ast.Pass: nothing,
    ast.If: branches.if_,
    ast.For: loops.for_,
    ast.AsyncFor: loops.for_,
    ast.While: loops.while_,
    ast.Break: break_,
    ast.Continue: continue_,
    ast.With: branches.with_,
    ast.AsyncWith: branches.with_,
    ast.Try: branches.try_,
    ast.Match: branches.match,
    ast.FunctionDef: functions.define,
    ast.AsyncFunctionDef: functions.define,
    ast.ClassDef: functions.define_class,
}
for _name, _lowering in (("TryStar", branches.try_), ("TypeAlias", type_alias)):
    if hasattr(ast, _name):
        STATEMENTS[getattr(ast, _name)] = _lowering
