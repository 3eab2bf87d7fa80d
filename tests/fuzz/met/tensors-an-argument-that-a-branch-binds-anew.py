"""What is given to a function, and bound anew in a branch, as a function within sees it."""

import torch
def work(x15, device):
    if (torch.ones(4, dtype=torch.long) > 1).any():
        x15 = x15.to('cuda')
    else:
        pass
    for step in range(12):
        def inner24():
            return x15.detach().cpu()
        inner24()
work(torch.ones(4).abs(), 1)
