"""What a hook saw: one transfer or sync, as plain numbers and names, before anything is summed or judged."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from transferlint.model import Direction


@dataclasses.dataclass(frozen=True, slots=True)
class Frame:
    """A line of a program. `path` is absolute; columns are 1-based and 0 where Python does not tell them (3.10)."""

    path: str
    line: int
    function: str
    column: int = 0
    end_line: int = 0
    end_column: int = 0


@dataclasses.dataclass(slots=True, unsafe_hash=True)  # never changed; see Event
class Memory:
    """One end of a transfer, for provenance: where its bytes lie and how they are laid out.

    `pointer` is the address of the first element, `storage` that of the storage it lies in and `storage_bytes` the
    storage's size; `shape`, `stride` (in elements) and `dtype` ("float32") describe the view. `version` counts the
    writes torch knows of (numpy's are not among them). `serial` is unique to a live storage object: addresses are used
    again after memory is freed. `checksum` is the CRC-32 of the content where it was taken, None where it was not.
    """

    pointer: int
    storage: int
    storage_bytes: int
    bytes: int
    shape: tuple[int, ...]
    stride: tuple[int, ...]
    dtype: str
    version: int = 0
    serial: int = 0
    checksum: int | None = None


# Of a copy from pageable memory to the device that is asked not to wait, the host copies into the driver's own memory.
# Up to STAGED bytes it does not wait for what was launched before (4 MiB did); up to COPIED_AT_ONCE that takes some
# 5 µs more than from pinned memory (H200, torch 2.11: benchmarks/results/costs.md).
STAGED = 2 << 20
COPIED_AT_ONCE = 64 << 10


@dataclasses.dataclass(slots=True, unsafe_hash=True)  # not frozen, which would make it six times as slow to make
class Event:
    """One transfer or sync; never changed once a listener has it.

    `direction` is NONE for a sync that moves no data the source asked for; `operation` is torch's name for what ran
    ("aten::copy_", "torch.cuda.synchronize"). `bytes` is what crossed; `started` and `blocked` are nanoseconds of
    `time.perf_counter_ns`, and how long the host was kept. `sync` says that the host waited for the device. `pinned`
    describes the host side of a copy, `dense` that of one that was asked not to wait. `frames` are the callers,
    innermost first: the first is the nearest frame outside torch, the rest, where this site was not seen before, the
    chain to the program; `user` is the index among them of the user's own nearest line. `backward` names the autograd
    node where one ran ("" elsewhere). `value` is the id of the Python object a read returned, or of the one that was
    sent (0: none), kept alive by whoever needs it. `call` numbers the call that moves many tensors in one go
    (`Module.to`, `torch.save`) and that this is part of (0: none). `inside` are torch's own frames below the nearest
    outside of it, innermost first, as they were when the place was first seen. `framework` is the one beside torch
    whose data it was ("jax"), "" for torch; `timed` says that `blocked` tells something: on a device that is the host
    itself it does not.
    """

    direction: Direction
    operation: str
    bytes: int
    started: int
    blocked: int
    sync: bool
    frames: tuple[Frame, ...]
    user: int = 0
    pinned: bool = False
    dense: bool = True
    non_blocking: bool = False
    thread: str = ""
    backward: str = ""
    source: Memory | None = None
    target: Memory | None = None
    value: int = 0
    call: int = 0
    inside: tuple[Frame, ...] = ()
    framework: str = ""
    timed: bool = True


Listener = Callable[[Event], None]
