"""A tensor is moved to the device it is already on.

What it does
------------
Reports moves that have no effect: `x.cpu().cpu()`, `x.to(device).to(device)`, `x.to(x.device)`, `torch.zeros(n,
device=device).to(device)`; and two moves in a row of which only the last counts: `x.cuda().to(device)`.

Why
---
A move to the same device copies nothing, but it costs a call, and readers assume that data is transferred there. Of two
moves in a row, the first may be a useless copy.

Example
-------
    ids = torch.tensor(tokens).cuda().to(self.device)

Use instead
-----------
    ids = torch.tensor(tokens, device=self.device)

When it is fine
---------------
If the move documents something that the reader should know. The rule is off by default: it is about readability more
than about speed.

Fix safety
----------
The redundant call is removed. Safe if a proven tensor is moved, in one expression, to exactly the device it was just
put on. Unsafe across statements, for devices that may have changed, and if the first of two moves to different devices
is removed: an error about that device is then no longer raised.

See also
--------
- TL204 for a move that is made twice
- TL501 for a move without effect
- https://docs.pytorch.org/docs/stable/generated/torch.Tensor.to.html
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from transferlint.flow.facts import FileFacts, FunctionFacts
from transferlint.flow.lattice.values import CONTAINER, HOST_VALUE, MODULE, ON_DEVICE, TENSOR
from transferlint.knowledge.torch_names import MOVES
from transferlint.model import Confidence, Edit, Finding, Fix, Safety
from transferlint.rule import Example, Rule
from transferlint.syntax import program as p
from transferlint.syntax.program import Reg

from .code.chains import called, captured, closes, method, receiver, statement
from .proofs import proven
from .questions.detection import brief

_THROUGH = frozenset("detach contiguous unsqueeze squeeze view reshape flatten long float half double int bool".split())
_CREATES = frozenset("zeros ones empty full rand randn randint randperm arange linspace eye tensor as_tensor".split())


def detect(facts: FileFacts) -> Iterator[Finding]:
    """Moves that follow upon another, in code that is not cold."""
    for function in facts.functions:
        if function.role.skip:
            continue
        for reg in range(len(function.code)):
            if function.has_text(reg) and method(function, reg) in MOVES and not function.warmth(reg).cold:
                found = _needless(function, reg)
                if found is not None:
                    yield found


def _needless(function: FunctionFacts, reg: Reg) -> Finding | None:
    target = _place(function, reg)
    subject = receiver(function, reg)
    if not target or subject is None or function.values[subject].kinds & MODULE:
        return None
    if target == _own(function, subject):
        fix = _without(function, subject, reg, _proven(function, subject, subject, reg))
        return _finding(function, reg, "moves a tensor to the device it is already on", fix)
    kept = _kept(function, reg, subject)
    if kept is not None and _place(function, kept) == target and target != "cpu":
        fix = _without(function, subject, reg, Safety.UNSAFE)
        words = f"moves a tensor that was already moved there at line {function.site(kept).line}"
        return _finding(function, reg, words, fix)
    at = subject
    while method(function, at) in _THROUGH and function.has_text(at):
        inner = receiver(function, at)
        if inner is None:
            return None
        at = inner
    if not isinstance(function.code[at], p.Call):
        return None
    before = _place(function, at) or _made(function, at)
    if not before:
        return None
    if before == target:
        fix = _without(function, subject, reg, _proven(function, subject, at, reg))
        return _finding(function, reg, "moves a tensor to the device it was just put on", fix)
    inner = receiver(function, at)
    if method(function, at) not in MOVES or inner is None or "cpu" in (before, target):
        return None  # a round trip, or a tensor that is made elsewhere on purpose
    fix = _without(function, inner, at, Safety.UNSAFE)
    return _finding(function, reg, f"moves a tensor again that `{_call(function, at)}` has just moved", fix)


def _proven(function: FunctionFacts, subject: Reg, first: Reg, reg: Reg) -> Safety:
    """Safe where what is moved is proven to be a tensor, which `.to` gives back as it is where it is there already, and
    the place is proven to be the same for `first`, the move or creation before, and now: it is spelled alike, and
    nothing between can change what it means. It may then be anything: it has been taken once."""
    call = function.code[reg]
    assert isinstance(call, p.Call)
    given = [*call.args, *(r for key, r in call.keywords if key != "non_blocking")]
    if not proven.tensor(function, subject):
        return Safety.UNSAFE
    same = all(proven.unchanged(function, r, first + 1, r) for r in given)
    return Safety.SAFE if same else Safety.UNSAFE


def _kept(function: FunctionFacts, reg: Reg, subject: Reg) -> Reg | None:
    """The move that the variable `subject` was bound to last, in code that has run whenever this does."""
    made = function.code[subject]
    if not isinstance(made, p.Load) or captured(function, made.slot):
        return None
    stores = [r for r in function.stores(made.slot) if r < subject]
    if not stores or function.loops(stores[-1]) != function.loops(reg):
        return None
    around, at = {0}, function.region(reg)
    while at > 0:
        around.add(at)
        at = function.function.regions[at].parent
    store = function.code[stores[-1]]
    if function.region(stores[-1]) not in around or not isinstance(store, p.Store):
        return None
    moved = function.values[store.value]
    if not moved.is_a(TENSOR) or not moved.places & ON_DEVICE or moved.places & ~ON_DEVICE:
        return None
    between = range(stores[-1] + 1, reg)
    names = {i.slot for i in map(function.code.__getitem__, function.expression(reg)) if isinstance(i, p.Load)}
    if any(isinstance(one := function.code[r], p.Store | p.Delete) and one.slot in names for r in between):
        return None
    return store.value


def _call(function: FunctionFacts, reg: Reg) -> str:
    inner = receiver(function, reg)
    assert inner is not None
    return brief(function.file.text[function.span(inner)[1] : function.span(reg)[1]].lstrip(") \n\t\\"), 32)


def _finding(function: FunctionFacts, reg: Reg, words: str, fix: Fix | None) -> Finding:
    text = brief(function.text(reg))
    return function.finding(reg, f"`{text}` {words}", "remove the redundant move", (), Confidence.LIKELY, fix)


def _place(function: FunctionFacts, reg: Reg) -> str:
    """The place that a move names, as text; "" for what is no move, or also converts or is not plain."""
    made, name = function.code[reg], method(function, reg)
    if name not in MOVES or not isinstance(made, p.Call) or any(made.stars):
        return ""
    given = dict(made.keywords)
    given.pop("non_blocking", None)
    device = given.pop("device", None)
    rest = list(made.args)
    if name == "cpu":
        return "" if rest or given or device is not None else "cpu"
    if device is None and rest:
        device = rest.pop(0)
    if rest or given:
        return ""
    if device is None:
        return "cuda" if name == "cuda" else ""
    return _written(function, device) if name == "to" else f"cuda {_written(function, device)}"


def _written(function: FunctionFacts, reg: Reg) -> str:
    """A device's text where it is a name or a constant; "" for what may be a type or another tensor."""
    made = function.code[reg]
    if isinstance(made, p.Const):
        return str(made.value) if isinstance(made.value, str) else ""
    value = function.values[reg]
    if not isinstance(made, p.Load | p.Outer | p.Attr) or value.kinds & (TENSOR | CONTAINER | HOST_VALUE):
        return ""
    text = function.text(reg)
    return text if re.search(r"(?i)device$", text) else ""


