"""How long the language server takes for a keystroke: its processor time from the change of a document to the findings
that are sent, within the document's project.

    python benchmarks/server.py FILE... [--edits 200] [--seed 1] [--equal]

Each FILE stands in the project that is its context. Characters are typed and deleted again all over it, names, lines,
new functions and new parameters among them, and each is waited for: what is typed over before it was checked is left
out. The first check, which reads the project, is told apart, and so is the search for garbage when nobody waits.
What the protocol's library does with bytes is not measured. `--equal` holds every result against a check that keeps
nothing.
"""

from __future__ import annotations

import argparse
import asyncio
import dataclasses
import gc
import itertools
import os
import random
import re
import resource
import sys
import time
from collections.abc import Iterator
from typing import Any

from lsprotocol import types

from transferlint import registry
from transferlint.engine import checking
from transferlint.engine.scopes import Scopes
from transferlint.server.documents import uri_of
from transferlint.server.positions import UTF16, Lines, Range
from transferlint.server.projects import Projects
from transferlint.server.session import Session
from transferlint.settings.loading import Settings
from transferlint.sources import context
from transferlint.sources.nearest import Nearest

_INSERTED = ("x", " ", "(", ")", ".", "item", "\n", "    y = 1\n", "loss.item()\n", "0", "#", "self")
_NEW = ("def made(x): return x.item()", "class Made: pass")


def scopes_for(path: str) -> Scopes:
    """No settings, the rules that are on by default, and no cache."""
    settings = Settings(root=os.getcwd())
    return Scopes(Nearest(settings), checking.plan_for(settings, registry.load(), write=False))


def keystrokes(text: str, count: int, seed: int) -> Iterator[str]:
    """Texts as they follow from one another while somebody types: a word in some line, letter by letter, or a piece of
    code, and then all of it deleted again."""
    drawn = random.Random(seed)
    ends = [end.start() for end in re.finditer(r"(?<=[\w)])\n", text)]
    heads = [head.end() for head in re.finditer(r"def \w+\([\w, ]+(?=\)(?: -> [^\n]*)?:\n)", text)]
    made = 0
    while made < count:
        at, kind = drawn.choice(ends), drawn.random()
        word = drawn.choice((".item()", "  # why", "\n", ".to(device)", " + 1", ", x", drawn.choice(_INSERTED)))
        if kind < 0.1 and heads:  # a new parameter
            at, word = drawn.choice(heads), ", new=None"
        elif kind < 0.15:  # a new function
            line = text[text.rfind("\n", 0, at) + 1 : at]
            word = "\n" + line[: len(line) - len(line.lstrip())] + drawn.choice(_NEW)
        elif kind < 0.2:
            word = " if (lambda: 1)() else 0"
        for length in [*range(1, len(word) + 1), *range(len(word) - 1, -1, -1)]:
            if made < count:
                made += 1
                yield text[:at] + word[:length] + text[at:]


class Client:
    """What a session tells its client, and when: the last findings, and the processor time at which they came."""

    def __init__(self) -> None:
        self.published: list[Any] = []
        self.at = 0.0

    def text_document_publish_diagnostics(self, given: Any) -> None:
        """Findings are sent."""
        self.published.append(given)
        self.at = time.process_time()

    def window_log_message(self, given: Any) -> None:
        """A line for the log, which must not come."""
        raise RuntimeError(given.message)


@dataclasses.dataclass
class Typed:
    """What came of the keystrokes: milliseconds of processor time by keystroke, those of the first check and those
    between keystrokes, how many were valid Python, how many results were not those of a check that keeps nothing."""

    times: list[float] = dataclasses.field(default_factory=list)
    idle: list[float] = dataclasses.field(default_factory=list)
    first: float = 0.0
    parsed: int = 0
    wrong: int = 0


