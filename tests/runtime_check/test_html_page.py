"""The HTML page of a run: what it holds, what it cuts, and that nothing runs in it but its own scripts."""

from __future__ import annotations

import base64
import dataclasses
import hashlib
import html.parser
import re
import sys
from pathlib import Path

import pytest
import training
from hypothesis import given
from hypothesis import strategies as st

from runtime_check.records import Executed, RawEvent, Run
from runtime_check.reports import highlight
from runtime_check.reports.html import render
from runtime_check.reports.timeline import Timeline, timeline
from runtime_check.verdicts import judge
from transferlint.model import Direction, Evidence, Part

_VOID = {"meta", "br", "input", "link", "hr", "img"}


class Element:
    """A tag with its attributes and what stands in it."""

    def __init__(self, tag: str, given: dict[str, str | None]) -> None:
        self.tag, self.given = tag, given
        self.inner: list[Element | str] = []

    def all(self, tag: str) -> list[Element]:
        found = [self] if self.tag == tag else []
        return found + [one for inner in self.inner if isinstance(inner, Element) for one in inner.all(tag)]

    @property
    def words(self) -> str:
        whole = "".join(one if isinstance(one, str) else one.words for one in self.inner)
        return whole if self.tag in ("td", "span", "code") else f"{whole} "


