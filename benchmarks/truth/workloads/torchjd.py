"""torchjd: training by several losses at once, with each of its aggregators."""

from __future__ import annotations

import torch
import torchjd
from torchjd import aggregation, autojac

from truth import Package, case, step, workload
from truth.drive import DEVICE

PACKAGE = Package("torchjd==0.18.0", extra=("qpsolvers", "quadprog", "cvxpy", "clarabel"), seconds=300)
AGGREGATORS = {
    "AlignedMTL": {}, "CAGrad": {"c": 0.5}, "ConFIG": {}, "DualProj": {}, "GradDrop": {}, "IMTLG": {}, "Mean": {}, "MGDA": {},
    "NashMTL": {"n_tasks": 3}, "PCGrad": {}, "Random": {}, "Sum": {}, "UPGrad": {}, "Krum": {"n_byzantine": 0}, "TrimmedMean": {"trim_number": 1},
    "GradVac": {}, "FairGrad": {"alpha": 1.0}, "CRMOGM": {}, "SDMGrad": {},
}  # fmt: skip


@workload
def training():
    for kind, options in AGGREGATORS.items():
        if not hasattr(aggregation, kind):
            continue
        with case(kind):
            body = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU()).to(DEVICE)
            heads = torch.nn.ModuleList([torch.nn.Linear(16, 1) for _ in range(3)]).to(DEVICE)
            aggregator = getattr(aggregation, kind)(**options)
            optimizer = torch.optim.SGD([*body.parameters(), *heads.parameters()], 0.01)
            for _ in range(5):
                x, y = torch.randn(4, 8, device=DEVICE), torch.randn(4, 3, device=DEVICE)
                with step("train"):
                    features = body(x)
                    losses = [
                        torch.nn.functional.mse_loss(head(features)[:, 0], y[:, i]) for i, head in enumerate(heads)
                    ]
                    autojac.mtl_backward(losses, features=features)
                    autojac.jac_to_grad(body.parameters(), aggregator)
                    optimizer.step()
                    optimizer.zero_grad()
    for kind in ("UPGrad", "MGDA"):
        with case(f"examples {kind}"):
            model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 1)).to(DEVICE)
            optimizer = torch.optim.SGD(model.parameters(), 0.01)
            for _ in range(5):
                x, y = torch.randn(4, 8, device=DEVICE), torch.randn(4, device=DEVICE)
                with step("train"):
                    losses = torch.nn.functional.mse_loss(model(x)[:, 0], y, reduction="none")
                    torchjd.autojac.backward(losses)
                    autojac.jac_to_grad(model.parameters(), getattr(aggregation, kind)())
                    optimizer.step()
                    optimizer.zero_grad()
    with case("gramian"):
        from torchjd.autogram import Engine

        model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 1)).to(DEVICE)
        engine, weigh = Engine(model, batch_dim=0), aggregation.UPGradWeighting()
        optimizer = torch.optim.SGD(model.parameters(), 0.01)
        for _ in range(5):
            x, y = torch.randn(4, 8, device=DEVICE), torch.randn(4, device=DEVICE)
            with step("train"):
                losses = torch.nn.functional.mse_loss(model(x)[:, 0], y, reduction="none")
                losses.backward(weigh(engine.compute_gramian(losses)))
                optimizer.step()
                optimizer.zero_grad()
