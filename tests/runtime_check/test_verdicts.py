"""Findings held against runs: one verdict each, for the right records, in words that promise nothing."""

from __future__ import annotations

import dataclasses
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from runtime_check import findings as found
from runtime_check.findings import FindingsError, FoundFinding
from runtime_check.records import (
    OVERFLOW,
    Blocked,
    Executed,
    Header,
    Link,
    LinkKind,
    Missing,
    Outcome,
    Run,
    SiteRecord,
)
from runtime_check.verdicts import Judgement, Missed, Verdict, VerdictKind, judge
from transferlint.model import Direction, Evidence, Part, QuietSite, Site

D2H, H2D, NONE = Direction.D2H, Direction.H2D, Direction.NONE
SCALAR, COPY = "aten::_local_scalar_dense", "aten::copy_"
HEADER = Header(("train.py",), "", "a device", "1", "2.13.0", "3.12.1", "trace", "measured")
OUTCOME = Outcome(101, 100, 1000, 10**9, 10**9, 0)
FILE = "/program/train.py"


def site(line: int, column: int = 0, end: int = 0, path: str = FILE) -> Site:
    return Site(path, line, column, line, end)


def finding(code: str, where: Site, *evidence: tuple[Site, str, Part], **more: str) -> FoundFinding:
    links = tuple(Evidence(place, message, part=part) for place, message, part in evidence)
    shown = FoundFinding(code, "a-rule", where, "train.py", "it does", "do without", links)
    return dataclasses.replace(shown, **more)  # type: ignore[arg-type]


def record(number: int, where: Site, direction: Direction = D2H, operation: str = SCALAR, **more: object) -> SiteRecord:
    fields: dict[str, object] = {
        "id": number,
        "site": where,
        "direction": direction,
        "operation": operation,
        "count": 100,
        "bytes": 400,
        "sync": True,
        "blocked": Blocked(1_000_000, 10_000, 10_000, 10_000),
        "stepped": 100,
    }
    return SiteRecord(**{**fields, **more})  # type: ignore[arg-type]


def run(*sites: SiteRecord, links: tuple[Link, ...] = (), lines: tuple[int, ...] = (), **header: str) -> Run:
    changed = dataclasses.replace(HEADER, **header)  # type: ignore[arg-type]
    return Run(changed, sites, links, outcome=OUTCOME, executed=(Executed(FILE, lines),))


def only(findings: list[FoundFinding], of: Run) -> Verdict:
    (verdict,) = judge(findings, of).verdicts
    return verdict


ITEM = finding("TL101", site(7, 5, 16))


def test_what_crossed_is_confirmed_with_its_sums() -> None:
    verdict = only([ITEM], run(record(0, site(7, 5, 16))))
    assert verdict.kind is VerdictKind.CONFIRMED
    assert (verdict.count, verdict.bytes, verdict.blocked_ns) == (100, 400, 1_000_000)
    assert verdict.text == "100 times (1 a step), d2h, 400 B: blocked the host for 1.00 ms (0.1 % of the run)"
    assert verdict.act == "do without"


def test_a_line_that_ran_and_moved_nothing_refutes() -> None:
    verdict = only([ITEM], run(lines=(7,)))
    assert (verdict.kind, verdict.text) == (VerdictKind.REFUTED, "the line ran without a transfer")
    assert verdict.act == "if no run transfers here, suppress it: `# transferlint: ignore[TL101] <reason>`"


def test_what_is_about_another_framework_gets_no_verdict_and_that_is_said() -> None:
    about = dataclasses.replace(ITEM, framework="jax")
    ran = run(record(0, site(9, 5, 16)), lines=(7, 9))
    made = judge([about, finding("TL101", site(9, 5, 16))], ran)
    assert [verdict.kind for verdict in made.verdicts] == [VerdictKind.CONFIRMED]
    assert made.unjudged == (about,)
    assert "1 finding about jax data got no verdict: only transfers of torch are recorded" in made.notes
    assert not any("verdict" in note for note in judge([ITEM], ran).notes)


def test_a_framework_that_was_recorded_gets_verdicts_by_its_own_records() -> None:
    about = dataclasses.replace(ITEM, framework="jax")
    of_torch = record(0, ITEM.site)
    of_jax = dataclasses.replace(record(1, ITEM.site), framework="jax", operation="jax.Array.item", untimed=1, count=1)
    both = run(of_torch, of_jax, lines=(7,))
    both = dataclasses.replace(both, header=dataclasses.replace(both.header, watched=("torch", "jax")))
    first, second = judge([about, ITEM], both).verdicts
    assert {first.finding, second.finding} == {about, ITEM}
    for verdict in (first, second):
        assert verdict.kind is VerdictKind.CONFIRMED
        assert [one.framework for one in verdict.records] == [verdict.finding.framework]
    jax = first if first.finding is about else second
    assert jax.text.endswith(": time not measured")
    alone = dataclasses.replace(both, sites=(of_torch,))
    assert [one.kind for one in judge([about], alone).verdicts] == [VerdictKind.REFUTED]
    elsewhere = judge([dataclasses.replace(ITEM, framework="tensorflow")], both)
    assert elsewhere.verdicts == ()
    said = "1 finding about tensorflow data got no verdict: only transfers of torch and jax are recorded"
    assert said in elsewhere.notes


def test_a_line_that_did_not_run_is_not_reached() -> None:
    verdict = only([ITEM], run(lines=(6, 8)))
    assert (verdict.kind, verdict.text) == (VerdictKind.NOT_REACHED, "the line did not run")


def test_without_lines_nothing_is_refuted() -> None:
    judgement = judge([ITEM], dataclasses.replace(run(), executed=()))
    assert judgement.verdicts[0].kind is VerdictKind.NOT_REACHED
    assert "it was not recorded which lines ran: no finding can be refuted" in judgement.notes
    assert judge([ITEM], run(), executed=[Executed(FILE, (7,))]).verdicts[0].kind is VerdictKind.REFUTED


def test_any_line_of_a_long_finding_counts_as_run() -> None:
    long = finding("TL101", Site(FILE, 7, 5, 9, 3))
    assert only([long], run(lines=(9,))).kind is VerdictKind.REFUTED
    assert only([long], run(record(0, Site(FILE, 8, 9, 8, 12)))).kind is VerdictKind.CONFIRMED
    assert only([long], run(record(0, Site(FILE, 9, 5, 9, 12)), lines=(7,))).kind is VerdictKind.REFUTED


def test_an_operand_that_was_never_evaluated_is_not_reached_though_its_line_ran() -> None:
    def judged(*executed: Executed) -> Verdict:
        return only([ITEM], dataclasses.replace(run(), executed=executed))

    skipped = judged(Executed(FILE, (7,), decided=((7, 5),)))
    assert (skipped.kind, skipped.act) == (VerdictKind.NOT_REACHED, "run a program that reaches this line")
    assert skipped.text == "the line ran, but this expression was never evaluated"
    assert judged(Executed(FILE, (7,), ((7, 5),), ((7, 5),))).kind is VerdictKind.REFUTED
    assert judged(Executed(FILE, (7,), decided=((7, 20),))).kind is VerdictKind.REFUTED


def test_a_move_that_did_nothing_refutes_and_says_so() -> None:
    up = finding("TL103", site(7, 5, 16))
    idle = record(0, site(7, 5, 16), NONE, "aten::to", sync=False, count=40, bytes=0, blocked=Blocked())
    verdict = only([up], run(idle, lines=(7,)))
    assert verdict.kind is VerdictKind.REFUTED
    assert verdict.text == "it ran 40 times, and the value was already there"


def test_a_needless_move_is_borne_out_by_moving_nothing() -> None:
    needless = finding("TL407", site(7, 5, 16))
    assert only([needless], run(lines=(7,))).kind is VerdictKind.CONFIRMED
    assert only([needless], run()).kind is VerdictKind.NOT_REACHED
    crossed = only([needless], run(record(0, site(7, 5, 16)), lines=(7,)))
    assert (crossed.kind, crossed.act) == (
        VerdictKind.REFUTED,
        "keep the move and suppress the finding: `# transferlint: ignore[TL407] <reason>`",
    )
    inner = record(0, site(7, 5, 12), H2D)  # of `x.cuda()` in `x.cuda().to(device)`
    assert only([needless], run(inner, lines=(7,))).kind is VerdictKind.CONFIRMED


def test_columns_tell_findings_of_one_line_apart() -> None:
    other = finding("TL101", site(7, 20, 31))
    verdicts = judge([ITEM, other], run(record(0, site(7, 20, 31), count=3), lines=(7,))).verdicts
    assert [(one.kind, one.finding.site.column, one.count) for one in verdicts] == [
        (VerdictKind.CONFIRMED, 20, 3),
        (VerdictKind.REFUTED, 5, 0),
    ]


def test_without_columns_the_direction_tells_them_apart() -> None:
    up = finding("TL104", site(7, 20, 31))
    records = (record(0, site(7), count=3), record(1, site(7), H2D, COPY, count=5))
    verdicts = judge([ITEM, up], run(*records)).verdicts
    assert {one.finding.code: one.count for one in verdicts} == {"TL101": 3, "TL104": 5}


def test_without_columns_the_operation_tells_them_apart() -> None:
    copy = finding("TL102", site(7, 20, 31))
    records = (record(0, site(7), count=3), record(1, site(7), D2H, COPY, count=5))
    verdicts = judge([ITEM, copy], run(*records)).verdicts
    assert {one.finding.code: one.count for one in verdicts} == {"TL101": 3, "TL102": 5}


