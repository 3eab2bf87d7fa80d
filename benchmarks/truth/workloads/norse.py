"""norse: spiking networks of each kind of neuron, trained over time steps, with its encoders."""

from __future__ import annotations

import norse.torch as norse
import torch

from truth import Package, case, step, workload
from truth.drive import DEVICE, calls, train

PACKAGE = Package("norse==1.1.0", kept_out=True, seconds=300)


def _spikes(time=12, width=8):
    return (torch.rand(time, 2, width, device=DEVICE) < 0.3).float()


@workload
def neurons():
    for kind in ("LIF", "LIFRecurrent", "LI", "LIFAdEx", "LIFAdExRecurrent", "LIFEx", "LIFExRecurrent", "LSNN",
                 "LSNNRecurrent", "IAF"):  # fmt: skip
        recurrent = kind.endswith("Recurrent")
        made = getattr(norse, kind, None)
        if made is None:
            continue
        train(kind, lambda: _Read(made(8, 8) if recurrent else made()), lambda: (_spikes(),))
    for kind in ("LIFCell", "LICell", "LIFAdExCell", "LIFExCell", "LSNNCell", "LIFRefracCell", "LIBoxCell", "LIFBoxCell",
                 "LIFAdExRefracCell"):  # fmt: skip
        made = getattr(norse, kind, None)
        if made is None:
            continue
        with case(kind):
            first, cell, last = torch.nn.Linear(8, 8).to(DEVICE), made().to(DEVICE), torch.nn.Linear(8, 3).to(DEVICE)
            optimizer = torch.optim.Adam([*first.parameters(), *last.parameters()])
            for _ in range(5):
                with step("train"):
                    state, answers = None, []
                    for x in _spikes():
                        found, state = cell(first(x), state)
                        answers.append(last(found))
                    torch.stack(answers).mean(0).sum().backward()
                    optimizer.step()
                    optimizer.zero_grad()


class _Read(torch.nn.Module):
    """A layer of neurons between two that learn."""

    def __init__(self, neurons):
        super().__init__()
        self.first, self.neurons, self.last = torch.nn.Linear(8, 8), neurons, torch.nn.Linear(8, 3)

    def forward(self, x):
        return self.last(self.neurons(self.first(x))[0])


@workload
def networks():
    with case("convolutional"):
        model = norse.SequentialState(
            torch.nn.Conv2d(1, 4, 3), norse.LIFCell(), torch.nn.MaxPool2d(2), torch.nn.Flatten(), torch.nn.Linear(144, 10),
            norse.LICell(),
        ).to(DEVICE)  # fmt: skip
        optimizer = torch.optim.Adam(model.parameters())
        encode = norse.ConstantCurrentLIFEncoder(8)
        for _ in range(5):
            images, labels = torch.rand(2, 1, 14, 14, device=DEVICE), torch.randint(0, 10, (2,), device=DEVICE)
            with step("train"):
                state, answers = None, []
                for spikes in encode(images):
                    found, state = model(spikes, state)
                    answers.append(found)
                torch.nn.functional.cross_entropy(torch.stack(answers).max(0).values, labels).backward()
                optimizer.step()
                optimizer.zero_grad()
    with case("lifted"):
        model = norse.SequentialState(norse.Lift(torch.nn.Linear(8, 8)), norse.LIF(), norse.Lift(torch.nn.Linear(8, 3)))
        model.to(DEVICE)
        for _ in range(5):
            with step("train"):
                model(_spikes())[0].sum().backward()
    with case("regularised"):
        model = norse.SequentialState(torch.nn.Linear(8, 8), norse.LIFCell(), norse.RegularizationCell()).to(DEVICE)
        for _ in range(5):
            with step("train"):
                _, state = model(_spikes()[0])
                state[-1].sum()


@workload
def coding():
    for name, make in (
        ("poisson", lambda: norse.PoissonEncoder(10)), ("current", lambda: norse.ConstantCurrentLIFEncoder(10)),
        ("latency", lambda: norse.SpikeLatencyLIFEncoder(10)), ("signed", lambda: norse.SignedPoissonEncoder(10)),
    ):  # fmt: skip
        with case(name):
            encode = make()
            for _ in range(6):
                images = torch.rand(2, 8, device=DEVICE)
                with step("encode"):
                    encode(images)
    from norse.torch.functional import decode, encode

    calls("population", lambda x: encode.population_encode(x, 6), lambda: (torch.rand(4, device=DEVICE),))
    calls("decode sum", decode.sum_decode, lambda: (_spikes(),))
    calls("decode softmax", decode.softmax_decode, lambda: (_spikes(),)) if hasattr(decode, "softmax_decode") else None
