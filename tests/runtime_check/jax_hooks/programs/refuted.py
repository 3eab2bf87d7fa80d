"""A second read of the same array crosses nothing: the host has what it was given."""

import jax.numpy as jnp


def total_of(rounds):
    total = 0.0
    loss = jnp.ones(3).sum()
    for _ in range(rounds):
        total += float(loss + 0)
    kept = jnp.ones(2)
    first = kept.tolist()
    for _ in range(rounds):
        total += kept.tolist()[0]
    return total, first


def never(batches):
    for batch in batches:
        print(jnp.asarray(batch).sum().item())


print(total_of(12)[0])
