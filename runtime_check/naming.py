"""A transfer in words, and whether the source names it."""

from __future__ import annotations

import ast
import linecache
import os
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from runtime_check.events import Frame
from transferlint.model import Direction

if TYPE_CHECKING:
    from runtime_check.hooks.frames import Place

_NAMES = frozenset(
    "item tolist numpy cpu cuda xpu to copy_ tensor as_tensor asarray new_tensor load load_state_dict".split()
)
_CALL = re.compile(r"\b(" + "|".join(sorted(_NAMES)) + r")\s*\(")
_WAYS = {
    Direction.H2D: "host-to-device transfer",
    Direction.D2H: "device-to-host transfer",
    Direction.D2D: "device-to-device transfer",
    Direction.NONE: "wait for the device",
}


def explicit(operation: str, frames: Sequence[Frame]) -> bool:
    """Whether the line outside torch names what happens: `.item()`, `.to()`, `.cpu()`, `synchronize()`. What it
    implies (`if t:`, `x[mask]`, `print(t)`, `float(t)`) is not explicit. Where Python tells no columns (3.10), any
    such call on the line counts."""
    if operation.startswith("torch."):
        return True
    if operation not in ("aten::copy_", "aten::_local_scalar_dense") or not frames:
        return False
    text = source(frames[0])
    if not frames[0].column:
        return _CALL.search(text) is not None
    try:
        node = ast.parse(f"({text}\n)", mode="eval").body
    except (SyntaxError, ValueError):  # not an expression: an assignment to an item
        return False
    if not isinstance(node, ast.Call):
        return False
    function = node.func
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    return name in _NAMES


def sentence(direction: Direction, operation: str, size: int, place: Place) -> str:
    """One line that says where and what: `train.py:42: device-to-host transfer of 4 bytes: loss.item()`."""
    path, line = where(place)
    frames = place.frames
    text = source(frames[place.user]) if frames else operation
    short = " ".join(text.split())
    moved = f" of {size} byte{'s' * (size != 1)}" if size and direction is not Direction.NONE else ""
    inner = frames[0] if place.user else None
    by = f" (in {os.path.basename(inner.path)}:{inner.line})" if inner is not None else ""
    return f"{shown(path)}:{line}: {_WAYS[direction]}{moved}: {short[:100] or operation}{by}"


def where(place: Place) -> tuple[str, int]:
    """The user's own line, as path and number; ("(no Python frame)", 0) where there is none."""
    if not place.frames:
        return "(no Python frame)", 0
    frame = place.frames[place.user]
    return frame.path, frame.line


def source(frame: Frame) -> str:
    """The text of the expression that a frame is at; of its line where the columns are not known, "" where the file
    cannot be read."""
    lines = [linecache.getline(frame.path, line) for line in range(frame.line, (frame.end_line or frame.line) + 1)]
    if not frame.column or not all(lines):
        return "".join(lines).strip()
    lines[-1] = lines[-1][: frame.end_column - 1]
    lines[0] = lines[0][frame.column - 1 :]
    return "".join(lines)


def shown(path: str) -> str:
    """A path as a person reads it: from the folder they are in, where it lies there."""
    if not os.path.isabs(path):
        return path
    try:
        short = os.path.relpath(path)
    except ValueError:  # another drive
        return path
    return path if short.startswith("..") else short


def in_library(path: str) -> str:
    """A path from the folder that packages are installed in ("lightning/pytorch/trainer.py"), where it lies in one."""
    folders = path.replace("\\", "/")
    for name in ("/site-packages/", "/dist-packages/"):
        if name in folders:
            return folders.rpartition(name)[2]
    return shown(path)
