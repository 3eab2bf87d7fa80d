"""Weights that go up and down in turn, moves to where a thing is, and a cache that is uploaded once."""

import torch
from torch import nn

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")
CUDA = DEVICE.type == "cuda"

torch.manual_seed(0)
stages = [nn.Linear(4, 4), nn.Linear(4, 4)]
x = torch.randn(2, 4).to(DEVICE)  # transfers: h2d 32 B x 1
with torch.no_grad():
    for _ in range(2):
        for stage in stages:
            stage.to(DEVICE)  # transfers: h2d 64 B x 4, h2d 16 B x 4
            x = stage(x).sin()
            if CUDA:
                x = x.cuda().to("cuda").to(x.device)  # it is there  # transfers: no-op x 12
                stage.to("cuda")  # and so are weight and bias  # transfers: no-op x 8
            stage.to("cpu")  # transfers: d2h 64 B x 4, d2h 16 B x 4
cache = {}
for name in ("a", "b", "a", "b", "a"):
    if name not in cache:
        cache[name] = torch.full((2, 4), float(len(cache))).to(DEVICE)  # transfers: h2d 32 B x 2
    x = x + cache[name]
    x = x.to(torch.float64).to(x.dtype).float()  # types, not places
buffer = torch.empty(2, 4, pin_memory=CUDA)
for step in range(3):
    buffer.fill_(step)
    staged = buffer.to(DEVICE, copy=True)  # blocking, so that the buffer can be filled again  # transfers: h2d 32 B x 3
    x = x + staged
x.data = x.data.cpu()  # transfers: d2h 32 B x 1
print(x.device, [f"{value:.6f}" for value in x.reshape(-1).tolist()])
