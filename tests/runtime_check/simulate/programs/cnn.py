"""Convolutions fed by loaders with and without workers, from pinned memory, without waiting."""

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Images(Dataset):
    def __init__(self):
        generator = torch.Generator().manual_seed(1)
        self.images = torch.randn(32, 3, 8, 8, generator=generator)
        self.labels = torch.randint(0, 5, (32,), generator=generator)

    def __len__(self):
        return 32

    def __getitem__(self, index):
        return self.images[index], self.labels[index]


def run(place):
    results = {}
    for workers in (0, 2):
        torch.manual_seed(0)
        model = nn.Sequential(
            *(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2)),
            *(nn.ConvTranspose2d(8, 4, 2), nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(16, 5)),
        ).to(place)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
        loader = DataLoader(Images(), batch_size=8, num_workers=workers, pin_memory=place == "cuda")
        correct = torch.zeros((), device=place)
        for _ in range(2):
            for images, labels in loader:
                assert images.is_pinned() == labels.is_pinned() == (place == "cuda")
                images = images.to(place, non_blocking=True)
                labels = labels.to(place, non_blocking=True)
                optimizer.zero_grad(set_to_none=True)
                output = model(images)
                nn.functional.cross_entropy(output, labels).backward()
                optimizer.step()
                correct += (output.argmax(1) == labels).sum()
        model.eval()
        with torch.no_grad():
            output = model(next(iter(loader))[0].to(place))
        results[f"workers {workers}"] = [output, correct, *model.state_dict().values()]
    return results
