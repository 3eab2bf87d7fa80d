"""Train a small classifier on synthetic data, with mistakes of the kind that are easily made.

Run it with `python examples/train.py --device cpu` (or cuda), and `transferlint check examples/` to see what is wrong.
"""

import argparse

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

FEATURES = 20
CLASSES = 5


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(FEATURES, 64), nn.ReLU(), nn.Linear(64, CLASSES))

    def forward(self, x: torch.Tensor):
        # The last feature is unreliable and counts for nothing.
        mask = torch.ones(FEATURES).to(x.device)
        mask[-1] = 0
        return self.layers(x * mask)


def make_loader(samples, seed):
    generator = torch.Generator().manual_seed(seed)
    features = torch.randn(samples, FEATURES, generator=generator)
    centres = torch.randn(CLASSES, FEATURES, generator=torch.Generator().manual_seed(0))
    labels = (features @ centres.T).argmax(dim=1)
    return DataLoader(TensorDataset(features, labels), batch_size=64, shuffle=True, generator=generator)


def normalise(x, device):
    """Bring a batch to mean zero with numpy, and back to the device."""
    values = x.cpu().numpy()
    values = values - values.mean(axis=0)
    return torch.from_numpy(values).to(device)


def train_epoch(model, loader, optimizer, class_weights, device):
    model.train()
    total = 0.0
    for features, labels in loader:
        features = features.to(device)
        labels.to(device)
        labels = labels.to(device)
        weights = class_weights.to(device)
        features = normalise(features, device)

        loss = nn.functional.cross_entropy(model(features), labels, weight=weights)
        if torch.isnan(loss).any():
            raise RuntimeError("the loss is not a number")

        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    return total / len(loader)


@torch.no_grad()
def evaluate(model, loader, device):
    model.eval()
    correct = []
    for features, labels in loader:
        predicted = model(normalise(features.to(device), device)).argmax(dim=1)
        correct.append((predicted.cpu() == labels).numpy())
    return np.concatenate(correct).mean()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--epochs", type=int, default=2)
    args = parser.parse_args()
    device = torch.device(args.device)

    torch.manual_seed(0)
    model = Classifier().to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    class_weights = torch.ones(CLASSES)
    loader = make_loader(2048, seed=1)
    held_out = make_loader(512, seed=2)

    for epoch in range(args.epochs):
        loss = train_epoch(model, loader, optimizer, class_weights, device)
        accuracy = evaluate(model, held_out, device)
        print(f"epoch {epoch}: loss {loss:.3f}, accuracy {accuracy:.3f}")


if __name__ == "__main__":
    main()
