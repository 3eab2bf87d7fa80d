import torch

device = "cuda"
x = torch.ones(12, 4)


def helper(a):
    a.tolist()
    return a.is_cuda


for y in x:
    if helper(torch.ones(4, device=device)):
        pass
    else:
        y.abs()
    if helper(torch.ones(4, device=device)):
        y = y.to(device) * 2
