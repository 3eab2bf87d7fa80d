"""How long the language server takes for a keystroke: processor time of a check of unsaved text, within its project.

    python benchmarks/server.py FILE [--edits 200] [--seed 1] [--equal]

FILE stands in the project that is the context. Characters are typed and deleted again all over it, names and lines
among them, each followed by a check, as if every one of them were waited for; the first check, which reads the project,
is told apart. `--equal` holds every result against a check that keeps nothing.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import sys
import time
from collections.abc import Iterator
from typing import Any

from transferlint import engine, registry
from transferlint.nearest import Nearest
from transferlint.scopes import Scopes
from transferlint.server.documents import Document, uri_of
from transferlint.server.projects import Projects
from transferlint.settings import Settings

_INSERTED = ("x", " ", "(", ")", ".", "item", "\n", "    y = 1\n", "loss.item()\n", "0", "#", "self")


def projects() -> Projects:
    """Projects without settings, with the rules that are on by default, and no cache."""
    packs = registry.load()

    def scopes_for(path: str) -> Scopes:
        settings = Settings(root=os.getcwd())
        return Scopes(Nearest(settings), engine.plan_for(settings, packs, write=False))

    return Projects(scopes_for)


def keystrokes(text: str, count: int, seed: int) -> Iterator[str]:
    """Texts as they follow from one another while somebody types: a word in some line, letter by letter, or a piece of
    code, and then all of it deleted again."""
    drawn = random.Random(seed)
    ends = [end.start() for end in re.finditer(r"(?<=[\w)])\n", text)]
    made = 0
    while made < count:
        at = drawn.choice(ends)
        word = drawn.choice((".item()", "  # why", "\n", ".to(device)", " + 1", ", x", drawn.choice(_INSERTED)))
        for length in [*range(1, len(word) + 1), *range(len(word) - 1, -1, -1)]:
            if made < count:
                made += 1
                yield text[:at] + word[:length] + text[at:]


def spent(task: Any) -> tuple[float, Any]:
    """The processor time that a task takes, in milliseconds, and what it gives."""
    began = time.process_time()
    made = task()
    return 1000 * (time.process_time() - began), made


def shown(checked: Any) -> list[str]:
    """What was found, in words."""
    return [*map(str, checked.outcome.troubles), *_found(checked)]


def _found(checked: Any) -> list[str]:
    return [f"{one.site} {one.code} {one.message} {one.evidence} {one.heat}" for one in checked.outcome.findings]


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file")
    parser.add_argument("--edits", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--equal", action="store_true", help="hold every result against a check that keeps nothing")
    given = parser.parse_args(arguments)
    path = os.path.abspath(given.file)
    with open(path, encoding="utf-8") as file:
        text = file.read()
    kept = projects()
    first = Document(uri_of(path), path, 0, text)
    cold, _ = spent(lambda: kept.check(first, {path: text}, lambda: False))
    times, parsed, wrong = [], 0, 0
    for version, typed in enumerate(keystrokes(text, given.edits, given.seed), start=1):
        document = Document(uri_of(path), path, version, typed)
        took, made = spent(lambda: kept.check(document, {path: document.text}, lambda: False))  # noqa: B023
        times.append(took)
        parsed += made.project is not None
        if given.equal:
            anew = projects().check(document, {path: typed}, lambda: False)
            if shown(anew) != shown(made):
                wrong += 1
                print(f"keystroke {version} gives", *sorted({*shown(anew)} ^ {*shown(made)}), sep="\n  ")
    times.sort()
    lines = text.count("\n")
    print(f"{os.path.relpath(path)}: {lines:,} lines, {len(times)} keystrokes, {parsed} of them valid Python")
    told = f"p50 {_at(times, 50):.0f} ms, p95 {_at(times, 95):.0f} ms, most {times[-1]:.0f} ms"
    print(f"processor time of a keystroke: {told}")
    print(f"the first check, which reads the project: {cold:.0f} ms")
    if given.equal:
        print(f"{wrong} of {len(times)} results differ from those of a check that keeps nothing")
    return 1 if wrong else 0


def _at(ordered: list[float], percent: int) -> float:
    return ordered[min(len(ordered) - 1, len(ordered) * percent // 100)]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
