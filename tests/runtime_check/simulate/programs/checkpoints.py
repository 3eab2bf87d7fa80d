"""Saving and loading with every kind of `map_location`, and copies of modules."""

import copy
import io

import torch
from torch import nn


def run(place):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 8), nn.BatchNorm1d(8)).to(place)
    optimizer = torch.optim.Adam(model.parameters())
    model(torch.randn(4, 8, device=place)).sum().backward()
    optimizer.step()
    stream = io.BytesIO()
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, stream)
    results = {}
    for name, location, expected in (
        ("as it was", None, place),
        ("cpu", "cpu", "cpu"),
        ("named", place, place),
        ("device", torch.device(place), place),
        ("map", {f"{place}:0": "cpu"}, "cpu"),
        ("function", lambda storage, _: storage, "cpu"),
    ):
        stream.seek(0)
        loaded = torch.load(stream, map_location=location)
        assert loaded["model"]["0.weight"].device.type == expected, name
        other = nn.Sequential(nn.Linear(8, 8), nn.BatchNorm1d(8)).to(place)
        other.load_state_dict(loaded["model"])
        its = torch.optim.Adam(other.parameters())
        its.load_state_dict(loaded["optimizer"])
        moments = [its.state[parameter]["exp_avg"] for parameter in other.parameters()]
        assert all(moment.device.type == place for moment in moments)
        results[name] = [*other.state_dict().values(), *moments]
    twin = copy.deepcopy(model)
    assert next(twin.parameters()).device.type == place
    results["deep copy"] = list(twin.state_dict().values())
    stream = io.BytesIO()
    torch.save(model, stream)
    stream.seek(0)
    whole = torch.load(stream, weights_only=False)
    assert next(whole.parameters()).device.type == place
    results["whole"] = list(whole.state_dict().values())
    results["back"] = list(twin.cpu().state_dict().values())
    return results
