"""torchopt: optimizers as functions and as objects, differentiated through, implicitly and without gradients."""

from __future__ import annotations

import torch
import torchopt

from truth import Package, case, step, workload
from truth.drive import DEVICE

PACKAGE = Package("torchopt==0.7.3", kept_out=True, seconds=300)


def _net():
    return torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 3)).to(DEVICE)


def _loss(model):
    x, y = torch.randn(6, 8, device=DEVICE), torch.randint(0, 3, (6,), device=DEVICE)
    return torch.nn.functional.cross_entropy(model(x), y)


@workload
def optimizing():
    for kind, options in (
        ("SGD", {"lr": 0.1, "momentum": 0.9}), ("Adam", {"lr": 1e-3}), ("AdamW", {"lr": 1e-3}), ("RMSProp", {"lr": 1e-3}),
        ("AdaGrad", {"lr": 1e-2}), ("AdaDelta", {"lr": 1.0}), ("AdaMax", {"lr": 1e-3}), ("RAdam", {"lr": 1e-3}),
    ):  # fmt: skip
        with case(kind):
            model = _net()
            optimizer = getattr(torchopt, kind)(model.parameters(), **options)
            for _ in range(5):
                with step("train"):
                    optimizer.zero_grad()
                    _loss(model).backward()
                    optimizer.step()
    for kind, options in (
        ("MetaSGD", {"lr": 0.1, "momentum": 0.9}), ("MetaAdam", {"lr": 0.1}), ("MetaAdamW", {"lr": 0.1}), ("MetaRMSProp", {"lr": 0.1}),
        ("MetaAdaGrad", {"lr": 0.1}), ("MetaAdaMax", {"lr": 0.1}), ("MetaRAdam", {"lr": 0.1}),
    ):  # fmt: skip
        with case(kind):
            model = _net()
            inner, outer = getattr(torchopt, kind)(model, **options), torch.optim.Adam(model.parameters())
            for _ in range(4):
                with step("outer"):
                    outer.zero_grad()
                    kept, state = torchopt.extract_state_dict(model), torchopt.extract_state_dict(inner)
                    for _ in range(2):
                        inner.step(_loss(model))
                    _loss(model).backward()
                    torchopt.recover_state_dict(model, kept)
                    torchopt.recover_state_dict(inner, state)
                    outer.step()
    with case("functions"):
        model = _net()
        pure, parameters = torch.func.functional_call, dict(model.named_parameters())
        optimizer = torchopt.chain(
            torchopt.clip.clip_grad_norm(max_norm=1.0),
            torchopt.adam(lr=torchopt.schedule.linear_schedule(1e-3, 1e-4, 5, 0)),
        )
        state = optimizer.init(parameters)
        for _ in range(5):
            x, y = torch.randn(6, 8, device=DEVICE), torch.randint(0, 3, (6,), device=DEVICE)
            with step("train"):
                loss = torch.nn.functional.cross_entropy(pure(model, parameters, (x,)), y)
                found = torch.autograd.grad(loss, list(parameters.values()))
                updates, state = optimizer.update(dict(zip(parameters, found, strict=True)), state)
                parameters = torchopt.apply_updates(parameters, updates)
    with case("implicitly"):

        class Inner(
            torchopt.nn.ImplicitMetaGradientModule,
            linear_solve=torchopt.linear_solve.solve_normal_cg(maxiter=3, atol=0),
        ):
            def __init__(self, meta):
                super().__init__()
                self.meta, self.net = meta, torch.nn.Linear(8, 3).to(DEVICE)

            def objective(self, x, y):
                near = sum(
                    (one - two).pow(2).sum()
                    for one, two in zip(self.net.parameters(), self.meta.parameters(), strict=True)
                )
                return torch.nn.functional.cross_entropy(self.net(x), y) + 0.5 * near

            def solve(self, x, y):
                optimizer = torch.optim.SGD(self.net.parameters(), 0.1)
                with torch.enable_grad():
                    for _ in range(3):
                        optimizer.zero_grad()
                        self.objective(x, y).backward(inputs=list(self.net.parameters()))
                        optimizer.step()
                return self

        meta = torch.nn.Linear(8, 3).to(DEVICE)
        outer = torch.optim.SGD(meta.parameters(), 0.1)
        for _ in range(4):
            x, y = torch.randn(6, 8, device=DEVICE), torch.randint(0, 3, (6,), device=DEVICE)
            with step("outer"):
                outer.zero_grad()
                learner = Inner(meta)
                learner.solve(x, y)
                torch.nn.functional.cross_entropy(learner.net(x), y).backward()
                outer.step()
    with case("without gradients"):
        normal = torch.distributions.Normal(0, 1)

        @torchopt.diff.zero_order(
            distribution=lambda n: normal.sample((n, 8)).to(DEVICE), argnums=0, method="naive", num_samples=4, sigma=0.1
        )
        def score(weights, x):
            return (x @ weights).pow(2).mean()

        weights = torch.randn(8, device=DEVICE, requires_grad=True)
        for _ in range(5):
            with step("train"):
                score(weights, torch.randn(6, 8, device=DEVICE)).backward()
