"""The same training as it should be: data on the device once, losses added up there, one read at the end."""

import hashlib

import torch
from torch import nn
from torch.nn.functional import cross_entropy

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 3))
model.to(DEVICE)  # transfers: h2d 512 B x 1, h2d 64 B x 1, h2d 192 B x 1, h2d 12 B x 1
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, nesterov=True)
inputs = torch.randn(80, 8).to(DEVICE)  # transfers: h2d 2560 B x 1
labels = torch.randint(0, 3, (80,)).to(DEVICE)  # transfers: h2d 640 B x 1
total = torch.zeros((), device=DEVICE)  # filled by a kernel
for batch, target in zip(inputs.split(8), labels.split(8), strict=True):
    optimizer.zero_grad(set_to_none=False)
    loss = cross_entropy(model(batch), target, label_smoothing=0.1)
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)  # a clamp, no branch (torch/nn/utils/clip_grad.py)
    optimizer.step()
    total += loss.detach()
print(f"mean loss {total.item() / 10:.6f}")  # transfers: d2h 4 B x 1
weights = nn.utils.parameters_to_vector(model.parameters()).detach()
print(hashlib.sha256(weights.cpu().numpy().tobytes()).hexdigest())  # transfers: d2h 780 B x 1
