"""Chunks, depth, and which selectors win."""

from __future__ import annotations

import sys

import pytest

from transferlint.engine import workers
from transferlint.settings import selection
from transferlint.sources import shards
from transferlint.sources.discovery import Target


def test_deep_work_does_not_overflow():
    def depth(n: int) -> int:
        return 0 if n == 0 else 1 + depth(n - 1)

    limit = sys.getrecursionlimit()
    assert workers.deep(lambda: depth(50_000)) == 50_000
    assert sys.getrecursionlimit() == limit


def test_deep_work_raises_what_it_raises():
    with pytest.raises(ZeroDivisionError):
        workers.deep(lambda: 1 // 0)


def test_chunks_hold_every_job_once_and_big_ones_come_first(tmp_path):
    jobs = []
    for index in range(40):
        path = tmp_path / f"{index}.py"
        path.write_text("x" * (index * 100))
        jobs.append(workers.Job(index, Target(str(path))))
    chunks = workers._chunks(jobs, 2)
    assert sorted(job.index for chunk in chunks for job in chunk) == list(range(40))
    weights = [sum(shards.weight(job.target.path) for job in chunk) for chunk in chunks]
    assert weights == sorted(weights, reverse=True)
    assert len(chunks) >= 8


@pytest.mark.parametrize(
    ("selector", "grade"),
    [("TL101", 1000), ("tl101", 1000), ("read-it", 1000), ("TL1", 4), ("ALL", 1), ("TL2", 0), ("", 0)],
)
def test_how_exactly_a_selector_names_a_rule(selector, grade):
    assert selection.matches(selector, "TL101", "read-it") == grade
