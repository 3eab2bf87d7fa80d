"""Tokens become vectors on the host, and go up a thousand times as large."""

import torch
from torch.utils.data import DataLoader, TensorDataset
from workload import BATCH, TOKENS, Net, batch


def run(steps):
    device = torch.device("cuda")
    model = Net().to(device)
    optimizer = torch.optim.AdamW(model.parameters())
    loader = DataLoader(TensorDataset(*batch()), batch_size=BATCH)
    for step in steps:
        for tokens, labels in loader:
            choice = torch.nn.functional.one_hot(tokens.to(device), TOKENS).float()
            hidden = model.encoder(choice @ model.embedding.weight)
            loss = torch.nn.functional.cross_entropy(model.head(hidden.mean(dim=1)), labels.to(device))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    return loss


if __name__ == "__main__":
    run(range(1000))