def test_a_record_within_two_findings_bears_both_out() -> None:
    decision = finding("TL203", site(7, 2, 30))
    judgement = judge([ITEM, decision], run(record(0, site(7, 5, 16))))
    assert [one.kind for one in judgement.verdicts] == [VerdictKind.CONFIRMED] * 2
    assert judgement.blocked_ns == 1_000_000  # and counts once


def test_a_read_of_what_came_back_belongs_to_the_round_trip() -> None:
    evidence = (site(8, 1, 20), "back on the device", Part.RETURN), (site(9, 5, 16), "read again", Part.TRANSFER)
    trip = finding("TL201", site(7, 5, 16), *evidence)
    records = record(0, site(7, 5, 16)), record(1, site(8, 1, 20), H2D, COPY), record(2, site(9, 5, 16), count=7)
    judgement = judge([trip], run(*records, lines=(7, 8, 9)))
    assert [(one.kind, one.count) for one in judgement.verdicts] == [(VerdictKind.CONFIRMED, 107)]
    assert not judgement.missed


def test_a_call_around_a_finding_is_not_its_read() -> None:
    """`report(loss.item())`, where `report` reads something of its own, inside a library."""
    around = record(1, site(3, path="/lib/site-packages/report.py"), user=site(7, 1, 20), count=9)
    assert only([ITEM], run(record(0, site(7, 5, 16)), lines=(7,))).count == 100
    both = run(record(0, site(7, 5, 16)), around, lines=(7,))
    assert only([ITEM], both).count == 109  # seen only at a line that holds the finding, so it may be its own
    outer = finding("TL302", site(7, 1, 20))
    counts = {one.finding.code: one.count for one in judge([ITEM, outer], both).verdicts}
    assert counts == {"TL101": 100, "TL302": 109}


def test_a_librarys_read_belongs_to_the_users_line() -> None:
    inside = record(0, site(3, 1, 9, path="/lib/site-packages/metric.py"), user=site(7, 5, 16))
    assert only([ITEM], run(inside)).kind is VerdictKind.CONFIRMED


def test_a_read_in_a_wrapper_belongs_to_the_call_that_is_found() -> None:
    chain = (site(7, 5, 16), site(40, 1, 9))
    assert only([ITEM], run(record(0, site(90, 5, 20), chain=chain))).kind is VerdictKind.CONFIRMED
    inside = (site(7, 6, 12), site(40, 1, 9))
    assert only([ITEM], run(record(0, site(90, 5, 20), chain=inside), lines=(7,))).kind is VerdictKind.REFUTED


def test_a_call_of_a_wrapper_that_others_called_before_is_not_refuted() -> None:
    """A record has the chain of its first event; what came by others cannot be told."""
    wrapped = finding("TL101", site(7, 5, 16), (site(90, 5, 20), "made here, in `read`", Part.CALLEE))
    elsewhere = {"chain": (site(40, 1, 9),)}
    verdict = only([wrapped], run(record(0, site(90, 5, 20), count=2, **elsewhere), lines=(7,)))
    assert verdict.kind is VerdictKind.NOT_REACHED
    assert verdict.text == (
        "the line ran; what it calls transferred 2 times, but only the caller of the first transfer is known"
    )
    for once in (record(0, site(90, 5, 20), count=1, **elsewhere), record(0, site(91, 5, 20), **elsewhere)):
        assert only([wrapped], run(once, lines=(7,))).kind is VerdictKind.REFUTED
    assert only([wrapped], run(record(0, site(90, 5, 20), count=2, **elsewhere))).text == "the line did not run"


def test_the_truth_of_a_conditional_expression_belongs_to_its_test() -> None:
    """Its jump has the columns of the whole expression, here within that of another finding."""
    around = finding("TL201", site(7, 1, 60))
    test = finding("TL301", site(7, 20, 30))
    copied = record(1, site(7, 1, 55), operation=COPY)
    judged = judge([around, test], run(record(0, site(7, 2, 50)), copied, lines=(7,)))
    assert {one.finding.code: one.count for one in judged.verdicts} == {"TL201": 100, "TL301": 100}


def test_columns_within_f_strings_of_311_are_not_trusted() -> None:
    shown = finding("TL303", site(7, 5, 30))
    misplaced = record(0, site(7, 2, 4), D2H, COPY)
    assert only([shown], run(misplaced, lines=(7,), python="3.11.9")).kind is VerdictKind.CONFIRMED
    assert only([shown], run(misplaced, lines=(7,))).kind is VerdictKind.REFUTED


def test_columns_of_python_3_11_count_where_there_is_no_f_string(tmp_path: Path) -> None:
    path = tmp_path / "train.py"
    path.write_text('print(f"{x}")\nprint(x.to(d) + y.to(d))\n')

    def verdict(line: int, column: int) -> VerdictKind:
        other = record(0, site(line, column, column + 7, str(path)))
        whole = dataclasses.replace(run(other, python="3.11.9"), executed=(Executed(str(path), (1, 2)),))
        return only([finding("TL101", site(line, 17, 24, str(path)))], whole).kind

    assert verdict(1, 3) is VerdictKind.CONFIRMED
    assert verdict(2, 7) is VerdictKind.REFUTED


