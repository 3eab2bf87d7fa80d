"""A small network: a batch goes up and the loss comes down on every step."""

import hashlib

import torch
from torch import nn
from torch.nn.functional import cross_entropy

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")

torch.manual_seed(0)
# A module moves parameter by parameter: 8 x 16 floats, 16, 16 x 3, 3.
model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 3))
model.to(DEVICE)  # transfers: h2d 512 B x 1, h2d 64 B x 1, h2d 192 B x 1, h2d 12 B x 1
# Adam keeps its step counts on the host unless it is `capturable` or `fused` (torch/optim/adam.py: _init_group).
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
inputs, labels = torch.randn(80, 8), torch.randint(0, 3, (80,))
total = 0.0
for step in range(10):
    rows = slice(8 * step, 8 * step + 8)
    batch = inputs[rows].to(DEVICE)  # transfers: h2d 256 B x 10
    target = labels[rows].to(DEVICE)  # transfers: h2d 64 B x 10
    optimizer.zero_grad()
    loss = cross_entropy(model(batch), target)
    loss.backward()
    optimizer.step()
    total += loss.item()  # transfers: d2h 4 B x 10
print(f"mean loss {total / 10:.6f}")
weights = torch.cat([parameter.detach().reshape(-1) for parameter in model.parameters()])
print(hashlib.sha256(weights.cpu().numpy().tobytes()).hexdigest())  # transfers: d2h 780 B x 1
