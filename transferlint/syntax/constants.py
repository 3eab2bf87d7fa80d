"""The values of literals, and the source text of small expressions (annotations, defaults, decorators)."""

from __future__ import annotations

import ast
from typing import Any

import libcst as cst

from transferlint.syntax.spelling import identifier, one_style


def integer(text: str) -> Any:
    """The value of an integer literal; infinity where Python refuses to convert so many digits."""
    try:
        return int(text) if text.isdigit() and text[0] != "0" else int(text.replace("_", ""), 0)
    except ValueError:
        # Digits beyond sys.get_int_max_str_digits(), or "00" (a zero that base 0 refuses).
        return 0 if not text.strip("0_") else float("inf")


def number(text: str) -> Any:
    """The value of a float or imaginary literal."""
    return ast.literal_eval(text)


def string(text: str) -> Any:
    """The value of one string or bytes literal as written, with prefix and quotes."""
    if "\\" not in text and "\r" not in text and text[0] in "\"'":
        return text[3:-3] if len(text) >= 6 and text[:3] == text[0] * 3 else text[1:-1]
    try:
        return ast.literal_eval(text)
    except (SyntaxError, ValueError, MemoryError):
        # LibCST accepts some literals that Python does not (a bad \N name, non-ASCII bytes): they stand for themselves.
        return text


def joined(parts: list[Any]) -> Any:
    """Adjacent literals as one; as text where text and bytes are mixed, which Python refuses."""
    if all(isinstance(part, str) for part in parts):
        return "".join(parts)
    if all(isinstance(part, bytes) for part in parts):
        return b"".join(parts)
    return "".join(part if isinstance(part, str) else repr(part) for part in parts)


def pieces(node: cst.ConcatenatedString) -> list[Any]:
    """The strings that stand side by side, left to right."""
    found: list[Any] = []
    at: Any = node
    while type(at) is cst.ConcatenatedString:
        found.append(at.left)
        at = at.right
    found.append(at)
    return found


def written(node: cst.CSTNode) -> str:
    """The source text of a node, without its own parentheses where it has such."""
    kind = type(node)
    if kind is cst.Name:
        return identifier(node.value)  # type: ignore[attr-defined]
    if kind is cst.Attribute and type(node.value) is cst.Name:  # type: ignore[attr-defined]
        return identifier(f"{node.value.value}.{node.attr.value}")  # type: ignore[attr-defined]
    return one_style(cst.Module([]).code_for_node(node))


def dotted(node: Any) -> str:
    """`a.b.c` of an import statement."""
    parts: list[str] = []
    while type(node) is cst.Attribute:
        parts.append(node.attr.value)
        node = node.value
    parts.append(node.value)
    return identifier(".".join(reversed(parts)))
