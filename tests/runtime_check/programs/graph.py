"""A graph network: sizes come from the data, edges are cut by a mask, and segments are summed on the device."""

import hashlib

import torch
from torch import nn

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")

torch.manual_seed(0)
layer = nn.Linear(3, 3).to(DEVICE)  # transfers: h2d 36 B x 1, h2d 12 B x 1
edges = torch.tensor([[0, 1, 2, 3, 0], [1, 2, 3, 0, 2]]).to(DEVICE)  # transfers: h2d 80 B x 1
x = torch.randn(4, 3).to(DEVICE)  # transfers: h2d 48 B x 1
for hop in range(3):
    nodes = int(edges.max()) + 1  # transfers: d2h 8 B x 3
    source, target = edges
    summed = torch.zeros(nodes, 3, device=DEVICE).index_add(0, target, layer(x)[source])
    degree = torch.zeros(nodes, device=DEVICE).scatter_add(0, target, torch.ones(5 - hop, device=DEVICE))
    x = (summed / degree.clamp(min=1)[:, None]).relu()
    keep = torch.ones(edges.shape[1], dtype=torch.bool, device=DEVICE)
    keep[-1] = False  # one element: a bool goes up  # transfers: h2d 1 B x 3
    edges = edges[:, keep]  # transfers: wait 4 B x 3
x.sum().backward()
batch = torch.tensor([0, 0, 1, 1], device=DEVICE)  # transfers: h2d 32 B x 1
pooled = torch.zeros(int(batch[-1]) + 1, 3, device=DEVICE).index_add(0, batch, x.detach()[:4])  # transfers: d2h 8 B x 1
gradients = torch.cat([layer.weight.grad.reshape(-1), pooled.reshape(-1)])
print(edges.shape, hashlib.sha256(gradients.cpu().numpy().tobytes()).hexdigest())  # transfers: d2h 60 B x 1
