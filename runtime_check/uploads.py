"""What helps where data goes up: whether it is the same each time, and by what way new data goes up cheapest.

A copy that is not asked not to wait keeps the host until the device has done everything before it. One from pageable
memory that is asked keeps it until the data has been staged, which takes no time for little; one from pinned memory for
the call alone (docs.pytorch.org/tutorials/intermediate/pinmem_nonblock.html, benchmarks/results/costs.md).
"""

from __future__ import annotations

from collections.abc import Sequence

from runtime_check import naming
from runtime_check.cost import DEFAULT, CostError, named
from runtime_check.events import COPIED_AT_ONCE
from runtime_check.expressions import Expressions, Origin
from runtime_check.provenance import SMALL
from runtime_check.records import IMPORTED, Link, LinkKind, Run, SiteRecord
from runtime_check.reports import units
from transferlint.model import Direction, Site

_SAME = (LinkKind.REPEAT, LinkKind.EQUAL_CONTENT)
_NEAR = 4  # lines between uploads that one copy can bring
_UNASKED = "`.to(device, non_blocking=True)`: so small, it need not be pinned"


def the_same(records: Sequence[SiteRecord], links: Sequence[Link], source: Expressions) -> bool:
    """True where the same buffer went again, or nearly all uploads had a content that had been uploaded before: batches
    come again in the next epoch, and now and then two are equal. What a loader or an environment gives is new, though a
    reward may be 1 in every step."""
    ids = {record.id for record in records}
    again = [link for link in links if link.kind in _SAME and link.second in ids]
    if any(link.kind is LinkKind.REPEAT for link in again):
        return True
    count = sum(record.count for record in records)
    if not again or sum(link.count for link in again) * 10 < (count - 1) * 9:
        return False
    return source.origin(_own(records)) not in (Origin.LOADER, Origin.ENVIRONMENT)


def borne_out(links: Sequence[Link], records: Sequence[SiteRecord]) -> tuple[Link, ...]:
    """The links without those of small equal content that turned out to be of a part of a site's uploads alone: such a
    link is begun where the first uploads are equal, and is no more than chance then."""
    known = {record.id: record for record in records}
    return tuple(link for link in links if not _chance(link, known.get(link.second)))


def _chance(link: Link, record: SiteRecord | None) -> bool:
    if record is None or link.kind is not LinkKind.EQUAL_CONTENT or link.first != link.second:
        return False
    return link.bytes < SMALL * link.count and link.count * 10 < (record.count - 1) * 9


def once(records: Sequence[SiteRecord], source: Expressions) -> str:
    """What to do about data that was the same each time."""
    if source.origin(_own(records)) is Origin.MADE:
        count = sum(record.count for record in records)
        return f"upload it once, if it never changes; it was the same here, {count:,} times"
    return "upload it once, before the loop: the content is the same"


def of_new_data(records: Sequence[SiteRecord], run: Run, source: Expressions) -> tuple[str, str]:
    """What to do about new data, which has to go up: what can be had is that the host does not wait for it; and why
    `check` says nothing of it."""
    ignored = any(record.hint_ignored for record in records)
    if not ignored and not any(record.sync for record in records):
        return "nothing: the host does not wait for it", "no wait: the time is that of the call itself"
    site = _own(records)
    if source.assigns_item(site):
        return (
            "collect the values on the host and upload them in one copy, or compute them on the device: each is"
            " uploaded separately",
            "",
        )
    saved = saving(records, run)
    if ignored:
        act = f"pin the source memory (`pin_memory=True` of a loader): without it the host does the copy itself{saved}"
        return act, ""
    origin = source.origin(site)
    new = "new data every time, from an environment" if origin is Origin.ENVIRONMENT else "new data every time"
    new += ", such as a batch" if origin in (Origin.LOADER, Origin.UNKNOWN) else ""
    needless = origin is Origin.FILL or run.header.level in ("guard", IMPORTED)
    explained = "" if needless else new
    if all(record.pinned == record.count for record in records):
        library = naming.in_library(records[0].site.path).partition("/")[0] if records[0].user is not None else ""
        how = f"make {library} copy with `non_blocking=True`" if library else "pass `non_blocking=True`"
        return f"{how}: the memory is pinned{saved}", explained
    way = _way(origin, records, run, source)
    return way if origin is Origin.FILL else way + saved, explained


