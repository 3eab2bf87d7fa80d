"""The kernels that no CPU operator can stand for: memory, copies, reads, views and what only CUDA has."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from runtime_check.simulate import layouts
from runtime_check.simulate.forge import Forge, is_device
from runtime_check.simulate.internals import C, aten, operator, torch
from runtime_check.simulate.kernels import below_modes
from runtime_check.simulate.ordinals import guarded, index_of
from runtime_check.simulate.pinned import is_pinned, mark_pinned, receiving
from transferlint.model import Direction

Kernel = Callable[..., Any]
VIEWS = (
    *("as_strided", "view", "_reshape_alias", "view_as_real", "view_as_complex", "unfold", "view.dtype"),
    *("set_.source_Storage_storage_offset", "set_.source_Storage", "set_.source_Tensor"),
)


def table(forge: Forge) -> dict[str, Kernel]:
    """Operator name without namespace to kernel."""
    kernels = {**_memory(forge), **_copies(forge), **_captured(_device_only(forge), forge)}
    kernels = {name: kernel if name == "_to_copy" else below_modes(kernel) for name, kernel in kernels.items()}
    kernels.update((name, at_host_key(operator(name))) for name in VIEWS)
    kernels.update((name, guarded(at_host_key(operator(name)))) for name in layouts.FROM_DENSE)
    return kernels


def at_host_key(op: Any, key: str = "CPU") -> Kernel:
    """The CPU's kernel on the device tensors themselves: right for views, which touch no memory."""
    redispatch, at_host = op._handle.redispatch_boxed, C.DispatchKeySet(getattr(C.DispatchKey, key))
    return lambda *args, **kwargs: redispatch(at_host, *args, **kwargs)


