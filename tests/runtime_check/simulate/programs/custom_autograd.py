"""Custom functions, hooks, views written through, second derivatives, `out=`, streams and a module that was given to
its optimizer before it moved."""

import torch
from torch import nn


class Squared(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, y):
        ctx.save_for_backward(x, y)
        return x * x * y

    @staticmethod
    def backward(ctx, gradient):
        x, y = ctx.saved_tensors
        return gradient * 2 * x * y, gradient * x * x


class Module(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.linspace(0, 1, 4))
        self.register_buffer("count", torch.zeros(()))
        self.register_buffer("mean", torch.zeros(4))

    def forward(self, x):
        self.count += 1
        self.mean.mul_(0.9).add_(x.detach().mean(0), alpha=0.1)
        return Squared.apply(x * self.weight, self.weight + self.mean)


def run(place):
    torch.manual_seed(0)
    module = Module()
    optimizer = torch.optim.SGD(module.parameters(), lr=0.1)
    weight = module.weight
    module.to(place)
    assert module.weight is weight
    assert isinstance(weight, nn.Parameter)
    for _ in range(3):
        optimizer.zero_grad()
        module(torch.randn(5, 4).to(place)).sum().backward()
        optimizer.step()
    seen = []
    product = module.weight * 3
    product.register_hook(lambda gradient: seen.append(gradient.device.type))
    product.sum().backward()
    assert seen == [place]
    flat = torch.zeros(6, device=place)
    square = flat.view(2, 3)
    square[0].fill_(2)
    square.t()[1, 1] = 9
    assert flat.data_ptr() == square.data_ptr()
    d = torch.ones(4, device=place, requires_grad=True)
    (first,) = torch.autograd.grad((d**3).sum(), d, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), d)
    out = torch.empty(0, device=place)
    torch.add(d.detach(), 1, out=out)
    grown = torch.ones(2, device=place).resize_(4).fill_(3.0)
    shared = torch.empty(0, device=place).set_(flat)
    assert shared.data_ptr() == flat.data_ptr()
    again = torch.utils.checkpoint.checkpoint(lambda z: torch.sin(z) * module.weight, d, use_reentrant=False)
    again.sum().backward()
    generator = torch.Generator(device=place).manual_seed(5)
    drawn = torch.randn(3, device=place, generator=generator)
    if place == "cuda":
        _streams(d)
    return {
        "module": [module.weight, module.mean, module.count, module.weight.grad],
        "memory": [flat, out, grown, shared],
        "gradients": [d.grad, second, again],
        "drawn": [drawn],
    }


def _streams(d):
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        assert torch.cuda.current_stream() is stream
        doubled = d * 2
    stream.synchronize()
    event = torch.cuda.Event(enable_timing=True)
    event.record()
    event.synchronize()
    torch.cuda.current_stream().wait_stream(stream)
    doubled.record_stream(stream)