class Tree(html.parser.HTMLParser):
    """A page as a tree, which is closed as it was opened."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open = [Element("", {})]
        self.feed(text)
        assert len(self.open) == 1

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        one = Element(tag, dict(attrs))
        self.open[-1].inner.append(one)
        if tag not in _VOID:
            self.open.append(one)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open[-1].inner.append(Element(tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop().tag == tag

    def handle_data(self, data: str) -> None:
        self.open[-1].inner.append(data)


def tree(text: str) -> Element:
    return Tree(text).open[0]


def of_class(root: Element, tag: str, name: str) -> list[Element]:
    return [one for one in root.all(tag) if name in (one.given.get("class") or "").split()]


def notes(root: Element) -> dict[int, list[str]]:
    """What is said below each line of the source."""
    found: dict[int, list[str]] = {}
    line = 0
    for row in (row for source in of_class(root, "div", "source") for row in source.all("tr")):
        if anchor := row.given.get("id"):
            line = int(anchor.partition("-")[2])
        elif "note" in (row.given.get("class") or ""):
            found.setdefault(line, []).append(" ".join(row.words.split()))
    return found


def test_every_site_of_a_verdict_carries_it(tmp_path: Path) -> None:
    said = notes(tree(render(training.page(tmp_path))))
    assert sorted(said) == [5, 6, 7, 8, 9]  # and not 3, which crossed at the start alone
    assert said[5][0].startswith("as it is 20 times (1 a step), h2d")
    assert said[6][0].startswith("confirmed TL101 20 times")
    assert said[7][0].startswith("confirmed TL201 20 times")
    assert said[8] == ["confirmed TL201 with train.py:7:5"]
    assert said[9][0].startswith("refuted TL102")


def test_the_other_end_of_a_round_trip_carries_the_verdict_where_only_the_source_tells_of_it(tmp_path: Path) -> None:
    """As at level guard, which follows no data."""
    shown = training.page(tmp_path)
    run = dataclasses.replace(shown.run, links=(), header=dataclasses.replace(shown.run.header, level="guard"))
    path = str(tmp_path / "train.py")
    back = dataclasses.replace(
        training.found("TL201", path, 7, "`x.cpu()` copies what is uploaded again"),
        evidence=(Evidence(training.site(path, 8), "back on the device here", part=Part.RETURN),),
    )
    judgement = judge((back,), run, [Executed(path, (7, 8))], str(tmp_path))
    said = notes(tree(render(dataclasses.replace(shown, run=run, judgement=judgement))))
    assert said[8] == ["confirmed TL201 with train.py:7:5"]


def test_rows_list_what_is_told_with_them_and_link_to_the_source(tmp_path: Path) -> None:
    page = tree(render(training.page(tmp_path)))
    rows = {row.all("a")[0].words.strip(): row for row in page.all("tr") if row.given.get("data-kind") == "confirmed"}
    assert rows.keys() == {"train.py:6:5", "train.py:7:5"}
    links = rows["train.py:7:5"].all("a")
    assert [link.words.strip() for link in links] == ["train.py:7:5", "train.py:8"]
    ids = {one.given.get("id") for one in page.all("tr")}
    assert {(link.given["href"] or "")[1:] for link in links} <= ids


def test_what_was_not_reached_is_folded_and_a_file_that_was_not_imported_is_a_row(tmp_path: Path) -> None:
    other = str(tmp_path / "other.py")
    more = [training.found("TL101", other, line, "x") for line in range(1, 90)]
    more += [training.found("TL101", str(tmp_path / "train.py"), line, f"never {line}") for line in (1, 2)]
    page = tree(render(training.page(tmp_path, more, [Executed(other, (), started=False)])))
    (folded,) = [one for one in page.all("details") if one.all("summary")[0].words.startswith("not reached")]
    assert "open" not in folded.given
    assert folded.all("summary")[0].words.split() == ["not", "reached:", "91", "findings"]
    rows = [" ".join(row.words.split()) for row in folded.all("tr") if "data-kind" in row.given]
    assert rows[0].startswith("not reached")
    assert [("never" in row, "other.py 89 findings: the run did not import its file" in row) for row in rows] == [
        (True, False), (True, False), (False, True),
    ]  # fmt: skip
    outside = [row for row in page.all("tr") if row.given.get("data-kind") == "not-reached"]
    assert len(outside) == len(rows)


def test_what_is_cut_is_told_and_the_page_stays_small(tmp_path: Path) -> None:
    shown = training.page(tmp_path)
    folder = str(tmp_path)
    texts = {f"{folder}/m{number}.py": ["    x = y.item()  # and more of it " * 3] * 300 for number in range(40)}
    record = shown.run.sites[2]
    sites = tuple(
        dataclasses.replace(record, id=n * 300 + line, site=training.site(path, line + 1))
        for n, path in enumerate(texts)
        for line in range(0, 300, 15)
    )
    raw = tuple(RawEvent(n, sites[n % 800].id, n, 10, 4) for n in range(8000))
    many = training.again(dataclasses.replace(shown, texts=texts), sites=sites, raw=raw, links=())
    text = render(many)
    page = tree(text)
    assert len([row for row in page.all("tr") if "data-kind" in row.given]) == 200
    assert "and 600 more; report.json lists them" in page.words
    assert "and 30 more files, in which things kept the host for less" in page.words
    assert len(page.all("rect")) <= 1000 + 256
    assert "1,000 of 16,000 events, drawn at random" in page.words
    assert len(text) < 2_000_000


def test_nothing_runs_but_the_page_s_own(tmp_path: Path) -> None:
    text = render(training.page(tmp_path))
    page = tree(text)
    (policy,) = [one.given["content"] or "" for one in page.all("meta") if "http-equiv" in one.given]
    rules = {rule.split()[0]: rule.split()[1:] for rule in policy.split("; ")}
    assert rules.pop("default-src") == rules.pop("base-uri") == rules.pop("form-action") == ["'none'"]
    for kind in ("script", "style"):
        own = [str(one.inner[0]) for one in page.all(kind)]
        hashes = [base64.b64encode(hashlib.sha256(one.encode()).digest()).decode() for one in own]
        assert rules.pop(f"{kind}-src") == [f"'sha256-{one}'" for one in hashes]
    assert rules == {}
    attributes = {name for one in _every(page) for name in one.given}
    assert not [name for name in attributes if name.startswith("on") or name in ("style", "src")]
    assert not re.search(r"\b(fetch|XMLHttpRequest|import)\s*\(|https?:", text)


def _every(root: Element) -> list[Element]:
    return [root, *(one for inner in root.inner if isinstance(inner, Element) for one in _every(inner))]


def test_source_is_coloured_and_escaped(tmp_path: Path) -> None:
    text = render(training.page(tmp_path))
    assert '<span class="t-k">for</span> x <span class="t-k">in</span>' in text
    assert "# &lt;script&gt;alert(&#34;x &amp; y&#34;)&lt;/script&gt;" in text
    assert "<script>alert" not in text


def test_without_pygments_source_is_plain(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pygments.lexers.python", None)
    text = render(training.page(tmp_path))
    assert "t-k" not in text.partition("</style>")[2]
    assert "for x in loader:" in text


@given(st.text(st.characters(codec="utf-8"), max_size=60))
def test_coloured_pieces_are_the_lines(text: str) -> None:
    lines = text.splitlines()
    made = highlight.lines(lines)
    assert ["".join(piece for _, piece in line) for line in made] == lines
    assert ["".join(piece for _, piece in highlight.stripped(line)) for line in made] == [one.strip() for one in lines]


def test_a_run_that_failed_says_so_first(tmp_path: Path) -> None:
    shown = training.page(tmp_path)
    assert shown.run.outcome is not None
    failed = training.again(shown, outcome=dataclasses.replace(shown.run.outcome, status=3))
    words = " ".join(tree(render(failed)).words.split())
    assert "The program failed with exit status 3." in words
    bare = training.again(failed, sites=(), links=(), raw=())
    assert "nothing crossed in hot code before the program ended" in " ".join(tree(render(bare)).words.split())
    assert "The program" not in " ".join(tree(render(shown)).words.split())


def _timeline(tmp_path: Path, run: Run | None = None) -> Timeline:
    shown = training.page(tmp_path)
    found = timeline(dataclasses.replace(shown, run=run or shown.run))
    assert found is not None
    return found


def test_the_timeline_begins_with_the_first_step(tmp_path: Path) -> None:
    found = _timeline(tmp_path)
    lanes = dict(found.lanes)
    assert [bar.at for bar in lanes["h2d"][:5]] == [-1_000_000_000 + 100_000 * n for n in range(4)] + [0]
    assert (found.first, found.last) == (-training.BEGAN, training.STEPS * training.STEP)
    assert found.setup == "4 events in the 2.00 s before the first step"
    assert found.ticks == (("0", "0"), ("25", "50.0 ms"), ("50", "100 ms"), ("75", "150 ms"), ("100", "200 ms"))
    assert (found.steps[0].at, found.steps[0].length, found.steps[0].x) == (0, training.STEP, "0.0000")
    assert found.steps[0].title == "step 1: 2.01 s with all before it"
    assert [bar.x for bar in lanes["d2h"][:2]] == ["0.5000", "1.0000"]


def test_a_timeline_without_steps_begins_with_the_run(tmp_path: Path) -> None:
    run = training.run(str(tmp_path / "train.py"))
    assert run.outcome is not None
    without = dataclasses.replace(run.outcome, steps=0, marks=())
    found = _timeline(tmp_path, dataclasses.replace(run, outcome=without))
    assert (found.first, found.setup) == (0, "")
    assert found.last == run.outcome.duration


def test_a_first_step_of_which_nothing_was_kept_begins_where_it_ended(tmp_path: Path) -> None:
    run = training.run(str(tmp_path / "train.py"))
    kept = tuple(one for one in run.raw if one.site == 0 or one.step)
    found = _timeline(tmp_path, dataclasses.replace(run, raw=kept))
    assert found.first == -training.BEGAN - training.STEP


def test_of_several_processes_the_last_event_ends_the_picture(tmp_path: Path) -> None:
    run = training.run(str(tmp_path / "train.py"))
    assert run.outcome is not None
    whole = dataclasses.replace(run.outcome, duration=90_000_000_000, processes=120_000_000_000)
    early = dataclasses.replace(run.raw[0], at=-5_000_000)
    found = _timeline(tmp_path, dataclasses.replace(run, outcome=whole, raw=(early, *run.raw[1:])))
    assert found.first == -training.BEGAN - 5_000_000
    assert found.last == (training.STEPS - 1) * training.STEP + 3_000_000 + 20_000


def test_each_direction_has_its_lane(tmp_path: Path) -> None:
    run = training.run(str(tmp_path / "train.py"))
    waits = tuple(dataclasses.replace(one, direction=Direction.NONE) if one.id == 2 else one for one in run.sites)
    found = dict(_timeline(tmp_path, dataclasses.replace(run, sites=waits)).lanes)
    assert {name: len(bars) for name, bars in found.items()} == {"h2d": 44, "d2h": 20, "sync": 20}
