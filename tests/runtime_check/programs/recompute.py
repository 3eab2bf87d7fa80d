"""Activation checkpointing: what a checkpointed function reads, it reads again in backward."""

import hashlib

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")

torch.manual_seed(0)
layers = nn.ModuleList(nn.Linear(6, 6) for _ in range(3))
layers.to(DEVICE)  # transfers: h2d 144 B x 3, h2d 24 B x 3
seen = []


def block(layer, x):
    x = layer(x).relu()
    # Once in forward, once when backward computes it anew: 3 layers, 2 steps. The generator's state, which is kept for
    # dropout, lies on the host (torch/utils/checkpoint.py: get_device_states).
    seen.append(x.detach().amax().item())  # transfers: d2h 4 B x 12
    return nn.functional.dropout(x, 0.25)


for _ in range(2):
    x = torch.randn(4, 6).to(DEVICE)  # transfers: h2d 96 B x 2
    for layer in layers:
        x = checkpoint(block, layer, x, use_reentrant=False)
    x.sum().backward()
print(len(seen), f"{sum(seen):.6f}")
gradients = torch.cat([parameter.grad.reshape(-1) for parameter in layers.parameters()])
print(hashlib.sha256(gradients.cpu().numpy().tobytes()).hexdigest())  # transfers: d2h 504 B x 1
