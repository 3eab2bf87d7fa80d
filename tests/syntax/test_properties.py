"""What holds of every program, on generated sources and on the package's own."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import libcst as cst
import pytest
from generating import STATEMENTS, suite
from hypothesis import given, settings
from hypothesis import strategies as st

import transferlint
from transferlint import late
from transferlint.syntax import program as p
from transferlint.syntax.dump import dump
from transferlint.syntax.lower import lower
from transferlint.syntax.spans import Spans

OPERANDS = {
    "value", "object", "index", "function", "left", "right", "operand", "test", "body", "orelse", "iterable", "context",
    "subject", "key", "lower", "upper", "step", "args", "operands", "items", "values", "keys", "decorators", "bases",
}  # fmt: skip
PAIRED = {"keywords", "defaults"}


def operands(instruction: Any) -> Iterator[int]:
    """The registers an instruction reads."""
    for name in late.fields(type(instruction)):
        value = getattr(instruction, name)
        if isinstance(instruction, p.Const | p.Import) or (name, type(instruction)) in (
            ("index", p.Unpack),
            ("function", p.Make),
        ):
            continue
        if name in PAIRED:
            yield from (reg for _, reg in value)
        elif name in OPERANDS:
            yield from (reg for reg in (value if isinstance(value, tuple) else (value,)) if reg is not None)


def meaning(expression: str) -> str:
    """An expression without its layout (which `code_for_node` writes without the indentation around it)."""
    return ast.dump(ast.parse(f"({expression}\n)"))


def check(source: str) -> p.Program:
    tree = cst.parse_module(source)
    program = lower(tree, "x.py")
    spans = Spans(tree, source)
    for function in program.functions:
        check_function(function)
        for instruction, node in zip(function.code, function.nodes, strict=True):
            if isinstance(node, cst.BaseExpression) and not isinstance(instruction, p.Store | p.Next | p.Unpack):
                start, end = spans.outer(node)
                cut, code = source[start:end], tree.code_for_node(node)
                assert cut == code or meaning(cut) == meaning(code)
    assert dump(program).count("\n") >= sum(len(function.code) for function in program.functions)
    return program


def check_function(function: p.Function) -> None:
    code, blocks, regions = function.code, function.blocks, function.regions
    for reg, instruction in enumerate(code):
        for operand in operands(instruction):
            assert 0 <= operand < reg
        if isinstance(instruction, p.Load | p.Store | p.Delete):
            assert 0 <= instruction.slot < len(function.slot_names)
        if isinstance(instruction, p.Next | p.Collect | p.Enter):
            assert 0 < instruction.region < len(regions)
    at = 0
    for block in blocks:
        assert block.start == at <= block.end
        at = block.end
        assert all(0 <= successor < len(blocks) for successor in block.successors)
        assert len(set(block.successors)) == len(block.successors)
        assert 0 <= block.region < len(regions)
    assert at == len(code)
    assert (regions[0].kind, regions[0].parent) == ("body", -1)
    for index, region in enumerate(regions[1:], 1):
        assert 0 <= region.parent < index
        assert region.test is None or 0 <= region.test < len(code)
        assert region.leaves in ("", "return", "raise", "break", "continue")


@given(suite(STATEMENTS))
@settings(max_examples=75, deadline=None)
def test_generated_sources(source):
    check(source)


@given(suite(STATEMENTS), st.sampled_from(["\r\n", "\r"]))
@settings(max_examples=50, deadline=None)
def test_generated_sources_with_other_newlines(source, newline):
    check(source.replace("\n", newline))


OWN = sorted(Path(transferlint.__file__).parent.glob("*/**/*.py"))


@pytest.mark.parametrize("path", OWN, ids=lambda path: path.name)
def test_own_sources(path):
    source = path.read_text(encoding="utf-8")
    program = check(source)
    tree = ast.parse(source)
    definitions = [
        n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda)
    ]
    assert len(program.functions) == len(definitions) + 1
    calls = sum(isinstance(i, p.Call) for f in program.functions for i in f.code)
    in_annotations = {
        id(inner)
        for outer in ast.walk(tree)
        for note in (getattr(outer, "annotation", None), getattr(outer, "returns", None))
        if note is not None
        for inner in ast.walk(note)
    }
    assert calls == sum(isinstance(n, ast.Call) and id(n) not in in_annotations for n in ast.walk(tree))


@pytest.mark.parametrize(
    "source",
    [
        "x = " + "f(a).b[0] + " * 1000 + "1",
        "x = a" + ".b()[0]" * 600,
        "if a: pass\n" + "elif b: f()\n" * 2000,
        "x = " + "not " * 1500 + "a",
        "x = " + "a if b else " * 800 + "c",
        "x = " + "a and " * 2000 + "b",
        "x = " + "lambda: " * 800 + "a",
        "x = " + "'a' " * 2000,
    ],
    ids=["sum", "chain", "elif", "not", "choice", "and", "lambda", "strings"],
)
def test_long_chains(source):
    from transferlint.syntax.source import decode, parse

    text = source + "\n"
    tree = parse(decode("x.py", text.encode()))
    program = lower(tree, "x.py")
    for function in program.functions:
        check_function(function)
    spans = Spans(tree, text)
    assert spans.of(tree.body[0])[1] == len(text.rstrip())
