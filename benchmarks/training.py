"""What recording costs a training step on this device: `python -m benchmarks.training [-o DIR] [--short]`.

A small transformer and one of about 100 million parameters (GPT-2's smallest shape) are trained under autocast, with an
upload of the batch and a read of the loss in every step: plain, recorded as `guard` and as `trace`, and under
torch.profiler, in turn, in one process. Told is the wall time per step and its ratio to plain.
"""

from __future__ import annotations

import contextlib
import dataclasses
import statistics
import time
from collections.abc import Callable
from typing import Any

from benchmarks import device as devices
from benchmarks.overhead import recorded

PROFILED = 4  # torch.profiler takes long to start and stop: it is one of the ways in every fourth round
AIMS = {"guard": 1.03, "trace": 1.25}  # for the large one


@dataclasses.dataclass(frozen=True)
class Shape:
    """A model and its batch."""

    name: str
    width: int
    depth: int
    heads: int
    vocabulary: int
    batch: int
    length: int
    steps: int


SHAPES = (
    Shape("small", 128, 2, 4, 1000, 16, 64, 20),
    Shape("large", 768, 12, 12, 32000, 8, 512, 6),
)
TINY = (Shape("small", 16, 1, 2, 50, 2, 8, 4), Shape("large", 32, 2, 2, 50, 2, 8, 4))


def network(shape: Shape) -> Any:
    """A causal language model, its output tied to the embedding, on the device."""
    import torch
    from torch import nn

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embedding = nn.Embedding(shape.vocabulary, shape.width)
            self.places = nn.Parameter(torch.zeros(shape.length, shape.width))
            layer = nn.TransformerEncoderLayer(
                shape.width, shape.heads, 4 * shape.width, dropout=0.0, batch_first=True, norm_first=True
            )
            self.encoder = nn.TransformerEncoder(layer, shape.depth, enable_nested_tensor=False)
            mask = torch.full((shape.length, shape.length), float("-inf")).triu(1)
            self.register_buffer("mask", mask)

        def forward(self, tokens: Any) -> Any:
            hidden = self.encoder(self.embedding(tokens) + self.places, mask=self.mask, is_causal=True)
            return hidden @ self.embedding.weight.T

    torch.manual_seed(0)
    return Model().to("cuda")


def stepper(shape: Shape) -> tuple[Callable[[], None], int]:
    """One training step, and how many parameters the model has."""
    import torch

    model = network(shape)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    tokens = torch.randint(shape.vocabulary, (shape.batch, shape.length)).pin_memory()

    def step() -> None:
        there = tokens.to("cuda", non_blocking=True)
        with torch.autocast("cuda", torch.bfloat16):
            logits = model(there)
        loss = torch.nn.functional.cross_entropy(logits.float().flatten(0, 1), there.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        loss.item()

    return step, sum(one.numel() for one in model.parameters())


def profiled(dry: bool) -> Any:
    """torch.profiler, of host and device."""
    import torch

    kinds = torch.profiler.ProfilerActivity
    return torch.profiler.profile(activities=[kinds.CPU] if dry else [kinds.CPU, kinds.CUDA])


def measure(shape: Shape, rounds: int, dry: bool) -> dict[str, Any]:
    """Milliseconds per step of each way, and the medians and quartiles of their ratios to plain in the same round."""
    import torch

    step, parameters = stepper(shape)
    ways: dict[str, Callable[[], Any]] = {
        "plain": contextlib.nullcontext,
        "guard": lambda: recorded(False),
        "trace": lambda: recorded(True),
        "torch.profiler": lambda: profiled(dry),
    }
    for _ in range(5):
        step()
    times: dict[str, list[float]] = {name: [] for name in ways}
    for number in range(rounds):
        for name, way in ways.items():
            if name == "torch.profiler" and number % PROFILED:
                continue
            with way():
                for _ in range(2):
                    step()
                torch.cuda.synchronize()
                started = time.perf_counter()
                for _ in range(shape.steps):
                    step()
                torch.cuda.synchronize()
                times[name].append((time.perf_counter() - started) / shape.steps * 1e3)
    rows = {}
    for name, found in times.items():
        plain = times["plain"] if len(found) == rounds else times["plain"][::PROFILED]
        pairs = [one / base for one, base in zip(found, plain, strict=True)]
        quartiles = statistics.quantiles(pairs, n=4)
        rows[name] = {
            "ms": statistics.median(found),
            "ratio": statistics.median(pairs),
            "low": quartiles[0],
            "high": quartiles[2],
        }
    return {**dataclasses.asdict(shape), "parameters": parameters, "rounds": rounds, "ways": rows}


def table(results: list[dict[str, Any]]) -> str:
    """For people."""
    cells = []
    for one in results:
        for name, row in one["ways"].items():
            aim = f"{AIMS[name]:.2f}x" if one["name"] == "large" and name in AIMS else ""
            spread = f"{row['low']:.3f} to {row['high']:.3f}"
            model = f"{one['name']}, {one['parameters'] / 1e6:.1f} M parameters"
            cells.append([model, name, f"{row['ms']:.3f} ms", f"{row['ratio']:.3f}x", spread, aim])
    return devices.markdown(["model", "way", "step", "ratio to plain", "quartiles", "aim"], cells)


def main() -> None:
    """Measure both models, print, write."""
    options = devices.arguments(__doc__).parse_args()
    device = devices.start()
    rounds = 8 if device.dry or options.short else 24
    results = [measure(shape, rounds, device.dry) for shape in (TINY if device.dry else SHAPES)]
    devices.write(device, "training", {"models": results}, table(results), options.output)
    device.leave(0)


if __name__ == "__main__":
    main()
