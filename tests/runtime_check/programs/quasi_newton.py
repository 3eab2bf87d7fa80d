"""L-BFGS decides on the host at every iteration: counts follow torch/optim/lbfgs.py."""

import hashlib

import torch
from torch import nn

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")

torch.manual_seed(0)
model = nn.Linear(3, 1).to(DEVICE)  # transfers: h2d 12 B x 1, h2d 4 B x 1
inputs = torch.randn(6, 3).to(DEVICE)  # transfers: h2d 72 B x 1
wanted = (inputs.sum(1, keepdim=True) * 4).tanh() * 3
optimizer = torch.optim.LBFGS(model.parameters(), lr=0.1, max_iter=2, max_eval=10)


def closure():
    optimizer.zero_grad()
    loss = (model(inputs) - wanted).square().sum()
    loss.backward()
    return loss


# First call, 4 bytes: `float(orig_loss)`; `alpha=step_size` of weight and of bias, which is a device value in the first
# iteration (the slope is more than 1, so `min` gives the quotient); `float(loss)` after it; in the second iteration
# `alpha=-al[i]` and `alpha=al[i] - be_i`. 1 byte: optimal; `min`; `gtd`; optimal; lack of progress; `ys`; `gtd`.
optimizer.step(closure)  # transfers: d2h 4 B x 6, d2h 1 B x 7
# Second call, each of two iterations has a history of 2, then 3 pairs: 4 bytes: both losses, 2 x 2 and 2 x 3 alphas.
# 1 byte: optimal; `ys`, `gtd`, optimal, lack of progress; `ys`, `gtd`.
loss = optimizer.step(closure)  # transfers: d2h 4 B x 12, d2h 1 B x 7
print(f"{loss:.6f}")  # transfers: d2h 4 B x 1
weights = nn.utils.parameters_to_vector(model.parameters()).detach()
print(hashlib.sha256(weights.cpu().numpy().tobytes()).hexdigest())  # transfers: d2h 16 B x 1
