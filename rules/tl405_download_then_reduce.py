"""A whole tensor is copied to the host, but only a number or an element of it is used.

What it does
------------
Reports `x.cpu().sum()`, `x.cpu().numpy().mean()`, `np.max(x.cpu().numpy())`, `x.cpu()[i]`, `x.tolist()[-1]` and
`len(x.cpu())`, also if the copy is kept in a variable of which only such parts are used.

Why
---
The whole tensor is copied, and the host then does element by element what the device does in parallel. If it is reduced
or indexed on the device, only a few bytes are copied.

Example
-------
    accuracy = (predicted == labels).cpu().numpy().mean()

Use instead
-----------
    accuracy = (predicted == labels).float().mean().item()

When it is fine
---------------
For tensors of a few elements, and if the host uses a wider dtype for the reduction on purpose. `x.cpu()[0]` is not
reported: it mostly takes the only row of a batch of one. Code that runs once, or every N steps, is not reported either.

Fix safety
----------
Safe if only the size of the copy is used and the source is proven to be a tensor: the copy is removed. Everything else
is only shown, because too few of these edits were worth taking: the device adds in a different order than numpy and the
host, so sums and means may differ in the last digits, and numpy scalars become Python numbers.

See also
--------
- TL102 for a copy that is used as a whole
- https://docs.pytorch.org/docs/stable/generated/torch.max.html
- https://docs.pytorch.org/docs/stable/generated/torch.Tensor.cpu.html
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from transferlint import late
from transferlint.flow.facts import FileFacts, FunctionFacts
from transferlint.flow.lattice.transfers import DOWNLOAD, SCALAR_READ, Transfer
from transferlint.flow.lattice.values import ARRAY, BOOLEAN, INTEGER, SCALAR, TENSOR, UNKNOWN
from transferlint.model import Confidence, Edit, Finding, Fix, Safety
from transferlint.rule import Example, Rule
from transferlint.syntax import program as p
from transferlint.syntax.program import Reg

from .code.chains import called, method, receiver, user
from .examples import beside_torch
from .proofs import proven
from .questions import parts
from .questions.detection import brief, each, for_the_host, only_shown, sure
from .questions.round_trips import bounces, came_back, decisions

_NAMED = 4  # parts to name in a message


_ARRAY = r"(?:\.(?:detach|cpu)\(\))*\.numpy\(\)"
# What may stand before a part that is taken instead: copies and casts, which leave each element where it is.
_COPIES = late.pattern(
    r"(\s*\.\s*((detach|cpu|numpy|tolist|clone|contiguous|float|double|half|bfloat16|long|int|bool)\(\)"
    r"|(to|type|astype)\([^()]*\)))*\s*"
)


def detect(facts: FileFacts) -> Iterator[Finding]:
    """Downloads of which nothing but a part is used."""
    for function, transfer in each(facts, DOWNLOAD, SCALAR_READ):
        found = _parts(function, transfer)
        if not found:
            continue
        end = found[0].register
        yield function.finding(
            transfer.register,
            f"`{brief(function.text(transfer.register))}` copies the whole tensor to the host, but {_used(found)} used",
            _help(function, transfer, end),
            function.why(transfer.before),
            _sure(function, transfer),
            only_shown(_fix(function, transfer, end)) if len(found) == 1 else None,
        )


def claims(function: FunctionFacts) -> Iterator[Reg]:
    """The downloads that are reported here."""
    for transfer in function.transfers:
        if transfer.kind not in (DOWNLOAD, SCALAR_READ) or not function.has_text(transfer.register):
            continue
        if _parts(function, transfer) and _sure(function, transfer) is not Confidence.POSSIBLE:
            yield transfer.register


def _parts(function: FunctionFacts, transfer: Transfer) -> list[parts.Part]:
    """What is used of a download; [] where it may be more than parts, or another rule says more."""
    before, reg = transfer.before, transfer.register
    if not before.is_a(TENSOR | UNKNOWN) or before.flags & SCALAR or function.warmth(reg).once:
        return []
    if transfer.kind == SCALAR_READ and transfer.api != ".tolist()":
        return []
    found = parts.parts(function, reg)
    if not found or for_the_host(function, found[0].register) or _of_a_trip(function, transfer):
        return []
    return [] if function.claimed(reg, above="TL405") else found


def _of_a_trip(function: FunctionFacts, transfer: Transfer) -> bool:
    """True for the download of a round trip, and for one that stands in the condition that it is made for."""
    reg = transfer.register
    if reg in came_back(function) or bounces(function, transfer):
        return True
    tests = (function.code[test] for test, read in decisions(function).items() if read == reg)
    return any(isinstance(test, p.Test) and reg in set(function.expression(test.value)) for test in tests)


def _used(found: list[parts.Part]) -> str:
    words = list(dict.fromkeys(part.words for part in found))
    if len(words) > _NAMED:
        words = [*words[: _NAMED - 1], "similar"]
    return f"only {words[0]} is" if len(words) == 1 else f"only {', '.join(words[:-1])} and {words[-1]} are"


def _sure(function: FunctionFacts, transfer: Transfer) -> Confidence:
    """As for every read; but who writes `.cpu()` believes that it may be elsewhere."""
    confidence = sure(function, transfer)
    if confidence is Confidence.POSSIBLE and transfer.api in (".cpu()", ".to(cpu)"):
        return Confidence.POSSIBLE if function.warmth(transfer.register).weak else Confidence.LIKELY
    return confidence


def _help(function: FunctionFacts, transfer: Transfer, end: Reg) -> str:
    made = function.code[end]
    if not isinstance(made, p.Subscript):
        if isinstance(made, p.Attr) or method(function, end) in parts.SIZES or called(function, end) == "builtins.len":
            return "use the device tensor: its size is known without a copy"
        return "reduce on the device and copy the result"
    if _each(function, transfer, made.index):
        return "copy it once, before the loop"
    return "index on the device and copy only what is used"


def _each(function: FunctionFacts, transfer: Transfer, index: Reg) -> bool:
    """True for an index that is another in every turn of the loop."""
    slots = {s for r in function.loops(transfer.register) for s in function.function.regions[r].target_slots}
    loads = (function.code[r] for r in function.expression(index))
    return any(isinstance(made, p.Load) and made.slot in slots for made in loads)


def _fix(function: FunctionFacts, transfer: Transfer, end: Reg) -> Fix | None:
    """Take the part first: `x.cpu().numpy().max()` to `x.max().cpu().numpy()`."""
    subject, made = transfer.subject, function.code[end]
    if subject is None or not set(_chain(function, transfer.register, end)):
        return None
    text, spans = function.file.text, function.file.spans
    start = spans.outer(function.function.nodes[subject])[1]
    copied = function.span(transfer.register)[1]
    if isinstance(made, p.Call) and method(function, end) == "":
        return _around(function, transfer, made, end)
    before = made.object if isinstance(made, p.Attr | p.Subscript) else receiver(function, end)
    assert before is not None
    between, last = function.span(before)[1], function.span(end)[1]
    moved, taken = text[start:between], text[between:last]
    if not _plain(text[start:last]) or not text[start:copied].lstrip().startswith("."):
        return None
    if not isinstance(made, p.Attr) and not _COPIES.fullmatch(moved):
        return None  # what gives it another shape has to come first
    if isinstance(made, p.Subscript):
        if _each(function, transfer, made.index):
            return None
        return _swapped(start, last, taken + moved)
    name = method(function, end)
    array = before != transfer.register and function.values[before].is_a(ARRAY)
    if isinstance(made, p.Attr) or name in parts.SIZES:
        if array and getattr(made, "name", name) not in ("shape", "ndim"):
            return None  # numpy's `.size` is a number, its dtype another
        return Fix("use the device tensor", _size_safety(function, transfer, array), (Edit(start, between, ""),))
    assert isinstance(made, p.Call)
    if (made.args or made.keywords) and (name in ("max", "min", "median") or not _by_axis(made)):
        return None  # values and indices; or an option that the other library lacks
    following = user(function, end)
    if following is not None and method(function, following) in ("item", "tolist"):
        moved = "" if re.fullmatch(r"(?:\.(?:detach|cpu|numpy)\(\))*", moved) else moved  # which copy by themselves
    moved = _read(moved, whole=not (made.args or made.keywords))
    if name in parts.SAME or (before == transfer.register and name != "ptp"):
        return _swapped(start, last, taken + moved)
    if name == "mean":
        cast = ".float()" if transfer.before.flags & (BOOLEAN | INTEGER) else ""
        return _swapped(start, last, cast + taken + moved)
    return None


def _read(copies: str, whole: bool) -> str:
    """What copies a part to the host: `.item()` for one number, of the `whole`, that numpy had."""
    return ".item()" if whole and re.fullmatch(_ARRAY, copies) else copies


def _by_axis(made: p.Call) -> bool:
    """True where the only arguments are the axis, and whether to keep it: torch takes numpy's names for them."""
    return len(made.args) <= 1 and {key for key, _ in made.keywords} <= {"axis", "dim", "keepdims", "keepdim", "dtype"}


