"""Where the git work tree is that a folder belongs to, and which folders are made a distribution of.

A `setup.py`, a `setup.cfg` with `[metadata]`, or a `pyproject.toml` that says what it is makes a distribution, which
others install and use (packaging.python.org, "Writing your pyproject.toml": `[project]` and `[build-system]`; Poetry
and Flit had tables of their own before).
"""

import os

_TABLES = {
    "pyproject.toml": (b"[project]", b"[build-system]", b"[tool.poetry]", b"[tool.flit]", b"[tool.flit.metadata]"),
    "setup.cfg": (b"[metadata]",),
}
_MOST = 1_000_000  # bytes of settings


def repository(folder: str) -> "str | None":
    """The root of the git work tree that holds the absolute `folder`, or None outside of any."""
    while True:
        if os.path.exists(os.path.join(folder, ".git")):
            return folder
        above = os.path.dirname(folder)
        if above == folder:
            return None
        folder = above


def distributed(folder: str) -> bool:
    """Whether the files below a folder are made a distribution of; True where that cannot be read."""
    if os.path.exists(os.path.join(folder, "setup.py")):
        return True
    for name, tables in _TABLES.items():
        lines = _bytes(os.path.join(folder, name)).splitlines()
        if any(line.strip().startswith(tables) for line in lines):
            return True
    return False


def _bytes(path: str) -> bytes:
    if not os.path.isfile(path):
        return b""
    try:
        with open(path, "rb") as file:
            return file.read(_MOST)
    except OSError:
        return b"[project]\n[metadata]\n"
