"""The fix of a list of device values that is made a tensor again: they are stacked where they are."""

from __future__ import annotations

import re

from transferlint.flow.facts import FunctionFacts
from transferlint.flow.transfers import NUMBER, SCALAR_READ, Transfer
from transferlint.flow.values import CONTAINER, ON_DEVICE, TENSOR
from transferlint.model import Edit, Fix, Safety
from transferlint.syntax import program as p

from .chains import called
from .creating import outer
from .importing import torch_name

_TYPES = {"LongTensor": "long", "IntTensor": "int", "FloatTensor": "float", "DoubleTensor": "double"}
_MAKERS = frozenset({"torch.tensor", "torch.as_tensor"}) | {f"torch.{name}" for name in _TYPES}


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
    torch, imports = torch_name(function, reg)
    start, end = function.span(reg)
    if not torch or not function.has_text(made.args[0]):
        return None
    if function.file.spans.commented(start, end):
        return None
    text = f"{torch}.stack({outer(function, made.args[0])})"
    wanted = next((function.text(r) for key, r in made.keywords if key == "dtype"), "")
    if re.fullmatch(r"[\w.]+", wanted):
        text += f".to({wanted})"
    elif wanted:
        return None
    if (last := name.rpartition(".")[2]) in _TYPES:
        text += f".{_TYPES[last]}()"
    return Fix("stack them on the device", Safety.DISPLAY, (*imports, Edit(start, end, text)))
