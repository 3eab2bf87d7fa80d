"""Which expressions made the calls of one name that one run of a function made, where their order tells."""

from __future__ import annotations

import re
from collections.abc import Sequence

from runtime_check.traces.sources import Function, Place

_STRAIGHT = (0, 0, 0)
_LINE = re.compile(r"\((\d+)\): ")


def in_order(places: Sequence[Place], times: int, at: int = 0) -> tuple[Place, ...] | None:
    """The expression of each of `times` calls; None where it is not known.

    As many calls as there are expressions, none of which can run twice, are these. Else they are known where every
    expression stands in straight code: first those of the function's own, and then, turn by turn, those of one loop's
    body, behind which there is none. `at` is the line that the function had come to when the trace begins, 0 where it
    was called within the trace.
    """
    if not at and len(places) == times and not any(place.repeats for place in places):
        return tuple(places)
    once = [place for place in places if place.stretch == _STRAIGHT]
    turning = [place for place in places if place.stretch != _STRAIGHT]
    stretches = {place.stretch for place in turning}
    if None in stretches or len(stretches) > 1 or any(place.site.line <= at <= place.site.end_line for place in places):
        return None
    first, last, _ = next(iter(stretches)) or _STRAIGHT if stretches else _STRAIGHT
    if turning and any(place.site.line > last for place in once):
        return None
    once = [place for place in once if place.site.line > at]
    done = sum(place.site.line < at for place in turning) if first <= at <= last else 0
    if times > len(once) and (not turning or at > last):
        return None
    turns = (turning[(number + done) % len(turning)] for number in range(times - len(once)))
    return (*once[:times], *turns)


def came_to(name: str, function: Function) -> int:
    """The line that a function had come to when the trace begins, by its name there; 0 where it was called later."""
    found = _LINE.search(name)
    line = int(found[1]) if found else 0
    return 0 if line in (0, function.first, function.begins) else line
