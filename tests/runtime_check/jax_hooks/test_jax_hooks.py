"""What the hooks in JAX make events of, held against a stand-in for JAX: its own classes are tested where it is
installed (test_jax_programs.py)."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from runtime_check import jax_hooks
from runtime_check.events import Event
from runtime_check.guards import TransferForbidden
from runtime_check.jax_hooks import buffers
from runtime_check.jax_hooks.memory import Read, Serials, memory_of
from runtime_check.jax_hooks.names import operation_of
from runtime_check.jax_hooks.tap import Tap

STAND_IN = Path(__file__).parent / "site-packages"
GPU = SimpleNamespace(platform="gpu", device_kind="a device")
np = pytest.importorskip("numpy")


@pytest.fixture
def jax(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The stand-in, imported afresh."""
    kept = {name: module for name, module in sys.modules.items() if name.partition(".")[0] in ("jax", "jaxlib")}
    for name in kept:
        del sys.modules[name]
    monkeypatch.syspath_prepend(str(STAND_IN))
    yield importlib.import_module("jax")
    for name in [name for name in sys.modules if name.partition(".")[0] == "jax"]:
        del sys.modules[name]
    sys.modules.update(kept)


class Hooked:
    """Hooks with what they told."""

    def __init__(self, guarded: bool = False) -> None:
        self.events: list[Event] = []
        self.platforms: list[tuple[str, str]] = []
        self.tap = Tap(guarded, lambda *seen: self.platforms.append(seen))
        self.tap.listeners = (self.events.append,)
        self.undo = jax_hooks.install(self.tap)

    def told(self) -> list[tuple[str, str, int]]:
        """Direction, operation and bytes of what came since this was last asked."""
        found = [(one.direction.value, one.operation, one.bytes) for one in self.events]
        assert {one.frames[one.user].path for one in self.events} <= {__file__}
        self.events.clear()
        return found


@pytest.fixture
def hooked(jax: ModuleType) -> Iterator[Hooked]:
    made = Hooked()
    yield made
    made.undo()


def test_a_read_is_told_once_and_by_the_name_that_the_program_used(jax: Any, hooked: Hooked) -> None:
    array = jax.Array([1.0, 2.0])
    assert list(np.asarray(array)) == [1.0, 2.0]
    (event,) = hooked.events
    assert (event.sync, event.timed, event.blocked, event.framework) == (True, False, 0, "jax")
    assert hooked.told() == [("d2h", "jax.Array.__array__", 16)]
    np.asarray(array)
    float(jax.Array(1.0))
    if jax.Array(0.0):
        pytest.fail("it is false")
    assert hooked.told() == [("d2h", "jax.Array.__float__", 8), ("d2h", "jax.Array.__bool__", 8)]
    assert hooked.platforms == [("cpu", "cpu")]


def test_arrays_that_are_fetched_at_once_are_one_call(jax: Any, hooked: Hooked) -> None:
    jax.device_get([jax.Array(1.0), jax.Array(2.0)])
    numbers = [event.call for event in hooked.events]
    assert hooked.told() == [("d2h", "jax.device_get", 8)] * 2
    assert numbers[0] == numbers[1] != 0
    jax.device_get([jax.Array(1.0)])
    assert hooked.events[0].call not in (0, numbers[0])


def test_what_lies_on_an_accelerator_is_timed(jax: Any, hooked: Hooked) -> None:
    jax.Array([1.0], GPU).block_until_ready()
    float(jax.Array(1.0, GPU))
    assert [event.timed for event in hooked.events] == [True, True]
    assert all(event.blocked > 0 for event in hooked.events)
    assert hooked.told() == [("none", "jax.Array.block_until_ready", 0), ("d2h", "jax.Array.__float__", 8)]
    pinned = jax.Array(1.0, GPU)
    pinned.sharding = SimpleNamespace(memory_kind="pinned_host")
    float(pinned)
    assert hooked.told() == []


