"""Streams and events that order nothing: the simulated device has done its work when a call returns."""

from __future__ import annotations

import itertools
import threading
import time
from typing import Any, ClassVar

from runtime_check.simulate.captures import Captures
from runtime_check.simulate.changes import Changes
from runtime_check.simulate.internals import torch
from runtime_check.simulate.ordinals import count, index_of, use

NUMBERS = itertools.count(1)


class Event:
    """`torch.cuda.Event`. Times are the host's."""

    captures: ClassVar[Captures]

    def __init__(
        self, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False, **_options: Any
    ) -> None:
        self.enable_timing = enable_timing
        self.device = torch.device("cuda", index_of())
        self.event_id = self.cuda_event = 0
        self._recorded: float | None = None

    def record(self, stream: Any = None) -> None:
        """Note the time."""
        self._recorded = time.perf_counter()

    def wait(self, stream: Any = None) -> None:
        """Nothing to wait for."""

    def query(self) -> bool:
        """Whether the work before it is done."""
        return True

    def synchronize(self) -> None:
        """Nothing to wait for; on a GPU the host would."""
        self.captures.waits("torch.cuda.Event.synchronize")

    def elapsed_time(self, end_event: Event) -> float:
        """Milliseconds between two recorded events. Raises what CUDA raises for others."""
        if not (self.enable_timing and end_event.enable_timing):
            raise ValueError("Both events must be created with argument 'enable_timing=True'.")
        if self._recorded is None or end_event._recorded is None:
            raise ValueError("Both events must be recorded before calculating elapsed time.")
        return (end_event._recorded - self._recorded) * 1e3


class Stream:
    """`torch.cuda.Stream`."""

    captures: ClassVar[Captures]

    def __init__(self, device: Any = None, priority: int = 0, **_options: Any) -> None:
        self.device_index, self.device_type = index_of(device), 1
        self.device = torch.device("cuda", self.device_index)
        self.priority = priority
        self.stream_id = self.cuda_stream = next(NUMBERS)

    def synchronize(self) -> None:
        """Nothing to wait for; on a GPU the host would."""
        self.captures.waits("torch.cuda.Stream.synchronize")

    def wait_stream(self, stream: Any) -> None:
        """Nothing to wait for."""

    def wait_event(self, event: Any) -> None:
        """Nothing to wait for."""

    def query(self) -> bool:
        """Whether its work is done."""
        return True

    def is_capturing(self) -> bool:
        """Whether a graph is being captured."""
        return bool(torch.cuda.is_current_stream_capturing())

    def record_event(self, event: Event | None = None) -> Event:
        """Record `event`, or a new one, and give it."""
        event = Event() if event is None else event
        event.record(self)
        return event

    def __enter__(self) -> Stream:
        self._context = StreamContext(self)
        self._context.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self._context.__exit__(*error)


class Held:
    """The current stream of each thread and device."""

    def __init__(self) -> None:
        self._default = [Stream(number) for number in range(count())]
        for stream in self._default:
            stream.stream_id = stream.cuda_stream = 0
        self._threads = threading.local()

    def default(self, device: Any = None) -> Stream:
        """The stream that a device has from the start."""
        return self._default[index_of(device)]

    def current(self, device: Any = None) -> Stream:
        """The calling thread's stream."""
        index = index_of(device)
        found: Stream = getattr(self._threads, f"of_{index}", self._default[index])
        return found

    def set(self, stream: Any) -> None:
        """Make `stream` the calling thread's, and its device the current one."""
        if stream is not None:
            use(stream.device_index)
            setattr(self._threads, f"of_{stream.device_index}", stream)


class StreamContext:
    """`torch.cuda.stream(...)`; None changes nothing."""

    held: Held

    def __init__(self, stream: Any) -> None:
        self.stream = stream

    def __enter__(self) -> Any:
        if self.stream is not None:
            self._there, self._before = self.held.current(self.stream.device), self.held.current()
            self.held.set(self.stream)
        return self.stream

    def __exit__(self, *_error: object) -> None:
        if self.stream is not None:
            self.held.set(self._there)
            self.held.set(self._before)


def install(changes: Changes, captures: Captures) -> Held:
    """Replace torch's streams and events."""

    def synchronize(device: Any = None) -> None:
        """`torch.cuda.synchronize`: nothing to wait for; on a GPU the host would. Raises what CUDA raises while a graph
        is captured."""
        index_of(device)
        captures.waits("torch.cuda.synchronize")

    for kind in (Event, Stream):
        changes.attribute(kind, "captures", captures)
    held = Held()
    context = type("StreamContext", (StreamContext,), {"held": held})
    changes.attribute(StreamContext, "held", held)  # a stream used as a context itself
    cuda = torch.cuda
    for name, value in {
        "Stream": Stream,
        "ExternalStream": Stream,
        "Event": Event,
        "current_stream": held.current,
        "default_stream": held.default,
        "set_stream": held.set,
        "stream": context,
        "StreamContext": context,
        "synchronize": synchronize,
    }.items():
        changes.attribute(cuda, name, value)
    changes.attribute(cuda.streams, "Stream", Stream)
    changes.attribute(cuda.streams, "Event", Event)
    changes.attribute(torch, "Stream", Stream)
    changes.attribute(torch, "Event", Event)
    changes.attribute(torch.Tensor, "record_stream", lambda self, stream: None)
    return held
