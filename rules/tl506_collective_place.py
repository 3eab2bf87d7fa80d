"""A collective gets host tensors, or the host does the work of a collective.

What it does
------------
Reports host tensors that are passed to a collective under NCCL, or together with device tensors; in hot code,
`all_gather` into a list that is only summed, and sums over host copies from several devices (`x.cpu() + y.cpu()`). For
TensorFlow's distribution strategies, reports values that are read or summed one replica at a time
(`strategy.experimental_local_results`, `values` of the result of `strategy.run`). Findings are rare: there was none in
7,200 kLOC of public code.

Why
---
NCCL only accepts device tensors; with others the call raises (docs.pytorch.org distributed, 'Backends'). With gather
and sum, every process receives every part and adds them all; `all_reduce` sums while communicating. A sum over host
copies waits for each device, although one move between devices would bring the data together.

Example
-------
    dist.init_process_group("nccl")
    count = torch.tensor([len(batch)])
    dist.all_reduce(count)

    parts = [torch.zeros_like(loss) for _ in range(dist.get_world_size())]
    dist.all_gather(parts, loss)
    total = sum(parts)

Use instead
-----------
    dist.init_process_group("nccl")
    count = torch.tensor([len(batch)], device=device)
    dist.all_reduce(count)

    dist.all_reduce(total := loss.detach().clone())

When it is fine
---------------
Not reported: host tensors in a separate group (`group=gloo`), and gathered parts that are used one by one.

Fix safety
----------
No automatic fix: which device, and which process keeps the result, is up to you.

See also
--------
- TL102 for copies to the host
- TL101 for reads of the reduced value
- https://docs.pytorch.org/docs/stable/distributed.html
- https://www.tensorflow.org/api_docs/python/tf/distribute/Strategy
"""

from __future__ import annotations

from collections.abc import Iterator

from transferlint.flow.facts import FileFacts, FunctionFacts
from transferlint.flow.lattice.transfers import DOWNLOAD, NUMBER, SCALAR_READ, Transfer
from transferlint.flow.lattice.values import CONTAINER, DEVICE, DEVICE_NAME, HOST, ON_DEVICE, TENSOR, Value
from transferlint.flow.placement.foreign_members import REPLICA
from transferlint.knowledge.api import Effect
from transferlint.knowledge.lookup import effect_of
from transferlint.model import Confidence, Evidence, Finding
from transferlint.rule import Example, Rule
from transferlint.syntax import program as p
from transferlint.syntax.program import Reg

from .code.chains import called, receiver, user
from .examples import beside_torch
from .questions.detection import brief, clusters, each_of, likely, others

_ADDS = frozenset({"+", "-"})


def detect(facts: FileFacts) -> Iterator[Finding]:
    """Collectives over host tensors, and sums that a collective or one move would make."""
    nccl = any(_starts_nccl(function) for function in facts.functions)
    for function in facts.functions:
        if function.role.skip or function.role.testing:
            continue
        for reg in function.of(p.Call):
            made, name = function.code[reg], called(function, reg)
            if isinstance(made, p.Call) and name and effect_of(name) is Effect.COLLECTIVE:
                yield from _on_host(function, reg, made, nccl)
                yield from _added_up(function, reg, made)
        yield from _replicas(function)
        for reg, downloads in _sums(function):
            if any(t.before.name == REPLICA for r in downloads for t in function.transfers_at(r)):
                continue
            values = [function.values[_source(function, d)] for d in downloads]
            yield function.finding(
                reg,
                f"`{brief(function.text(reg))}` adds values of several devices on the host and waits for each device",
                "move to one device and add there, or use `all_reduce`; copy only the sum",
                (*function.why(values[0]), *(Evidence(function.site(d), "copied here") for d in downloads)),
                Confidence.CERTAIN if all(v.places == DEVICE for v in values) else Confidence.LIKELY,
            )


def claims(function: FunctionFacts) -> Iterator[Reg]:
    """The copies to the host that are added up there, and the reads of one replica after the other."""
    for _, downloads in _sums(function):
        yield from downloads
    yield from (transfer.register for transfer in _read_apart(function))


def _replicas(function: FunctionFacts) -> Iterator[Finding]:
    """Reads of what each device of a strategy gave, and Python's sum over that."""
    for _, group in clusters((function, transfer) for transfer in _read_apart(function)):
        first = group[0]
        yield function.finding(
            first.register,
            f"`{brief(function.text(first.register))}` reads the result of every device separately and waits for each",
            evidence=others(function, group),
            confidence=Confidence.LIKELY,
        )
    for reg in function.of(p.Call):
        made = function.code[reg]
        given = function.values[made.args[0]] if isinstance(made, p.Call) and made.args else None
        if given is None or given.item is None or given.item.name != REPLICA or function.role.traced:
            continue
        if called(function, reg) == "builtins.sum" and function.warmth(reg).hot:
            yield function.finding(
                reg,
                f"`{brief(function.text(reg))}` adds values of several devices one by one, with a device-to-device copy"
                " for each",
                confidence=Confidence.LIKELY,
            )


def _read_apart(function: FunctionFacts) -> Iterator[Transfer]:
    for transfer in each_of(function, DOWNLOAD, SCALAR_READ, NUMBER):
        if transfer.before.name == REPLICA and function.warmth(transfer.register).hot:
            yield transfer


