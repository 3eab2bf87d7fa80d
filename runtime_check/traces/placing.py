"""Where in the source the calls of a trace were made.

A trace names functions, not lines. Within a function an expression is known where only one there can have made the
call; or by the order of all the calls of that name that this run of the function made (`ordering`). Otherwise the
expressions that it may be are all told, and nothing is proven of any.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence

from runtime_check.events import Frame
from runtime_check.traces.calls import Call, Stretch, Trace
from runtime_check.traces.kineto import FRAME, callee
from runtime_check.traces.ordering import came_to, in_order
from runtime_check.traces.sources import Function, Sources
from transferlint.model import Site

NOWHERE = "(no Python stack)"


@dataclasses.dataclass(frozen=True, slots=True)
class Placed:
    """A call with its frames, the nearest outside torch first; `user` is the index of the program's own nearest (-1:
    there is none). `maybe` are the expressions that it may be, where it is not known which; `inside` are torch's own
    functions below the first frame, innermost first."""

    call: Call
    frames: tuple[Frame, ...]
    user: int
    maybe: tuple[Site, ...] = ()
    inside: tuple[Frame, ...] = ()


class Placing:
    """The calls of one trace, and what of the program's own expressions it shows to have run."""

    def __init__(self, trace: Trace, sources: Sources) -> None:
        self._trace = trace
        self._sources = sources
        self._turns: dict[tuple[object, str], list[int]] = {}  # starts of the calls of a name by one run of a function
        for child in trace.children:
            self._turns.setdefault((child.parent, child.name), []).append(child.start)
        for starts in self._turns.values():
            starts.sort()
        self._parents: dict[tuple[str, int], list[object]] = {}
        for child in trace.children:
            self._parents.setdefault((child.name, child.start), []).append(child.parent)

    def placed(self) -> Iterator[Placed]:
        """Every call with its place."""
        for call in self._trace.calls:
            yield self._place(call)

    def evaluated(self) -> Iterator[tuple[str, Site]]:
        """The expressions that are shown to have run, with their files."""
        for (owner, name), starts in self._turns.items():
            function = self._sources.function(self._trace.owners[owner])
            if function is None:
                continue
            places = function.candidates(name, "")
            at = came_to(self._trace.owners[owner], function)
            if len(places) == 1:
                yield function.path, places[0].site
            else:
                known = in_order(places, len(starts), at) if places else None
                yield from ((function.path, place.site) for place in dict.fromkeys(known or ()))

    def _place(self, call: Call) -> Placed:
        python = [one for one in call.around if one.python]
        inner = len(python) - 1
        while inner >= 0 and _is_torch(python[inner].name):
            inner -= 1
        if inner < 0:
            return Placed(call, (Frame(NOWHERE, 0, ""),), -1)
        frames: list[Frame] = []
        user = -1
        maybe: tuple[Site, ...] = ()
        for number in range(inner, -1, -1):
            function = self._sources.function(python[number].name)
            if function is None:
                if FRAME.fullmatch(python[number].name):
                    frames.append(_foreign(python[number].name))
            elif user < 0:
                user = len(frames)
                frame, maybe = self._within(function, call, python, number)
                frames.append(frame)
            else:
                frames.append(_at(function.site, function.name))
        below = () if call.borrowed else python[:inner:-1]
        inside = tuple(_foreign(one.name) for one in below if FRAME.fullmatch(one.name))
        return Placed(call, tuple(frames), user, maybe, inside)

    def _within(
        self, function: Function, call: Call, python: Sequence[Stretch], number: int
    ) -> tuple[Frame, tuple[Site, ...]]:
        """The expression of a function that led to a call; the function itself, and the expressions that it may be,
        where it is not known."""
        nested = python[number + 1] if number + 1 < len(python) else None
        name = callee(nested.name) if nested is not None else ""
        operator = next((one.name for one in call.around if not one.python and one.start >= python[number].start), "")
        places = () if nested is not None and not name else function.candidates(name, operator)
        if len(places) == 1:
            return _at(places[0].site, function.name), ()
        if nested is not None and places:
            starts = self._siblings(name, nested.start, python[number].name)
            known = in_order(places, len(starts), came_to(python[number].name, function)) if starts else None
            if known is not None:
                return _at(known[starts.index(nested.start)].site, function.name), ()
        return _at(function.site, function.name), tuple(place.site for place in places) or (function.span,)

    def _siblings(self, name: str, start: int, owner_name: str) -> list[int]:
        """The calls of the same name that the same run of a function made."""
        for parent in self._parents.get((name, start), ()):
            if self._trace.owners.get(parent) == owner_name:
                return self._turns[parent, name]
        return []


def _is_torch(name: str) -> bool:
    """What is torch's own, or no function with a file: C, and modules under their class's name."""
    frame = FRAME.fullmatch(name)
    if frame is None:
        return True
    path = frame["path"].replace("\\", "/")
    return path.startswith("torch/") or "/torch/" in path


def _foreign(name: str) -> Frame:
    frame = FRAME.fullmatch(name)
    return Frame(frame["path"], int(frame["line"]), frame["name"]) if frame else Frame(name, 0, "")


def _at(site: Site, function: str) -> Frame:
    return Frame(site.path, site.line, function, site.column, site.end_line, site.end_column)
