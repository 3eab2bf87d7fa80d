"""An operation combines a host tensor and a device tensor.

What it does
------------
Reports arithmetic, comparisons and torch functions that combine tensors (`cat`, `stack`, `matmul`, `where`, ...) if one
operand is a tensor with at least one dimension that this function created on the host, and another operand was put on
the device.

Why
---
With a device it raises `RuntimeError: Expected all tensors to be on the same device`. On a machine without one it
works, so tests there do not notice (docs.pytorch.org "CUDA semantics": cross-device operations are not allowed).

Example
-------
    x = x.to(device)
    y = x + torch.arange(x.size(1))

Use instead
-----------
    x = x.to(device)
    y = x + torch.arange(x.size(1), device=x.device)

When it is fine
---------------
A number, or a 0-d host tensor, may be combined with a device tensor and is not reported. Values that only may be on the
device, like function arguments, are not reported either.

Fix safety
----------
No automatic fix: which of the two tensors is on the wrong device is up to you.

See also
--------
- TL501 for a move without effect
- TL305 for indices, which may be on the host
- https://docs.pytorch.org/docs/stable/tensor_attributes.html
"""

from __future__ import annotations

from collections.abc import Iterator

from transferlint.flow.facts import FileFacts, FunctionFacts
from transferlint.flow.lattice.values import DEVICE, FRESH, TENSOR
from transferlint.model import Confidence, Evidence, Finding
from transferlint.rule import Example, Rule
from transferlint.syntax import program as p
from transferlint.syntax.program import Reg

from .questions import dimensions
from .questions.detection import brief, put_there

_COMBINE = frozenset(
    "cat concat concatenate stack hstack vstack dstack matmul mm bmm mv dot outer where maximum minimum add sub mul div"
    " lerp atan2 cdist einsum logaddexp".split()
)
_LISTS = frozenset("cat concat concatenate stack hstack vstack dstack".split())
_METHODS = (_COMBINE - _LISTS - {"where"}) | {"add_", "sub_", "mul_", "div_", "index_select", "gather"}


def detect(facts: FileFacts) -> Iterator[Finding]:
    """Operations that raise where there is a device."""
    for function in facts.functions:
        if function.role.skip or function.role.testing:
            continue
        for reg in function.of(p.Binary, p.Compare, p.Call):
            operands = _operands(function, reg)
            if len(operands) < 2 or not function.has_text(reg):
                continue
            host = next((r for r in operands if _on_host(function, r)), None)
            device = next((r for r in operands if put_there(function, r)), None)
            if host is None or device is None:
                continue
            there = function.values[device]
            yield function.finding(
                reg,
                f"`{brief(function.text(host))}` is on the host and `{brief(function.text(device))}` on the device:"
                " the operation raises",
                "create or move both on the same device",
                (Evidence(function.site(host), "on the host"), *function.why(there)),
                Confidence.CERTAIN if there.places == DEVICE else Confidence.LIKELY,
                heated=False,
            )


def _operands(function: FunctionFacts, reg: Reg) -> tuple[Reg, ...]:
    """The tensors that an operation needs in one place."""
    made = function.code[reg]
    if isinstance(made, p.Binary):
        return made.left, made.right
    if isinstance(made, p.Compare):
        return () if any(o in ("is", "is not", "in", "not in") for o in made.operators) else made.operands
    if not isinstance(made, p.Call) or any(made.stars):
        return ()
    name = function.file.placement.names.dotted(function.function, made.function)
    if name:
        root, _, last = name.rpartition(".")
        if root != "torch" or last not in _COMBINE:
            return ()
        if last in _LISTS and made.args:
            parts = function.code[made.args[0]]
            return parts.items if isinstance(parts, p.Sequence) and not any(parts.stars) else ()
        return made.args
    callee = function.code[made.function]
    if isinstance(callee, p.Attr) and callee.name in _METHODS and made.args:
        return callee.object, made.args[-1] if callee.name in ("index_select", "gather") else made.args[0]
    return ()


def _on_host(function: FunctionFacts, reg: Reg) -> bool:
    value = function.values[reg]
    return value.is_a(TENSOR) and value.on_host and bool(value.flags & FRESH) and dimensions.dimensional(function, reg)


RULE = Rule(
    code="TL502",
    name="mixed-places",
    summary="an operation on a host tensor and a device tensor: it raises",
    category="mistake",
    default=True,
    fix_safety=None,
    since="0.1.0",
    examples=(
        Example(
            bad="""\
import torch

x = torch.ones(3).cuda()
y = x + torch.arange(3)  # expect: TL502
""",
            good="""\
import torch

x = torch.ones(3).cuda()
y = x + torch.arange(3, device=x.device) + torch.tensor(2.0) + 1
""",
        ),
    ),
    detect=detect,
    advice=(),
    doc=__doc__,
)
