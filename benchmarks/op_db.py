"""Torch's own table of operators (`op_db`), each sample run on the CPU and on the simulated device, results compared.

    python benchmarks/op_db.py [--samples 6] [--match REGEX] [--shard 0/2] [--json FILE]

Prints how many operators gave the same bits in results and gradients, and every one that did not. Takes some minutes.
"""

from __future__ import annotations

import argparse
import collections
import copy
import json
import re
import sys
import time
import types
import unittest
import warnings
from collections.abc import Iterator
from typing import Any


def main() -> None:
    """Run what the command line names, print, and leave without the interpreter's teardown."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=6, help="samples of each operator")
    parser.add_argument("--match", default="", help="only operators whose name matches")
    parser.add_argument("--shard", default="0/1", help="the first of two halves is 0/2")
    parser.add_argument("--json", default="", help="write the outcomes here")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    shard, shards = (int(part) for part in options.shard.split("/"))
    started = time.monotonic()
    from runtime_check import simulate

    simulation = simulate.start()
    outcomes = {
        name: outcome
        for number, (name, outcome) in enumerate(run(options.match, options.samples, shard, shards), start=1)
    }
    counts = collections.Counter(outcome.partition(":")[0] for outcome in outcomes.values())
    for name, outcome in outcomes.items():
        if outcome != "same":
            print(f"{name}: {outcome}")
    print(f"{len(outcomes)} operators: {dict(counts)} in {time.monotonic() - started:.0f} s")
    if options.json:
        with open(options.json, "w", encoding="utf-8") as stream:
            json.dump(outcomes, stream, indent=1)
    simulation.leave(0)


def run(match: str, samples: int, shard: int = 0, shards: int = 1) -> Iterator[tuple[str, str]]:
    """Name and outcome of each operator: "same", "close" (within 1e-4), or "kind: what went wrong"."""
    import torch

    try:
        import expecttest  # noqa: F401  # torch's test module imports it and the table does not need it
    except ModuleNotFoundError:
        sys.modules["expecttest"] = types.ModuleType("expecttest")
        sys.modules["expecttest"].TestCase = unittest.TestCase  # type: ignore[attr-defined]
    from torch.testing._internal.common_methods_invocations import op_db

    for number, info in enumerate(op_db):
        name = f"{info.name}.{info.variant_test_name}" if info.variant_test_name else info.name
        if number % shards != shard or not re.search(match, name):
            continue
        preferred = [one for one in (torch.float32, torch.int64) if one in info.dtypes]
        dtype = preferred[0] if preferred else next(iter(info.dtypes), torch.float32)
        try:
            gradients = info.supports_autograd and dtype.is_floating_point
            taken = list(zip(range(samples), info.sample_inputs("cpu", dtype, requires_grad=gradients), strict=False))
        except Exception as error:
            yield name, f"no sample: {_line(error)}"
            continue
        yield name, compare(info, [sample for _, sample in taken])


def compare(info: Any, samples: list[Any]) -> str:
    """The worst outcome over the samples of one operator."""
    worst = "same"
    for sample in samples:
        try:
            expected = _call(info, sample, "cpu")
        except Exception:
            continue
        try:
            found = _call(info, sample, "cuda")
        except Exception as error:
            return f"error: {_line(error)}"
        outcome = _difference(expected, found, info.name in UNINITIALISED)
        if outcome != "same":
            worst = outcome
    return worst


def _call(info: Any, sample: Any, place: str) -> list[Any]:
    """Results, then gradients of the sum of what has some, as host tensors and plain values."""
    import torch
    from torch.utils import _pytree as tree

    def move(value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            return value.detach().to(place, copy=True).requires_grad_(value.requires_grad)
        return torch.device(place) if isinstance(value, torch.device) else copy.copy(value)

    given, args, kwargs = tree.tree_map(move, (sample.input, sample.args, sample.kwargs))
    if kwargs.get("device") is not None:
        kwargs["device"] = place
    torch.manual_seed(0)
    results = tree.tree_leaves(info(given, *args, **kwargs))
    leaves = [one for one in tree.tree_leaves((given, args, kwargs)) if isinstance(one, torch.Tensor)]
    wanted = [one for one in leaves if one.requires_grad]
    summed = [
        one.sum() for one in results if isinstance(one, torch.Tensor) and one.requires_grad and one.is_floating_point()
    ]
    if wanted and summed:
        results += torch.autograd.grad(torch.stack(summed).sum(), wanted, allow_unused=True)
    for one in results:
        if isinstance(one, torch.Tensor) and one.device.type != place and info.name not in HOST_RESULTS:
            raise AssertionError(f"a result is on {one.device}")
    return [one.detach().cpu() if isinstance(one, torch.Tensor) else one for one in results]


HOST_RESULTS = frozenset(("item", "tolist"))
UNINITIALISED = frozenset("empty empty_like empty_permuted empty_strided new_empty new_empty_strided".split())


def _difference(expected: list[Any], found: list[Any], uninitialised: bool) -> str:
    import torch

    worst = "same"
    for one, other in zip(expected, found, strict=True):
        if not isinstance(one, torch.Tensor):
            if not (one == other or (one != one and other != other)):
                return f"other value: {other} for {one}"
            continue
        if (one.shape, one.dtype) != (other.shape, other.dtype):
            return f"other shape: {tuple(other.shape)} {other.dtype} for {tuple(one.shape)} {one.dtype}"
        if one.layout != torch.strided or torch.equal(_bytes(one), _bytes(other)):
            continue
        wide = torch.complex128 if one.is_complex() else torch.float64
        if uninitialised:
            continue
        if not torch.allclose(one.to(wide), other.to(wide), rtol=1e-4, atol=1e-5, equal_nan=True):
            return "other numbers"
        worst = "close"
    return worst


def _bytes(tensor: Any) -> Any:
    import torch

    flat = tensor.resolve_conj().resolve_neg().reshape(-1)
    return torch.empty(flat.shape, dtype=flat.dtype).copy_(flat).view(torch.uint8)


def _line(error: Exception) -> str:
    return f"{type(error).__name__} {next(iter(str(error).splitlines()), '')}"[:200]


if __name__ == "__main__":
    sys.exit(main())
