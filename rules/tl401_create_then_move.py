"""A tensor is created on the host and immediately moved to the device.

What it does
------------
Reports `torch.zeros(n).to(d)`, `torch.randn(n).cuda()`, `torch.tensor(v).to(d)`, also across several lines or with
views and casts in between, if everything that goes into the tensor is created on the spot; and numpy arrays filled in
the same expression, `torch.from_numpy(np.random.randn(n)).to(d)`; and samples of a distribution whose parameters are on
the host, `self.noise.sample(n).to(d)`, unless these are data of the step.

Why
---
The host fills memory that is thrown away, and the copy from pageable memory blocks the host. With `device=`, the tensor
is filled on the device and nothing is copied. Lists and arrays are copied either way: upload them once, or do not wait
for it.

Example
-------
    mask = torch.zeros(n, n).to(device)

Use instead
-----------
    mask = torch.zeros(n, n, device=device)

When it is fine
---------------
In setup code that runs once (not reported; neither is a function that nothing in the file shows to run repeatedly), or
if random numbers must come from the host's generator. Not reported either:

- a list that is computed for each sample and moved once per batch: it has to be copied
- data that a caller passes in and torch wraps (`torch.tensor(observation).to(device)`)
- a tensor that the host also reads before it is moved
- a replacement for an argument that is not a tensor
- data of the host's that goes up with `non_blocking=True` (`torch.tensor(values).to(device, non_blocking=True)`): with
  `device=` the host would wait for the device

Fix safety
----------
Safe for constants and integer ranges that are moved to a proven device: a constant, a value annotated as a device,
`x.device` of a tensor, or a value used as `device=` before. Views of the whole tensor, and casts after them, then
happen on the device.

Unsafe:

- if the target may be something else than a device (`.to` also takes a tensor or a dtype, `device=` does not)
- for parts of the created tensor (a move makes them contiguous)
- for random tensors (the device has another generator)
- for ranges of fractions and for arithmetic (rounding may differ)
- for tensors that require a gradient (the device tensor becomes the leaf)
- for a tensor that is kept in a variable before it is moved: code in between then reads a device tensor. If the move is
  a statement of its own, the edit is only shown.
- for the old constructors: `torch.LongTensor([1])` becomes `torch.tensor([1], dtype=torch.long, device=d)`, which
  rejects values it cannot convert and, for `torch.Tensor`, does not follow the default dtype

`torch.empty(n).fill_(0)` and `torch.tensor([0.0] * n)` become `torch.zeros(n)`. `torch.zeros(x.shape)` with the device
and dtype of `x` becomes `torch.zeros_like(x)`. A second move of the result to the same device is removed too.

Only shown, not applied:

- `non_blocking=True`, for lists and arrays that are uploaded in hot code and whose `device=` would not be sure: up to
  2 MiB the host then does not wait for the device (benchmarks/results/costs.md)
- if the argument of an old constructor may be a size as well as data, and where other tensors like it stay unfixed,
  also in another function of the file
- if the result goes back to the host, or only the host reads it
- for a number or a list that needs more text or another line and is uploaded anyway; for a list of the numbers of a
  range (`torch.arange` creates them there); and for a list of one number whose dtype would have to be written out
- for a tensor created like one that may already be on the device
- if the function also uploads other tensors that it creates (the result of a helper, an index) or that its caller
  passes in
- if nothing shows that the code runs once per step, and in a constructor
- if a statement would take another number of lines, or disappear, or a line would grow too much
- if more than views stand between creation and move (a single cast could become `dtype=`)
- for random numbers if the project sets a seed

No fix if the result could not be the same: pinned memory, `out=`, a generator, numpy arrays, and `.cuda(n)` with an `n`
that may be None, which `device=` takes as the host.

See also
--------
- TL104 for `device=` with a list
- TL406 for data that is enlarged before it is moved
- https://docs.pytorch.org/docs/stable/notes/cuda.html#device-agnostic-code
- https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from transferlint import late
from transferlint.flow.facts import FileFacts, FunctionFacts
from transferlint.flow.invariance import invariance
from transferlint.flow.lattice.transfers import MOVE, Transfer
from transferlint.flow.lattice.values import ARRAY, CONTAINER, DEVICE, LITERAL, UNKNOWN
from transferlint.model import Confidence, Evidence, Finding, Fix, Part, Safety
from transferlint.rule import Example, Rule
from transferlint.syntax import program as p
from transferlint.syntax.program import Reg

from .code import arguments
from .code.chains import origin
from .fixes import batch_lists, making, recreating, remaining, taking_data
from .questions.detection import Found, brief, clusters, each, only_shown, others, together
from .questions.moved_later import follows_what_moves_later
from .questions.round_trips import brought_back

_NAME = late.pattern(r"(?<![\w.])[A-Za-z_]\w*\b(?!\s*=(?!=))")  # not what follows a dot, and no keyword


def detect(facts: FileFacts) -> Iterator[Finding]:
    """Moves of tensors that were made here, except where the code is known to run once."""
    found = [
        (f, t) for f, t in each(facts, MOVE) if (made := making.made_and_moved(f, t)) is not None and _gains(f, t, made)
    ]
    known = {(f.index, t.register) for f, t in found if _sure(f, t) is not Confidence.POSSIBLE}
    twins = {_text(f, t) for f, t in each(facts, MOVE) if (f.index, t.register) not in known} - {""}
    crossing = [_unsure(*pair) for pair in found]
    apart = [[pair for pair, is_so in zip(found, crossing, strict=True) if is_so is which] for which in (False, True)]
    groups = (*clusters(apart[0], _anywhere), *clusters(apart[1], _anywhere))
    fixes = [
        _whole(f, group, twins, together(f, group, [_fix(f, t) for t in group]))
        for f, group in groups
    ]
    staying = {_form(*pair) for pair in _unchanged(groups, fixes)} - {""}
    handed = {f.index for f, t in found if _handed_over(f, t)}
    for (function, group), fix in zip(groups, fixes, strict=True):
        first = group[0]
        made = making.made_and_moved(function, first)
        assert made is not None
        evidence: tuple[Evidence, ...] = ()
        if made not in set(function.expression(first.register)):
            evidence = (Evidence(function.site(made), "made on the host here", part=Part.PLACE),)
        yield function.finding(
            first.register,
            f"`{brief(function.text(first.register))}` creates a tensor on the host and copies it to the device",
            _instead(function, first, made),
            (*evidence, *others(function, group)),
            _sure(function, first),
            only_shown(fix) if function.index in handed or any(_form(function, t) in staying for t in group) else fix,
        )


def _instead(function: FunctionFacts, transfer: Transfer, made: Reg) -> str:
    """What helps: `device=` saves the crossing of what the device can make itself, and not of data of the host's."""
    if making.filled_by_numpy(function, transfer):
        return "fill a tensor instead of the array: the function of the same name takes `device=`"
    if making.samples(function, made):
        return "create the distribution's parameters on the device: its samples are where they are"
    if not making.of_host_data(function, made):
        return "pass `device=` to the function that creates it"
    if _same_each_time(function, transfer, made):
        return "upload it once, before the loop"
    return "upload it once if its values do not change; else pass `non_blocking=True`: with `device=` alone, it waits"


