"""The parts that need no device: what headers and torch's tables say, the table of waits, the taking back."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

from simulated import in_fork, in_simulation

HEADER = """
// virtual void commented() = 0;
struct Interface {
  virtual ~Interface() = default;
  /* virtual int also_commented(); */
  virtual bool isBuilt() const {
    TORCH_CHECK(false, "not virtual at all");
  }
  virtual const Generator& getDefaultGenerator(
      [[maybe_unused]] DeviceIndex index = -1) const {}
  void plain();
  virtual std::map<int, long>* last(int) const = 0;
};
"""

TABLE = """
- func: both(Tensor self) -> Tensor
  dispatch:
    CPU, CUDA: both
  autogen: both.out

- func: host.only(Tensor self, int[] n=[]) -> Tensor
  variants: method
  device_check: NoCheck   # TensorIterator
  dispatch:
    CPU: host_only_cpu
    SparseCPU: host_only_sparse

- func: composed(Tensor self) -> Tensor
  dispatch:
    CompositeExplicitAutograd: composed
    CPU: faster

- func: delegated(Tensor self) -> Tensor
  structured_delegate: delegated.out
  dispatch:
    CPU: also

- func: without(Tensor self) -> Tensor
"""


def test_virtual_functions_are_numbered_as_the_abi_numbers_them(tmp_path: Path) -> None:
    from runtime_check.simulate.native_interface import slots

    path = tmp_path / "interface.h"
    path.write_text(HEADER)
    assert slots(path) == {"~Interface": 0, "isBuilt": 2, "getDefaultGenerator": 3, "last": 4}
    assert slots(tmp_path / "missing.h") == {}


def test_declarations_say_who_checks_places_and_what_cuda_lacks(tmp_path: Path) -> None:
    from runtime_check.simulate.declarations import read

    path = tmp_path / "torchgen/packaged/ATen/native/native_functions.yaml"
    path.parent.mkdir(parents=True)
    path.write_text(TABLE)
    found = read(tmp_path / "torch")
    assert {name for name, declared in found.items() if declared.host_only} == {"host.only"}
    assert {name for name, declared in found.items() if not declared.checks_places} == {"host.only"}
    assert found["both"].backends == ("CPU", "CUDA")
    assert read(tmp_path / "elsewhere/torch") == {}


def test_changes_are_taken_back_in_reverse() -> None:
    from runtime_check.simulate.changes import Changes

    order: list[int] = []
    owner = SimpleNamespace(kept=1)
    changes = Changes()
    changes.call(lambda: order.append(1))
    changes.attribute(owner, "kept", 2)
    changes.attribute(owner, "kept", 3)
    changes.attribute(owner, "new", 4)
    changes.call(lambda: order.append(2))
    assert vars(owner) == {"kept": 3, "new": 4}
    changes.undo()
    assert vars(owner) == {"kept": 1}
    assert order == [2, 1]
    changes.undo()
    assert order == [2, 1]


@in_fork
def test_signatures_say_what_is_written_and_returned() -> None:
    from runtime_check.simulate.internals import operator
    from runtime_check.simulate.signature import Kind, signature

    add = signature(operator("add_.Tensor"))
    assert (add.name, add.full, add.returned, add.written, add.resizes) == ("add_", "add_.Tensor", (0,), (0,), False)
    assert add.kinds == (Kind.TENSOR, Kind.TENSOR, Kind.OTHER)
    out = signature(operator("sort.values"))
    assert (out.returned, out.written, out.resizes) == ((3, 4), (3, 4), True)
    index = signature(operator("index.Tensor"))
    assert (index.kinds, index.returned) == ((Kind.TENSOR, Kind.TENSORS), (None,))
    assert signature(operator("randperm.generator")).kind_of["generator"] == Kind.GENERATOR


@in_fork
def test_every_row_of_the_table_of_waits_names_operators_and_a_source() -> None:
    from runtime_check.simulate import syncs
    from runtime_check.simulate.internals import aten

    named = [operator for row in syncs.TABLE for operator in row.operators]
    assert len(named) == len(set(named))
    for row in syncs.TABLE:
        assert ":" in row.source or "thrust" in row.source
        for operator in row.operators:
            if "::" in operator:
                namespace, _, name = operator.partition("::")
                assert syncs.rule(name, f"{name}.out", namespace) is row.waits
                assert syncs.rule(name, name) is None
                continue
            assert hasattr(aten, operator.partition(".")[0])
            assert syncs.rule(operator.partition(".")[0], operator) is row.waits
    assert syncs.rule("add", "add.Tensor") is None
    assert syncs.rule("normal", "normal.float_float") is None
    assert syncs.rule("nonzero", "nonzero.out") is not None


@in_simulation
def test_kernels_of_libraries_that_are_loaded_later_are_replaced() -> None:
    import torch

    from runtime_check.simulate import cuda_wheel
    from runtime_check.simulate.changes import Changes

    libraries, replaced = [], []

    def load_library(_: object, name: str) -> str:
        library = torch.library.Library("loaded_late", "FRAGMENT")
        library.define(f"{name}(Tensor x) -> Tensor")
        libraries.append(library)
        return name

    changes = Changes()
    changes.attribute(type(torch.ops), "load_library", load_library)
    cuda_wheel.after_loading(changes, lambda: replaced.append(len(libraries)))
    assert torch.ops.load_library("one") == "one"
    assert replaced == [1]
    import _decimal  # an extension module, or imported already: without operators

    assert _decimal
    assert replaced == [1]
    torch.ops.load_library("two")
    assert replaced == [1, 2]
    changes.undo()


@in_simulation
def test_numbers_take_the_place_of_tensors_where_cuda_takes_them() -> None:
    import torch

    x = torch.tensor([1.5, -2.5])
    for call in (
        lambda one: one.fmod(1),
        lambda one: torch.fmod(one, 1.0),
        lambda one: one.clone().fmod_(2),
        lambda one: one % 2,
        lambda one: one.double().fmod(1.0),
        lambda one: torch.floor_divide(one, 2),
        lambda one: torch.sub(one, 1, alpha=2),
    ):
        assert torch.equal(call(x.cuda()).cpu(), call(x))


@in_simulation
def test_waits_that_no_operator_shows_are_reported() -> None:
    import torch

    from runtime_check import simulate

    seen: list[tuple[str, int]] = []
    simulation = simulate.start()
    simulation.on_sync(lambda operation, size: seen.append((operation, size)))
    x = torch.tensor([3.0, 0.0, 1.0], device="cuda")
    x.nonzero()
    x[x > 0]
    torch.masked_select(x, x > 0)
    x.unique_consecutive(dim=0)
    (x > 0).unique()
    x + 1
    assert seen == [
        ("aten::nonzero", 4),
        ("aten::index", 4),
        ("aten::masked_select", 4),
        ("aten::unique_consecutive", 8),
        ("aten::_unique2", 4),
    ]
    simulation.on_sync(None)
    x.nonzero()
    assert len(seen) == 5
