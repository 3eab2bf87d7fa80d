"""A program as readable text, for `transferlint debug program` and for tests."""

from __future__ import annotations

from typing import Any

from transferlint import late
from transferlint.syntax.program import Delete, Function, Load, Program, Store
from transferlint.syntax.regions import Block, Region


def dump(program: Program) -> str:
    """Every function with its parameters, regions, blocks and instructions, one line each; ends with a newline."""
    return "\n".join(_function(function) for function in program.functions)


def _function(function: Function) -> str:
    words = [function.kind]
    words += [word for word, holds in (("async", function.is_async), ("generator", function.is_generator)) if holds]
    head = f"{' '.join(words)} {function.index} {function.qualname} (in {function.parent})"
    lines = [head]
    for parameter in function.parameters:
        annotation = f": {parameter.annotation}" if parameter.annotation else ""
        default = f" = {parameter.default}" if parameter.default else ""
        lines.append(f"  parameter {parameter.kind} {_slot(function, parameter.slot)}{annotation}{default}")
    lines += [f"  @{decorator}" for decorator in function.decorators]
    lines += [f"  region {i}: {_region(function, region)}" for i, region in enumerate(function.regions)]
    for i, block in enumerate(function.blocks):
        lines += _block(function, i, block)
    return "\n".join(lines) + "\n"


def _region(function: Function, region: Region) -> str:
    words = [region.kind]
    if region.parent >= 0:
        words.append(f"in {region.parent}")
    if region.test is not None:
        words.append(f"test %{region.test}")
    if region.implied:
        words.append("implied")
    if region.leaves:
        words.append(f"leaves {region.leaves}")
    if region.target_slots:
        words.append("targets " + ", ".join(_slot(function, slot) for slot in region.target_slots))
    return " ".join(words)


def _block(function: Function, index: int, block: Block) -> list[str]:
    successors = ", ".join(map(str, block.successors)) or "-"
    lines = [f"  block {index} region {block.region} -> {successors}"]
    for reg in range(block.start, block.end):
        lines.append(f"    %{reg} = {_instruction(function, function.code[reg])}")
    return lines


def _instruction(function: Function, instruction: Any) -> str:
    fields = []
    for name in late.fields(type(instruction)):
        value = getattr(instruction, name)
        if name == "slot" and isinstance(instruction, Load | Store | Delete):
            fields.append(_slot(function, value))
        else:
            fields.append(f"{name}={value!r}")
    return f"{type(instruction).__name__.rstrip('_')} {' '.join(fields)}".rstrip()


def _slot(function: Function, slot: int) -> str:
    return f"{function.slot_names[slot]}.{slot}"
