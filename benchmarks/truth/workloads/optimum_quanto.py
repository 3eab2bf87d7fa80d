"""optimum-quanto: models quantised to each type, calibrated, trained, frozen, saved and run."""

from __future__ import annotations

import torch
from optimum import quanto

from truth import Package, case, step, workload
from truth.drive import DEVICE, calls

PACKAGE = Package("optimum-quanto==0.2.7", imports=("optimum",), seconds=400)


def _net():
    return torch.nn.Sequential(
        torch.nn.Linear(32, 64), torch.nn.LayerNorm(64), torch.nn.GELU(), torch.nn.Linear(64, 32)
    )


def _images():
    return torch.nn.Sequential(torch.nn.Conv2d(3, 16, 3), torch.nn.ReLU(), torch.nn.Conv2d(16, 4, 3))


@workload
def quantising():
    for name, weights, activations in (
        ("int8", quanto.qint8, None), ("int8 both", quanto.qint8, quanto.qint8), ("int4", quanto.qint4, None), ("int2", quanto.qint2, None),
        ("float8", quanto.qfloat8, None), ("float8 both", quanto.qfloat8, quanto.qfloat8), ("int4 and int8", quanto.qint4, quanto.qint8),
    ):  # fmt: skip
        for kind, make, shape in (("linear", _net, (4, 32)), ("convolutions", _images, (2, 3, 12, 12))):
            with case(f"{name} {kind}"):
                model = make().to(DEVICE)
                quanto.quantize(model, weights=weights, activations=activations)
                if activations is not None:
                    with quanto.Calibration(), torch.no_grad():
                        for _ in range(4):
                            with step("calibrate"):
                                model(torch.randn(*shape, device=DEVICE))
                optimizer = torch.optim.SGD(model.parameters(), 1e-3)
                for _ in range(4):
                    with step("train"):
                        model(torch.randn(*shape, device=DEVICE)).sum().backward()
                        optimizer.step()
                        optimizer.zero_grad()
                quanto.freeze(model)
                for _ in range(4):
                    with step("eval"), torch.no_grad():
                        model(torch.randn(*shape, device=DEVICE))
                state = model.state_dict()
                other = make()
                quanto.requantize(other, state, quanto.quantization_map(model), device=torch.device(DEVICE))


@workload
def tensors():
    for name, kind in (("int8", quanto.qint8), ("float8", quanto.qfloat8_e4m3fn)):
        with case(f"activations {name}"):
            for _ in range(6):
                x = torch.randn(4, 32, device=DEVICE)
                with step("operate"):
                    one = quanto.quantize_activation(x, kind, scale=quanto.absmax_scale(x, kind))
                    (one * 2, one.t(), one.view(8, 16), torch.cat([one, one]), one + one, one.dequantize())
                    torch.nn.functional.softmax(one, -1)
                    torch.matmul(one, one.t())
    for name, optimizer, kind in (
        ("largest", quanto.AbsmaxOptimizer(), quanto.qint8), ("affine", quanto.MaxOptimizer(), quanto.qint4),
        ("half quadratic", quanto.HqqOptimizer(), quanto.qint4),
    ):  # fmt: skip
        with case(f"optimizer {name}"):
            for _ in range(5):
                weight = torch.randn(32, 128, device=DEVICE)
                with step("quantise"):
                    if kind is quanto.qint4:
                        scale, shift = optimizer(weight, kind, axis=0, group_size=32)
                        quanto.quantize_weight(
                            weight, kind, axis=0, scale=scale, shift=shift, group_size=32
                        ).dequantize()
                    else:
                        quanto.quantize_weight(weight, kind, axis=0, scale=optimizer(weight, kind, axis=0)).dequantize()
    calls("packed", lambda x: quanto.PackedTensor.pack(x, 4).unpack() if hasattr(quanto, "PackedTensor") else x,
          lambda: (torch.randint(0, 16, (32, 16), dtype=torch.uint8, device=DEVICE),))  # fmt: skip
