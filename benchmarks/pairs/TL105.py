"""A teacher is brought to the device and away again around each use."""

import torch
from workload import Net, batch


def run(steps):
    device = torch.device("cuda")
    model = Net().to(device)
    teacher = Net().eval()
    optimizer = torch.optim.AdamW(model.parameters())
    tokens = batch()[0].to(device)
    for step in steps:
        teacher.to(device)
        with torch.no_grad():
            wanted = teacher(tokens).softmax(dim=1)
        teacher.cpu()
        loss = torch.nn.functional.cross_entropy(model(tokens), wanted)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss
