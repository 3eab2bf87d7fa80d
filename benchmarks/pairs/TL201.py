"""A norm is taken by numpy, and sent back."""

import torch
from workload import Net, batch


def run(steps):
    device = torch.device("cuda")
    model = Net().to(device)
    optimizer = torch.optim.AdamW(model.parameters())
    tokens, labels = (one.to(device) for one in batch())
    for step in steps:
        logits = model(tokens)
        highest = torch.from_numpy(logits.detach().cpu().numpy().max(axis=1)).to(device)
        loss = torch.nn.functional.cross_entropy(logits - highest[:, None], labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss
