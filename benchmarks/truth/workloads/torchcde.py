"""torchcde: interpolations of series and controlled differential equations, solved and trained."""

from __future__ import annotations

import torch
import torchcde

from truth import Package, case, step, workload
from truth.drive import DEVICE, calls

PACKAGE = Package(
    "torchcde==0.2.5", extra=("torchsde",), imports=("torchcde", "torchdiffeq"), kept_out=True, seconds=300
)


class _Field(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.net = torch.nn.Linear(8, 8 * 3)

    def forward(self, t, z):
        return self.net(z).tanh().view(*z.shape, 3)


def _series(gaps=False):
    x = torch.randn(4, 10, 3, device=DEVICE)
    x[..., 0] = torch.linspace(0, 1, 10, device=DEVICE)
    if gaps:
        x[:, 3, 1] = float("nan")
    return x


@workload
def solving():
    for name, coefficients, path in (
        ("cubic", torchcde.hermite_cubic_coefficients_with_backward_differences, torchcde.CubicSpline),
        ("natural", torchcde.natural_cubic_coeffs, torchcde.CubicSpline),
        ("linear", torchcde.linear_interpolation_coeffs, torchcde.LinearInterpolation),
        ("rectilinear", lambda x: torchcde.linear_interpolation_coeffs(x, rectilinear=0), torchcde.LinearInterpolation),
    ):  # fmt: skip
        for method, more in (("rk4", {"options": {"step_size": 0.5}}), ("dopri5", {"rtol": 1e-2, "atol": 1e-2}),
                             ("midpoint", {"options": {"step_size": 0.5}, "adjoint": False})):  # fmt: skip
            with case(f"{name} {method}"):
                field, first, last = (
                    _Field().to(DEVICE),
                    torch.nn.Linear(3, 8).to(DEVICE),
                    torch.nn.Linear(8, 1).to(DEVICE),
                )
                optimizer = torch.optim.Adam([*field.parameters(), *first.parameters(), *last.parameters()])
                for _ in range(4):
                    x = _series()
                    with step("train"):
                        way = path(coefficients(x))
                        z = torchcde.cdeint(
                            X=way,
                            func=field,
                            z0=first(way.evaluate(way.interval[0])),
                            t=way.interval,
                            method=method,
                            **more,
                        )
                        last(z[:, -1]).sum().backward()
                        optimizer.step()
                        optimizer.zero_grad()
    calls("gaps", torchcde.hermite_cubic_coefficients_with_backward_differences, lambda: (_series(True),))
    calls("gaps linear", torchcde.linear_interpolation_coeffs, lambda: (_series(True),))
    calls("windows", lambda x: torchcde.logsig_windows(x, 2, 4), lambda: (_series(),))


@workload
def differential():
    import torchdiffeq

    for method in (
        "dopri5",
        "dopri8",
        "bosh3",
        "fehlberg2",
        "adaptive_heun",
        "euler",
        "midpoint",
        "rk4",
        "explicit_adams",
        "implicit_adams",
    ):
        for adjoint in (False, True):
            with case(f"{method} {adjoint}"):
                net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 4)).to(DEVICE)
                field = _Plain(net)
                solve = torchdiffeq.odeint_adjoint if adjoint else torchdiffeq.odeint
                for _ in range(4):
                    times = torch.linspace(0, 1, 5, device=DEVICE)
                    with step("train"):
                        solve(
                            field, torch.randn(3, 4, device=DEVICE), times, method=method, rtol=1e-3, atol=1e-3
                        ).sum().backward()
    with case("event"):
        for _ in range(4):
            with step("event"):
                torchdiffeq.odeint_event(
                    lambda t, y: -torch.ones_like(y), torch.tensor([1.0], device=DEVICE), torch.tensor(0.0, device=DEVICE),
                    event_fn=lambda t, y: y.sum() - 0.3, atol=1e-4, rtol=1e-4,
                )  # fmt: skip


class _Plain(torch.nn.Module):
    def __init__(self, net):
        super().__init__()
        self.net = net

    def forward(self, t, y):
        return self.net(y)
