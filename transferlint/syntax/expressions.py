"""Lowering of expressions: each function appends the instructions of one kind of node and gives the result's register.

Chains that lean to the left (`a + b + ...`, `a.b().c[0]...`) are walked in a loop, so that their length does not
matter. Literals, comprehensions and lambdas have files of their own.
"""

from __future__ import annotations

from typing import Any

import libcst as cst

from transferlint.syntax.builder import Builder
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
from transferlint.syntax.spelling import identifier

NAMED_CONSTANTS = {"None": None, "True": True, "False": False}
CHAINED = frozenset((cst.Attribute, cst.Call, cst.Subscript))
OPERATORS = {
    cst.Add: "+", cst.Subtract: "-", cst.Multiply: "*", cst.Divide: "/", cst.FloorDivide: "//", cst.Modulo: "%",
    cst.Power: "**", cst.LeftShift: "<<", cst.RightShift: ">>", cst.BitOr: "|", cst.BitAnd: "&", cst.BitXor: "^",
    cst.MatrixMultiply: "@", cst.Minus: "-", cst.Plus: "+", cst.BitInvert: "~", cst.Not: "not",
    cst.LessThan: "<", cst.GreaterThan: ">", cst.Equal: "==", cst.LessThanEqual: "<=", cst.GreaterThanEqual: ">=",
    cst.NotEqual: "!=", cst.In: "in", cst.NotIn: "not in", cst.Is: "is", cst.IsNot: "is not",
}  # fmt: skip


def name(b: Builder, node: cst.Name) -> Reg:
    text = identifier(node.value)
    code = b.code
    slot = b.slots.get(text)
    if slot is not None:
        code.append(Load(slot))
    elif text in NAMED_CONSTANTS:
        code.append(Const(NAMED_CONSTANTS[text]))
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
    inner: Any = node.func if type(node) is cst.Call else node.value
    while type(inner) in CHAINED:
        spine.append(inner)
        inner = inner.func if type(inner) is cst.Call else inner.value
    reg: Reg = b.expressions[type(inner)](b, inner)
    code = b.code
    nodes = b.nodes
    while spine:
        node = spine.pop()
        kind = type(node)
        if kind is cst.Attribute:
            code.append(Attr(reg, identifier(node.attr.value)))
        elif kind is cst.Call:
            code.append(_call(b, reg, node.args))
        else:
            code.append(Subscript(reg, index(b, node)))
        nodes.append(node)
        reg = len(code) - 1
    return reg


def _call(b: Builder, function: Reg, arguments: Any) -> Call:
    table = b.expressions
    args: list[Reg] = []
    stars: list[bool] = []
    starred = False
    named: list[Any] = []
    for argument in arguments:
        if argument.keyword is not None or argument.star == "**":
            named.append(argument)
        else:
            value = argument.value
            args.append(table[type(value)](b, value))
            stars.append(argument.star == "*")
            starred = starred or argument.star == "*"
    keywords: list[tuple[str, Reg]] = []
    for argument in named:
        value = argument.value
        keyword = identifier(argument.keyword.value) if argument.keyword is not None else ""
        keywords.append((keyword, table[type(value)](b, value)))
    return Call(function, tuple(args), tuple(keywords), tuple(stars) if starred else ())


def index(b: Builder, node: cst.Subscript) -> Reg:
    """What stands between the brackets: one register, a tuple where there are several or a trailing comma."""
    elements = node.slice
    items = [_index(b, element.slice) for element in elements]
    stars = tuple(getattr(element.slice, "star", None) is not None for element in elements)
    if len(items) == 1 and not stars[0] and not isinstance(elements[0].comma, cst.Comma):
        return items[0]
    return b.emit(Sequence("tuple", tuple(items), stars if any(stars) else ()), None)


def _index(b: Builder, node: Any) -> Reg:
    table = b.expressions
    if type(node) is cst.Index:
        reg: Reg = table[type(node.value)](b, node.value)
        return reg
    bounds = [None if part is None else table[type(part)](b, part) for part in (node.lower, node.upper, node.step)]
    return b.emit(Slice(*bounds), node)


def binary(b: Builder, node: cst.BinaryOperation) -> Reg:
    spine = [node]
    inner: Any = node.left
    while type(inner) is cst.BinaryOperation:
        spine.append(inner)
        inner = inner.left
    table = b.expressions
    reg: Reg = table[type(inner)](b, inner)
    while spine:
        node = spine.pop()
        right = node.right
        reg = b.emit(Binary(OPERATORS[type(node.operator)], reg, table[type(right)](b, right), False), node)
    return reg


