"""A tensor of the shape, the type and the place of another one: `torch.zeros_like(x)`."""

from __future__ import annotations

from transferlint import late
from transferlint.flow.facts import FunctionFacts
from transferlint.model import Edit
from transferlint.syntax import program as p
from transferlint.syntax.program import Reg

from ..code.chains import called

_ALIKE = frozenset(f"torch.{name}" for name in ("zeros", "ones", "rand", "randn", "empty"))
_SHAPE = late.pattern(r"([\w.]+)\.(?:shape|size\(\))")


def like_another(function: FunctionFacts, made: Reg, edits: tuple[Edit, ...]) -> tuple[Edit, ...]:
    """The edits that write `torch.zeros_like(x)` where the given ones write `torch.zeros(x.shape, device=x.device,
    dtype=x.dtype)`; else these (docs.pytorch.org torch.zeros_like: it is equivalent)."""
    create = function.code[made] if made >= 0 else None
    if not isinstance(create, p.Call) or called(function, made) not in _ALIKE:
        return edits
    if len(create.args) != 1 or create.keywords or any(create.stars):
        return edits
    shape = _SHAPE.fullmatch(function.outer_text(create.args[0]))
    if shape is None:
        return edits
    given = {f"device={shape[1]}.device", f"dtype={shape[1]}.dtype"}
    for one in edits:
        parts = {part.strip().replace(" = ", "=") for part in one.text.split(",")} - {""}
        if one.start == one.end and parts == given:
            name = Edit(*function.span(create.function), f"{function.text(create.function)}_like")
            other = Edit(*function.outer_span(create.args[0]), shape[1])
            return (name, other, *(edit for edit in edits if edit is not one))
    return edits
