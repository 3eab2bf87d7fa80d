"""What a release takes from CHANGELOG.md and pyproject.toml.

`python docs/release.py check v0.1.0` says what keeps this tree from being released as that tag (exit code 1), and
`python docs/release.py notes v0.1.0` prints what the changelog has of it.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
UNRELEASED = "Unreleased"


def sections(text: str) -> dict[str, tuple[str, str]]:
    """The sections of a changelog (keepachangelog.com): version, then the rest of its heading and its text."""
    pieces = re.split(r"^## \[([^\]]+)\](.*)$", text, flags=re.MULTILINE)
    return {pieces[at]: (pieces[at + 1].strip(), pieces[at + 2].strip()) for at in range(1, len(pieces), 3)}


def obstacles(tag: str, project: str, changelog: str) -> list[str]:
    """What is not ready for a tag: the texts are those of pyproject.toml and CHANGELOG.md."""
    if not re.fullmatch(r"v\d+\.\d+\.\d+((a|b|rc)\d+)?", tag):
        return [f"{tag}: a tag is v and a version, such as v0.1.0 or v0.2.0rc1"]
    version = tag.removeprefix("v")
    found = re.search(r'^version = "(.+)"$', project, re.MULTILINE)
    said = [] if found and found[1] == version else [f"pyproject.toml: version is {found[1] if found else 'missing'}"]
    heading, text = sections(changelog).get(version, ("", ""))
    if not re.search(r"\d{4}-\d{2}-\d{2}", heading):
        said.append(f"CHANGELOG.md: no section of {version} with its date (## [{version}] - YYYY-MM-DD)")
    elif not text:
        said.append(f"CHANGELOG.md: the section of {version} is empty")
    return said


def main(arguments: list[str]) -> int:
    """0, or 1 with a line for each obstacle, or 2 for a call that is wrong."""
    if len(arguments) != 2 or arguments[0] not in ("check", "notes"):
        print("usage: release.py check|notes TAG", file=sys.stderr)
        return 2
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    said = obstacles(arguments[1], (ROOT / "pyproject.toml").read_text(encoding="utf-8"), changelog)
    for line in said:
        print(line, file=sys.stderr)
    if arguments[0] == "notes" and not said:
        print(sections(changelog)[arguments[1].removeprefix("v")][1])
    return int(bool(said))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
