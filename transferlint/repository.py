"""Where the git work tree is that a folder belongs to."""

import os


def repository(folder: str) -> "str | None":
    """The root of the git work tree that holds the absolute `folder`, or None outside of any."""
    while True:
        if os.path.exists(os.path.join(folder, ".git")):
            return folder
        above = os.path.dirname(folder)
        if above == folder:
            return None
        folder = above
