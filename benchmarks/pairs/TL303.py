"""The loss is written into a text at every step."""

import torch
from workload import Net, batch, train


def run(steps):
    device = torch.device("cuda")
    model = Net().to(device)
    optimizer = torch.optim.AdamW(model.parameters())
    tokens, labels = (one.to(device) for one in batch())
    said = []
    for step in steps:
        loss = train(model, optimizer, tokens, labels)
        said.append(f"step {step}: loss {loss}")
    return loss
