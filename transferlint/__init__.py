"""transferlint: find the host-device transfers and synchronisations that PyTorch programs make by accident."""

from __future__ import annotations

TYPE_CHECKING = False  # as typing has it, which takes longer to import than the version takes to show
if TYPE_CHECKING:
    from transferlint.api import SettingsError, check

__all__ = ["SettingsError", "check"]


def __getattr__(name: str) -> object:
    """The names of `__all__`, imported when they are used: the command line shows its version without them."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from transferlint import api

    return getattr(api, name)


def load_ipython_extension(shell: object) -> None:
    """What `%load_ext transferlint` calls: the magic `%%transfers` (transferlint/runtime/jupyter.py)."""
    from transferlint.runtime import jupyter

    jupyter.load(shell)
