"""Records survive the way to a file and back; a cut tail is dropped, a newer version refused."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime_check import records
from runtime_check.records import Blocked, Header, Link, LinkKind, RecordError, Run, SiteRecord
from transferlint.model import Direction, Site

HEADER = Header(
    program=("train.py", "--epochs", "2"),
    started="2026-01-02T03:04:05+00:00",
    device="simulated",
    driver="",
    torch="2.13.0",
    python="3.12.1",
    level="simulate",
    time_source="modelled",
    overhead_ns=900,
)
READ = SiteRecord(
    id=1,
    site=Site("train.py", 42, 22, 42, 33),
    direction=Direction.D2H,
    operation="aten::_local_scalar_dense",
    count=1000,
    bytes=4000,
    sync=True,
    blocked=Blocked(total=5_000_000, p50=4_000, p95=9_000, max=70_000),
    first_step=0,
    last_step=999,
    thread="MainThread",
    chain=(Site("train.py", 80, 5, 80, 12), Site("main é.py", 3, 1, 3, 9)),
)
BACK = dataclasses.replace(READ, id=2, direction=Direction.H2D, operation="aten::copy_", chain=())
LINK = Link(LinkKind.DEVICE_HOST_DEVICE, first=1, second=2, count=7, bytes=28, changed=False)
RUN = Run(HEADER, (READ, BACK), (LINK,))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "0-123.jsonl"


def test_a_run_is_read_as_it_was_written(path: Path) -> None:
    records.write(path, RUN)
    assert records.read(path) == RUN
    assert path.read_bytes().count(b"\n") == 4


def test_every_cut_loses_at_most_the_last_line(path: Path) -> None:
    records.write(path, RUN)
    whole = path.read_bytes()
    header_end = whole.index(b"\n") + 1
    ends = [index + 1 for index, byte in enumerate(whole) if byte == 0x0A]
    for size in range(header_end, len(whole)):
        path.write_bytes(whole[:size])
        read = records.read(path)
        complete = sum(end <= size or end == size + 1 for end in ends) - 1
        assert [*read.sites, *read.links] == [READ, BACK, LINK][:complete]
        assert read.truncated == (size not in ends and size + 1 not in ends)


def test_a_later_line_replaces_an_earlier_one(path: Path) -> None:
    more = dataclasses.replace(READ, count=2000)
    again = dataclasses.replace(LINK, count=9)
    path.write_text("".join(records.lines((HEADER, READ, LINK, BACK, more, again))), encoding="utf-8")
    assert records.read(path) == Run(HEADER, (more, BACK), (again,))


def test_a_newer_version_is_refused(path: Path) -> None:
    records.write(path, dataclasses.replace(RUN, header=dataclasses.replace(HEADER, version=records.VERSION + 1)))
    with pytest.raises(RecordError) as caught:
        records.read(path)
    assert str(caught.value) == f"{path}: written by a newer transferlint (version 2, this one reads 1)"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "it has no header"),
        ("\n\n", "it has no header"),
        ('{"record": "site"}\n', "it has no header"),
        ('{"record": "header"}\n', "the header names no version"),
        ('{"record": "header", "version": 1}\n', ":1: a damaged record"),
        ("loss = 1\n", ":1: not a record of a run"),
        ("[]\n", ":1: not a record of a run"),
        ('{"record": "hea', ":1: not a record of a run"),
    ],
)
def test_what_is_no_run_is_refused_in_one_line(path: Path, content: str, message: str) -> None:
    path.write_text(content, encoding="utf-8")
    with pytest.raises(RecordError) as caught:
        records.read(path)
    assert str(caught.value).startswith(str(path))
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "line", ['{"record": "later"}', '{"record": "site", "id": 1}', "{", "3", '{"record": "link", "kind": "x"}']
)
def test_damage_before_the_last_line_is_named_with_its_line(path: Path, line: str) -> None:
    header, *rest = records.lines((HEADER, READ))
    path.write_text("".join([header, line + "\n", *rest]), encoding="utf-8")
    with pytest.raises(RecordError, match=r":2: "):
        records.read(path)


@given(st.text(max_size=20), st.integers(0, 2**63), st.sampled_from(Direction), st.booleans())
def test_any_text_and_size_survives(
    tmp_path_factory: pytest.TempPathFactory, text: str, size: int, direction: Direction, sync: bool
) -> None:
    path = tmp_path_factory.mktemp("run") / "a.jsonl"
    one = dataclasses.replace(
        READ, site=Site(text, 1, 1, 1, 1), operation=text, bytes=size, direction=direction, sync=sync
    )
    records.write(path, Run(HEADER, (one,)))
    assert records.read(path).sites == (one,)


def test_importing_the_package_imports_no_torch() -> None:
    code = "import sys, runtime_check; sys.exit('torch' in sys.modules or 'numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
