"""A device tensor is copied to the host on every step.

What it does
------------
Reports `.cpu()`, `.to("cpu")` and a following `.numpy()` on device tensors, in code that runs on every step or for
every element. Also what torch copies to the host itself: the lengths given to `ctc_loss`, and in
`pad_packed_sequence` the order of what was packed with `enforce_sorted=False`.

Why
---
Each copy waits until the device has finished all queued work, then transfers the data. Many small copies cost many
syncs where one copy would do.

Example
-------
    for inputs, labels in loader:
        scores.append(model(inputs.to(device)).cpu())

Use instead
-----------
    for inputs, labels in loader:
        scores.append(model(inputs.to(device)))
    scores = torch.cat(scores).cpu()

When it is fine
---------------
Copies are fine if the results of an evaluation do not fit on the device, every N steps, in code that saves results, or
once after the loop. Not reported either:

- tensors passed directly to a metric on the host (`metric.append(ids=ids, predict=p.cpu())`), and lengths passed to
  `pack_padded_sequence`
- a single copy of a whole tensor that only the host needs: it becomes text, an image or a file, is iterated over, or is
  part of the result
- copies for a library that works on the host alone (SciPy, scikit-learn, pandas, Pillow, OpenCV), unless what it makes
  of them goes back to the device, which TL201 reports
- copies that an argument asks for (`if convert_to_numpy:`)

Fix safety
----------
Unsafe: collecting on the device needs device memory, which only you can judge. A list of reduced values that is joined
once after the loop is joined on the device and copied afterwards.

Only shown, not applied:

- a list of values that are not reduced: all of them are on the device at the same time
- returning the device tensor, so that callers decide when to copy; not offered if the result may go to another process
  (the file imports `torch.distributed.rpc`, `multiprocessing`, `pickle` and the like, or passes the function on)
- keeping the tensor on the device if it is stored, passed on, or only used in computations that the device can do;
  later users get a device tensor
- one copy before a loop that takes the elements of a tensor; the elements share the memory of the copy

See also
--------
- TL405 for a copy of which only one number is used
- TL201 for a copy that goes back to the device
- https://docs.pytorch.org/docs/stable/generated/torch.Tensor.cpu.html
- https://docs.pytorch.org/docs/stable/notes/cuda.html#asynchronous-execution
- https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html
"""

from __future__ import annotations

from collections.abc import Iterator

from transferlint.flow.evident import hooked
from transferlint.flow.facts import FileFacts, FunctionFacts
from transferlint.flow.lattice.transfers import COPY_INTO, DOWNLOAD, Transfer
from transferlint.flow.lattice.values import ARRAY, MODULE, TENSOR
from transferlint.knowledge import roles
from transferlint.model import Confidence, Direction, Finding, Fix, Level, Safety
from transferlint.rule import Example, Rule
from transferlint.syntax import program as p
from transferlint.syntax.program import Reg
from transferlint.syntax.regions import Region

from .code import derived
from .code.chains import alone, remedy, statement
from .examples import beside_torch
from .fixes import collecting, leaving
from .questions import host_results, host_uses, read_purposes
from .questions.detection import brief, clusters, hot, likely, others, sure, together
from .questions.round_trips import explained

_METRICS = frozenset({"append", "add", "add_batch"})


def detect(facts: FileFacts) -> Iterator[Finding]:
    """Downloads in hot code that no round-trip rule explains better."""
    found = (
        (f, t)
        for f, t in hot(facts, DOWNLOAD)
        if not (t.before.kinds & MODULE and not t.before.kinds & TENSOR) and _sure(f, t) and not explained(f, t)
    )
    for function, group in clusters(found):
        first = group[0]
        yield function.finding(
            first.register,
            f"`{brief(function.text(first.register))}` copies to the host and waits for the GPU"
            f" {function.warmth(first.register).level.each}",
            _instead(function, first),
            (*function.why(first.before), *others(function, group)),
            _sure(function, first),
            _fix(function, group),
        )

    for function, group in clusters(pair for pair in hot(facts, COPY_INTO) if _into_host(*pair)):
        first = group[0]
        yield function.finding(
            first.register,
            _stored(function, first) + f" waits for the GPU {function.warmth(first.register).level.each}",
            "keep what is stored on the device, and copy it once after the loop",
            (*function.why(first.before), *others(function, group)),
            min(sure(function, first), Confidence.LIKELY),
        )


def _fix(function: FunctionFacts, group: list[Transfer]) -> Fix | None:
    """Copying later, or not at all. Of a copy that nobody takes there is nothing to be kept: what moves may be the
    object itself."""
    if any(alone(function, transfer.register) for transfer in group):
        return None
    return together(function, group, [_returned(function, t) for t in group]) or leaving.offered(function, group)


def _stored(function: FunctionFacts, transfer: Transfer) -> str:
    """What copies to a tensor on the host, in words."""
    text = brief(function.text(transfer.register))
    if isinstance(function.code[transfer.register], p.Call):
        return f"`{text}` copies to a tensor on the host and"
    return f"`{text}` is on the host: storing a tensor of the device there"


