"""The loss becomes a Python number by float()."""

import torch
from workload import Net, batch, train


def run(steps):
    device = torch.device("cuda")
    model = Net().to(device)
    optimizer = torch.optim.AdamW(model.parameters())
    tokens, labels = (one.to(device) for one in batch())
    total = 0.0
    for step in steps:
        loss = train(model, optimizer, tokens, labels)
        total += loss.detach()
    return float(total)


if __name__ == "__main__":
    run(range(1000))
