"""Lowering of the patterns of a `match`: the values they compare with and the names they capture."""

from __future__ import annotations

from typing import Any

import libcst as cst

from transferlint.syntax.builder import Builder
from transferlint.syntax.program import Exception_, Reg
from transferlint.syntax.spelling import identifier


def capture(b: Builder, pattern: Any, subject: Reg) -> None:
    """Read what a pattern compares with and bind what it captures, left to right."""
    kind = type(pattern)
    if kind is cst.MatchValue:
        b.expressions[type(pattern.value)](b, pattern.value)
    elif kind is cst.MatchAs:
        if pattern.pattern is not None:
            capture(b, pattern.pattern, subject)
        _bind(b, pattern.name, subject)
    elif kind is cst.MatchStar:
        _bind(b, pattern.name, subject)
    elif kind is cst.MatchOr:
        for element in pattern.patterns:
            capture(b, element.pattern, subject)
    elif kind is cst.MatchMapping:
        for element in pattern.elements:
            b.expressions[type(element.key)](b, element.key)
            capture(b, element.pattern, subject)
        _bind(b, pattern.rest, subject)
    elif kind is cst.MatchClass:
        b.expressions[type(pattern.cls)](b, pattern.cls)
        for element in pattern.patterns:
            capture(b, getattr(element, "value", element), subject)
        for element in pattern.kwds:
            capture(b, element.pattern, subject)
    elif kind is cst.MatchList or kind is cst.MatchTuple:
        for element in pattern.patterns:
            capture(b, element if type(element) is cst.MatchStar else element.value, subject)


def _bind(b: Builder, name: cst.Name | None, subject: Reg) -> None:
    if name is not None and name.value != "_":
        b.bind(identifier(name.value), b.emit(Exception_(subject), name), name)


def always_matches(pattern: Any) -> bool:
    """Whether a pattern refuses nothing: a name, `_`, or one of these behind `|` or `as`."""
    if type(pattern) is cst.MatchAs:
        return pattern.pattern is None or always_matches(pattern.pattern)
    return type(pattern) is cst.MatchOr and any(always_matches(element.pattern) for element in pattern.patterns)
