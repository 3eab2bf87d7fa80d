"""Training of a small network from host batches, with dropout and the loss read at every step."""

import torch
from torch import nn


def run(place):
    torch.manual_seed(0)
    device = torch.device(place)
    model = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Dropout(0.021), nn.Linear(32, 4)).to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    inputs, labels = torch.randn(64, 16), torch.randint(0, 4, (64,))
    losses = []
    for step in range(12):
        chosen = slice(step * 16 % 64, step * 16 % 64 + 16)
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(inputs[chosen].to(device)), labels[chosen].to(device))
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    weight = next(model.parameters())
    assert weight.device.type == weight.grad.device.type == place
    assert losses[-1] < losses[0]
    return {"losses": [torch.tensor(losses)], "parameters": list(model.parameters())}