def _own(function: FunctionFacts, subject: Reg) -> str:
    """`x.device` of `x`, for a name."""
    if not isinstance(function.code[subject], p.Load | p.Outer | p.Attr) or not function.values[subject].is_a(TENSOR):
        return ""
    return f"{function.text(subject)}.device"


def _made(function: FunctionFacts, reg: Reg) -> str:
    """The place at which a function of torch makes a tensor, as `device=` says."""
    made = function.code[reg]
    root, _, last = called(function, reg).rpartition(".")
    if root != "torch" or last not in _CREATES or not isinstance(made, p.Call) or any(made.stars):
        return ""
    device = dict(made.keywords).get("device")
    return "" if device is None else _written(function, device)


def _without(function: FunctionFacts, inner: Reg, reg: Reg, safety: Safety) -> Fix | None:
    """Take the call of `reg` out, so that `inner` is left; all of a statement that would become `x = x`."""
    text = function.file.text
    start = function.outer_span(inner)[1]
    end = function.span(reg)[1]
    if not re.match(r"[\s\\]*\.", text[start:end]) or "#" in text[start:end] or closes(text[start:end]):
        return None
    users = function.users(reg)
    kept, load = function.code[users[0]] if len(users) == 1 else None, function.code[inner]
    if not isinstance(kept, p.Store) or not isinstance(load, p.Load) or kept.slot != load.slot:
        return Fix("remove the redundant move", safety, (Edit(start, end, ""),))
    home = statement(function, reg)
    line = re.compile(r"([ \t]*)[^\r\n#]*(\r\n|\r|\n)").match(text, home[1]) if home is not None else None
    if line is None or line.end() < end or text[end : line.end()].strip():
        return None
    after = re.compile(r"(?:[ \t]*(?:\r\n|\r|\n))*([ \t]*)\S").match(text, line.end())
    before = re.search(r"(?:^|[\r\n])([ \t]*)\S[^\r\n]*[\r\n\s]*\Z", text[: line.start()])
    if not any(found is not None and found[1] == line[1] for found in (after, before)):
        return None  # the only statement of its suite
    return Fix("remove the redundant move", safety, (Edit(line.start(), line.end(), ""),))


RULE = Rule(
    code="TL407",
    name="needless-move",
    summary="a tensor is moved to the device it is already on, or twice in a row",
    category="wasteful",
    default=False,
    fix_safety=Safety.SAFE,
    since="0.1.0",
    examples=(
        Example(
            bad="""\
import torch

device = torch.device("cuda")
x = torch.arange(4.0).to(device).to(device)  # expect: TL407
y = torch.zeros(4, device=device).to(device)  # expect: TL407
z = x.to(x.device) + y  # expect: TL407
""",
            good="""\
import torch

device = torch.device("cuda")
x = torch.arange(4.0).to(device)
y = torch.zeros(4, device=device)
z = x + y
""",
            fixed="""\
import torch

device = torch.device("cuda")
x = torch.arange(4.0).to(device)
y = torch.zeros(4, device=device)
z = x + y
""",
        ),
        Example(
            bad="""\
import torch


class Prompt(torch.nn.Module):
    def forward(self, tokens, device):
        ids = torch.tensor(tokens).cuda().to(device)  # expect: TL407
        return self.embed(ids)
""",
            good="""\
import torch


class Prompt(torch.nn.Module):
    def forward(self, tokens, device):
        ids = torch.tensor(tokens, device=device)
        return self.embed(ids)
""",
            fixed="""\
import torch


class Prompt(torch.nn.Module):
    def forward(self, tokens, device):
        ids = torch.tensor(tokens).to(device)
        return self.embed(ids)
""",
            unsafe=True,
        ),
    ),
    detect=detect,
    advice=(),
    doc=__doc__,
)
