"""Write docs/rules/ from the rule files: one page a rule, and a table of all. `--check` writes nothing and says what is
not current (exit code 1).
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from transferlint import registry
from transferlint.model import Safety
from transferlint.rule import Rule

FOLDER = Path(__file__).parent / "rules"
NOTE = "<!-- Written by docs/generate.py from the rule's file; edit that. -->"
FIXES = {None: "none", Safety.SAFE: "safe", Safety.UNSAFE: "unsafe", Safety.DISPLAY: "shown only"}
CATEGORIES = {
    "linter": "The linter itself",
    "repeated": "Transfers that repeat",
    "round-trip": "Round trips",
    "hidden-sync": "Syncs that the source does not show",
    "wasteful": "Transfers made wastefully",
    "mistake": "Mistakes of place",
}


def page(rule: Rule) -> str:
    """The page of one rule: its identity, then its documentation, whose underlined headings are Markdown's too."""
    facts = (
        f"{CATEGORIES[rule.category]} · {'on' if rule.default else 'off'} by default · "
        f"fix: {FIXES[rule.fix_safety]} · since {rule.since}"
    )
    return f"{NOTE}\n\n# {rule.code} {rule.name}\n\n{facts}\n\n{rule.doc.strip()}\n"


def table(rules: tuple[Rule, ...]) -> str:
    """The index: every rule by category."""
    parts = [NOTE, "", "# Rules", "", "● on by default. Fix: S safe, U unsafe (`--unsafe-fixes`), - none.", ""]
    marks = {Safety.SAFE: "S", Safety.UNSAFE: "U"}
    for category, title in CATEGORIES.items():
        chosen = [rule for rule in rules if rule.category == category]
        if not chosen:
            continue
        parts += [f"## {title}", "", "| code | name | what it reports | fix |", "| --- | --- | --- | --- |"]
        for rule in chosen:
            code = f"[{rule.code}]({rule.code}.md){' ●' if rule.default else ''}"
            summary = rule.summary.replace("|", "\\|")
            parts.append(f"| {code} | {rule.name} | {summary} | {marks.get(rule.fix_safety or Safety.DISPLAY, '-')} |")
        parts.append("")
    return "\n".join(parts)


def pages() -> dict[str, str]:
    """What docs/rules/ is to hold: file names and texts. Only the built-in pack is documented here.

    Ends the program where a pack was refused, so that no page is removed for want of its rule.
    """
    loaded = registry.load()
    if loaded.refused:
        raise SystemExit("\n".join(loaded.refused))
    own = tuple(rule for rule in loaded.rules if rule.code.startswith("TL"))
    return {"README.md": table(own), **{f"{rule.code}.md": page(rule) for rule in own}}


def main() -> int:
    """Write the pages, or compare them with `--check`."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    check = parser.parse_args().check
    wanted = pages()
    FOLDER.mkdir(exist_ok=True)
    present = {path.name: path.read_text(encoding="utf-8") for path in FOLDER.glob("*.md")}
    stale = sorted(name for name in wanted.keys() | present.keys() if wanted.get(name) != present.get(name))
    for name in stale:
        print(f"docs/rules/{name}: {'not current' if check else 'written' if name in wanted else 'removed'}")
        if not check and name in wanted:
            (FOLDER / name).write_text(wanted[name], encoding="utf-8", newline="\n")
        elif not check:
            (FOLDER / name).unlink()
    return int(check and bool(stale))


if __name__ == "__main__":
    sys.exit(main())
