"""A device tensor is passed to numpy.

What it does
------------
Reports `t.numpy()`, `np.asarray(t)` and other numpy functions on a tensor that this code put on the device. Findings
are rare, because such a line fails on its first run with a device: there was none in 7,200 kLOC of public code.

Why
---
numpy only sees host memory. With a device it raises `TypeError: can't convert cuda:0 device type tensor to numpy`. On a
machine without one it works, so tests there do not notice (docs.pytorch.org Tensor.numpy).

Example
-------
    x = x.to(device)
    values = x.square().numpy()

Use instead
-----------
    x = x.to(device)
    values = x.square().cpu().numpy()

When it is fine
---------------
`t.numpy(force=True)` copies first. Values that may be on the host, like function arguments, are not reported: code that
calls `.numpy()` on them expects a host tensor.

Fix safety
----------
No automatic fix: whether the value should be on the device at all is up to you.

See also
--------
- TL102 for the copy that is needed then
- TL201 for a copy that goes back to the device
- https://docs.pytorch.org/docs/stable/generated/torch.Tensor.numpy.html
- https://docs.pytorch.org/docs/stable/tensor_attributes.html
"""

from __future__ import annotations

from collections.abc import Iterator

from transferlint.flow.facts import FileFacts, FunctionFacts
from transferlint.flow.lattice.transfers import ARRAY
from transferlint.flow.lattice.values import DEVICE
from transferlint.model import Confidence, Finding
from transferlint.rule import Example, Rule
from transferlint.syntax import program as p
from transferlint.syntax.program import Reg

from .questions.detection import brief, put_there


def detect(facts: FileFacts) -> Iterator[Finding]:
    """What raises where there is a device."""
    for function in facts.functions:
        if function.role.skip or function.role.testing:
            continue
        handed = {t.register: t.subject for t in function.transfers if t.kind == ARRAY}
        handed |= {r: s for r, s in _methods(function)}
        for reg, subject in sorted(handed.items()):
            if subject is None or not function.has_text(reg) or not put_there(function, subject):
                continue
            value = function.values[subject]
            yield function.finding(
                reg,
                f"`{brief(function.text(subject))}` is on the device: converting it to numpy raises",
                "copy it to the host first: `.cpu()`",
                function.why(value),
                Confidence.CERTAIN if value.places == DEVICE else Confidence.LIKELY,
                heated=False,
            )


def _methods(function: FunctionFacts) -> Iterator[tuple[Reg, Reg]]:
    """`t.numpy()` without `force`: (register of the call, of `t`)."""
    for reg in function.of(p.Call):
        made = function.code[reg]
        if isinstance(made, p.Call) and not made.args and not made.keywords:
            callee = function.code[made.function]
            if isinstance(callee, p.Attr) and callee.name in ("numpy", "__array__"):
                yield reg, callee.object


RULE = Rule(
    code="TL504",
    name="numpy-of-device-tensor",
    summary="`.numpy()` or a numpy function on a device tensor: it raises",
    category="mistake",
    default=True,
    fix_safety=None,
    since="0.1.0",
    examples=(
        Example(
            bad="""\
import torch

x = torch.ones(3).cuda()
values = x.square().numpy()  # expect: TL504
""",
            good="""\
import torch

x = torch.ones(3).cuda()
values = x.square().cpu().numpy()
same = x.numpy(force=True)
""",
        ),
    ),
    detect=detect,
    advice=(),
    doc=__doc__,
)
