import torch

device = "cuda:0"


class Worker:
    def __init__(self, device):
        self.kept = torch.ones(4, device=device).sum()

    def step(self, a, b):
        if a > 2 and torch.ones(4, device=device).all().item():
            self.kept.mul_(0.5)
        if (torch.ones(4, device=device).all().item() if a > 2 else b) == 1:
            self.kept.mul_(0.5)
        return self.kept


worker = Worker(device)
worker.step(2, 3)
