"""Train a small classifier on synthetic data, written with care for where values live: nothing to report here.

Run it with `python examples/train_well.py --device cpu` (or cuda).
"""

import argparse
import logging
import time
from pathlib import Path

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

log = logging.getLogger("train_well")

FEATURES = 20
CLASSES = 5


class Blobs(Dataset):
    """Points around a few centres, made on the host."""

    def __init__(self, samples, seed):
        generator = torch.Generator().manual_seed(seed)
        centres = 3 * torch.randn(CLASSES, FEATURES, generator=torch.Generator().manual_seed(0))
        self.labels = torch.randint(CLASSES, (samples,), generator=generator)
        self.features = centres[self.labels] + torch.randn(samples, FEATURES, generator=generator)

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, index):
        return self.features[index], self.labels[index]


class Classifier(nn.Module):
    def __init__(self, hidden, dropout):
        super().__init__()
        self.register_buffer("scale", torch.ones(FEATURES))
        self.layers = nn.Sequential(
            nn.Linear(FEATURES, hidden),
            nn.ReLU(),
            nn.Dropout(dropout),
            nn.Linear(hidden, CLASSES),
        )

    def forward(self, x):
        noise = torch.zeros_like(x)
        if self.training:
            noise.normal_(0, 0.01)
        return self.layers(x * self.scale + noise)


def make_loader(dataset, batch_size, shuffle, device):
    return DataLoader(dataset, batch_size=batch_size, shuffle=shuffle, pin_memory=device.type == "cuda")


def train_epoch(model, loader, optimizer, scheduler, device, epoch, log_every):
    model.train()
    running = torch.zeros((), device=device)
    started = time.perf_counter()
    for step, (features, labels) in enumerate(loader):
        features = features.to(device, non_blocking=True)
        labels = labels.to(device, non_blocking=True)

        optimizer.zero_grad(set_to_none=True)
        loss = nn.functional.cross_entropy(model(features), labels, label_smoothing=0.1)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
        optimizer.step()
        scheduler.step()

        running += loss.detach()
        if step % log_every == 0:
            rate = (step + 1) / (time.perf_counter() - started)
            log.info("epoch %d step %d: loss %.3f (%.0f steps/s)", epoch, step, loss.item(), rate)
    return (running / len(loader)).item()


@torch.no_grad()
def evaluate(model, loader, device):
    model.eval()
    correct = torch.zeros((), dtype=torch.long, device=device)
    total_loss = torch.zeros((), device=device)
    seen = 0
    for features, labels in loader:
        features = features.to(device, non_blocking=True)
        labels = labels.to(device, non_blocking=True)
        logits = model(features)
        total_loss += nn.functional.cross_entropy(logits, labels, reduction="sum")
        correct += (logits.argmax(dim=1) == labels).sum()
        seen += labels.shape[0]
    return total_loss.item() / seen, correct.item() / seen


def save_checkpoint(path, model, optimizer, epoch, accuracy):
    state = {
        "model": {name: value.cpu() for name, value in model.state_dict().items()},
        "optimizer": optimizer.state_dict(),
        "epoch": epoch,
        "accuracy": accuracy,
    }
    torch.save(state, path)


def load_checkpoint(path, model, optimizer, device):
    state = torch.load(path, map_location=device)
    model.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    return state["epoch"] + 1, state["accuracy"]


def parse_args():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--log-every", type=int, default=100)
    parser.add_argument("--checkpoint", type=Path, default=None)
    return parser.parse_args()


def main():
    args = parse_args()
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    torch.manual_seed(0)
    device = torch.device(args.device)

    model = Classifier(hidden=64, dropout=0.1).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    loader = make_loader(Blobs(4096, seed=1), args.batch_size, shuffle=True, device=device)
    held_out = make_loader(Blobs(1024, seed=2), args.batch_size, shuffle=False, device=device)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=args.epochs * len(loader))

    first, best = 0, 0.0
    if args.checkpoint is not None and args.checkpoint.exists():
        first, best = load_checkpoint(args.checkpoint, model, optimizer, device)

    for epoch in range(first, args.epochs):
        loss = train_epoch(model, loader, optimizer, scheduler, device, epoch, args.log_every)
        held_out_loss, accuracy = evaluate(model, held_out, device)
        log.info("epoch %d: loss %.3f, held out %.3f, accuracy %.3f", epoch, loss, held_out_loss, accuracy)
        if accuracy > best:
            best = accuracy
            if args.checkpoint is not None:
                save_checkpoint(args.checkpoint, model, optimizer, epoch, best)
    log.info("best accuracy %.3f", best)


if __name__ == "__main__":
    main()
