"""The host reads the result of a non-blocking copy too early.

What it does
------------
Reports copies to the host with `non_blocking=True` (`t.to("cpu", non_blocking=True)`, `pinned.copy_(t,
non_blocking=True)`) whose result the host reads, computes with or copies before anything has synchronized with the
device.

Why
---
The call returns immediately, and the copy is still running while the host reads the memory: old data, or half of the
new data. No error is raised, and on an idle device it mostly works (docs.pytorch.org "A guide on good usage of
non_blocking and pin_memory()": copies to the host need a synchronization before they are read).

Example
-------
    scores = scores.to("cpu", non_blocking=True)
    best = scores.max()

Use instead
-----------
    scores = scores.to("cpu", non_blocking=True)
    done = torch.cuda.Event()
    done.record()
    ...                      # work that does not need the scores
    done.synchronize()
    best = scores.max()

When it is fine
---------------
Not reported: reads after `torch.cuda.synchronize()`, `event.synchronize()`, `stream.synchronize()`, or any blocking
transfer on the same stream; a copy that is only stored, passed on or returned (as a tensor: an array, `.numpy()`, is
taken for a read); and a copy into memory that is not
pinned, which blocks anyway.

Fix safety
----------
Unsafe: `non_blocking=True` is removed, and the host waits. To keep the overlap, use an event by hand.

See also
--------
- TL306 for syncs that are not needed
- https://docs.pytorch.org/tutorials/intermediate/pinmem_nonblock.html
- https://docs.pytorch.org/docs/stable/notes/cuda.html#asynchronous-execution
"""

from __future__ import annotations

import bisect
import re
from collections.abc import Iterator

from transferlint import late
from transferlint.flow.callgraph.names import split
from transferlint.flow.dataflow.once import once
from transferlint.flow.dataflow.operands import operands
from transferlint.flow.facts import FileFacts, FunctionFacts
from transferlint.flow.lattice.transfers import COPY_INTO, DOWNLOAD, SYNCHRONIZE, Transfer
from transferlint.flow.lattice.values import ANYWHERE, CONTAINER, DEVICE, HOST, MODULE, ON_DEVICE, PINNED, TENSOR
from transferlint.flow.sharing import TENSOR_ATTRIBUTES, Path, path
from transferlint.knowledge.api import Effect
from transferlint.knowledge.catalogue import effects
from transferlint.knowledge.torch_names import VIEWS
from transferlint.model import Confidence, Edit, Evidence, Finding, Fix, Safety
from transferlint.rule import Example, Rule
from transferlint.syntax import program as p
from transferlint.syntax.program import Reg

from .questions.detection import brief

_WAITS = late.pattern(r"sync|wait|query|join|flush|barrier", re.IGNORECASE)
_METADATA = frozenset({Effect.HOST, Effect.NOTHING, Effect.LIKE, Effect.MOVE, Effect.CUDA})
_READERS = frozenset(
    f"builtins.{n}" for n in "float int bool print str repr list tuple sum max min sorted any all".split()
)
_MOST = 400  # blocks to look at; what is further is not looked at
_KEY = late.pattern(r",[ \t]*(non_blocking[ \t]*=[ \t]*)?$")
_MOST_CODE = 4000  # instructions


def detect(facts: FileFacts) -> Iterator[Finding]:
    """Downloads that nobody waits for and that are read all the same."""
    for function in facts.functions:
        if function.role.skip or function.role.testing:
            continue
        for transfer in function.transfers:
            held = _held(function, transfer)
            read = _read(function, transfer, held) if held is not None else None
            if read is None or not function.has_text(transfer.register):
                continue
            yield function.finding(
                transfer.register,
                f"`{brief(function.text(transfer.register))}` returns before the copy is done, and the result is read"
                f" at line {function.site(read).line} without a sync",
                "wait for the copy first, with an event, or remove `non_blocking`",
                (Evidence(function.site(read), "read here, with no sync in between"),),
                Confidence.CERTAIN if transfer.before.places == DEVICE else Confidence.LIKELY,
                _fix(function, transfer),
                heated=False,
            )


def claims(function: FunctionFacts) -> Iterator[Reg]:
    """The downloads that do not wait, read too early or not: nobody can say of them that they make the host wait."""
    for transfer in function.transfers:
        if transfer.kind == DOWNLOAD and _held(function, transfer) is not None:
            yield transfer.register


