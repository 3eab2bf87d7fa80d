"""Whether a function is seen to write to a value in place, or to keep it: then two that share memory are not the same
as two that do not."""

from __future__ import annotations

from collections.abc import Iterator

from transferlint.flow.facts import FunctionFacts
from transferlint.flow.lattice.values import TENSOR, UNKNOWN
from transferlint.flow.sharing import TENSOR_ATTRIBUTES
from transferlint.knowledge.torch_names import VIEWS
from transferlint.syntax import program as p
from transferlint.syntax.program import Reg

from ..code.chains import method

_KEEPS = frozenset({"append", "add", "insert", "appendleft", "setdefault"})
_MOST = 60  # registers to follow


def altered(function: FunctionFacts, reg: Reg) -> bool:
    """True where a value, under the names and through the views that this function gives it, is written in place
    (docs.pytorch.org "In-place semantics") or put into a container or an attribute, where it may be written later.
    What is handed to other functions is not followed."""
    pending, seen = [reg], set[Reg]()
    while pending and len(seen) < _MOST:
        at = pending.pop()
        if at in seen:
            continue
        seen.add(at)
        for user in function.users(at):
            if _alters(function, at, user):
                return True
            pending += _shares(function, at, user)
    return False


def _alters(function: FunctionFacts, reg: Reg, user: Reg) -> bool:
    made = function.code[user]
    if isinstance(made, p.SetItem | p.SetAttr):
        return reg in (made.object, made.value)
    if isinstance(made, p.Binary):
        return made.inplace and made.left == reg and bool(function.values[reg].kinds & (TENSOR | UNKNOWN))
    if isinstance(made, p.Attr):
        return made.name.endswith("_") and not made.name.startswith("_") and bool(function.users(user))
    if isinstance(made, p.Call) and made.function != reg:
        kept = reg in made.args and method(function, user) in _KEEPS
        return kept or any(key == "out" and value == reg for key, value in made.keywords)
    return False


def _shares(function: FunctionFacts, reg: Reg, user: Reg) -> Iterator[Reg]:
    """The registers that share a value's memory after one use of it."""
    made = function.code[user]
    if isinstance(made, p.Store):
        yield from function.loads(made.slot)
    elif isinstance(made, p.Subscript):
        yield from [user] if made.object == reg else []
    elif isinstance(made, p.Attr) and made.name in TENSOR_ATTRIBUTES:
        yield user
    elif isinstance(made, p.Attr) and made.name in VIEWS:
        yield from (r for r in function.users(user) if method(function, r) == made.name)