def _size_safety(function: FunctionFacts, transfer: Transfer, array: bool) -> Safety:
    """Safe where the size is proven to be asked of a tensor, before and after, and the copy that is left out had no
    effect: its arguments are harmless and none is a dtype. Unsafe for arrays: their shape is a plain tuple, and numpy
    refuses gradients."""
    made, subject = function.code[transfer.register], transfer.subject
    if array or subject is None or not isinstance(made, p.Call) or any(made.stars):
        return Safety.UNSAFE
    given = [*made.args, *(r for _, r in made.keywords)]
    plain = all(proven.harmless(function, r) and not proven.dtype(function, r) for r in given)
    known = len(given) <= 1 and all(proven.device(function, r, absent=True) for r in given)
    return Safety.SAFE if plain and known and proven.tensor(function, subject) else Safety.UNSAFE


def _swapped(start: int, end: int, text: str) -> Fix:
    return Fix("reduce or index on the device", Safety.UNSAFE, (Edit(start, end, text),))


def _chain(function: FunctionFacts, reg: Reg, end: Reg) -> list[Reg]:
    """The registers from a download to the part that is taken, [] where a variable or a wrapper stands between."""
    found = [reg]
    while found[-1] != end:
        following = user(function, found[-1])
        if following is None or isinstance(function.code[following], p.Store):
            return []
        if called(function, following) in parts.WRAPPERS:
            return []
        found.append(following)
    return found


