"""Between JAX's hooks and those who listen: where the program is, what the operation is called, and what a guard says.

A hook asks `begin` before what it stands for happens, and tells `finish` afterwards.
"""

from __future__ import annotations

import itertools
import logging
import os
import sys
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any

from runtime_check import naming
from runtime_check.events import Event, Listener
from runtime_check.guards import LOGGER, TransferForbidden
from runtime_check.hooks.frames import CallSites, Place
from runtime_check.jax_hooks.memory import HOST, Read
from runtime_check.jax_hooks.names import operation_of
from transferlint.model import Direction

NAME = "jax"
ARRAY = "jax.Array.__array__"  # what numpy asks for
_COMPILED = "/jax/core/compile/backend_compile_duration"
_API = "reraise_with_filtered_traceback"  # stands around many functions of JAX's
_PACKAGES = ("jax", "jaxlib", "numpy")  # numpy reads by its own Python code, and is nobody's line


class Mine(threading.local):
    """Of one thread: whether a hook is at work, whatever it does then being part of it; the number of the call
    that moves many arrays in one go, and is running (0: none)."""

    inside = False
    call = 0


class Tap:
    """Makes events of what hooks see. `listeners` hear of them. `guarded`: JAX's own policy for device-to-host
    transfers (`jax.transfer_guard_device_to_host`) is held on the CPU, too, where JAX lets everything pass.
    `on_platform(platform, kind of device)` is called when a platform is first seen."""

    def __init__(self, guarded: bool = False, on_platform: Callable[[str, str], None] | None = None) -> None:
        jax: Any = sys.modules["jax"]
        self.listeners: tuple[Listener, ...] = ()
        self.local = Mine()
        self.read = Read()
        self.platforms: dict[str, str] = {}
        self.compilations = 0
        self.number = itertools.count(1).__next__  # of calls
        self.compiling = 0.0  # seconds
        self.traced = False  # somebody wants to know what memory data comes from
        self._guarded = guarded
        self._on_platform = on_platform
        self._config = getattr(jax, "config", None)
        packages = [name for name in _PACKAGES if getattr(sys.modules.get(name), "__file__", None)]
        self._sites = CallSites(packages, "")
        # A frame of ours may lie between JAX's.
        folders = (os.path.dirname(str(jax.__file__)), os.path.dirname(__file__))
        self._inner = tuple(os.path.join(folder, "") for folder in folders)
        self._logged: set[object] = set()

    def begin(
        self, direction: Direction, size: int, sync: bool, platform: str, fallback: str, above: int = 2
    ) -> Event | None:
        """What is about to happen, as an event to be completed; None where it is none of the program's (a thread of
        JAX's own). `fallback` is the operation where the program's own frame is the nearest; the frame is the one
        `above` this, by default that of the hook's caller. Raises TransferForbidden."""
        try:
            frame: FrameType | None = sys._getframe(above)
        except ValueError:
            return None
        place = self._sites.of(frame)
        if not place.frames:
            return None
        operation = self._operation(frame, fallback)
        if self._guarded and direction is Direction.D2H and platform == HOST:
            self._ask(place, direction, size, operation)
        return self.at(place, direction, size, sync, platform, operation)

    def at(self, place: Place, direction: Direction, size: int, sync: bool, platform: str, operation: str) -> Event:
        """An event at a place that is known, which no policy is asked of."""
        thread = threading.current_thread()
        name = "MainThread" if thread is threading.main_thread() else thread.name
        return Event(
            direction, operation, size, 0, 0, sync, place.frames, place.user, thread=name, call=self.local.call,
            framework=NAME, timed=platform != HOST,
        )  # fmt: skip

    def place(self, above: int = 2) -> Place:
        """Where the program is."""
        return self._sites.of(sys._getframe(above))

    def finish(self, event: Event) -> None:
        """It has happened."""
        for listener in self.listeners:
            listener(event)

    def step(self, source: object = "") -> None:
        """The program says that a step of its ended."""
        for listener in self.listeners:
            take = getattr(listener, "step", None)
            if take is not None:
                take(source)

    def seen_on(self, device: Any) -> str:
        """The platform of a device ("cpu", "gpu", "tpu"), noted when it is new."""
        platform = str(device.platform)
        if platform not in self.platforms:
            self.platforms[platform] = str(getattr(device, "device_kind", platform))
            if self._on_platform is not None:
                self._on_platform(platform, self.platforms[platform])
        return platform

    def wide(self) -> bool:
        """Whether JAX keeps 64 bits."""
        return bool(getattr(self._config, "jax_enable_x64", True))

    def compiled(self, event: str, duration: float, **_: str | int) -> None:
        """A listener of `jax.monitoring`."""
        if event == _COMPILED:
            self.compilations += 1
            self.compiling += duration

    def _operation(self, frame: FrameType | None, fallback: str) -> str:
        """The name by which the program's own code, or a library's, called JAX."""
        outer: FrameType | None = None
        while frame is not None and frame.f_code.co_filename.startswith(self._inner):
            if frame.f_code.co_filename.startswith(self._inner[0]) and frame.f_code.co_name != _API:
                outer = frame
            frame = frame.f_back
        if outer is None:
            return fallback
        code = outer.f_code
        return operation_of(str(outer.f_globals.get("__name__", "")), getattr(code, "co_qualname", code.co_name))

    def _ask(self, place: Place, direction: Direction, size: int, operation: str) -> None:
        """Hold the policy that JAX has for this thread. Of reads, `jax.device_get` alone is explicit (docs.jax.dev
        'Transfer guard')."""
        policy = str(getattr(self._config, "jax_transfer_guard_device_to_host", None) or "allow")
        if policy == "allow" or (operation == "jax.device_get" and not policy.endswith("_explicit")):
            return
        text = naming.sentence(direction, operation, size, place)
        if policy.startswith("disallow"):
            path, line = naming.where(place)
            how = 'to let it pass: with jax.transfer_guard_device_to_host("allow"):'
            raise TransferForbidden(f"{text}, refused by --guard {policy}; {how}", path, line)
        key = operation, place.frames[: place.user + 1]
        if key not in self._logged:
            self._logged.add(key)
            logging.getLogger(LOGGER).warning("%s", text)
