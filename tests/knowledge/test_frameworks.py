"""The tables of frameworks beside torch: every name exists, and every row's example does what its effect says."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
from collections.abc import Iterator
from typing import Any

import pytest

from transferlint.flow.lattice.values import framework_flag, framework_of
from transferlint.knowledge import frameworks
from transferlint.knowledge.api import Api, Effect
from transferlint.knowledge.cupy import CUPY
from transferlint.knowledge.framework import Framework
from transferlint.knowledge.jax import JAX
from transferlint.knowledge.tensorflow import TENSORFLOW

ROWS = [
    pytest.param(framework, row, id=f"{framework.name}-{row.names[0]}")
    for framework in frameworks.FRAMEWORKS
    for row in framework.table
]
# What gives an array of the framework, and what gives none.
MAKES = {Effect.FILL, Effect.DATA, Effect.SEND, Effect.KEEP, Effect.KEEP_BOOLEAN}
HOST = {Effect.HOST, Effect.SCALAR, Effect.NOTHING, Effect.MODULE, Effect.OPTIMIZER, Effect.LOADER}
INSTALLED = {"jax": JAX, "tensorflow": TENSORFLOW}


def installed(framework: Framework) -> None:
    for root in sorted({name.partition(".")[0] for row in framework.table for name in row.names}):
        if root not in ("flax", "optax", "tensorflow_datasets"):
            pytest.importorskip(root)


def resolve(name: str) -> Any:
    """What a qualified name stands for; raises AttributeError or ImportError where it is nothing."""
    root, _, rest = name.partition(".")
    found: Any = importlib.import_module(root)
    path = root
    for part in rest.split("."):
        path += "." + part
        found = getattr(found, part) if hasattr(found, part) else importlib.import_module(path)
    return found


def names(framework: Framework) -> Iterator[str]:
    for row in (*framework.table, *framework.tracers):
        for name in row.names:
            yield name.removesuffix(".*")


@pytest.mark.parametrize(("framework", "row"), ROWS)
def test_every_row_has_a_source_and_an_example_of_one_of_its_names(framework: Framework, row: Api) -> None:
    assert len(row.source) > 10
    assert "://" not in row.source
    assert row.example


@pytest.mark.parametrize("framework", frameworks.FRAMEWORKS, ids=lambda framework: framework.name)
def test_no_name_stands_twice(framework: Framework) -> None:
    every = [name for row in framework.table for name in row.names]
    assert sorted(every) == sorted(set(every))


@pytest.mark.parametrize("name", INSTALLED)
def test_most_names_exist_in_the_installed_release(name: str) -> None:
    """Names come and go with releases, and the table keeps the older ones: a tenth may be gone."""
    framework = INSTALLED[name]
    installed(framework)
    known = [one for one in names(framework) if importlib.util.find_spec(one.partition(".")[0]) is not None]
    gone = [one for one in known if not _exists(one)]
    assert len(gone) <= len(known) / 10, gone


def _exists(name: str) -> bool:
    try:
        resolve(name)
    except (AttributeError, ImportError):
        # An eager tensor's methods are those of a class that has no public name.
        return name.startswith(("tensorflow.Tensor.", "jax.Array."))
    return True


@pytest.mark.parametrize(("framework", "row"), [one for one in ROWS if one.values[0] is not CUPY])
def test_the_example_does_what_the_effect_says(framework: Framework, row: Api) -> None:
    installed(framework)
    numpy = pytest.importorskip("numpy")
    roots = {name: importlib.import_module(name) for name in framework.roots if importlib.util.find_spec(name)}
    if row.example.partition(".")[0] not in ("float", *roots):
        pytest.skip("the library of the example is not installed")
    given = eval(row.example, {"numpy": numpy, **roots})
    arrays = resolve("jax.Array") if framework is JAX else resolve("tensorflow.Tensor")
    variables = (arrays,) if framework is JAX else (arrays, resolve("tensorflow.Variable"))
    if row.effect in MAKES:
        assert isinstance(given, variables)
    elif row.effect in HOST:
        assert not isinstance(given, variables)
    elif row.effect in (Effect.SHAPE, Effect.TREE):
        held = given if isinstance(given, (tuple, list)) else [given]
        assert all(isinstance(one, variables) for one in held)
    if row.effect is Effect.COPY:
        on_host = getattr(given, "device", "").endswith("CPU:0") if isinstance(given, variables) else True
        assert isinstance(given, (numpy.ndarray, numpy.generic, *variables))
        assert on_host
    if row.effect is Effect.SCALAR:
        assert isinstance(given, (int, float))


def test_what_cupy_shares_with_numpy_is_spelled_as_numpy_spells_it() -> None:
    """CuPy cannot be imported without its device: what it says has numpy's meaning (docs.cupy.dev 'Comparison Table')
    is held against numpy."""
    numpy = pytest.importorskip("numpy")
    own = {"asnumpy", "extract", "from_dlpack", "fromDlpack", "get_array_module", "is_available", "RawKernel"}
    own |= {"RawModule", "ElementwiseKernel", "ReductionKernel", "fuse", "get_default_memory_pool"}
    own |= {"get_default_pinned_memory_pool", "cuda", "ndarray", "testing", "show_config"}
    shared = [name for one in names(CUPY) if (name := one.removeprefix("cupy.")).partition(".")[0] not in own]
    shared = [name for name in shared if not name.startswith("cupyx") and name != "cupy"]
    assert len(shared) > 30
    assert [name for name in shared if not hasattr(numpy, name.partition(".")[0])] == []
    methods = [one.removeprefix("cupy.ndarray.") for one in names(CUPY) if one.startswith("cupy.ndarray.")]
    assert [name for name in methods if not hasattr(numpy.ndarray, name) and name != "get"] == []
    assert "size" not in inspect.signature(numpy.nonzero).parameters


def test_names_are_known_by_every_spelling() -> None:
    assert frameworks.known("tensorflow.keras.Model") == (TENSORFLOW, "keras.Model")
    assert frameworks.known("tensorflow.compat.v2.constant") == (TENSORFLOW, "tensorflow.constant")
    assert frameworks.known("tensorflow.compat.v1.Session") is None
    assert frameworks.known("torch.zeros") is None
    assert frameworks.row_of(JAX, "jax.numpy.exp") is not None
    assert frameworks.row_of(JAX, "jax.unheard_of") is None


def test_each_framework_has_a_flag_of_its_own() -> None:
    flags = [framework_flag(framework.name) for framework in frameworks.FRAMEWORKS]
    assert len(set(flags)) == len(flags)
    assert 0 not in flags
    assert [framework_of(flag) for flag in flags] == list(frameworks.FRAMEWORKS)
    assert framework_of(0) is None
    assert framework_flag("torch") == 0
