import torch

device = "cuda"
v12 = 1
for step in range(12):
    v21 = (torch.ones(3, 4, device=device)).sum(0).abs()
    v21[(torch.ones(4) > v12)]
