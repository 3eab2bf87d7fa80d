"""A device tensor is formatted as text.

What it does
------------
Reports `print(t)`, `f"{t}"`, `"%s" % t`, `"{}".format(t)`, `str(t)` and the texts of progress bars in hot code, where
`t` is a tensor on the device. Arguments of a logger are reported if they are formatted regardless of its level
(`logger.debug(f"loss {loss}")`), and if the level is on where anybody looks: `logger.info("loss %.3f", loss)` is
reported, `logger.debug("loss %s", loss)` is not.

Why
---
Formatting a tensor copies it to the host and waits for all work that is queued on the device. An f-string does this
even if the log level is disabled and the text is thrown away.

Example
-------
    for x, y in loader:
        loss = train_step(x, y)
        logger.debug(f"loss {loss}")

Use instead
-----------
    for step, (x, y) in enumerate(loader):
        loss = train_step(x, y)
        if step % 100 == 0:
            logger.debug("loss %s", loss.item())

When it is fine
---------------
None of these is reported: formatting every N steps or behind a switch, on an error path or in a warning, or once per
epoch. The `logs` of a Keras callback are not reported either: Keras has already converted them to numbers when it calls
`on_train_batch_end` (source: keras/src/callbacks/callback_list.py, `pythonify_logs`).

Fix safety
----------
A statement `logger.debug(...)` or `logger.info(...)` is put behind `if logger.isEnabledFor(logging.DEBUG):`. Safe if
the logger comes from `logging.getLogger` in this file and the arguments have no side effects and cannot raise: names,
and attributes that every tensor has. Otherwise there is no automatic fix: how often to print is up to you.

See also
--------
- TL101 for the read that remains
- https://docs.pytorch.org/docs/stable/generated/torch.set_printoptions.html
- https://docs.pytorch.org/docs/stable/notes/cuda.html#asynchronous-execution
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from transferlint import late
from transferlint.flow.callgraph.names import find
from transferlint.flow.dataflow.once import once
from transferlint.flow.facts import FileFacts, FunctionFacts
from transferlint.flow.lattice.transfers import FORMAT, Transfer
from transferlint.flow.lattice.values import (
    CONTAINER,
    FROM_PARAMETER,
    OBJECT,
    ON_DEVICE,
    TENSOR,
    element,
    held_on_device,
    on_device_or_plain,
)
from transferlint.knowledge.torch import TENSOR_ONLY
from transferlint.model import Confidence, Direction, Edit, Finding, Fix, Safety
from transferlint.rule import Example, Rule
from transferlint.syntax import program as p
from transferlint.syntax.program import Reg, Slot

from .examples import beside_torch
from .proofs import proven
from .questions.detection import brief, clusters, hot, likely, others, sure, together
from .questions.round_trips import explained

_LEVELS = frozenset({"debug", "info"})
_RARE = late.pattern(r"^(warn|warning|error|exception|critical|fatal|fail)$|(Error|Exception|Warning)$")


def detect(facts: FileFacts) -> Iterator[Finding]:
    """Device tensors that hot code puts into words."""
    found = (
        (f, t) for f, t in hot(facts, FORMAT) if likely(f, t, loops=False) and _plainly(f, t) and not explained(f, t)
    )
    for function, group in clusters(found):
        first = group[0]
        yield function.finding(
            first.register,
            _message(function, first),
            "keep the detached tensor and format it only every N steps, or only if the log level is enabled",
            (*function.why(first.before), *others(function, group)),
            min(sure(function, first), Confidence.LIKELY),
            together(function, group, [_guard(function, t.register) for t in group]),
        )


def _message(function: FunctionFacts, transfer: Transfer) -> str:
    often, subject = function.warmth(transfer.register).level.each, transfer.subject
    if transfer.inside is None and subject is not None and function.has_text(subject):
        return f"formatting `{brief(function.text(subject))}` copies it to the host and waits for the GPU {often}"
    return f"`{brief(function.text(transfer.register))}` formats a device tensor and waits for the GPU {often}"


def _plainly(function: FunctionFacts, transfer: Transfer) -> bool:
    """True where the text is surely a tensor's and made on the ordinary path. A name counts for what was assigned to
    it: that it is handed to a function of torch does not make a path or a name of a device a tensor."""
    if _behind_a_read(function, transfer.register):
        return False
    statement = _statement(function, transfer.register)
    for reg in function.expression(statement if statement is not None else transfer.register):
        made = function.code[reg]
        if isinstance(made, p.Call) and _RARE.search(_last(function, made.function)):
            return False
    return transfer.subject is not None and _solid(function, transfer.subject)


def _solid(function: FunctionFacts, reg: Reg) -> bool:
    """True where the expression starts from what is surely a tensor."""
    made, value = function.code[reg], function.values[reg]
    if value.is_a(TENSOR) and not value.places & ~ON_DEVICE and not value.flags & FROM_PARAMETER:
        return True
    if on_device_or_plain(value) and not isinstance(made, p.Load):
        return True
    if isinstance(made, p.Attr) and function.values[made.object].kinds & OBJECT:
        return function.values[reg].is_a(TENSOR)  # what the methods of its class store there
    if isinstance(made, p.Attr | p.Subscript):
        return _solid(function, made.object)
    if isinstance(made, p.Binary):
        return _solid(function, made.left) or _solid(function, made.right)
    if isinstance(made, p.Call):
        callee = function.code[made.function]
        named = function.file.placement.names.dotted(function.function, made.function)
        return bool(named) or not isinstance(callee, p.Attr) or _solid(function, callee.object)
    if not isinstance(made, p.Load):
        return function.values[reg].is_a(TENSOR)
    given = [q for q in function.function.parameters if q.slot == made.slot]
    if given:
        return "Tensor" in given[0].annotation or function.role.tensors_in
    stores = [i for r in function.stores(made.slot) if isinstance(i := function.code[r], p.Store)]
    return all(_computed(function, i.value) for i in stores) or made.slot in _shown(function)


@once
def _shown(function: FunctionFacts) -> frozenset[Slot]:
    """The variables on which a method is called that only tensors have: `loss.backward()`."""
    found = (made for made in function.code if isinstance(made, p.Attr) and made.name in TENSOR_ONLY)
    owners = (function.code[made.object] for made in found)
    return frozenset(owner.slot for owner in owners if isinstance(owner, p.Load))


def _behind_a_read(function: FunctionFacts, reg: Reg) -> bool:
    """True in an arm that the value of a device tensor decides on: the host has waited already, and what is said there
    is a warning."""
    reads = {t.register for t in function.transfers if t.direction is Direction.D2H and t.kind != FORMAT}
    for region in function.function.ancestors(function.region(reg)):
        if region.kind in ("then", "else") and region.test is not None:
            tested = {region.test, *function.expression(region.test), *function.users(region.test)}
            if tested & reads:
                return True
    return False


def _computed(function: FunctionFacts, reg: Reg) -> bool:
    """True for a tensor that an operator, a method or a module gave; elements of what is gone over do not tell, but for
    those of which the source proves that they are tensors on the device."""
    made = function.code[reg]
    known = function.values[reg]
    if function.confidence(element(known) if known.is_a(CONTAINER) else known) is Confidence.CERTAIN:
        return True
    if isinstance(made, p.Unpack):
        return function.values[made.value].is_a(TENSOR) or held_on_device(function.values[made.value])
    value = function.values[reg]
    return (value.is_a(TENSOR) or held_on_device(value)) and not isinstance(made, p.Next)


def _last(function: FunctionFacts, reg: Reg) -> str:
    made = function.code[reg]
    if isinstance(made, p.Load):
        return function.function.slot_names[made.slot]
    return made.name if isinstance(made, p.Attr | p.Outer) else ""


def _statement(function: FunctionFacts, reg: Reg) -> Reg | None:
    """The expression statement that a register is a part of, None where it is a part of another statement."""
    while True:
        users = [u for u in function.users(reg) if u > reg]
        if len(users) != 1:
            return None
        reg = users[0]
        if isinstance(function.code[reg], p.Discard):
            return reg


def _guard(function: FunctionFacts, reg: Reg) -> Fix | None:
    """Put the logger's call that the text is for behind its level.

    Safe where it is proven that the arguments have no effect and cannot raise (`proven.harmless`): below the level they
    are not computed any more. That the receiver is a logger, whose methods do nothing but log, is proven by
    `_logging` for every such fix.
    """
    at = _statement(function, reg)
    made = function.code[at] if at is not None else None
    call = function.code[made.value] if isinstance(made, p.Discard) else None
    if at is None or not isinstance(made, p.Discard) or not isinstance(call, p.Call):
        return None
    callee = function.code[call.function]
    if not isinstance(callee, p.Attr) or callee.name not in _LEVELS:
        return None
    logging = _logging(function, callee.object)
    if not logging:
        return None
    text = function.file.text
    start, end = function.span(made.value)
    line = function.file.spans.line_start(start)
    indent = text[line:start]
    rest = re.match(r"[ \t]*(#[^\r\n]*)?(?=[\r\n]|$)", text[end:])
    if indent.strip() or rest is None:
        return None
    newline = "\r\n" if "\r\n" in text else "\n"
    unit = "\t" if "\t" in indent else "    "
    test = f"if {function.text(callee.object)}.isEnabledFor({logging}.{callee.name.upper()}):"
    given = (*call.args, *(r for _, r in call.keywords))
    safe = not any(call.stars) and all(key for key, _ in call.keywords)
    safe = safe and all(proven.harmless(function, r) for r in given)
    fix = Edit(start, start, f"{test}{newline}{indent}{unit}")
    return Fix("check the log level first", Safety.SAFE if safe else Safety.UNSAFE, (fix,))


def _logging(function: FunctionFacts, reg: Reg) -> str:
    """What `logging` is called here, where the receiver is a logger that this file got from it; "" for others."""
    made = function.code[reg]
    if not isinstance(made, p.Load | p.Outer):
        return ""
    slot = (function.index, made.slot) if isinstance(made, p.Load) else None
    bound = slot or find(function.file.program, function.function, getattr(made, "name", ""))
    if bound is None:
        return ""
    owner = function.file.functions[bound[0]]
    stores = [i for r in owner.stores(bound[1]) if isinstance(i := owner.code[r], p.Store)]
    if len(stores) != 1 or any(q.slot == bound[1] for q in owner.function.parameters):
        return ""
    got = owner.code[stores[0].value]
    if not isinstance(got, p.Call):
        return ""
    names = function.file.placement.names
    module = owner.code[got.function]
    if names.dotted(owner.function, got.function) != "logging.getLogger" or not isinstance(module, p.Attr):
        return ""
    word = owner.text(module.object)
    here = function.function
    while here.parent > 0 and word not in here.slots:
        here = function.file.program.functions[here.parent]
    return word if word.isidentifier() and (here.index == 0 or word not in here.slots) else ""


RULE = Rule(
    code="TL303",
    name="implicit-format",
    summary='`print(t)`, `f"{t}"` and the like on a device tensor',
    category="hidden-sync",
    default=True,
    fix_safety=Safety.SAFE,
    since="0.1.0",
    examples=(
        Example(
            bad="""\
