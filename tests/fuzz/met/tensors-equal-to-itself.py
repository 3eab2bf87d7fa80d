import torch

device = "cuda"
one = torch.ones(4, device=device)
other = one
for step in range(12):
    if torch.equal(one, one) and torch.equal(one, other) and torch.equal(one, torch.ones(3, device=device)):
        print(step)
