"""The loss is the mean over the samples that a mask selects."""

import torch
from workload import Net, batch


def run(steps):
    device = torch.device("cuda")
    model = Net().to(device)
    optimizer = torch.optim.AdamW(model.parameters())
    tokens, labels = (one.to(device) for one in batch())
    known = labels > 0
    for step in steps:
        losses = torch.nn.functional.cross_entropy(model(tokens), labels, reduction="none")
        loss = losses[known].mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss
