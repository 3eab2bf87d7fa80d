"""What each rule claims, in code that bears it out on one device and refutes it on another: `program.py cuda` crosses
as every finding says, `program.py cpu` runs the same lines, and nothing crosses."""

import logging
import sys

import numpy as np
import torch
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset, TensorDataset

log = logging.getLogger(__name__)
there = torch.device(sys.argv[1])
rows = torch.arange(32.0).reshape(8, 4)


def tl101(model: torch.nn.Module, loader, device):
    total = 0.0
    for x in loader:
        total += model(x.to(device)).sum().item()  # TL101
    return total


def tl102(model: torch.nn.Module, loader, device):
    found = []
    for x in loader:
        found.append(model(x.to(device)).cpu())  # TL102
    return found


def tl103(model: torch.nn.Module, loader, weight: torch.Tensor, device):
    for x in loader:
        model(x.to(device)) * weight.to(device)  # TL103


def tl104(model: torch.nn.Module, loader, device):
    for number, x in enumerate(loader):
        model(x.to(device)) * torch.tensor([1.0, float(number)], device=device).sum()  # TL104


def tl105(model: torch.nn.Module, loader, device):
    for x in loader:
        model.to(device)  # TL105
        model(x.to(device))
        model.cpu()


def tl106(model: torch.nn.Module, loader, device):
    for x in loader:
        out = model(x.to(device))
        low, high, mean = out.min(), out.max(), out.mean()
        log.debug("%s", {"low": low.item(), "high": high.item(), "mean": mean.item()})  # TL106


def tl107(model: torch.nn.Module, loader, device):
    total = 0.0
    for x in loader:
        scores = model(x.to(device)).flatten()
        for i in range(len(scores)):
            total += scores[i].item()  # TL107
    return total


def tl201(model: torch.nn.Module, loader, device):
    for x in loader:
        out = model(x.to(device))
        kept = np.clip(out.detach().cpu().numpy(), 0.0, 1.0)  # TL201
        model(torch.from_numpy(np.repeat(kept, 4, axis=1)).to(device))


def tl202(loader, device):
    for x in loader:
        print(x.to(device).mul(2).cpu()[0, 0], file=sys.stderr)  # TL202


def tl203(model: torch.nn.Module, loader, device):
    for x in loader:
        loss = model(x.to(device)).sum()
        if loss.item() > 0.5:  # TL203
            loss = loss * 2
        loss.backward()


def tl204(model: torch.nn.Module, loader, device):
    correct = torch.zeros((), device=device)
    for inputs in loader:
        scores = model(inputs.to(device))
        correct += (scores == inputs.to(device)).sum()  # TL204
    return correct


def tl301(model: torch.nn.Module, loader, device):
    for x in loader:
        loss = model(x.to(device)).sum()
        if torch.isnan(loss):  # TL301
            print("nan", file=sys.stderr)


def tl302(model: torch.nn.Module, loader, device):
    total = 0.0
    for x in loader:
        total += float(model(x.to(device)).sum())  # TL302
    return total


def tl303(model: torch.nn.Module, loader, device):
    for x in loader:
        loss = model(x.to(device)).sum()
        print(f"loss {loss}", file=sys.stderr)  # TL303


def tl304(model: torch.nn.Module, loader, device):
    for x in loader:
        out = model(x.to(device))
        losses = out.square()
        mask = losses > 0
        losses[mask].mean().backward()  # TL304


def tl305(device):
    x = torch.ones(4, 3, device=device)
    last = torch.zeros(4, dtype=torch.long, device=device)
    for _ in range(10):
        x = x + x[torch.arange(4), last].sum()  # TL305


def tl401(model: torch.nn.Module, loader, device):
    for x in loader:
        model(x.to(device)) + torch.zeros(2, 1).to(device)  # TL401


def tl402_stacked(model: torch.nn.Module, samples, device):
    for start in range(0, 8, 2):
        batch = torch.stack([samples[start + i] for i in range(2)])
        model(batch.to(device))  # TL402


def tl402_pinned(model: torch.nn.Module, inputs, device):
    for (x,) in DataLoader(TensorDataset(inputs), batch_size=2, pin_memory=True):
        model(x.to(device))  # TL402


def tl403(model: torch.nn.Module, device):
    wide = TensorDataset(torch.zeros(4, 1 << 14, 4))
    for (x,) in DataLoader(wide, batch_size=2, num_workers=1):
        model(x.to(device, non_blocking=True))  # TL403


def tl404(model: torch.nn.Module, data, device):
    loader = DataLoader(data, batch_size=2, num_workers=1)  # TL404
    for x in loader:
        loss = model(x.to(device)).sum()
        loss.backward()


def tl405(model: torch.nn.Module, loader, device):
    best = []
    for x in loader:
        best.append(model(x.to(device)).cpu().argmax())  # TL405
    return best


def tl406(model: torch.nn.Module, labels, device):
    for label in labels:
        model(F.one_hot(label, 4).float().to(device))  # TL406


def tl407(numbers, device):
    ids = torch.tensor(numbers).cuda().to(device)  # TL407
    return ids * 2


def tl501(device):
    x = torch.ones(3)
    x.to(device)  # TL501
    return x


def tl503(model, x, device):
    scores = model(x.to(device))
    scores = scores.to("cpu", non_blocking=True)  # TL503
    return scores.max(1).values + 1


class Images(Dataset):
    def __init__(self, images, device):
        self.images = images
        self.device = device

    def __len__(self):
        return len(self.images)

    def __getitem__(self, index):
        return self.images[index].to(self.device)  # TL505


def main(device):
    model = torch.nn.Linear(4, 1).to(device)
    loader = DataLoader(rows, batch_size=2)
    for run in (tl101, tl102, tl104, tl106, tl107, tl201, tl203, tl204, tl301, tl302, tl303, tl304, tl401, tl405):
        run(model, loader, device)
    tl103(model, loader, torch.ones(1), device)
    tl105(torch.nn.Linear(4, 1), loader, device)
    tl202(loader, device)
    tl305(device)
    tl402_stacked(model, rows, device)
    tl402_pinned(model, rows, device)
    tl403(model, device)
    tl404(model, rows, device)
    tl407([1, 2, 3], device)
    tl503(model, rows, device)
    tl406(model, torch.arange(8).reshape(4, 2) % 4, device)
    tl501(device)
    for _ in DataLoader(Images(rows, device), batch_size=2):
        pass


if __name__ == "__main__":
    main(there)
