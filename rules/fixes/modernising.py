"""The function that makes what one of the old constructors makes (`torch.LongTensor`), on the device."""

from __future__ import annotations

import re

from transferlint.flow.facts import FunctionFacts
from transferlint.flow.lattice.values import ARRAY, CONTAINER, HOST_VALUE, TENSOR, UNKNOWN
from transferlint.model import Edit, Safety
from transferlint.syntax import program as p
from transferlint.syntax.program import Reg

from ..code import arguments
from ..code.chains import called
from . import creating, filling

# docs.pytorch.org "torch.Tensor": the constructors of the old kind, and the dtype of each (that of `Tensor` is the
# default one, which a program may change).
LEGACY = {
    "LongTensor": "long", "IntTensor": "int", "ShortTensor": "short", "CharTensor": "int8", "ByteTensor": "uint8",
    "BoolTensor": "bool", "HalfTensor": "half", "FloatTensor": "float", "DoubleTensor": "double", "Tensor": "float",
}  # fmt: skip


def modernised(
    function: FunctionFacts, made: Reg, device: str, dtype: str = ""
) -> tuple[tuple[Edit, ...], Safety] | None:
    """`torch.LongTensor([n])` to `torch.tensor([n], dtype=torch.long, device=d)`, and `torch.LongTensor(n, m)`, whose
    values are what was in memory, to `torch.empty(n, m, dtype=torch.long, device=d)`. `dtype` is one that it is cast to
    at once, "" for none."""
    create = function.code[made]
    assert isinstance(create, p.Call)
    root, _, last = called(function, made).rpartition(".")
    given = [*create.args, *(r for _, r in create.keywords)]
    if root not in ("torch", "torch.cuda") or last not in LEGACY or not given or any(create.stars):
        return None
    if any(key != "data" for key, _ in create.keywords) or (create.keywords and create.args):
        return None
    head = function.text(create.function)
    prefix = head.removesuffix(f"{'cuda.' if root == 'torch.cuda' else ''}{last}")
    maker, safety = _maker(function, given)
    content: tuple[Edit, ...] = ()
    filled = filling.filling(function, given[0], prefix, "dtype") if maker == "tensor" and create.args else None
    filled = None if filled is not None and filled.shape == "()" else filled
    plain = last == "Tensor" and maker == "empty"
    if filled is not None:
        maker, plain = filled.maker, plain or (last == "Tensor" and maker != "full")
        content = (Edit(*function.outer_span(given[0]), filling.spread(function, given[0], filled.arguments)),)
    typed = [f"dtype={dtype or prefix + LEGACY[last]}"] if dtype or not plain else []
    edit = arguments.added(function, made, *typed, f"device={device}")
    if not re.fullmatch(r"\w+\.", prefix) or not maker or edit is None:
        return None
    return (Edit(*function.span(create.function), f"{prefix}{maker}"), *content, edit), safety


def _maker(function: FunctionFacts, given: list[Reg]) -> tuple[str, Safety]:
    """The function that makes what an old constructor makes of its arguments: data, or sizes."""
    value, made = function.values[given[0]], function.code[given[0]]
    items = function.code[made.left] if isinstance(made, p.Binary) and made.operator == "*" else made
    listed = isinstance(items, p.Sequence | p.Collect) or (value.kinds and not value.kinds & ~(CONTAINER | ARRAY))
    if listed and len(given) == 1:
        known = not isinstance(items, p.Sequence) or not any(_maybe_tensor(function, r) for r in items.items)
        return "tensor", Safety.UNSAFE if known else Safety.DISPLAY
    if len(given) > 1 or creating.integer(function, given[0]):
        sizes = not any(function.values[r].kinds & (TENSOR | ARRAY | CONTAINER) for r in given)
        return ("empty" if sizes else "", Safety.UNSAFE)
    if value.kinds & (TENSOR | HOST_VALUE) and not value.kinds & UNKNOWN:
        return "", Safety.SAFE
    return "tensor", Safety.DISPLAY


def _maybe_tensor(function: FunctionFacts, reg: Reg) -> bool:
    """True for an element of a list that may be a tensor, which `torch.tensor` reads to the host."""
    return bool(function.values[reg].kinds & TENSOR) or isinstance(function.code[reg], p.Subscript)
