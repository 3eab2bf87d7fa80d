"""What a run leaves for the next of the same command line, beside what it said (`runs.py`): plain values, in a file of
the same name."""

from __future__ import annotations

import marshal
import os
from typing import Any

from transferlint.cache import entries
from transferlint.cache.runs import News

_SHELF = "sessions"


def read(where: str, news: News) -> Any:
    """What was left by the run of which there is news; None where that is not known."""
    kept: Any = entries.read(_path(where, news))
    return kept[1] if isinstance(kept, tuple) and len(kept) == 2 and kept[0] == news.row else None


def write(where: str, news: News, left: Any) -> None:
    """Leave plain values for the next run."""
    entries.write(where, _path(where, news), marshal.dumps((news.row, left)))


def _path(where: str, news: News) -> str:
    return os.path.join(where, _SHELF, os.path.basename(news.path))
