"""What a finding about a framework beside torch rests on: a place that is seen to run, in every turn of a loop that is
long and has not waited for the device already."""

from __future__ import annotations

import pytest

from proving import default_rules
from transferlint.engine import pipeline
from transferlint.flow.lattice.options import AnalysisOptions

JAX = """\
import jax
import jax.numpy as jnp

FEW = 3


@jax.jit
def train_step(state, batch):
    loss = jnp.mean(state * batch)
    return state - 0.1 * loss, loss


def note(state):
    print(float(jnp.mean(state)))


def train(state, batches, env, often):
    losses = []
    {loop}:
        batch = jnp.asarray(batches[step])
        state, loss = train_step(state, batch)
        {body}
    return state, losses


{start}
"""
RUNS = 'if __name__ == "__main__":\n    train(jnp.zeros(3), [[1.0]] * 1000, None, {})'
LOOP = "for step in range(1000)"
READ = "losses.append(loss.item())"
TENSORFLOW = """\
import numpy as np
import tensorflow as tf


def scaled(x):
    return x / np.abs(x).max()


def load(x):
    return {load}


@tf.function
def train_step(model, optimizer, batch):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model({batch}))
    optimizer.apply_gradients(zip(tape.gradient(loss, model.weights), model.weights))


def train(model, optimizer, rows):
    for batch in tf.data.Dataset.from_tensor_slices(rows).map(load).batch(32):
        train_step(model, optimizer, batch)


train(tf.keras.Sequential([tf.keras.layers.Dense(1)]), tf.keras.optimizers.SGD(), np.ones((1000, 3)))
"""
CALLBACK = "tf.numpy_function(scaled, [{}], tf.float32)"


def lines(text: str) -> list[str]:
    """What is reported by default of a program, as the lines that are told."""
    outcome = pipeline.check_bytes("program.py", text.encode(), pipeline.Plan(default_rules(), AnalysisOptions()))
    assert outcome.troubles == ()
    return [text.splitlines()[found.site.line - 1].strip() for one in outcome.findings for found in one.apart()]


def reported(loop: str = LOOP, body: str = READ, start: str = RUNS) -> list[str]:
    return lines(JAX.format(loop=loop, body=body.replace("\n", "\n        "), start=start))


def test_a_read_in_every_turn_of_a_loop_that_runs_is_reported() -> None:
    assert reported() == [READ]


def test_what_nothing_in_sight_runs_is_at_most_possible() -> None:
    assert reported(start="") == []


@pytest.mark.parametrize("loop", ["for step in range(10)", "for step in range(FEW)", "for step in range(5, 9)"])
def test_a_loop_of_few_turns_is_no_training(loop: str) -> None:
    assert reported(loop=loop) == []


@pytest.mark.parametrize(
    "body", ["if often.now():\n    " + READ, "try:\n    pass\nexcept ValueError:\n    " + READ], ids=["arm", "handler"]
)
def test_a_place_that_a_turn_need_not_come_by_is_at_most_possible(body: str) -> None:
    assert reported(body=body) == []


def test_arms_that_both_read_are_told_as_one_place() -> None:
    assert reported(body=f"if often.now():\n    {READ}\nelse:\n    {READ}") == [READ]


def test_what_follows_an_early_turn_back_is_in_every_turn() -> None:
    assert reported(body=f"if often.now():\n    continue\n{READ}") == [READ]


def test_the_second_of_two_reads_waits_for_nothing() -> None:
    assert reported(body=f"{READ}\nprint(loss)") == [READ]
    assert reported(body=f"{READ}\nprint(jnp.exp(loss))") == [READ, "print(jnp.exp(loss))"]


def test_what_waits_inside_a_call_is_not_waited_for_again() -> None:
    assert READ not in reported(body=f"note(state)\n{READ}")


def test_an_environment_takes_what_the_device_chose_in_every_turn() -> None:
    assert reported(body=f"env.step(state)\n{READ}") == []


def test_the_device_may_say_when_a_loop_of_its_own_work_ends() -> None:
    text = JAX.format(loop=LOOP, body="pass", start=RUNS) + (
        "\n\ndef until(state):\n    error = jnp.ones(())\n    while error > 1e-3:\n"
        "        state = state - 0.1 * state\n        error = jnp.abs(state).max()\n\n\nuntil(jnp.ones(3))\n"
    )
    assert lines(text) == []


def test_a_callback_of_a_data_set_crosses_nothing() -> None:
    assert lines(TENSORFLOW.format(load=CALLBACK.format("x"), batch="batch")) == []
    inside = lines(TENSORFLOW.format(load="x", batch=CALLBACK.format("batch")))
    assert inside == [f"loss = tf.reduce_mean(model({CALLBACK.format('batch')}))"]


def test_a_remainder_that_is_asked_for_is_a_count_of_the_host() -> None:
    assert reported(body="if jnp.equal(state % 100, 0):\n    print(step)") == []


def test_what_a_mapping_holds_is_few() -> None:
    text = (
        "import cupy as cp\n\n\ndef add(x, state):\n    x = cp.sqrt(cp.asarray(x))\n    total = 0.0\n"
        "    for step in {}:\n"
        "        total += float(cp.linalg.norm(x - step))\n    return total\n\n\nprint(add(cp.ones(3), {{}}))\n"
    )
    assert lines(text.format("range(1000)")) == ["total += float(cp.linalg.norm(x - step))"]
    assert lines(text.format("state.keys()")) == []