def without_waiting(records: Sequence[SiteRecord]) -> str:
    """By what way data that the host makes goes up without keeping it: what completes "upload it"."""
    if _little(records):
        return f"by {_UNASKED}"
    return "from pinned memory (`.pin_memory()` where it is created, `non_blocking=True`)"


def _little(records: Sequence[SiteRecord]) -> bool:
    return all(record.bytes <= COPIED_AT_ONCE * record.count for record in records)


def _way(origin: Origin, records: Sequence[SiteRecord], run: Run, source: Expressions) -> str:
    beside = beside_it(records, run, source)
    if origin is Origin.ENVIRONMENT:
        one = f"in one copy together with the upload {beside}" if beside else "in one copy for several environments"
        buffer = (
            "from a reused pinned buffer (`buffer.copy_(torch.from_numpy(x))`, then `buffer.to(device,"
            " non_blocking=True)`)"
        )
        how = f"by {_UNASKED}" if _little(records) else buffer
        return f"it has to be uploaded, because the host computes it: {one}, {how}"
    batch = _UNASKED if _little(records) else "`pin_memory=True` of its loader, and `.to(device, non_blocking=True)`"
    if origin is Origin.LOADER:
        return batch
    if origin in (Origin.MADE, Origin.STEADY):
        one = f" in one copy together with the upload {beside}," if beside else ""
        return f"upload it{one} {without_waiting(records)}; or keep its source on the device"
    if origin is Origin.FILL:
        return "create it on the device (`device=` of its function; `torch.rand`, `torch.randn`, `torch.randint`)"
    if _little(records) and not beside:
        return f"{_UNASKED}; or create it on the device"
    one = f"in one copy together with the upload {beside}" if beside else "from a reused pinned buffer"
    return f"if it is a batch: {batch}; if the host computes it: {one}; else create it on the device"


def beside_it(records: Sequence[SiteRecord], run: Run, source: Expressions) -> str:
    """Where else new data goes up about as often, near the line: "at line 207", "here, 5 times a step"; "" where
    nothing does."""
    site, ids = _own(records), {record.id for record in records}
    count = sum(record.count for record in records)
    full = run.outcome.full_steps if run.outcome is not None else 0
    others = sorted(
        (record.site.line, record.site.column)
        for record in run.sites
        if record.id not in ids and record.direction is Direction.H2D and record.sync and record.site.path == site.path
        if abs(record.site.line - site.line) <= _NEAR and count <= 2 * record.count <= 4 * count
    )
    if others:
        lines = list(dict.fromkeys(line for line, _ in others))
        said = " and ".join(f"{line}" for line in lines)
        return "next to it on this line" if lines == [site.line] else f"at line{'s' * (len(lines) > 1)} {said}"
    each = sum(record.stepped for record in records) / full if full else 0
    return f"here, {each:.3g} times per step" if each >= 2 and source.origin(site) is Origin.MADE else ""


def _own(records: Sequence[SiteRecord]) -> Site:
    """The program's own line."""
    return records[0].user or records[0].site


def saving(records: Sequence[SiteRecord], run: Run) -> str:
    """What it would save by the model: a copy from pinned memory keeps the host for the call alone."""
    try:
        model = named(run.header.model or DEFAULT)
    except CostError:
        return ""
    now = sum(record.blocked.total for record in records)
    then = model.launch.latency * sum(record.count for record in records if record.sync)
    if then >= now:
        return ""
    return (
        f"; the host would be blocked for {units.duration(then)} instead of {units.duration(now)} (modelled for"
        f" {model.name.upper()})"
    )
