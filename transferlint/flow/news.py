"""Which attributes and variables have come to hold something else, so that who read them before is placed again."""

from __future__ import annotations

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