def _into_host(function: FunctionFacts, transfer: Transfer) -> bool:
    """True for what is stored in a tensor on the host: `returns[t] = value`, `host.copy_(x)`."""
    waits = transfer.direction is Direction.D2H and not transfer.non_blocking
    return waits and likely(function, transfer) and not explained(function, transfer)


def _instead(function: FunctionFacts, transfer: Transfer) -> str:
    """What helps: that depends on what the host does with the copy."""
    reg = transfer.register
    if own := remedy(function, transfer):
        return own
    if read_purposes.reduced(function, reg):
        return "compute the result on the device too, and copy only the final number"
    if read_purposes.added_up(function, reg) and not read_purposes.collected(function, reg):
        return "accumulate on the device, and copy the sum once after the loop"
    return "collect on the device and copy once after the loop"


def _returned(function: FunctionFacts, transfer: Transfer) -> Fix | None:
    """Return the tensor itself: `return x.detach()` for `return x.detach().cpu()`."""
    function, (transfer, *_) = leaving.made_in(function, [transfer])
    chain = collecting.bare(function, transfer)
    if chain is None or chain[2] or not transfer.before.is_a(TENSOR):
        return None
    users = function.users(chain[0])
    if len(users) != 1 or not isinstance(function.code[users[0]], p.Return) or function.function.kind != "function":
        return None
    return None if host_uses.leaves_process(function) else Fix("return it on the device", Safety.DISPLAY, (chain[1],))


def _sure(function: FunctionFacts, transfer: Transfer) -> Confidence:
    """As for every read; but who writes `.cpu()` believes that it may be elsewhere."""
    confidence = sure(function, transfer)
    if any(meant(function, transfer) for meant in (_asked_for, _served, _ahead, _gone_over, _measured, _given_back)):
        return Confidence.POSSIBLE
    if function.framework(transfer.register) and not (
        hooked(function) or read_purposes.put_aside(function, transfer.register)
    ):
        return Confidence.POSSIBLE
    if confidence is Confidence.POSSIBLE and transfer.api in (".cpu()", ".to(cpu)"):
        confidence = Confidence.POSSIBLE if function.warmth(transfer.register).weak else Confidence.LIKELY
    return Confidence.POSSIBLE if host_results.host_result(function, transfer) else confidence


def _asked_for(function: FunctionFacts, transfer: Transfer) -> bool:
    """True behind an argument by which the caller asks for the result on the host: `if convert_to_numpy:`."""
    given = {one.slot: one.name for one in function.function.parameters}
    arms = (region for region in _tests(function, transfer.register) if region.kind == "then")
    tests = (function.code[region.test] for region in arms if region.test is not None)
    return any(isinstance(made, p.Load) and roles.ASKS_FOR_HOST.search(given.get(made.slot, "")) for made in tests)


def _given_back(function: FunctionFacts, transfer: Transfer) -> bool:
    """True for the copy that a function gives back of which nothing but what it computes on says that it runs
    repeatedly: whoever calls it wants it on the host."""
    reg, predicted = transfer.register, function.file.heat.predicted
    if function.index not in predicted or function.loops(reg) or function.warmth(reg).caller is not None:
        return False
    copies = derived.derived(function.function, {reg}, derived.WHOLE)
    return any(isinstance(made, p.Return) and made.value in copies for made in function.code)


def _measured(function: FunctionFacts, transfer: Transfer) -> bool:
    """True for the copy that is handed at once, by name, to a metric on the host, once a batch:
    `metric.append(ids=ids, predict=p.cpu(), target=t.cpu())`, and for lengths that go straight to
    `pack_padded_sequence`, which takes them on the host. A list's `append` takes no names."""
    if function.loops(transfer.register):
        return False
    for user in _uses(function, transfer.register):
        made = function.code[user]
        callee = function.code[made.function] if isinstance(made, p.Call) else None
        if isinstance(made, p.Call) and isinstance(callee, p.Attr) and callee.name in _METRICS:
            return any(value == transfer.register for _, value in made.keywords)
        if isinstance(callee, p.Attr | p.Outer | p.Load) and _named(function, callee) == "pack_padded_sequence":
            return True
    return False


def _uses(function: FunctionFacts, reg: Reg) -> list[Reg]:
    """The users of a copy, of what `.numpy()` makes of it, and of the one variable that holds either."""
    found = list(function.users(reg))
    for user in list(found):
        made = function.code[user]
        if isinstance(made, p.Attr) and made.name in ("numpy", "int", "long"):
            found += [u for call in function.users(user) for u in function.users(call)]
    stores = [i.slot for r in found if isinstance(i := function.code[r], p.Store)]
    once = [slot for slot in stores if len(function.stores(slot)) == 1]
    return found + [user for slot in once for load in function.loads(slot) for user in function.users(load)]


