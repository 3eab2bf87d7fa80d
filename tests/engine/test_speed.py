"""What a check costs, held against what Python's own parser costs on the same text. Calls are counted, which no other
work on the machine changes; processor time is compared with processor time that is spent in turn with it."""

from __future__ import annotations

import ast
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from counting import operations

from transferlint import registry
from transferlint.engine import checking, steps, workers
from transferlint.engine.plan import Plan
from transferlint.flow.callgraph.modules import ModuleIndex
from transferlint.settings.loading import Settings

ROOT = Path(__file__).resolve().parents[2]
# Programs of a kind that people check: torch, loops, models, data.
FILES = sorted((ROOT / "tests" / "runtime_check" / "programs").glob("*.py"))
# Measured on Python 3.11: 998 calls, the same in every run, and 18 times, which is not: hence a quarter more,
# and twice as much. Who makes a check cheaper lowers them.
CALLS_A_LINE = 1_250
TIMES_AST_PARSE = 36
_PARSES = 20


@pytest.fixture(scope="module")
def texts() -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in FILES}


@pytest.fixture(scope="module")
def plan() -> Plan:
    return checking.plan_for(Settings(), registry.load())


def checked(texts: dict[str, bytes], plan: Plan) -> int:
    """Check files within their project, without anything that is kept; how many findings there are."""
    prepared = [steps.prepare_bytes(path, data, plan) for path, data in texts.items()]
    project = steps.linked(prepared, ModuleIndex(texts, "."), plan, set(texts))
    return sum(len(steps.check_prepared(one, plan, (), project).findings) for one in prepared)


def test_the_calls_that_a_line_takes(texts: dict[str, bytes], plan: Plan) -> None:
    lines = sum(data.count(b"\n") for data in texts.values())
    assert workers.deep(lambda: checked(texts, plan))  # whatever is worked out once, is
    made = operations(lambda: workers.deep(lambda: checked(texts, plan)))
    assert made / lines < CALLS_A_LINE, f"{made:,} calls for {lines:,} lines"


def test_the_times_that_a_check_takes_what_the_parser_does(texts: dict[str, bytes], plan: Plan) -> None:
    """The least of some ratios: what slows the machine down for a while is then in both times, or in one that is left
    out. The parser reads the files as often as takes about as long as a check of them."""

    def parse() -> None:
        for data in list(texts.values()) * _PARSES:
            ast.parse(data)

    def check() -> None:
        workers.deep(lambda: checked(texts, plan))

    ratios = [_PARSES * _seconds(check) / _seconds(parse) for _ in range(5)]
    assert min(ratios) < TIMES_AST_PARSE, f"{min(ratios):.1f} times ast.parse"


def _seconds(work: Callable[[], None]) -> float:
    before = time.process_time()
    work()
    return time.process_time() - before
