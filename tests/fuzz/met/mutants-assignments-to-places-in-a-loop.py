# options: in a loop
"""What masks select, assigned to places one after the other."""

import torch

x = torch.linspace(-1, 1, 24, device="cuda").reshape(4, 6)
mask = x > 0
results = [x[mask], x.masked_select(mask), x.nonzero(), x.unique()]
x[mask] = x[mask] * 2
x[mask] = 0.0
x[1:][mask[1:]] = torch.zeros_like(x[1:][mask[1:]])
