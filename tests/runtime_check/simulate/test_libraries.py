"""Operators of torchvision and torch_geometric: the CPU's bits, and the transfers counted by hand in their sources."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from simulated import in_simulation

Case = tuple[Callable[..., Any], tuple[Any, ...], dict[str, int]]


def check(cases: dict[str, Case]) -> None:
    """Each function gives on the device what it gives on the host, bit by bit, and moves there what is counted: h2d,
    d2h, and waits that move nothing, by name."""
    import torch

    from runtime_check import watch

    for name, (function, arguments, expected) in cases.items():
        torch.manual_seed(0)
        on_host = flat(function(*arguments))
        there = [one.cuda() if isinstance(one, torch.Tensor) else one for one in arguments]
        torch.manual_seed(0)
        with watch() as run:
            on_device = flat(function(*there))
        assert on_host, name
        assert [one.dtype for one in on_host] == [one.dtype for one in on_device], name
        assert all(one.is_cuda for one in on_device), name
        assert all(torch.equal(one, two.cpu()) for one, two in zip(on_host, on_device, strict=True)), name
        moved = {"h2d": run.h2d, "d2h": run.d2h, "waits": run.sync - run.h2d - run.d2h}
        assert {key: count for key, count in moved.items() if count} == expected, (name, str(run))


def flat(value: Any) -> list[Any]:
    """The tensors of a result."""
    import torch

    if isinstance(value, torch.Tensor):
        return [value.detach()]
    return [one for part in value for one in flat(part)] if isinstance(value, (list, tuple)) else []


def with_gradients(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function's result, and its gradients by every argument of floating point."""
    import torch

    def run(*arguments: Any) -> Any:
        given = [one.detach().requires_grad_(one.is_floating_point()) for one in arguments]
        out = function(*given)
        return out, *torch.autograd.grad(out.sin().sum(), [one for one in given if one.requires_grad])

    return run


@in_simulation
def test_torchvision() -> None:
    torch = pytest.importorskip("torch")
    try:
        from torchvision import ops
        from torchvision.extension import _has_ops
    except (ImportError, RuntimeError) as error:  # a build for another torch registers nothing, and fails so
        pytest.skip(f"torchvision: {error}")
    if not _has_ops():
        pytest.skip("torchvision has no operators here")
    torch.manual_seed(1)
    boxes = torch.rand(40, 4) * 30
    boxes[:, 2:] += boxes[:, :2] + 1
    scores, labels = torch.rand(40), torch.randint(0, 3, (40,))
    image = torch.randn(2, 4, 12, 12)
    regions = torch.cat([torch.randint(0, 2, (6, 1)).float(), boxes[:6] / 8], 1)
    offsets, weight = torch.randn(2, 18, 10, 10), torch.randn(3, 4, 3, 3)
    check(
        {
            "nms": (lambda b, s: ops.nms(b, s, 0.3), (boxes, scores), {"waits": 1}),
            "nms of nothing": (lambda b, s: ops.nms(b, s, 0.3), (boxes[:0], scores[:0]), {}),
            # ops/boxes.py: _batched_nms_coordinate_trick makes a tensor of the number 1 on the host
            "batched_nms": (lambda *a: ops.batched_nms(*a, 0.3), (boxes, scores, labels), {"h2d": 1, "waits": 1}),
            "remove_small_boxes": (lambda b: ops.remove_small_boxes(b, 9), (boxes,), {"waits": 1}),  # torch.where
            "box_iou": (ops.box_iou, (boxes, boxes), {}),
            "masks_to_boxes": (ops.masks_to_boxes, (image[0] > 0.5,), {}),
            "roi_align": (with_gradients(lambda i: ops.roi_align(i, regions.to(i.device), 3)), (image,), {"h2d": 1}),
            "roi_pool": (lambda i, r: ops.roi_pool(i, r, 2), (image, regions), {}),
            "ps_roi_align": (lambda i, r: ops.ps_roi_align(i, r, 2), (image, regions), {}),
            "deform_conv2d": (with_gradients(ops.deform_conv2d), (image, offsets, weight), {}),
            "sigmoid_focal_loss": (with_gradients(ops.sigmoid_focal_loss), (scores, scores.flip(0)), {}),
            # ops/_utils.py: _loss_inter_union reads by a mask four times and writes by it once; backward turns it round
            "generalized_box_iou_loss": (
                with_gradients(ops.generalized_box_iou_loss),
                (boxes[:20], boxes[20:]),
                {"waits": 10},
            ),
        }
    )
    with pytest.raises(RuntimeError, match="on the same device"):
        ops.nms(boxes.cuda(), scores, 0.5)


