"""Which of what steps in a program (optimizers, marks) makes its steps."""

from __future__ import annotations


class Leader:
    """Tells where a step ends: of the things that step in a program, one leads, so that a step that uses two is one."""

    def __init__(self) -> None:
        self._one: object = None
        self._others: set[object] = set()

    def ends(self, source: object) -> bool:
        """True where a step ends. A source that steps twice while the leading one does not takes the lead."""
        if self._one is None or source == self._one or source in self._others:
            self._one = source
            self._others.clear()
            return True
        self._others.add(source)
        return False
