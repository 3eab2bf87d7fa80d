"""What a rule tells a person to do depends on what is known where it stands."""

from __future__ import annotations

import pytest

from proving import check_bytes, default_rules

STEP = """\
import numpy as np
import torch
import torch.nn.functional as F
from torch_geometric.nn import global_mean_pool

device = torch.device("cuda")
unit = torch.distributions.Normal(0.0, 1.0)


class Noise:
    def sample(self, size):
        return torch.randn(size)


own = Noise()


def train(model, loader, stops, weights, running):
    parts, total = [], torch.zeros(1)
    for n, x in enumerate(loader):
        y, z = model(x.to(device)), torch.relu(x.to(device))
        {body}
    return parts, total
"""
KEPT = "keep the value on the device (`.detach()`) and read it once, after the loop or at log time"
ASKED = "evaluate it on the device and read the result only every N steps, or drop it if nothing depends on it"
CHECKED = "check on the device with `torch._assert_async`, which does not block the host, or check less often"


@pytest.mark.parametrize(
    ("code", "body", "help"),
    [
        ("TL101", "parts.append(y.mean().item())", KEPT),
        ("TL101", "token = y.argmax().item()\n        if token in stops:\n            break", ASKED),
        ("TL102", "parts.append(y.cpu())", "collect on the device and copy once after the loop"),
        ("TL102", "total += y.sum().cpu()", "accumulate on the device, and copy the sum once after the loop"),
        (
            "TL102",
            "a, b = y.cpu().numpy(), y.cpu().numpy()\n        parts.append(1 - np.var(a - b) / np.var(a))",
            "compute the result on the device too, and copy only the final number",
        ),
        ("TL104", "z = z * torch.tensor(weights, device=device)", "build it once before the loop, in one upload"),
        ("TL104", "z = z * torch.tensor(len(x), device=device)", "fill it on the device (`torch.full`), or upload all"),
        ("TL104", "z = z * torch.tensor(stops.rows[n], device=device)", "upload values that are known before the loop"),
        ("TL401", "z = z * torch.tensor(weights).to(device)", "upload it once, before the loop"),
        ("TL401", "z = z * torch.tensor([n, 1]).to(device)", "upload it once if its values do not change"),
        ("TL401", "z = z * torch.ones(3).to(device)", "pass `device=` to the function that creates it"),
        ("TL401", "z = z * unit.sample(z.shape).to(device)", "create the distribution's parameters on the device"),
        ("TL401", "z = z * own.sample(z.shape).to(device)", "pass `device=` to the function that creates it"),
        ("TL304", "z = global_mean_pool(z, z)", "pass `size=` if known"),
        ("TL304", "z = F.one_hot(z)", "pass `num_classes=` if known"),
        ("TL304", "z = z[z > 0]", "use a fixed-size form: `torch.where`, `masked_fill`, a weighted sum"),
        ("TL301", "assert (z > 0).all()", CHECKED),
        ("TL301", "assert (z > 0).all() or (z < 9).all(), n", CHECKED),
        ("TL301", "assert (z > 0).all()\n        if (z > 9).all():\n            z = z / 2", "compute without a branch"),
    ],
)
def test_the_help_is_for_what_stands_there(code: str, body: str, help: str) -> None:
    found = check_bytes("train.py", STEP.format(body=body).encode(), default_rules())
    helps = [finding.help for finding in found if finding.code == code]
    assert len(helps) == 1
    assert helps[0].startswith(help)
