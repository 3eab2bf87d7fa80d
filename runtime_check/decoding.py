"""Lines of a file of records, read back: each a plain dictionary, made a record of its kind."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from runtime_check.records import (
    VERSION,
    Blocked,
    BusTime,
    Counted,
    Executed,
    Header,
    Link,
    LinkKind,
    Missing,
    Outcome,
    Profile,
    RawEvent,
    Record,
    RecordError,
    SiteRecord,
    StepTime,
)
from transferlint.model import Direction, Site

T = TypeVar("T")


def header(path: str | Path, decoded: Sequence[Mapping[str, Any]]) -> Header:
    """The header, from the first line of the file `path`. Raises RecordError."""
    if not decoded or decoded[0].get("record") != "header":
        raise RecordError(f"{path}: not a record of a run: it has no header")
    version = decoded[0].get("version")
    if not isinstance(version, int) or version < 1:
        raise RecordError(f"{path}: the header names no version")
    if version > VERSION:
        raise RecordError(f"{path}: written by a newer transferlint (version {version}, this one reads {VERSION})")
    fields = dict(decoded[0], program=tuple(decoded[0].get("program", ())), notes=tuple(decoded[0].get("notes", ())))
    fields["watched"] = tuple(fields.get("watched", ("torch",)))
    return _build(path, 1, lambda: Header(**_without_kind(fields)))


def _places(given: Iterable[Sequence[Any]]) -> tuple[tuple[int, int], ...]:
    return tuple((int(line), int(column)) for line, column in given)


def record(path: str | Path, number: int, fields: Mapping[str, Any]) -> Record:
    """The record of the line `number`. Raises RecordError."""
    makers: dict[str, Callable[[dict[str, Any]], Record]] = {
        "site": _site_record,
        "link": lambda inner: Link(**{**inner, "kind": LinkKind(inner["kind"])}),
        "raw": lambda inner: RawEvent(**inner),
        "outcome": _outcome,
        "profile": lambda inner: Profile(**{**inner, "copies": tuple(BusTime(**one) for one in inner["copies"])}),
        "counted": lambda inner: Counted(inner["path"], tuple((int(a), int(b), int(c)) for a, b, c in inner["lines"])),
        "executed": lambda inner: Executed(
            inner["path"],
            tuple(int(line) for line in inner["lines"]),
            _places(inner.get("decided", ())),
            _places(inner.get("evaluated", ())),
            bool(inner.get("started", True)),
        ),
    }
    make = makers.get(str(fields.get("record")))
    if make is None:
        raise RecordError(f"{path}:{number}: unknown record {fields.get('record')!r}")
    return _build(path, number, lambda: make(_without_kind(fields)))


def _outcome(fields: dict[str, Any]) -> Outcome:
    changed = {
        "missing": tuple(Missing(**one) for one in fields["missing"]),
        "timed": tuple(StepTime(**one) for one in fields.get("timed", ())),
        "marks": tuple((int(a), int(b), int(c)) for a, b, c in fields.get("marks", ())),
    }
    return Outcome(**{**fields, **changed})


def _site_record(fields: dict[str, Any]) -> SiteRecord:
    blocked = fields["blocked"]
    changed = {
        "site": Site(**fields["site"]),
        "direction": Direction(fields["direction"]),
        "blocked": Blocked(**{**blocked, "buckets": tuple((int(b), int(n)) for b, n in blocked.get("buckets", ()))}),
        "chain": tuple(Site(**site) for site in fields["chain"]),
        "user": Site(**fields["user"]) if fields.get("user") else None,
        "inside": tuple(map(str, fields.get("inside", ()))),
        "maybe": tuple(Site(**site) for site in fields.get("maybe", ())),
    }
    return SiteRecord(**{**fields, **changed})


def _build(path: str | Path, number: int, make: Callable[[], T]) -> T:
    try:
        return make()
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise RecordError(f"{path}:{number}: a damaged record: {error}") from error


def _without_kind(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in fields.items() if key != "record"}
