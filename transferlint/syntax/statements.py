"""Lowering of simple statements, and the table of all statements."""

from __future__ import annotations

from typing import Any

import libcst as cst

from transferlint.syntax import branches, functions, loops, targets
from transferlint.syntax.builder import Builder
from transferlint.syntax.constants import dotted, written
from transferlint.syntax.program import Discard, Import, Raise, Return, Test
from transferlint.syntax.spelling import identifier


def discard(b: Builder, node: cst.Expr) -> None:
    b.emit(Discard(b.expressions[type(node.value)](b, node.value)), node)


def assign(b: Builder, node: cst.Assign) -> None:
    value = b.expressions[type(node.value)](b, node.value)
    for item in node.targets:
        targets.assign(b, item.target, value)


def annotated(b: Builder, node: cst.AnnAssign) -> None:
    """The annotation is recorded as text and not computed; without a value nothing else happens."""
    target = node.target
    if isinstance(target, cst.Name):
        name = identifier(target.value)
        if name not in b.declared_outer:
            b.function.annotations[b.slot(name)] = written(node.annotation.annotation)
    elif isinstance(target, cst.Attribute):
        _declare(b, target, node.annotation)
    if node.value is not None:
        targets.assign(b, target, b.expressions[type(node.value)](b, node.value))


def _declare(b: Builder, target: cst.Attribute, annotation: cst.Annotation) -> None:
    """`self.x: T` in a method of a class."""
    owner = b.program.functions[b.function.parent] if b.function.parent >= 0 else None
    given = b.function.parameters[0].name if b.function.parameters else ""
    of_self = isinstance(target.value, cst.Name) and target.value.value == given == "self"
    if of_self and owner is not None and owner.kind == "class":
        owner.declared.setdefault(identifier(target.attr.value), written(annotation.annotation))


def delete(b: Builder, node: cst.Del) -> None:
    targets.delete(b, node.target)


def return_(b: Builder, node: cst.Return) -> None:
    b.emit(Return(None if node.value is None else b.expressions[type(node.value)](b, node.value)), node)
    b.left = "return"


def raise_(b: Builder, node: cst.Raise) -> None:
    value = None if node.exc is None else b.expressions[type(node.exc)](b, node.exc)
    if node.cause is not None:
        b.expressions[type(node.cause.item)](b, node.cause.item)
    b.emit(Raise(value), node)
    b.left = "raise"


def assert_(b: Builder, node: cst.Assert) -> None:
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


def import_(b: Builder, node: Any) -> None:
    for alias in node.names:
        module = dotted(alias.name)
        bound: Any = alias.name
        if alias.asname is not None:
            bound = alias.asname.name
        else:
            module = module.split(".", 1)[0]
            while type(bound) is cst.Attribute:
                bound = bound.value
        b.bind(identifier(bound.value), b.emit(Import(module, ""), alias), bound)


def import_from(b: Builder, node: Any) -> None:
    module = "." * len(node.relative) + (dotted(node.module) if node.module is not None else "")
    if isinstance(node.names, cst.ImportStar):
        b.emit(Import(module, "*"), node.names)
        return
    for alias in node.names:
        bound = alias.asname.name if alias.asname is not None else alias.name
        b.bind(identifier(bound.value), b.emit(Import(module, identifier(alias.name.value)), alias), bound)


def declare(b: Builder, node: cst.Global | cst.Nonlocal) -> None:
    if b.function.kind != "module":
        b.declared_outer.update(identifier(item.name.value) for item in node.names)


def type_alias(b: Builder, node: cst.TypeAlias) -> None:
    """`type X = value`: computed only when asked for, but what X stands for is known here."""
    targets.assign(b, node.name, b.expressions[type(node.value)](b, node.value))


def nothing(b: Builder, node: Any) -> None:
    """`pass`, and kinds of statements that this version does not know."""


STATEMENTS: dict[type, Any] = {
    cst.Expr: discard,
    cst.Assign: assign,
    cst.AnnAssign: annotated,
    cst.AugAssign: targets.augment,
    cst.Del: delete,
    cst.Return: return_,
    cst.Raise: raise_,
    cst.Assert: assert_,
    cst.Import: import_,
    cst.ImportFrom: import_from,
    cst.Global: declare,
    cst.Nonlocal: declare,
    cst.TypeAlias: type_alias,
    cst.Pass: nothing,
    cst.If: branches.if_,
    cst.For: loops.for_,
    cst.While: loops.while_,
    cst.Break: loops.break_,
    cst.Continue: loops.continue_,
    cst.With: branches.with_,
    cst.Try: branches.try_,
    cst.TryStar: branches.try_,
    cst.Match: branches.match,
    cst.FunctionDef: functions.define,
    cst.ClassDef: functions.define_class,
}
for _name, _lowering in (("LazyImport", import_), ("LazyImportFrom", import_from)):
    if hasattr(cst, _name):
        STATEMENTS[getattr(cst, _name)] = _lowering