def test_a_finding_stands_for_the_reads_near_it() -> None:
    moved, again = (site(3, 1, 9), "moved here", Part.PLACE), (site(9, 5, 16), "and again here", Part.SAME)
    cluster = finding("TL101", site(7, 5, 16), moved, again)
    upload = record(0, site(3, 1, 9), H2D, COPY)
    judgement = judge([cluster], run(upload, record(1, site(7, 5, 16)), record(2, site(9, 5, 16))))
    (verdict,) = judgement.verdicts
    assert (verdict.count, verdict.blocked_ns) == (200, 2_000_000)
    assert verdict.text.startswith(
        "200 times at 2 sites (/program/train.py:7, 9) (2 a step), d2h, 800 B: blocked the host for 2.00 ms"
    )
    assert [one.records for one in judgement.missed] == [(upload,)]


ROUND = finding("TL201", site(7, 5, 16), (site(9, 5, 30), "back on the device here", Part.RETURN))
DOWN, UP = record(0, site(7, 5, 16), D2H, COPY), record(1, site(9, 5, 30), H2D, COPY)


def test_a_round_trip_that_was_seen_is_confirmed() -> None:
    kind = LinkKind.DEVICE_HOST_DEVICE
    links = (Link(kind, 0, 1, 60, 240, False), Link(kind, 0, 1, 40, 1, True))
    verdict = only([ROUND], run(DOWN, UP, links=links))
    assert (verdict.kind, verdict.links) == (VerdictKind.CONFIRMED, links)
    assert verdict.text.endswith(
        "; round trip (d2h2d) seen 60 times, unchanged; round trip (d2h2d) seen 40 times, changed in between"
    )


def test_both_ends_that_crossed_are_a_round_trip_whose_data_was_not_followed() -> None:
    verdict = only([ROUND], run(DOWN, UP))
    assert verdict.kind is VerdictKind.CONFIRMED
    assert verdict.text.endswith("; the other end crossed 100 times; that it is the same data was not seen")


def test_one_end_alone_is_partly() -> None:
    verdict = only([ROUND], run(DOWN))
    assert verdict.kind is VerdictKind.PARTLY
    assert verdict.text.endswith("; no transfer was seen at the other end")
    guard = only([ROUND], run(DOWN, level="guard"))
    assert guard.kind is VerdictKind.PARTLY
    assert "level guard does not track data" in guard.text


def test_the_other_end_is_not_missed() -> None:
    assert judge([ROUND], run(DOWN, UP)).missed == ()


def test_the_other_end_that_only_the_run_shows_is_not_missed_either() -> None:
    elsewhere = record(2, site(30, 5, 30), H2D, COPY)
    back = (Link(LinkKind.DEVICE_HOST_DEVICE, 0, 2, 100, 400, False),)
    assert judge([ROUND], run(DOWN, elsewhere, links=back)).missed == ()
    assert [one.site.line for one in judge([ROUND], run(DOWN, elsewhere)).missed] == [30]


def test_an_invariant_that_was_seen_to_be_one_says_so() -> None:
    invariant = finding("TL103", site(9, 5, 30))
    repeats = (Link(LinkKind.REPEAT, 1, 1, 99, 9, False),)
    assert only([invariant], run(UP, links=repeats)).text.endswith("; the same data was transferred again 99 times")
    assert only([invariant], run(UP)).kind is VerdictKind.CONFIRMED


def test_a_repeated_upload_has_to_repeat() -> None:
    again = finding("TL204", site(9, 5, 30))
    assert only([again], run(UP)).kind is VerdictKind.PARTLY
    verdict = only([again], run(UP, links=(Link(LinkKind.REPEAT, 1, 1, 99, 9, False),)))
    assert verdict.kind is VerdictKind.CONFIRMED
    assert verdict.text.endswith("; the same data was transferred again 99 times")


