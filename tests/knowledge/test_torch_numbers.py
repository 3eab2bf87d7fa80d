"""Arguments of torch's operators that are numbers: what torch's own schemas say, and what the simulated device sees."""

from __future__ import annotations

from typing import Any

import pytest
from simulated import in_simulation

from transferlint.knowledge.torch_numbers import names, numbers

_PYTHON = {"interpolate"}  # a function of Python alone
# A call of each with `k`, `q` on the device: an integer and a fraction of no dimensions.
CALLS = {
    "view": "x.view(k, 6)",
    "reshape": "x.reshape((k, 6))",
    "repeat": "x.repeat(1, k)",
    "expand": "x[:1].expand(k, 4)",
    "broadcast_to": "x[:1].broadcast_to((k, 4))",
    "new_zeros": "x.new_zeros(k)",
    "new_ones": "x.new_ones((k, 3))",
    "new_empty": "x.new_empty(k)",
    "new_full": "x.new_full((k,), 1.0)",
    "full_like": "torch.full_like(x, q)",
    "fill_diagonal": "x.fill_diagonal_(q)",
    "unflatten": "x.unflatten(1, (k, 2))",
    "pad": "F.pad(x, (0, k))",
    "interpolate": "F.interpolate(x[None], size=(k,))",
    "topk": "x.topk(k)",
    "kthvalue": "x.kthvalue(k)",
    "multinomial": "torch.multinomial(x.abs() + 1, num_samples=k)",
    "one_hot": "F.one_hot(torch.zeros(3, dtype=torch.int64, device='cuda'), num_classes=k)",
    "chunk": "x.chunk(k)",
    "split": "torch.split(x, k)",
    "roll": "x.roll(k)",
    "narrow": "x.narrow(0, 0, k)",
    "unfold": "x.unfold(0, k, 1)",
    "select": "x.select(0, k)",
    "tril": "x.tril(k)",
    "triu": "torch.triu(x, diagonal=k)",
    "diag": "x.diag(k)",
    "diagonal": "x.diagonal(k)",
    "matrix_power": "torch.ones(3, 3, device='cuda').matrix_power(k)",
    "bincount": "torch.zeros(3, dtype=torch.int64, device='cuda').bincount(minlength=k)",
    "histc": "x.histc(bins=4, min=0, max=q)",
    "repeat_interleave": "x.repeat_interleave(torch.ones(3, dtype=torch.int64, device='cuda'), 0, output_size=k + 1)",
    "add": "x.add(x, alpha=q)",
    "sub": "torch.sub(x, x, alpha=q)",
    "index_add": "x.index_add(0, torch.zeros(3, dtype=torch.int64, device='cuda'), x, alpha=q)",
    "addmm": "torch.addmm(x, x, x4, beta=q)",
    "addmv": "x[0].addmv(x4, x[0], alpha=q)",
    "addr": "x4.addr(x[0], x[0], alpha=q)",
    "addbmm": "x.addbmm(x[None], x4[None], beta=q)",
    "baddbmm": "x[None].baddbmm(x[None], x4[None], alpha=q)",
    "addcmul": "x.addcmul_(x, x, value=q)",
    "addcdiv": "torch.addcdiv(x, x, x, value=q)",
    "normal_": "x.normal_(0, q)",
    "uniform_": "x.uniform_(0, q)",
    "exponential_": "x.exponential_(q)",
    "log_normal_": "x.log_normal_(0, q)",
    "leaky_relu": "F.leaky_relu(x, q)",
    "elu": "F.elu(x, q)",
    "celu": "F.celu(x, q)",
    "softplus": "F.softplus(x, q)",
    "threshold": "F.threshold(x, q, 0.0)",
    "hardtanh": "F.hardtanh(x, 0.0, q)",
    "hardshrink": "F.hardshrink(x, q)",
    "softshrink": "F.softshrink(x, q)",
    "dropout": "F.dropout(x, q)",
    "nan_to_num": "x.nan_to_num(q)",
    "isclose": "x.isclose(x, rtol=q)",
    "allclose": "torch.allclose(x, x, rtol=q)",
    "dist": "x.dist(x, q)",
    "renorm": "x.renorm(2, 0, q)",
    "layer_norm": "F.layer_norm(x, (k + 2,))",
    "group_norm": "F.group_norm(x, k)",
    "smooth_l1_loss": "F.smooth_l1_loss(x, x * 2, beta=q)",
    "huber_loss": "F.huber_loss(x, x * 2, delta=q)",
    "pixel_shuffle": "F.pixel_shuffle(x[None, None].expand(1, 4, 3, 4), k)",
    "pixel_unshuffle": "F.pixel_unshuffle(torch.ones(1, 1, 4, 4, device='cuda'), k)",
}


def _overloads(name: str) -> list[Any]:
    import torch

    found = []
    for operator in {name, f"{name}_"}:
        for schema in torch._C._jit_get_schemas_for_operator(f"aten::{operator}"):
            kinds = [str(argument.type) for argument in schema.arguments]
            named = any("Dimname" in kind for kind in kinds) or any(one.name == "out" for one in schema.arguments)
            if kinds and kinds[0] == "Tensor" and not named:
                found.append(schema)
    return found


@pytest.mark.parametrize("name", [name for name in names() if name not in _PYTHON])
def test_no_overload_takes_a_tensor_for_what_is_a_number(name: str) -> None:
    pytest.importorskip("torch")
    row = numbers(name)
    assert row is not None
    overloads = _overloads(name)
    for schema in overloads:
        behind = schema.arguments[1:]
        by_position = [one for one in behind if not one.kwarg_only]
        asked = [one for at, one in enumerate(by_position) if at in row.positions or row.rest]
        asked += [one for one in behind if one.name in row.names]
        assert [str(one.type) for one in asked if "Tensor" in str(one.type)] == []
    known = {one.name for schema in overloads for one in schema.arguments}
    assert row.names - known == set()
    assert max(row.positions, default=0) < max(len(schema.arguments) for schema in overloads) - 1


@in_simulation
def test_a_number_that_is_on_the_device_is_read() -> None:
    import torch
    import torch.nn.functional as F

    from runtime_check import watch

    silent = {}
    for name in names():
        x, x4 = torch.ones(3, 4, device="cuda"), torch.ones(4, 4, device="cuda")
        k, q = torch.full((), 2, device="cuda"), torch.full((), 0.5, device="cuda")
        with watch() as run:
            eval(CALLS[name], {"torch": torch, "F": F, "x": x, "x4": x4, "k": k, "q": q})
        if not run.d2h:
            silent[name] = str(run)
    assert silent == {}
