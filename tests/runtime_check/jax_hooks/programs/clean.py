"""A training program in JAX that reads nothing in its steps; one line is found, and reads what is on the host."""

import jax
import jax.numpy as jnp
import numpy as np


@jax.jit
def train_step(weights, images):
    loss, gradient = jax.value_and_grad(lambda w: ((images @ w) ** 2).mean())(weights)
    return weights - 0.01 * gradient, loss


def scores(given, rounds):
    total = 0.0
    for _ in range(rounds):
        total += jnp.shape(given)[0] if given.ndim else 0
    return total


def main():
    weights = jnp.ones(8)
    images = jax.device_put(np.ones((4, 8), np.float32))
    losses = []
    for _ in range(20):
        weights, loss = train_step(weights, images)
        losses.append(loss)
    print("loss", np.mean(jax.device_get(losses)) > 0, scores(np.ones(3), 20))


main()