def _around(function: FunctionFacts, transfer: Transfer, made: p.Call, end: Reg) -> Fix | None:
    """`np.max(x.cpu().numpy())` to `x.max().cpu().numpy()`, `torch.max(x.cpu())` to `torch.max(x).cpu()`."""
    assert transfer.subject is not None
    text, spans, nodes = function.file.text, function.file.spans, function.function.nodes
    start, last = function.span(end)
    first, inner = spans.outer(nodes[made.args[0]])
    copied = spans.outer(nodes[transfer.subject])[1]
    name = called(function, end)
    root, _, reduces = name.rpartition(".")
    if len(made.args) != 1 or made.keywords or any(made.stars) or not _plain(text[start:last]):
        return None
    if name == "builtins.len":
        array = function.values[made.args[0]].is_a(ARRAY)
        return Fix("use the device tensor", _size_safety(function, transfer, array), (Edit(copied, inner, ""),))
    if root == "torch":
        edits = (Edit(copied, inner, ""), Edit(last, last, text[copied:inner]))
        return Fix("reduce or index on the device", Safety.UNSAFE, edits)
    if reduces in parts.SAME or (reduces == "mean" and not transfer.before.flags & (BOOLEAN | INTEGER)):
        return _swapped(start, last, f"{text[first:copied]}.{reduces}(){_read(text[copied:inner], whole=True)}")
    return None


def _plain(text: str) -> bool:
    """True for a text that can be taken apart: no comments, and no strings that could look like one."""
    return not re.search(r"[#\"]", text.replace('.to("cpu")', ""))


RULE = Rule(
    code="TL405",
    name="download-then-reduce",
    summary="a whole tensor is copied to the host, but only a number or an element of it is used",
    category="wasteful",
    default=True,
    fix_safety=Safety.SAFE,
    since="0.1.0",
    examples=(
        Example(
            bad="""\
import torch


class Score(torch.nn.Module):
    def forward(self, x: torch.Tensor, labels: torch.Tensor):
        right = x.argmax(1) == labels
        self.accuracy = right.cpu().numpy().mean()  # expect: TL405
        return right
""",
            good="""\
import torch


class Score(torch.nn.Module):
    def forward(self, x: torch.Tensor, labels: torch.Tensor):
        right = x.argmax(1) == labels
        self.accuracy = right.float().mean()
        return right
""",
        ),
        Example(
            bad="""\
import torch

device = torch.device("cuda")
x = torch.ones(3, 4, device=device)
for step in range(10):
    x = x + len(x.cpu())  # expect: TL405
""",
            good="""\
import torch

device = torch.device("cuda")
x = torch.ones(3, 4, device=device)
for step in range(10):
    x = x + len(x)
""",
            fixed="""\
import torch

device = torch.device("cuda")
x = torch.ones(3, 4, device=device)
for step in range(10):
    x = x + len(x)
""",
        ),
    ),
    more_examples=beside_torch.examples("TL405"),
    detect=detect,
    waits=True,
    advice=(
        ("jax", "reduce or index on the device first, and copy the result"),
        ("tensorflow", "reduce or index on the device first, and copy the result"),
        ("cupy", "reduce or index on the device first, and copy the result"),
    ),
    claims=claims,
    doubted=(("jax", 0.0),),
    doc=__doc__,
)
