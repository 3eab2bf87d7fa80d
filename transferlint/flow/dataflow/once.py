"""What is worked out once for each function, however many ask."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar, cast


class Keeping(Protocol):
    """A function of the program, its facts, or anything else that keeps what is known of it."""

    @property
    def kept(self) -> dict[Any, Any]:
        """What was worked out, by who did and for which arguments."""


T = TypeVar("T")
P = ParamSpec("P")
F = TypeVar("F", bound=Keeping)


def once(work: Callable[Concatenate[F, P], T]) -> Callable[Concatenate[F, P], T]:
    """`work(function, ...)`, kept with the function: nobody may change what it gives. It must rest on the function and
    its (hashable) other arguments alone, and not on which findings are silent."""

    @functools.wraps(work)
    def known(function: F, *args: P.args, **kwargs: P.kwargs) -> T:
        key = (work, args, *kwargs.items()) if args or kwargs else work
        kept = function.kept
        if key not in kept:
            kept[key] = work(function, *args, **kwargs)
        found: T = kept[key]
        return found

    return cast("Callable[Concatenate[F, P], T]", known)
