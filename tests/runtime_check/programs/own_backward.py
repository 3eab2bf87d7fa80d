"""Autograd functions of the program's own: their lines stand in backward too, which runs in a thread of autograd's."""

import hashlib

import numpy as np
import torch

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")


class Sine(torch.autograd.Function):
    """Through numpy, there and back."""

    @staticmethod
    def forward(ctx, x):
        on_host = x.cpu()  # transfers: d2h 20 B x 3
        ctx.save_for_backward(on_host)
        return torch.from_numpy(np.sin(on_host.numpy())).to(x.device)  # transfers: h2d 20 B x 3

    @staticmethod
    def backward(ctx, gradient):
        (on_host,) = ctx.saved_tensors
        if gradient.isnan().any():  # transfers: d2h 1 B x 3
            return None
        return gradient * torch.from_numpy(np.cos(on_host.numpy())).to(gradient.device)  # transfers: h2d 20 B x 3


class Clipped(torch.autograd.Function):
    """Clips the gradient by a number that it reads."""

    @staticmethod
    def forward(ctx, x, limit):
        ctx.limit = limit
        return x.clone()

    @staticmethod
    def backward(ctx, gradient):
        norm = gradient.norm().item()  # transfers: d2h 4 B x 3
        return gradient * min(1.0, ctx.limit / norm), None


torch.manual_seed(0)
x = torch.randn(5).to(DEVICE).requires_grad_()  # transfers: h2d 20 B x 1
seen = []
x.register_hook(lambda gradient: seen.append(float(gradient.abs().max())))  # transfers: d2h 4 B x 3
for _ in range(3):
    (Clipped.apply(Sine.apply(x), 0.5) ** 2).sum().backward()
print(*(f"{value:.7f}" for value in seen))
print(hashlib.sha256(x.grad.cpu().numpy().tobytes()).hexdigest())  # transfers: d2h 20 B x 1
