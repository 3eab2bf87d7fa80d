"""Host data is uploaded for one computation and copied straight back.

What it does
------------
Reports, in hot code, a copy to the host of a result that was computed only from data uploaded in the same iteration, or
a number that is read of it (`.item()`, `int(t)`, `x[:t]`): no module, no parameter, and no tensor that was on the
device before is involved.

Why
---
Two copies and a sync for work that the host could have done faster itself.

Example
-------
    for row in rows:
        total = torch.tensor(row).cuda().sum().item()

Use instead
-----------
    for row in rows:
        total = sum(row)

When it is fine
---------------
If the computation is large. Then upload everything once and copy the results back once.

Fix safety
----------
Only shown: if the result depends on one uploaded variable that was not changed since, the host computes it from its own
data, with its own rounding. The upload remains; remove it by hand if nothing else needs it. Other round trips have no
automatic fix.

See also
--------
- TL201 for the opposite round trip, from the device
- https://docs.pytorch.org/docs/stable/generated/torch.Tensor.to.html
- https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html
"""

from __future__ import annotations

from collections.abc import Iterator

from transferlint.flow.facts import FileFacts, FunctionFacts
from transferlint.flow.lattice.transfers import Transfer
from transferlint.model import Evidence, Finding, Part, Safety
from transferlint.rule import Example, Rule
from transferlint.syntax.program import Reg

from .code.chains import remedy
from .fixes import host_twin
from .questions.detection import brief, clusters, hot, likely, only_shown, others, sure, together
from .questions.round_trips import READS, agreed, bounces, returns, trips


def detect(facts: FileFacts) -> Iterator[Finding]:
    """Downloads of what came from an upload alone."""
    read = ((f, t) for f, t in hot(facts, *READS) if likely(f, t) and not agreed(f, t))
    found = ((f, t) for f, t in read if (ups := bounces(f, t)) and not _told(f, t, ups))
    for function, group in clusters(found):
        first = group[0]
        uploads = bounces(function, first)
        yield function.finding(
            first.register,
            f"`{brief(function.text(first.register))}` copies back to the host what was uploaded at line"
            f" {function.site(uploads[0]).line}",
            remedy(function, first) or "compute it on the host, or keep the data on the device across steps",
            (
                *(Evidence(function.site(reg), "uploaded here", part=Part.RETURN) for reg in uploads[:2]),
                *others(function, group),
            ),
            sure(function, first),
            only_shown(
                together(function, group, [host_twin.from_host(function, t, bounces(function, t)) for t in group])
            ),
        )


def _told(function: FunctionFacts, transfer: Transfer, uploads: list[Reg]) -> bool:
    """True where what was uploaded had come from the device: that is told of where it leaves it; and where what is
    brought back goes there again."""
    back = returns(function)
    told = {one.register for one in trips(function)}
    return transfer.register in told or any(told.intersection(back.get(upload, ())) for upload in uploads)


RULE = Rule(
    code="TL202",
    name="host-device-host",
    summary="host data is uploaded for one computation and copied straight back",
    category="round-trip",
    default=True,
    fix_safety=Safety.DISPLAY,
    since="0.1.0",
    examples=(
        Example(
            bad="""\
import numpy as np
import torch


def norms(loader):
    found = []
    for batch in loader:
        row = torch.from_numpy(np.stack(batch)).cuda()
        found.append(row.norm().item())  # expect: TL202
    return found
""",
            good="""\
import numpy as np


def norms(loader):
    found = []
    for batch in loader:
        found.append(np.linalg.norm(np.stack(batch)))
    return found
""",
        ),
        Example(
            bad="""\
import torch


def train(loader, model, device):
    for batch in loader:
        mask = batch["mask"].to(device)
        if mask.sum().item() == 0:  # expect: TL202
            continue
        model(batch["inputs"].to(device), mask).mean().backward()
""",
            good="""\
import torch


def train(loader, model, device):
    for batch in loader:
        mask = batch["mask"].to(device)
        if batch["mask"].sum().item() == 0:
            continue
        model(batch["inputs"].to(device), mask).mean().backward()
""",
        ),
    ),
    detect=detect,
    waits=True,
    advice=(),
    doc=__doc__,
)
