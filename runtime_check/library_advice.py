"""What to do about what a library does below a line of the program's own, which cannot change the library's line."""

from __future__ import annotations

import re
from collections.abc import Sequence

from runtime_check import naming
from runtime_check.causes import cause_of, within
from runtime_check.expressions import Expressions
from runtime_check.records import SiteRecord
from transferlint.model import Site

_MOST = 3  # places that are told of one line
_SIZES = re.compile(r"(^|_)(sizes?|length|minlength)$|^(num|n|max)_\w+$")


def advise(records: Sequence[SiteRecord], library: str, source: Expressions) -> tuple[str, str]:
    """What to do, and why nothing is to be done where that is so, "" where something is. Of several places those that
    cross most in the steps are told, each with its part."""
    steady = any(record.stepped for record in records)
    counts = {record.id: _crossings(record, steady) for record in records}
    whole = sum(counts.values())
    much = sorted(records, key=lambda one: (-counts[one.id], -one.blocked.total))
    told = [one for one in much if counts[one.id] * 4 >= whole][:_MOST] or much[:1]
    said = [_of_one(one, library, source) for one in told]
    kept = next((why for _, why in said if why), "") if all(why for _, why in said) else ""
    if len(told) == 1:
        return said[0][0], kept
    parts = [f"{counts[one.id]:,} of {whole:,}: {act}" for one, (act, _) in zip(told, said, strict=True)]
    return "; ".join(parts), kept


def size_argument(record: SiteRecord, source: Expressions) -> str:
    """The argument by which the program could tell a function of a library's a size that it reads from the data:
    "`size=` of `global_mean_pool`"; "" where its signature has none."""
    if record.user is None:
        return ""
    below = [site for site in (record.site, *record.chain) if site != record.user]
    calls = _within_library(below, record.user)
    name, left = source.left_out(record.user, calls[-1]) if calls else ("", ())
    found = next((one for one in left if _SIZES.search(one)), "")
    return f"`{found}=` of `{name}`" if found else ""


def _crossings(record: SiteRecord, steady: bool) -> int:
    """How often a record crossed, in the steps where any did; what one call moves (`torch.save`) is one crossing."""
    number = record.stepped if steady else record.count
    return -(-number * record.executions // record.count) if record.executions else number


def _of_one(record: SiteRecord, library: str, source: Expressions) -> tuple[str, str]:
    cause, where = cause_of(record), within(record)
    if cause is not None and cause.as_it_is:
        return f"{cause.act} ({where}: {cause.why})", f"{where}: {cause.why}"
    reason = f"{where}: {cause.why}" if cause is not None else where
    if size := size_argument(record, source):
        return f"pass {size} if it is known ({reason})", ""
    if cause is not None and (record.inside or cause.library):  # which the program decides by what it hands over
        return f"{cause.act} ({reason})", ""
    places = (record.site, *_within_library(record.chain, record.user))
    option = source.option(places)
    if option:
        return f"turn it off if possible: in {library} it depends on the option `{option}` ({reason})", ""
    return f"no cheaper way is known: {library} has no visible option that avoids it ({reason})", ""


def _within_library(sites: Sequence[Site], user: Site | None) -> list[Site]:
    """The sites, innermost first, up to the program's own."""
    end = next((number for number, site in enumerate(sites) if user is not None and site == user), len(sites))
    return [site for site in sites[:end] if naming.in_library(site.path) != naming.shown(site.path)]
