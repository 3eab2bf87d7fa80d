"""The run-time half as a program or a test uses it: see, limit and allow what crosses between host and device.

`with watch() as run:` counts, `with guard("disallow"):` refuses, `with allow("why"):` lets through what a guard further
out refuses, `with record("folder"):` writes what `transferlint report` shows, `step()` marks the end of a step,
`measure(function)` counts what one call moves, `capturable(function)` tells what of it keeps a CUDA graph from being
captured, `Scalars(writer)` writes what each step moves to TensorBoard or Weights
& Biases, and `simulate()` starts a simulated accelerator where there is none. The modules `lightning`, `transformers`,
`accelerate` and `ignite` of this package hook into the frameworks of these names. Importing this imports no torch, and
none of them; using it does.
"""

from __future__ import annotations

from runtime_check.capturing import Capturability, Obstacle, capturable
from runtime_check.guards import TransferForbidden, allow, guard, step
from runtime_check.limits import TransferLimitExceeded
from runtime_check.measuring import Measured, measure
from runtime_check.recorded import record
from runtime_check.scalars import Scalars
from runtime_check.simulate import start as simulate
from runtime_check.watching import watch

__all__ = [
    "Capturability",
    "Measured",
    "Obstacle",
    "Scalars",
    "TransferForbidden",
    "TransferLimitExceeded",
    "allow",
    "capturable",
    "guard",
    "measure",
    "record",
    "simulate",
    "step",
    "watch",
]
