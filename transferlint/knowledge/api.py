"""The shape of a row of knowledge, and what an effect means."""

from __future__ import annotations

import enum
from collections.abc import Collection, Iterable

from transferlint import late
from transferlint.model import Level


class Effect(enum.Enum):
    """What calling an API does. "Operands" are its tensor arguments, those in containers too, and, for a method, its
    receiver."""

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
    OBJECT = "makes an object; rows of its class name what its methods do"
    WRAP = "gives its first operand back in another guise: what iterates over it gets the same elements"
    PREPARE = "gives its operands back on the device: modules moved, loaders that yield batches there"
    SEND = "gives its first operand back at the place that another argument names (the device without)"
    VALIDATES = "makes an object of its operands and checks them, but with validate_args=False: a sync for device ones"
    VALIDATES_NOT = "with False, turns such checks off"
    ASKS = "computes where its object and operands are and looks at their data first: a sync on a device operand"
    DRAWS = "gives a tensor where its object's operands are"
    CHECK = "computes where its operands are and asks for the truth of the result: a sync on a device operand"
    COPIES_OPERAND = "computes where its operands are after it has copied one to the host: a download and a sync"
    READS_ARGUMENTS = "reads its operands as host values at once: a download and a sync for each device operand"
    FORMATS_ARGUMENTS = "puts its operands into words at once: a download and a sync for each device operand"
    READS_STATE = "reads a number of its object's own from the device: a download and a sync, whatever its operands"
    COLLECTIVE = "works on its tensors in place across processes, queued; NCCL takes device tensors alone"
    EXCHANGES_OBJECTS = "pickles its operands and, under NCCL, sends them through the device: uploads, downloads, syncs"
    DEVICE_TENSOR = "gives a tensor on the device"
    HOST_DATA = "gives data on the host (numbers, arrays, tensors) and moves nothing"
    TREE = "gives a tree of tensors where the tensors in its operands are"
    CALLBACK = "calls Python on the host from compiled code: a download, a wait, and an upload of what comes back"


@late.dataclass(frozen=True, slots=True)
class Api:
    """Qualified names with one effect.

    A method is written with its class ("torch.amp.GradScaler.step"; methods of tensors and modules "Tensor.item",
    "Module.to"). A name that ends in ".*" stands for all names below it that no row names.

    `when` and `unless` are arguments that decide: the effect holds only where one of `when` is given (and not False
    or None), and not where all of `unless` are given; else the effect is `otherwise`. `avoidable` is False for a wait
    that whoever calls it can do little or nothing about: known, and no finding, or only a possible one. `source` is the
    documentation the claim rests on, by page; "source:" cites the library's own code where its pages are silent.
    `checks` is the argument (keyword, position) that CHECK or COPIES_OPERAND is about, if not all; `instead` says what
    does not wait. `example` is a call of one of the names, of a framework beside torch, which a test runs.
    """

    names: tuple[str, ...]
    effect: Effect
    source: str
    when: tuple[str, ...] = ()
    unless: tuple[str, ...] = ()
    otherwise: Effect = Effect.KEEP
    avoidable: bool = True
    checks: tuple[str, int] | None = None
    instead: str = ""
    example: str = ""

    def of(self, given: Collection[str]) -> Effect:
        """The effect of a call with these arguments given and neither False nor None."""
        if self.when and not any(name in given for name in self.when):
            return self.otherwise
        if self.unless and all(name in given for name in self.unless):
            return self.otherwise
        return self.effect


@late.dataclass(frozen=True, slots=True)
class Hook:
    """Methods that a library calls, and how often: `names` are qualified ("lightning.pytorch.Callback.on_fit_end").

    `anywhere` says that the method's own name is enough to know it, whatever class defines it.
    """

    names: tuple[str, ...]
    level: Level
    source: str
    anywhere: bool = True


@late.dataclass(frozen=True, slots=True)
class Callback:
    """A function that is passed to `callee` as the argument `argument` (by keyword, or by its 0-based `position`, -1
    for keyword only) runs as often as `level` says."""

    callee: str
    argument: str
    position: int
    level: Level
    source: str


def index(*tables: tuple[Api, ...]) -> dict[str, Effect]:
    """Qualified name to effect over the tables; a later table wins."""
    return {name: row.effect for table in tables for row in table for name in row.names}


def named(prefix: str, names: str) -> tuple[str, ...]:
    """`prefix` before each of the names, which blanks part."""
    return tuple(prefix + name for name in names.split())


def methods(classes: Iterable[str], names: str) -> tuple[str, ...]:
    """Every one of the names, which blanks part, as a method of every class."""
    return tuple(f"{owner}.{name}" for owner in classes for name in names.split())
