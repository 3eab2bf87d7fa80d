"""A device tensor is indexed with host data.

What it does
------------
Reports `x[[2, 1, 0]]` and `x[index]` in hot code, read or written, where `x` is a tensor on the device and the index a
Python list or a tensor on the host that has a dimension.

Why
---
The index is made into a tensor, where it is not one, and copied to the device each time: an upload from pageable memory
that the source does not show, and the host waits for it (aten/src/ATen/native/TensorAdvancedIndexing.cpp,
aten/src/ATen/native/IndexingUtils.h: indices move to the device of `self`).

Example
-------
    def forward(self, x, last):
        return x[torch.arange(x.size(0)), last]

Use instead
-----------
    def forward(self, x, last):
        return x[torch.arange(x.size(0), device=x.device), last]

A constant index is a slice, a `flip`, a `stack` of its rows, or a buffer of the module.

When it is fine
---------------
Once, behind an interval, or where the index is a number: `x[0]`, `x[i, :n]` and a 0-d tensor of the host need no
upload. None of these is reported.

Fix safety
----------
An index that is made in the brackets by a function of torch is given `device=x.device`: safe where it has the same
values there and `x` is proven to be a tensor. Numbers in a list that follow each other become a slice, others a
`torch.stack` of the rows: unsafe, for a slice is a view of `x` (cloned where the function is seen to write to it), and
the stack is laid out otherwise in memory. Unsafe too, where a function of torch makes an index further up, of which
nothing but indices is made: on the device another generator draws it. Only shown in a file that defines a data set,
where nothing shows that the tensor is on the device. An index that comes from elsewhere has no automatic fix.

See also
--------
- TL304 for masks
- TL104 for lists that are uploaded by name
- https://docs.pytorch.org/docs/stable/tensors.html
- https://docs.pytorch.org/docs/stable/generated/torch.index_select.html
- https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

from transferlint.flow.facts import FileFacts, FunctionFacts
from transferlint.flow.transfers import HOST_INDEX, MOVE, Transfer
from transferlint.flow.values import ARRAY, CONTAINER, DEVICE, HOST, ON_DEVICE, TENSOR, UNKNOWN
from transferlint.model import Confidence, Edit, Finding, Fix, Safety
from transferlint.rule import Example, Rule
from transferlint.syntax import program as p
from transferlint.syntax.program import Reg

from . import proven
from .altering import altered
from .chains import captured, method, origin, user
from .creating import added_device, exact
from .detection import brief, clusters, hot, only_shown, others, put_there, together
from .dimensions import dimensional
from .importing import torch_name

_SHAPES = frozenset("view reshape flatten squeeze unsqueeze long int clone contiguous".split())
_INDICES = (p.Sequence, p.Subscript, p.Binary, p.Compare, p.Attr)
_MOST = 4  # rows that are worth a stack


def detect(facts: FileFacts) -> Iterator[Finding]:
    """Indices on the host, of tensors on the device, in hot code."""
    found = (pair for pair in hot(facts, HOST_INDEX) if _needs_upload(*pair))
    for function, group in clusters(found):
        first = group[0]
        base = function.values[_indexed(function, first).object]
        assert first.subject is not None
        yield function.finding(
            first.register,
            f"`{brief(_outer(function, first.subject)[0])}` is on the host and indexes a device tensor: it is uploaded"
            f" {function.warmth(first.register).level.words}",
            "make the index on the device, once, or use a slice",
            (*function.why(base), *others(function, group)),
            Confidence.CERTAIN if base.places == DEVICE else Confidence.LIKELY,
            _gains(function, group, together(function, group, [_fix(function, t) for t in group])),
        )


def _gains(function: FunctionFacts, group: list[Transfer], fix: Fix | None) -> Fix | None:
    """The fix, only shown beside the code of a data set, whose tensors are on the host, where the function does not
    show that this one is on the device."""
    of_data = any(info.data for info in function.file.placement.classes.values())
    there = all(put_there(function, _indexed(function, one).object) for one in group)
    return only_shown(fix) if of_data and not there else fix


def _indexed(function: FunctionFacts, transfer: Transfer) -> p.Subscript | p.SetItem:
    made = function.code[transfer.register]
    assert isinstance(made, p.Subscript | p.SetItem)
    return made


def _needs_upload(function: FunctionFacts, transfer: Transfer) -> bool:
    """True where the tensor is on the device on every path that says something, and the index no number in disguise."""
    base = function.values[_indexed(function, transfer).object]
    if function.warmth(transfer.register).weak or base.places & HOST or not base.is_a(TENSOR | UNKNOWN):
        return False
    assert transfer.subject is not None
    following = user(function, transfer.register)
    if any(t.register == following and t.kind == MOVE and t.places & ON_DEVICE for t in function.transfers):
        return False  # `x[index].to(device)`: whoever writes that holds `x` on the host
    return transfer.before.is_a(CONTAINER | ARRAY) or dimensional(function, transfer.subject)


def _fix(function: FunctionFacts, transfer: Transfer) -> Fix | None:
    made = _indexed(function, transfer)
    assert transfer.subject is not None
    if not _plain(function, made.object):
        return None
    index = function.code[transfer.subject]
    if isinstance(index, p.Call):
        edit = added_device(function, transfer.subject, f"{function.text(made.object)}.device")
        safe = exact(function, index) and _surely(function, made.object, transfer.subject)
        half = _beside_others(function, made.index, transfer.subject)
        safety = Safety.SAFE if safe else Safety.DISPLAY if half else Safety.UNSAFE
        return Fix("make the index on the device", safety, (edit,)) if edit is not None else None
    if isinstance(made, p.Subscript) and (fix := _without_list(function, made, transfer)) is not None:
        return fix
    fix = _made_before(function, made.object, transfer.subject)
    half = fix is not None and _beside_others(function, made.index, transfer.subject)
    return dataclasses.replace(fix, safety=Safety.DISPLAY) if fix is not None and half else fix


def _beside_others(function: FunctionFacts, index: Reg, own: Reg) -> bool:
    """True where other indices beside this one, made of something else, may be on the host too, and would be uploaded
    as before."""
    made = function.code[index]
    if not isinstance(made, p.Sequence):
        return False
    ours = _slots(function, own)
    others = [function.values[r] for r in made.items if r != own and not _slots(function, r) & ours]
    return any(value.kinds & (TENSOR | UNKNOWN) and not value.places & ON_DEVICE for value in others)


def _slots(function: FunctionFacts, reg: Reg) -> set[int]:
    return {made.slot for r in function.expression(reg) if isinstance(made := function.code[r], p.Load)}


def _made_before(function: FunctionFacts, base: Reg, index: Reg) -> Fix | None:
    """`ids = torch.triu_indices(n, n)` with `device=`, for an index `ids[0]`, `ids * 2`, where nothing but indices are
    made of it and the tensor is there already."""
    makers = {origin(function, r) for r in function.expression(index) if isinstance(function.code[r], p.Load)}
    makers = {r for r in makers if isinstance(function.code[r], p.Call)}
    if len(makers) != 1:
        return None
    (maker,) = makers
    whole = function.code[base]
    given = isinstance(whole, p.Load) and any(q.slot == whole.slot for q in function.function.parameters)
    stores = function.stores(whole.slot) if isinstance(whole, p.Load) else []
    if not isinstance(whole, p.Load) or (not given and not stores) or any(store > maker for store in stores):
        return None
    users = function.users(maker)
    stored = function.code[users[0]] if len(users) == 1 else None
    if not isinstance(stored, p.Store) or captured(function, stored.slot):
        return None
    loads = function.loads(stored.slot)
    if not all(_only_index(function, r) for r in loads):
        return None
    edit = added_device(function, maker, f"{function.text(base)}.device")
    return Fix("make the index on the device", Safety.UNSAFE, (edit,)) if edit is not None else None


def _only_index(function: FunctionFacts, reg: Reg) -> bool:
    """True where nothing but indices of tensors of the device are made of a value."""
    for at in function.users(reg):
        made = function.code[at]
        if isinstance(made, p.Subscript | p.SetItem) and made.index == reg:
            served = bool(function.values[made.object].places & ON_DEVICE)
        elif isinstance(made, p.Call):
            served = method(function, at) in _SHAPES and _only_index(function, at)
        else:
            served = isinstance(made, _INDICES) and _only_index(function, at)
        if not served:
            return False
    return True


def _plain(function: FunctionFacts, reg: Reg) -> bool:
    """True for a name or an attribute of one: it can be written twice."""
    made = function.code[reg]
    return isinstance(made, p.Load | p.Outer) or (isinstance(made, p.Attr) and _plain(function, made.object))


def _surely(function: FunctionFacts, reg: Reg, index: Reg) -> bool:
    """True for what is proven to be a tensor, and the same one when its device is asked for in the brackets: a plain
    name, and nothing in the index binds it anew. What makes the index must be exact besides (`creating.exact`)."""
    if not isinstance(function.code[reg], p.Load | p.Outer) or not proven.tensor(function, reg):
        return False
    return proven.unchanged(function, reg, reg, index)


def _without_list(function: FunctionFacts, made: p.Subscript, transfer: Transfer) -> Fix | None:
    """`x[:, [2, 1, 0]]` as a stack of `x[:, 2]` and so on, `x[[0, 1]]` as `x[0:2]`; the list must be the only index
    besides whole slices before it, and anything that leaves dimensions alone after it."""
    assert transfer.subject is not None
    index = function.code[transfer.subject]
    parts = function.code[made.index]
    positions = list(parts.items) if isinstance(parts, p.Sequence) and parts.kind == "tuple" else [made.index]
    at = positions.index(transfer.subject) if transfer.subject in positions else -1
    if not isinstance(index, p.Sequence) or at < 0 or any(index.stars):
        return None
    if not all(isinstance(function.code[r], p.Slice) for r in positions if r != transfer.subject):
        return None
    numbers = [_number(function, r) for r in index.items]
    values = [n for n in numbers if n is not None]
    if not values or len(values) < len(numbers) or any(e for e in _comments(function, transfer.register)):
        return None
    _, start, end = _outer(function, transfer.subject)
    if values == list(range(values[0], values[0] + len(values))) and (values[0] >= 0 or values == [-1]):
        last = "" if values == [-1] else str(values[-1] + 1)
        edits = [Edit(start, end, f"{values[0] or ''}:{last}")]
        if altered(function, transfer.register) and not _in_place(function, transfer.register):
            stop = function.span(transfer.register)[1]
            edits.append(Edit(stop, stop, ".clone()"))
        return Fix("take a slice", Safety.UNSAFE, tuple(edits))
    whole = function.span(transfer.register)
    torch, imports = torch_name(function, transfer.register)
    if len(values) > _MOST or not torch:
        return None
    text = function.file.text
    rows = ", ".join(f"{text[whole[0] : start]}{n}{text[end : whole[1]]}" for n in values)
    return Fix("stack the rows", Safety.DISPLAY, (*imports, Edit(*whole, f"{torch}.stack([{rows}], dim={at})")))


def _in_place(function: FunctionFacts, reg: Reg) -> bool:
    """True for the part that an augmented assignment reads and sets: a slice is set through just as well."""
    made = function.code[reg]
    if isinstance(made, p.SetItem):
        return True
    users = (function.code[user] for user in function.users(reg))
    return all(isinstance(one, p.Binary) and one.inplace and one.left == reg for one in users)


def _outer(function: FunctionFacts, reg: Reg) -> tuple[str, int, int]:
    """The text of a register with its own parentheses, and its offsets."""
    start, end = function.outer_span(reg)
    return function.file.text[start:end], start, end


def _number(function: FunctionFacts, reg: Reg) -> int | None:
    made = function.code[reg]
    if isinstance(made, p.Unary) and made.operator == "-":
        inner = _number(function, made.operand)
        return -inner if inner is not None else None
    return made.value if isinstance(made, p.Const) and type(made.value) is int else None


def _comments(function: FunctionFacts, reg: Reg) -> list[tuple[int, int]]:
    start, end = function.span(reg)
    return [span for span in function.file.spans.comments() if start < span[1] and span[0] < end]


RULE = Rule(
    code="TL305",
    name="host-index",
    summary="a device tensor indexed with a Python list or a host tensor",
    category="hidden-sync",
    default=True,
    fix_safety=Safety.SAFE,
    since="0.1.0",
    examples=(
        Example(
            bad="""\
