"""The facts in words, for people who work on the analysis."""

from __future__ import annotations

from transferlint.flow.facts import FileFacts
from transferlint.flow.lattice.values import UNKNOWN, describe
from transferlint.syntax import program as p
from transferlint.wording import words


def dump(facts: FileFacts) -> str:
    """One line a register that matters, and one a transfer."""
    lines = []
    for function in facts.functions:
        base = facts.heat.base(function.index)
        cold = f" cold: {words(base.cold)}" if base.cold else ""
        lines.append(f"function {function.function.qualname}: {base.level.words}{cold} {words(base.reason)}".rstrip())
        for reg, value in enumerate(function.values):
            if function.has_text(reg) and not value.is_a(UNKNOWN) and not isinstance(function.code[reg], p.Const):
                lines.append(f"  {reg:4} {_brief(function.text(reg)):44} {describe(value)}")
        for transfer in function.transfers:
            warmth = function.warmth(transfer.register)
            state = "hot" if warmth.hot else words(warmth.cold or warmth.amortised) or warmth.level.words
            lines.append(
                f"  => {transfer.register:4} {transfer.kind} {transfer.direction.value} {transfer.api} [{state}]"
            )
    return "\n".join(lines)


def _brief(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= 44 else flat[:41] + "..."
