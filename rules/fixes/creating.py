"""The fix that makes a tensor on the device where it was made on the host and moved.

A safe one rests on these proofs, and is unsafe without one of them:

- the argument of the move names a place (`proven.device`): a tensor or a dtype is no `device=`; None is as good, but
  for `.cuda(None)`; what `.to` names beside it is a dtype (`proven.dtype`);
- the creation makes the same values there (`exact`): no random numbers, no fractions that are rounded, no gradient that
  is asked for (the leaf would be another), no layout; for `*_like` its operand is a tensor, and no class of its own;
- nobody else holds what was made: creation and move are one expression;
- the place has the same value before the creation as after its arguments (`proven.unchanged`).

There is no fix at all with `*` or `**` in the move, `copy`, `memory_format`, `out`, a generator, pinned memory, a
`device=` that is given, and what binds a name in the arguments of the move.
"""

from __future__ import annotations

import re

from transferlint.flow.facts import FunctionFacts
from transferlint.flow.frequency.unasked import left_out
from transferlint.flow.lattice.transfers import Transfer
from transferlint.flow.lattice.values import BY_ARGUMENT, DEVICE_NAME, DTYPE, INTEGER, TENSOR
from transferlint.knowledge.roles import DEVICE_WORDS
from transferlint.knowledge.torch_names import INDICES
from transferlint.model import Edit, Fix, Safety
from transferlint.syntax import program as p
from transferlint.syntax.program import Reg

from ..code import arguments as arguments_of
from ..code import bindings
from ..code.chains import method, origin
from ..proofs import proven

RANDOM = frozenset({"rand", "randn", "randint", "randperm", "rand_like", "randn_like"})
_UNCERTAIN = frozenset({"empty", "empty_like", "linspace", "logspace"})  # by chance, or rounded otherwise on the device
_EXACT = frozenset({"zeros", "ones", "full", "eye", "tensor", "arange", "zeros_like", "ones_like", "full_like"})
MAKERS = _EXACT | _UNCERTAIN | RANDOM
_CUDA = 'device="cuda"'
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
    if given == _CUDA and _in_text(function, made):
        return None
    edit = arguments_of.added(function, made, given)
    if edit is None or function.file.spans.commented(end, outer_end):
        return None
    edits = (edit, Edit(end, outer_end, ""))
    safe = exact(function, create) and named(function, transfer.register, made)
    return Fix("create it on the device", Safety.SAFE if safe else Safety.UNSAFE, edits)


def named(function: FunctionFacts, moved: Reg, made: Reg) -> bool:
    """True where a move is proven to name a place, and at most a dtype beside it, which are the same before the
    creation `made`."""
    move = function.code[moved]
    assert isinstance(move, p.Call)
    callee = function.code[move.function]
    absent = not isinstance(callee, p.Attr) or callee.name != "cuda"
    given = [*move.args, *(r for key, r in move.keywords if key != "non_blocking")]
    places = 0
    for reg in given:
        written = function.code[reg]
        if isinstance(written, p.Const) and isinstance(written.value, bool):
            continue  # `non_blocking`
        if not proven.unchanged(function, reg, made + 1, reg):
            return False
        if proven.device(function, reg, absent):
            places += 1
        elif not proven.dtype(function, reg):
            return False
    return places == (1 if given else 0)


def _in_text(function: FunctionFacts, reg: Reg) -> bool:
    """True within an f-string, which a quote of ours may end (docs.python.org "What's new in 3.12", PEP 701)."""
    return any(
        isinstance(made, p.Format) and reg in set(function.expression(at)) for at, made in enumerate(function.code)
    )


def added_device(function: FunctionFacts, reg: Reg, device: str, *more: str) -> Edit | None:
    """`device=...`, and `more`, added to the arguments of a function of torch that makes a tensor; None where it cannot
    take it or says one already."""
    create = function.code[reg]
    if not isinstance(create, p.Call) or create.stars:
        return None
    name = function.file.placement.names.dotted(function.function, create.function)
    if not _creator(function, create) and (name not in INDICES or any(key == "device" for key, _ in create.keywords)):
        return None
    if device == '"cuda"' and _in_text(function, reg):
        return None
    return arguments_of.added(function, reg, f"device={device}", *more)


def exact(function: FunctionFacts, create: p.Call) -> bool:
    """True where it is proven that the device makes the same values as the host, and that nothing else tells the
    difference: what requires a gradient would become the leaf itself."""
    last = _creator(function, create)
    if last not in _EXACT or bindings.api(function, create.function) != f"torch.{last}":
        return False
    if {"requires_grad", "layout"} & {key for key, _ in create.keywords}:
        return False
    if last.endswith("_like"):
        like = create.args[:1] or tuple(r for key, r in create.keywords if key == "input")
        return bool(like) and not any(create.stars) and proven.tensor(function, like[0])
    return last != "arange" or _whole(function, create)


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


def _whole(function: FunctionFacts, create: p.Call) -> bool:
    """True for an `arange` of integers, or from 0 by 1; fractions may be rounded otherwise on the device."""
    if any(create.stars):
        return False
    bounds = [*create.args, *(r for key, r in create.keywords if key in ("start", "end", "step"))]
    for key, reg in create.keywords:
        if key == "dtype" and bindings.api(function, reg).removeprefix("torch.") not in _WHOLE:
            return False
    return all(proven.integer(function, r) for r in bounds)


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
            return _CUDA
        return f"device={function.outer_text(rest[0])}" if names_gpu(function, rest[0]) else None
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
    text = f"device={function.outer_text(device)}"
    if dtype is None:
        return text
    if last not in _CONSTANT or any(k == "dtype" for k, _ in create.keywords):
        return None
    return f"{text}, dtype={function.outer_text(dtype)}"


def names_gpu(function: FunctionFacts, reg: Reg) -> bool:
    """True for an argument of `.cuda()` that `device=` takes alike: None would be the current GPU there, and the host
    here (docs.pytorch.org, Tensor.cuda)."""
    made = function.code[reg]
    if isinstance(made, p.Const):
        return type(made.value) in (int, str)
    value, first = function.values[reg], function.code[origin(function, reg)]
    told = value.kinds == DEVICE_NAME and not value.flags & BY_ARGUMENT
    if isinstance(first, p.Attr):  # what is only called what devices are called may be None: `args.gpu`
        told = told and function.values[first.object].is_a(TENSOR)
    return told or proven.device(function, reg) or _asked(function, reg)


def _asked(function: FunctionFacts, reg: Reg) -> bool:
    """True for the number of the GPU that a tensor tells: `x.get_device()`, by a variable too."""
    return method(function, origin(function, reg)) == "get_device"


def names_place(function: FunctionFacts, reg: Reg) -> bool:
    """True for what is at least likely to name a place: a tensor or a dtype cannot be given as `device=`, and what no
    call gives names none."""
    value, made = function.values[reg], function.code[reg]
    if value.kinds & TENSOR or value.kinds == DTYPE:
        return False
    if isinstance(made, p.Load) and left_out(function.file.placement, function.function, made.slot):
        return False
    if value.kinds & DEVICE_NAME or proven.device(function, reg, absent=True):
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