@in_simulation
def test_torch_geometric() -> None:
    torch = pytest.importorskip("torch")
    pytest.importorskip("torch_geometric")
    from torch_geometric import nn, utils

    torch.manual_seed(1)
    x, edges = torch.randn(12, 4), torch.randint(0, 12, (2, 40))
    group = torch.arange(12) // 5
    check(
        {
            # utils/_scatter.py: the number of groups is the greatest index and one
            "scatter": (utils.scatter, (x, group), {"d2h": 1}),
            "scatter of a known size": (lambda s, i: utils.scatter(s, i, dim_size=3), (x, group), {}),
            "softmax": (lambda s, i: utils.softmax(s, i, num_nodes=3), (x, group), {}),
            "global_mean_pool": (nn.global_mean_pool, (x, group), {"d2h": 1}),
            # utils/loop.py: edges are chosen by a mask
            "remove_self_loops": (lambda e: utils.remove_self_loops(e)[0], (edges,), {"waits": 1}),
            # utils/_coalesce.py: -1 is written before the first index, `if mask.all()`, and a choice by the mask
            "coalesce": (lambda e: utils.coalesce(e, num_nodes=12), (edges,), {"h2d": 1, "d2h": 1, "waits": 1}),
            # utils/_unbatch.py: `degree(batch)` asks for the greatest number, then its sizes come down as a list
            "unbatch": (utils.unbatch, (x, group), {"d2h": 2}),
            # utils/_to_dense_batch.py: the number of graphs, the largest of them, the fill value, and a mask set to 1
            "to_dense_batch": (utils.to_dense_batch, (x, group), {"h2d": 2, "d2h": 2}),
            # utils/_subgraph.py: the mask of nodes is made numbers, and edges are chosen by a mask
            "subgraph": (lambda n, e: utils.subgraph(n, e)[0], (torch.rand(12) > 0.4, edges), {"waits": 2}),
        }
    )


@in_simulation
def test_layers_of_torch_geometric() -> None:
    torch = pytest.importorskip("torch")
    pytest.importorskip("torch_geometric")
    from torch_geometric import nn

    from runtime_check import watch

    torch.manual_seed(1)
    x, edges, attributes = torch.randn(12, 4), torch.randint(0, 12, (2, 40)), torch.randn(40, 2)
    cases: list[tuple[Callable[[], Any], tuple[Any, ...], int]] = [
        # utils/loop.py: add_remaining_self_loops chooses by a mask four times, of which two are of weights, whose
        # gradients are put by it
        (lambda: nn.GCNConv(4, 3), (x, edges, attributes[:, 0].abs().requires_grad_()), 6),
        (lambda: nn.SAGEConv(4, 3, aggr="max"), (x, edges), 0),
        (lambda: nn.GATConv(4, 3, heads=2), (x, edges), 1),
        (lambda: nn.TransformerConv(4, 3), (x, edges), 0),
        (lambda: nn.NNConv(4, 3, torch.nn.Linear(2, 12)), (x, edges, attributes), 0),
    ]
    for make, arguments, waits in cases:
        torch.manual_seed(2)
        on_host = make()
        on_device = make().cuda()
        on_device.load_state_dict(on_host.state_dict())
        there = [one.detach().cuda().requires_grad_(one.requires_grad) for one in arguments]
        first = gradients(on_host, arguments)
        with watch() as run:
            second = gradients(on_device, there)
        assert all(torch.equal(one, two.cpu()) for one, two in zip(first, second, strict=True)), on_host
        assert (run.h2d, run.d2h, run.sync) == (0, 0, waits), (on_host, str(run))


def gradients(layer: Any, arguments: Any) -> list[Any]:
    """What a layer gives, and the gradients of its parameters."""
    out = layer(*arguments)
    out.sin().sum().backward()
    return [out.detach(), *(one.grad for one in layer.parameters())]
