"""The fixes of an index on the host: make it on the device, or take a slice or the rows by themselves."""

from __future__ import annotations

from transferlint.flow.facts import FunctionFacts
from transferlint.flow.lattice.transfers import Transfer
from transferlint.flow.lattice.values import ON_DEVICE
from transferlint.model import Edit, Fix, Safety
from transferlint.syntax import program as p
from transferlint.syntax.program import Reg

from ..code import importing
from ..code.chains import captured, method, origin
from ..proofs import altering, proven
from . import creating

_SHAPES = frozenset("view reshape flatten squeeze unsqueeze long int clone contiguous".split())
_INDICES = (p.Sequence, p.Subscript, p.Binary, p.Compare, p.Attr)
_MOST = 4  # rows that are worth a stack


def indexed(function: FunctionFacts, transfer: Transfer) -> p.Subscript | p.SetItem:
    """The instruction that indexes."""
    made = function.code[transfer.register]
    assert isinstance(made, p.Subscript | p.SetItem)
    return made


def index_fix(function: FunctionFacts, transfer: Transfer) -> Fix | None:
    """The fix of an index on the host, safe or not; None where there is none."""
    made = indexed(function, transfer)
    assert transfer.subject is not None
    if not _plain(function, made.object):
        return None
    index = function.code[transfer.subject]
    if isinstance(index, p.Call):
        edit = creating.added_device(function, transfer.subject, f"{function.text(made.object)}.device")
        safe = creating.exact(function, index) and _surely(function, made.object, transfer.subject)
        safety = Safety.SAFE if safe else Safety.DISPLAY
        return Fix("create the index on the device", safety, (edit,)) if edit is not None else None
    if isinstance(made, p.Subscript) and (fix := _without_list(function, made, transfer)) is not None:
        return fix
    return _made_before(function, made.object, transfer.subject)


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
    edit = creating.added_device(function, maker, f"{function.text(base)}.device")
    return Fix("create the index on the device", Safety.DISPLAY, (edit,)) if edit is not None else None


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
    _, start, end = outer(function, transfer.subject)
    if values == list(range(values[0], values[0] + len(values))) and (values[0] >= 0 or values == [-1]):
        last = "" if values == [-1] else str(values[-1] + 1)
        edits = [Edit(start, end, f"{values[0] or ''}:{last}")]
        if altering.altered(function, transfer.register) and not _in_place(function, transfer.register):
            stop = function.span(transfer.register)[1]
            edits.append(Edit(stop, stop, ".clone()"))
        return Fix("take a slice", Safety.UNSAFE, tuple(edits))
    whole = function.span(transfer.register)
    torch, imports = importing.torch_name(function, transfer.register)
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


def outer(function: FunctionFacts, reg: Reg) -> tuple[str, int, int]:
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