def unary(b: Builder, node: cst.UnaryOperation) -> Reg:
    operand = node.expression
    reg = b.expressions[type(operand)](b, operand)
    return b.emit(Unary(OPERATORS[type(node.operator)], reg), node)


def comparison(b: Builder, node: cst.Comparison) -> Reg:
    table = b.expressions
    operators = []
    operands = [table[type(node.left)](b, node.left)]
    for part in node.comparisons:
        operators.append(OPERATORS[type(part.operator)])
        operands.append(table[type(part.comparator)](b, part.comparator))
    return b.emit(Compare(tuple(operators), tuple(operands)), node)


def boolean(b: Builder, node: cst.BooleanOperation) -> Reg:
    """`a and b and c`: each further operand in an arm of the one before; whichever decided, the result is here."""
    operator = type(node.operator)
    operands: list[Any] = [node.right]
    inner: Any = node.left
    while type(inner) is cst.BooleanOperation and type(inner.operator) is operator:
        operands.append(inner.right)
        inner = inner.left
    table = b.expressions
    outer = b.region
    regs = [table[type(inner)](b, inner)]
    ends: list[int] = []
    kind = "then" if operator is cst.And else "else"
    for operand in operands[::-1]:
        ends.append(b.block)
        b.open(b.add_region(kind, regs[-1], node, b.region), b.block)
        regs.append(table[type(operand)](b, operand))
    b.open(outer, *ends, b.block)
    return b.emit(Boolean("and" if operator is cst.And else "or", tuple(regs)), node)


def choice(b: Builder, node: cst.IfExp) -> Reg:
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


SEQUENCES: dict[type, str] = {cst.Tuple: "tuple", cst.List: "list", cst.Set: "set"}


def sequence(b: Builder, node: Any) -> Reg:
    table = b.expressions
    items: list[Reg] = []
    stars: list[bool] = []
    for element in node.elements:
        items.append(table[type(element.value)](b, element.value))
        stars.append(type(element) is cst.StarredElement)
    return b.emit(Sequence(SEQUENCES[type(node)], tuple(items), tuple(stars) if True in stars else ()), node)


def mapping(b: Builder, node: cst.Dict) -> Reg:
    table = b.expressions
    keys: list[Reg | None] = []
    values: list[Reg] = []
    for element in node.elements:
        keys.append(table[type(element.key)](b, element.key) if isinstance(element, cst.DictElement) else None)
        values.append(table[type(element.value)](b, element.value))
    return b.emit(Mapping(tuple(keys), tuple(values)), node)


def walrus(b: Builder, node: cst.NamedExpr) -> Reg:
    reg: Reg = b.expressions[type(node.value)](b, node.value)
    target: Any = node.target
    b.bind(identifier(target.value), reg, target)
    return reg


def await_(b: Builder, node: cst.Await) -> Reg:
    return b.emit(Await(b.expressions[type(node.expression)](b, node.expression)), node)


def yield_(b: Builder, node: cst.Yield) -> Reg:
    value: Any = node.value
    many = type(value) is cst.From
    if many:
        value = value.item
    b.function.is_generator = True
    return b.emit(Yield(None if value is None else b.expressions[type(value)](b, value), many), node)


def starred(b: Builder, node: cst.StarredElement) -> Reg:
    reg: Reg = b.expressions[type(node.value)](b, node.value)
    return reg


def unknown(b: Builder, node: Any) -> Reg:
    """A kind of expression this version does not know: something nobody knows anything about."""
    return b.emit(Exception_(None), node)


EXPRESSIONS: dict[type, Any] = {
    cst.Name: name,
    cst.Attribute: chain,
    cst.Call: chain,
    cst.Subscript: chain,
    cst.BinaryOperation: binary,
    cst.UnaryOperation: unary,
    cst.Comparison: comparison,
    cst.BooleanOperation: boolean,
    cst.IfExp: choice,
    cst.Tuple: sequence,
    cst.List: sequence,
    cst.Set: sequence,
    cst.Dict: mapping,
    cst.NamedExpr: walrus,
    cst.Await: await_,
    cst.Yield: yield_,
    cst.StarredElement: starred,
}
