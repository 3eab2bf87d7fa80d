"""The fix that makes a tensor on the device where it was made on the host and moved."""

from __future__ import annotations

import re

from transferlint.flow.facts import FunctionFacts
from transferlint.flow.transfers import Transfer
from transferlint.flow.values import CONTAINER, DEVICE_NAME, DTYPE, INTEGER, TENSOR
from transferlint.knowledge.roles import DEVICE_WORDS
from transferlint.model import Edit, Fix, Safety
from transferlint.syntax import program as p
from transferlint.syntax.program import Reg

from .arguments import added

_RANDOM = frozenset({"rand", "randn", "randint", "randperm", "rand_like", "randn_like"})
_UNCERTAIN = frozenset({"empty", "empty_like", "linspace", "logspace"})  # by chance, or rounded otherwise on the device
_EXACT = frozenset({"zeros", "ones", "full", "eye", "tensor", "arange", "zeros_like", "ones_like", "full_like"})
_INDICES = frozenset({"torch.triu_indices", "torch.tril_indices"})
MAKERS = _EXACT | _UNCERTAIN | _RANDOM
_CONSTANT = frozenset({"zeros", "ones", "eye", "zeros_like", "ones_like"})  # the same in every dtype
_KEYWORDS = frozenset(
    {"dtype", "requires_grad", "size", "fill_value", "input", "start", "end", "step", "steps", "n", "m", "high", "low"}
    | {"base", "data", "layout"}
)
_WHOLE = ("long", "int", "int8", "int16", "int32", "int64", "short", "uint8", "float64", "double")


def make_there(function: FunctionFacts, transfer: Transfer) -> Fix | None:
    """`torch.zeros(n).to(d)` to `torch.zeros(n, device=d)`: only where creation and move are one expression of two
    calls, and where the new text is sure to mean that."""
    made = transfer.before.why[0]
    move, create = function.code[transfer.register], function.code[made]
    if transfer.subject != made or not isinstance(move, p.Call) or not isinstance(create, p.Call):
        return None
    last = _creator(function, create)
    attribute = function.code[move.function]
    if not last or not isinstance(attribute, p.Attr) or binds(function, made, transfer.register):
        return None
    given = _given(function, move, attribute.name, last, create)
    if given is None:
        return None
    end, outer_end = function.span(made)[1], function.span(transfer.register)[1]
    if not re.match(r"[\s\\]*\.[\s\\]*(to|cuda)[\s\\]*\(", function.file.text[end:outer_end]):
        return None  # brackets of its own around the creation
    edit = added(function, made, given)
    if edit is None or any(e >= end and s < outer_end for s, e in function.file.spans.comments()):
        return None
    edits = (edit, Edit(end, outer_end, ""))
    safety = Safety.SAFE if _same(function, move, create, last) else Safety.UNSAFE
    return Fix("make it on the device", safety, edits)


def added_device(function: FunctionFacts, reg: Reg, device: str, *more: str) -> Edit | None:
    """`device=...`, and `more`, added to the arguments of a function of torch that makes a tensor; None where it cannot
    take it or says one already."""
    create = function.code[reg]
    if not isinstance(create, p.Call) or create.stars:
        return None
    name = function.file.placement.names.dotted(function.function, create.function)
    if not _creator(function, create) and (name not in _INDICES or any(key == "device" for key, _ in create.keywords)):
        return None
    return added(function, reg, f"device={device}", *more)


def exact(function: FunctionFacts, create: p.Call) -> bool:
    """True where the device makes the same values as the host."""
    last = _creator(function, create)
    return last in _EXACT and (last != "arange" or _whole(function, create))


def _creator(function: FunctionFacts, create: p.Call) -> str:
    """The function of torch that makes the tensor, "" where it cannot take `device=` as well: a generator is the
    host's, `out` is where it is, and pinned memory is host memory."""
    name = function.file.placement.names.dotted(function.function, create.function)
    last = name.rpartition(".")[2]
    if name != f"torch.{last}" or last not in MAKERS or not {k for k, _ in create.keywords} <= _KEYWORDS:
        return ""
    if any(isinstance(function.code[r], p.Collect) and not _bracketed(function, r) for r in create.args):
        return ""
    return last


def _bracketed(function: FunctionFacts, reg: Reg) -> bool:
    made = function.code[reg]
    return isinstance(made, p.Collect) and made.kind != "generator"


def binds(function: FunctionFacts, made: Reg, moved: Reg) -> bool:
    """True where the arguments of the move do more than name a place: `.to(d := x.device)`."""
    return any(isinstance(i, p.Store | p.StoreOuter | p.Yield | p.Await) for i in function.code[made:moved])


def _same(function: FunctionFacts, move: p.Call, create: p.Call, last: str) -> bool:
    """True where the device makes the same values as the host, and nothing else tells the difference."""
    keywords = dict(create.keywords)
    if last not in _EXACT or "requires_grad" in keywords or "layout" in keywords:
        return False  # what requires a gradient becomes the leaf itself
    if last == "arange" and not _whole(function, create):
        return False
    return all(plain(function, r) for r in (*move.args, *(r for _, r in move.keywords)))