def _starts_nccl(function: FunctionFacts) -> bool:
    for reg in function.of(p.Call):
        made = function.code[reg]
        if isinstance(made, p.Call) and called(function, reg) == "torch.distributed.init_process_group":
            given = dict(made.keywords).get("backend", made.args[0] if made.args else None)
            backend = function.code[given] if given is not None else None
            if isinstance(backend, p.Const) and backend.value == "nccl":
                return True
    return False


def _on_host(function: FunctionFacts, reg: Reg, made: p.Call, nccl: bool) -> Iterator[Finding]:
    """A host tensor among the operands, where the group is the default one or others are on the device."""
    given = [*made.args, *(r for _, r in made.keywords)]
    host = [r for r in given if _all_on(function.values[r], HOST)]
    device = [r for r in given if _all_on(function.values[r], DEVICE)]
    group = dict(made.keywords).get("group")
    own = group is not None and not (isinstance(g := function.code[group], p.Const) and g.value is None)
    if not host or any(made.stars) or not ((nccl and not own) or device):
        return
    last = called(function, reg).rpartition(".")[2]
    reason = "NCCL only accepts device tensors" if not device else "its other tensors are on the device"
    yield function.finding(
        reg,
        f"`{last}` gets `{brief(function.text(host[0]))}`, which is on the host: {reason}",
        "create it on the device or move it there",
        (Evidence(function.site(host[0]), "on the host"),),
        Confidence.LIKELY,
        heated=False,
    )


def _all_on(value: Value, place: int) -> bool:
    """True for a tensor, or a list of tensors, of which all are proven to be in a place."""
    if value.kinds == CONTAINER and value.item is not None:
        value = value.item
    return value.kinds == TENSOR and value.places == place and not value.kinds & DEVICE_NAME


def _added_up(function: FunctionFacts, reg: Reg, made: p.Call) -> Iterator[Finding]:
    """`all_gather(parts, t)` where `parts` are only added up afterwards."""
    if called(function, reg).rpartition(".")[2] != "all_gather" or len(made.args) < 2:
        return
    warmth = function.warmth(reg)
    parts = function.code[made.args[0]]
    if not isinstance(parts, p.Load) or not warmth.hot or warmth.weak or len(function.stores(parts.slot)) != 1:
        return
    loads = function.loads(parts.slot)
    others = [r for r in loads if r != made.args[0]]
    total = user(function, others[0]) if len(others) == 1 and others[0] > reg else None
    if total is None or called(function, total) != "builtins.sum":
        return
    yield function.finding(
        reg,
        f"`{brief(function.text(reg))}` gathers tensors that are only summed at line {function.site(total).line}",
        "use `all_reduce`, which sums while communicating",
        (Evidence(function.site(total), "summed here"),),
        Confidence.LIKELY,
    )


def _sums(function: FunctionFacts) -> Iterator[tuple[Reg, tuple[Reg, ...]]]:
    """Sums of copies of device tensors in hot code: (register of the sum, registers of the copies)."""
    copies = {
        t.register
        for t in function.transfers
        if t.kind == DOWNLOAD
        and t.before.is_a(TENSOR)
        and t.before.places & ON_DEVICE
        and not t.before.places & HOST
        and function.warmth(t.register).hot
        and likely(function, t)
    }
    if not copies:
        return
    for reg, made in enumerate(function.code):
        if isinstance(made, p.Binary) and made.operator in _ADDS and {made.left, made.right} <= copies:
            yield reg, (made.left, made.right)
        elif isinstance(made, p.Call) and made.args and called(function, reg) == "builtins.sum":
            parts = function.code[made.args[0]]
            if isinstance(parts, p.Collect) and parts.value in copies:
                yield reg, (parts.value,)


def _source(function: FunctionFacts, reg: Reg) -> Reg:
    found = receiver(function, reg)
    return found if found is not None else reg


RULE = Rule(
    code="TL506",
    name="collective-place",
    summary="host tensors passed to NCCL; gathering or copying to the host where `all_reduce` or one move would do",
    category="mistake",
    default=True,
    fix_safety=None,
    since="0.1.0",
    examples=(
        Example(
            bad="""\
import torch
import torch.distributed as dist


def count(batches):
    dist.init_process_group("nccl")
    total = torch.tensor([len(batches)])
    dist.all_reduce(total)  # expect: TL506
    return total
""",
            good="""\
import torch
import torch.distributed as dist


def count(batches, device):
    dist.init_process_group("nccl")
    total = torch.tensor([len(batches)], device=device)
    dist.all_reduce(total)
    return total
""",
        ),
        Example(
            bad="""\
import torch


class Pair(torch.nn.Module):
    def forward(self, left: torch.Tensor, right: torch.Tensor):
        x, y = self.first(left), self.second(right)
        return self.loss(left.cpu() + right.cpu(), x, y)  # expect: TL506
""",
            good="""\
import torch


class Pair(torch.nn.Module):
    def forward(self, left: torch.Tensor, right: torch.Tensor):
        x, y = self.first(left), self.second(right)
        return self.loss(left + right.to(left.device), x, y)
""",
        ),
    ),
    more_examples=beside_torch.examples("TL506"),
    detect=detect,
    advice=(
        (
            "tensorflow",
            "sum on the devices, read the result: `strategy.reduce(tf.distribute.ReduceOp.SUM, values, axis=None)`",
        ),
    ),
    doc=__doc__,
    claims=claims,
)
