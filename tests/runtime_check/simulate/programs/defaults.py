"""A default device, set for good, for a block, and by the old types; torch.accelerator instead of torch.cuda."""

import torch
from torch import nn


def run(place):
    torch.set_default_device(place)
    torch.manual_seed(0)
    layer = nn.Linear(3, 3)
    drawn = torch.rand(4)
    assert layer.weight.device.type == drawn.device.type == place
    torch.set_default_device("cpu")
    with torch.device(place):
        made = [torch.arange(3), torch.tensor([1.0, 2.0]), torch.eye(2), torch.full((2,), 7), torch.linspace(0, 1, 3)]
    assert all(one.device.type == place for one in made)
    device = torch.accelerator.current_accelerator() if torch.accelerator.is_available() else torch.device("cpu")
    assert device.type == place
    if place == "cuda":
        old = torch.cuda.FloatTensor([1.0, 2.0])
        assert old.type() == "torch.cuda.FloatTensor"
        assert isinstance(old, torch.cuda.FloatTensor)
        assert torch.cuda.LongTensor(2, 3).shape == (2, 3)
    return {"all": [layer.weight, layer.bias, drawn, *made, layer(torch.ones(2, 3, device=device))]}
