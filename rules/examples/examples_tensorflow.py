"""An example of each rule for TensorFlow, by code."""

from __future__ import annotations

from transferlint.rule import Example

EXAMPLES: tuple[tuple[str, Example], ...] = (
    (
        "TL101",
        Example(
            bad="""\
import tensorflow as tf


@tf.function
def step(model, batch):
    return tf.reduce_mean(model(batch))


def train(model, batches):
    total = 0.0
    for batch in batches:
        loss = step(model, batch)
        total += loss.__float__()  # expect: TL101
    return total
""",
            good="""\
import tensorflow as tf


@tf.function
def step(model, batch):
    return tf.reduce_mean(model(batch))


def train(model, batches):
    mean = tf.keras.metrics.Mean()
    for batch in batches:
        mean.update_state(step(model, batch))
    return mean.result().__float__()
""",
            framework="tensorflow",
        ),
    ),
    (
        "TL102",
        Example(
            bad="""\
import tensorflow as tf


@tf.function
def step(model, batch):
    return tf.reduce_mean(model(batch))


def train(model, batches):
    losses = []
    for batch in batches:
        loss = step(model, batch)
        losses.append(loss.numpy())  # expect: TL102
    return losses
""",
            good="""\
import tensorflow as tf


@tf.function
def step(model, batch):
    return tf.reduce_mean(model(batch))


def train(model, batches):
    losses = []
    for batch in batches:
        losses.append(step(model, batch))
    return tf.stack(losses).numpy()
""",
            framework="tensorflow",
        ),
    ),
    (
        "TL103",
        Example(
            bad="""\
import numpy as np
import tensorflow as tf


@tf.function
def step(model, batch):
    return tf.reduce_mean(model(batch))


def train(model, batches):
    scale = np.ones(3)
    for batch in batches:
        loss = step(model, batch * tf.constant(scale))  # expect: TL103
    return loss
""",
            good="""\
import numpy as np
import tensorflow as tf


@tf.function
def step(model, batch):
    return tf.reduce_mean(model(batch))


def train(model, batches):
    scale = tf.constant(np.ones(3))
    for batch in batches:
        loss = step(model, tf.convert_to_tensor(batch) * scale)
    return loss
""",
            framework="tensorflow",
        ),
    ),
    (
        "TL104",
        Example(
            bad="""\
import tensorflow as tf


@tf.function
def step(model, batch):
    return tf.reduce_mean(model(batch))


def train(model, batches):
    for index, batch in enumerate(batches):
        loss = step(model, batch * tf.constant([0.1, float(index)]))  # expect: TL104
    return loss
""",
            good="""\
import tensorflow as tf


@tf.function
def step(model, batch):
    return tf.reduce_mean(model(batch))


def train(model, batches):
    rates = tf.constant([0.1, 0.2])
    for batch in batches:
        loss = step(model, batch * rates)
    return loss
""",
            framework="tensorflow",
        ),
    ),
    (
        "TL106",
        Example(
            bad="""\
import tensorflow as tf


@tf.function
def step(model, batch):
    return tf.reduce_mean(model(batch))


def train(model, batches):
    rows = []
    for batch in batches:
        loss = tf.exp(step(model, batch))
        error = tf.abs(loss - 1.0)
        scale = tf.reduce_max(batch)
        rows.append((float(loss), float(error), float(scale)))  # expect: TL106
    return rows
""",
            good="""\
import tensorflow as tf


@tf.function
def step(model, batch):
    return tf.reduce_mean(model(batch))


def train(model, batches):
    rows = []
    for batch in batches:
        loss = tf.exp(step(model, batch))
        rows.append(tf.stack([loss, tf.abs(loss - 1.0), tf.reduce_max(batch)]))
    return tf.stack(rows).numpy()
""",
            framework="tensorflow",
        ),
    ),
    (
        "TL107",
        Example(
            bad="""\
import tensorflow as tf


@tf.function
def step(model, batch):
    return tf.reduce_mean(model(batch))


def train(model, batches):
    count = 0
    for batch in batches:
        losses = tf.exp(step(model, batch))
        for loss in tf.sqrt(losses):
            if loss > 1.0:  # expect: TL107
                count = count + 1
    return count
""",
            good="""\
import tensorflow as tf


@tf.function
def step(model, batch):
    return tf.reduce_mean(model(batch))


def train(model, batches):
    count = 0
    for batch in batches:
        losses = tf.exp(step(model, batch))
        count = count + tf.reduce_sum(tf.cast(losses > 1.0, tf.int32))
    return int(count)
""",
            framework="tensorflow",
        ),
    ),
    (
        "TL201",
        Example(
            bad="""\
import numpy as np
import tensorflow as tf


@tf.function
def step(model, batch):
    return tf.reduce_mean(model(batch))


def train(model, batches):
    for batch in batches:
        scores = step(model, batch)
        order = np.argsort(scores.numpy())  # expect: TL201
        scores = tf.gather(scores, tf.constant(order))
    return scores
""",
            good="""\
import numpy as np
import tensorflow as tf


@tf.function
def step(model, batch):
    return tf.reduce_mean(model(batch))


def train(model, batches):
    for batch in batches:
        scores = step(model, batch)
        scores = tf.gather(scores, tf.argsort(scores))
    return np.asarray(scores)
""",
            framework="tensorflow",
        ),
    ),
    (
        "TL203",
        Example(
            bad="""\
import tensorflow as tf


@tf.function
def step(model, batch):
    return tf.reduce_mean(model(batch))


def train(model, batches):
    for batch in batches:
        loss = step(model, batch)
        if float(loss) > 1.0:  # expect: TL203
            loss = tf.exp(loss)
    return loss
""",
            good="""\
import tensorflow as tf


@tf.function
def step(model, batch):
    return tf.reduce_mean(model(batch))


def train(model, batches):
    for batch in batches:
        loss = step(model, batch)
        loss = tf.where(loss > 1.0, tf.exp(loss), loss)
    return loss
""",
            framework="tensorflow",
        ),
    ),
    (
        "TL204",
        Example(
            bad="""\
import numpy as np
import tensorflow as tf


@tf.function
def step(model, batch):
    return tf.reduce_mean(model(batch))


def train(model, batches):
    for batch in batches:
        labels = np.asarray(batch["label"])
        loss = step(model, tf.convert_to_tensor(labels))
        hits = tf.reduce_sum(loss * tf.convert_to_tensor(labels))  # expect: TL204
    return hits
""",
            good="""\
import tensorflow as tf


@tf.function
def step(model, batch):
    return tf.reduce_mean(model(batch))


def train(model, batches):
    for batch in batches:
        labels = tf.convert_to_tensor(batch["label"])
        loss = step(model, labels)
        hits = tf.reduce_sum(loss * tf.convert_to_tensor(labels))
    return hits
""",
            framework="tensorflow",
        ),
    ),
    (
        "TL301",
        Example(
            bad="""\
import tensorflow as tf


@tf.function
def step(model, batch):
    return tf.reduce_mean(model(batch))


def train(model, batches):
    for batch in batches:
        loss = step(model, batch)
        if tf.math.is_nan(loss):  # expect: TL301
            model.reset_states()
    return loss
""",
            good="""\
import tensorflow as tf


@tf.function
def step(model, batch):
    return tf.reduce_mean(model(batch))


def train(model, batches):
    for batch in batches:
        loss = step(model, batch)
        if tf.executing_eagerly() and tf.is_tensor(loss) and loss.shape.rank:
            loss = tf.reduce_mean(loss)
        if tf.shape(loss)[0] > 3:  # in host memory
            loss = loss[:3]
    return loss
""",
            framework="tensorflow",
        ),
    ),
    (
        "TL302",
        Example(
            bad="""\
import tensorflow as tf


@tf.function
def step(model, batch):
    return tf.reduce_mean(model(batch))


def train(model, batches):
    losses = []
    for batch in batches:
        losses.append(float(step(model, batch)))  # expect: TL302
    return losses
""",
            good="""\
import tensorflow as tf


@tf.function
def step(model, batch):
    return tf.reduce_mean(model(batch))


def train(model, batches):
    losses = []
    for index, batch in enumerate(batches):
        losses.append(step(model, batch))
        if index % 50 == 0:
            print(float(losses[-1]), int(tf.size(batch)))
    return losses
""",
            framework="tensorflow",
        ),
    ),
    (
        "TL303",
        Example(
            bad="""\
import tensorflow as tf


@tf.function
def step(model, batch):
    return tf.reduce_mean(model(batch))


def train(model, batches):
    for batch in batches:
        loss = step(model, batch)
        print("loss", loss)  # expect: TL303
    return model
""",
            good="""\
import tensorflow as tf


@tf.function
def step(model, batch):
    return tf.reduce_mean(model(batch))


def train(model, batches):
    for index, batch in enumerate(batches):
        loss = step(model, batch)
        if index % 100 == 0:
            print("loss", loss)
        print(index, loss.shape, loss.dtype)
    return model
""",
            framework="tensorflow",
        ),
    ),
    (
        "TL306",
        Example(
            bad="""\
import tensorflow as tf


@tf.function
def step(model, batch):
    return tf.reduce_mean(model(batch))


def train(model, batches):
    for batch in batches:
        loss = step(model, batch)
        tf.test.experimental.sync_devices()  # expect: TL306
    return loss
""",
            good="""\
import tensorflow as tf


@tf.function
def step(model, batch):
    return tf.reduce_mean(model(batch))


def train(model, batches):
    for batch in batches:
        loss = step(model, batch)
    tf.test.experimental.sync_devices()
    return loss
""",
            framework="tensorflow",
        ),
    ),
    (
        "TL404",
        Example(
            bad="""\
import tensorflow as tf


def train(model, optimizer, images, labels, epochs):
    data = tf.data.Dataset.from_tensor_slices((images, labels)).shuffle(1000)
    data = data.batch(32)
    for epoch in range(epochs):
        for step, (x, y) in enumerate(data):  # expect: TL404
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(tf.square(model(x) - y))
            optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
""",
            good="""\
import tensorflow as tf


def train(model, optimizer, images, labels, epochs):
    data = tf.data.Dataset.from_tensor_slices((images, labels)).shuffle(1000)
    data = data.batch(32)
    data = data.prefetch(tf.data.AUTOTUNE)
    for epoch in range(epochs):
        for x, y in data:
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(tf.square(model(x) - y))
            optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
""",
            framework="tensorflow",
        ),
    ),
    (
        "TL405",
        Example(
            bad="""\
import numpy as np
import tensorflow as tf


@tf.function
def step(model, batch):
    return tf.reduce_mean(model(batch))


def train(model, batches):
    total = 0.0
    for batch in batches:
        losses = step(model, batch)
        total += np.sum(losses.numpy())  # expect: TL405
    return total
""",
            good="""\
import tensorflow as tf


@tf.function
def step(model, batch):
    return tf.reduce_mean(model(batch))


def train(model, batches):
    total = 0.0
    for batch in batches:
        total += tf.reduce_sum(step(model, batch))
    return total.numpy()
""",
            framework="tensorflow",
        ),
    ),
    (
        "TL505",
        Example(
            bad="""\
import tensorflow as tf
from datasets import load_dataset


def train(step, state):
    data = load_dataset("rows", split="train").with_format("tf", device="/GPU:0")  # expect: TL505
    for row in data:
        state = step(state, tf.square(row["x"]))
    return state
""",
            good="""\
from datasets import load_dataset


def train(model):
    data = load_dataset("rows", split="train").with_format("tf")
    model.fit(data.to_tf_dataset(batch_size=32, shuffle=True), epochs=3)
""",
            framework="tensorflow",
        ),
    ),
    (
        "TL506",
        Example(
            bad="""\
import tensorflow as tf

strategy = tf.distribute.MirroredStrategy()


def train(model, batches):
    @tf.function
    def step(batch):
        return tf.reduce_mean(model(batch))

    total = 0.0
    for batch in batches:
        losses = strategy.run(step, args=(batch,))
        total += sum(loss.numpy() for loss in strategy.experimental_local_results(losses))  # expect: TL506
    return total
""",
            good="""\
import tensorflow as tf

strategy = tf.distribute.MirroredStrategy()


def train(step, batches):
    total = tf.zeros(())
    for batch in batches:
        losses = strategy.run(step, args=(batch,))
        total += strategy.reduce(tf.distribute.ReduceOp.SUM, losses, axis=None)
    return total
""",
            framework="tensorflow",
        ),
    ),
)
