"""Where the cache lies, and whether it may be used."""

from __future__ import annotations

import hashlib
import os
import stat
import sys
from collections.abc import Iterable, Mapping

from transferlint.files.repository import repository

VARIABLE = "TRANSFERLINT_CACHE_DIR"


def base_folder(environment: Mapping[str, str]) -> str:
    """The folder of all versions: `TRANSFERLINT_CACHE_DIR`, else in the user's cache folder."""
    named = environment.get(VARIABLE)
    if named:
        return named
    if sys.platform == "linux" and "ANDROID_DATA" not in environment:
        # As platformdirs has it (XDG Base Directory Specification, "Environment variables"), which takes longer to
        # import than a run without news takes.
        given = environment.get("XDG_CACHE_HOME", "")
        return os.path.join(given if os.path.isabs(given) else os.path.expanduser("~/.cache"), "transferlint")
    import platformdirs

    return platformdirs.user_cache_dir("transferlint")


def folder(environment: Mapping[str, str]) -> str:
    """Where entries lie for this version."""
    return os.path.join(base_folder(environment), _stamp())


def unfit(where: str, paths: Iterable[str]) -> str:
    """Why the cache is not to be used when `paths` are checked, in words, "" where nothing speaks against it: whoever
    wrote what is checked, or another user, could have written it."""
    base = os.path.realpath(os.path.dirname(where))
    for path in map(os.path.realpath, paths):
        tree = repository(path) or path
        if os.path.join(base, "").startswith(os.path.join(tree, "")):
            return f"it lies in {tree}, which is checked"
    try:
        found = os.stat(base)
    except OSError:  # not there yet
        return ""
    if hasattr(os, "getuid") and found.st_uid not in (0, os.getuid()):
        return "it belongs to another user"
    return "everybody can write to it" if found.st_mode & stat.S_IWOTH else ""


def _stamp() -> str:
    """Changes whenever what makes programs does: Python, or a file of the front end. Its text counts, and not when it
    was written: the cache may have been brought to a machine on which all has just been installed."""
    made_by = hashlib.sha256(sys.version.encode())
    syntax = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "syntax")
    for path, _, names in sorted(os.walk(syntax)):
        for name in sorted(names):
            if name.endswith(".py"):
                with open(os.path.join(path, name), "rb") as file:
                    made_by.update(hashlib.sha256(file.read()).digest())
    return made_by.hexdigest()[:20]