@pytest.mark.parametrize(
    ("code", "fields", "kind"),
    [
        ("TL402", {"pinned": 100}, VerdictKind.CONFIRMED),
        ("TL402", {"pinned": 0}, VerdictKind.CONFIRMED),
        ("TL402", {"sync": False}, VerdictKind.PARTLY),
        ("TL404", {"pinned": 0}, VerdictKind.CONFIRMED),
        ("TL404", {"pinned": 100}, VerdictKind.PARTLY),
        ("TL403", {"hint_ignored": 1}, VerdictKind.CONFIRMED),
        ("TL403", {"hint_ignored": 0}, VerdictKind.PARTLY),
        ("TL503", {"direction": D2H, "non_blocking": 1, "sync": False}, VerdictKind.CONFIRMED),
        ("TL503", {"direction": D2H, "non_blocking": 0}, VerdictKind.REFUTED),
        ("TL306", {"direction": NONE, "operation": "torch.cuda.synchronize"}, VerdictKind.CONFIRMED),
        ("TL306", {}, VerdictKind.REFUTED),
        ("TL999", {}, VerdictKind.CONFIRMED),
        ("TL304", {"direction": NONE, "operation": "aten::nonzero"}, VerdictKind.CONFIRMED),
    ],
)
def test_the_manner_is_part_of_the_claim(code: str, fields: dict[str, object], kind: VerdictKind) -> None:
    crossed = record(0, site(7, 5, 16), **{"direction": H2D, "operation": COPY, **fields})  # type: ignore[arg-type]
    assert only([finding(code, site(7, 5, 16))], run(crossed, lines=(7,))).kind is kind


def test_what_is_not_about_transfers_gets_no_verdict() -> None:
    judgement = judge([finding("TL002", site(7)), finding("TL502", site(7))], run())
    assert judgement.verdicts == ()
    assert [one.code for one in judgement.unjudged] == ["TL002", "TL502"]


def test_the_longest_waits_come_first() -> None:
    findings = [finding("TL101", site(line, 5, 16)) for line in range(1, 6)]
    waits = {2: 5, 3: 500, 4: 50}
    records = [record(line, site(line, 5, 16), blocked=Blocked(total=wait)) for line, wait in waits.items()]
    verdicts = judge(findings, run(*records, lines=(5,))).verdicts
    assert [one.finding.site.line for one in verdicts] == [3, 4, 2, 5, 1]


def test_no_word_promises_a_gain() -> None:
    findings = [finding(f"TL{number}", site(7, 5, 16)) for number in (101, 103, 201, 204, 301, 402, 407, 999)]
    records = (DOWN, UP, record(2, site(7, 5, 16)), record(3, site(7, 5, 16), H2D, COPY))
    for of in (run(*records), run(*records, time_source="modelled"), run(lines=(7,)), run()):
        judgement = judge(findings, of)
        for one in (*judgement.verdicts, *judgement.missed):
            text = f"{one.text} {one.act}"
            assert not re.search(r"\b(speed|faster|gain|sav)|\n", text), text


def test_modelled_times_are_no_share_of_a_run() -> None:
    judgement = judge([ITEM], run(record(0, site(7, 5, 16)), record(1, site(70, 5, 16)), time_source="modelled"))
    assert judgement.share is None
    assert "blocked the host for 1.00 ms (modelled; 50.0 % of all waiting)" in judgement.verdicts[0].text
    assert judgement.notes[0].startswith("times are modelled")


def missed(*records: SiteRecord, links: tuple[Link, ...] = (), root: str = "", **header: str) -> Judgement:
    return judge([], run(*records, links=links, **header), root=root)


def test_hot_sites_without_a_finding_are_missed() -> None:
    rare = record(1, site(9, 5, 16), stepped=10)
    (miss,) = missed(record(0, site(7, 5, 16)), rare).missed
    assert (miss.site, miss.own, miss.explained, miss.count) == (site(7, 5, 16), True, "", 100)
    assert miss.text == "100 times (1 a step), d2h, 400 B: blocked the host for 1.00 ms (0.1 % of the run)"
    assert miss.act == "keep it on the device, and read it once after the loop"


def test_without_steps_what_crossed_often_is_hot() -> None:
    few = [record(number, site(number, 5, 16), count=count, stepped=0) for number, count in ((1, 9), (2, 10))]
    whole = dataclasses.replace(run(*few), outcome=dataclasses.replace(OUTCOME, steps=0, full_steps=0))
    assert [miss.site.line for miss in judge([], whole).missed] == [2]


def test_threads_of_one_site_are_one_miss() -> None:
    halves = [record(n, site(7, 5, 16), thread=name, stepped=30, count=30) for n, name in enumerate(("a", "b"))]
    (miss,) = missed(*halves).missed
    assert (miss.count, len(miss.records)) == (60, 2)


_HALF_EQUAL = Link(LinkKind.EQUAL_CONTENT, 1, 1, 50, 9, False)
_BACK = Link(LinkKind.DEVICE_HOST_DEVICE, 0, 1, 9, 9, True)


