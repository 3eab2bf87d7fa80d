"""What the programs beside this file train: a small transformer that classifies sequences."""

from __future__ import annotations

import os
from typing import Any

import torch
from torch import nn
from torch.utils.data import Dataset

SMALL = bool(os.environ.get("PAIRS_SMALL"))  # for a device that is simulated
WIDTH, DEPTH, BATCH, LENGTH = (16, 1, 4, 8) if SMALL else (512, 4, 32, 128)
TOKENS, CLASSES = 1000, 10


class Net(nn.Module):
    """Embedding, encoder, and a head on the mean over the sequence."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.embedding = nn.Embedding(TOKENS, WIDTH)
        layer = nn.TransformerEncoderLayer(WIDTH, 4, 4 * WIDTH, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, DEPTH, enable_nested_tensor=False)
        self.head = nn.Linear(WIDTH, CLASSES)

    def forward(self, tokens: torch.Tensor, mask: torch.Tensor | None = None) -> torch.Tensor:
        hidden = self.encoder(self.embedding(tokens), mask=mask)
        return self.head(hidden.mean(dim=1))


def batch(number: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    """Tokens and labels, on the host."""
    generator = torch.Generator().manual_seed(number)
    tokens = torch.randint(TOKENS, (BATCH, LENGTH), generator=generator)
    return tokens, torch.randint(CLASSES, (BATCH,), generator=generator)


def images(number: int = 0) -> torch.Tensor:
    """Pictures as bytes, on the host: what a batch of 224 by 224 is."""
    side = 8 if SMALL else 224
    return torch.randint(256, (BATCH, 3, side, side), generator=torch.Generator().manual_seed(number)).to(torch.uint8)


class Pictures(Dataset[torch.Tensor]):
    """As many of these pictures as anybody takes, one by one."""

    def __init__(self) -> None:
        self.pictures = images()

    def __len__(self) -> int:
        return BATCH * 100_000

    def __getitem__(self, index: int) -> torch.Tensor:
        return self.pictures[index % BATCH]


def train(model: nn.Module, optimizer: Any, tokens: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """A step on tensors of the device; the loss."""
    loss = nn.functional.cross_entropy(model(tokens), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss
