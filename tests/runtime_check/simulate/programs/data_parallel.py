"""`nn.DataParallel` over the one device."""

import torch
from torch import nn


def run(place):
    torch.manual_seed(0)
    layer = nn.Linear(4, 2).to(place)
    model = nn.DataParallel(layer) if place == "cuda" else layer
    output = model(torch.ones(3, 4))
    output.sum().backward()
    return {"all": [output, layer.weight.grad]}
