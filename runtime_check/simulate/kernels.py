"""Kernels for the CUDA key that compute on the host: look at the places, alias the arguments, run the CPU's operator,
forge the results."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

from runtime_check.simulate import generators, layouts, places, syncs, wider
from runtime_check.simulate.declarations import Declaration
from runtime_check.simulate.forge import Forge
from runtime_check.simulate.internals import C, Tensor, aten, torch
from runtime_check.simulate.ordinals import count, index_among, index_of
from runtime_check.simulate.pinned import mark_pinned
from runtime_check.simulate.signature import Kind, Signature, signature

Kernel = Callable[..., Any]
TAKE_NUMBERS = frozenset(  # overloads whose CPU operator accepts a Python number for a tensor
    "add add_ sub sub_ mul mul_ div div_ true_divide true_divide_ floor_divide floor_divide_".split()
)
INDEXING = frozenset(("index", "index_put_", "index_put", "_index_put_impl_", "_unsafe_index", "_unsafe_index_put"))
HOST_RESULTS = {"_pack_padded_sequence": (1,)}


@dataclasses.dataclass(frozen=True, slots=True)
class Maker:
    """Makes kernels. `report(operation, bytes)` hears of the waits that no operator shows."""

    forge: Forge
    declarations: Mapping[str, Declaration]
    report: Callable[[str, int], None]

    def kernel(self, operator: Any, of_parts: bool = False) -> Kernel:
        """The kernel of a `torch._ops.OpOverload` at the CUDA key, or for tensors that are made of parts."""
        facts = signature(operator)
        before = self._before(operator, facts, of_parts)
        follows = facts.resizes or (of_parts and bool(facts.written))
        return _convert(operator, facts, self.forge, self._check(operator, facts), before, follows)

    def _check(self, operator: Any, facts: Signature) -> Callable[..., None]:
        """Raises CUDA's error for arguments in several places."""
        declaration = self.declarations.get(facts.full)
        named = torch.Tag.pointwise not in operator.tags
        lenient = facts.full in places.ACCEPT_HOST_TENSORS or facts.name in places.ACCEPT_HOST_TENSORS
        if declaration is not None:
            named = named and declaration.checks_places

        def check(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
            if lenient:
                return
            arguments = [*zip(facts.names, args, strict=False), *kwargs.items()]
            if facts.name in ("convolution", "_convolution"):
                error = places.convolution_difference(arguments)
            elif facts.name.startswith("_foreach_"):
                error = places.foreach_difference(arguments)
            elif named:
                error = places.named_difference(facts.name, arguments)
            else:
                error = places.iterator_difference(arguments)
            if error is not None:
                raise error

        return check

    def _before(
        self, operator: Any, facts: Signature, of_parts: bool
    ) -> Callable[..., tuple[tuple[Any, ...], Any]] | None:
        """What happens before the computation: indices go to the device, the host waits."""
        rule = syncs.rule(facts.name, facts.full, operator.namespace, of_parts)
        indexing = facts.name in INDEXING
        if rule is None and not indexing:
            return None

        def before(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> tuple[tuple[Any, ...], Any]:
            if rule is not None:
                for wait in rule(args, kwargs):
                    self._wait(f"{operator.namespace}::{facts.name}", wait)
            if indexing:
                args = self._place_indices(facts, args, kwargs)
            return args, kwargs

        return before

    def _wait(self, operation: str, wait: syncs.Wait) -> None:
        self.forge.captures.waits(operation)
        if wait.how is syncs.How.WAIT:
            self.report(operation, wait.bytes)
            return
        dtype = getattr(torch, wait.dtype)
        if wait.how is syncs.How.UPLOAD:
            aten._to_copy.default(
                aten.zeros.default((wait.bytes // dtype.itemsize,), dtype=dtype, device="cpu"),
                device=torch.device("cuda", index_of()),
            )
            return
        scratch = self.forge.device(aten.zeros.default((), dtype=dtype, device="cpu"))
        if wait.how is syncs.How.READ:
            aten._local_scalar_dense.default(scratch)
        else:
            aten._to_copy.default(scratch, device=torch.device("cpu"))

    def _place_indices(self, facts: Signature, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> tuple[Any, ...]:
        """Host indices and a 0-dimensional host value go to the device by ordinary copies; masks are expanded on the
        host first, into pinned memory, and go up without waiting (IndexingUtils.h: expandTensors)."""
        itself, indices = args[0], args[1]
        if any(index is not None and index.is_cuda and index.device != itself.device for index in indices):
            raise RuntimeError(
                f"indices should be either on cpu or on the same device as the indexed tensor ({itself.device})"
            )
        if not itself.is_cuda:
            return args
        values = syncs.argument(args, kwargs, 2, "values") if facts.name not in ("index", "_unsafe_index") else None
        if values is not None and values.device != itself.device:
            error = places.iterator_difference((("self", itself), ("values", values)))
            if error is not None and values.dim():
                raise error
            if not syncs.fills_masked(args, kwargs):
                args = (*args[:2], values.to(itself.device), *args[3:])
        if all(index is None or index.is_cuda for index in indices):
            return args
        placed: list[Any] = []
        for index in indices:
            if index is None or index.is_cuda:
                placed.append(index)
            elif index.dtype in (torch.bool, torch.uint8):
                positions = index.nonzero()
                mark_pinned(positions)
                positions = positions.to(itself.device, non_blocking=True)
                placed.extend(positions.select(1, axis) for axis in range(index.dim()))
            else:
                placed.append(index.to(itself.device))
        return (args[0], placed, *args[2:])


def below_modes(run: Kernel) -> Kernel:
    """Torch-function modes see no kernel on CUDA, so they must not see what ours calls either."""
    depth, disabled = C._len_torch_function_stack, C.DisableTorchFunction

    def kernel(*args: Any, **kwargs: Any) -> Any:
        if depth():
            with disabled():
                return run(*args, **kwargs)
        return run(*args, **kwargs)

    return kernel


def _convert(
    operator: Any,
    facts: Signature,
    forge: Forge,
    check: Callable[..., None],
    before: Callable[..., Any] | None,
    follows: bool,
) -> Kernel:
    call, device, kinds, kind_of = wider.form(facts.name) or operator._op, forge.device, facts.kinds, facts.kind_of
    host_one = _host_one(forge, facts.name in TAKE_NUMBERS)
    restore = _restore(facts, forge) if follows else None
    give = _give(facts, forge)
    plain = len(facts.returned) == 1 and facts.returned[0] is None
    host, depth, disabled = forge.host, C._len_torch_function_stack, C.DisableTorchFunction
    captures = forge.captures
    several = _number(facts) if count() > 1 else None

    def kernel(*args: Any, **kwargs: Any) -> Any:  # see `below_modes`
        if depth():
            with disabled():
                return run(args, kwargs)
        return run(args, kwargs)

    def run(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        if before is not None:
            args, kwargs = before(args, kwargs)
        seen = [False]
        converted: list[Any] = []
        for value, kind in zip(args, kinds):  # noqa: B905  # there may be fewer arguments
            if kind == 0 or value is None:
                converted.append(value)
            elif kind == 1 and isinstance(value, Tensor) and value.is_cuda:
                converted.append(host(value))
            else:
                converted.append(host_one(value, kind, seen, args))
        named = kwargs
        if kwargs:
            named = {
                name: value if value is None or not kind_of[name] else host_one(value, kind_of[name], seen, args)
                for name, value in kwargs.items()
                if name != "pin_memory"
            }
        number = 0 if several is None else several(args, kwargs, seen)
        if seen[0]:
            check(args, kwargs)
        recording = captures.current
        result = call(*converted, **named) if recording is None else recording.run(call, converted, named)
        if plain and isinstance(result, Tensor):
            return device(result, number)
        if restore is not None:
            restore(args, kwargs, converted, named)
        return give(result, args, kwargs, number)

    return kernel


def _number(facts: Signature) -> Callable[..., int]:
    """Gives the number of the device that an operator's results are on, by its arguments: where it is told to put them,
    or where its first device tensor is. Marks `seen` where tensors are on several devices."""
    places_told = [place for place, kind in enumerate(facts.kinds) if kind == Kind.DEVICE]

    def number(args: tuple[Any, ...], kwargs: Mapping[str, Any], seen: list[bool]) -> int:
        for place in places_told:
            told = syncs.argument(args, kwargs, place, facts.names[place])
            if told is not None:
                return index_of(told)
        given = (*args, *kwargs.values())
        found = index_among(given)
        if any(one.is_cuda and one.get_device() != found for one in places.tensors(given)):
            seen[0] = True
        return found

    return number


def _host_one(forge: Forge, takes_numbers: bool) -> Callable[[Any, int, list[bool], tuple[Any, ...]], Any]:
    """Gives what the CPU's operator gets for one argument; marks `seen` where a host tensor was among them."""
    host, cpu = forge.host, torch.device("cpu")

    def host_one(value: Any, kind: int, seen: list[bool], args: tuple[Any, ...]) -> Any:
        if isinstance(value, Tensor):
            if value.is_cuda:
                return host(value)
            seen[0] = True
            return value
        if kind == Kind.TENSOR:  # a wrapped number arrives as a Python number
            return value if takes_numbers else wrapped_number(value, args)
        if kind == Kind.TENSORS:
            return [host_one(one, Kind.OTHER, seen, args) for one in value]
        if kind == Kind.DEVICE:
            index_of(value)
            return cpu
        if kind == Kind.GENERATOR:
            generators.check(value)
        return value

    return host_one


def wrapped_number(value: Any, args: tuple[Any, ...]) -> Any:
    """A 0-dimensional host tensor of the type that a Python number has beside the tensors of `args`."""
    if isinstance(value, bool):
        dtype = torch.bool
    elif isinstance(value, int):
        dtype = torch.int64
    elif isinstance(value, complex):
        dtype = torch.complex128
    else:
        beside = next((one for one in args if isinstance(one, Tensor)), None)
        dtype = beside.dtype if beside is not None and beside.is_floating_point() else torch.get_default_dtype()
    return aten.scalar_tensor.default(value, dtype=dtype, device=torch.device("cpu"))


def _restore(facts: Signature, forge: Forge) -> Callable[..., None]:
    """`out=`: where the CPU's operator gave an argument another shape or memory, the device tensor follows."""

    def restore(args: Any, kwargs: Any, converted: list[Any], named: Mapping[str, Any]) -> None:
        for place in facts.written:
            name = facts.names[place]
            theirs: Any = args[place] if place < len(args) else kwargs.get(name)
            ours: Any = converted[place] if place < len(converted) else named.get(name)
            pairs = [(theirs, ours)] if isinstance(theirs, Tensor) else list(zip(theirs or (), ours or (), strict=True))
            for tensor, memory in pairs:
                if layouts.special(tensor) or (
                    tensor.size() != memory.size()
                    or tensor.stride() != memory.stride()
                    or tensor.untyped_storage().data_ptr() != memory.untyped_storage().data_ptr()
                ):
                    forge.rebind(tensor, memory)

    return restore


def _give(facts: Signature, forge: Forge) -> Callable[[Any, tuple[Any, ...], Mapping[str, Any], int], Any]:
    """Turns what the CPU's operator gave into what the caller gets: its own arguments, or new device tensors. Each of
    the results of a `_foreach_` operator is where its own arguments are."""
    returned, names, device = facts.returned, facts.names, forge.device
    stay = HOST_RESULTS.get(facts.name, ())
    each = facts.name.startswith("_foreach_") and count() > 1

    def one(place: int, result: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any], number: int) -> Any:
        argument = returned[place]
        if argument is not None:
            return args[argument] if argument < len(args) else kwargs[names[argument]]
        if isinstance(result, Tensor):
            return result if place in stay else device(result, number)
        if isinstance(result, (list, tuple)):
            numbers = [tensor.get_device() for tensor in args[0]] if each else [number] * len(result)
            pairs = zip(result, numbers, strict=True)
            return [device(part, its) if isinstance(part, Tensor) else part for part, its in pairs]
        return result

    def give(result: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any], number: int = 0) -> Any:
        if not returned:
            return None
        if len(returned) == 1:
            return one(0, result, args, kwargs, number)
        return tuple(one(place, part, args, kwargs, number) for place, part in enumerate(result))

    return give
