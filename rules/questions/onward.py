"""What happens in the same expression to a tensor that is on the device."""

from __future__ import annotations

from transferlint.flow.facts import FunctionFacts
from transferlint.flow.lattice.values import TENSOR
from transferlint.model import Edit
from transferlint.syntax import program as p
from transferlint.syntax.program import Reg

from ..code import rewriting
from ..code.chains import called, method, receiver, user


def moved_again(function: FunctionFacts, moved: Reg) -> tuple[Edit, ...]:
    """The edits that take away further moves to the place to which `moved` moves a tensor, of what is computed from it
    by functions of torch: `f(torch.arange(n, device=d), lengths).to(d)`. Operands elsewhere would have been refused."""
    place = _place(function, moved)
    found: list[Edit] = []
    at = moved
    while place and (following := user(function, at)) is not None and function.has_text(following):
        if _place(function, following) == place and receiver(function, following) == at:
            cut = rewriting.after(function, following, at)
            if cut is not None and not function.file.spans.commented(cut.start, cut.end):
                found.append(cut)
        elif not _of_torch(function, following):
            break
        at = following
    return tuple(found)


def _place(function: FunctionFacts, reg: Reg) -> str:
    """What a move of one argument names; "" for what is none."""
    made = function.code[reg]
    if not isinstance(made, p.Call) or method(function, reg) not in ("to", "cuda") or any(made.stars):
        return ""
    given = [value for key, value in made.keywords if key != "non_blocking"] + list(made.args)
    if method(function, reg) == "cuda":
        return "" if given else '"cuda"'
    if len(given) != 1 or {key for key, _ in made.keywords} - {"device", "non_blocking"}:
        return ""
    return function.outer_text(given[0])


def _of_torch(function: FunctionFacts, reg: Reg) -> bool:
    """True for an operation whose result is a tensor where its operands are."""
    made = function.code[reg]
    if isinstance(made, p.Sequence):
        return True  # what takes it takes tensors of one place
    if isinstance(made, p.Binary | p.Unary | p.Subscript):
        return bool(function.values[reg].kinds & TENSOR)
    if not isinstance(made, p.Call) or any(key == "device" for key, _ in made.keywords):
        return False
    if method(function, reg):
        return method(function, reg) not in ("to", "cuda", "cpu", "type") and function.values[reg].is_a(TENSOR)
    return called(function, reg).startswith("torch.") and function.values[reg].is_a(TENSOR)
