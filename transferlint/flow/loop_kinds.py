"""What the loops of a file's functions go over, given how these are placed."""

from __future__ import annotations

from transferlint.flow import loops
from transferlint.flow.placement import Placed
from transferlint.flow.values import LOADER
from transferlint.syntax.program import Function

_LOOPING = frozenset({"main", "fit", "main_worker", "run_training"})  # names of what holds the loop of a program


class LoopKinds:
    """The kinds of loops of one file; each is worked out once. `beside_torch`: the file uses another framework."""

    def __init__(self, placed: list[Placed], beside_torch: bool) -> None:
        self._placed = placed
        self._beside_torch = beside_torch
        self._kinds: dict[tuple[int, int], str] = {}
        self._training: dict[int, frozenset[int]] = {}  # identities: regions are equal where they look alike
        self._steps: dict[int, bool] = {}

    def kind(self, function: Function, index: int) -> str:
        """What a loop (a region) goes over: see `loops.classify`."""
        known = self._kinds.get((function.index, index))
        if known is None:
            known = self._kinds[function.index, index] = self._kind(function, index)
        return known

    def runs_steps(self, function: Function) -> bool:
        """True where a function has a loop over a loader or over epochs: the steps are its own, however often it is
        called."""
        if function.name in _LOOPING:
            return True
        known = self._steps.get(function.index)
        if known is None:
            found = any(self._of_steps(function, at) for at in range(len(function.regions)))
            known = self._steps[function.index] = found
        return known

    def _of_steps(self, function: Function, index: int) -> bool:
        region = function.regions[index]
        kind = self.kind(function, index) if region.kind == "for" else ""
        if kind not in ("epoch", "step"):
            return False
        value = self._placed[function.index].values[region.test] if region.test is not None else None
        loaded = value is not None and bool(value.kinds & LOADER)
        return loaded or kind == "epoch" or self._trains(function, index) or self._evaluates(function, index)

    def _kind(self, function: Function, index: int) -> str:
        region = function.regions[index]
        value = self._placed[function.index].values[region.test] if region.test is not None else None
        kind = loops.classify(function, region, value)
        if kind == "step" and region.kind == "while" and self._beside_torch:
            return "epoch" if loops.sleeps(function, region) else kind
        if kind in ("epoch", "element") and self._trains(function, index):
            return "step"
        if kind == "element" and region.kind == "for" and self._evaluates(function, index):
            return "step"
        if kind == "element" and region.kind == "for" and self._holds_loader_loop(function, index):
            return "epoch"
        return kind

    def _trains(self, function: Function, index: int) -> bool:
        """True for the innermost loop around a backward pass."""
        known = self._training.get(function.index)
        if known is None:
            compiled = self._placed[function.index].compiled
            known = self._training[function.index] = frozenset(map(id, loops.training(function, compiled)))
        return id(function.regions[index]) in known

    def _evaluates(self, function: Function, index: int) -> bool:
        """True for a loop that moves what it goes over to the device and calls a module."""
        return loops.evaluates(function, index, self._placed[function.index].values)

    def _holds_loader_loop(self, function: Function, index: int) -> bool:
        """True where a loop over a loader stands in the region: what is around it is as rare as an epoch."""
        values, region = self._placed[function.index].values, function.regions[index]
        return any(
            inner.kind == "for"
            and inner.test is not None
            and bool(values[inner.test].kinds & LOADER)
            and any(around is region for around in function.ancestors(inner.parent))
            for inner in function.regions
        )
