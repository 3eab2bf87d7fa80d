"""The order of a C++ class's virtual functions, read from the header that lies in the installed torch.

With the Itanium C++ ABI (Linux), a table of virtual functions starts with one slot a function, in the order of their
declaration; a destructor takes two.
"""

from __future__ import annotations

import re
from pathlib import Path

COMMENT_LINE = re.compile(r"//.*")
VIRTUAL = re.compile(r"virtual\s+(?:[\w:<>,\s*&]+?)?(~?\w+)\s*\(")


def slots(header: Path) -> dict[str, int]:
    """Function name to slot, from the text of `header`; empty where there is no such file."""
    try:
        text = header.read_text(encoding="utf-8")
    except OSError:
        return {}
    text = re.sub(r"/\*.*?\*/", "", COMMENT_LINE.sub("", text), flags=re.DOTALL)
    found: dict[str, int] = {}
    slot = 0
    for name in VIRTUAL.findall(text):
        found[name] = slot
        slot += 2 if name.startswith("~") else 1
    return found