def _held(function: FunctionFacts, transfer: Transfer) -> frozenset[Path] | None:
    """The variables that hold the data before it is there; None for other transfers."""
    made = function.code[transfer.register]
    before = transfer.before
    there = before.places & ON_DEVICE or _says_so(transfer)
    if not isinstance(made, p.Call) or not transfer.non_blocking or not there:
        return None
    asks = _hint(made)
    hint = function.code[asks] if asks is not None else None
    if before.places & HOST or before.kinds & MODULE or not isinstance(hint, p.Const) or hint.value is not True:
        return None
    if transfer.kind == DOWNLOAD:
        return frozenset()
    callee = function.code[made.function]
    if transfer.kind != COPY_INTO or transfer.places & ON_DEVICE or not isinstance(callee, p.Attr):
        return None
    target = path(function, callee.object)
    pinned = function.values[callee.object].flags & PINNED
    return frozenset({target}) if pinned and target is not None else None


def _says_so(transfer: Transfer) -> bool:
    """True for what its author copies to the host without waiting: who writes that holds it on the device."""
    return transfer.kind == DOWNLOAD and transfer.explicit and bool(transfer.before.places & ANYWHERE)


def _hint(made: p.Call) -> Reg | None:
    return dict(made.keywords).get("non_blocking", made.args[1] if len(made.args) == 2 else None)


def _read(function: FunctionFacts, transfer: Transfer, held: frozenset[Path]) -> Reg | None:
    """The first read that no wait stands before on some path, None without one. A wait under a condition counts as one:
    it mostly is the condition under which the copy was made."""
    blocks = function.function.blocks
    start = next(n for n, b in enumerate(blocks) if b.start <= transfer.register < b.end)
    work: list[tuple[int, Reg, frozenset[Path]]] = [(start, transfer.register + 1, held)]
    seen: set[tuple[int, frozenset[Path]]] = set()
    left_over = _MOST_CODE
    while work and len(seen) < _MOST and left_over > 0:
        number, first, names = work.pop()
        left = _Walk(function, transfer.register, names)
        for reg in range(first, blocks[number].end):
            left_over -= 1
            if left.ends(reg) or not left_over:
                break
            if left.reads(reg):
                between = range(transfer.register + 1, reg) if reg > transfer.register else range(len(function.code))
                ends = sorted(_waiting(function) - {transfer.register})
                if bisect.bisect_left(ends, between.start) < bisect.bisect_left(ends, between.stop):
                    return None
                return reg if function.has_text(reg) else transfer.register
        else:
            for follower in blocks[number].successors:
                key = follower, frozenset(left.names)
                if left.names and key not in seen:
                    seen.add(key)
                    work.append((follower, blocks[follower].start, key[1]))
    return None


@once
def _waiting(function: FunctionFacts) -> frozenset[Reg]:
    """Where the host waits for the device."""
    found = {
        t.register
        for t in function.transfers
        if t.kind == SYNCHRONIZE or (not t.non_blocking and (t.places | t.before.places) & ON_DEVICE)
    }
    for reg in function.of(p.Call):
        made = function.code[reg]
        callee = function.code[made.function] if isinstance(made, p.Call) else None
        local = split(function.calls.get(reg, ""))
        if (isinstance(callee, p.Attr | p.Outer) and _WAITS.search(callee.name)) or (
            local is not None and local[0] == function.file.path and _synchronizes(function.file.functions[local[1]])
        ):
            found.add(reg)
    return frozenset(found)


@once
def _synchronizes(function: FunctionFacts) -> bool:
    return any(t.kind == SYNCHRONIZE for t in function.transfers)


