"""A listener that keeps what a session tells, and says it in words that a test can compare."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from runtime_check import naming
from runtime_check.events import Event


class Told:
    """Events in order, and the notes between them."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.notes: list[tuple[object, ...]] = []

    def __call__(self, event: Event) -> None:
        self.events.append(event)

    def step(self, source: object) -> None:
        self.notes.append(("step", source))

    def gone(self, serial: int) -> None:
        self.notes.append(("gone", serial))

    def missing(self, process: str, why: str) -> None:
        self.notes.append(("missing", process, why))

    def lines(self) -> list[tuple[str, str, int]]:
        """Direction, source of the nearest line outside torch, and bytes."""
        return [(event.direction.value, text(event), event.bytes) for event in self.events]

    def threads(self) -> list[str]:
        return [event.thread for event in self.events]


def text(event: Event, index: int = 0) -> str:
    """The source of a frame of an event: the expression, or its line on Python 3.10."""
    return " ".join(naming.source(event.frames[index]).split()) if event.frames else ""


@contextlib.contextmanager
def told(trace: bool = False) -> Iterator[Told]:
    """Listen to this process."""
    from runtime_check.session import Session

    kept = Told()
    with Session(kept, trace=trace):
        yield kept
