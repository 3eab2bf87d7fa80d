"""The shape of a row of knowledge, and what an effect means."""

from __future__ import annotations

import dataclasses
import enum


class Effect(enum.Enum):
    """What calling an API does. "Operands" are its tensor arguments and, for a method, its receiver."""

    FILL = "makes a tensor on `device=` (default device without), computed there"
    DATA = "makes a tensor on `device=` from host data: an upload where that is the device"
    LIKE = "makes a tensor where its first operand is, unless `device=` says otherwise"
    NEW = "a method that makes a tensor from host data where its receiver is: an upload on a device receiver"
    ARRAY = "wraps a numpy array as a host tensor"
    KEEP = "computes where its operands are"
    KEEP_BOOLEAN = "computes a mask of booleans where its operands are"
    REDUCE = "computes a 0-d tensor where its operands are when called without a dimension"
    SAME = "gives its first operand back, changed in place or viewed"
    HOST = "gives a host value without touching the data"
    NOTHING = "gives nothing of interest, moves nothing"
    SCALAR = "reads a device operand as Python numbers: a download and a sync"
    COPY = "copies a device operand to the host: a download and a sync"
    NUMPY = "views a host tensor as a numpy array; raises on a device tensor"
    SHAPE = "the size of the result depends on the data: a sync on a device operand"
    TRUTH = "compares data and gives a Python bool: a sync on a device operand"
    MOVE = "moves its receiver to the place that its argument names"
    CUDA = "moves its receiver to the device"
    PIN = "copies its receiver to pinned host memory"
    COPY_INTO = "copies its argument into its receiver, across places where they differ"
    SYNCHRONIZE = "the host waits for the device"
    BACKWARD = "runs the backward pass; moves nothing"
    MODULE = "makes a module, its parameters on `device=` (host without)"
    OPTIMIZER = "makes an optimizer"
    LOADER = "makes a loader of host batches"
    ITERATE = "reads data or makes containers from its operands"
    NAME_DEVICE = "names a place"
    ARRAY_MAKER = "makes or computes a numpy array on the host"


@dataclasses.dataclass(frozen=True, slots=True)
class Api:
    """Qualified names with one effect. Methods are written `Tensor.name`, `Module.name`.

    `source` is the documentation the claim rests on; "measured" rows carry the conformance table they come from.
    """

    names: tuple[str, ...]
    effect: Effect
    source: str


def index(*tables: tuple[Api, ...]) -> dict[str, Effect]:
    """Qualified name to effect over the tables; a later table wins."""
    return {name: row.effect for table in tables for row in table for name in row.names}
