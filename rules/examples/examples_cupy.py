"""An example of each rule for CuPy, by code."""

from __future__ import annotations

from transferlint.rule import Example

EXAMPLES: tuple[tuple[str, Example], ...] = (
    (
        "TL101",
        Example(
            bad="""\
import cupy as cp


def run(rows, steps):
    data = cp.asarray(rows)
    for step in range(steps):
        data = cp.sqrt(data + 1)
        print(data.sum().item())  # expect: TL101
    return data
""",
            good="""\
import cupy as cp


def run(rows, steps):
    data = cp.asarray(rows)
    for step in range(steps):
        data = cp.sqrt(data + 1)
    return data.sum().item()
""",
            framework="cupy",
        ),
    ),
    (
        "TL102",
        Example(
            bad="""\
import cupy as cp


def run(rows, steps):
    data = cp.asarray(rows)
    kept = []
    for step in range(steps):
        data = cp.sqrt(data + 1)
        kept.append(cp.asnumpy(data))  # expect: TL102
    return kept
""",
            good="""\
import cupy as cp


def run(rows, steps):
    data = cp.asarray(rows)
    kept = []
    for step in range(steps):
        data = cp.sqrt(data + 1)
        kept.append(data)
    return cp.asnumpy(cp.stack(kept))
""",
            framework="cupy",
        ),
    ),
    (
        "TL103",
        Example(
            bad="""\
import cupy as cp
import numpy as np


def run(rows, steps):
    data = cp.asarray(rows)
    scale = np.ones(3)
    for step in range(steps):
        data = cp.sqrt(data + 1)
        data = data * cp.asarray(scale)  # expect: TL103
    return data
""",
            good="""\
import cupy as cp
import numpy as np


def run(rows, steps):
    data = cp.asarray(rows)
    scale = cp.asarray(np.ones(3))
    for step in range(steps):
        data = cp.sqrt(data + 1)
        data = data * scale
    return data
""",
            framework="cupy",
        ),
    ),
    (
        "TL104",
        Example(
            bad="""\
import cupy as cp


def run(rows, steps):
    data = cp.asarray(rows)
    for step in range(steps):
        data = cp.sqrt(data + 1)
        data = data * cp.array([0.5, float(step)])  # expect: TL104
    return data
""",
            good="""\
import cupy as cp


def run(rows, steps):
    data = cp.asarray(rows)
    rates = cp.array([0.5, 2.0])
    for step in range(steps):
        data = cp.sqrt(data + 1)
        data = data * rates
    return data
""",
            framework="cupy",
        ),
    ),
    (
        "TL106",
        Example(
            bad="""\
import cupy as cp


def run(rows, steps):
    data = cp.asarray(rows)
    for step in range(steps):
        data = cp.sqrt(data + 1)
        low, high, middle = data.min(), data.max(), data.mean()
        print(float(low), float(high), float(middle))  # expect: TL106
    return data
""",
            good="""\
import cupy as cp


def run(rows, steps):
    data = cp.asarray(rows)
    for step in range(steps):
        data = cp.sqrt(data + 1)
        found = cp.stack([data.min(), data.max(), data.mean()])
    return found.tolist()
""",
            framework="cupy",
        ),
    ),
    (
        "TL107",
        Example(
            bad="""\
import cupy as cp


def run(rows, steps):
    data = cp.asarray(rows)
    count = 0
    for step in range(steps):
        data = cp.sqrt(data + 1)
        for one in cp.abs(data):
            if one > 1.0:  # expect: TL107
                count = count + 1
    return count
""",
            good="""\
import cupy as cp


def run(rows, steps):
    data = cp.asarray(rows)
    count = cp.zeros(())
    for step in range(steps):
        data = cp.sqrt(data + 1)
        count = count + (cp.abs(data) > 1.0).sum()
    return int(count)
""",
            framework="cupy",
        ),
    ),
    (
        "TL201",
        Example(
            bad="""\
import cupy as cp
import numpy as np


def run(rows, steps):
    data = cp.asarray(rows)
    for step in range(steps):
        data = cp.sqrt(data + 1)
        order = np.argsort(cp.asnumpy(data))  # expect: TL201
        data = data[cp.asarray(order)]
    return data
""",
            good="""\
import cupy as cp


def run(rows, steps):
    data = cp.asarray(rows)
    for step in range(steps):
        data = cp.sqrt(data + 1)
        data = data[cp.argsort(data)]
    return data
""",
            framework="cupy",
        ),
    ),
    (
        "TL203",
        Example(
            bad="""\
import cupy as cp


def run(rows, steps):
    data = cp.asarray(rows)
    for step in range(steps):
        data = cp.sqrt(data + 1)
        if float(data.max()) > 1.0:  # expect: TL203
            data = cp.clip(data, 0, 1)
    return data
""",
            good="""\
import cupy as cp


def run(rows, steps):
    data = cp.asarray(rows)
    for step in range(steps):
        data = cp.sqrt(data + 1)
        data = cp.where(data.max() > 1.0, cp.clip(data, 0, 1), data)
    return data
""",
            framework="cupy",
        ),
    ),
    (
        "TL204",
        Example(
            bad="""\
import cupy as cp
import numpy as np


def run(rows, steps):
    data = cp.asarray(rows)
    for step in range(steps):
        data = cp.sqrt(data + 1)
        row = np.asarray(rows[step])
        data = data * cp.asarray(row)
        data = data + cp.asarray(row)  # expect: TL204
    return data
""",
            good="""\
import cupy as cp


def run(rows, steps):
    data = cp.asarray(rows)
    for step in range(steps):
        data = cp.sqrt(data + 1)
        row = cp.asarray(rows[step])
        data = data * row + cp.asarray(row)
    return data
""",
            framework="cupy",
        ),
    ),
    (
        "TL301",
        Example(
            bad="""\
import cupy as cp


def run(rows, steps):
    data = cp.asarray(rows)
    for step in range(steps):
        data = cp.sqrt(data + 1)
        if cp.isnan(data).any():  # expect: TL301
            data = cp.nan_to_num(data)
    return data
""",
            good="""\
import cupy as cp


def run(rows, steps):
    data = cp.asarray(rows)
    for step in range(steps):
        data = cp.sqrt(data + 1)
        if data.ndim and data.shape[0] > 3 and cp.get_array_module(data) is cp:
            data = data[:3]
    if cp.isnan(data).any():
        raise ValueError
    return data
""",
            framework="cupy",
        ),
    ),
    (
        "TL302",
        Example(
            bad="""\
import cupy as cp


def run(rows, steps):
    data = cp.asarray(rows)
    total = 0.0
    for step in range(steps):
        data = cp.sqrt(data + 1)
        total += float(data.sum())  # expect: TL302
    return total
""",
            good="""\
import cupy as cp


def run(rows, steps):
    data = cp.asarray(rows)
    total = 0.0
    for step in range(steps):
        data = cp.sqrt(data + 1)
        total += data.sum()
        if step % 50 == 0:
            print(float(total), int(data.size))
    return float(total)
""",
            framework="cupy",
        ),
    ),
    (
        "TL303",
        Example(
            bad="""\
import cupy as cp


def run(rows, steps):
    data = cp.asarray(rows)
    for step in range(steps):
        data = cp.sqrt(data + 1)
        print("now", data)  # expect: TL303
    return data
""",
            good="""\
import cupy as cp


def run(rows, steps):
    data = cp.asarray(rows)
    for step in range(steps):
        data = cp.sqrt(data + 1)
        if step % 100 == 0:
            print("now", data)
        print(step, data.shape, data.dtype)
    return data
""",
            framework="cupy",
        ),
    ),
    (
        "TL304",
        Example(
            bad="""\
import cupy as cp


def run(rows, steps):
    data = cp.asarray(rows)
    for step in range(steps):
        data = cp.sqrt(data + 1)
        data = data / cp.nonzero(data)[0].size  # expect: TL304
    return data
""",
            good="""\
import cupy as cp


def run(rows, steps):
    data = cp.asarray(rows)
    for step in range(steps):
        data = cp.sqrt(data + 1)
        data = data / cp.count_nonzero(data)
    return data
""",
            framework="cupy",
        ),
    ),
    (
        "TL305",
        Example(
            bad="""\
import cupy as cp


def run(rows, steps):
    data = cp.asarray(rows)
    table = cp.arange(10.0)
    for step in range(steps):
        data = cp.sqrt(data + 1)
        data = data * table[[0, step, 2]]  # expect: TL305
    return data
""",
            good="""\
import cupy as cp


def run(rows, steps):
    data = cp.asarray(rows)
    table = cp.arange(10.0)
    for step in range(steps):
        data = cp.sqrt(data + 1)
        data = data * table[1:4] * table[step]
    return data
""",
            framework="cupy",
        ),
    ),
    (
        "TL306",
        Example(
            bad="""\
import cupy as cp


def run(rows, steps):
    data = cp.asarray(rows)
    for step in range(steps):
        data = cp.sqrt(data + 1)
        cp.cuda.Device().synchronize()  # expect: TL306
    return data
""",
            good="""\
import cupy as cp


def run(rows, steps):
    data = cp.asarray(rows)
    for step in range(steps):
        data = cp.sqrt(data + 1)
    cp.cuda.runtime.deviceSynchronize()
    return data
""",
            framework="cupy",
        ),
    ),
    (
        "TL405",
        Example(
            bad="""\
import cupy as cp


def run(rows, steps):
    data = cp.asarray(rows)
    total = 0.0
    for step in range(steps):
        data = cp.sqrt(data + 1)
        total += cp.asnumpy(data).sum()  # expect: TL405
    return total
""",
            good="""\
import cupy as cp


def run(rows, steps):
    data = cp.asarray(rows)
    total = 0.0
    for step in range(steps):
        data = cp.sqrt(data + 1)
        total += data.sum()
    return total.get()
""",
            framework="cupy",
        ),
    ),
)