@pytest.mark.parametrize(
    ("fields", "links", "level", "explained", "act"),
    [
        ({"sync": False}, (), "trace", "no wait: the time is that of the call itself", "nothing: the host"),
        ({}, (), "trace", "new data every time, such as a batch", "`.to(device, non_blocking=True)`"),
        ({"pinned": 100}, (), "trace", "new data every time, such as a batch", "pass `non_blocking=True`"),
        ({}, (), "guard", "", "`.to(device, non_blocking=True)`"),
        ({"hint_ignored": 5}, (), "trace", "", "pin the source memory"),
        ({}, (Link(LinkKind.REPEAT, 1, 1, 9, 9, False),), "trace", "", "upload it once, before the loop"),
        ({}, (Link(LinkKind.EQUAL_CONTENT, 1, 1, 95, 9, False),), "trace", "", "upload it once, before the loop"),
        ({}, (_HALF_EQUAL,), "trace", "new data every time, such as a batch", "`.to(device, non_blocking=True)`"),
        ({}, (_BACK,), "trace", "", "copied to the host at /program/train.py:50"),
        ({}, (Link(LinkKind.SCALAR_DETOUR, 0, 1, 9, 9),), "trace", "", "copied to the host at /program/train.py:50"),
    ],
)
def test_an_upload_is_explained_or_missed(
    fields: dict[str, object], links: tuple[Link, ...], level: str, explained: str, act: str
) -> None:
    cold = record(0, site(50, 1, 5), D2H, COPY, count=9, stepped=0)
    (miss,) = missed(cold, record(1, site(7, 5, 16), H2D, COPY, **fields), links=links, level=level).missed  # type: ignore[arg-type]
    assert miss.explained == explained
    assert act in miss.act


def test_a_download_that_goes_back_names_the_line() -> None:
    links = (Link(LinkKind.DEVICE_HOST_DEVICE, 0, 1, 9, 9, False),)
    miss = next(one for one in missed(DOWN, UP, links=links).missed if one.direction is D2H)
    assert miss.act == "keep the computation on the device: the data is uploaded again at /program/train.py:9"
    assert miss.text.endswith("; round trip (d2h2d) seen 9 times, unchanged")


def test_own_code_comes_before_libraries() -> None:
    library = record(0, site(3, path="/venv/lib/site-packages/lib.py"), blocked=Blocked(total=9**9))
    through = record(1, site(4, path="/venv/lib/site-packages/lib.py"), user=site(8, 1, 5))
    own = record(2, site(7, 5, 16))
    found = missed(library, through, own, root="/program").missed
    assert [(one.site.line, one.own) for one in found] == [(7, True), (8, True), (3, False)]
    assert found[1].explained == "inside lib, which is not the program's own code"
    assert found[2].explained == "inside a library, without a calling line in the program's own code"
    elsewhere = missed(own, root="/other").missed
    assert not elsewhere[0].own


def test_what_a_library_does_below_one_line_is_told_once() -> None:
    inside = [
        record(number, site(line, path=f"/venv/lib/site-packages/solver/{name}.py"), way, user=site(8, 1, 5))
        for number, (name, line, way) in enumerate([("a", 3, D2H), ("a", 4, D2H), ("b", 9, D2H), ("b", 5, H2D)])
    ]
    found = missed(*inside, record(4, site(8, 1, 5)), root="/program").missed
    assert [(one.direction, one.count, one.explained) for one in found] == [
        (D2H, 100, ""),
        (D2H, 300, "inside solver, which is not the program's own code"),
        (H2D, 100, "inside solver, which is not the program's own code"),
    ]


def quiet(where: Site, kind: str, reason: str, direction: Direction | None = D2H) -> QuietSite:
    return QuietSite(where, direction, kind, reason)


def with_reason(one: QuietSite, *records: SiteRecord, links: tuple[Link, ...] = (), full_steps: int = 100) -> Missed:
    whole = run(*records, links=links)
    whole = dataclasses.replace(whole, outcome=dataclasses.replace(OUTCOME, full_steps=full_steps))
    (miss,) = judge([], whole, quiet=[one]).missed
    return miss


def test_what_check_is_quiet_about_on_purpose_is_explained() -> None:
    needed = quiet(site(7, 5, 16), "host", "`envs.step` takes it, which only the host can do")
    miss = with_reason(needed, record(0, site(7, 5, 16), D2H, COPY, steps=100))
    assert (miss.explained, miss.act) == (needed.reason, "nothing: this is as it should be")
    assert with_reason(needed, record(0, site(7, 20, 30), D2H, COPY)).explained == ""  # another part of the line
    assert with_reason(needed, record(0, site(7, 1, 40), D2H, COPY)).explained == ""  # a call around it
    assert with_reason(needed, record(0, site(7, 5, 16), H2D, COPY, hint_ignored=1)).explained == ""
    assert with_reason(needed, record(0, site(7))).explained == needed.reason  # Python 3.10 knows no columns


def test_a_suppression_explains_whatever_crosses_there() -> None:
    said = quiet(site(7, 5, 16), "suppressed", "TL101 is suppressed by the comment at line 7: the log wants it", None)
    assert with_reason(said, record(0, site(7, 5, 16), NONE, "aten::nonzero")).explained == said.reason