def _whole(function: FunctionFacts, create: p.Call) -> bool:
    """True for an `arange` of integers, or from 0 by 1; fractions may be rounded otherwise on the device."""
    if any(create.stars):
        return False
    bounds = [*create.args, *(r for key, r in create.keywords if key in ("start", "end", "step"))]
    for key, reg in create.keywords:
        if key == "dtype" and function.text(reg).rpartition(".")[2] not in _WHOLE:
            return False
    if len(create.args) == len(bounds) == 1 and not isinstance(function.code[bounds[0]], p.Const):
        return True
    return all(integer(function, r) for r in bounds)


def integer(function: FunctionFacts, reg: Reg, depth: int = 8) -> bool:
    """True for what is an integer of the host for certain: counts, lengths, sizes, and sums and products of them."""
    made = function.code[reg]
    if isinstance(made, p.Const):
        return type(made.value) is int
    if function.values[reg].flags & INTEGER:
        return True
    if depth == 0:
        return False
    if isinstance(made, p.Load):
        stores = [function.code[r] for r in function.stores(made.slot)]
        given = any(q.slot == made.slot for q in function.function.parameters)
        values = [s.value for s in stores if isinstance(s, p.Store)]
        return bool(values) and not given and all(integer(function, r, depth - 1) for r in values)
    if isinstance(made, p.Binary) and made.operator in ("+", "-", "*", "//", "%"):
        return integer(function, made.left, depth - 1) and integer(function, made.right, depth - 1)
    if isinstance(made, p.Unary) and made.operator == "-":
        return integer(function, made.operand, depth - 1)
    if isinstance(made, p.Call):
        return _size(function, made, 1) or (
            function.file.placement.names.dotted(function.function, made.function) in ("builtins.len", "builtins.int")
        )
    if isinstance(made, p.Subscript | p.Unpack):
        whole = function.code[made.object if isinstance(made, p.Subscript) else made.value]
        return (isinstance(whole, p.Attr) and whole.name == "shape") or _size(function, whole, 0)
    return False


def _size(function: FunctionFacts, made: p.Instruction, arguments: int) -> bool:
    """True for `t.size(0)`, or `t.size()` where `arguments` is 0."""
    if not isinstance(made, p.Call) or made.keywords or len(made.args) != arguments:
        return False
    callee = function.code[made.function]
    return isinstance(callee, p.Attr) and callee.name == "size" and function.values[callee.object].is_a(TENSOR)


def plain(function: FunctionFacts, reg: Reg) -> bool:
    """True for the name of a place or dtype that is neither None nor computed by a call."""
    made = function.code[reg]
    if isinstance(made, p.Const):
        return made.value is not None
    if isinstance(made, p.Call):
        called = function.file.placement.names.dotted(function.function, made.function)
        return called == "torch.device" and all(plain(function, r) for r in made.args)
    return isinstance(made, p.Load | p.Outer | p.Attr) and not function.values[reg].kinds & (TENSOR | CONTAINER)


def _given(function: FunctionFacts, move: p.Call, method: str, last: str, create: p.Call) -> str | None:
    """What to write in the creation's brackets: "device=d", with the dtype where `.to` names one and a creation in
    that dtype has the same values; None where there is no such text."""
    given = dict(move.keywords)
    rest = list(move.args)
    if move.stars or "" in given or not quiet(function, given.pop("non_blocking", None)):
        return None
    if method == "cuda":
        if given or len(rest) > 1:
            return None
        if not rest:
            return 'device="cuda"'
        index = function.code[rest[0]]  # None would be the default device, not cuda
        known = isinstance(index, p.Const) and index.value is not None
        known = known or function.values[rest[0]].kinds == DEVICE_NAME
        return f"device={outer(function, rest[0])}" if known else None
    dtype = given.pop("dtype", None)
    device = given.pop("device", None)
    if device is None and rest:
        device = rest.pop(0)
    if dtype is None and rest and function.values[rest[0]].kinds == DTYPE:
        dtype = rest.pop(0)
    if given or any(not quiet(function, r) for r in rest) or len(rest) > 1:
        return None
    if device is None or not names_place(function, device):
        return None
    text = f"device={outer(function, device)}"
    if dtype is None:
        return text
    if last not in _CONSTANT or any(k == "dtype" for k, _ in create.keywords):
        return None
    return f"{text}, dtype={outer(function, dtype)}"


def names_place(function: FunctionFacts, reg: Reg) -> bool:
    """True for what is at least likely to name a place: a tensor or a dtype cannot be given as `device=`."""
    value, made = function.values[reg], function.code[reg]
    if value.kinds & TENSOR or value.kinds == DTYPE:
        return False
    if value.kinds & DEVICE_NAME or isinstance(made, p.Const):
        return True
    if isinstance(made, p.Call):
        made = function.code[made.function]
    if isinstance(made, p.Load):
        return bool(DEVICE_WORDS.search(function.function.slot_names[made.slot]))
    return isinstance(made, p.Attr | p.Outer) and bool(DEVICE_WORDS.search(made.name))


def quiet(function: FunctionFacts, reg: Reg | None) -> bool:
    """True for an argument (non_blocking) that can be left out: it is absent, or True or False."""
    if reg is None:
        return True
    made = function.code[reg]
    return isinstance(made, p.Const) and isinstance(made.value, bool)


def outer(function: FunctionFacts, reg: Reg) -> str:
    """The text of an argument with its parentheses."""
    start, end = function.file.spans.outer(function.function.nodes[reg])
    return function.file.text[start:end]
