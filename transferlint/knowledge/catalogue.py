"""All tables as one index."""

from __future__ import annotations

import functools

from transferlint.knowledge import libraries, numpy, torch
from transferlint.knowledge.api import Effect, index


@functools.cache
def effects() -> dict[str, Effect]:
    """Qualified name to effect over every table; computed once."""
    return index(torch.TABLE, numpy.TABLE, libraries.TABLE)
