"""Compiled code calls Python on the host.

What it does
------------
Reports calls from compiled code back to Python on the host, in code that runs on every step: `jax.pure_callback`,
`jax.experimental.io_callback`, `jax.debug.print` and `jax.debug.callback` in functions compiled by `jax.jit`, and
`tf.py_function` and `tf.numpy_function` in a `tf.function` or a model's `call`. PyTorch has no equivalent.

Only `possible`: callbacks that need Python (an environment, a file, a tokenizer, a function that raises or stores
something), callbacks to functions that are not in the file, and callbacks in functions passed to `Dataset.map`.

Why
---
The arguments are copied to the host, Python runs there, one call at a time, and the result is copied back. The compiled
program waits for that on every run and cannot be fused across the call. In a `tf.data` pipeline, which runs on the
host, there is no transfer, but Python handles one element at a time, whatever `num_parallel_calls` says (tensorflow.org
tf.py_function: it acquires the Global Interpreter Lock). This costs time if a step waits for its data.

Example
-------
    @jax.jit
    def step(state, batch):
        loss, state = update(state, batch)
        jax.debug.print("loss {}", loss)
        return state, loss

Use instead
-----------
    @jax.jit
    def step(state, batch):
        loss, state = update(state, batch)
        return state, loss

    for index, batch in enumerate(batches):
        state, loss = step(state, batch)
        if index % 100 == 0:
            print("loss", loss)

When it is fine
---------------
Behind a condition that is rarely true (the branches of `jax.lax.cond` are not reported), while debugging, in code that
runs once, and in a data pipeline that is ready before the step asks for it.

Fix safety
----------
No automatic fix: the Python code has to be rewritten with operations of the framework.

See also
--------
- TL303 for printing outside of compiled code
- https://docs.jax.dev/en/latest/external-callbacks.html
- https://www.tensorflow.org/api_docs/python/tf/py_function
"""

from __future__ import annotations

from collections.abc import Iterator

from transferlint.flow.facts import FileFacts, FunctionFacts
from transferlint.flow.lattice.transfers import CALLBACK, Transfer
from transferlint.model import Confidence, Finding
from transferlint.rule import Example, Rule

from .questions import host_functions
from .questions.detection import brief, clusters, hot, likely, others, sure


def detect(facts: FileFacts) -> Iterator[Finding]:
    """Calls of the host in hot code; what only Python can do apart from what could be written otherwise."""
    calls = [(f, t) for f, t in hot(facts, CALLBACK) if likely(f, t)]
    for computes in (True, False):
        for function, group in clusters((f, t) for f, t in calls if host_functions.only_computes(f, t) is computes):
            yield _finding(facts, function, group, computes)


def _finding(facts: FileFacts, function: FunctionFacts, group: list[Transfer], computes: bool) -> Finding:
    first = group[0]
    fed = function.index in facts.placement.tracing.fed
    how = "one thread at a time, on the host," if fed else "on the host"
    so = "the threads of the data set wait for each other" if fed else "the device waits for it"
    return function.finding(
        first.register,
        f"`{brief(function.text(first.register))}` calls Python {how}"
        f" {function.warmth(first.register).level.each}: {so}",
        "write it with the framework's own operations, or return the value and use it after the step",
        others(function, group),
        sure(function, first) if computes and not host_functions.loops_on_the_device(function) else Confidence.POSSIBLE,
    )


RULE = Rule(
    code="TL307",
    name="host-callback",
    summary="compiled code that calls Python on the host on every step: `jax.pure_callback`, `tf.py_function`",
    category="hidden-sync",
    default=True,
    fix_safety=None,
    since="0.1.0",
    examples=(
        Example(
            bad="""\
import jax
import jax.numpy as jnp


@jax.jit
def step(weights, batch):
    loss = jnp.mean((batch @ weights) ** 2)
    jax.debug.print("loss {}", loss)  # expect: TL307
    return weights - 0.1 * loss


def train(weights, batches):
    for batch in batches:
        weights = step(weights, batch)
    return weights
""",
            good="""\
import jax
import jax.numpy as jnp


@jax.jit
def step(weights, batch):
    loss = jnp.mean((batch @ weights) ** 2)
    return weights - 0.1 * loss, loss


def train(weights, batches):
    for index, batch in enumerate(batches):
        weights, loss = step(weights, batch)
        if index % 100 == 0:
            print("loss", loss)
    return weights
""",
            framework="jax",
        ),
        Example(
            bad="""\
import tensorflow as tf


def scaled(x):
    return x / 255.0


class Net(tf.keras.Model):
    def call(self, x):
        return self.head(tf.numpy_function(scaled, [x], tf.float32))  # expect: TL307
""",
            good="""\
import tensorflow as tf


class Net(tf.keras.Model):
    def call(self, x):
        return self.head(x / 255.0)
""",
            framework="tensorflow",
        ),
    ),
    detect=detect,
    advice=(
        ("jax", "write it in `jax.numpy`, or return the value and use it after the step, only every N steps"),
        ("tensorflow", "write it with TensorFlow operations; do what needs Python before the data set is built"),
    ),
    doc=__doc__,
)
