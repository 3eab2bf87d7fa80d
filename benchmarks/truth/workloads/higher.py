"""higher: inner loops of training that are differentiated through, with each optimizer that it mirrors."""

from __future__ import annotations

import higher
import torch

from truth import Package, case, step, workload
from truth.drive import DEVICE

PACKAGE = Package("higher==0.2.1", kept_out=True, seconds=300)


def _net():
    return torch.nn.Sequential(
        torch.nn.Linear(8, 16), torch.nn.BatchNorm1d(16), torch.nn.ReLU(), torch.nn.Linear(16, 3)
    ).to(DEVICE)


def _task():
    return torch.randn(6, 8, device=DEVICE), torch.randint(0, 3, (6,), device=DEVICE)


@workload
def meta_learning():
    error = torch.nn.functional.cross_entropy
    for kind, options in (
        ("SGD", {"lr": 0.1}), ("SGD", {"lr": 0.1, "momentum": 0.9, "nesterov": True}), ("Adam", {"lr": 1e-3}),
        ("Adam", {"lr": 1e-3, "amsgrad": True}), ("AdamW", {"lr": 1e-3}), ("Adagrad", {"lr": 1e-2}), ("Adadelta", {"lr": 1.0}),
        ("Adamax", {"lr": 1e-3}), ("ASGD", {"lr": 1e-2}), ("RMSprop", {"lr": 1e-3, "centered": True}), ("Rprop", {"lr": 1e-2}),
    ):  # fmt: skip
        with case(f"{kind} {len(options)}"):
            model = _net()
            inner, outer = (
                getattr(torch.optim, kind)(model.parameters(), **options),
                torch.optim.Adam(model.parameters()),
            )
            for _ in range(4):
                with step("outer"):
                    outer.zero_grad()
                    for _ in range(2):
                        x, y = _task()
                        with higher.innerloop_ctx(model, inner, copy_initial_weights=False) as (learner, steps):
                            for _ in range(2):
                                steps.step(error(learner(x), y))
                            error(learner(_task()[0]), y).backward()
                    outer.step()
    with case("learned rate"):
        model, rate = _net(), torch.tensor(0.1, device=DEVICE, requires_grad=True)
        inner, outer = torch.optim.SGD(model.parameters(), lr=0.1), torch.optim.Adam([rate], 1e-3)
        for _ in range(5):
            with step("outer"):
                outer.zero_grad()
                x, y = _task()
                with higher.innerloop_ctx(model, inner, override={"lr": [rate]}) as (learner, steps):
                    for _ in range(3):
                        steps.step(error(learner(x), y))
                    error(learner(x), y).backward()
                outer.step()
    with case("without tracking"):
        model = _net()
        inner = torch.optim.Adam(model.parameters())
        for _ in range(5):
            x, y = _task()
            with step("test"), higher.innerloop_ctx(model, inner, track_higher_grads=False) as (learner, steps):
                for _ in range(3):
                    steps.step(error(learner(x), y))
                (learner(x).argmax(1) == y).sum().item()
    with case("recurrent"):
        model = torch.nn.LSTM(8, 8).to(DEVICE)
        inner = torch.optim.SGD(model.parameters(), 0.1)
        for _ in range(4):
            with step("outer"), higher.innerloop_ctx(model, inner) as (learner, steps):
                for _ in range(2):
                    steps.step(learner(torch.randn(4, 2, 8, device=DEVICE))[0].sum())
