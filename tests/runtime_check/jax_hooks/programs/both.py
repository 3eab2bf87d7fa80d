"""Reads of both frameworks' data in one loop."""

import jax
import jax.numpy as jnp
import torch


def train(rounds):
    layer = torch.nn.Linear(4, 1).to("cuda")
    weights = jnp.ones(4)
    score = jax.jit(lambda weights: (weights * 2).sum())
    total = 0.0
    for _ in range(rounds):
        total += layer(torch.ones(2, 4, device="cuda")).sum().item()
        total += float(score(weights))
    return total


print(train(12) != 0)
