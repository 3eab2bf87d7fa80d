"""Which attributes and variables have come to hold something else, so that who read them before is placed again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

# A file, the class or function in it whose attribute or variable it is (by index), and its name.
Held = tuple[str, int, str]


class News:
    """When each attribute or variable of a project last came to hold something else: a count that only grows."""

    __slots__ = ("count", "last", "names")

    def __init__(self) -> None:
        self.count = 0
        self.last: dict[Held, int] = {}
        self.names: set[str] = set()

    def add(self, held: Held) -> None:
        """Note that something holds another value from now on."""
        self.count += 1
        self.last[held] = self.count
        self.names.add(held[2])


class Readers:
    """Which functions of a file read what, and when they did last."""

    __slots__ = ("_news", "_read")

    def __init__(self, news: News) -> None:
        self._news = news
        self._read: dict[Held, dict[int, int]] = {}

    def note(self, held: Held, function: int) -> None:
        """Note that a function reads something now."""
        self._read.setdefault(held, {})[function] = self._news.count

    def behind(self, holders: Callable[[Held], Iterable[tuple[str, int]]]) -> Iterator[int]:
        """The functions that read what has come to hold something else since. `holders` are all that may hold what is
        read: a class and its bases."""
        last = self._news.last
        for held, functions in self._read.items():
            if held[2] in self._news.names:
                changed = max(last.get((*place, held[2]), 0) for place in holders(held))
                yield from (function for function, read in functions.items() if read < changed)
