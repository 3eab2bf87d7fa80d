"""A tensor is made on the host and moved to the device at once.

What it does
------------
Reports `torch.zeros(n).to(d)`, `torch.randn(n).cuda()`, `torch.tensor(v).to(d)`, also over several lines or with
views and casts between, where everything that goes into the tensor is made on the spot.

Why
---
The host fills memory that is thrown away, and the copy from pageable memory makes the host wait. With `device=` a fill
happens on the device, and nothing crosses.

Example
-------
    mask = torch.zeros(n, n).to(device)

Use instead
-----------
    mask = torch.zeros(n, n, device=device)

When it is fine
---------------
In setup code that runs once (not reported; neither is a function of which nothing in the file says that it runs
repeatedly), or where random numbers must be the host generator's.

Fix safety
----------
Safe for constants and ranges. Unsafe for random tensors: the device has another generator.
"""

from __future__ import annotations

from collections.abc import Iterator

from transferlint.flow.facts import FileFacts, FunctionFacts
from transferlint.flow.transfers import MOVE, Transfer
from transferlint.flow.values import DEVICE, FRESH, HOST, ON_DEVICE, TENSOR
from transferlint.model import Confidence, Edit, Evidence, Finding, Fix, Level, Safety
from transferlint.rule import Example, Rule
from transferlint.syntax import program as p
from transferlint.syntax.program import Reg

from .detection import brief, clusters, each, others, together

_RANDOM = frozenset(
    ["rand", "randn", "randint", "randperm", "normal", "rand_like", "randn_like", "randint_like", "bernoulli"]
)
_FIXABLE = frozenset(
    [
        "zeros",
        "ones",
        "empty",
        "full",
        "rand",
        "randn",
        "randint",
        "randperm",
        "arange",
        "linspace",
        "logspace",
        "eye",
        "tensor",
        "zeros_like",
        "ones_like",
        "empty_like",
        "full_like",
        "rand_like",
        "randn_like",
    ]
)


def detect(facts: FileFacts) -> Iterator[Finding]:
    """Moves of tensors that were made here, except where the code is known to run once."""
    found = ((f, t) for f, t in each(facts, MOVE) if _made(f, t) is not None)
    for function, group in clusters(found):
        first = group[0]
        made = _made(function, first)
        assert made is not None
        evidence: tuple[Evidence, ...] = ()
        if made not in set(function.expression(first.register)):
            evidence = (Evidence(function.site(made), "made on the host here"),)
        yield function.finding(
            first.register,
            f"`{brief(function.text(first.register))}` makes a tensor on the host and moves it",
            "give `device=` to the function that makes it",
            (*evidence, *others(function, group)),
            _sure(function, first),
            together([_fix(function, t) for t in group]),
        )


def _sure(function: FunctionFacts, transfer: Transfer) -> Confidence:
    """Certain where the target is proven to be the device; possible where nothing says that the code runs again."""
    warmth = function.warmth(transfer.register)
    if warmth.weak and warmth.level >= Level.PER_STEP and warmth.loop < 0 and warmth.caller is None:
        return Confidence.POSSIBLE
    return Confidence.LIKELY if transfer.places & ~DEVICE else Confidence.CERTAIN


def _made(function: FunctionFacts, transfer: Transfer) -> Reg | None:
    """The creation of a tensor that is moved in the same turn, in code that may run often; None for other moves."""
    before = transfer.before
    if not (before.is_a(TENSOR) and before.places == HOST and before.flags & FRESH and transfer.places & ON_DEVICE):
        return None
    if before.reads or not before.why or function.warmth(transfer.register).once:
        return None
    made = before.why[0]
    if made < 0 or not function.has_text(made) or function.loops(made) != function.loops(transfer.register):
        return None  # made before the loop that moves it: an invariant transfer
    return made


def _fix(function: FunctionFacts, transfer: Transfer) -> Fix | None:
    """`torch.zeros(n).to(d)` to `torch.zeros(n, device=d)`: only where creation and move are one expression of two
    calls."""
    made = transfer.before.why[0]
    move, create = function.code[transfer.register], function.code[made]
    if transfer.subject != made or not isinstance(move, p.Call) or not isinstance(create, p.Call):
        return None
    name = function.file.placement.names.dotted(function.function, create.function)
    last = name.rpartition(".")[2]
    if not name.startswith("torch.") or last not in _FIXABLE or any(k == "device" or not k for k, _ in create.keywords):
        return None
    attribute = function.code[move.function]
    assert isinstance(attribute, p.Attr)
    device = _device_text(function, move, attribute.name)
    if device is None:
        return None
    end = function.span(made)[1]
    text = function.file.text
    if text[end - 1] != ")":
        return None
    inner = text[: end - 1].rstrip()
    comma = "" if inner.endswith(("(", ",")) else ","
    lead = "" if inner.endswith("(") else " "
    outer_end = function.span(transfer.register)[1]
    edits = (Edit(len(inner), end - 1, f"{comma}{lead}{device}"), Edit(end, outer_end, ""))
    if "#" in text[len(inner) : end - 1] or "#" in text[end:outer_end]:
        return None
    safety = Safety.UNSAFE if last in _RANDOM or last == "empty" else Safety.SAFE
    return Fix("make it on the device", safety, edits)


def _device_text(function: FunctionFacts, move: p.Call, method: str) -> str | None:
    """What to write in the creation's brackets: "device=d", with the dtype where `.to` names one too."""
    if method == "cuda":
        if move.keywords:
            return None
        return f"device={function.text(move.args[0])}" if move.args else 'device="cuda"'
    given = dict(move.keywords)
    dtype = given.pop("dtype", None)
    device = given.pop("device", None)
    given.pop("non_blocking", None)
    rest = list(move.args)
    if device is None and rest:
        device = rest.pop(0)
    if dtype is None and rest:
        dtype = rest.pop(0)
    if given or rest or device is None or dtype is not None or function.values[device].is_a(TENSOR):
        return None
    return f"device={function.text(device)}"


RULE = Rule(
    code="TL401",
    name="create-then-move",
    summary="a tensor made on the host and moved to the device at once",
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
    doc=__doc__,
)
