import torch

device = "cuda"
v4, v5 = 1, (torch.ones(4, dtype=torch.bool, device=device)).to(device)
for step in range(12):
    if v5:
        pass
    else:
        pass
