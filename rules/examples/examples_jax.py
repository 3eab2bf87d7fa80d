"""An example of each rule for JAX, by code."""

from __future__ import annotations

from transferlint.rule import Example

EXAMPLES: tuple[tuple[str, Example], ...] = (
    (
        "TL101",
        Example(
            bad="""\
import jax
import jax.numpy as jnp


@jax.jit
def step(state, batch):
    return state, jnp.mean(batch)


def train(state, batches):
    total = 0.0
    for batch in batches:
        state, loss = step(state, batch)
        total += loss.item()  # expect: TL101
    return total
""",
            good="""\
import jax
import jax.numpy as jnp

gradient = jax.grad(loss_of)


@jax.jit
def step(state, batch):
    return state, jnp.mean(batch)


def train(state, batches):
    total = 0.0
    for index, batch in enumerate(batches):
        state, loss = step(state, batch)
        total += loss
        if index % 100 == 0:
            print(loss.item())
    return total.item()
""",
            framework="jax",
        ),
    ),
    (
        "TL102",
        Example(
            bad="""\
import jax
import jax.numpy as jnp
import numpy as np


@jax.jit
def step(state, batch):
    return state, jnp.mean(batch)


def evaluate(state, batches):
    outputs = []
    for batch in batches:
        state, output = step(state, batch)
        outputs.append(np.asarray(output))  # expect: TL102
    return outputs
""",
            good="""\
import jax
import jax.numpy as jnp


@jax.jit
def step(state, batch):
    return state, jnp.mean(batch)


def evaluate(state, batches):
    outputs = []
    for batch in batches:
        state, output = step(state, batch)
        outputs.append(output)
    return jax.device_get(outputs)
""",
            framework="jax",
        ),
    ),
    (
        "TL103",
        Example(
            bad="""\
import jax
import jax.numpy as jnp
import numpy as np


@jax.jit
def step(state, batch):
    return state, jnp.mean(batch)


def train(state, batches):
    scale = np.ones(3)
    for batch in batches:
        state, loss = step(state, batch / jnp.asarray(scale))  # expect: TL103
    return state
""",
            good="""\
import jax
import jax.numpy as jnp
import numpy as np


@jax.jit
def step(state, batch):
    return state, jnp.mean(batch)


def train(state, batches):
    scale = jnp.asarray(np.ones(3))
    for batch in batches:
        state, loss = step(state, jnp.asarray(batch) / scale)
    return state
""",
            framework="jax",
        ),
    ),
    (
        "TL104",
        Example(
            bad="""\
import jax
import jax.numpy as jnp


@jax.jit
def step(state, batch):
    return state, jnp.mean(batch)


def train(state, batches):
    for index, batch in enumerate(batches):
        rate = jnp.array([0.1, 0.2, float(index)])  # expect: TL104
        state, loss = step(state, batch * rate)
    return state
""",
            good="""\
import jax
import jax.numpy as jnp


@jax.jit
def step(state, batch):
    return state, jnp.mean(batch)


def train(state, batches):
    rates = jnp.array([0.1, 0.2, 0.3])
    for index, batch in enumerate(batches):
        state, loss = step(state, jnp.asarray(batch) * rates)
    return state
""",
            framework="jax",
        ),
    ),
    (
        "TL106",
        Example(
            bad="""\
import jax
import jax.numpy as jnp


@jax.jit
def step(state, batch):
    return state, jnp.mean(batch)


def train(state, batches):
    rows = []
    for batch in batches:
        state, loss = step(state, batch)
        loss = jnp.sqrt(loss)
        error = jnp.abs(loss - batch).mean()
        scale = jnp.exp(batch.max())
        rows.append((loss.item(), error.item(), scale.item()))  # expect: TL106
    return rows
""",
            good="""\
import jax
import jax.numpy as jnp


@jax.jit
def step(state, batch):
    return state, jnp.mean(batch)


def train(state, batches):
    rows = []
    for batch in batches:
        state, loss = step(state, batch)
        rows.append((loss, jnp.abs(loss - batch).mean()))
    return jax.device_get(rows)
""",
            framework="jax",
        ),
    ),
    (
        "TL107",
        Example(
            bad="""\
import jax
import jax.numpy as jnp


@jax.jit
def step(state, batch):
    return state, jnp.mean(batch)


def train(state, batches):
    for batch in batches:
        state, losses = step(state, batch)
        for loss in jnp.sqrt(losses):
            if loss > 1.0:  # expect: TL107
                state = state + 1
    return state
""",
            good="""\
import jax
import jax.numpy as jnp


@jax.jit
def step(state, batch):
    return state, jnp.mean(batch)


def train(state, batches):
    for batch in batches:
        state, losses = step(state, batch)
    for loss in jax.device_get(losses):
        if loss > 1.0:
            state = state + 1
    return state
""",
            framework="jax",
        ),
    ),
    (
        "TL201",
        Example(
            bad="""\
import jax
import jax.numpy as jnp
import numpy as np


@jax.jit
def step(state, batch):
    return state, jnp.mean(batch)


def train(state, batches):
    for batch in batches:
        state, scores = step(state, batch)
        order = np.argsort(np.asarray(scores))  # expect: TL201
        state = state[jnp.asarray(order)]
    return state
""",
            good="""\
import jax
import jax.numpy as jnp
import numpy as np


@jax.jit
def step(state, batch):
    return state, jnp.mean(batch)


def train(state, batches):
    for batch in batches:
        state, scores = step(state, batch)
        state = state[jnp.argsort(scores)]
    return np.asarray(state)
""",
            framework="jax",
        ),
    ),
    (
        "TL203",
        Example(
            bad="""\
import jax
import jax.numpy as jnp


@jax.jit
def step(state, batch):
    return state, jnp.mean(batch)


def train(state, batches):
    for batch in batches:
        state, loss = step(state, batch)
        if float(loss) > 1.0:  # expect: TL203
            state = jnp.clip(state, -1, 1)
    return state
""",
            good="""\
import jax
import jax.numpy as jnp


@jax.jit
def step(state, batch):
    return state, jnp.mean(batch)


def train(state, batches):
    for batch in batches:
        state, loss = step(state, batch)
        state = jnp.where(loss > 1.0, jnp.clip(state, -1, 1), state)
    return state
""",
            framework="jax",
        ),
    ),
    (
        "TL204",
        Example(
            bad="""\
import jax
import jax.numpy as jnp
import numpy as np


@jax.jit
def step(state, batch):
    return state, jnp.mean(batch)


def train(state, batches):
    for batch in batches:
        labels = np.asarray(batch["label"])
        state, loss = step(state, jnp.asarray(labels))
        hits = jnp.sum(state == jnp.asarray(labels))  # expect: TL204
    return state, hits
""",
            good="""\
import jax
import jax.numpy as jnp


@jax.jit
def step(state, batch):
    return state, jnp.mean(batch)


def train(state, batches):
    for batch in batches:
        labels = jnp.asarray(batch["label"])
        state, loss = step(state, labels)
        hits = jnp.sum(state == jnp.asarray(labels))
    return state, hits
""",
            framework="jax",
        ),
    ),
    (
        "TL301",
        Example(
            bad="""\
import jax
import jax.numpy as jnp


@jax.jit
def step(state, batch):
    return state, jnp.mean(batch)


def train(state, batches):
    for batch in batches:
        state, loss = step(state, batch)
        if jnp.isnan(loss):  # expect: TL301
            state = None
    return state
""",
            good="""\
import jax
import jax.numpy as jnp


@jax.jit
def step(state, batch):
    return state, jnp.mean(batch)


def train(state, batches, mask=None):
    for batch in batches:
        state, loss = step(state, batch)
        if mask is not None and jnp.issubdtype(state.dtype, jnp.floating):
            loss = loss * mask
        if loss.ndim and loss.shape[0]:
            loss = loss.sum()
        if jax.process_index() == 0 and jnp.ndim(loss):
            loss = loss[0]
    if jnp.isnan(loss):
        raise ValueError
    return state
""",
            framework="jax",
        ),
    ),
    (
        "TL302",
        Example(
            bad="""\
import jax
import jax.numpy as jnp


@jax.jit
def step(state, batch):
    return state, jnp.mean(batch)


def train(state, batches):
    losses = []
    for batch in batches:
        state, loss = step(state, batch)
        losses.append(float(loss))  # expect: TL302
    return losses
""",
            good="""\
import jax
import jax.numpy as jnp

total = jax.lax.scan(body, 0.0, jnp.arange(3.0))


@jax.jit
def step(state, batch):
    return state, jnp.mean(batch)


def train(state, batches):
    losses = []
    for index, batch in enumerate(batches):
        state, loss = step(state, batch)
        losses.append(loss)
        if index % 50 == 0:
            print(float(loss))
    return [float(loss) for loss in jax.device_get(losses)], float(state)
""",
            framework="jax",
        ),
    ),
    (
        "TL303",
        Example(
            bad="""\
import jax
import jax.numpy as jnp


@jax.jit
def step(state, batch):
    return state, jnp.mean(batch)


def train(state, batches):
    for batch in batches:
        state, loss = step(state, batch)
        print("loss", loss)  # expect: TL303
    return state
""",
            good="""\
import jax
import jax.numpy as jnp


@jax.jit
def step(state, batch):
    return state, jnp.mean(batch)


def train(state, batches):
    for index, batch in enumerate(batches):
        state, loss = step(state, batch)
        if index % 100 == 0:
            print("loss", loss)
        print(index, loss.shape, loss.dtype)
    return state
""",
            framework="jax",
        ),
    ),
    (
        "TL304",
        Example(
            bad="""\
import jax
import jax.numpy as jnp


@jax.jit
def step(state, batch):
    return state, jnp.mean(batch)


def train(state, batches):
    for batch in batches:
        state, scores = step(state, batch)
        kept = jnp.nonzero(jnp.exp(scores))  # expect: TL304
        state = (state, kept[0].size)
    return state
""",
            good="""\
import jax
import jax.numpy as jnp


@jax.jit
def step(state, batch):
    return state, jnp.mean(batch)


def train(state, batches):
    for batch in batches:
        state, scores = step(state, batch)
        kept = jnp.count_nonzero(jnp.exp(scores))
        state = (state, kept)
    return state
""",
            framework="jax",
        ),
    ),
    (
        "TL306",
        Example(
            bad="""\
import jax
import jax.numpy as jnp


@jax.jit
def step(state, batch):
    return state, jnp.mean(batch)


def train(state, batches):
    for batch in batches:
        state, loss = step(state, batch)
        loss.block_until_ready()  # expect: TL306
    return state
""",
            good="""\
import jax
import jax.numpy as jnp


@jax.jit
def step(state, batch):
    return state, jnp.mean(batch)


def train(state, batches):
    for batch in batches:
        state, loss = step(state, batch)
    return jax.block_until_ready(state)
""",
            framework="jax",
        ),
    ),
    (
        "TL405",
        Example(
            bad="""\
import jax
import jax.numpy as jnp
import numpy as np


@jax.jit
def step(state, batch):
    return state, jnp.mean(batch)


def train(state, batches):
    total = 0.0
    for batch in batches:
        state, losses = step(state, batch)
        total += np.sum(np.asarray(losses))  # expect: TL405
    return total
""",
            good="""\
import jax
import jax.numpy as jnp


@jax.jit
def step(state, batch):
    return state, jnp.mean(batch)


def train(state, batches):
    total = 0.0
    for batch in batches:
        state, losses = step(state, batch)
        total += jnp.sum(losses)
    return float(total)
""",
            framework="jax",
        ),
    ),
    (
        "TL505",
        Example(
            bad="""\
import jax.numpy as jnp
from datasets import load_dataset


def train(step, state, device):
    data = load_dataset("rows", split="train").with_format("jax", device=device)  # expect: TL505
    for row in data:
        state = step(state, jnp.square(row["x"]))
    return state
""",
            good="""\
import jax
from datasets import load_dataset


def train(step, state):
    data = load_dataset("rows", split="train").with_format("numpy")
    for start in range(0, len(data), 32):
        state = step(state, jax.device_put(data[start : start + 32]["x"]))
    return state
""",
            framework="jax",
        ),
    ),
)
