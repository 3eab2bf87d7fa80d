"""The run-time half as a program or a test uses it: see, limit and allow what crosses between host and device.

`with watch() as run:` counts, `with guard(d2h="forbid"):` refuses, `with allow("why"):` lets through what a guard
further out refuses, `step()` marks the end of a step, and `measure(function)` counts what one call moves. The names are
those of `runtime_check`, the folder in which this half lies. Importing this imports no torch; using it does.
"""

from __future__ import annotations

from runtime_check.guards import TransferForbidden, allow, guard, step
from runtime_check.measuring import Measured, measure
from runtime_check.watching import watch

__all__ = ["Measured", "TransferForbidden", "allow", "guard", "measure", "step", "watch"]
