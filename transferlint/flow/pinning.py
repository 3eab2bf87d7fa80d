"""Whether what a call makes lies in pinned memory: what its `pin_memory` says."""

from __future__ import annotations

from typing import TYPE_CHECKING

from transferlint.flow.values import OPTIONAL, PINNED
from transferlint.syntax.program import Attr, Call, Const, Load, Outer, Reg, Store

if TYPE_CHECKING:
    from transferlint.flow.frame import Frame

_ASKING = frozenset({"get", "pop", "getattr"})


def pinning(frame: Frame, made: Call) -> int:
    """The flags that the `pin_memory` of a call gives its result: 0 where it is not given or literally False, and
    OPTIONAL beside PINNED where it is on only if somebody asks for it."""
    given = dict(made.keywords).get("pin_memory")
    if given is None:
        return 0
    said = frame.code[given]
    if isinstance(said, Const):
        return PINNED if said.value else 0
    return PINNED | (OPTIONAL if _off_by_default(frame, given) else 0)


def _off_by_default(frame: Frame, reg: Reg) -> bool:
    """True for an option that is False where nobody says more: `config.get("pin_memory", False)`, or an argument."""
    made = frame.code[reg]
    if isinstance(made, Load):
        defaults = [one.default for one in frame.function.parameters if one.slot == made.slot]
        return defaults == ["False"] and not frame.function.lookup.about(Store, made.slot)
    if not isinstance(made, Call) or len(made.args) < 2:
        return False
    callee, default = frame.code[made.function], frame.code[made.args[-1]]
    asks = isinstance(callee, Attr | Outer) and callee.name in _ASKING
    return asks and isinstance(default, Const) and default.value is False