def test_a_callers_whole_call_explains_what_is_done_below_it() -> None:
    below = record(0, site(3, 5, 16, path="/program/other.py"), chain=(site(7, 5, 16),))
    whole = quiet(site(7, 5, 16), "amortised", "amortised: only every so many steps")
    assert with_reason(whole, below).explained == whole.reason
    assert with_reason(quiet(site(7, 5, 40), "amortised", "now and then"), below).explained == ""


def test_a_run_contradicts_what_was_taken_for_setup() -> None:
    setup = quiet(site(7, 5, 16), "cold", "cold: `prepare` is setup")
    often = with_reason(setup, record(0, site(7, 5, 16), steps=90))
    assert often.explained == ""
    assert often.act.endswith("(`check` assumed that it is rare: cold: `prepare` is setup)")
    assert with_reason(setup, record(0, site(7, 5, 16), steps=3)).explained == setup.reason
    assert with_reason(setup, record(0, site(7, 5, 16)), full_steps=0).explained == setup.reason
    callers = quiet(site(7, 5, 16), "callers", "cold: called only from cold code (test or benchmark code)")
    assert with_reason(callers, record(0, site(7, 5, 16), steps=3)).explained == callers.reason
    assert with_reason(callers, record(0, site(7, 5, 16)), full_steps=0).explained == ""


def test_a_run_contradicts_what_was_taken_for_once() -> None:
    once = quiet(site(7, 5, 16), "rare", "not hot: runs once per call")
    thousand = record(0, site(7, 5, 16), count=1000, stepped=0)
    for full_steps in (0, 100):  # in a program without steps, and after the last of a hundred
        miss = with_reason(once, thousand, full_steps=full_steps)
        assert (miss.explained, miss.count) == ("", 1000)
        assert miss.act.endswith("(`check` assumed that it is rare: not hot: runs once per call)")
    assert with_reason(once, record(0, site(7, 5, 16), count=3, stepped=3), full_steps=3).explained == once.reason


def test_a_run_contradicts_an_interval_and_a_queue_by_its_name() -> None:
    every = quiet(site(7, 5, 16), "amortised", "amortised: only every so many steps")
    assert with_reason(every, record(0, site(7, 5, 16), steps=100)).explained == ""
    assert with_reason(every, record(0, site(7, 5, 16), steps=3)).explained == every.reason
    handed = quiet(site(7, 5, 16), "handed over", "`q.put` passes it to another process, which only the host can do")
    miss = with_reason(handed, record(0, site(7, 5, 16), D2H, COPY, steps=100))
    assert miss.explained == ""
    assert miss.act.endswith("; pass many at once (`q.put` passes it to another process, which only the host can do)")
    assert with_reason(handed, record(0, site(7, 5, 16), steps=3)).explained == handed.reason


def test_new_data_that_was_not_new_is_missed() -> None:
    words = "an upload of new data: every batch has to be copied to the device once"
    new = quiet(site(7, 5, 16), "new data", words, H2D)
    up = record(1, site(7, 5, 16), H2D, COPY, pinned=0)
    assert with_reason(new, up).explained.startswith("new data every time")
    again = (Link(LinkKind.REPEAT, 1, 1, 9, 9, False),)
    assert with_reason(new, up, links=again).explained == ""
    assert with_reason(new, record(1, site(7, 5, 16), H2D, COPY, hint_ignored=9)).explained == ""


def test_what_one_call_moves_counts_once() -> None:
    fifteen = record(0, site(7, 5, 16), H2D, COPY, count=15, stepped=0, executions=1)
    none = dataclasses.replace(OUTCOME, steps=0, full_steps=0)
    assert judge([], dataclasses.replace(run(fifteen), outcome=none)).missed == ()
    ten = dataclasses.replace(fifteen, count=150, executions=10)
    assert len(judge([], dataclasses.replace(run(ten), outcome=none)).missed) == 1
    saved = record(0, site(7, 5, 16), D2H, COPY, count=120, stepped=120, executions=4)  # 30 tensors, 4 of 100 steps
    assert judge([], run(saved)).missed == ()


def test_what_did_not_cross_or_has_no_site_is_not_missed() -> None:
    idle = record(0, site(7, 5, 16), NONE, "aten::to", sync=False)
    rest = record(1, Site(OVERFLOW, 0, 0, 0, 0))
    assert missed(idle, rest).missed == ()


def test_notes_say_what_is_not_known() -> None:
    outcome = dataclasses.replace(
        OUTCOME, status=None, overflow=3, missing=(Missing("DataLoader worker 7", "it was spawned", 2),)
    )
    notes = judge([], dataclasses.replace(run(), outcome=outcome, truncated=True)).notes
    assert notes == (
        "the run has no exit status: it was killed or still runs; what it recorded so far is shown",
        "the last line of a record file was cut off and is ignored",
        "the events of DataLoader worker 7 are missing (2 events): it was spawned",
        "3 events came from further sites, beyond the limit: counted under (further sites)",
    )


