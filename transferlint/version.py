"""Which version is installed."""

from __future__ import annotations

import os
import sys


def version() -> str:
    """The installed version, "0" where the package is used without being installed.

    It is in the name of the folder that an installer leaves beside the package (packaging.python.org, "Recording
    installed projects"); `importlib.metadata`, which takes longer than all else, knows what is installed otherwise."""
    for folder in sys.path:
        try:
            names = os.listdir(folder or os.curdir)
        except OSError:
            continue
        for name in names:
            if name.startswith("transferlint-") and name.endswith(".dist-info"):
                return name[len("transferlint-") : -len(".dist-info")]
    from importlib import metadata

    try:
        return metadata.version("transferlint")
    except metadata.PackageNotFoundError:
        return "0"
