import torch
device = "cuda"
def work(x3, device):
    x3[((~torch.ones(4, dtype=torch.bool)))]
work(torch.ones(4, device=device), 1)
