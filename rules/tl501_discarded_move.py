"""The result of a move is thrown away: nothing moved.

What it does
------------
Reports `x.to(d)`, `x.cuda()` and `x.cpu()` as statements of their own where `x` is a tensor.

Why
---
These methods give a copy back and leave the tensor where it is. (On a module they move its parameters in place, which
is right and not reported.)

Example
-------
    inputs.to(device)
    outputs = model(inputs)      # raises, or silently computes on the host

Use instead
-----------
    inputs = inputs.to(device)
    outputs = model(inputs)

When it is fine
---------------
Never on a tensor.

Fix safety
----------
Only shown, for of these edits too few were worth taking: assigning the result makes the program do what it says, and not what it did. A move of what has no name
(`x.detach().cpu()`) is removed; nobody has what it gives, but the host waits no more at this place.
Where what is computed of the tensor meets `.numpy()` or a library of arrays, these refuse a tensor of the device; where
nothing that it meets is known to be on the device, the program may run on the host as it is.

See also
--------
- TL502 for what fails then
- https://docs.pytorch.org/docs/stable/generated/torch.Tensor.to.html
- https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html#torch.nn.Module.to
"""

from __future__ import annotations

from collections.abc import Iterator

from transferlint.flow.facts import FileFacts, FunctionFacts
from transferlint.flow.transfers import DOWNLOAD, MOVE, Transfer
from transferlint.flow.values import DATA, MODULE, ON_DEVICE, TENSOR, UNKNOWN
from transferlint.model import Confidence, Edit, Finding, Fix, Safety
from transferlint.rule import Example, Rule
from transferlint.syntax import notebooks
from transferlint.syntax import program as p
from transferlint.syntax.program import Reg

from .chains import called, captured, method, receiver
from .derived import ALL, TooLong, derived
from .detection import brief, each, only_shown
from .rewriting import remove

_ARRAYS = frozenset({"numpy", "__array__"})
_DOWNLOADS = frozenset({"cpu", "item", "tolist"})
_LIBRARIES = frozenset({"numpy", "scipy", "sklearn"})  # that take arrays, which are the host's
_WITHOUT_EFFECT = frozenset("detach clone float double half bfloat16 contiguous".split())


def detect(facts: FileFacts) -> Iterator[Finding]:
    """Moves of tensors whose result nobody takes."""
    for function, transfer in each(facts, MOVE, DOWNLOAD, discarded=True):
        users = function.users(transfer.register)
        if len(users) != 1 or not isinstance(function.code[users[0]], p.Discard) or transfer.subject is None:
            continue
        if transfer.inside is not None:
            continue  # what the wrapper returns is not all that it does
        shown = facts.path.endswith(notebooks.SUFFIX) and notebooks.displayed(
            facts.text, *function.outer_span(transfer.register)
        )
        if shown or function.role.cold.startswith("test"):
            continue
        tensor = transfer.before.is_a(TENSOR)
        if not tensor and not _of_a_batch(function, transfer.subject):
            continue
        text = brief(function.text(transfer.register))
        yield function.finding(
            transfer.register,
            f"`{text}` moves nothing: a tensor's move gives a copy back",
            f"assign it: `{brief(function.text(transfer.subject))} = {text}`",
            (),
            Confidence.CERTAIN if tensor else Confidence.LIKELY,
            only_shown(_fix(function, transfer)),
            heated=False,
        )


def _of_a_batch(function: FunctionFacts, reg: Reg) -> bool:
    """True for one of several parts of what a loader gives, `batch["x"]` or `x` of `for x, y in loader`: what has a
    move there is a tensor (docs.pytorch.org torch.utils.data default_collate). A batch as a whole may be an object that
    moves itself."""
    made = function.code[reg]
    if isinstance(made, p.Subscript):
        return _loaded(function, reg) and _loaded(function, made.object)
    if not isinstance(made, p.Load) or not _loaded(function, reg):
        return False
    stores = [one for at in function.stores(made.slot) if isinstance(one := function.code[at], p.Store)]
    unpacked = [one for store in stores if isinstance(one := function.code[store.value], p.Unpack)]
    return bool(stores) and len(unpacked) == len(stores) and all(_loaded(function, one.value) for one in unpacked)


def _loaded(function: FunctionFacts, reg: Reg) -> bool:
    """True for what a loader gave, or a part of it, of a kind that is not known."""
    value = function.values[reg]
    return value.is_a(UNKNOWN) and bool(value.flags & DATA)


