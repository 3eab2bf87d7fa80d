"""The weights are made once."""

import torch
from workload import CLASSES, Net, batch


def run(steps):
    device = torch.device("cuda")
    model = Net().to(device)
    optimizer = torch.optim.AdamW(model.parameters())
    tokens, labels = (one.to(device) for one in batch())
    weights = [1.0 + index for index in range(CLASSES)]
    weight = torch.tensor(weights, device=device)
    for step in steps:
        loss = torch.nn.functional.cross_entropy(model(tokens), labels, weight=weight)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss
