"""Lowering of literals: numbers, strings, and strings with expressions in them."""

from __future__ import annotations

from typing import Any

import libcst as cst

from transferlint.syntax import constants
from transferlint.syntax.builder import Builder
from transferlint.syntax.program import Const, Format, Reg


def integer(b: Builder, node: cst.Integer) -> Reg:
    return b.emit(Const(constants.integer(node.value)), node)


def number(b: Builder, node: cst.Float | cst.Imaginary) -> Reg:
    return b.emit(Const(constants.number(node.value)), node)


def ellipsis(b: Builder, node: cst.Ellipsis) -> Reg:
    return b.emit(Const(...), node)


def string(b: Builder, node: cst.SimpleString) -> Reg:
    return b.emit(Const(constants.string(node.value)), node)


def concatenated(b: Builder, node: cst.ConcatenatedString) -> Reg:
    parts = constants.pieces(node)
    if all(type(part) is cst.SimpleString for part in parts):
        return b.emit(Const(constants.joined([constants.string(part.value) for part in parts])), node)
    values: list[Reg] = []
    for part in parts:
        if type(part) is not cst.SimpleString:
            _formatted(b, part.parts, values)
    return b.emit(Format(tuple(values)), node)


def formatted(b: Builder, node: Any) -> Reg:
    values: list[Reg] = []
    _formatted(b, node.parts, values)
    return b.emit(Format(tuple(values)), node)


def _formatted(b: Builder, parts: Any, values: list[Reg]) -> None:
    """The expressions of an f-string, each followed by those of its format spec."""
    for part in parts:
        expression = getattr(part, "expression", None)
        if expression is not None:
            values.append(b.expressions[type(expression)](b, expression))
            if part.format_spec is not None:
                _formatted(b, part.format_spec, values)


LITERALS: dict[type, Any] = {
    cst.Integer: integer,
    cst.Float: number,
    cst.Imaginary: number,
    cst.Ellipsis: ellipsis,
    cst.SimpleString: string,
    cst.ConcatenatedString: concatenated,
    cst.FormattedString: formatted,
}
if hasattr(cst, "TemplatedString"):
    LITERALS[cst.TemplatedString] = formatted
