"""A loop moves the same unchanged data to the device again and again.

What it does
------------
Reports:

- a move to the device (or a device tensor built from constants) in a loop that changes neither the data nor the target
  device
- in a step method, the move of a plain attribute of `self` that no other code moves to the device, also if the module
  keeps the moved tensor
- in such code, the move of a tensor or an array that a module of the project keeps in a variable, or that all callers
  of the function keep in attributes which only a constructor sets

If the target is the module's own attribute, the finding is only `possible`: `self.table = self.table.to(self.device)`
copies nothing from the second call on.

Why
---
The same bytes are copied in every iteration, and unless the source is pinned, each copy blocks the host.

Example
-------
    for _ in range(10):
        y = x + table.to(device)

Use instead
-----------
    table_on_device = table.to(device)
    for _ in range(10):
        y = x + table_on_device

In a module, register the tensor as a buffer (`self.register_buffer("table", table)`). It then moves with the module,
and `forward` needs no `.to()` and does not write to `self`.

When it is fine
---------------
If the device does not have enough memory to hold the tensor while the loop runs. What a method or function writes to
between the calls is not reported.

Fix safety
----------
The move is placed before the loop under a new name.

- Safe if the moved value is proven to be a tensor, nothing in the loop can write to it, the copy is only read, and the
  device exists even if the loop has no iterations.
- Only shown if this is not proven: for attributes, for arguments in a loop that calls functions, and for copies that
  are passed on.
- A copy that the function writes to or stores is cloned in every iteration, on the device.
- Only shown: an attribute that only the constructor sets becomes a buffer, which the module's `.to()` moves. `.half()`
  and the like then convert its dtype, and `buffers()` lists it; it is not saved in the state dict.

See also
--------
- TL204 for the same move twice in one iteration
- TL401 for tensors that could be created on the device
- https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html#torch.nn.Module.register_buffer
- https://docs.pytorch.org/docs/stable/generated/torch.Tensor.to.html
"""

from __future__ import annotations

from collections.abc import Iterator

from transferlint.flow.facts import FileFacts, FunctionFacts
from transferlint.flow.frequency.loops import classify
from transferlint.flow.invariance import invariance
from transferlint.flow.lattice.transfers import MOVE, Transfer
from transferlint.flow.lattice.values import (
    CONTAINER,
    DEVICE,
    FRESH,
    FROM_PARAMETER,
    GIVEN,
    HOST,
    KEPT,
    MODULE,
    MOVED,
    ON_DEVICE,
    PARAMETER,
    PLAIN,
    TENSOR,
    UNKNOWN,
)
from transferlint.flow.sharing import path
from transferlint.flow.writes import Writes
from transferlint.model import Confidence, Finding, Safety
from transferlint.rule import Example, Rule
from transferlint.syntax import program as p
from transferlint.syntax.program import Reg

from .code.chains import called, origin
from .examples import beside_torch
from .fixes import buffering, hoisting
from .questions.detection import Found, brief, clusters, each, others


def detect(facts: FileFacts) -> Iterator[Finding]:
    """Moves whose subject and target a loop, or a step method, leaves alone."""
    steps: list[Found] = []
    for function, transfer in each(facts, MOVE):
        found = _in_loop(function, transfer)
        if found is not None:
            yield found
        elif _in_step(function, transfer):
            steps.append((function, transfer))
    for function, group in clusters(pair for pair in steps if _attribute(*pair) is None):
        yield function.finding(
            group[0].register,
            f"`{brief(function.text(group[0].register))}` moves the same data"
            f" {function.warmth(group[0].register).level.each}",
            "keep one copy per device",
            others(function, group),
            Confidence.LIKELY,
        )
    steps = [pair for pair in steps if _attribute(*pair) is not None]
    kept = [_stays(function, transfer) for function, transfer in steps]
    apart = [[pair for pair, is_so in zip(steps, kept, strict=True) if is_so is which] for which in (False, True)]
    for function, group in (*clusters(apart[0]), *clusters(apart[1])):
        reg, attribute = group[0].register, _attribute(function, group[0])
        assert attribute is not None
        yield function.finding(
            reg,
            *_words(function, group[0], attribute),
            others(function, group),
            Confidence.POSSIBLE if _stays(function, group[0]) else Confidence.LIKELY,
            buffering.buffered(function, attribute),
        )


