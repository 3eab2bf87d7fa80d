"""Labels go up once."""

import torch
from torch.utils.data import DataLoader, TensorDataset
from workload import BATCH, Net, batch


def run(steps):
    device = torch.device("cuda")
    model = Net().to(device)
    optimizer = torch.optim.AdamW(model.parameters())
    loader = DataLoader(TensorDataset(*batch()), batch_size=BATCH)
    correct = torch.zeros((), device=device)
    for step in steps:
        for tokens, labels in loader:
            labels = labels.to(device)
            logits = model(tokens.to(device))
            loss = torch.nn.functional.cross_entropy(logits, labels)
            correct += (logits.argmax(dim=1) == labels).sum()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    return loss
