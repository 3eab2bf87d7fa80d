"""The fix that makes a tensor on the device where views, casts or a variable stand between its creation and its move,
or where one of the old constructors makes it (`torch.LongTensor`).

A safe one has to prove what `creating.py` lists, and

- that no step on the way rounds: a cast from a type with fractions to whole numbers is the host's or the device's own
  at the ends of their range;
- that the moved tensor was laid out as the view is: a move packs what is expanded or cut out of a larger tensor, so
  that it can be written to and viewed otherwise; shapes, transpositions and `[None]` keep their strides;
- that the steps' arguments change neither the place nor anything else (`proven.unchanged`), for the place is asked for
  before them.

What goes by a variable is unsafe: whoever reads it in between reads the device. So is `.to(other)`, whose type is not
known: it may round.
"""

from __future__ import annotations

import re

from transferlint import late
from transferlint.flow.facts import FunctionFacts
from transferlint.flow.lattice.transfers import Transfer
from transferlint.flow.lattice.values import DTYPE, HOST_VALUE, RESIDENT, TENSOR
from transferlint.flow.sharing import path
from transferlint.knowledge.torch_names import SEEDS
from transferlint.model import LINES, Edit, Fix, Safety
from transferlint.syntax import program as p
from transferlint.syntax.program import Reg

from ..code import bindings, rewriting
from ..code.chains import called
from ..proofs import widths
from . import casting, creating, likening, making, modernising, refilling, steps_back, taking_data

_RESHAPED = frozenset(
    "fill_ zero_ unsqueeze squeeze view reshape repeat flatten ravel t transpose permute expand".split()
)
_ANY_DTYPE = frozenset("zeros ones eye zeros_like ones_like rand randn rand_like randn_like empty empty_like".split())


def make_on_device(function: FunctionFacts, transfer: Transfer) -> Fix | None:
    """The fix of a creation and its move: what is proven, else with the cast that stands beside them, else the rest.
    What is not proven is only shown for one number, whose upload stays where the number itself may do, and for data
    whose upload does not wait and would; what numpy fills has no such fix."""
    if making.filled_by_numpy(function, transfer):
        return None
    there = creating.make_there(function, transfer)
    if there is not None and there.safety is Safety.SAFE:
        return there
    behind = make_behind(function, transfer)
    if behind is not None and behind.safety is Safety.SAFE:
        return behind
    fix = make_cast(function, transfer) or there or behind
    if fix is None:
        return None
    made = _origin(function, transfer)
    if any(_uploads(function, transfer, one) for one in transfer.before.why[:1]):
        return late.replace(fix, safety=Safety.DISPLAY)
    if fix is there:
        edits, fills = refilling.refilled(function, transfer.before.why[0], fix.edits, transfer.register)
        fix = late.replace(fix, edits=edits, safety=min(fix.safety, fills))
    lines, safety = fix.lines, fix.safety
    if taking_data.of_data(function, fix, made):
        if (without := taking_data.without_data(function, made, fix)) is not None:
            fix = without
        else:
            old = called(function, made).rpartition(".")[2] in modernising.LEGACY
            lines, safety = (
                0,
                Safety.DISPLAY
                if old or taking_data.counts_up(function, made) or taking_data.longer(fix)
                else fix.safety,
            )
    if _there_already(function, transfer):
        safety = Safety.DISPLAY
    if fix is behind and not _viewed(function, transfer.subject, made):
        safety = min(safety, Safety.DISPLAY)
    if _random(function, made) and _seeded(function):
        safety = min(safety, Safety.DISPLAY)
    return Fix(fix.title, safety, likening.like_another(function, made, fix.edits), lines)


def _origin(function: FunctionFacts, transfer: Transfer) -> Reg:
    """The call that makes what is moved, before the views and casts behind it; -1 where that cannot be said."""
    way = None if transfer.subject is None else steps_back.origin_of(function, transfer.subject)
    return way[0] if way is not None else transfer.before.why[0] if transfer.before.why else -1


def _viewed(function: FunctionFacts, moved: Reg | None, made: Reg) -> bool:
    """True where nothing but other views of it stands between a creation and its move, in one expression: of a cast
    one would make the `dtype=`, and what is computed, or kept in a variable, is for a person to look at."""
    reg = moved
    while reg is not None and reg != made:
        at = function.code[reg]
        callee = function.code[at.function] if isinstance(at, p.Call) else at
        kept = not isinstance(at, p.Call) or (isinstance(callee, p.Attr) and callee.name in _RESHAPED)
        reg = callee.object if kept and isinstance(callee, p.Subscript | p.Attr) else None
    return reg is not None


def _random(function: FunctionFacts, made: Reg) -> bool:
    return made >= 0 and called(function, made).rpartition(".")[2] in creating.RANDOM


def _seeded(function: FunctionFacts) -> bool:
    """True where a seed of the host's generator is set in the function itself, by the file when it is run, or in
    another of the project: somebody wants these very numbers, and the device's generator gives others."""
    if function.file.heat.seen.seeded:
        return True
    return any(called(one, at) in SEEDS for one in (function, function.file.functions[0]) for at in one.of(p.Call))


def _there_already(function: FunctionFacts, transfer: Transfer) -> bool:
    """True for what is made like a tensor that may be on the device: it may be there without the move, which is what
    should go."""
    made = transfer.before.why[0] if transfer.before.why else -1
    like = made >= 0 and called(function, made).endswith("_like")
    return like and bool(transfer.before.flags & RESIDENT)


def _uploads(function: FunctionFacts, transfer: Transfer, made: Reg) -> bool:
    """True for `torch.tensor(x)` of a number of the host, of anything that is moved without waiting, and of what is
    moved to a tensor, which takes more text for the same upload."""
    create, move = function.code[made] if made >= 0 else None, function.code[transfer.register]
    if isinstance(create, p.Call) and _one_number(function, made, create):
        return True
    if not isinstance(create, p.Call) or called(function, made) not in ("torch.tensor", "torch.as_tensor"):
        return False
    if isinstance(move, p.Call) and any(function.values[r].kinds & TENSOR for r in move.args):
        return True
    unawaited = isinstance(move, p.Call) and any(key == "non_blocking" for key, _ in move.keywords)
    return unawaited or (len(create.args) == 1 and function.values[create.args[0]].kinds == HOST_VALUE)


def _one_number(function: FunctionFacts, made: Reg, create: p.Call) -> bool:
    """True for a list of one number of the source that has no function of its own (as 0 and 1 have): the number itself
    may do, and its upload stays."""
    items = function.code[create.args[0]] if len(create.args) == 1 else None
    if not isinstance(items, p.Sequence) or len(items.items) != 1 or any(items.stars):
        return False
    number = function.code[items.items[0]]
    known = called(function, made).rpartition(".")[2] in {"tensor", *modernising.LEGACY}
    return known and isinstance(number, p.Const) and type(number.value) in (int, float) and number.value not in (0, 1)


def make_cast(function: FunctionFacts, transfer: Transfer) -> Fix | None:
    """`torch.zeros(n).to(d).to(t)` to `torch.zeros(n, device=d, dtype=t)`; None where there is no cast, or where it has
    to stay."""
    found = _moved(function, transfer)
    if found is None:
        return None
    made, safety, device, _ = found
    cast = casting.cast_of(function, made, transfer.register)
    if cast is None:
        return None
    edits = casting.created_as(function, made, device, cast)
    if edits is None and (old := modernising.modernised(function, made, device, cast.dtype)) is not None:
        edits, makes = old
        safety = min(safety, makes)
    rest = _without_move(function, transfer, "") if edits is not None else None
    if edits is None or rest is None:
        return None
    edits, fills = refilling.refilled(function, made, edits, transfer.register)
    safety = Safety.DISPLAY if _renamed(function, transfer) else min(safety, fills)
    return Fix("create it on the device", safety, (*edits, *rest, *cast.edits))


def _moved(function: FunctionFacts, transfer: Transfer) -> tuple[Reg, Safety, str, str] | None:
    """The creation of what is moved, how safe it is to make it on the device, and the texts of that and of the dtype;
    None where the text does not allow it, or where a tensor of the host takes part on the way."""
    move = function.code[transfer.register]
    if transfer.subject is None or not isinstance(move, p.Call) or not function.has_text(transfer.subject):
        return None
    way = steps_back.origin_of(function, transfer.subject)
    target = _target(function, move)
    if way is None or target is None or creating.binds(function, transfer.subject, transfer.register):
        return None
    made, safety, variable = way
    if variable and not (_known_before(function, move, made) and _always_moved(function, transfer.register, made)):
        return None
    return made, safety, *target


