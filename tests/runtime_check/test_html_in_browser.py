"""The page of a run in headless Chromium: keys, filter, theme, zoom, small windows, print."""

from __future__ import annotations

from collections.abc import Iterator

import chromium
import pytest
import training

from runtime_check.records import Executed
from runtime_check.reports.html import render

pytestmark = pytest.mark.skipif(chromium.program() is None, reason="there is no Chromium here")

_SEEN = """[...document.querySelectorAll('#verdicts [data-kind]')].filter((one) => one.checkVisibility())
  .map((one) => one.dataset.kind)"""
_BARS = """[...document.querySelectorAll('#timeline .row:not(.steps) rect')]
  .filter((one) => one.style.display !== 'none').length"""
_PLACES = "[...document.querySelectorAll('#timeline rect')].map((one) => parseFloat(one.getAttribute('x')))"
_RIGHT = """Math.max(...[...document.querySelectorAll('.source .note div')]
  .map((one) => one.getBoundingClientRect().right))"""
_TICKS = "[...document.querySelectorAll('.axis text')].map((one) => one.textContent)"


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[chromium.Page]:
    folder = tmp_path_factory.mktemp("page")
    path, other = str(folder / "train.py"), str(folder / "other.py")
    more = [training.found("TL101", path, line, f"never {line}") for line in (1, 2)]
    more += [training.found("TL101", other, 3, "x")]
    shown = training.page(folder, more, [Executed(other, (), started=False)])
    (folder / "report.html").write_text(render(shown), encoding="utf-8")
    with chromium.Page(folder / "report.html", folder / "profile") as one:
        yield one


@pytest.fixture(autouse=True)
def afresh(page: chromium.Page) -> Iterator[None]:
    page.size(1000, 800)
    page.media()
    page.js("localStorage.clear()")
    page.js("location.hash = ''")
    page.again()
    yield
    assert page.errors == []  # nor was anything refused by the page's policy


def test_keys_go_from_verdict_to_verdict_and_to_the_source(page: chromium.Page) -> None:
    def focused() -> str:
        return str(page.js("document.activeElement.querySelector('a, .code')?.textContent"))

    page.key("j")
    assert focused() == "train.py:6:5"
    page.key("j")
    assert focused() == "train.py:7:5"
    page.key("ArrowDown")
    page.key("k")
    assert focused() == "train.py:7:5"
    page.key("Enter")
    assert page.js("document.querySelector('tr:target td.number:not(.margin)').textContent") == "7"


def test_the_filter_shows_what_is_asked_for_and_unfolds_it(page: chromium.Page) -> None:
    assert page.js(_SEEN) == ["confirmed", "confirmed", "refuted", "as-it-is"]
    page.key("/")
    for one in "NEVER 2":
        page.key(one)
    assert page.js(_SEEN) == ["not-reached"]
    assert page.js("document.querySelector('.filter [role=status]').textContent") == "1 of 7 shown"
    page.key("Escape")
    assert page.js("document.activeElement.tagName") == "BODY"
    assert len(page.js(_SEEN)) == 7
    page.js("document.querySelector('.filter button[value=confirmed]').click()")
    assert page.js(_SEEN) == ["confirmed", "confirmed"]
    assert page.js("document.querySelector('[aria-pressed=true]').value") == "confirmed"


def test_letters_that_are_typed_move_nothing(page: chromium.Page) -> None:
    page.key("/")
    page.key("j")
    assert page.js("document.activeElement.value") == "j"


def test_the_theme_follows_the_system_until_it_is_chosen_and_is_kept(page: chromium.Page) -> None:
    def paper() -> str:
        return str(page.js("getComputedStyle(document.body).backgroundColor"))

    light = paper()
    page.media(scheme="dark")
    dark = paper()
    assert dark != light
    page.js("document.getElementById('theme').click()")
    assert paper() == light
    page.again()
    assert paper() == light
    assert page.js("document.getElementById('theme').getAttribute('aria-pressed')") == "false"
    page.js("document.getElementById('theme').click()")
    page.media("print", "dark")
    assert paper() == light


def test_the_timeline_zooms_by_keys_wheel_and_buttons(page: chromium.Page) -> None:
    assert page.js(_TICKS) == ["0", "50.0 ms", "100 ms", "150 ms", "200 ms"]
    page.js("document.getElementById('timeline').focus()")
    page.key("+")
    assert page.js(_TICKS)[0] == "50 ms"
    page.key("ArrowLeft")
    assert page.js(_TICKS)[::4] == ["25 ms", "125 ms"]
    page.key("0")
    assert page.js(_TICKS)[::4] == ["0", "200 ms"]
    page.key("a")
    assert page.js(_TICKS)[::4] == ["-2.00 s", "200 ms"]
    assert page.js(_BARS) == 84
    page.js("document.querySelector('.zoom button[value=\"0\"]').click()")
    assert page.js(_BARS) == 80
    page.js("document.getElementById('timeline').scrollIntoView()")
    box = page.js("(() => { const b = document.querySelector('#timeline svg').getBoundingClientRect();"
                  " return [b.left, b.top, b.width]; })()")  # fmt: skip
    page.mouse("mouseWheel", box[0] + 1, box[1] + 20, deltaX=0, deltaY=-1200)
    start, end = page.js(_TICKS)[::4]
    assert start.endswith(" µs")  # where the pointer is stays where it is
    assert (float(end.split()[0]) < 20, end.split()[1]) == (True, "ms")
    assert page.js(_BARS) < 20


def test_bars_stand_where_they_stood_without_scripts(page: chromium.Page) -> None:
    """What scripts draw at first is the static picture."""
    written = page.js(_PLACES)
    page.js("document.querySelector('.zoom button[value=\"0\"]').click()")
    drawn = page.js(_PLACES)
    assert [max(one, -1) for one in written] == pytest.approx(drawn, abs=1e-3)


@pytest.mark.parametrize("width", [390, 800, 1400])
def test_nothing_is_wider_than_the_window(page: chromium.Page, width: int) -> None:
    """Long lines scroll inside their box."""
    page.size(width, 800)
    assert page.js("document.documentElement.scrollWidth") == width
    assert page.js("[...document.querySelectorAll('.source')].some((one) => one.scrollWidth > one.clientWidth)")
    assert page.js(_RIGHT) <= width


def test_print_unfolds_everything(page: chromium.Page) -> None:
    folded = "document.querySelectorAll('main details:not([open], .keys)').length"
    assert page.js(folded) == 1
    page.js("dispatchEvent(new Event('beforeprint'))")
    assert page.js(folded) == 0
    page.js("dispatchEvent(new Event('afterprint'))")
    assert page.js(folded) == 1


def test_a_question_mark_shows_the_keys(page: chromium.Page) -> None:
    page.key("?")
    assert page.js("document.querySelector('.keys').open")
    told = page.js("[...document.querySelectorAll('.keys kbd')].map((one) => one.textContent)")
    assert {"?", "/", "j", "k", "Enter", "+", "-", "0", "a"} <= set(told)
