"""Loaders with workers: pinned batches go up without waiting, pageable ones and blocking moves wait."""

import hashlib

import torch
from torch.utils.data import DataLoader, Dataset

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")


class Rows(Dataset):
    def __init__(self):
        self.rows = torch.arange(60.0).reshape(12, 5)

    def __len__(self):
        return 12

    def __getitem__(self, index):
        return {"row": self.rows[index].sin(), "label": index % 3}


total = torch.zeros(5, device=DEVICE)
labels = torch.zeros((), dtype=torch.int64, device=DEVICE)
pinned = DataLoader(Rows(), batch_size=4, num_workers=2, pin_memory=DEVICE.type == "cuda")
for _ in range(2):
    for batch in pinned:
        total += batch["row"].to(DEVICE, non_blocking=True).sum(0)  # transfers: h2d 80 B x 6 async
        labels += batch["label"].to(DEVICE, non_blocking=True).sum()  # transfers: h2d 32 B x 6 async
for batch in pinned:
    total += batch["row"].to(DEVICE).sum(0)  # pinned, and waited for  # transfers: h2d 80 B x 3
pageable = DataLoader(Rows(), batch_size=6, num_workers=1)
for batch in pageable:
    total += batch["row"].to(DEVICE, non_blocking=True).sum(0)  # copied aside  # transfers: h2d 120 B x 2 async
for batch in DataLoader(Rows(), batch_size=6, pin_memory=DEVICE.type == "cuda"):
    # Every other column of a pinned tensor is packed into pageable memory first (Copy.cu: copy_requires_temporaries).
    total[:3] += batch["row"][:, ::2].to(DEVICE, non_blocking=True).sum(0)  # transfers: h2d 72 B x 2 async
print(labels.item())  # transfers: d2h 8 B x 1
print(hashlib.sha256(total.cpu().numpy().tobytes()).hexdigest())  # transfers: d2h 20 B x 1
