"""A training program in JAX with ten mistakes; the lines are marked. It runs."""

import jax
import jax.numpy as jnp
import numpy as np

STEPS = 12


@jax.jit
def train_step(weights, images, labels):
    def loss_of(weights):
        return ((images @ weights - labels) ** 2).mean()

    loss, gradient = jax.value_and_grad(loss_of)(weights)
    jax.debug.print("loss {}", loss)  # expect: TL307
    return weights - 0.01 * gradient, loss


@jax.jit
def predict(weights, images):
    return images @ weights


def train(weights, batches):
    scale = np.full((8,), 255.0, np.float32)
    total = 0.0
    for images, labels in batches:
        images = jnp.asarray(images) / jnp.asarray(scale)  # expect: TL103
        weights, loss = train_step(weights, images, jnp.asarray(labels))
        total += loss.item()  # expect: TL101
        if jnp.isnan(loss):  # expect: TL301
            raise ValueError("diverged")
    return weights, total


def evaluate(weights, batches):
    guesses = []
    correct = 0
    for images, _ in batches:
        guesses.append(np.asarray(predict(weights, images)))  # expect: TL102
    for images, labels in batches:
        correct += int((predict(weights, images) > labels).sum())  # expect: TL302
    for images, _ in batches:
        top = predict(weights, images)
        print("classes", top)  # expect: TL303
    for images, _ in batches:
        top = predict(weights, images)
        top.block_until_ready()  # expect: TL306
    return correct, guesses


def sharpen(weights, batches):
    for images, _ in batches:
        found = predict(weights, images)
        order = np.argsort(np.asarray(found))  # expect: TL201
        kept = jnp.asarray(order)
        weights = weights + kept.sum() * 0
    for images, _ in batches:
        found = predict(weights, images)
        if float(found.mean()) > 0.5:  # expect: TL203
            found = jnp.exp(found)
        weights = weights + found.sum() * 0
    return weights


def main():
    weights = jnp.zeros(8)
    source = np.random.default_rng(0)
    batches = [(source.random((4, 8), np.float32), source.random(4, np.float32)) for _ in range(STEPS)]
    weights, _ = train(weights, batches)
    evaluate(weights, batches)
    sharpen(weights, batches)


main()
