# options: in a loop
import torch

device = torch.device("cuda")
mask_bank = torch.rand(64, 64)
state = lambda: x(64, 64, device=device)
for _ in range(1000):  # transferlint: ignore[_]
    state = state + mask_bank.to(device)

    position = torch.zeros(3, device=device)
    for step in range(steps):
        position = position + start.to(device)
    return position

