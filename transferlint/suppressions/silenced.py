"""Which comments of a file silence which findings."""

from __future__ import annotations

import bisect
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from transferlint.model import Finding

if TYPE_CHECKING:
    from transferlint.syntax.suppressions import Suppression

_WIDE = 64  # lines; the comments that cover more are asked one by one, as there are few


class Silencing:
    """The suppressions of a file, by the lines that they cover."""

    def __init__(self, comments: Sequence[Suppression]) -> None:
        self.comments = tuple(comments)
        self._wide: list[int] = []
        self._covering: dict[int, list[int]] = {}
        for number, one in enumerate(self.comments):
            if one.last_line - one.first_line >= _WIDE:
                self._wide.append(number)
                continue
            for line in range(one.first_line, one.last_line + 1):
                self._covering.setdefault(line, []).append(number)
        self._own = sorted((one.line, number) for number, one in enumerate(self.comments))

    def of(self, finding: Finding) -> Iterator[int]:
        """The numbers of the comments that silence a finding, in order."""
        if not self.comments:
            return
        first, last = finding.site.line, max(finding.site.line, finding.site.end_line)
        own = self._own[bisect.bisect_left(self._own, (first, -1)) : bisect.bisect_left(self._own, (last + 1, -1))]
        near = {*self._wide, *self._covering.get(first, ()), *(number for _, number in own)}
        yield from (one for one in sorted(near) if self.comments[one].silences(finding.code, first, last))

    def first(self, finding: Finding) -> Suppression | None:
        """The first comment that silences a finding."""
        number = next(self.of(finding), None)
        return None if number is None else self.comments[number]

    def codes(self, found: Iterable[Finding]) -> tuple[frozenset[str], ...]:
        """By comment, the codes of what it silences: findings, or sites for which a finding elsewhere speaks too."""
        silenced: list[set[str]] = [set() for _ in self.comments]
        if self.comments:
            for finding in found:
                for number in {number for member in finding.members() for number in self.of(member)}:
                    silenced[number].add(finding.code)
        return tuple(map(frozenset, silenced))
