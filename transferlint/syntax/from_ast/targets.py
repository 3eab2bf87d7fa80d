"""Lowering of what is assigned to, and of patterns; see `syntax/targets.py` and `syntax/patterns.py`."""

from __future__ import annotations

import ast
from typing import Any

from transferlint.syntax.from_ast import expressions, parts
from transferlint.syntax.from_ast.builder import Builder
from transferlint.syntax.from_ast.places import Part
from transferlint.syntax.program import Attr, Binary, Delete, Exception_, Reg, SetAttr, SetItem, Subscript, Unpack


def assign(b: Builder, target: Any, value: Reg) -> None:
    """Bind a target to a value."""
    kind = type(target)
    if kind is ast.Name:
        b.bind(target.id, value, target)
    elif kind is ast.Attribute:
        b.emit(SetAttr(_read(b, target.value), target.attr, value), target)
    elif kind is ast.Subscript:
        base = _read(b, target.value)
        b.emit(SetItem(base, expressions.index(b, target), value), target)
    elif kind is ast.Tuple or kind is ast.List:
        elements = target.elts
        star = next((i for i, element in enumerate(elements) if type(element) is ast.Starred), -1)
        for i, element in enumerate(elements):
            inner = element.value if type(element) is ast.Starred else element
            assign(b, inner, b.emit(Unpack(value, i, len(elements), star), inner))
    elif kind is ast.Starred:
        assign(b, target.value, value)


def augment(b: Builder, node: ast.AugAssign) -> None:
    """`target op= value`: the parts of the target are computed once."""
    target: Any = node.target
    operator = expressions.OPERATORS[type(node.op)]
    if type(target) is ast.Attribute:
        base = _read(b, target.value)
        old = b.emit(Attr(base, target.attr), target)
        new = b.emit(Binary(operator, old, _read(b, node.value), True), node)
        b.emit(SetAttr(base, target.attr, new), target)
    elif type(target) is ast.Subscript:
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
    if kind is ast.Name:
        if target.id not in b.declared_outer:
            b.emit(Delete(b.slot(target.id)), target)
    elif kind is ast.Attribute:
        _read(b, target.value)
    elif kind is ast.Subscript:
        _read(b, target.value)
        expressions.index(b, target)
    elif kind is ast.Tuple or kind is ast.List:
        for element in target.elts:
            delete(b, element)


def names(target: Any) -> list[str]:
    """The names that a target binds, left to right."""
    kind = type(target)
    if kind is ast.Name:
        return [target.id]
    if kind is ast.Tuple or kind is ast.List:
        return [name for element in target.elts for name in names(element)]
    return names(target.value) if kind is ast.Starred else []


def _read(b: Builder, node: Any) -> Reg:
    reg: Reg = b.expressions[type(node)](b, node)
    return reg


def capture(b: Builder, pattern: Any, subject: Reg) -> None:
    """Read what a pattern compares with and bind what it captures, left to right."""
    kind = type(pattern)
    if kind is ast.MatchValue:
        _read(b, pattern.value)
    elif kind is ast.MatchAs:
        if pattern.pattern is not None:
            capture(b, pattern.pattern, subject)
        _bind(b, pattern.name, Part(parts.last_name, pattern), subject)
    elif kind is ast.MatchStar:
        _bind(b, pattern.name, Part(parts.last_name, pattern), subject)
    elif kind is ast.MatchOr or kind is ast.MatchSequence:
        for inner in pattern.patterns:
            capture(b, inner, subject)
    elif kind is ast.MatchMapping:
        for key, inner in zip(pattern.keys, pattern.patterns, strict=True):
            _read(b, key)
            capture(b, inner, subject)
        _bind(b, pattern.rest, Part(parts.rest_name, pattern), subject)
    elif kind is ast.MatchClass:
        b.places.closers.add(b.places.raw(pattern)[1] - 1)
        _read(b, pattern.cls)
        for inner in (*pattern.patterns, *pattern.kwd_patterns):
            capture(b, inner, subject)


def _bind(b: Builder, name: str | None, part: Part, subject: Reg) -> None:
    if name is not None and name != "_":
        b.bind(name, b.emit(Exception_(subject), part), part)


def always_matches(pattern: Any) -> bool:
    """Whether a pattern refuses nothing: a name, `_`, or one of these behind `|` or `as`."""
    if type(pattern) is ast.MatchAs:
        return pattern.pattern is None or always_matches(pattern.pattern)
    return type(pattern) is ast.MatchOr and any(always_matches(inner) for inner in pattern.patterns)