def _memory(forge: Forge) -> dict[str, Kernel]:
    plain, new_strided = C._VariableFunctions.empty, aten.empty_strided.default._op  # the binding is the faster one
    new = aten.empty.memory_format._op
    cpu, forged, strided = torch.device("cpu"), forge.device, torch.strided

    def empty(
        size: Any, *, dtype: Any = None, layout: Any = None, device: Any = None, memory_format: Any = None, **_: Any
    ) -> Any:
        number = index_of(device)
        if memory_format is None and (layout is None or layout is strided):
            return forged(plain(size, dtype=dtype, device=cpu), number)
        return forged(new(size, dtype=dtype, layout=layout, device=cpu, memory_format=memory_format), number)

    def empty_strided(
        size: Any, stride: Any, *, dtype: Any = None, layout: Any = None, device: Any = None, **_: Any
    ) -> Any:
        return forged(new_strided(size, stride, dtype=dtype, layout=layout, device=cpu), index_of(device))

    def resize_(tensor: Any, size: Any, *, memory_format: Any = None) -> Any:
        if memory_format is torch.preserve_format:
            raise RuntimeError("Unsupported memory format Preserve")
        fresh = new(size, dtype=tensor.dtype, device=cpu, memory_format=memory_format)
        storage, offset = tensor.untyped_storage(), tensor.storage_offset()
        if (fresh.numel() + offset) * tensor.element_size() <= storage.nbytes():
            redispatch = aten.set_.source_Storage_storage_offset._handle.redispatch_boxed
            redispatch(C.DispatchKeySet(C.DispatchKey.CPU), tensor, storage, offset, fresh.size(), fresh.stride())
            return tensor
        kept = min(fresh.numel(), storage.nbytes() // tensor.element_size() - offset)
        if kept > 0:
            fresh.as_strided((kept,), (1,)).copy_(forge.host(tensor).as_strided((kept,), (1,), offset))
        forge.rebind(tensor, fresh)
        return tensor

    def set_(tensor: Any) -> Any:
        forge.rebind(tensor, new((0,), dtype=tensor.dtype, device=cpu))
        return tensor

    return {"empty.memory_format": empty, "empty_strided": empty_strided, "resize_": resize_, "set_": set_}


def _copies(forge: Forge) -> dict[str, Kernel]:
    copy, read = aten.copy_.default._op, aten._local_scalar_dense.default._op
    host, depth, disabled = forge.host, C._len_torch_function_stack, C.DisableTorchFunction

    captures = forge.captures

    def copy_(target: Any, source: Any, non_blocking: bool = False) -> Any:
        to, given = host(target) if target.is_cuda else target, host(source) if source.is_cuda else source
        if captures.current is None:
            copy(to, given)
            return target
        if target.is_cuda != source.is_cuda and not (non_blocking and (is_pinned(target) or is_pinned(source))):
            captures.waits("aten::copy_", Direction.H2D if target.is_cuda else Direction.D2H)
        captures.current.run(copy, (to, given), {})
        return target

    def local_scalar_dense(tensor: Any) -> Any:
        if captures.current is not None:
            captures.waits("aten::_local_scalar_dense")
        return read(host(tensor))

    composed = torch.library.get_kernel("aten::_to_copy", "CUDA")  # C++'s own, composed of empty and copy_
    at_cuda = C.DispatchKeySet(C.DispatchKey.CUDA)

    def to_copy(tensor: Any, **options: Any) -> Any:
        """Pinned memory receives what comes to the host without waiting (TensorConversions.cpp: _to_copy)."""
        if depth():  # as `below_modes`, without a frame of its own: every frame costs whoever looks for the caller
            with disabled():
                return moved(tensor, options)
        if options.get("non_blocking"):
            return moved(tensor, options)
        return composed.call_boxed(at_cuda, tensor, **options)

    def moved(tensor: Any, options: Any) -> Any:
        place = options.get("device")
        if not (tensor.is_cuda and options.get("non_blocking") and place is not None and place.type == "cpu"):
            return composed.call_boxed(at_cuda, tensor, **options)
        with receiving():
            result = composed.call_boxed(at_cuda, tensor, **options)
        mark_pinned(result)
        return result

    def foreach_copy_(targets: Any, sources: Any, non_blocking: bool = False) -> None:
        """On several devices CUDA copies one by one (ForeachCopy: can_use_fast_route)."""
        for target, source in zip(targets, sources, strict=True):
            target.copy_(source, non_blocking)

    return {
        "copy_": copy_,
        "_local_scalar_dense": local_scalar_dense,
        "_to_copy": to_copy,
        "_foreach_copy_": foreach_copy_,
    }


def _captured(kernels: dict[str, Kernel], forge: Forge) -> dict[str, Kernel]:
    """Kernels that make new tensors of theirs, for graphs too: their results go where those of the capture are."""
    captures, host = forge.captures, forge.host

    def kernel_of(run: Kernel) -> Kernel:
        def kernel(*args: Any, **kwargs: Any) -> Any:
            result = run(*args, **kwargs)
            if captures.current is not None:
                first = [host(one) for one in _made(result)]

                def again() -> None:
                    for old, new in zip(first, _made(run(*args, **kwargs)), strict=True):
                        old.copy_(host(new))

                captures.current.note(again)
            return result

        return kernel

    return {name: kernel_of(run) for name, run in kernels.items()}


def _made(result: Any) -> list[Any]:
    """The device tensors of a result."""
    return [one for one in (result if isinstance(result, tuple) else (result,)) if is_device(one)]


def _device_only(forge: Forge) -> dict[str, Kernel]:
    host, device = forge.host, forge.device

    def softmax(op: Any) -> Kernel:
        def kernel(tensor: Any, dim: int, half_to_float: bool) -> Any:
            memory = host(tensor)
            return device(op._op(memory.float() if half_to_float else memory, dim, False), tensor.get_device())

        return kernel

    def softmax_backward(op: Any) -> Kernel:
        def kernel(gradient: Any, output: Any, dim: int, input_dtype: Any) -> Any:
            result = op._op(host(gradient), host(output), dim, gradient.dtype)
            return device(result.to(input_dtype), gradient.get_device())

        return kernel

    kernels: dict[str, Kernel] = {}
    for name in ("_softmax", "_log_softmax"):
        kernels[name] = softmax(operator(name))
        kernels[name + "_backward_data"] = softmax_backward(operator(name + "_backward_data"))

    def native_dropout(tensor: Any, p: float, train: bool | None) -> Any:
        """As `dropout` computes it on the CPU (Dropout.cpp: _dropout_impl), random numbers and rounding included."""
        memory, number = host(tensor), tensor.get_device()
        if train is False or p == 0:
            return device(memory.clone(), number), device(torch.ones_like(memory, dtype=torch.bool), number)
        noise = torch.empty_like(memory).bernoulli_(1 - p)
        mask = noise.bool()
        return device(memory * (noise.div_(1 - p) if p < 1 else noise), number), device(mask, number)

    def native_dropout_backward(gradient: Any, mask: Any, scale: float) -> Any:
        memory = host(gradient)
        noise = host(mask).to(memory.dtype)
        return device(memory * (noise.div_(1 / scale) if scale else noise.zero_()), gradient.get_device())

    kernels["native_dropout"] = native_dropout
    kernels["native_dropout_backward"] = native_dropout_backward
    kernels["_efficientzerotensor"] = lambda size, *, dtype=None, **options: device(
        torch.zeros(size, dtype=dtype), index_of(options.get("device"))
    )
    for name in ("_use_cudnn_ctc_loss", "_use_miopen_ctc_loss"):
        kernels[name] = kernels[f"{name}.Tensor"] = lambda *args, **kwargs: False
    kernels["record_stream"] = lambda tensor, stream: None
    kernels["is_pinned"] = lambda tensor, device=None: False
    return kernels
