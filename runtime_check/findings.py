"""What `transferlint check --output-format json` found, read back."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from transferlint.model import Direction, Evidence, Part, QuietSite, Site


class FindingsError(Exception):
    """A text that is no report of `check`; the message is one line."""


@dataclasses.dataclass(frozen=True, slots=True)
class FoundFinding:
    """A finding of `check`. The paths of `site` and `evidence` are real and absolute, to be compared with those of
    records; `shown` is the path as `check` named it. `fix` is "safe", "unsafe", "display", or "" without one, and
    `fix_title` what it does; `hot` is what the source says of the site; `framework` is the one beside torch whose data
    it is about ("jax"), "" for torch."""

    code: str
    name: str
    site: Site
    shown: str
    message: str
    help: str = ""
    evidence: tuple[Evidence, ...] = ()
    confidence: str = ""
    hot: bool = False
    fix: str = ""
    fix_title: str = ""
    context: str = ""
    fingerprint: str = ""
    framework: str = ""


def read_findings(text: str, root: str | Path = ".", source: str = "findings") -> tuple[FoundFinding, ...]:
    """The findings of a JSON report; `root` is the folder that its relative paths start from, `source` what to name in
    messages. Raises FindingsError."""
    try:
        report = json.loads(text)
        listed = report["findings"]
        real: dict[str, str] = {}
        return tuple(_finding(one, str(root), real) for fields in listed for one in _apart(fields))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise FindingsError(
            f"{source}: not a report of `transferlint check --output-format json` ({type(error).__name__}: {error})"
        ) from error


def read_quiet(text: str, root: str | Path = ".", source: str = "findings") -> tuple[QuietSite, ...]:
    """The transfers that a JSON report lists as quiet on purpose (`check --quiet-sites`), none where it has no such
    list; paths as in `read_findings`. Raises FindingsError."""
    real: dict[str, str] = {}
    try:
        return tuple(
            QuietSite(
                _site(fields, str(root), real),
                Direction(fields["direction"]) if fields.get("direction") else None,
                str(fields.get("kind", "")),
                str(fields["reason"]),
            )
            for fields in json.loads(text).get("quiet") or ()
        )
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        why = f"{type(error).__name__}: {error}"
        raise FindingsError(f"{source}: its list of quiet sites is damaged ({why})") from error


def _apart(fields: Mapping[str, Any]) -> list[dict[str, Any]]:
    """A finding and those that were joined to it, each with what it speaks for: each happens, or not, by itself."""
    links = fields.get("evidence") or ()
    found = [{**fields, "evidence": [link for link in links if not link.get("code")]}]
    for link in links:
        if link.get("code") and link.get("part") == Part.BESIDE.value:
            found.append({**fields, **link, "help": "", "fix": None, "evidence": []})
        elif link.get("code"):
            found[-1]["evidence"].append(link)
    return found


def _finding(fields: Mapping[str, Any], root: str, real: dict[str, str]) -> FoundFinding:
    fix, heat = fields.get("fix") or {}, fields.get("heat") or {}
    return FoundFinding(
        code=str(fields["code"]),
        name=str(fields["name"]),
        site=_site(fields, root, real),
        shown=str(fields["path"]),
        message=str(fields["message"]),
        help=str(fields.get("help", "")),
        evidence=tuple(
            Evidence(_site(link, root, real), str(link["message"]), part=Part(link.get("part", "context")))
            for link in fields.get("evidence") or ()
        ),
        confidence=str(fields.get("confidence", "")),
        hot=bool(heat.get("hot", False)),
        fix=str(fix.get("safety", "")),
        fix_title=str(fix.get("title", "")),
        context=str(fields.get("context", "")),
        fingerprint=str(fields.get("fingerprint", "")),
        framework=str(fields.get("framework", "")),
    )


def _site(fields: Mapping[str, Any], root: str, real: dict[str, str]) -> Site:
    named = str(fields["path"])
    if named not in real:
        real[named] = os.path.realpath(os.path.join(root, named))
    return Site(real[named], *(int(fields[key]) for key in ("line", "column", "end_line", "end_column")))
