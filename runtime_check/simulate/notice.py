"""What the simulator does otherwise than a GPU would, said once on standard error."""

from __future__ import annotations

import sys
from collections.abc import Callable


def once(text: str) -> Callable[[], None]:
    """A function that prints `text` the first time it is called."""
    said = False

    def say() -> None:
        nonlocal said
        if not said:
            said = True
            print(f"runtime_check: {text}", file=sys.stderr)

    return say