import logging

import torch

logger = logging.getLogger(__name__)


def train(model, loader, optimizer):
    for x, y in loader:
        loss = torch.nn.functional.mse_loss(model(x.cuda()), y.cuda())
        loss.backward()
        optimizer.step()
        logger.debug(f"loss {loss}")  # expect: TL303
""",
            good="""\
import logging

import torch

logger = logging.getLogger(__name__)


def train(model, loader, optimizer):
    for step, (x, y) in enumerate(loader):
        loss = torch.nn.functional.mse_loss(model(x.cuda()), y.cuda())
        loss.backward()
        optimizer.step()
        logger.debug("loss %s", loss)
        if step % 100 == 0:
            print(loss)
""",
            fixed="""\
import logging

import torch

logger = logging.getLogger(__name__)


def train(model, loader, optimizer):
    for x, y in loader:
        loss = torch.nn.functional.mse_loss(model(x.cuda()), y.cuda())
        loss.backward()
        optimizer.step()
        if logger.isEnabledFor(logging.DEBUG):
            logger.debug(f"loss {loss}")
""",
        ),
    ),
    more_examples=beside_torch.examples("TL303"),
    detect=detect,
    waits=True,
    advice=(
        ("jax", "print it only every N steps, or collect and print after the loop"),
        ("tensorflow", "print it only every N steps, or collect and print after the loop"),
        ("cupy", "print it only every N steps, or collect and print after the loop"),
    ),
    doc=__doc__,
)
