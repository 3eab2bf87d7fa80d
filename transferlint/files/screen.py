"""Which files are worth analysing at all, decided on their bytes."""

from __future__ import annotations

import os

# Lower-case; a file with none of them has no way to name a tensor, a module or a move. `.to(`, `.item(` and the like
# stand for code that gets its tensors as arguments and never says what they are.
TOKENS = (
    b"torch", b"jax", b"cupy", b"keras", b"flax",
    b"tensor", b"cuda", b"lightning", b"accelerat", b"nn.module", b"device",
    b".cpu(", b".item(", b".to(", b".numpy(", b".detach(",
)  # fmt: skip

_COOKIE_REACH = 400
_PACKAGE = "__init__.py"


def is_package(path: str) -> bool:
    """Whether a file is a package's own: names lead through it, whatever it holds."""
    return os.path.basename(path) == _PACKAGE


def worth_analysing(data: bytes) -> bool:
    """Whether the bytes of a file hold a token that could create, move or read a tensor.

    A file that declares an encoding of its own is always worth it: its bytes need not spell what its text says.
    """
    lowered = data.lower()
    return any(token in lowered for token in TOKENS) or b"coding" in lowered[:_COOKIE_REACH]
