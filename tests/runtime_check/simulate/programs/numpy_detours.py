"""Copies there and back, through numpy and not."""

import numpy as np
import torch


def run(place):
    x = torch.arange(12.0).reshape(3, 4)
    g = x.clone().to(place)  # h2d 48
    a = g.cpu().numpy().copy()  # d2h 48
    h = torch.from_numpy(a).to(place, copy=True)  # h2d 48
    b = (g * 2).detach().cpu().numpy() + 1  # d2h 48
    k = torch.from_numpy(b).to(place, dtype=torch.float16)  # h2d 24
    c = np.asarray(k.cpu())  # d2h 24
    t = torch.tensor([1, 2, 3], device=place)  # h2d 24
    u = torch.as_tensor(np.ones(5), device=place)  # h2d 40
    torch.zeros(1000, device=place)
    torch.randn(10, device=place)
    torch.full((2, 2), 3.0, device=place)
    m = torch.empty(6, device=place)
    m.copy_(torch.ones(6))  # h2d 24
    n = torch.empty(6)
    n.copy_(m)  # d2h 24
    y = g.t().cpu().clone()  # d2h 48
    w = g.to("cpu", torch.float64)  # d2h 48
    same = g.to(place)
    doubled = g.to(torch.float64)
    r = torch.arange(5, device=place)
    s = g.new_tensor([1.0, 2.0])  # h2d 8
    zeros = torch.zeros_like(g, device="cpu")
    more = g.new_zeros(3, device="cpu")
    g[0] = torch.ones(4)  # h2d 16
    g[1, 1] = 5.0  # h2d 4
    g[2] = 7.0
    q = g.to("cpu", non_blocking=True).clone()  # d2h 48
    assert same is g
    assert zeros.device.type == more.device.type == "cpu"
    return {"all": [x, g, h, k, t, u, m, n, y, w, doubled, r, s, q, torch.from_numpy(a), torch.from_numpy(c)]}