def _words(function: FunctionFacts, transfer: Transfer, attribute: str) -> tuple[str, str]:
    """What is wrong with moving an attribute, and what to do instead."""
    reg = transfer.register
    text = brief(function.text(reg))
    info = function.file.placement.class_of(function.function)
    name = f'"{attribute}"' if attribute.isidentifier() else attribute
    buffer = f"register it as a buffer: `self.register_buffer({name}, ..., persistent=False)`"
    if info is None or not info.module:
        buffer = "keep one copy per device"
    if not _kept(function, attribute):
        return f"`{text}` moves the same attribute {function.warmth(reg).level.each}", buffer
    return f"`{text}` moves an attribute that the module's own `.to()` does not move", buffer


def _in_loop(function: FunctionFacts, transfer: Transfer) -> Finding | None:
    reg = transfer.register
    warmth = function.warmth(reg)
    if (
        not warmth.hot
        or not transfer.places & ON_DEVICE
        or (transfer.before.kinds & MODULE and not transfer.before.kinds & TENSOR)
    ):
        return None
    before = transfer.before
    assumed = before.places & GIVEN and before.flags & FROM_PARAMETER and not before.places & DEVICE
    if before.places and not before.places & ~ON_DEVICE and not assumed:
        return None
    if transfer.before.flags & PARAMETER:
        return None
    loops = [r for r in function.loops(reg) if function.function.regions[r].kind != "comprehension"]
    outermost: int | None = None
    makes = not before.flags & FRESH  # what is made on the spot, TL401 tells of
    for region in loops:
        if not _repeats(function, region) or not invariance(function, region).holds(reg, makes):
            break
        outermost = region
    if outermost is None:
        return None
    subject = transfer.before
    if subject.is_a(UNKNOWN) and subject.places != HOST and not _tensor_like(function, transfer):
        return None
    text = brief(function.text(reg))
    line = function.file.line(function.file.spans.of(function.function.regions[outermost].node)[0])
    return function.finding(
        reg,
        f"`{text}` moves the same data in every iteration of the loop at line {line}",
        "move it once, before the loop",
        (),
        Confidence.LIKELY if subject.places != HOST or transfer.places != DEVICE else Confidence.CERTAIN,
        hoisting.hoist(function, reg, outermost),
    )


def _repeats(function: FunctionFacts, region: int) -> bool:
    """True for a loop that turns more than a handful of times."""
    loop = function.function.regions[region]
    value = function.values[loop.test] if loop.test is not None else None
    return classify(function.function, loop, value) != "few"


def _tensor_like(function: FunctionFacts, transfer: Transfer) -> bool:
    return transfer.subject is not None and not function.values[transfer.subject].kinds & (CONTAINER | MOVED)


def _in_step(function: FunctionFacts, transfer: Transfer) -> bool:
    """`self.table.to(x.device)` in a step method, `self.table` being a plain attribute."""
    attribute, before = _attribute(function, transfer), transfer.before
    if not function.warmth(transfer.register).hot:
        return False
    if attribute is None:
        return bool(before.flags & KEPT) and before.is_a(TENSOR) and before.on_host
    if before.flags & PARAMETER or before.kinds & MODULE or (before.places and not before.places & ~ON_DEVICE):
        return False
    if _kept(function, attribute):  # the next call moves nothing; but a buffer would have been there
        info = function.file.placement.class_of(function.function)
        moves = info is not None and info.module and _assigned(function, transfer, attribute)
        return moves and before.is_a(TENSOR) and bool(before.places & HOST)
    if not before.flags & KEPT and _written(function, transfer):
        return False
    # What another method puts on the device may be there by now.
    on_host = bool(before.places & HOST) and not before.places & ON_DEVICE
    return bool(before.flags & (PLAIN | FRESH)) or (before.is_a(TENSOR) and on_host)