def make_behind(function: FunctionFacts, transfer: Transfer) -> Fix | None:
    """`torch.arange(n)[None].to(d)` to `torch.arange(n, device=d)[None]`; None where the text does not allow it, or
    where a tensor of the host takes part on the way."""
    found = _moved(function, transfer)
    if found is None:
        return None
    made, safety, device, dtype = found
    move = function.code[transfer.register]
    assert isinstance(move, p.Call)
    created = _created(function, made, device, dtype if made == transfer.subject else "")
    if created is None:
        return None
    edits, makes, cast = created
    if not creating.named(function, transfer.register, made):
        safety = min(safety, Safety.UNSAFE)
    if dtype and not cast and not steps_back.counts(function, made) and not _to_fractions(function, move):
        safety = min(safety, Safety.UNSAFE)
    rest = _without_move(function, transfer, f".to({dtype})" if dtype and not cast else "")
    if rest is None:
        return None
    if _renamed(function, transfer):
        makes = Safety.DISPLAY
    if min(safety, makes) is not Safety.SAFE:
        edits, fills = refilling.refilled(function, made, edits, transfer.register)
        makes = min(makes, fills)
    lines = 0 if dtype and not cast else LINES  # a call that stays
    return Fix("create it on the device", min(safety, makes), (*edits, *rest), lines)


def _always_moved(function: FunctionFacts, moved: Reg, made: Reg) -> bool:
    """True where what is made is moved in any case: no condition stands before the move alone."""
    return function.region(moved) in bindings.around(function, made)


def _without_move(function: FunctionFacts, transfer: Transfer, stays: str) -> tuple[Edit, ...] | None:
    """The edits that take the move away: the whole statement where it is `x = x.to(d)`."""
    assert transfer.subject is not None
    moved, users = function.code[transfer.subject], function.users(transfer.register)
    bound = function.code[users[0]] if len(users) == 1 else None
    if not stays and isinstance(moved, p.Load) and isinstance(bound, p.Store) and bound.slot == moved.slot:
        text = function.file.text
        name = function.function.slot_names[moved.slot]
        start, end = function.outer_span(transfer.register)
        head = re.search(rf"(?:^|(?<=[\r\n]))[ \t]*({re.escape(name)}[ \t]*=[ \t]*)$", text[:start])
        if head is not None and not function.file.spans.commented(head.start(1), end):
            edit = rewriting.cut(function, head.start(1), end)
            return (edit,) if edit.text != "pass" else None
        return None
    gone = _cut(function, transfer, stays)
    return None if gone is None else (*_bare(function, transfer, gone), gone)


def _renamed(function: FunctionFacts, transfer: Transfer) -> bool:
    """True for `y = x.to(d)`, of which `y = x` would be left."""
    assert transfer.subject is not None
    moved = function.code[transfer.subject]
    users = [function.code[r] for r in function.users(transfer.register)]
    return isinstance(moved, p.Load) and any(isinstance(one, p.Store) and one.slot != moved.slot for one in users)


def _bare(function: FunctionFacts, transfer: Transfer, edit: Edit) -> tuple[Edit, ...]:
    """The edits that take away the parentheses that were there for the sake of the move: `x = (a * b).to(d)`."""
    assert transfer.subject is not None
    text = function.file.text
    start, end = function.span(transfer.subject)
    begin, stop = function.outer_span(transfer.subject)
    if edit.text or stop != edit.start or (text[begin:start], text[end:stop]) != ("(", ")"):
        return ()
    alone = re.search(r"(?:[^=!<>]=|[(,]|\breturn)[ \t]*\Z", text[:begin])
    follows = re.match(r"[ \t]*(?:[,)#\r\n]|\Z)", text[edit.end :])
    if alone is None or follows is None or re.search(r"[\r\n]|:=|\byield\b", text[start:end]):
        return ()
    return (Edit(begin, start, ""), Edit(end, stop, ""))


