"""Lowering of what is assigned to: names, attributes, items, tuples and stars; and the names a target binds."""

from __future__ import annotations

from typing import Any

import libcst as cst

from transferlint.syntax import expressions
from transferlint.syntax.builder import Builder
from transferlint.syntax.program import Attr, Binary, Delete, Reg, SetAttr, SetItem, Subscript, Unpack
from transferlint.syntax.spelling import identifier

INPLACE = {
    cst.AddAssign: "+", cst.SubtractAssign: "-", cst.MultiplyAssign: "*", cst.DivideAssign: "/",
    cst.FloorDivideAssign: "//", cst.ModuloAssign: "%", cst.PowerAssign: "**", cst.LeftShiftAssign: "<<",
    cst.RightShiftAssign: ">>", cst.BitOrAssign: "|", cst.BitAndAssign: "&", cst.BitXorAssign: "^",
    cst.MatrixMultiplyAssign: "@",
}  # fmt: skip


def assign(b: Builder, target: Any, value: Reg) -> None:
    """Bind a target to a value."""
    kind = type(target)
    if kind is cst.Name:
        b.bind(identifier(target.value), value, target)
    elif kind is cst.Attribute:
        b.emit(SetAttr(_read(b, target.value), identifier(target.attr.value), value), target)
    elif kind is cst.Subscript:
        base = _read(b, target.value)
        b.emit(SetItem(base, expressions.index(b, target), value), target)
    elif kind is cst.Tuple or kind is cst.List:
        elements = target.elements
        star = next((i for i, element in enumerate(elements) if type(element) is cst.StarredElement), -1)
        for i, element in enumerate(elements):
            assign(b, element.value, b.emit(Unpack(value, i, len(elements), star), element.value))
    elif kind is cst.StarredElement:
        assign(b, target.value, value)


def augment(b: Builder, node: cst.AugAssign) -> None:
    """`target op= value`: the parts of the target are computed once."""
    target: Any = node.target
    operator = INPLACE[type(node.operator)]
    if type(target) is cst.Attribute:
        base = _read(b, target.value)
        old = b.emit(Attr(base, identifier(target.attr.value)), target)
        new = b.emit(Binary(operator, old, _read(b, node.value), True), node)
        b.emit(SetAttr(base, identifier(target.attr.value), new), target)
    elif type(target) is cst.Subscript:
        base = _read(b, target.value)
        index = expressions.index(b, target)
        old = b.emit(Subscript(base, index), target)
        new = b.emit(Binary(operator, old, _read(b, node.value), True), node)
        b.emit(SetItem(base, index, new), target)
    else:
        old = _read(b, target)
        assign(b, target, b.emit(Binary(operator, old, _read(b, node.value), True), node))


def delete(b: Builder, target: Any) -> None:
    """`del target`: a name is unbound; of an attribute or item only the parts are read."""
    kind = type(target)
    if kind is cst.Name:
        name = identifier(target.value)
        if name not in b.declared_outer:
            b.emit(Delete(b.slot(name)), target)
    elif kind is cst.Attribute:
        _read(b, target.value)
    elif kind is cst.Subscript:
        _read(b, target.value)
        expressions.index(b, target)
    elif kind is cst.Tuple or kind is cst.List:
        for element in target.elements:
            delete(b, element.value)


def names(target: Any) -> list[cst.Name]:
    """The names that a target binds, left to right."""
    kind = type(target)
    if kind is cst.Name:
        return [target]
    if kind is cst.Tuple or kind is cst.List:
        return [name for element in target.elements for name in names(element.value)]
    return names(target.value) if kind is cst.StarredElement else []


def _read(b: Builder, node: Any) -> Reg:
    reg: Reg = b.expressions[type(node)](b, node)
    return reg
