"""The frameworks beside torch as one index: which of them a name belongs to, and what is known of it."""

from __future__ import annotations

import functools

from transferlint.knowledge.api import Api
from transferlint.knowledge.cupy import CUPY
from transferlint.knowledge.framework import Framework, Tracer
from transferlint.knowledge.jax import JAX
from transferlint.knowledge.tensorflow import TENSORFLOW

FRAMEWORKS: tuple[Framework, ...] = (JAX, TENSORFLOW, CUPY)
ROOTS: dict[str, Framework] = {root: framework for framework in FRAMEWORKS for root in framework.roots}
UPDATES: frozenset[str] = frozenset().union(*(framework.updates for framework in FRAMEWORKS))
KEYS: frozenset[str] = frozenset().union(*(framework.keys for framework in FRAMEWORKS))
# Programs that build graphs first (TensorFlow 1) read nothing before a session runs.
_GRAPHS = ("tensorflow.compat.v1", "tensorflow.contrib")


@functools.lru_cache(maxsize=8192)
def known(name: str) -> tuple[Framework, str] | None:
    """The framework that a qualified name belongs to, and the name in its table's spelling; None for other names."""
    framework = ROOTS.get(name.partition(".")[0])
    if framework is None or name.startswith(_GRAPHS) or ".__" in name:
        return None
    for old, new in framework.renamed:
        if name.startswith(old):
            name = new + name[len(old) :]
    return framework, name


def row_of(framework: Framework, name: str) -> Api | None:
    """The row of a name in its table's spelling: its own, else that of the nearest name with ".*" above it."""
    rows = _rows(framework.name)
    found = rows.get(name)
    while found is None and name:
        name = name.rpartition(".")[0]
        found = rows.get(name + ".*")
    return found


def own_row(framework: Framework, name: str) -> Api | None:
    """The row that names just this."""
    return _rows(framework.name).get(name)


@functools.cache
def tracers() -> dict[str, Tracer]:
    """What traces functions, by its qualified name in the tables' spelling."""
    return {name: row for framework in FRAMEWORKS for row in framework.tracers for name in row.names}


@functools.cache
def _rows(framework: str) -> dict[str, Api]:
    chosen = next(one for one in FRAMEWORKS if one.name == framework)
    return {name: row for row in chosen.table for name in row.names}
