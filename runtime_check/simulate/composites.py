"""Operators that C++ composes in one way on the CPU and in another on CUDA, with kernels that only CUDA has: recurrent
networks and attention. They run as one piece on the host, with the CPU's numbers, and autograd sees one node."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from runtime_check.simulate import places
from runtime_check.simulate.forge import Forge
from runtime_check.simulate.internals import Tensor, torch
from runtime_check.simulate.ordinals import index_among

RECURRENT = (
    *("lstm.input", "lstm.data", "gru.input", "gru.data", "lstm_cell", "gru_cell"),
    *("rnn_tanh.input", "rnn_tanh.data", "rnn_relu.input", "rnn_relu.data"),
)
ATTENTION = ("scaled_dot_product_attention",)


class OnHost(torch.autograd.Function):  # type: ignore[misc]
    """Runs a function of tensors over the host memory of its arguments; gradients are those of that run. It can not be
    differentiated twice."""

    @staticmethod
    def forward(ctx: Any, forge: Forge, function: Callable[..., Any], *tensors: Any) -> Any:
        inputs = [
            forge.host(one).detach().requires_grad_(one.requires_grad) if one.is_cuda else one.detach()
            for one in tensors
        ]
        results: list[Any] = []

        def compute() -> Any:
            with torch.enable_grad():
                result = function(*inputs)
            results[:] = (result,) if isinstance(result, Tensor) else tuple(result)
            return result

        result = compute()
        memory = [one.detach() for one in results]
        ctx.forge, ctx.inputs, ctx.results = forge, inputs, results
        ctx.numbers = [one.get_device() if one.is_cuda else 0 for one in tensors]
        if forge.captures.current is not None:
            forge.captures.current.note(lambda: _into(memory, (compute(), results)[1]), True)
        number = index_among(tensors)
        forged = tuple(forge.device(one, number) for one in memory)
        return forged[0] if isinstance(result, Tensor) else forged

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        wanted, results, captures = [one for one in ctx.inputs if one.requires_grad], ctx.results, ctx.forge.captures
        given = [
            (number, ctx.forge.host(gradient))
            for number, gradient in enumerate(gradients)
            if gradient is not None and results[number].requires_grad
        ]

        def compute() -> Any:
            with torch.enable_grad():
                of, by = [results[number] for number, _ in given], [gradient for _, gradient in given]
                return torch.autograd.grad(of, wanted, by, allow_unused=True)

        computed = compute()
        if captures.current is not None:
            captures.current.note(lambda: _into(computed, compute()), True)
        found = iter(computed)
        answer = [next(found) if one.requires_grad else None for one in ctx.inputs]
        pairs = zip(answer, ctx.numbers, strict=True)
        return (None, None, *(one if one is None else ctx.forge.device(one, number) for one, number in pairs))


def _into(memory: Any, results: Any) -> None:
    """Copy what a replay of a CUDA graph computed to where its capture had its results."""
    for old, new in zip(memory, results, strict=True):
        if old is not None:
            old.copy_(new.detach())


def kernel(op: Any, name: str, forge: Forge) -> Callable[..., Any]:
    """The kernel of such an operator at the AutogradCUDA key."""
    from torch.utils._python_dispatch import _disable_current_modes

    cast = name in RECURRENT
    check = _check_recurrent if cast else _check_attention if name in ATTENTION else _check_named(op, name)

    def run(*args: Any, **kwargs: Any) -> Any:
        check(args)
        lower = cast and torch.is_autocast_enabled("cuda")
        tensors = [_lowered(one) if lower else one for value in args for one in _tensors(value)]
        with _disable_current_modes():
            return OnHost.apply(forge, lambda *inputs: op(*_filled(args, iter(inputs)), **kwargs), *tensors)

    return run


def _check_recurrent(args: tuple[Any, ...]) -> None:
    """RNN.cpp: check_attributes. Batch sizes of packed sequences (of 64-bit integers) stay on the host."""
    place = args[0].device
    tensors = [one for value in args[1:] for one in _tensors(value) if one.dtype is not torch.int64]
    for number, tensor in enumerate(tensors):
        if tensor.device != place:
            name = "hidden" if number < len(_tensors(args[1])) or tensor.dim() == 3 else "parameter"
            raise RuntimeError(
                f"Input and {name} tensors are not at the same device, found input tensor at {place} "
                f"and {name} tensor at {tensor.device}"
            )


def _check_attention(args: tuple[Any, ...]) -> None:
    """attention.cpp: validate_sdpa_input."""
    query, key, value = (one.device for one in args[:3])
    if not query == key == value:
        raise RuntimeError(
            f"Expected query, key, and value to have the same device type, but got query.device: {query} "
            f"key.device: {key} and value.device: {value} instead."
        )


def _check_named(op: Any, name: str) -> Callable[[tuple[Any, ...]], None]:
    """The check that torch generates."""
    names = [argument.name for argument in op._schema.arguments]

    def check(args: tuple[Any, ...]) -> None:
        error = places.named_difference(name, zip(names, args, strict=False))
        if error is not None:
            raise error

    return check


def _tensors(value: Any) -> tuple[Any, ...]:
    if isinstance(value, Tensor):
        return (value,)
    return tuple(value) if isinstance(value, (list, tuple)) and value and isinstance(value[0], Tensor) else ()


def _filled(args: tuple[Any, ...], tensors: Any) -> list[Any]:
    """`args` with its tensors, nested ones too, replaced by `tensors` in order."""
    filled: list[Any] = []
    for value in args:
        if isinstance(value, Tensor):
            filled.append(next(tensors))
        else:
            inner = [next(tensors) for _ in _tensors(value)]
            filled.append(inner or value)
    return filled


def _lowered(tensor: Any) -> Any:
    """Autocast on CUDA runs recurrent networks in the lower precision (autocast_mode.h: lower_precision_fp)."""
    if tensor.is_cuda and tensor.dtype is torch.float32:
        return tensor.to(torch.get_autocast_dtype("cuda"))
    return tensor
