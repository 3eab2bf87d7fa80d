"""Where in the program something happened: the nearest line outside torch, the user's own, and the way there.

A walk over the callers costs about 0.2 microseconds a frame; what a place looks like (path, columns, chain) is worked
out once and kept. Columns come from `code.co_positions` (Python 3.11; Python language reference, "Code objects").
"""

from __future__ import annotations

import dataclasses
import itertools
import linecache
import os
import sys
import sysconfig
from collections.abc import Sequence
from types import CodeType, FrameType

from runtime_check.events import Frame
from transferlint.model import Direction

_PLACES = 1 << 16  # places kept; a program that makes code without end starts over
_CHAIN = 64  # callers kept of a chain
_INSIDE = 8  # frames kept of what torch does below a line
_CALLING = os.path.join("torch", "_ops.py")  # by way of which our own kernels call operators


# Whose code a frame runs: plain numbers, since a look at a member of an `enum` costs as much as a look at a frame.
# Python's own library stands between a line and what it calls as torch does.
USER = 0
LIBRARY = 1
HIDDEN = 2  # torch, Python's own library, code made by either, and ours


@dataclasses.dataclass(frozen=True, slots=True)
class Place:
    """Where something happened. `frames` are the callers, innermost first: up to the user's own nearest (`user` is its
    index), and the whole chain where the place is new. `inside` are torch's own frames below them, likewise, as they
    were when the place was first seen."""

    frames: tuple[Frame, ...]
    user: int = 0
    inside: tuple[Frame, ...] = ()


NOWHERE = Place(())


