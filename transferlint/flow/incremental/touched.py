"""Which files a change can matter for where it is asked how often their code runs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from transferlint.flow.callgraph.names import ident, split
from transferlint.flow.callgraph.overriding import Overriding
from transferlint.flow.placement.placement import FilePlacement

_Function = tuple[str, int]


def touched(
    before: Mapping[str, FilePlacement],
    now: Mapping[str, FilePlacement],
    changed: Iterable[_Function],
    overriding: Overriding,
) -> set[str]:
    """The files with a function that was placed anew since `before`, has other calls than it had, or is among those
    that are `changed`; and those with one that such a function calls, or one that it calls. What heat is worked out
    from, before other files tell theirs, is the file's own code, how it is placed, its calls, and what their callers
    (and the callers of these) give."""
    found = {key for key, file in now.items() if key not in before or file.program is not before[key].program}
    pending = {*changed, *(one for key, file in now.items() if key in before for one in _other(before[key], file))}
    called = _called(now.values())
    seen: set[_Function] = set()
    while pending:
        at = pending.pop()
        if at not in seen:
            seen.add(at)
            pending |= called.get(at, set())
            pending.update(place for name, _ in overriding.get(ident(*at), ()) if (place := split(name)) is not None)
    return found | {key for key, _ in seen}


def _other(before: FilePlacement, now: FilePlacement) -> Iterator[_Function]:
    """The functions of a file that were placed anew, or are called otherwise."""
    for index in before.placed.keys() | now.placed.keys():
        old, new = before.placed.get(index), now.placed.get(index)
        if old is None or new is None or old.values is not new.values:  # of one that only moved, they are the same
            yield now.key, index
    for index in before.callers.indices() | now.callers.indices():
        if before.callers.calls(index) != now.callers.calls(index):
            yield now.key, index


def _called(files: Iterable[FilePlacement]) -> dict[_Function, set[_Function]]:
    """By function, those that it calls."""
    found: dict[_Function, set[_Function]] = {}
    for file in files:
        for index in file.callers.indices():
            for caller in file.callers.callers(index):
                found.setdefault(caller, set()).add((file.key, index))
    return found
