"""How each API is called: one expression a name, in the smallest way that its row speaks of.

An expression finds these names: `torch`, `numpy`, `F` (what the qualified name stands for) and `Owner` (the class that
a method belongs to), `x` and `y` (3 by 4 floats on the device), `host` and `pinned` (the same on the host), `v` (4
floats), `i` (integers 0, 2, 1), `b` (a mask like `x`), `m` (4 by 4, positive definite), `z` (0-d), `g` (like `x`, with
a gradient) on the device, and what `setup` makes, which is not recorded.
"""

from __future__ import annotations

import dataclasses
import types
from collections.abc import Mapping

from runtime_check.conformance import calls_around, calls_libraries, calls_tensor, calls_torch
from runtime_check.conformance.claims import HOST, NOTHING, OF_EFFECT, Claim
from transferlint.knowledge.api import Api, Effect

_CLAIMS: Mapping[str, Claim] = types.MappingProxyType({"host": HOST, "nothing": NOTHING})


@dataclasses.dataclass(frozen=True, slots=True)
class Call:
    """One call: of the qualified `name`, `text` after `setup`, which must do as `claim` says. `given` are the arguments
    that the row's condition is about; `stands` is the name that is looked up. `why` says why it cannot be called ("":
    it can), and then there is no text."""

    name: str
    effect: Effect
    claim: Claim
    text: str = ""
    setup: str = ""
    given: tuple[str, ...] = ()
    why: str = ""
    stands: str = ""


def of(name: str, row: Api) -> tuple[Call, ...]:
    """The calls of a name: one, and where the row has a condition one for each side of it."""
    stands = _stands(name)
    spelled = _spelled(stands)
    if spelled is None:
        return (Call(name, row.effect, NOTHING, why="no call of it has been written"),)
    made: list[Call] = []
    for one in spelled if isinstance(spelled, list) else [spelled]:
        text, setup, given, special = _parts(one)
        effect = row.of(given)
        claim = _CLAIMS.get(special) or OF_EFFECT.get(effect.name)
        if claim is None or text.startswith("!"):
            why = text[1:] if claim is not None else f"what {effect.name} claims of a call has not been written"
            made.append(Call(name, effect, claim or NOTHING, why=why))
        else:
            made.append(Call(name, effect, claim, text, setup, given, stands=stands))
    return tuple(made)


Spelling = str | dict[str, str] | list["str | dict[str, str]"] | None


def _parts(one: str | dict[str, str]) -> tuple[str, str, tuple[str, ...], str]:
    if isinstance(one, str):
        return one, "", (), ""
    return one["call"], one.get("setup", ""), tuple(one.get("given", "").split()), one.get("claim", "")


def _stands(name: str) -> str:
    owner, dot, method = name.rpartition(".")
    table = calls_libraries.STANDS_FOR
    return table.get(name) or (table[owner] + dot + method if owner in table else name)


def _spelled(name: str) -> Spelling:
    """The longest ending of the name that a table knows; else a default by kind of name."""
    parts = name.split(".")
    for table in (calls_torch.CALLS, calls_tensor.CALLS, calls_around.CALLS, calls_libraries.CALLS):
        for start in range(len(parts)):
            found: Spelling = table.get(".".join(parts[start:]))
            if found is not None:
                return found
    made = calls_torch.distribution(name)
    if made is not None:
        return made
    if parts[0] == "Tensor":
        return f"x.{parts[1]}()"
    if parts[0] == "torch" and len(parts) == 2:
        return "F(x)"
    above = (".".join(parts[:end]) for end in range(len(parts) - 1, 0, -1))
    return next((calls_libraries.REASONS[one] for one in above if one in calls_libraries.REASONS), None)
