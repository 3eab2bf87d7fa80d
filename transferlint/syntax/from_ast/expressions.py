"""Lowering of expressions; see `syntax/expressions.py`."""

from __future__ import annotations

import ast
from typing import Any

from transferlint.syntax.from_ast import fields
from transferlint.syntax.from_ast.builder import Builder
from transferlint.syntax.program import (
    Attr,
    Await,
    Binary,
    Boolean,
    Call,
    Choice,
    Compare,
    Const,
    Exception_,
    Format,
    Load,
    Mapping,
    Outer,
    Reg,
    Sequence,
    Slice,
    Subscript,
    Test,
    Unary,
    Yield,
)

CHAINED = frozenset((ast.Attribute, ast.Call, ast.Subscript))
OPERATORS: dict[type, str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%", ast.Pow: "**",
    ast.LShift: "<<", ast.RShift: ">>", ast.BitOr: "|", ast.BitAnd: "&", ast.BitXor: "^", ast.MatMult: "@",
    ast.USub: "-", ast.UAdd: "+", ast.Invert: "~", ast.Not: "not",
    ast.Lt: "<", ast.Gt: ">", ast.Eq: "==", ast.LtE: "<=", ast.GtE: ">=", ast.NotEq: "!=", ast.In: "in",
    ast.NotIn: "not in", ast.Is: "is", ast.IsNot: "is not",
}  # fmt: skip


def name(b: Builder, node: ast.Name) -> Reg:
    text = node.id
    code = b.code
    slot = b.slots.get(text)
    if slot is not None:
        code.append(Load(slot))
    elif text in b.captured:
        code.append(Outer(b.captured[text]))
    else:
        b.pending.append(len(code))
        code.append(Outer(text))
    b.nodes.append(node)
    return len(code) - 1


def chain(b: Builder, node: Any) -> Reg:
    """Attributes, calls and subscripts, from the innermost out."""
    spine = [node]
    inner: Any = node.func if type(node) is ast.Call else node.value
    while type(inner) in CHAINED:
        spine.append(inner)
        inner = inner.func if type(inner) is ast.Call else inner.value
    reg: Reg = b.expressions[type(inner)](b, inner)
    code = b.code
    nodes = b.nodes
    while spine:
        node = spine.pop()
        kind = type(node)
        if kind is ast.Attribute:
            code.append(Attr(reg, node.attr))
        elif kind is ast.Call:
            code.append(_call(b, reg, node))
        else:
            code.append(Subscript(reg, index(b, node)))
        nodes.append(node)
        reg = len(code) - 1
    return reg


def _call(b: Builder, function: Reg, node: ast.Call) -> Call:
    table = b.expressions
    args: list[Reg] = []
    stars: list[bool] = []
    for argument in node.args:
        star = type(argument) is ast.Starred
        args.append(table[type(argument)](b, argument))
        stars.append(star)
    keywords = tuple((item.arg or "", table[type(item.value)](b, item.value)) for item in node.keywords)
    return Call(function, tuple(args), keywords, tuple(stars) if True in stars else ())


def index(b: Builder, node: ast.Subscript) -> Reg:
    """What stands between the brackets."""
    inside = node.slice
    kind = type(inside)
    if kind is not ast.Tuple:
        reg: Reg = b.expressions[kind](b, inside)
        return reg
    items, stars = _elements(b, inside.elts)  # type: ignore[attr-defined]
    written = inside if b.places.parenthesised(b.places.raw(inside)) else None
    return b.emit(Sequence("tuple", items, stars), written)


def slice_(b: Builder, node: ast.Slice) -> Reg:
    table = b.expressions
    bounds = [None if part is None else table[type(part)](b, part) for part in (node.lower, node.upper, node.step)]
    return b.emit(Slice(*bounds), node)


def binary(b: Builder, node: ast.BinOp) -> Reg:
    spine = [node]
    inner: Any = node.left
    while type(inner) is ast.BinOp:
        spine.append(inner)
        inner = inner.left
    table = b.expressions
    reg: Reg = table[type(inner)](b, inner)
    while spine:
        node = spine.pop()
        right = node.right
        reg = b.emit(Binary(OPERATORS[type(node.op)], reg, table[type(right)](b, right), False), node)
    return reg


def unary(b: Builder, node: ast.UnaryOp) -> Reg:
    operand = node.operand
    reg = b.expressions[type(operand)](b, operand)
    return b.emit(Unary(OPERATORS[type(node.op)], reg), node)


def comparison(b: Builder, node: ast.Compare) -> Reg:
    table = b.expressions
    operators = []
    operands = [table[type(node.left)](b, node.left)]
    for operator, comparator in zip(node.ops, node.comparators, strict=True):
        operators.append(OPERATORS[type(operator)])
        operands.append(table[type(comparator)](b, comparator))
    return b.emit(Compare(tuple(operators), tuple(operands)), node)


