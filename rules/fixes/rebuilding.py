"""The fixes of lists of device values: a tensor made of them again is stacked, and rows are read at once."""

from __future__ import annotations

import re

from transferlint.flow.facts import FunctionFacts
from transferlint.flow.lattice.transfers import NUMBER, SCALAR_READ, Transfer
from transferlint.flow.lattice.values import CONTAINER, ON_DEVICE, TENSOR
from transferlint.knowledge.torch import CASTS
from transferlint.model import Edit, Fix, Safety
from transferlint.syntax import program as p

from ..code import importing, rewriting
from ..code.chains import called, method

_MAKERS = frozenset({"torch.tensor", "torch.as_tensor", *CASTS})


def restacked(function: FunctionFacts, transfer: Transfer) -> Fix | None:
    """`torch.tensor(values, device=d)` to `torch.stack(values)`, for a list of tensors of the device without
    dimensions; only shown, as nothing says that they have none."""
    reg = transfer.register
    made, name = function.code[reg], called(function, reg)
    if transfer.kind not in (SCALAR_READ, NUMBER) or name not in _MAKERS or not isinstance(made, p.Call):
        return None
    if len(made.args) != 1 or any(made.stars) or {key for key, _ in made.keywords} - {"dtype", "device"}:
        return None
    value = function.values[made.args[0]]
    item = value.item
    if value.kinds != CONTAINER or item is None or not item.is_a(TENSOR) or not item.places & ON_DEVICE:
        return None
    torch, imports = importing.torch_name(function, reg)
    start, end = function.span(reg)
    if not torch or not function.has_text(made.args[0]):
        return None
    if function.file.spans.commented(start, end):
        return None
    text = f"{torch}.stack({function.outer_text(made.args[0])})"
    wanted = next((function.text(r) for key, r in made.keywords if key == "dtype"), "")
    if re.fullmatch(r"[\w.]+", wanted):
        text += f".to({wanted})"
    elif wanted:
        return None
    if name in CASTS:
        text += f".{CASTS[name]}()"
    return Fix("stack them on the device", Safety.DISPLAY, (*imports, Edit(start, end, text)))


def rows(function: FunctionFacts, transfer: Transfer) -> Fix | None:
    """`[x[i].tolist() for i in range(len(x))]` to `x.tolist()`."""
    reg, row = transfer.register, transfer.subject
    users = function.users(reg)
    made = function.code[users[0]] if len(users) == 1 else None
    part = function.code[row] if row is not None else None
    if method(function, reg) != "tolist" or not isinstance(made, p.Collect) or not isinstance(part, p.Subscript):
        return None
    index, loop = function.code[part.index], function.function.regions[made.region]
    whole = rewriting.operand(function, part.object)
    over = function.code[loop.test] if loop.test is not None else None
    if not isinstance(over, p.Call) or len(over.args) != 1 or called(function, loop.test or 0) != "builtins.range":
        return None
    asked = "".join(function.text(over.args[0]).split())
    turns = isinstance(index, p.Load) and loop.target_slots == (index.slot,)
    named = isinstance(function.code[part.object], p.Load)
    plain = made.kind == "list" and function.region(reg) == made.region and named
    start, end = function.span(users[0])
    if not turns or not plain or "#" in function.file.text[start:end] or " if " in function.file.text[start:end]:
        return None
    if asked not in (f"len({whole})", f"{whole}.shape[0]", f"{whole}.size(0)", f"{whole}.size()[0]"):
        return None
    return Fix("read all of it in one copy", Safety.DISPLAY, (Edit(start, end, f"{whole}.tolist()"),))