import torch

device = torch.device("cuda")
x = torch.ones(4, 3, device=device)
last = torch.zeros(4, dtype=torch.long, device=device)
for step in range(10):
    x = x + x[torch.arange(4), last].sum()  # expect: TL305
""",
            good="""\
import torch

device = torch.device("cuda")
x = torch.ones(4, 3, device=device)
last = torch.zeros(4, dtype=torch.long, device=device)
rows = torch.arange(4, device=device)
for step in range(10):
    x = x + x[rows, last].sum() + x[0].sum()
""",
            fixed="""\
import torch

device = torch.device("cuda")
x = torch.ones(4, 3, device=device)
last = torch.zeros(4, dtype=torch.long, device=device)
for step in range(10):
    x = x + x[torch.arange(4, device=x.device), last].sum()
""",
        ),
        Example(
            bad="""\
import torch


class Swap(torch.nn.Module):
    def forward(self, images: torch.Tensor):
        return images[:, [2, 1, 0]] / 255  # expect: TL305
""",
            good="""\
import torch


class Swap(torch.nn.Module):
    def forward(self, images: torch.Tensor):
        return images.flip(1) / 255
""",
        ),
    ),
    detect=detect,
    advice=(("cupy", "keep the index on the device: `cp.asarray(index)` once, before the loop"),),
    doc=__doc__,
)
