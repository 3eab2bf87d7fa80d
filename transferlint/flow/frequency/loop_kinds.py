"""What the loops of a file's functions go over, given how these are placed."""

from __future__ import annotations

from transferlint.flow.callgraph.names import split
from transferlint.flow.dataflow import guards
from transferlint.flow.frequency import loops
from transferlint.flow.lattice.values import LOADER
from transferlint.flow.placement.placed import Placed
from transferlint.syntax.program import Function, Reg, Slot

_LOOPING = frozenset({"main", "fit", "main_worker", "run_training"})  # names of what holds the loop of a program


class LoopKinds:
    """The kinds of loops of a file (`key`); each is worked out once. `beside_torch`: it uses another framework."""

    def __init__(self, key: str, placed: list[Placed], beside_torch: bool) -> None:
        self._key = key
        self._placed = placed
        self._beside_torch = beside_torch
        self._kinds: dict[tuple[int, int], str] = {}
        self._training: dict[int, frozenset[int]] = {}
        self._steps: dict[int, bool] = {}
        self._taking: dict[tuple[int, int], bool] = {}
        self._stores: dict[int, dict[Slot, Reg]] = {}

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
            self._steps[function.index] = False  # for functions that call each other
            found = any(self._of_steps(function, at) for at in range(len(function.regions)))
            known = self._steps[function.index] = found and not loops.adds_up(function)
        return known

    def steps(self, function: Function, index: int) -> bool:
        """True for a loop whose turns are steps of a program, by what stands in it or what it goes over: it trains, or
        goes over batches. A loop over whatever else may run once, and have few turns."""
        known = self._taking.get((function.index, index))
        if known is None:
            known = self._taking[function.index, index] = self._has_steps(function, index)
        return known

    def _has_steps(self, function: Function, index: int) -> bool:
        if self.kind(function, index) != "step":
            return False
        region = function.regions[index]
        value = self._placed[function.index].values[region.test] if region.test is not None else None
        over = region.kind == "for" and loops.over_batches(function, region, value)
        return over or self._takes(function, index) or self._evaluates(function, index)

    def _of_steps(self, function: Function, index: int) -> bool:
        region = function.regions[index]
        if region.kind == "while":
            return self._draws(function, index)
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
        waits = kind == "step" and region.kind == "while"
        if waits and loops.sleeps(function, region, always=not self._beside_torch):
            return "epoch"
        if kind in ("epoch", "element") and self._trains(function, index):
            return "step"
        if kind == "element" and region.kind == "for" and self._evaluates(function, index):
            return "step"
        if (waits or (kind == "element" and region.kind == "for")) and not self._takes(function, index):
            return "epoch" if self._holds_steps(function, index) else kind
        return kind

    def _draws(self, function: Function, index: int) -> bool:
        """True for a loop that takes a batch from a loader's iterator in each turn."""
        return loops.draws(function, index, self._placed[function.index].values)

    def _takes(self, function: Function, index: int) -> bool:
        """True for a loop each turn of which is a step itself, whatever else it does in some of them."""
        return self._trains(function, index) or self._draws(function, index)

    def _trains(self, function: Function, index: int) -> bool:
        """True for the innermost loop around a backward pass, or a call of a function that is one step."""
        known = self._training.get(function.index)
        if known is None:
            placed = self._placed[function.index]
            steps = placed.compiled | {reg for reg, name in placed.calls.items() if self._is_step(name)}
            known = self._training[function.index] = loops.training(function, steps)
        return index in known

    def _is_step(self, name: str) -> bool:
        """True for a function of this file that goes backward outside of loops."""
        callee = self._own(name)
        return callee is not None and loops.takes_a_step(callee)

    def _evaluates(self, function: Function, index: int) -> bool:
        """True for a loop that moves what it goes over to the device and calls a module."""
        return loops.evaluates(function, index, self._placed[function.index].values)

    def _holds_steps(self, function: Function, index: int) -> bool:
        """True where a loop over a loader, or over epochs, stands in the region, or a call of a function that holds
        one: what is around the steps is as rare as an epoch. Those behind a rare test, an evaluation every so many
        turns, count for nothing."""
        values, calls = self._placed[function.index].values, self._placed[function.index].calls
        for number in range(index + 1, len(function.regions)):
            inner = function.regions[number]
            if inner.parent < index:  # regions are numbered as they begin: those inside follow
                break
            if inner.kind not in ("for", "while"):
                continue
            over = values[inner.test] if inner.kind == "for" and inner.test is not None else None
            loaded = over is not None and bool(over.kinds & LOADER)
            looped = loaded or self._draws(function, number) or self.kind(function, number) == "epoch"
            if looped and self._always(function, number, index):
                return True
        for reg in function.lookup.registers(index):
            callee = self._own(calls[reg]) if reg in calls else None
            looped = callee is not None and callee is not function and self.runs_steps(callee)
            if looped and self._always(function, function.lookup.regions[reg], index):
                return True
        return False

    def _own(self, name: str) -> Function | None:
        """A function of this file by its ident."""
        place = split(name)
        return self._placed[place[1]].function if place is not None and place[0] == self._key else None

    def _always(self, function: Function, at: int, loop: int) -> bool:
        """True where a region within a loop, or the loop's own, stands behind no rare test."""
        stores = self._stores.get(function.index)
        if stores is None:
            stores = self._stores[function.index] = guards.single_stores(function)
        while at != loop:
            if at <= 0:
                return False
            region = function.regions[at]
            test = region.test if region.kind in ("then", "else") else None
            if test is not None and guards.rare(function, test, region.kind == "then", stores):
                return False
            at = region.parent
        return True