def _to_fractions(function: FunctionFacts, move: p.Call) -> bool:
    """True for a move that also converts to a type with fractions, as host and device do alike."""
    given = [bindings.api(function, r) for r in (*move.args, *(r for _, r in move.keywords))]
    return any(name.startswith("torch.") and name.removeprefix("torch.") in widths.FRACTIONS for name in given)


def _target(function: FunctionFacts, move: p.Call) -> tuple[str, str] | None:
    """The texts of the device and of the dtype that a move asks for, "" where it leaves the dtype."""
    callee = function.code[move.function]
    given, rest = dict(move.keywords), list(move.args)
    if (
        any(move.stars)
        or not isinstance(callee, p.Attr)
        or not creating.quiet(function, given.pop("non_blocking", None))
    ):
        return None
    if given.keys() - {"device", "dtype"} or callee.name not in ("to", "cuda"):
        return None
    device, dtype = given.get("device"), given.get("dtype")
    for reg in rest:
        if function.values[reg].kinds == DTYPE and dtype is None:
            dtype = reg
        elif device is None and not (isinstance(made := function.code[reg], p.Const) and type(made.value) is bool):
            device = reg
        elif not creating.quiet(function, reg):
            return None
    if device is None:
        return ('"cuda"', "") if callee.name == "cuda" and dtype is None else None
    made = function.code[device]
    if isinstance(made, p.Const) and made.value is None:
        return None
    text = function.outer_text(device)
    if re.search(r"[\n\r#]", text):
        return None
    if function.values[device].kinds & TENSOR:
        return (f"{text}.device", f"{text}.dtype") if path(function, device) is not None else None
    if not (creating.names_gpu if callee.name == "cuda" else creating.names_place)(function, device):
        return None
    return text, "" if dtype is None else function.outer_text(dtype)


def _known_before(function: FunctionFacts, move: p.Call, made: Reg) -> bool:
    """True where the device has the same name when the tensor is made."""
    for target in (*move.args, *(r for _, r in move.keywords)):
        for reg in function.expression(target):
            at = function.code[reg]
            if isinstance(at, p.Call | p.Subscript):
                return False
            if isinstance(at, p.Load):
                given = any(q.slot == at.slot for q in function.function.parameters)
                stores = function.stores(at.slot)
                early = [r for r in stores if r < made and function.region(r) in (0, function.region(made))]
                if len(stores) != len(early) or not (given or stores):
                    return False
    return True


def _created(
    function: FunctionFacts, made: Reg, device: str, dtype: str
) -> tuple[tuple[Edit, ...], Safety, bool] | None:
    """The edits that make the tensor on a device, how sure it is that its values stay the same, and whether it has the
    `dtype` then that is asked for behind it: of a tensor that is made like another, or by an old constructor."""
    create = function.code[made]
    assert isinstance(create, p.Call)
    keywords = dict(create.keywords)
    alike = dtype.endswith(".dtype") and device.endswith(".device")
    if alike and "dtype" in keywords and called(function, made).rpartition(".")[2] in _ANY_DTYPE:
        device_edit = creating.added_device(function, made, device)
        typed = Edit(*function.span(keywords["dtype"]), dtype)
        return ((typed, device_edit), Safety.UNSAFE, True) if device_edit is not None else None
    alike &= "dtype" not in keywords
    edit = creating.added_device(function, made, device, *([f"dtype={dtype}"] if alike else []))
    if edit is None:
        old = modernising.modernised(function, made, device, dtype)
        return (*old, bool(dtype)) if old is not None else None
    return (edit,), Safety.SAFE if creating.exact(function, create) and not alike else Safety.UNSAFE, alike


def _cut(function: FunctionFacts, transfer: Transfer, stays: str) -> Edit | None:
    """The edit that takes the move away, or leaves its cast."""
    assert transfer.subject is not None
    start = function.outer_span(transfer.subject)[1]
    end = function.span(transfer.register)[1]
    if not re.match(r"[\s\\]*\.[\s\\]*(to|cuda)[\s\\]*\(", function.file.text[start:end]):
        return None
    if function.file.spans.commented(start, end):
        return None
    return Edit(start, end, stays)
