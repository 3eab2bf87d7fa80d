"""A second read of the same array crosses nothing: the host has what it was given."""

import jax.numpy as jnp


def total_of(rounds):
    total = 0.0
    loss = jnp.ones(3).sum()
    for _ in range(rounds):
        total += float(loss + 0)
        if total < 0:
            total += float(loss)
    kept = jnp.ones(2)
    first = kept.tolist()
    for _ in range(rounds):
        total += kept.tolist()[0]
    return total, first


print(total_of(12)[0])
