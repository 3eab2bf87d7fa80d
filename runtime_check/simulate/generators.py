"""Generators of random numbers. One for the device is a host generator that says otherwise."""

from __future__ import annotations

import weakref
from typing import Any, ClassVar

from runtime_check.simulate.internals import torch
from runtime_check.simulate.ordinals import index_of

REAL = torch.Generator


class GeneratorType(type(REAL)):  # type: ignore[misc]
    """Makes torch's own generators count as instances."""

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, REAL)


class Generator(torch.Generator, metaclass=GeneratorType):  # type: ignore[misc]
    """Stands for `torch.Generator`."""

    _host: ClassVar[weakref.WeakValueDictionary[int, Any]] = weakref.WeakValueDictionary()  # by address in C++
    _place: Any

    def __new__(cls, device: Any = "cpu") -> Generator:
        place = torch.device(device)
        made = REAL.__new__(cls, device="cpu" if place.type == "cuda" else place)
        made._place = torch.device("cuda", index_of(place)) if place.type == "cuda" else place
        if place.type != "cuda":
            cls._host[made._cdata] = made
        return made  # type: ignore[no-any-return]

    @property
    def device(self) -> Any:
        """Where its numbers are for."""
        return self._place


def check(generator: Any) -> None:
    """Raise what CUDA raises for a host generator; torch's default one serves both places."""
    if generator._cdata in Generator._host:
        raise RuntimeError("Expected a 'cuda' device type for generator but found 'cpu'")
