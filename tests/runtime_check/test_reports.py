"""Every form of the report says the same: verdicts, counts, bytes, times and whose they are; and nothing breaks out."""

from __future__ import annotations

import dataclasses
import html.parser
import json
from pathlib import Path

import pytest

from runtime_check.records import (
    Blocked,
    Executed,
    Header,
    Link,
    LinkKind,
    Outcome,
    RawEvent,
    Run,
    SiteRecord,
    StepTime,
)
from runtime_check.reports import highlight, perfetto, shown, source, terminal, units
from runtime_check.reports import html as html_report
from runtime_check.reports import json as json_report
from runtime_check.reports.shown import Shown
from runtime_check.verdicts import FoundFinding, judge
from transferlint.model import Direction, Evidence, Part, Site

SOURCE = """\
def train(loader, device):
    for x in loader:
        loss = (x.to(device) * 2).sum()  # <script>alert("x & y")</script>
        total += loss.item()
        back = x.cpu()
        y = back.to(device)
        lengths = x.shape
"""
HEADER = Header(
    program=("train.py", "--name", "<b>"),
    started="2026-01-02T03:04:05.678+00:00",
    device="Simulated CUDA device",
    driver="",
    torch="2.13.0",
    python="3.12.1",
    level="simulate",
    time_source="modelled",
    pid=7,
)


STEPS = (
    StepTime(0, 500_000_000, 60_000, 2, 1, 0, 4096),
    StepTime(41, 10_000_000, 60_000, 1, 2, 0, 8196),
    StepTime(7, 20_000_000, 0, 0, 0, 1, 0),
)


def site(path: str, line: int, start: int, end: int) -> Site:
    return Site(path, line, start, line, end)


