"""The mean loss is summed up on the device, and comes down once."""

import torch
from workload import Net, batch, train


def run(steps):
    device = torch.device("cuda")
    model = Net().to(device)
    optimizer = torch.optim.AdamW(model.parameters())
    tokens, labels = (one.to(device) for one in batch())
    total = torch.zeros((), device=device)
    for step in steps:
        loss = train(model, optimizer, tokens, labels)
        total += loss.detach()
    return total.item()


if __name__ == "__main__":
    run(range(1000))
