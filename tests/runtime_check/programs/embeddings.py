"""Embeddings: lookups cost nothing, host indices and renormalisation do."""

import hashlib

import torch
from torch import nn

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")

torch.manual_seed(0)
words = nn.Embedding(20, 4, padding_idx=0).to(DEVICE)  # transfers: h2d 320 B x 1
bounded = nn.Embedding(20, 4, max_norm=1.0).to(DEVICE)  # transfers: h2d 320 B x 1
bag = nn.EmbeddingBag(20, 4, mode="mean").to(DEVICE)  # transfers: h2d 320 B x 1
pretrained = nn.Embedding.from_pretrained(torch.rand(20, 4)).to(DEVICE)  # transfers: h2d 320 B x 1
for step in range(3):
    ids = torch.LongTensor([[1, 2, 0], [3 + step, 4, 5]]).to(DEVICE)  # transfers: h2d 48 B x 3
    starts = torch.tensor([0, 3], device=DEVICE)  # transfers: h2d 16 B x 3
    x = words(ids) + pretrained(ids)
    # `embedding_renorm_` makes the indices unique and reads how many are left, a 64-bit integer
    # (aten/src/ATen/native/cuda/Embedding.cu).
    x = x + bounded(ids)  # transfers: d2h 8 B x 3
    x = x.sum(1) + bag(ids.reshape(-1), starts)
    x.square().sum().backward()
    longest = (ids != 0).sum(1).max().item()  # transfers: d2h 8 B x 3
nearest = torch.cdist(x.detach(), words.weight.detach()).argmin(1)
print(longest, nearest.tolist())  # transfers: d2h 16 B x 1
gradients = torch.stack([words.weight.grad, bounded.weight.grad, bag.weight.grad])
print(hashlib.sha256(gradients.cpu().numpy().tobytes()).hexdigest())  # transfers: d2h 960 B x 1