def test_host_data_among_arguments_goes_up(jax: Any, hooked: Hooked) -> None:
    step = jax.jit(lambda x, rest, scale=1.0: x + rest["y"] * scale)
    data = np.ones(4, np.float32)
    made = step(data, {"y": data}, scale=2.0)
    assert hooked.told() == [("h2d", "jax.jit", 16)] * 2
    step(made, {"y": 1.0})
    assert hooked.told() == []
    jax.numpy.asarray(data)
    jax.device_put(data)
    jax.numpy.asarray(np.float64(1.0))
    step(np.float64(1.0), {"y": 1.0})
    assert hooked.told() == [
        ("h2d", "jax.numpy.asarray", 16),
        ("h2d", "jax.device_put", 16),
        ("h2d", "jax.numpy.asarray", 8),
    ]


def test_what_a_call_does_inside_is_part_of_it_and_what_is_traced_does_not_run(jax: Any, hooked: Hooked) -> None:
    data = np.ones(4, np.float32)
    inner = jax.jit(lambda x: x)
    outer = jax.jit(lambda x: np.asarray(inner(data)) + x)
    outer(1.0)
    assert hooked.told() == []
    traced = jax.jit(lambda x, y: np.asarray(inner(data)))
    traced(jax.core.Tracer(), data)  # its own arguments are not there yet; what it runs is
    assert hooked.told() == [("h2d", "jax.jit", 16), ("d2h", "jax.Array.__array__", 16)]


def test_between_devices(jax: Any, hooked: Hooked) -> None:
    jax.device_put(jax.Array([1.0]), GPU)
    assert hooked.told() == [("d2d", "jax.device_put", 8)]
    jax.device_put(jax.Array([1.0], GPU), GPU)
    assert hooked.told() == []


def test_calls_of_the_host_are_told_where_they_were_asked_for(jax: Any, hooked: Hooked) -> None:
    seen = []
    jax.debug.callback(lambda x: seen.append(float(x)), jax.Array(1.0))
    assert seen == [1.0]
    assert hooked.told() == [("d2h", "jax.debug.callback", 8)]
    assert jax.pure_callback(lambda x: np.float64(2.0), None, jax.Array(1.0)) == 2.0
    assert hooked.told() == [("d2h", "jax.pure_callback", 8), ("h2d", "jax.pure_callback", 8)]
    jax.debug.print("{}", jax.Array(1.0))
    (event,) = hooked.events
    assert event.frames[0].line == sys._getframe().f_lineno - 2
    assert hooked.told() == [("d2h", "jax.debug.print", 8)]


def test_nothing_is_left_behind(jax: Any) -> None:
    array, pxla = (importlib.import_module(f"jax._src.{name}") for name in ("array", "interpreters.pxla"))
    function = type(jax.jit(lambda x: x))
    before = [array.ArrayImpl._value, array.ArrayImpl.block_until_ready, pxla.batched_device_put, function.__call__]
    before += [jax.device_get, jax.debug.print, jax.pure_callback, jax.block_until_ready, function.__flags__]
    hooked = Hooked()
    assert array.ArrayImpl._value is not before[0]
    jax.jit(lambda x: x)
    hooked.undo()
    after = [array.ArrayImpl._value, array.ArrayImpl.block_until_ready, pxla.batched_device_put, function.__call__]
    after += [jax.device_get, jax.debug.print, jax.pure_callback, jax.block_until_ready, function.__flags__]
    assert after == before
    assert jax.monitoring._listeners == []
    assert (hooked.tap.compilations, hooked.tap.compiling) == (1, 0.25)


@pytest.mark.parametrize("lacking", ["ArrayImpl._value", "pxla.batched_device_put", "jax._src.array.ArrayImpl"])
def test_a_version_without_a_place_is_refused_and_left_alone(jax: Any, lacking: str) -> None:
    owner = importlib.import_module("jax._src.interpreters.pxla" if "pxla" in lacking else "jax._src.array")
    if lacking == "ArrayImpl._value":
        owner = owner.ArrayImpl
    delattr(owner, lacking.rpartition(".")[2])
    get = jax.device_get
    with pytest.raises(jax_hooks.Unsupported, match=rf"^jax 0\.10\.0 lacks {lacking}, by which .*$"):
        jax_hooks.install(Tap())
    assert jax.device_get is get


