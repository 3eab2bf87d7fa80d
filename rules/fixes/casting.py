"""The cast that belongs to a creation: `torch.zeros(n).to(d).to(t)` is `torch.zeros(n, device=d, dtype=t)`."""

from __future__ import annotations

import re

from transferlint import late
from transferlint.flow.facts import FunctionFacts
from transferlint.flow.lattice.values import DTYPE, TENSOR
from transferlint.flow.sharing import path
from transferlint.model import Edit
from transferlint.syntax import program as p
from transferlint.syntax.program import Reg

from ..code import bindings, rewriting
from ..code.chains import called, method, user
from ..proofs import widths
from . import creating

NAMES = {"char": "int8", "byte": "uint8"}  # the methods whose dtype is called otherwise
_VIEWS = frozenset("unsqueeze squeeze view reshape flatten t transpose permute detach contiguous expand repeat".split())
_CONSTANT = frozenset({"zeros", "ones", "eye", "empty"})
_RANDOM = frozenset({"rand", "randn"})
_DTYPE = late.pattern(r"(?:^|[._])dtype$")


@late.dataclass(frozen=True, slots=True)
class Cast:
    """The one cast of what is created; `edits` take it away, none where the move itself makes it."""

    dtype: str
    edits: tuple[Edit, ...]


def cast_of(function: FunctionFacts, made: Reg, moved: Reg) -> Cast | None:
    """The cast in the chain of calls behind a creation, with nothing but the move and views beside it; None where there
    is none, or several."""
    found: list[Cast] = []
    at = made
    while (following := user(function, at)) is not None and function.has_text(following):
        call = function.code[following]
        if not isinstance(call, p.Call) or not method(function, following):
            break
        dtype = _of_move(function, call) if following == moved else _dtype(function, following, call, made)
        if dtype:
            cut = None if following == moved else rewriting.after(function, following, at)
            if cut is None and following != moved:
                return None
            found.append(Cast(dtype, () if cut is None else (cut,)))
        elif following != moved and method(function, following) not in _VIEWS:
            break
        at = following
    return found[0] if len(found) == 1 and not re.search(r"[\n\r#]", found[0].dtype) else None


def _dtype(function: FunctionFacts, reg: Reg, call: p.Call, made: Reg) -> str:
    """The text of the dtype that a call casts to, "" for other calls."""
    name = method(function, reg)
    given = [*call.args, *(r for _, r in call.keywords)]
    if name in widths.CASTS and not given:
        create = function.code[made]
        head = function.text(create.function).rpartition(".")[0] if isinstance(create, p.Call) else ""
        return f"{head.removesuffix('.cuda')}.{NAMES.get(name, name)}" if head else ""
    if name == "type_as" and len(given) == 1 and path(function, given[0]) is not None:
        return f"{function.outer_text(given[0])}.dtype"
    if name not in ("to", "type") or len(given) != 1 or {key for key, _ in call.keywords} - {"dtype"}:
        return ""
    return function.outer_text(given[0]) if _is_dtype(function, given[0]) else ""


def _of_move(function: FunctionFacts, call: p.Call) -> str:
    given = [*call.args, *(r for _, r in call.keywords)]
    if len(given) == 1 and function.values[given[0]].is_a(TENSOR) and path(function, given[0]) is not None:
        return f"{function.outer_text(given[0])}.dtype"
    return next((function.outer_text(r) for r in given if _is_dtype(function, r)), "")


def _is_dtype(function: FunctionFacts, reg: Reg) -> bool:
    value = function.values[reg]
    return value.kinds == DTYPE or (not value.kinds & TENSOR and bool(_DTYPE.search(function.text(reg))))


def created_as(function: FunctionFacts, made: Reg, device: str, cast: Cast) -> tuple[Edit, ...] | None:
    """The edits that make a tensor on a device and of the type that it is cast to; None where its numbers might be
    others then, or where the text does not allow it."""
    create = function.code[made]
    assert isinstance(create, p.Call)
    root, _, last = called(function, made).rpartition(".")
    if root != "torch" or not _takes(function, create, last, cast.dtype.rpartition(".")[2]):
        return None
    given = dict(create.keywords).get("dtype")
    if given is None:
        edit = creating.added_device(function, made, device, f"dtype={cast.dtype}")
        return None if edit is None else (edit,)
    named = bindings.api(function, given).removeprefix("torch.")
    edit = creating.added_device(function, made, device)
    if edit is None or (last not in _CONSTANT and named not in widths.FRACTIONS):
        return None
    return Edit(*function.span(given), cast.dtype), edit


def _takes(function: FunctionFacts, create: p.Call, maker: str, dtype: str) -> bool:
    """True where the function makes the same in another type: numbers as they are, no steps of fractions, and random
    ones where that type has fractions."""
    if maker in _CONSTANT | {"full"}:
        return True
    if maker == "tensor":
        return bool(create.args) and not function.values[create.args[0]].kinds & TENSOR
    if maker == "arange":
        whole = [*create.args, *(r for key, r in create.keywords if key in ("start", "end", "step"))]
        return dtype != "bool" and all(creating.integer(function, r) for r in whole)
    return maker in _RANDOM and (dtype in widths.FRACTIONS or dtype == "dtype")
