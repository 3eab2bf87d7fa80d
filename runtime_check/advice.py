"""What to do where something crosses in hot code and no finding says it: by what torch was at, by what the data is,
and by what the source says of the line."""

from __future__ import annotations

from collections.abc import Sequence

from runtime_check import library_advice, naming, uploads
from runtime_check.causes import SCALAR, Cause, cause_of, within
from runtime_check.expressions import Asked, Expressions
from runtime_check.records import Link, LinkKind, Run, SiteRecord
from transferlint.model import Direction

BACK = (LinkKind.DEVICE_HOST_DEVICE, LinkKind.SCALAR_DETOUR)
SAME = (LinkKind.REPEAT, LinkKind.EQUAL_CONTENT)
SELDOM = "keep it on the device, and read it once after the loop"
DECIDED = "evaluate it on the device and read the result only every N steps: the host decides by it"
ASKED = {
    Asked.ASSERTED: "check on the device with `torch._assert_async`, which does not block, or check less often",
    Asked.CHOSEN: "compute without a branch (`torch.where`, `clamp`, a mask), or check less often",
    Asked.DECIDES: DECIDED,
    Asked.NOT: SELDOM,
}
INDEX = "create the index on the device once, or use a slice"


def advise(
    records: Sequence[SiteRecord], links: Sequence[Link], run: Run, source: Expressions | None = None
) -> tuple[str, str]:
    """What to do about what crossed at a site, and why `check` says nothing of it where that is right: "" where it is
    not. `source` reads what is asked of the program's text."""
    source = source or Expressions()
    first = max(records, key=lambda record: (record.stepped, record.blocked.total))  # not what sets up or saves
    library = "" if first.user is None else naming.in_library(first.site.path).partition("/")[0]
    back = any(link.kind in BACK and {link.first, link.second} & {one.id for one in records} for link in links)
    if library and first.direction is not Direction.H2D and not back:
        return library_advice.advise(records, library, source)
    cause = cause_of(first)
    if cause is not None:
        where = within(first)
        return act_of(cause, where), f"{where or first.operation}: {cause.why}" if cause.as_it_is else ""
    if first.direction is Direction.H2D:
        return _of_upload(records, links, run, source)
    where = f" ({within(first)})" if within(first) else ""
    if first.direction is Direction.NONE:
        return f"move `{first.operation}` out of the step, or pass the argument that avoids the sync{where}", ""
    if told := unchanged(records, links, run):
        return told, ""
    ids = {record.id for record in records}
    goes = next((link for link in links if link.kind in BACK and link.first in ids), None)
    if goes is not None:
        return f"keep the computation on the device: the data is uploaded again at {place(run, goes.second)}{where}", ""
    if first.operation == SCALAR:
        return f"{ASKED[source.asked(first.user or first.site)]}{where}", ""
    return f"collect on the device, and copy once after the loop{where}", ""


def act_of(cause: Cause, where: str) -> str:
    """What a row of the table advises, with the place and the reason."""
    return f"{cause.act} ({f'{where}: ' if where else ''}{cause.why})"


def _of_upload(records: Sequence[SiteRecord], links: Sequence[Link], run: Run, source: Expressions) -> tuple[str, str]:
    ids = {record.id for record in records}
    came = next((link for link in links if link.kind in BACK and link.second in ids), None)
    if came is not None:
        return f"keep it on the device: it was copied to the host at {place(run, came.first)}", ""
    if not uploads.the_same(records, links, source):
        indexes = all(record.user is None and source.indexes(record.site) for record in records)
        return (INDEX, "") if indexes else uploads.of_new_data(records, run, source)
    elsewhere = next((link.first for link in links if link.kind in SAME and link.second in ids - {link.first}), None)
    if elsewhere is not None and elsewhere not in ids:
        return f"reuse the device copy: the same data was uploaded at {place(run, elsewhere)}", ""
    return uploads.once(records, source), ""


def unchanged(records: Sequence[SiteRecord], links: Sequence[Link], run: Run) -> str:
    """What to do about what nearly always comes back as the host had uploaded it; "" where it does not."""
    known = {record.id for record in records if record.direction is Direction.D2H}
    back = [one for one in links if one.kind is LinkKind.HOST_DEVICE_HOST and one.second in known]
    same = [one for one in back if one.changed is False]
    if len(known) < len(records) or sum(one.count for one in same) * 10 < sum(one.count for one in records) * 9:
        return ""
    return f"use the data on the host: what was uploaded at {place(run, same[0].first)} comes back unchanged"


def place(run: Run, number: int) -> str:
    """Where the record of a number is, as a person reads it."""
    site = next((record.user or record.site for record in run.sites if record.id == number), None)
    return "another line" if site is None else f"{naming.shown(site.path)}:{site.line}"
