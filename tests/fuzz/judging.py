"""What a round is about: a case, made from a seed, and the faults that are found in it."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping


@dataclasses.dataclass(frozen=True)
class Case:
    """Files by name, and what else decides (options, say)."""

    files: Mapping[str, str]
    options: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True)
class Fault:
    """What did not hold: of which kind, by which a smaller case is known to have the same fault, and what was seen."""

    kind: str
    seen: str
