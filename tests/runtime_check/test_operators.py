"""Operators that are called by `torch.ops`: what warns in them reaches Python, and nothing else changes."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator
from typing import Any

import pytest

from runtime_check.hooks import operators

torch: Any = pytest.importorskip("torch")


class _Warned:
    warned = True


class _Silent:
    warned = False


@contextlib.contextmanager
def installed(observer: Any) -> Iterator[None]:
    undo = operators.install(observer)
    try:
        yield
    finally:
        undo()


def warned(call: Any) -> list[str]:
    """What a call warns of; `add` warns where it has to resize what it writes to."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    return [str(one.message).partition(" was resized")[0] for one in caught]


def test_warnings_reach_python(capfd: pytest.CaptureFixture[str]) -> None:
    x = torch.ones(3)
    with installed(_Warned()):
        for add in (torch.ops.aten.add.out, torch.ops.aten.add):
            out = torch.ones(1)
            assert warned(lambda add=add, out=out: add(x, x, out=out)) == ["An output with one or more elements"]
            assert out.tolist() == [2.0] * 3
    assert capfd.readouterr().err == ""


def test_nothing_is_replaced_where_torch_warns_of_nothing() -> None:
    before = torch._ops.OpOverload.__call__, torch._ops.OpOverloadPacket.__call__
    with installed(_Silent()):
        assert (torch._ops.OpOverload.__call__, torch._ops.OpOverloadPacket.__call__) == before
    with installed(_Warned()):
        assert torch._ops.OpOverload.__call__ is not before[0]
    assert (torch._ops.OpOverload.__call__, torch._ops.OpOverloadPacket.__call__) == before


def test_results_gradients_and_errors_are_the_operators() -> None:
    x = torch.ones(3, requires_grad=True)
    with installed(_Warned()):
        torch.ops.aten.mul.Tensor(x, 2.0).sum().backward()
        assert x.grad.tolist() == [2.0] * 3
        with torch.inference_mode():
            assert torch.ops.aten.mul.Tensor(x, 2.0).is_inference()
        with pytest.raises(RuntimeError, match="must match the size"):
            torch.ops.aten.add.Tensor(torch.ones(3), torch.ones(2))


def test_modes_are_told_of_the_operator_alone() -> None:
    seen: list[str] = []

    class Functions(torch.overrides.TorchFunctionMode):  # type: ignore[misc]
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            seen.append(func.__name__)
            return func(*args, **(kwargs or {}))

    class Dispatched(torch.utils._python_dispatch.TorchDispatchMode):  # type: ignore[misc]
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            seen.append(str(func))
            return func(*args, **(kwargs or {}))

    x = torch.ones(3)
    with installed(_Warned()):
        with Functions():
            torch.ops.aten.add.Tensor(x, x)
        with Dispatched():
            torch.ops.aten.add.Tensor(x, x)
    assert seen == ["add.Tensor", "aten.add.Tensor"]


def test_what_traces_and_transforms_goes_by_the_operator() -> None:
    from torch.fx.experimental.proxy_tensor import make_fx

    def doubled(x: Any) -> Any:
        return torch.ops.aten.add.Tensor(x, x)

    with installed(_Warned()):
        traced = make_fx(doubled)(torch.ones(2)).graph
        assert [node.op for node in traced.nodes] == ["placeholder", "call_function", "output"]
        assert torch.vmap(doubled)(torch.ones(3, 2)).shape == (3, 2)
        assert torch.func.grad(lambda x: doubled(x).sum())(torch.ones(2)).tolist() == [2.0, 2.0]
        assert torch.compile(doubled, backend="eager", fullgraph=True)(torch.ones(2)).tolist() == [2.0, 2.0]