class CallSites:
    """Looks up callers. One for all threads: what it keeps is only ever replaced by the same.

    `packages` have been imported and are hidden; `followed` is the one of them whose frames `Place.inside` tells (""
    for none)."""

    def __init__(self, packages: Sequence[str] = ("torch",), followed: str = "torch") -> None:
        found = {name: os.path.dirname(str(sys.modules[name].__file__)) for name in packages}
        self._followed = os.path.join(found[followed], "") if followed else ""
        folders = *found.values(), os.path.dirname(os.path.dirname(__file__))
        self._hidden = tuple(
            os.path.join(place, "") for folder in folders for place in (os.path.realpath(folder), folder)
        )
        paths = sysconfig.get_paths()
        self._libraries = tuple(os.path.join(paths[name], "") for name in ("purelib", "platlib"))
        self._python = tuple({os.path.join(paths[name], "") for name in ("stdlib", "platstdlib")})
        self._whose: dict[str, int] = {}
        self.forget()

    def forget(self) -> None:
        """Take every place for new again, so that its chain is told once more."""
        self._places: dict[tuple[int, int, int, int, bool, int], tuple[CodeType, CodeType, Place]] = {}
        self._frames: dict[tuple[int, int], tuple[CodeType, Frame]] = {}
        self._direct: dict[tuple[int, int, int], tuple[CodeType, Place]] = {}  # places of the user's own frames

    def of(self, frame: FrameType | None, behind: Place = NOWHERE, way: Direction | None = None) -> Place:
        """The place of a frame, or of its nearest caller that is one. `behind` is where the work of this thread was
        asked for, which its callers lead to: a thread of autograd has none of the user's own. The same place is another
        one for data that goes another `way`: who uploads by a line of a library need not be who downloads by it.
        """
        if frame is not None and behind is NOWHERE:
            known = self._direct.get((id(frame.f_code), frame.f_lasti, id(way)))
            if known is not None:
                return known[1]
        first: FrameType | None = None
        inner = frame
        whose = self._whose
        while frame is not None:
            path = frame.f_code.co_filename
            owner = whose.get(path)
            if owner is None:
                owner = self._owner(path)
            if owner is not HIDDEN:
                if first is None:
                    first = frame
                if owner is USER:
                    break
            frame = frame.f_back
        if first is None:
            return behind
        if frame is None:
            return self._continued(first, behind, inner)
        code, own = first.f_code, frame.f_code
        key = (id(code), first.f_lasti, id(own), frame.f_lasti, behind is NOWHERE, id(way))
        found = self._places.get(key)
        if found is not None:  # the code objects are held, so that no other has their ids
            return found[2]
        return self._new(key, first, frame, behind, self._inside(inner, first))

    def _new(
        self,
        key: tuple[int, int, int, int, bool, int],
        first: FrameType,
        own: FrameType,
        behind: Place,
        inside: tuple[Frame, ...],
    ) -> Place:
        if len(self._places) >= _PLACES:
            self.forget()
        chain = self._chain(first)
        user = 0
        walk: FrameType | None = first
        while walk is not own and walk is not None:
            user += self._owner(walk.f_code.co_filename) is not HIDDEN
            walk = walk.f_back
        place = Place(chain[: user + 1], user, inside)
        self._places[key] = (first.f_code, own.f_code, place)
        if first is own and behind is NOWHERE:
            self._direct[id(own.f_code), own.f_lasti, key[-1]] = (own.f_code, place)
        return Place((*chain, *behind.frames)[: max(_CHAIN, user + 1)], user, inside)

    def _continued(self, first: FrameType, behind: Place, inner: FrameType | None) -> Place:
        """Library code in a thread without a line of the user's own: what asked for it comes next."""
        chain = self._chain(first)
        if not behind.frames:
            return Place(chain)
        return Place((*chain, *behind.frames), len(chain) + behind.user, self._inside(inner, first))

    def _inside(self, inner: FrameType | None, first: FrameType) -> tuple[Frame, ...]:
        """Torch's own frames from the innermost to the nearest that is not torch's; none where none are followed."""
        found: list[Frame] = []
        while self._followed and inner is not None and inner is not first and len(found) < _INSIDE:
            path = inner.f_code.co_filename
            if path.startswith(self._followed) and not path.endswith(_CALLING):
                found.append(self._described(inner))
            inner = inner.f_back
        return tuple(found)

    def _chain(self, first: FrameType) -> tuple[Frame, ...]:
        chain: list[Frame] = []
        frame: FrameType | None = first
        while frame is not None:
            if self._owner(frame.f_code.co_filename) is not HIDDEN:
                chain.append(self._described(frame))
            frame = frame.f_back
        return tuple(chain)

    def _described(self, frame: FrameType) -> Frame:
        key = id(frame.f_code), frame.f_lasti
        found = self._frames.get(key)
        if found is None:
            if len(self._frames) >= _PLACES:
                self.forget()
            found = self._frames[key] = (frame.f_code, describe(frame))
        return found[1]

    def _owner(self, path: str) -> int:
        found = self._whose.get(path)
        if found is None:
            found = self._whose[path] = self._decide(path)
        return found

    def _decide(self, path: str) -> int:
        if path.startswith("<"):  # typed by the user, or made by a library from strings
            typed = path.startswith(("<ipython-input", "<stdin", "<string>", "<console>", "<doctest"))
            return USER if typed else HIDDEN
        whole = os.path.abspath(path)
        if whole.startswith(self._hidden) or f"{os.sep}torchinductor_" in whole:
            return HIDDEN
        if f"{os.sep}site-packages{os.sep}" in whole or f"{os.sep}dist-packages{os.sep}" in whole:
            return LIBRARY
        if whole.startswith(self._libraries):
            return LIBRARY
        return HIDDEN if whole.startswith(self._python) else USER


def describe(frame: FrameType) -> Frame:
    """The line that a frame is at, with the columns of the expression where Python tells them."""
    code = frame.f_code
    name = getattr(code, "co_qualname", code.co_name)  # 3.11
    path = code.co_filename if code.co_filename.startswith("<") else os.path.abspath(code.co_filename)
    line = frame.f_lineno or code.co_firstlineno
    if sys.version_info >= (3, 11):
        found = next(itertools.islice(code.co_positions(), frame.f_lasti // 2, None), None)
        if found is not None and None not in found:
            first, last, start, end = (value or 0 for value in found)
            return Frame(path, first, name, _column(path, first, start), last, _column(path, last, end))
    return Frame(path, line, name)


def _column(path: str, line: int, offset: int) -> int:
    """A 1-based column in characters, from Python's 0-based offset in UTF-8 bytes."""
    text = linecache.getline(path, line)
    if not text or text.isascii():
        return offset + 1
    return len(text.encode()[:offset].decode(errors="ignore")) + 1
