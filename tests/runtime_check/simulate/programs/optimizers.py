"""Every optimizer, in the way it chooses itself and in its other ways. Three of them round otherwise in `foreach` form,
which torch chooses on a device, so they are told the form."""

import torch
from torch import nn


def run(place):
    results = {}
    for name, options in WAYS:
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2)).to(place)
        optimizer = getattr(torch.optim, name)(model.parameters(), **options)
        schedule = torch.optim.lr_scheduler.StepLR(optimizer, 1, 0.9)
        x, y = torch.randn(6, 4).to(place), torch.randn(6, 2).to(place)

        def closure(model=model, optimizer=optimizer, x=x, y=y):
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(model(x), y)
            loss.backward()
            return loss

        for _ in range(4):
            optimizer.step(closure)
            schedule.step()
        results[f"{name} {options}"] = list(model.parameters())
    return results


WAYS = (
    *(("SGD", {"lr": 0.1, "momentum": 0.9, "nesterov": True, "foreach": way}) for way in (None, True, False)),
    ("SGD", {"lr": 0.1, "fused": True}),
    *(("Adam", {"lr": 0.1, "foreach": way}) for way in (None, True, False)),
    ("Adam", {"lr": 0.1, "fused": True}),
    *(("AdamW", {"lr": 0.1, "amsgrad": True, "foreach": way}) for way in (None, True, False)),
    ("AdamW", {"lr": 0.1, "fused": True}),
    ("RMSprop", {"lr": 0.01, "centered": True, "momentum": 0.1}),
    ("Adagrad", {"lr": 0.1}),
    ("Adamax", {"lr": 0.1}),
    ("Adadelta", {"lr": 0.1}),
    *(("NAdam", {"lr": 0.01, "foreach": way}) for way in (True, False)),
    *(("RAdam", {"lr": 0.01, "foreach": way}) for way in (True, False)),
    *(("ASGD", {"lr": 0.1, "foreach": way}) for way in (True, False)),
    ("Rprop", {"lr": 0.01}),
    ("LBFGS", {"lr": 0.1}),
)