def _named(function: FunctionFacts, callee: p.Attr | p.Outer | p.Load) -> str:
    return function.function.slot_names[callee.slot] if isinstance(callee, p.Load) else callee.name


def _served(function: FunctionFacts, transfer: Transfer) -> bool:
    """True for the one copy of a result that a function for inference makes: its callers want it on the host."""
    reg = transfer.register
    if not roles.SERVING.search(function.function.name) or function.loops(reg):
        return False
    return function.warmth(reg).level < Level.PER_ELEMENT and _always_used(function, transfer)


def _always_used(function: FunctionFacts, transfer: Transfer) -> bool:
    """False where every use of the copy, by its variable, stands behind a test that comes after it."""
    ended = statement(function, transfer.register)
    store = function.code[ended[0]] if ended is not None else None
    if not isinstance(store, p.Store):
        return True
    tests = list(_tests(function, transfer.register))
    uses = [r for r in function.loads(store.slot) if r > transfer.register]
    return not uses or any(len(list(_tests(function, use))) <= len(tests) for use in uses)


def _tests(function: FunctionFacts, reg: Reg) -> Iterator[Region]:
    """The arms around a register."""
    return (r for r in function.function.ancestors(function.region(reg)) if r.kind in ("then", "else", "case"))


def _ahead(function: FunctionFacts, transfer: Transfer) -> bool:
    """True for the one copy of lengths that spares a loop many: indexed or gone over there, and named for being on the
    host, or bound to the same name."""
    ended = statement(function, transfer.register)
    store = function.code[ended[0]] if ended is not None else None
    if not isinstance(store, p.Store) or function.loops(transfer.register):
        return False
    name = function.function.slot_names[store.slot]
    again = any(
        isinstance(made := function.code[r], p.Load) and made.slot == store.slot
        for r in function.expression(transfer.register)
    )
    if not roles.LENGTH_WORDS.search(name) or not (roles.HOST_WORDS.search(name) or again):
        return False
    try:
        return host_results.gone_over(
            function.function, derived.derived(function.function, {transfer.register}, derived.WHOLE)
        )
    except derived.TooLong:
        function.file.cut.add(function.function.qualname)
        return False


def _gone_over(function: FunctionFacts, transfer: Transfer) -> bool:
    """True for the one copy that is made an array, which a loop of the host then goes over, instead of one a turn."""
    ended = statement(function, transfer.register)
    store = function.code[ended[0]] if ended is not None else None
    if not isinstance(store, p.Store) or function.loops(transfer.register):
        return False
    after = (
        region.test
        for region in function.function.regions
        if region.kind == "for" and region.test is not None and region.test > transfer.register
    )
    return function.values[store.value].is_a(ARRAY) and any(
        isinstance(made := function.code[r], p.Load) and made.slot == store.slot
        for test in after
        for r in function.expression(test)
    )


RULE = Rule(
    code="TL102",
    name="host-copy-in-hot-code",
    summary="`.cpu()`, `.to('cpu')` or `.numpy()` of a device tensor, on every step or for every element",
    category="repeated",
    default=True,
    fix_safety=Safety.UNSAFE,
    since="0.1.0",
    examples=(
        Example(
            bad="""\
import torch


def predict(model, loader, device):
    scores = []
    for inputs in loader:
        top = model(inputs.to(device)).argmax(1)
        scores.append(top.cpu().numpy())  # expect: TL102
    return scores
""",
            good="""\
import torch


def predict(model, loader, device):
    scores = []
    for inputs in loader:
        scores.append(model(inputs.to(device)).argmax(1))
    return torch.cat(scores).cpu().numpy()
""",
        ),
        Example(
            bad="""\
import numpy as np
import torch


def predict(model, loader, device):
    parts = []
    for inputs in loader:
        parts.append(model(inputs.to(device)).argmax(1).cpu().numpy())  # expect: TL102
    return np.concatenate(parts, axis=0)
""",
            good="""\
import torch


def predict(model, loader, device):
    parts = []
    for inputs in loader:
        parts.append(model(inputs.to(device)).argmax(1))
    return torch.cat(parts, dim=0).cpu().numpy()
""",
            fixed="""\
import numpy as np
import torch


def predict(model, loader, device):
    parts = []
    for inputs in loader:
        parts.append(model(inputs.to(device)).argmax(1))
    return torch.cat(parts, dim=0).cpu().numpy()
""",
            unsafe=True,
        ),
    ),
    more_examples=beside_torch.examples("TL102"),
    detect=detect,
    waits=True,
    advice=(
        ("jax", "collect the arrays and copy them once, after the loop: `jax.device_get(outputs)`"),
        (
            "tensorflow",
            "collect the tensors and copy them once, after the loop; give `predict` all the data at once",
        ),
        ("cupy", "collect the arrays and copy them once, after the loop: `cp.asnumpy(cp.stack(outputs))`"),
    ),
    doc=__doc__,
)