def test_the_act_names_the_command_that_fixes() -> None:
    fixable = finding("TL401", site(7), fix="safe")
    assert only([fixable], run(record(0, site(7), H2D, COPY))).act == "do without (`transferlint check --fix train.py`)"


SOURCE = """\
import numpy as np
import torch


def train(model: torch.nn.Module, loader, device):
    for x, y in loader:
        x = x.to(device)
        loss = model(x)
        first = loss.mean().item()
        second = loss.max().item()
        order = np.argsort(loss.detach().cpu().numpy())
        order = torch.from_numpy(order).to(device)
        worst = loss.min()
        if worst > 3:
            return first, second, order
"""


@pytest.fixture
def checked(tmp_path: Path) -> tuple[tuple[FoundFinding, ...], str]:
    path = tmp_path / "train.py"
    path.write_text(SOURCE, encoding="utf-8")
    options = ["--isolated", "--no-cache", "--output-format", "json", "."]
    command = [sys.executable, "-m", "transferlint", "check", *options]
    made = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    return found.read_findings(made.stdout, tmp_path), str(path.resolve())


def test_what_check_finds_is_joined(checked: tuple[tuple[FoundFinding, ...], str]) -> None:
    """The words of the evidence that verdicts go by are those that `check` writes."""
    findings, path = checked
    lines = SOURCE.split("\n")

    def at(number: int, text: str, direction: Direction, operation: str, line: int) -> SiteRecord:
        start = lines[line - 1].index(text) + 1
        return record(number, Site(path, line, start, line, start + len(text)), direction, operation)

    records = (
        at(0, "x.to(device)", H2D, COPY, 7),
        at(1, "loss.mean().item()", D2H, SCALAR, 9),
        at(2, "loss.max().item()", D2H, SCALAR, 10),
        at(3, "loss.detach().cpu()", D2H, COPY, 11),
        at(4, "torch.from_numpy(order).to(device)", H2D, COPY, 12),
        at(5, "worst > 3", D2H, SCALAR, 14),
    )
    judgement = judge(findings, run(*records), executed=[Executed(path, tuple(range(1, 16)))])
    verdicts = {one.finding.code: one for one in judgement.verdicts}
    assert {code: one.kind for code, one in verdicts.items()} == {
        "TL101": VerdictKind.CONFIRMED,
        "TL201": VerdictKind.CONFIRMED,
        "TL301": VerdictKind.CONFIRMED,
    }
    assert [one.id for one in verdicts["TL101"].records] == [1, 2]
    assert "the other end crossed 100 times" in verdicts["TL201"].text
    assert [(one.site.line, one.explained) for one in judgement.missed] == [(7, "new data every time, such as a batch")]


@pytest.mark.parametrize("text", ["", "{", "[]", "3", "{}", '{"findings": [{"code": "TL101"}]}', '{"findings": 3}'])
def test_what_is_no_report_is_refused_in_one_line(text: str) -> None:
    with pytest.raises(FindingsError) as caught:
        found.read_findings(text, source="found.json")
    assert str(caught.value).startswith("found.json: not a report of `transferlint check --output-format json`")
    assert "\n" not in str(caught.value)


def test_quiet_sites_are_read_where_there_are_any(tmp_path: Path) -> None:
    listed = {"path": "a.py", "line": 3, "column": 1, "end_line": 3, "end_column": 9, "direction": None}
    listed |= {"kind": "suppressed", "reason": "why"}
    (one,) = found.read_quiet(json.dumps({"findings": [], "quiet": [listed]}), tmp_path)
    assert one == QuietSite(Site(str(tmp_path.resolve() / "a.py"), 3, 1, 3, 9), None, "suppressed", "why")
    assert found.read_quiet(json.dumps({"findings": []})) == ()
    with pytest.raises(FindingsError, match="quiet sites is damaged"):
        found.read_quiet(json.dumps({"quiet": [{"path": "a.py"}]}))


def test_findings_keep_what_a_report_needs(tmp_path: Path) -> None:
    place = {"path": "a.py", "line": 1, "column": 2, "end_line": 3, "end_column": 4}
    fields = {
        **place, "code": "TL101", "name": "n", "message": "m", "help": "h", "confidence": "likely",
        "heat": {"hot": True}, "evidence": [{**place, "message": "e"}],
        "fix": {"title": "t", "safety": "unsafe", "edits": []}, "context": "c", "fingerprint": "f", "later": 1,
    }  # fmt: skip
    (one,) = found.read_findings(json.dumps({"findings": [fields]}), tmp_path)
    where = Site(str((tmp_path / "a.py").resolve()), 1, 2, 3, 4)
    assert one == FoundFinding(
        "TL101", "n", where, "a.py", "m", "h", (Evidence(where, "e"),), "likely", True, "unsafe", "t", "c", "f"
    )