@pytest.mark.parametrize("policy", ["log", "disallow", "log_explicit", "disallow_explicit"])
def test_on_the_cpu_the_policy_for_reads_is_held_here(jax: Any, policy: str, caplog: pytest.LogCaptureFixture) -> None:
    hooked = Hooked(guarded=True)
    try:
        jax.config.update("jax_transfer_guard", policy)
        named = policy.endswith("_explicit")
        if policy.startswith("disallow"):
            with pytest.raises(TransferForbidden, match=rf"8 bytes: float\(.*refused by --guard {policy}"):
                float(jax.Array(1.0))
            if named:
                with pytest.raises(TransferForbidden):
                    jax.device_get(jax.Array(1.0))
            jax.debug.print("{}", jax.Array(1.0))  # no policy of JAX's is about calls of the host
            assert hooked.told() == [("d2h", "jax.debug.print", 8)]
        else:
            for _ in range(2):
                float(jax.Array(1.0))
            jax.device_get(jax.Array(1.0))
            assert [message for message in caplog.messages if "float(" in message] == caplog.messages[:1]
            assert len(caplog.messages) == 1 + named
        jax.config.update("jax_transfer_guard", "allow")
        float(jax.Array(1.0))
    finally:
        hooked.undo()


def test_reads_by_the_buffer_protocol(jax: Any) -> None:
    class Array(bytearray):
        nbytes = 3
        sharding = SimpleNamespace(memory_kind="device")

        def devices(self) -> list[Any]:
            return [SimpleNamespace(platform="cpu", device_kind="cpu")]

    hooked = Hooked()
    undo = buffers.install(hooked.tap, Array)
    try:
        array = Array(b"abc")
        assert bytes(memoryview(array)) == b"abc"
        assert np.frombuffer(array, np.uint8)[1] == ord("b")
        assert hooked.told() == [("d2h", "jax.Array.__array__", 3)]
    finally:
        undo()
    assert bytes(memoryview(Array(b"abc"))) == b"abc"
    assert hooked.told() == []
    hooked.undo()


@pytest.mark.parametrize(
    ("module", "name", "operation"),
    [
        ("jax._src.array", "ArrayImpl.__float__", "jax.Array.__float__"),
        ("jax._src.numpy.array_methods", "_item", "jax.Array.item"),
        ("jax._src.numpy.array_methods", "_operator_add", "jax.Array.__add__"),
        ("jax._src.numpy.array_constructors", "asarray", "jax.numpy.asarray"),
        ("jax._src.numpy.scalar_types", "_ScalarMeta.__call__", "jax.numpy.scalar"),
        ("jax._src.numpy.ufunc_api", "ufunc.__call__", "jax.numpy.ufunc"),
        ("jax._src.lax.slicing", "slice", "jax.lax.slice"),
        ("jax._src.random.core", "PRNGKey", "jax.random.PRNGKey"),
        ("jax._src.api", "device_get", "jax.device_get"),
        ("jax._src.numpyro", "f", "jax.f"),
    ],
)
def test_operations_have_the_names_that_programs_use(module: str, name: str, operation: str) -> None:
    assert operation_of(module, name) == operation


def test_of_64_bits_32_go_up(jax: Any, hooked: Hooked) -> None:
    step = jax.jit(lambda *x: x[0])
    jax.config.jax_enable_x64 = False
    step(np.ones(3), np.ones(3, np.int64), np.ones(3, complex), np.ones(3, np.int8), np.ones(3, np.float32))
    assert [size for _, _, size in hooked.told()] == [12, 12, 24, 3, 12]
    jax.config.jax_enable_x64 = True
    step(np.ones(3))
    assert hooked.told() == [("h2d", "jax.jit", 24)]


def test_memory_is_known_while_it_lives() -> None:
    serials = Serials()
    data = np.arange(12, dtype=np.float32).reshape(3, 4)
    first, view = memory_of(serials, data), memory_of(serials, data.T)
    assert first is not None
    assert view is not None
    assert first.serial == view.serial < 0
    assert (first.shape, first.stride, first.dtype, first.bytes) == ((3, 4), (4, 1), "float32", 48)
    assert (view.shape, view.stride) == ((4, 3), (1, 4))
    assert memory_of(serials, data.copy()).checksum == first.checksum  # type: ignore[union-attr]
    assert memory_of(serials, np.float32(1)) is None
    assert memory_of(serials, np.array([None])) is None
    read = Read()
    one = data[:1]
    read.add(one)
    assert one in read
    assert SimpleNamespace(_npy_value=data) in read
    assert data not in read
