"""Facts in words: why a value is on the device, why a line is hot."""

from __future__ import annotations

from typing import TYPE_CHECKING

from transferlint.flow.frequency.warmth import Warmth
from transferlint.flow.lattice.values import CONTAINER, TENSOR, Value
from transferlint.model import Evidence, Level, Part
from transferlint.syntax import program as p
from transferlint.wording import words

if TYPE_CHECKING:
    from transferlint.flow.facts import FunctionFacts


def heat_words(function: FunctionFacts, warmth: Warmth) -> str:
    """How often, and what shows it: "per step, in the loop over `loader` at line 31"."""
    level = warmth.level.words if warmth.seen else f"{warmth.level.words} (assumed)"
    file = function.file
    if warmth.caller is not None:
        key, caller, reg = warmth.caller
        if key == file.path:
            site = file.functions[caller].site(reg)
            return f"{level}: called from `{file.program.functions[caller].qualname}` at line {site.line}"
        if file.project is not None:
            return f"{level}: called from {file.project.describe(key, caller, reg)}"
    if warmth.loop >= 0 and warmth.loop < len(function.function.regions):
        region = function.function.regions[warmth.loop]
        if region.node is not None:
            line = file.line(file.spans.of(region.node)[0])
            if region.test is not None and region.kind != "while" and function.has_text(region.test):
                return f"{level}, in the loop over `{_brief(function.text(region.test))}` at line {line}"
            return f"{level}, in the loop at line {line}"
    if warmth.reason is not None:
        return f"{level}: {words(warmth.reason)}"
    if warmth.level is Level.ONCE:
        return "once per call"
    return warmth.level.words


def device_evidence(function: FunctionFacts, value: Value) -> tuple[Evidence, ...]:
    """Where a value came to be on the device; at most two sites."""
    found: list[Evidence] = []
    for why in value.why[:2]:
        if why < 0:
            slot = -1 - why
            given = next((g for g in function.function.parameters if g.slot == slot), None)
            if given is not None and function.function.node is not None:
                name = function.function.name
                site = function.file.spans.site(function.file.path, *function.file.spans.of(function.function.node))
                starts = function.file.spans.line_starts()
                ends = starts[site.line] if site.line < len(starts) else len(function.file.text)
                line_end = len(function.file.text[starts[site.line - 1] : ends].rstrip()) + 1
                head = type(site)(site.path, site.line, site.column, site.line, max(line_end, site.column + 1))
                assumed = f"`{given.name}` is a parameter of `{name}` and is assumed to be on the device"
                found.append(Evidence(head, assumed, part=Part.PLACE))
        elif why < len(function.code) and function.has_text(why):
            found.append(Evidence(function.site(why), _because(function, why), part=Part.PLACE))
    return tuple(found)


def _because(function: FunctionFacts, reg: int) -> str:
    instruction = function.code[reg]
    if isinstance(instruction, p.Call):
        callee = function.code[instruction.function]
        if isinstance(callee, p.Attr) and callee.name in ("to", "cuda"):
            return "moved to the device here"
        if function.values[reg].on_device:
            return "computed on the device here"
        if reg in function.calls and not function.values[reg].kinds & (TENSOR | CONTAINER):
            return "moved to the device in this call"  # what it was given: it gives nothing back
        return "made on the host here"
    if isinstance(instruction, p.Store | p.Next):
        return "on the device from here on"
    return "computed on the device here"


def _brief(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= 40 else flat[:37] + "..."
