"""Every fixture is checked as a whole: each mark is reported, and nothing else is."""

from __future__ import annotations

from pathlib import Path

import pytest

from proving import all_rules, check_bytes, default_rules, marks, reported
from transferlint.model import Confidence

FOLDER = Path(__file__).parent / "fixtures"
FIXTURES = sorted(FOLDER.glob("TL[0-9][0-9][0-9]/*.py"))


@pytest.mark.parametrize("path", FIXTURES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_what_is_marked_is_reported_and_nothing_else(path: Path) -> None:
    data = path.read_bytes()
    wanted = marks(data.decode("utf-8", "replace"))
    # Only the file's name is passed on: code below a folder called tests would be cold.
    own = next((rule for rule in all_rules() if rule.code == path.parent.name), None)
    least = own.least(path.stem.rpartition("_")[2]) if own is not None else Confidence.LIKELY
    findings = check_bytes(path.name, data, default_rules(path.parent.name), least)
    found = reported(findings)
    lines = [f"reported {f.site.line}:{f.site.column} {f.code} {f.message}" for f in findings]
    summary = f"unexpected {dict(found - wanted)}, missing {dict(wanted - found)}"
    assert found == wanted, "\n".join([summary, *lines])


@pytest.mark.parametrize("path", FIXTURES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_the_name_of_a_fixture_says_what_it_holds(path: Path) -> None:
    wanted = marks(path.read_bytes().decode("utf-8", "replace"))
    own = {code for _, code in wanted} == {path.parent.name}
    kind = path.stem.split("_")[0]
    assert kind in {"fires", "quiet", "suppressed"}
    assert own if kind == "fires" else not wanted
