"""The teacher stays on the device."""

import torch
from workload import Net, batch


def run(steps):
    device = torch.device("cuda")
    model = Net().to(device)
    teacher = Net().eval()
    optimizer = torch.optim.AdamW(model.parameters())
    tokens = batch()[0].to(device)
    teacher.to(device)
    for step in steps:
        with torch.no_grad():
            wanted = teacher(tokens).softmax(dim=1)
        loss = torch.nn.functional.cross_entropy(model(tokens), wanted)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss
