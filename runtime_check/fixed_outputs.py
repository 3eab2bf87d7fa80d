"""Whether the original and the fixed program did the same: what they printed, ended with and wrote."""

from __future__ import annotations

import dataclasses
import itertools
import math
import re
from collections.abc import Sequence

from runtime_check.fixed_run import Ran

_NUMBER = re.compile(r"[-+]?(?:\d+\.\d*|\.\d+|\d+)(?:[eE][-+]?\d+)?")


@dataclasses.dataclass(frozen=True, slots=True)
class Compared:
    """`same` is False where the two did different things; `text` says in one line what was compared and, where they
    differ, in what; `notes` what could not be compared."""

    same: bool
    text: str
    notes: tuple[str, ...] = ()


def compare(original: Sequence[Ran], fixed: Sequence[Ran], with_files: bool) -> Compared:
    """Compare the runs of the two programs; each was run at least once."""
    codes = sorted({one.code for one in original}), sorted({one.code for one in fixed})
    if codes[0] != codes[1]:
        return Compared(False, f"exit code {_codes(codes[0])} before, {_codes(codes[1])} after")
    notes: list[str] = []
    lines = _compare_lines(original, fixed, notes)
    if not lines.same:
        return dataclasses.replace(lines, notes=tuple(notes))
    parts = [lines.text, f"exit code {_codes(codes[0])}"]
    if with_files:
        files = _compare_files(original, fixed, notes)
        if not files.same:
            return dataclasses.replace(files, notes=tuple(notes))
        parts.append(files.text)
    return Compared(True, ", ".join(parts), tuple(notes))


def _codes(codes: Sequence[int]) -> str:
    return " and ".join(map(str, codes))


def _compare_lines(original: Sequence[Ran], fixed: Sequence[Ran], notes: list[str]) -> Compared:
    """By line; lines in which the original itself differs from run to run (times, say) are left out."""
    before = [one.out.splitlines() for one in original]
    after = [one.out.splitlines() for one in fixed]
    first, other = before[0], after[0]
    if any(len(lines) != len(first) for lines in before):
        notes.append("the original prints another number of lines in every run: its output was not compared")
        return Compared(True, "output not compared")
    if any(len(lines) != len(first) for lines in after):
        odd = next(lines for lines in after if len(lines) != len(first))
        number, was, became = next(
            (number, *pair)
            for number, pair in enumerate(itertools.zip_longest(first, odd, fillvalue="(nothing)"), 1)
            if pair[0] != pair[1]
        )
        said = f"lines: {len(first)} before, {len(odd)} after; line {number}: {was!r} became {became!r}"
        return Compared(False, said)
    unstable = {number for lines in before for number, line in enumerate(lines) if line != first[number]}
    if unstable:
        some = ", ".join(str(number + 1) for number in sorted(unstable)[:5])
        notes.append(f"the original prints {len(unstable)} line(s) that differ from run to run, not compared: {some}")
    largest = 0.0
    for lines in after:
        for number, line in enumerate(lines):
            if number in unstable or line == first[number]:
                continue
            error = _distance(first[number], line)
            if error is None or error > 1e-3:
                return Compared(False, f"line {number + 1} of the output: {first[number]!r} became {line!r}")
            largest = max(largest, error)
    if largest:
        return Compared(True, f"output, but for numbers, which differ by up to {largest:.1e} of their size")
    compared = len(other) - len(unstable)
    return Compared(True, f"output ({compared} line{'' if compared == 1 else 's'})")


def _distance(one: str, other: str) -> float | None:
    """How far the numbers of two lines are apart at most, relative to their size; None where other words differ."""
    if _NUMBER.sub("#", one) != _NUMBER.sub("#", other):
        return None
    pairs = zip(_NUMBER.findall(one), _NUMBER.findall(other), strict=True)
    found = 0.0
    for left, right in pairs:
        if left == right:
            continue
        if left.lstrip("+-").isdigit() and right.lstrip("+-").isdigit():
            return None  # a count is not a rounding error
        size = max(abs(float(left)), abs(float(right)))
        found = max(found, abs(float(left) - float(right)) / size)
    return found if math.isfinite(found) else None


def _compare_files(original: Sequence[Ran], fixed: Sequence[Ran], notes: list[str]) -> Compared:
    first = original[0].files
    unstable = {
        name for one in original for name in first.keys() | one.files.keys() if one.files.get(name) != first.get(name)
    }
    if unstable:
        notes.append(f"files that the original writes differently in every run, not compared: {_some(unstable)}")
    differing = {
        name
        for one in fixed
        for name in first.keys() | one.files.keys()
        if name not in unstable and one.files.get(name) != first.get(name)
    }
    if differing:
        return Compared(False, f"files with other content: {_some(differing)}")
    same = len(first.keys() - unstable)
    return Compared(True, f"{same} file{'' if same == 1 else 's'} written")


def _some(names: set[str]) -> str:
    listed = sorted(names)
    return ", ".join(listed[:5]) + (f" and {len(listed) - 5} more" if len(listed) > 5 else "")
