"""What a file is for, by its path: the pattern made of the built-in globs says what pathspec says of them."""

from __future__ import annotations

import pathspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from transferlint.flow.callgraph.roles import lies_in
from transferlint.knowledge import roles

TABLES = (roles.TEST_PATHS, roles.OFFLINE_PATHS, roles.SERVING_PATHS, roles.HOST_PATHS)
# The words of the tables, and what is nearly one.
WORDS = sorted({part for table in TABLES for glob in table for part in glob.split("/") if part != "**"})
NAMES = st.sampled_from([word.replace("*", filling) for word in WORDS for filling in ("", "x", "x_y", ".py")])
PARTS = NAMES | st.sampled_from(["src", "tested", "latest", "a", "mytests", "tests.py"])


@pytest.mark.parametrize("table", TABLES)
@given(
    parts=st.lists(PARTS, min_size=1, max_size=5),
    ending=st.sampled_from(["", ".py", ".ipynb"]),
    before=st.sampled_from(["", "/"]),
)
@example(parts=["examples", "deep", "compute_x"], ending=".py", before="")
@example(parts=["tests"], ending=".py", before="")
def test_both_say_the_same(table: tuple[str, ...], parts: list[str], ending: str, before: str) -> None:
    path = f"{before}{'/'.join(parts)}{ending}"
    assert lies_in(path, table) == pathspec.GitIgnoreSpec.from_lines(table).match_file(path)


@pytest.mark.parametrize("path", ["tests/model.py", "pkg/test_model.py", "/home/me/x/benchmarks/run.py"])
def test_tests_are_known(path: str) -> None:
    assert lies_in(path, roles.TEST_PATHS)
