"""What a guard lets through: the same five statements under JAX's and under transferlint's. `benchmarks.comparison`
runs it as `guards.py jax` or `guards.py torch`, each with an interpreter that has it; prints JSON."""

from __future__ import annotations

import functools
import json
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

STATEMENTS = ("float(y)", "numpy.asarray(x)", "if y > 1", "x + table", "move(table)")


def outcomes(tries: dict[str, Callable[[], Any]], guard: Callable[[], AbstractContextManager[Any]]) -> dict[str, str]:
    """For each statement whether it passed the guard."""
    told = {}
    for name in STATEMENTS:
        try:
            with guard():
                tries[name]()
            told[name] = "passes"
        except Exception as error:
            told[name] = "raises" if "isallow" in str(error) or "orbid" in type(error).__name__ else repr(error)[:200]
    return told


def of_jax() -> dict[str, Any]:
    """`jax.transfer_guard("disallow")` on the devices that JAX finds."""
    import jax
    import numpy

    x, table = jax.device_put(numpy.ones(3, numpy.float32)), numpy.ones(3, numpy.float32)
    y = jax.jit(lambda x: x.sum())(x)
    greater = jax.jit(lambda y: y > 1)
    tries = {
        "float(y)": lambda: float(y),
        "numpy.asarray(x)": lambda: numpy.asarray(x),
        "if y > 1": lambda: bool(greater(y)),
        "x + table": lambda: x + table,
        "move(table)": lambda: jax.device_put(table),
    }
    bool(greater(y))
    told = {
        f'jax.transfer_guard("{level}")': outcomes(tries, functools.partial(jax.transfer_guard, level))
        for level in ("disallow", "disallow_explicit")
    }
    return {"version": jax.__version__, "device": str(jax.devices()[0].platform), "guards": told}


def of_torch() -> dict[str, Any]:
    """`transferlint.runtime.guard` on the simulated accelerator."""
    from transferlint.runtime import guard, simulate

    simulation = simulate()
    import torch

    x, table = torch.ones(3, device="cuda"), torch.ones(3)
    y = x.sum()
    tries = {
        "float(y)": lambda: float(y),
        "numpy.asarray(x)": lambda: x.cpu().numpy(),
        "if y > 1": lambda: bool(y > 1),
        "x + table": lambda: x[table.bool()],  # a host tensor that torch uploads unasked: mixed operands raise
        "move(table)": lambda: table.to("cuda"),
    }
    told = {
        f'runtime.guard("{policy}")': outcomes(tries, functools.partial(guard, policy))
        for policy in ("disallow", "disallow_explicit")
    }
    print(json.dumps({"version": torch.__version__, "device": "simulated", "guards": told}))
    sys.stdout.flush()
    simulation.leave(0)
    return {}


if __name__ == "__main__":
    if sys.argv[1] == "torch":
        of_torch()
    else:
        print(json.dumps(of_jax()))
