"""Gradient accumulation and running averages: what is added up on the device, and what is added up by reading."""

import hashlib

import torch
from torch import nn

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")

torch.manual_seed(0)
model = nn.Linear(4, 2).to(DEVICE)  # transfers: h2d 32 B x 1, h2d 8 B x 1
shadow = {name: parameter.detach().clone() for name, parameter in model.named_parameters()}
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
mean, best, history = 0.0, float("inf"), []
for step in range(6):
    batch = torch.randn(3, 4).to(DEVICE)  # transfers: h2d 48 B x 6
    loss = model(batch).square().mean() / 2
    loss.backward()
    history.append(loss.detach())
    if step % 2:
        optimizer.step()
        optimizer.zero_grad()
        for name, parameter in model.named_parameters():
            shadow[name].mul_(0.9).add_(parameter.detach(), alpha=0.1)
    mean = 0.9 * mean + 0.1 * float(loss)  # transfers: d2h 4 B x 6
    if loss < best:  # from the second time, two device values  # transfers: d2h 1 B x 6
        best = loss.detach()
weight = torch.tensor(1.0 / len(history))  # a number of no dimensions may stay on the host
total = (torch.stack(history) * weight).sum()
print(f"{mean:.6f} {total:.6f} {best:.6f}")  # transfers: d2h 4 B x 2
flat = torch.cat([tensor.reshape(-1) for tensor in shadow.values()])
print(hashlib.sha256(flat.cpu().numpy().tobytes()).hexdigest())  # transfers: d2h 40 B x 1