def boolean(b: Builder, node: ast.BoolOp) -> Reg:
    """A first operand that is of the same kind itself is part of this one, with parentheses or without."""
    operator = type(node.op)
    operands: list[Any] = node.values[:0:-1]
    inner: Any = node.values[0]
    while type(inner) is ast.BoolOp and type(inner.op) is operator:
        operands += inner.values[:0:-1]
        inner = inner.values[0]
    table = b.expressions
    outer = b.region
    regs = [table[type(inner)](b, inner)]
    ends: list[int] = []
    kind = "then" if operator is ast.And else "else"
    for operand in operands[::-1]:
        ends.append(b.block)
        b.open(b.add_region(kind, regs[-1], node, b.region), b.block)
        regs.append(table[type(operand)](b, operand))
    b.open(outer, *ends, b.block)
    return b.emit(Boolean("and" if operator is ast.And else "or", tuple(regs)), node)


def choice(b: Builder, node: ast.IfExp) -> Reg:
    table = b.expressions
    outer = b.region
    test = table[type(node.test)](b, node.test)
    b.emit(Test(test, "choice"), node.test)
    asked = b.block
    b.open(b.add_region("then", test, node, outer), asked)
    body = table[type(node.body)](b, node.body)
    end = b.block
    b.open(b.add_region("else", test, node, outer), asked)
    orelse = table[type(node.orelse)](b, node.orelse)
    b.open(outer, end, b.block)
    return b.emit(Choice(test, body, orelse), node)


SEQUENCES: dict[type, str] = {ast.Tuple: "tuple", ast.List: "list", ast.Set: "set"}


def sequence(b: Builder, node: Any) -> Reg:
    items, stars = _elements(b, node.elts)
    return b.emit(Sequence(SEQUENCES[type(node)], items, stars), node)


def _elements(b: Builder, elements: list[ast.expr]) -> tuple[tuple[Reg, ...], tuple[bool, ...]]:
    table = b.expressions
    items = tuple(table[type(element)](b, element) for element in elements)
    stars = tuple(type(element) is ast.Starred for element in elements)
    return items, stars if True in stars else ()


def mapping(b: Builder, node: ast.Dict) -> Reg:
    table = b.expressions
    keys: list[Reg | None] = []
    values: list[Reg] = []
    for key, value in zip(node.keys, node.values, strict=True):
        keys.append(None if key is None else table[type(key)](b, key))
        values.append(table[type(value)](b, value))
    return b.emit(Mapping(tuple(keys), tuple(values)), node)


def walrus(b: Builder, node: ast.NamedExpr) -> Reg:
    reg: Reg = b.expressions[type(node.value)](b, node.value)
    b.bind(node.target.id, reg, node.target)
    return reg


def await_(b: Builder, node: ast.Await) -> Reg:
    return b.emit(Await(b.expressions[type(node.value)](b, node.value)), node)


def yield_(b: Builder, node: ast.Yield | ast.YieldFrom) -> Reg:
    value = node.value
    b.function.is_generator = True
    found = None if value is None else b.expressions[type(value)](b, value)
    return b.emit(Yield(found, type(node) is ast.YieldFrom), node)


def starred(b: Builder, node: ast.Starred) -> Reg:
    reg: Reg = b.expressions[type(node.value)](b, node.value)
    return reg


def constant(b: Builder, node: ast.Constant) -> Reg:
    return b.emit(Const(node.value), node)


def formatted(b: Builder, node: Any) -> Reg:
    table = b.expressions
    values = tuple(table[type(value)](b, value) for value in fields.expressions(b.places, node))
    return b.emit(Format(values), node)


def unknown(b: Builder, node: Any) -> Reg:
    """A kind of expression this version does not know: something nobody knows anything about."""
    return b.emit(Exception_(None), node)


EXPRESSIONS: dict[type, Any] = {
    ast.Name: name,
    ast.Attribute: chain,
    ast.Call: chain,
    ast.Subscript: chain,
    ast.Slice: slice_,
    ast.BinOp: binary,
    ast.UnaryOp: unary,
    ast.Compare: comparison,
    ast.BoolOp: boolean,
    ast.IfExp: choice,
    ast.Tuple: sequence,
    ast.List: sequence,
    ast.Set: sequence,
    ast.Dict: mapping,
    ast.NamedExpr: walrus,
    ast.Await: await_,
    ast.Yield: yield_,
    ast.YieldFrom: yield_,
    ast.Starred: starred,
    ast.Constant: constant,
    ast.JoinedStr: formatted,
}
if hasattr(ast, "TemplateStr"):
    EXPRESSIONS[ast.TemplateStr] = formatted
