"""`torch.compile` of functions and modules, TorchScript, vmap and functional gradients."""

import torch
from torch import nn


@torch.jit.script
def scripted(a, b: float):
    for _ in range(3):
        a = a * b + torch.zeros_like(a)
    return a


def run(place):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.GELU(), nn.Linear(8, 2)).to(place)
    compile = torch.compile if place == "cuda" else lambda function=None, **_: function or (lambda one: one)

    @compile(fullgraph=True)
    def step(x):
        return model(x).sum()

    loss = step(torch.ones(3, 4, device=place))
    loss.backward()
    output = compile(model)(torch.ones(3, 4, device=place))
    traced = torch.jit.trace(model, torch.ones(1, 4, device=place))
    each = torch.func.vmap(torch.func.grad(lambda p, x: (p * x).sum()), (None, 0))
    gradients = each(torch.ones(3, device=place), torch.arange(6.0, device=place).reshape(2, 3))
    jacobian = torch.func.jacrev(torch.sin)(torch.ones(3, device=place))
    return {
        "compiled": [loss, output, model[0].weight.grad],
        "scripted": [scripted(torch.ones(2, device=place), 1.5), traced(torch.ones(1, 4, device=place))],
        "functional": [gradients, jacobian],
    }
