"""`torch.cuda.CUDAGraph` and what stands around it; `torch.cuda.graph` and `make_graphed_callables` are torch's own."""

from __future__ import annotations

import itertools
from typing import Any

from runtime_check.simulate.captures import Captures, Recording
from runtime_check.simulate.changes import Changes
from runtime_check.simulate.internals import C, torch

POOLS = itertools.count(1)


def install(changes: Changes, captures: Captures) -> None:
    """Replace the class, and the questions whether something is captured."""

    class CUDAGraph:
        """`torch.cuda.CUDAGraph`: its kernels run on the host."""

        def __init__(self, keep_graph: bool = False) -> None:
            self._recording: Recording | None = None
            self._pool = graph_pool_handle()

        def capture_begin(self, pool: Any = None, capture_error_mode: str = "global", **_options: Any) -> None:
            """Start to write down. Raises RuntimeError while another graph is captured."""
            self._pool = pool or self._pool
            self._recording = captures.begin()

        def capture_end(self) -> None:
            """Stop writing down."""
            captures.end()

        def replay(self) -> None:
            """Run what was captured again. Raises RuntimeError where nothing was."""
            if self._recording is None:
                raise RuntimeError("Called CUDAGraph::replay without a preceding successful capture.")
            self._recording.replay()

        def reset(self) -> None:
            """Forget it."""
            self._recording = None

        def pool(self) -> tuple[int, int]:
            """The handle of its memory."""
            return self._pool

        def instantiate(self) -> None:
            """There is nothing to build."""

        def enable_debug_mode(self) -> None:
            """There is nothing to show."""

        def debug_dump(self, debug_path: str) -> None:
            """There is nothing to show."""

    def capturing() -> bool:
        return captures.current is not None

    CUDAGraph.__module__, CUDAGraph.__qualname__ = "torch.cuda.graphs", "CUDAGraph"
    for module in (torch.cuda, torch.cuda.graphs):
        changes.attribute(module, "CUDAGraph", CUDAGraph)
        changes.attribute(module, "graph_pool_handle", graph_pool_handle)
        changes.attribute(module, "is_current_stream_capturing", capturing)
    if not hasattr(C, "_host_emptyCache"):
        changes.attribute(C, "_host_emptyCache", lambda: None)


def graph_pool_handle() -> tuple[int, int]:
    """`torch.cuda.graph_pool_handle`."""
    return 0, next(POOLS)
