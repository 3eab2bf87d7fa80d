"""Which places of a file are seen to run repeatedly: by loops and calls in code that is seen to run."""

from __future__ import annotations

import functools
from typing import Protocol

from transferlint import late
from transferlint.flow.frequency import unasked
from transferlint.flow.frequency.call_edges import CallEdges
from transferlint.flow.frequency.loop_kinds import LoopKinds
from transferlint.flow.frequency.runs import Runs
from transferlint.flow.frequency.uses import BODY, LOOP, RARELY, STEP, Spelled, Uses, guarded, sometimes, uses_of
from transferlint.flow.frequency.warmth import Warmth
from transferlint.flow.placement.placement import FilePlacement
from transferlint.reasons import Cause, Reason
from transferlint.syntax.program import Function, Reg

_ARMS = frozenset({"then", "else", "case", "handler", "message"})

_Arm = tuple[int, Reg, bool]  # a function, a test, and whether it holds there


class Heated(Protocol):
    """The heat of a file."""

    def at(self, function: int, reg: Reg) -> Warmth:
        """The heat of a register of a function."""

    def region_of(self, function: int, reg: Reg) -> int:
        """The region that a register stands in."""


class Seen:
    """What is seen to run of a file, by its heat (which is asked for, so that neither keeps the other) and by what
    `runs` found, which is put in. `before`: that of the same file, of which nothing changed."""

    def __init__(
        self,
        file: FilePlacement,
        spelled: Spelled,
        edges: CallEdges,
        kinds: LoopKinds,
        before: Seen | None,
    ) -> None:
        self._file, self._spelled, self._edges, self._loops = file, spelled, edges, kinds
        self._unused: dict[_Arm, bool] = before._unused if before is not None else {}
        self._options: dict[_Arm, bool] = before._options if before is not None else {}
        self._single: dict[tuple[int, int], bool] = before._single if before is not None else {}
        self.runs = Runs()
        self._doubts: dict[tuple[int, Reg], Reason | None] = {}  # of what was asked about since

    def often(self, heat: Heated, function: int, reg: Reg) -> str:
        """How often a place runs by what is seen: in every turn of a loop of its function whose turns are steps (LOOP:
        by its names alone), whenever that is called, or rarely, or never for all that is known, in an arm."""
        if not heat.at(function, reg).hot:
            return RARELY
        owner = self._file.program.functions[function]
        holds = self._loops.runs_steps(owner)  # what is outside of its loops is set-up, or runs once an epoch
        at = heat.region_of(function, reg)
        found = ""
        while at > 0:
            region = owner.regions[at]
            if region.kind in ("for", "while") and self._loops.kind(owner, at) == "step" and not self.single(owner, at):
                if self._loops.steps(owner, at):
                    return STEP
                found = LOOP if region.kind == "for" else found
            if not found and region.kind in _ARMS and not region.implied and self._optional(owner, at):
                return RARELY
            at = region.parent
        return found or (RARELY if holds else BODY)

    def single(self, owner: Function, index: int) -> bool:
        """True for a loop that has one turn, unless somebody asks for more."""
        region = owner.regions[index]
        asked = owner.index, index
        if asked not in self._single:
            over = region.test if region.kind == "for" else None
            self._single[asked] = over is not None and unasked.single(self._file, owner, over)
        return self._single[asked]

    def uses(self, heat: Heated) -> Uses:
        """What the code of the file uses."""
        return uses_of(self._file, self._edges, self._spelled, functools.partial(self.often, heat))

    def shown(self, heat: Heated, function: int, reg: Reg, steps: bool) -> bool:
        """True for a place that is seen to run repeatedly: by a loop or by calls, in code that is seen to run; `steps`:
        by a loop whose turns are steps, in each of them."""
        if self._file.options.excerpts:
            return True
        often = self.often(heat, function, reg)
        if (guarded(self._file, function, reg) and not self.runs.guarded) or self._never(
            function, heat.region_of(function, reg)
        ):
            return False
        if steps and sometimes(self._file.program.functions[function], reg):
            return False
        if function == 0 and reg > self._spelled.fails:
            return False
        if often in ((STEP,) if steps else (STEP, LOOP)):
            return function in self.runs.reached
        return often != RARELY and function in (self.runs.stepping if steps else self.runs.repeated)

    def tell(self, found: Runs) -> None:
        """Note what is seen to run of the file."""
        self.runs = found
        self._doubts.clear()

    def believed(self, heat: Heated, function: int, reg: Reg) -> Warmth:
        """The heat of a place, weak where there is a reason for doubt; that of frameworks beside torch has its own."""
        found = heat.at(function, reg)
        if not found.hot or found.weak or not self.runs.closed or self._file.tracing.framework is not None:
            return found
        if (function, reg) not in self._doubts:
            self._doubts[function, reg] = self.doubt(heat, function, reg)
        doubt = self._doubts[function, reg]
        return late.replace(found, weak=True, doubt=doubt) if doubt else found

    def doubt(self, heat: Heated, function: int, reg: Reg) -> Reason | None:
        """Why a hot place hardly runs repeatedly, None for no reason: the programs that use the file are all in sight,
        and none of them does what heat rests on. Of the findings at such places 10 of 46 were right, of the others in
        projects of the kind 155 of 238 (benchmarks/results/precision.md)."""
        if self.shown(heat, function, reg, steps=True):
            return None
        warmth = heat.at(function, reg)
        called, own = warmth.caller is not None, warmth.caller is None and warmth.loop >= 0
        if not self.placed:
            return None if own else Reason(Cause.NOT_PLACED)
        if function not in self.runs.reached:
            return None
        often = self.often(heat, function, reg)
        never = self._never(function, heat.region_of(function, reg))
        if called and often in (BODY, LOOP) and not never:
            return Reason(Cause.NOT_REPEATED)
        optional = often == RARELY or never or sometimes(self._file.program.functions[function], reg)
        return Reason(Cause.NOT_ASKED_FOR) if optional and not own else None

    def _optional(self, owner: Function, index: int) -> bool:
        """True for an arm of a branch that may be there for nobody."""
        region = owner.regions[index]
        if region.test is None or region.kind not in ("then", "else"):
            return True
        asked = owner.index, region.test, region.kind == "then"
        if asked not in self._options:
            self._options[asked] = unasked.optional(self._file, owner, *asked[1:])
        return self._options[asked] or self.unasked_for(asked)

    @property
    def placed(self) -> bool:
        """True where the project speaks of an accelerator, and this file, or one that imports it, moves something."""
        return self._file.options.excerpts or self.runs.placed

    @property
    def seeded(self) -> bool:
        """True where the project seeds torch's generators."""
        return self.runs.seeded

    def _never(self, function: int, index: int) -> bool:
        """True for a place that none of the known calls of its function comes by."""
        owner = self._file.program.functions[function]
        for region in owner.ancestors(index):
            if region.test is None or region.kind not in ("then", "else"):
                continue
            if self.unasked_for((function, region.test, region.kind == "then")):
                return True
        return False

    def unasked_for(self, asked: tuple[int, Reg, bool]) -> bool:
        """True for an arm of a function that none of its known calls comes by."""
        if asked not in self._unused:
            self._unused[asked] = unasked.never(self._file, self._file.program.functions[asked[0]], *asked[1:])
        return self._unused[asked]