async def type_in(path: str, edits: int, seed: int, equal: bool) -> Typed:
    """Open a file in a session of its own, and type into it."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    client: Any = Client()
    session = Session(client, scopes_for, "", lambda code: "")
    session.begin(types.ClientCapabilities(), UTF16)
    uri, made = uri_of(path), Typed()
    for version, typed in enumerate(itertools.chain((text,), keystrokes(text, edits, seed))):
        began = time.process_time()
        if version:
            changed = session.documents.change(uri, version, [change(text, typed)])
        else:
            changed = session.documents.open(uri, version, text, "python")
        assert changed is not None
        session.checker.edited(changed)
        analysis = await session.checker.analysis(uri)
        while not client.published or client.published[-1].version != version:
            await asyncio.sleep(0)
        took, at = 1000 * (client.at - began), client.at
        await session.checker.rest()
        made.idle.append(1000 * (time.process_time() - at))
        assert analysis is not None
        assert analysis.checked is not None
        made.first = made.first or took
        made.times += [took] if version else []
        made.parsed += bool(version) and analysis.checked.project is not None
        text = typed
        if equal:
            anew = Projects(scopes_for).check(analysis.document, {path: typed}, lambda: False)
            if shown(anew) != shown(analysis.checked):
                made.wrong += 1
                different = sorted({*shown(anew)} ^ {*shown(analysis.checked)})
                print(f"keystroke {version} gives", *different, sep="\n  ")
    session.checker.stop()
    return made


def change(before: str, after: str) -> tuple[Range, str]:
    """The change of one text into another, as an editor tells it."""
    start = _same(before, after)
    end = _same(before[start:][::-1], after[start:][::-1])
    return Lines(before).range(start, len(before) - end), after[start : len(after) - end]


def _same(one: str, other: str) -> int:
    """How many characters two texts begin with alike."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(one), len(other)))


def shown(checked: Any) -> list[str]:
    """What was found, in words."""
    return [*map(str, checked.outcome.troubles), *_found(checked)]


def _found(checked: Any) -> list[str]:
    return [f"{one.site} {one.code} {one.message} {one.evidence} {one.heat}" for one in checked.outcome.findings]


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="+", metavar="FILE")
    parser.add_argument("--edits", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--equal", action="store_true", help="hold every result against a check that keeps nothing")
    given = parser.parse_args(arguments)
    start, wrong = os.getcwd(), 0
    gc.disable()  # as the server does, which searches when nobody waits
    print("| file | lines | project | keystrokes | valid | p50 | p95 | max | when idle | first | MB |")
    print("| --- |" + " ---: |" * 10)
    for name in given.files:
        os.chdir(start)
        path = os.path.abspath(name)
        made = asyncio.run(type_in(path, given.edits, given.seed, given.equal))
        wrong += made.wrong
        times = sorted(made.times)
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        lines, whole = _lines(path), _project_lines(path)
        told = [os.path.relpath(path, start), f"{lines:,}", f"{whole / 1000:.0f} kLOC", len(times), made.parsed]
        told += [f"{one:.0f}" for one in (_at(times, 50), _at(times, 95), times[-1], _at(sorted(made.idle), 50))]
        print("|", " | ".join(map(str, [*told, f"{made.first:.0f}", memory])), "|", flush=True)
        if given.equal:
            print(f"{made.wrong} of {len(times)} results differ from those of a check that keeps nothing")
    return 1 if wrong else 0


def _lines(path: str) -> int:
    with open(path, "rb") as file:
        return file.read().count(b"\n")


def _project_lines(path: str) -> int:
    """The lines of all files around one that are read as its context."""
    os.chdir(os.path.dirname(path))
    root, _ = context.root_of((os.path.basename(path),), None)
    found = (os.path.join(at, name) for at, _, names in os.walk(root) for name in names if name.endswith(".py"))
    return sum(map(_lines, found))


def _at(ordered: list[float], percent: int) -> float:
    return ordered[min(len(ordered) - 1, len(ordered) * percent // 100)]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
