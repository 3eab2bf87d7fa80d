"""Functions that call one another: each group of them is placed until what its first returns no longer changes.

The groups are the strongly connected components of the calls as far as they are met (R. E. Tarjan, Depth-first search
and linear graph algorithms, 1972): a function rests on the one that was begun earliest among those that were still
being placed when it, or what it calls, asked for them.
"""

from __future__ import annotations

import dataclasses

from transferlint import late
from transferlint.flow.lattice.values import ANYWHERE, UNKNOWN, Value
from transferlint.flow.placement.placed import Placed

_NEST = 24
_ROUNDS = 3
_Table = dict[int, Placed]  # the placed functions of a file, by index
_Member = tuple[str, _Table, int]  # the file, its table, and the function
_MEMBERS = 64  # a larger group is placed once: what its first returned is unknown where the others asked for it


@late.dataclass(slots=True)
class Running:
    """A function that is being placed, of the file `key`, whose placed functions are in `table`: what is taken for its
    result until it has one, whether anybody asked for that, the position of the earliest that it rests on, and what was
    placed meanwhile and rests on it."""

    key: str
    table: _Table
    index: int
    lowest: int
    assumed: Placed | None = None
    asked: bool = False
    members: list[_Member] = dataclasses.field(default_factory=list)


class Recursion:
    """The functions that are being placed, over all files, in the order in which they were begun."""

    def __init__(self) -> None:
        self.rests = 0  # how often somebody asked for what is not placed to its end
        self._running: list[Running] = []
        self._resting: dict[tuple[str, int], int] = {}  # placed functions that rest on one at that position

    @property
    def deep(self) -> bool:
        """True where calls lead so far from where the placing began that it goes no further."""
        return len(self._running) > _NEST

    def begin(self, key: str, table: _Table, index: int) -> Running:
        """Note that a function is being placed, until `end`."""
        running = Running(key, table, index, len(self._running))
        self._running.append(running)
        return running

    def asked(self, table: _Table, index: int) -> Placed | None:
        """What is taken for the result of a function that is being placed; who asks rests on it from now on."""
        for position, running in enumerate(self._running):
            if running.table is table and running.index == index:
                running.asked = True
                self._rest(position)
                return running.assumed
        return None

    def used(self, key: str, index: int) -> None:
        """Note that who is being placed asked for one that is placed already."""
        if self._resting and (key, index) in self._resting:
            self._rest(self._resting[key, index])

    def _rest(self, position: int) -> None:
        self.rests += 1
        top = self._running[-1]
        top.lowest = min(top.lowest, position)

    def again(self, running: Running, done: Placed, turn: int) -> bool:
        """True where a function has to be placed again, with what it returned for its result; what rests on it is no
        longer placed then."""
        position = len(self._running) - 1
        known = running.assumed.returns if running.assumed is not None else None
        settled = done.returns == known or not _tells(done.returns)
        if not running.asked or settled or turn >= _ROUNDS or len(running.members) > _MEMBERS:
            return False
        if running.lowest < position:
            return False  # an earlier one will be placed again, and this with it
        self._forget(running, drop=True)
        assumed = late.replace(done, returns=_hoped(done.returns)) if turn == 1 else done
        running.assumed, running.asked = assumed, False
        return True

    def end(self, running: Running) -> None:
        """The function is placed. What it rests on, who called it rests on too."""
        self._running.pop()
        if running.lowest < len(self._running):
            earliest = self._running[running.lowest]
            earliest.members += [*running.members, (running.key, running.table, running.index)]
            for key, _, index in (*running.members, (running.key, running.table, running.index)):
                self._resting[key, index] = running.lowest
            self._rest(running.lowest)
        else:
            self._forget(running, drop=False)

    def _forget(self, running: Running, drop: bool) -> None:
        for key, table, index in running.members:
            self._resting.pop((key, index), None)
            if drop:
                table.pop(index, None)
        running.members.clear()


def _hoped(value: Value | None) -> Value | None:
    """A result without what is unknown of it because nothing was known of the function itself, which the next turn
    bears out or not."""
    if value is None or not value.kinds & ~UNKNOWN:
        return value
    return value.but(kinds=value.kinds & ~UNKNOWN, places=value.places & ~ANYWHERE or value.places)


def _tells(value: Value | None) -> bool:
    """Whether a result says more than that nothing is known."""
    return value is not None and not (value.is_a(UNKNOWN) and value.places == ANYWHERE and value.item is None)
