"""The host waits for the device between backward and the optimizer."""

import torch
from workload import Net, batch


def run(steps):
    device = torch.device("cuda")
    model = Net().to(device)
    optimizer = torch.optim.AdamW(model.parameters())
    tokens, labels = (one.to(device) for one in batch())
    for step in steps:
        loss = torch.nn.functional.cross_entropy(model(tokens), labels)
        optimizer.zero_grad()
        loss.backward()
        torch.cuda.synchronize()
        optimizer.step()
    return loss
