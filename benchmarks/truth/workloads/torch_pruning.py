"""torch-pruning: models pruned with each importance, while trained and afterwards."""

from __future__ import annotations

import torch
import torch_pruning as tp
import torchvision

from truth import Package, case, step, workload
from truth.drive import DEVICE

PACKAGE = Package("torch-pruning==1.6.1", seconds=400)


def _net():
    return torch.nn.Sequential(
        torch.nn.Conv2d(3, 16, 3), torch.nn.BatchNorm2d(16), torch.nn.ReLU(), torch.nn.Conv2d(16, 16, 3),
        torch.nn.BatchNorm2d(16), torch.nn.ReLU(), torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(), torch.nn.Linear(16, 4),
    ).to(DEVICE)  # fmt: skip


def _images(size=16):
    return torch.randn(4, 3, size, size, device=DEVICE), torch.randint(0, 4, (4,), device=DEVICE)


@workload
def importances():
    for kind, options in (
        ("MagnitudeImportance", {"p": 1}), ("GroupMagnitudeImportance", {"p": 2, "normalizer": "gaussian"}), ("BNScaleImportance", {}),
        ("LAMPImportance", {}), ("FPGMImportance", {}), ("RandomImportance", {}), ("GroupTaylorImportance", {}),
        ("GroupTaylorImportance", {"multivariable": True}), ("OBDCImportance", {"num_classes": 4}), ("GroupHessianImportance", {}),
    ):  # fmt: skip
        with case(f"{kind} {len(options)}"):
            model, importance = _net(), getattr(tp.importance, kind)(**options)
            pruner = tp.pruner.BasePruner(model, _images()[0], importance=importance, pruning_ratio=0.5, iterative_steps=4,
                                          ignored_layers=[model[-1]])  # fmt: skip
            optimizer = torch.optim.SGD(model.parameters(), 0.01)
            for _ in range(4):
                x, y = _images()
                with step("prune"):
                    loss = torch.nn.functional.cross_entropy(model(x), y, reduction="none")
                    if kind == "GroupHessianImportance":
                        importance.zero_grad()
                        for one in loss:
                            model.zero_grad()
                            one.backward(retain_graph=True)
                            importance.accumulate_grad(model)
                    elif kind == "OBDCImportance":
                        importance._prepare_model(model, pruner)
                        torch.nn.functional.cross_entropy(model(x), y).backward()
                        importance.step()
                    else:
                        loss.mean().backward()
                    pruner.step()
                    importance._rm_hooks(model) if kind == "OBDCImportance" else None
                    optimizer.zero_grad()
                    tp.utils.count_ops_and_params(model, _images()[0])


@workload
def learning():
    for kind, options in (
        ("BNScalePruner", {"reg": 1e-4, "importance": tp.importance.BNScaleImportance()}),
        ("BNScalePruner", {"group_lasso": True, "importance": tp.importance.BNScaleImportance()}),
        ("GroupNormPruner", {"importance": tp.importance.GroupMagnitudeImportance()}),
        ("GrowingRegPruner", {"importance": tp.importance.GroupMagnitudeImportance()}),
    ):
        with case(f"{kind} {len(options)}"):
            model = _net()
            pruner = getattr(tp.pruner, kind)(
                model, _images()[0], pruning_ratio=0.5, ignored_layers=[model[-1]], **options
            )
            optimizer = torch.optim.SGD(model.parameters(), 0.01)
            for turn in range(6):
                x, y = _images()
                with step("train"):
                    pruner.update_regularizer() if turn % 3 == 0 else None
                    optimizer.zero_grad()
                    torch.nn.functional.cross_entropy(model(x), y).backward()
                    pruner.regularize(model)
                    optimizer.step()
                if turn % 3 == 2:
                    pruner.step()
    for name in ("resnet18", "mobilenet_v3_small", "squeezenet1_1"):
        with case(name):
            model = torchvision.models.get_model(name, num_classes=4).to(DEVICE).eval()
            last = [one for one in model.modules() if isinstance(one, torch.nn.Linear)][-1:]
            pruner = tp.pruner.MagnitudePruner(model, torch.randn(1, 3, 64, 64, device=DEVICE), global_pruning=True, pruning_ratio=0.5,
                                               importance=tp.importance.MagnitudeImportance(), ignored_layers=last, iterative_steps=3)  # fmt: skip
            for _ in range(3):
                with step("prune"):
                    for group in pruner.step(interactive=True):
                        group.prune()
                    model(torch.randn(1, 3, 64, 64, device=DEVICE))