def _gains(function: FunctionFacts, transfer: Transfer, made: Reg) -> bool:
    """False for data of the host's that goes up without waiting, as well as it can; what stands in the source could be
    uploaded once, or filled in on the device."""
    if not transfer.non_blocking or not making.of_host_data(function, made):
        return True
    create = function.code[made]
    written = isinstance(create, p.Call) and bool(function.values[create.args[0]].flags & LITERAL)
    return written or _same_each_time(function, transfer, made)


def _same_each_time(function: FunctionFacts, transfer: Transfer, made: Reg) -> bool:
    return any(invariance(function, region).holds(transfer.register, makes=True) for region in function.loops(made)[:1])


def _fix(function: FunctionFacts, transfer: Transfer) -> Fix | None:
    """Made on the device; or, where that is not sure, a move of data of the host's that does not wait: it has to go up
    all the same, and up to 2 MiB the driver has room for it (benchmarks/results/costs.md)."""
    fix = recreating.make_on_device(function, transfer)
    made = making.made_and_moved(function, transfer)
    if made is None or transfer.inside is not None or not making.of_host_data(function, made):
        return fix
    filled = fix is not None and not taking_data.of_data(function, fix, made)
    if transfer.non_blocking:
        return fix if filled else None  # with `device=` the host would wait for the data
    sure = filled or (fix is not None and fix.safety is not Safety.DISPLAY)
    if sure or not function.warmth(transfer.register).hot or _same_each_time(function, transfer, made):
        return fix
    edit = arguments.added(function, transfer.register, "non_blocking=True")
    return Fix("do not wait for the upload", Safety.DISPLAY, (edit,)) if edit is not None else fix


def _text(function: FunctionFacts, transfer: Transfer) -> str:
    """The text of a creation and its move, on one line; "" where they are not one expression."""
    inner = function.expression(transfer.register)
    return " ".join(function.text(transfer.register).split()) if any(making.creates(function, r) for r in inner) else ""


def _form(function: FunctionFacts, transfer: Transfer) -> str:
    """That text with other names for its variables: what does the same in another function of the file."""
    return _NAME.sub("_", _text(function, transfer))


