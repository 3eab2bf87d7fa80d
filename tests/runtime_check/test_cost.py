"""Modelled times: labelled, growing with bytes, cheaper where the host need not wait, fitted from measurements."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime_check import cost
from runtime_check.cost import CostError, CostModel, Line
from runtime_check.events import Event
from transferlint.model import Direction

MODEL = CostModel(
    h2d_pinned=Line(1000, 10.0),
    h2d_pageable=Line(2000, 5.0),
    d2h_pinned=Line(3000, 10.0),
    d2h_pageable=Line(4000, 5.0),
    launch=50,
    sync=70,
    source="a test",
)


def event(direction: Direction, *, sync: bool = True, pinned: bool = False, dense: bool = True) -> Event:
    return Event(direction, "aten::copy_", 1000, 0, 999_999, sync, (), pinned=pinned, dense=dense)


@pytest.mark.parametrize(
    ("one", "expected"),
    [
        (event(Direction.H2D), 2200),
        (event(Direction.H2D, pinned=True), 1100),
        (event(Direction.H2D, pinned=True, dense=False), 2200),
        (event(Direction.H2D, pinned=True, sync=False), 50),
        (event(Direction.H2D, sync=False), 2200),  # pageable: the hint not to wait is ignored
        (event(Direction.D2H), 4200),
        (event(Direction.D2H, pinned=True), 3100),
        (event(Direction.D2H, sync=False), 50),
        (event(Direction.D2D, sync=False), 50),
        (event(Direction.NONE), 70),
        (event(Direction.NONE, sync=False), 0),
    ],
)
def test_each_kind_has_its_time(one: Event, expected: int) -> None:
    assert MODEL.blocked(one) == expected


@given(st.integers(0, 10**10), st.integers(0, 10**10), st.sampled_from([3, 4, 5]))
def test_more_bytes_take_no_less_and_newer_links_no_more(small: int, more: int, generation: int) -> None:
    model = cost.assumed(generation)
    one = dataclasses.replace(event(Direction.H2D), bytes=small)
    other = dataclasses.replace(one, bytes=small + more)
    assert model.blocked(one) <= model.blocked(other)
    assert model.blocked(dataclasses.replace(other, pinned=True)) <= model.blocked(other)
    if generation > 3:
        assert model.blocked(other) <= cost.assumed(generation - 1).blocked(other)


def test_it_says_that_it_is_a_model_and_of_what() -> None:
    assert cost.assumed().label == "modelled (PCIe 4.0 x16, assumed constants)"
    assert dataclasses.replace(MODEL, fitted=True).label == "modelled (a test, measured constants)"


def test_a_link_that_is_not_known_is_refused() -> None:
    with pytest.raises(CostError, match="no model of PCIe 2 x16: generations 3, 4, 5, lanes 1, 2, 4, 8, 16"):
        cost.assumed(2)
    with pytest.raises(CostError, match="no model of PCIe 4 x3"):
        cost.assumed(4, 3)


@given(st.integers(100, 50_000), st.floats(0.5, 60))
def test_a_fit_finds_the_line_again(latency: int, bandwidth: float) -> None:
    line = Line(latency, bandwidth)
    fitted = cost.fit([(size, line.time(size)) for size in (0, 4, 4096, 1 << 20, 1 << 26)])
    assert fitted.latency == pytest.approx(latency, rel=0.02)
    assert fitted.bandwidth == pytest.approx(bandwidth, rel=0.02)


@pytest.mark.parametrize("samples", [[], [(4, 10)], [(4, 10), (4, 12)], [(0, 100), (1000, 50)]])
def test_what_shows_no_line_is_refused(samples: list[tuple[int, int]]) -> None:
    with pytest.raises(CostError):
        cost.fit(samples)


def test_a_model_survives_the_way_to_a_file(tmp_path: Path) -> None:
    cost.write(tmp_path / "model.json", MODEL)
    assert cost.read(tmp_path / "model.json") == MODEL


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"launch": 1}', "3", '{"h2d_pinned": {"speed": 1}}'])
def test_what_is_no_model_is_refused_in_one_line(tmp_path: Path, text: str) -> None:
    path = tmp_path / "model.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(CostError, match=r"not a cost model") as caught:
        cost.read(path)
    assert str(caught.value).startswith(str(path))
    assert "\n" not in str(caught.value)