def _kept(function: FunctionFacts, attribute: str) -> bool:
    """True where the function binds the attribute anew."""
    return bool(function.attributes(attribute, p.SetAttr))


def _stays(function: FunctionFacts, transfer: Transfer) -> bool:
    """True for `self.table = self.table.to(self.device)`: from the second call on it moves nothing. Where the target is
    another's (`x.device`), a replica that is made anew for each batch moves it each time."""
    attribute, made = _attribute(function, transfer), function.code[transfer.register]
    assert attribute is not None
    given = [*made.args, *(r for key, r in made.keywords if key == "device")][:1] if isinstance(made, p.Call) else []
    target = function.code[given[0]] if given else None
    own = isinstance(target, p.Attr) and _is_self(function, target.object)
    return own and _kept(function, attribute)


def _assigned(function: FunctionFacts, transfer: Transfer, attribute: str) -> bool:
    """True for `self.table = self.table.to(x.device)`, on every call."""
    stores = [
        i for i in function.code if isinstance(i, p.SetAttr) and i.name == attribute and _is_self(function, i.object)
    ]
    kept = len(stores) == 1 and stores[0].value == transfer.register
    return kept and function.region(transfer.register) == 0


def _written(function: FunctionFacts, transfer: Transfer) -> bool:
    """True where the function, or one of this file that it calls, writes to what is moved."""
    assert transfer.subject is not None
    moved = path(function, transfer.subject)
    return moved is not None and Writes(function, range(len(function.code))).changed(moved)


def _attribute(function: FunctionFacts, transfer: Transfer) -> str | None:
    """The attribute of `self` that is moved, by way of variables too, "table" of `self.table[0].to(d)` and of
    `torch.from_numpy(self.table).to(d)`, or what stands for its name in `getattr(self, f"table{i}")`; None where it is
    none."""
    if transfer.subject is None:
        return None
    subject = function.code[origin(function, transfer.subject)]
    if isinstance(subject, p.Call) and called(function, transfer.subject) == "torch.from_numpy" and subject.args:
        subject = function.code[origin(function, subject.args[0])]
    while isinstance(subject, p.Subscript):
        subject = function.code[origin(function, subject.object)]
    if isinstance(subject, p.Call) and function.code[subject.function] == p.Outer("getattr") and len(subject.args) > 1:
        name = function.code[subject.args[1]]
        written = name.value if isinstance(name, p.Const) else function.text(subject.args[1])
        return str(written) if _is_self(function, subject.args[0]) else None
    return subject.name if isinstance(subject, p.Attr) and _is_self(function, subject.object) else None


def _is_self(function: FunctionFacts, reg: Reg) -> bool:
    made = function.code[reg]
    return isinstance(made, p.Load) and function.function.slot_names[made.slot] == "self"


RULE = Rule(
    code="TL103",
    name="invariant-transfer",
    summary="a loop or step method moves the same unchanged data to the device again and again",
    category="repeated",
    default=True,
    fix_safety=Safety.SAFE,
    since="0.1.0",
    examples=(
        Example(
            bad="""\
import torch

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
tensor = torch.randn(100, 100)
for _ in range(10):
    tensor_gpu = tensor.to(device)  # expect: TL103
    tensor_gpu = tensor_gpu * 2
""",
            good="""\
import torch

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
tensor = torch.randn(100, 100)
tensor_gpu = tensor.to(device)
for _ in range(10):
    tensor_gpu = tensor_gpu * 2
""",
            fixed="""\
import torch

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
tensor = torch.randn(100, 100)
tensor_on_device = tensor.to(device)
for _ in range(10):
    tensor_gpu = tensor_on_device
    tensor_gpu = tensor_gpu * 2
""",
        ),
    ),
    more_examples=beside_torch.examples("TL103"),
    detect=detect,
    advice=(
        ("jax", "move it once, before the loop"),
        ("tensorflow", "make the tensor once, before the loop"),
        ("cupy", "move it once, before the loop"),
    ),
    doc=__doc__,
)