def _fix(function: FunctionFacts, transfer: Transfer) -> Fix | None:
    assert transfer.subject is not None
    if not isinstance(function.code[transfer.subject], p.Load | p.Attr):
        return _removed(function, transfer)
    start, _ = function.span(transfer.register)
    safety = Safety.UNSAFE if _used_later(function, transfer.subject, transfer.register) else Safety.DISPLAY
    if safety is Safety.UNSAFE and (_met_on_host(function, transfer) or not _meets_device(function, transfer)):
        safety = Safety.DISPLAY
    return Fix("assign the moved tensor", safety, (Edit(start, start, f"{function.text(transfer.subject)} = "),))


def _used_later(function: FunctionFacts, subject: Reg, reg: Reg) -> bool:
    """True where somebody may read what the moved tensor would be assigned to."""
    made = function.code[subject]
    if not isinstance(made, p.Load) or captured(function, made.slot) or function.function.kind in ("module", "class"):
        return True
    loops = function.loops(reg)
    bound = function.stores(made.slot)
    again = [load for load in function.loads(made.slot) if load > reg]
    if again or not loops:
        return bool(again)
    return not any(function.inside(store, loops[0]) for store in bound)


def _met_on_host(function: FunctionFacts, transfer: Transfer) -> bool:
    """True where what is computed of the tensor after the move goes to what works on the host alone: `.numpy()`, a
    function of a library of arrays. A tensor of the device is refused there."""
    subject = function.code[transfer.subject or 0]
    if not isinstance(subject, p.Load):
        return False
    inner = set(function.loops(transfer.register))
    loads = [
        load
        for load in function.loads(subject.slot)
        if load > transfer.register or inner.intersection(function.loops(load))
    ]
    try:
        found = derived(function.function, loads, ALL)
        found -= derived(function.function, {reg for reg in found if method(function, reg) in _DOWNLOADS}, ALL)
    except TooLong:
        return True
    return any(_of_host(function, reg, found) for reg in found | {r for one in found for r in function.users(one)})


def _meets_device(function: FunctionFacts, transfer: Transfer) -> bool:
    """True where a use of the tensor after the move takes something of the device as well. Where nothing says so, the
    program may run on the host alone, and the tensor be the first that is somewhere else."""
    subject = function.code[transfer.subject or 0]
    if not isinstance(subject, p.Load):
        return False
    for load in function.loads(subject.slot):
        for user in function.users(load) if load > transfer.register else ():
            with_it = set(function.expression(user)) - {load}
            calls = [r for r in function.users(user) if isinstance(function.code[user], p.Attr)]
            with_it.update(one for call in calls for one in function.expression(call) if one not in (load, user))
            if any(_on_device(function, one) for one in with_it):
                return True
    return False


def _on_device(function: FunctionFacts, reg: Reg) -> bool:
    value = function.values[reg]
    return bool(value.kinds & (TENSOR | MODULE) and value.places & ON_DEVICE)


def _of_host(function: FunctionFacts, reg: Reg, found: set[Reg]) -> bool:
    made = function.code[reg]
    if not isinstance(made, p.Call):
        return False
    if method(function, reg) in _ARRAYS:
        return receiver(function, reg) in found
    given = {*made.args, *(value for _, value in made.keywords)}
    return called(function, reg).partition(".")[0] in _LIBRARIES and not found.isdisjoint(given)


def _removed(function: FunctionFacts, transfer: Transfer) -> Fix | None:
    """Take `x.detach().cpu()` away: nobody has what it gives, not even by another name."""
    at = transfer.subject
    while at is not None and method(function, at) in _WITHOUT_EFFECT:
        made = function.code[at]
        if not isinstance(made, p.Call) or made.args or made.keywords:
            return None
        at = receiver(function, at)
    edit = remove(function, transfer.register) if isinstance(function.code[at or 0], p.Load | p.Attr) else None
    return Fix("remove it", Safety.UNSAFE, (edit,)) if at is not None and edit is not None else None


RULE = Rule(
    code="TL501",
    name="discarded-move",
    summary="`x.to(d)` as a statement, on a tensor: nothing moved",
    category="mistake",
    default=True,
    fix_safety=Safety.DISPLAY,
    since="0.1.0",
    examples=(
        Example(
            bad="""\
import torch

x = torch.ones(3)
x.to("cuda")  # expect: TL501
""",
            good="""\
import torch

x = torch.ones(3)
x = x.to("cuda")
model = torch.nn.Linear(3, 3)
model.to("cuda")
""",
        ),
    ),
    detect=detect,
    doc=__doc__,
)
