"""What is kept of a source that was read."""

from __future__ import annotations

import array

from transferlint.syntax.program import Program
from transferlint.syntax.suppressions import Suppression

# A frozen program, its suppressions, the offsets of its lines and comments (starts and ends in turn), and what
# `portable.parenthesised` gives.
Parts = tuple[Program, tuple[Suppression, ...], "array.array[int]", "array.array[int]", "array.array[int]"]
