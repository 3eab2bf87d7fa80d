"""snntorch: spiking networks of each kind of neuron trained over time, with its losses, metrics and encoders."""

from __future__ import annotations

import snntorch as snn
import torch
from snntorch import functional, spikegen, surrogate, utils
from torch.utils.data import DataLoader, TensorDataset

from truth import Package, bound, case, step, workload
from truth.drive import DEVICE, calls

PACKAGE = Package("snntorch==1.0.0", seconds=300)
TIME = 8


class _Net(torch.nn.Module):
    """A layer of each, over time."""

    def __init__(self, make, states):
        super().__init__()
        self.first, self.neurons, self.last = torch.nn.Linear(16, 8), make(), torch.nn.Linear(8, 4)
        self.out, self.states = snn.Leaky(beta=0.9), states

    def forward(self, x):
        kept = getattr(self.neurons, f"init_{type(self.neurons).__name__.lower()}")()
        kept = kept if isinstance(kept, tuple) else (kept,)
        membrane, spikes, membranes = self.out.init_leaky(), [], []
        for moment in x:
            found = self.neurons(self.first(moment), *kept)
            spike, kept = found[0], found[1:]
            if self.states:  # recurrent ones take their spikes back
                kept = (spike, *kept) if len(kept) < self.states else kept
            spike, membrane = self.out(self.last(spike), membrane)
            spikes.append(spike)
            membranes.append(membrane)
        return torch.stack(spikes), torch.stack(membranes)


def _spikes():
    return spikegen.rate(torch.rand(4, 16, device=DEVICE), num_steps=TIME), torch.randint(0, 4, (4,), device=DEVICE)


@workload
def neurons():
    for name, make, states in (
        ("leaky", lambda: snn.Leaky(beta=0.9, learn_beta=True), 0), ("leaky zero", lambda: snn.Leaky(beta=0.9, reset_mechanism="zero"), 0),
        ("lapicque", lambda: snn.Lapicque(beta=0.9), 0), ("synaptic", lambda: snn.Synaptic(alpha=0.9, beta=0.8), 0),
        ("alpha", lambda: snn.Alpha(alpha=0.9, beta=0.8), 0), ("recurrent", lambda: snn.RLeaky(beta=0.9, linear_features=8), 2),
        ("recurrent synaptic", lambda: snn.RSynaptic(alpha=0.9, beta=0.8, linear_features=8), 3),
        ("lstm", lambda: snn.SLSTM(8, 8), 0), ("surrogate", lambda: snn.Leaky(beta=0.9, spike_grad=surrogate.fast_sigmoid(), inhibition=True), 0),
    ):  # fmt: skip
        with case(name):
            model = _Net(make, states).to(DEVICE)
            optimizer = torch.optim.Adam(model.parameters())
            loss = functional.ce_rate_loss()
            for _ in range(5):
                x, y = _spikes()
                with step("train"):
                    found, _ = model(x)
                    loss(found, y).backward()
                    optimizer.step()
                    optimizer.zero_grad()
                    functional.accuracy_rate(found, y)
    with case("hidden states"):
        model = torch.nn.Sequential(
            torch.nn.Linear(16, 8), snn.Leaky(beta=0.9, init_hidden=True), torch.nn.Linear(8, 4),
            snn.Leaky(beta=0.9, init_hidden=True, output=True),
        ).to(DEVICE)  # fmt: skip
        for _ in range(5):
            x, y = _spikes()
            with step("train"):
                utils.reset(model)
                functional.mse_count_loss()(torch.stack([model(one)[0] for one in x]), y).backward()
    with case("through time"):
        from snntorch import backprop

        model = torch.nn.Sequential(torch.nn.Linear(16, 4), snn.Leaky(beta=0.9, init_hidden=True, output=True)).to(
            DEVICE
        )
        data = DataLoader(TensorDataset(torch.rand(16, 16), torch.randint(0, 4, (16,))), 4)
        bound(model, "train")
        backprop.BPTT(model, data, torch.optim.Adam(model.parameters()), functional.ce_rate_loss(), num_steps=4,
                      time_var=False, device=DEVICE)  # fmt: skip
    with case("convolutional memory"):
        model = snn.SConv2dLSTM(1, 4, 3).to(DEVICE)
        for _ in range(4):
            with step("train"):
                state = model.init_sconv2dlstm()
                for _ in range(3):
                    _spike, *state = model(torch.rand(2, 1, 8, 8, device=DEVICE), *state)
                state[-1].sum().backward()


@workload
def judging():
    def spikes():
        x = (torch.rand(TIME, 4, 4, device=DEVICE) < 0.4).float().requires_grad_()
        return x, torch.randint(0, 4, (4,), device=DEVICE)

    for kind in ("ce_rate_loss", "ce_count_loss", "mse_count_loss", "ce_max_membrane_loss", "mse_membrane_loss", "mse_temporal_loss",
                 "ce_temporal_loss"):  # fmt: skip
        calls(kind, getattr(functional, kind)(), spikes, kind="train", backward="temporal" not in kind)
    calls("accuracy", functional.accuracy_rate, spikes)
    calls("accuracy in time", functional.accuracy_temporal, spikes)
    calls("l1 of the rate", functional.l1_rate_sparsity(), lambda: spikes()[:1])
    for name, function in (
        ("rate", lambda x: spikegen.rate(x, num_steps=TIME)), ("latency", lambda x: spikegen.latency(x, num_steps=TIME, tau=5, threshold=0.01, normalize=True)),
        ("latency linear", lambda x: spikegen.latency(x, num_steps=TIME, linear=True, normalize=True, clip=True)),
        ("delta", lambda x: spikegen.delta(x, threshold=0.1)),
        ("targets", lambda x: spikegen.targets_rate((x[:, 0] * 4).long(), 4, num_steps=TIME)),
    ):  # fmt: skip
        calls(name, function, lambda: (torch.rand(4, 16, device=DEVICE),))