class _Walk:
    """The data on its way, through one block: `names` are the variables that hold it, `_values` the registers."""

    def __init__(self, function: FunctionFacts, start: Reg, names: frozenset[Path]) -> None:
        self._function = function
        self.names = set(names)
        self._values = {start} if not names else set()
        self._arrays: set[Reg] = set()  # of these those that are arrays: who gets one does not know of the copy

    def ends(self, reg: Reg) -> bool:
        """True where the host waits for the device."""
        return reg in _waiting(self._function)

    def reads(self, reg: Reg) -> bool:
        """Follow the data through one instruction; True where the host needs it there."""
        made = self._function.code[reg]
        if isinstance(made, p.Load | p.Outer | p.Attr) and path(self._function, reg) in self.names:
            self._values.add(reg)
            return False
        taken = [r for r in (*operands(made), *self._receiver(made)) if r in self._values]
        if isinstance(made, p.Store | p.SetAttr):
            self._bind(made, bool(taken))
            return False
        if not taken:
            return False
        if isinstance(made, p.Return | p.Yield | p.SetItem | p.Call) and not self._arrays.isdisjoint(operands(made)):
            return True
        if isinstance(made, p.Attr):
            if made.name in TENSOR_ATTRIBUTES:
                self._values.add(reg)
            return False
        if isinstance(made, p.Subscript):
            return self._indexed(made, reg)
        if isinstance(made, p.Call):
            return self._called(made, reg)
        if isinstance(made, p.SetItem):
            return self._set(made)
        if isinstance(made, p.Compare) and set(made.operators) <= {"is", "is not"}:
            return False
        return isinstance(made, p.Binary | p.Compare | p.Unary | p.Test | p.Format)

    def _receiver(self, made: p.Instruction) -> tuple[Reg, ...]:
        callee = self._function.code[made.function] if isinstance(made, p.Call) else None
        return (callee.object,) if isinstance(callee, p.Attr) else ()

    def _bind(self, made: p.Store | p.SetAttr, taken: bool) -> None:
        function = self._function
        target: Path | None
        if isinstance(made, p.Store):
            target = ((function.index, made.slot),)
        else:
            base = path(function, made.object)
            target = (*base, made.name) if base is not None else None
        if target is not None and taken and made.value in self._values:
            self.names.add(target)
        elif target is not None:
            self.names.discard(target)

    def _indexed(self, made: p.Subscript, reg: Reg) -> bool:
        if made.object in self._values:
            self._values.add(reg)
            return False
        base = self._function.values[made.object]
        return base.is_a(TENSOR) and base.on_host

    def _set(self, made: p.SetItem) -> bool:
        """`state[index] = t` copies on the host; a place in a list or dictionary only keeps it."""
        if made.value not in self._values:
            return False
        base, index = self._function.values[made.object], self._function.values[made.index]
        if base.kinds & CONTAINER or base.on_device:
            return False
        return (base.is_a(TENSOR) and base.on_host) or index.is_a(TENSOR)

    def _called(self, made: p.Call, reg: Reg) -> bool:
        function = self._function
        name = function.file.placement.names.dotted(function.function, made.function)
        callee = function.code[made.function]
        if name:
            known = effects().get(name)
            if name in _READERS or name.startswith("numpy."):
                return True
            return name == "torch.save" or (
                name.startswith("torch.") and name.count(".") == 1 and known not in _METADATA
            )
        if not isinstance(callee, p.Attr):
            return False
        if callee.name == "copy_" and not self._values.isdisjoint(made.args):
            return function.values[callee.object].on_host
        if callee.object not in self._values:
            return False
        if callee.name == "copy_":
            return self._overwritten(callee.object)
        if callee.name in VIEWS:
            self._values.add(reg)  # `.float()` too: of a tensor that is of that type already it is the tensor itself
            if callee.name == "numpy":
                self._arrays.add(reg)
                return self._handed_on(reg)
            return False
        known = effects().get(f"Tensor.{callee.name}")
        return known is not None and known not in _METADATA

    def _handed_on(self, array: Reg) -> bool:
        """True for an array that goes on in its expression, where nothing waits later."""
        function = self._function
        stays = all(isinstance(function.code[one], p.Store) for one in function.users(array))
        return not stays and not any(at > array for at in _waiting(function))

    def _overwritten(self, target: Reg) -> bool:
        """False: a copy into the tensor reads its source alone, and what is read later is of the later copy."""
        whole = path(self._function, target)
        if whole is not None:
            self.names.discard(whole)
        return False


def _fix(function: FunctionFacts, transfer: Transfer) -> Fix | None:
    made = function.code[transfer.register]
    assert isinstance(made, p.Call)
    hint = _hint(made)
    if hint is None:
        return None
    start, end = function.span(hint)
    before = _KEY.search(function.file.text, function.file.spans.line_start(start), start)
    if before is None:
        return Fix("wait for the copy", Safety.UNSAFE, (Edit(start, end, "False"),))
    return Fix("wait for the copy", Safety.UNSAFE, (Edit(before.start(), end, ""),))


RULE = Rule(
    code="TL503",
    name="unsynchronized-download",
    summary="a `non_blocking` copy to the host that is read before a sync: garbage values",
    category="mistake",
    default=True,
    fix_safety=Safety.UNSAFE,
    since="0.1.0",
    examples=(
        Example(
            bad="""\
import torch


def best(model, x):
    scores = model(x.cuda())
    scores = scores.to("cpu", non_blocking=True)  # expect: TL503
    return scores.max(1).values + 1
""",
            good="""\
import torch


def best(model, x):
    scores = model(x.cuda())
    scores = scores.to("cpu", non_blocking=True)
    done = torch.cuda.Event()
    done.record()
    done.synchronize()
    return scores.max(1).values + 1
""",
            fixed="""\
import torch


def best(model, x):
    scores = model(x.cuda())
    scores = scores.to("cpu")
    return scores.max(1).values + 1
""",
            unsafe=True,
        ),
    ),
    detect=detect,
    advice=(),
    doc=__doc__,
    claims=claims,
)
