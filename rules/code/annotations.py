"""What kinds an annotation allows. It is a contract of whoever wrote it, and counts as proof."""

from __future__ import annotations

import ast

from transferlint.flow.facts import FunctionFacts
from transferlint.knowledge.torch_kinds import BOOLEAN, DEVICE, DTYPE, FLOAT, INTEGER, NONE, TENSOR, TEXT, Kinds

_NAMES: dict[str, Kinds] = {
    "torch.device": frozenset({DEVICE}),
    "torch.dtype": frozenset({DTYPE}),
    "torch.types.Device": frozenset({DEVICE, TEXT, INTEGER, NONE}),
    "builtins.int": frozenset({INTEGER}),
    "builtins.float": frozenset({FLOAT, INTEGER}),
    "builtins.bool": frozenset({BOOLEAN}),
    "builtins.str": frozenset({TEXT}),
    **{
        f"torch.{name}": frozenset({TENSOR})
        for name in (
            "Tensor FloatTensor LongTensor IntTensor BoolTensor ByteTensor HalfTensor DoubleTensor nn.Parameter"
            " nn.parameter.Parameter nn.Buffer"
        ).split()
    },
}
_OPTIONAL, _UNION = ("typing.Optional",), ("typing.Union",)
_ANNOTATED = ("typing.Annotated", "typing_extensions.Annotated", "typing.Final")
_DEEPEST = 8


def annotated(function: FunctionFacts, text: str, default: str) -> Kinds | None:
    """The kinds that `text`, an annotation within `function`, allows beside that of the default; None where it says
    nothing, or allows more than is known here."""
    found = _parsed(function, text, _DEEPEST)
    return found | {NONE} if found is not None and default == "None" else found


def _parsed(function: FunctionFacts, text: str, depth: int) -> Kinds | None:
    try:
        tree = ast.parse(text.strip(), mode="eval") if text and depth else None
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return _allowed(function, tree.body, depth) if tree is not None else None


def _allowed(function: FunctionFacts, node: ast.expr, depth: int) -> Kinds | None:
    if depth == 0:
        return None
    if isinstance(node, ast.Constant):
        if node.value is None:
            return frozenset({NONE})
        return _parsed(function, node.value, depth - 1) if isinstance(node.value, str) else None
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        return _all(function, [node.left, node.right], depth)
    if isinstance(node, ast.Subscript):
        name = _spelled(function, node.value)
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        if name in _UNION:
            return _all(function, parts, depth)
        if name in _OPTIONAL and len(parts) == 1:
            inner = _allowed(function, parts[0], depth - 1)
            return inner | {NONE} if inner is not None else None
        if name in _ANNOTATED or name.startswith("jaxtyping."):
            return _allowed(function, parts[0], depth - 1)
        return None
    return _NAMES.get(_spelled(function, node))


def _all(function: FunctionFacts, nodes: list[ast.expr], depth: int) -> Kinds | None:
    found: Kinds = frozenset()
    for node in nodes:
        kinds = _allowed(function, node, depth - 1)
        if kinds is None:
            return None
        found |= kinds
    return found


def _spelled(function: FunctionFacts, node: ast.expr) -> str:
    if not isinstance(node, ast.Name | ast.Attribute):
        return ""
    return function.file.placement.names.spelled(function.function, ast.unparse(node))