@pytest.fixture
def run(tmp_path: Path) -> Run:
    path = str(tmp_path / "train.py")
    (tmp_path / "train.py").write_text(SOURCE)
    copy, read = "aten::copy_", "aten::_local_scalar_dense"

    def record(number: int, place: Site, direction: Direction, operation: str, blocked: int, size: int) -> SiteRecord:
        waited = Blocked(blocked, blocked // 100, blocked // 100, blocked // 100)
        return SiteRecord(number, place, direction, operation, 100, size, True, waited, stepped=99, thread="MainThread")

    return Run(
        HEADER,
        (
            record(0, site(path, 4, 18, 29), Direction.D2H, read, 1_000_000, 400),
            record(1, site(path, 5, 16, 23), Direction.D2H, copy, 3_000_000, 409_600),
            record(2, site(path, 6, 13, 28), Direction.H2D, copy, 2_000_000, 409_600),
        ),
        (Link(LinkKind.DEVICE_HOST_DEVICE, 1, 2, 100, 409_600, False),),
        raw=(RawEvent(0, 0, 1_000_000, 10_000, 4, 1), RawEvent(1, 2, 500_000_000, 20_000, 4096, 60)),
        outcome=Outcome(100, 99, 300, 1_000_000_000, 1_000_000_000, 0, timed=STEPS),
    )


@pytest.fixture
def page(run: Run, tmp_path: Path) -> Shown:
    path = str(tmp_path / "train.py")

    def finding(code: str, place: Site, message: str) -> FoundFinding:
        return FoundFinding(code, code.lower(), place, "train.py", message, fingerprint=code)

    findings = (
        finding("TL101", site(path, 4, 18, 29), "`loss.item()` makes the host wait <per step>"),
        finding("TL102", site(path, 7, 19, 26), "`x.shape` is <i>harmless</i>"),
        finding("TL102", site(path, 1, 1, 2), "never"),
    )
    judgement = judge(findings, run, [Executed(path, (4, 7))], str(tmp_path))
    return shown.of(run, judgement, str(tmp_path), failures=("too much",), problems=("a problem",), version="9")


class Tags(html.parser.HTMLParser):
    """What a page holds: tags, attributes, text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def test_the_terminal_ranks_by_waiting_and_ends_with_what_was_missed(page: Shown) -> None:
    text = terminal.render(page)
    rows = [line for line in text.splitlines() if line.startswith(("confirmed", "refuted", "missed", "not reached"))]
    assert [row.split()[0] for row in rows] == ["confirmed", "refuted", "missed", "missed", "not"]
    assert rows[0].startswith("confirmed   train.py:4:18 TL101 `loss.item()`")
    assert [row.split()[1] for row in rows[2:4]] == ["train.py:5:16", "train.py:6:13"]
    assert "100 times (1 a step), d2h, 400 B: blocked the host for 1.00 ms (modelled" in text
    assert text.count("   = do: ") == 4
    assert text.splitlines()[-1] == "1 confirmed, 1 refuted, 1 not reached, 2 missed."
    assert "6.00 ms (modelled; the run took 1.00 s here, of which that is 0.6 %)" in text.splitlines()[0]


def test_what_cannot_be_told_is_said_with_what_to_run(run: Run, tmp_path: Path) -> None:
    path = str(tmp_path / "train.py")
    inner = Evidence(site(path, 4, 18, 29), "made here, in `f`", part=Part.CALLEE)
    call = FoundFinding("TL101", "a", site(path, 7, 19, 26), "train.py", "of a call", evidence=(inner,))
    page = shown.of(run, judge((call,), run, [Executed(path, (7,))], str(tmp_path)), str(tmp_path))
    said = "run a program in which this call comes before the others"
    assert f"but only the caller of the first transfer is known; {said}" in terminal.render(page)
    assert said in html_report.render(page)


def test_what_asks_for_little_is_told_briefly_and_with_what_is_cheaper(run: Run, tmp_path: Path) -> None:
    path, other = str(tmp_path / "train.py"), str(tmp_path / "other.py")
    findings = [FoundFinding("TL101", "a", site(other, line, 1, 5), "other.py", "x") for line in range(1, 290)]
    up = SiteRecord(0, site(path, 4, 18, 29), Direction.H2D, "aten::copy_", 100, 400, True, Blocked(48_000_000))
    batches = dataclasses.replace(run, sites=(dataclasses.replace(up, stepped=100),), links=())
    judgement = judge(findings, batches, [Executed(other, (), started=False)], str(tmp_path))
    text = terminal.render(shown.of(batches, judgement, str(tmp_path)))
    assert "not reached 289 findings in 1 file that the run did not import\n" in text
    assert text.count("not reached ") == 1
    assert "   = cheaper: `.to(device, non_blocking=True)`: so small, it need not be pinned" in text
    page = html_report.render(shown.of(batches, judgement, str(tmp_path)))
    assert "non_blocking=True" in page


def test_steps_are_three_rows(page: Shown) -> None:
    assert (
        """
100 steps (the first with all before it; took: by the clock here, blocked: modelled)
step            took  blocked    share  h2d  d2h  wait     bytes
first (1)     500 ms  60.0 µs  < 0.1 %    2    1     0  4.00 KiB
median (42)  10.0 ms  60.0 µs    0.6 %    1    2     0  8.00 KiB
slowest (8)  20.0 ms        0      0 %    0    0     1       0 B
""".strip()
        in terminal.render(page)
    )
    words = " ".join(" ".join(Tags(html_report.render(page)).words).split())
    assert "Steps 100 steps (the first" in words
    assert "median (42) 10.0 ms 60.0 µs 0.6 % 1 2 0 8.00 KiB" in words
    assert json.loads(json_report.render(page))["outcome"]["timed"][2]["waits"] == 1


def test_quiet_is_what_failed(page: Shown) -> None:
    assert terminal.render(page, quiet=True) == "problem: a problem\nfailed: too much\n"


def test_colours_change_no_word(page: Shown) -> None:
    import re

    coloured = terminal.render(page, color=True)
    assert "\x1b[1;31mconfirmed" in coloured
    plain = re.sub(r"\x1b\[[0-9;]*m", "", coloured)
    assert [line.rstrip() for line in plain.splitlines()] == terminal.render(page).splitlines()


def test_json_holds_everything(page: Shown) -> None:
    whole = json.loads(json_report.render(page))
    assert whole["summary"] == {"confirmed": 1, "partly": 0, "refuted": 1, "not_reached": 1, "missed": 2}
    first = whole["verdicts"][0]
    assert (first["verdict"], first["path"], first["line"], first["count"]) == ("confirmed", "train.py", 4, 100)
    assert (first["bytes"], first["blocked_ns"], first["sites"]) == (400, 1_000_000, [0])
    assert [one["line"] for one in whole["missed"]] == [5, 6]
    assert whole["links"][0]["kind"] == "d2h2d"
    assert (whole["time_source"], whole["blocked_share"], whole["failures"]) == ("modelled", None, ["too much"])


def test_html_is_one_file_in_which_everything_is_escaped(page: Shown) -> None:
    text = html_report.render(page)
    tags = Tags(text)
    assert sum(tag == "script" for tag, _ in tags.tags) == 3  # its own
    assert "<i>harmless" not in text
    assert "alert(" not in text.replace("alert(&#34;x &amp; y&#34;)", "")
    assert not [tag for tag, _ in tags.tags if tag in ("link", "img", "iframe", "object")]
    attributes = [pair for _, given in tags.tags for pair in given.items()]
    addresses = [value or "" for name, value in attributes if name in ("href", "src")]
    assert addresses
    assert all(address.startswith("#") for address in addresses)
    ids = {value for name, value in attributes if name == "id"}
    assert {address[1:] for address in addresses} <= ids
    assert "url(" not in text
    assert "@import" not in text


def test_html_shows_verdicts_trips_time_and_source(page: Shown) -> None:
    text = html_report.render(page)
    tags = Tags(text)
    words = " ".join(" ".join(tags.words).split())
    kinds = [attributes["data-kind"] for tag, attributes in tags.tags if tag == "tr" and "data-kind" in attributes]
    assert kinds == ["confirmed", "refuted", "missed", "missed", "not-reached"]
    buttons = [attributes["value"] for tag, attributes in tags.tags if tag == "button" and "value" in attributes]
    assert buttons[:5] == ["", "confirmed", "refuted", "not-reached", "missed"]
    trip = words[words.index("device → host → device") :]
    assert trip.index("train.py:5:16") < trip.index("back = x.cpu()") < trip.index("train.py:6:13")
    assert "2 of 300 events, drawn at random." in words
    assert [one["class"] for tag, one in tags.tags if tag == "rect"] == ["h2d", "d2h"]
    assert words.count("modelled") >= 4
    assert "prefers-color-scheme: dark" in text


def test_measured_times_are_called_so(page: Shown) -> None:
    measured = dataclasses.replace(page.run, header=dataclasses.replace(HEADER, time_source="measured", level="trace"))
    judgement = judge((), measured, [], page.folder)
    again = shown.of(measured, judgement, page.folder, version="9")
    assert "6.00 ms, 0.6 % of the run (measured)" in terminal.render(again)
    assert "modelled" not in terminal.render(again)
    words = " ".join(Tags(html_report.render(again)).words)
    assert "modelled" not in words
    assert "host blocked, measured" in words


def test_an_empty_run_can_be_shown(page: Shown) -> None:
    empty = Run(HEADER)
    nothing = shown.of(empty, judge((), empty, []), page.folder)
    assert terminal.render(nothing).splitlines()[-1] == "No findings, and nothing was missed."
    failed = shown.of(Run(HEADER, outcome=Outcome(status=1)), judge((), empty, []), page.folder)
    assert terminal.render(failed).splitlines()[-1].startswith("Nothing to judge: ")
    assert "None were seen." in html_report.render(nothing)
    assert json.loads(json_report.render(nothing))["verdicts"] == []
    assert json.loads(perfetto.render([empty]))["otherData"]["events"] == 0


def test_a_long_file_is_shown_around_what_crossed(run: Run) -> None:
    text = "\n" * 2000
    far = dataclasses.replace(run.sites[0], site=site("train.py", 1500, 1, 2))
    file = source.listing("train.py", "f0", highlight.lines(text.split("\n")), [far, run.sites[1]], {}, 3_000_000)
    assert [line.number for line in file.lines if line.gap] == [1496]
    assert [line.number for line in file.lines if line.heat] == [5, 1500]
    assert file.lines[4].margin == ("100", "d2h", "400 KiB", "3.00 ms")
    assert {line.number: line.heat for line in file.lines if line.heat} == {5: 10, 1500: 6}


@pytest.mark.parametrize(
    ("made", "wanted"),
    [
        (units.duration(0), "0 ns"),
        (units.duration(999), "999 ns"),
        (units.duration(999_900), "1.00 ms"),
        (units.duration(12_345_678), "12.3 ms"),
        (units.duration(123e9), "123 s"),
        (units.size(1023), "1023 B"),
        (units.size(1024), "1.00 KiB"),
        (units.size(1 << 50), "1.00 PiB"),
        (units.size(1 << 62), "4096 PiB"),
        (units.share(0.0), "0 %"),
        (units.share(0.0004), "< 0.1 %"),
        (units.count(1200, "read"), "1,200 reads"),
    ],
)
def test_numbers_are_read_easily(made: str, wanted: str) -> None:
    assert made == wanted