def _unchanged(groups: Iterable[tuple[FunctionFacts, list[Transfer]]], fixes: Iterable[Fix | None]) -> Iterator[Found]:
    """The moves that no edit is applied to."""
    for (function, group), fix in zip(groups, fixes, strict=True):
        if fix is None or fix.safety is Safety.DISPLAY:
            yield from ((function, transfer) for transfer in group)


def _whole(function: FunctionFacts, group: list[Transfer], twins: set[str], fix: Fix | None) -> Fix | None:
    """The fix, only shown where it is half of a change: the same text stands elsewhere in the file, where it is not
    found (`twins`), or the function goes on to upload what it makes itself; and where the host takes back what it
    moves: the move should go."""
    if fix is None or fix.safety is not Safety.UNSAFE:
        return fix
    if any(one.register in brought_back(function) or remaining.only_read(function, one.register) for one in group):
        return only_shown(fix)
    if any(_text(function, one) in twins for one in group):
        return only_shown(fix)
    return only_shown(fix) if remaining.uploads_still(function, group) else fix


def _anywhere(function: FunctionFacts, transfer: Transfer) -> str:
    return ""  # all that are made in a function are changed alike


def _sure(function: FunctionFacts, transfer: Transfer) -> Confidence:
    """Certain where the target is proven to be the device; only possible for what has to cross, and does so once, and
    for what goes to where an argument is that is moved itself further down."""
    if _unsure(function, transfer):
        return Confidence.POSSIBLE
    return Confidence.LIKELY if transfer.places & ~DEVICE else Confidence.CERTAIN


def _unsure(function: FunctionFacts, transfer: Transfer) -> bool:
    return _crosses(function, transfer) or follows_what_moves_later(function, transfer)


def _crosses(function: FunctionFacts, transfer: Transfer) -> bool:
    made = making.made_and_moved(function, transfer)
    if made is None:
        return False
    if _handed_over(function, transfer):
        return True
    if batch_lists.crosses_once(function, made, transfer.register) or making.instead_of_a_tensor(
        function, transfer.register
    ):
        return True
    if transfer.subject is None or function.loops(transfer.register):
        return False
    data = set(making.sources(function, transfer.subject))
    return bool(data) and all(making.read_on_host(function, transfer, one) for one in data)


def _handed_over(function: FunctionFacts, transfer: Transfer) -> bool:
    """True for what a caller hands over and torch wraps, which is no list that is written here, and may be other data
    each time: it has to cross, and `device=` saves a tensor on the host alone. Of three such findings in 207 projects
    none was worth telling, of the others of the rule 21 of 35 (benchmarks/results/precision.md)."""
    made = list(making.sources(function, transfer.subject)) if transfer.subject is not None else []
    return bool(made) and all(_wraps_given(function, one) for one in made)


def _wraps_given(function: FunctionFacts, made: Reg) -> bool:
    create = function.code[made]
    if not isinstance(create, p.Call) or not making.of_host_data(function, made):
        return False
    given = origin(function, create.args[0])
    load, value = function.code[given], function.values[given]
    if not isinstance(load, p.Load) or load.slot not in {one.slot for one in function.function.parameters}:
        return False
    if value.flags & LITERAL or not value.is_a(UNKNOWN | ARRAY | CONTAINER):
        return False
    return not any(invariance(function, region).holds(given, makes=True) for region in function.loops(made)[:1])


RULE = Rule(
    code="TL401",
    name="create-then-move",
    summary="a tensor that is created on the host and immediately moved to the device",
    category="wasteful",
    default=True,
    fix_safety=Safety.SAFE,
    since="0.1.0",
    examples=(
        Example(
            bad="""\
import torch

device = torch.device("cuda")


class Causal(torch.nn.Module):
    def forward(self, x):
        mask = torch.ones(x.size(1), x.size(1)).to(device)  # expect: TL401
        return x @ mask


result = Causal()(torch.arange(9.0, device=device).reshape(1, 3, 3))
""",
            good="""\
import torch

device = torch.device("cuda")


class Causal(torch.nn.Module):
    def forward(self, x):
        mask = torch.ones(x.size(1), x.size(1), device=device)
        return x @ mask
""",
            fixed="""\
import torch

device = torch.device("cuda")


class Causal(torch.nn.Module):
    def forward(self, x):
        mask = torch.ones(x.size(1), x.size(1), device=device)
        return x @ mask


result = Causal()(torch.arange(9.0, device=device).reshape(1, 3, 3))
""",
        ),
    ),
    detect=detect,
    waits=True,
    advice=(),
    doc=__doc__,
)
