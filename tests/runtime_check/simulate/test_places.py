"""Operators that get tensors from both places raise what CUDA raises, and take what CUDA takes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from simulated import in_simulation

ITERATOR = "found at least two devices, (cuda:0 and cpu|cpu and cuda:0)!"


@in_simulation
def test_mixed_places_raise_what_cuda_raises() -> None:
    import torch
    from torch import nn
    from torch.nn import functional

    d, h = torch.ones(3, device="cuda"), torch.ones(3)
    cases: list[tuple[Callable[[], Any], str]] = [
        (lambda: d + h, ITERATOR),
        (lambda: h + d, ITERATOR),
        (lambda: d.add_(h), ITERATOR),
        (lambda: h.add_(d), ITERATOR),
        (lambda: torch.where(d > 0, d, h), ITERATOR),
        (lambda: torch.mm(d[None], h[:, None]), r"got mat2 is on cpu.*cuda:0.*wrapper_CUDA_mm\)"),
        (lambda: nn.Linear(3, 3).to("cuda")(h), r"got mat1 is on cpu|got mat2 is on cuda:0|is on cpu"),
        (lambda: torch.cat([d, h]), r"got tensors is on cpu, different from other tensors on cuda:0.*wrapper_CUDA_cat"),
        (lambda: torch.stack([h, d]), "got tensors is on cuda:0, different from other tensors on cpu"),
        (lambda: functional.cross_entropy(d[None], torch.tensor([1])), "got target is on cpu.*nll_loss_forward"),
        (lambda: nn.Embedding(4, 2).to("cuda")(torch.tensor([1])), "got index is on cpu.*wrapper_CUDA__?index_select"),
        (lambda: functional.layer_norm(d[None], (3,), h), "got weight is on cpu.*native_layer_norm"),
        (lambda: h[torch.tensor([0], device="cuda")], "indices should be either on cpu or on the same device"),
        (lambda: d.__setitem__(torch.tensor([0, 1], device="cuda"), h[:2]), ITERATOR),
        (lambda: nn.Conv2d(1, 1, 1).to("cuda")(torch.ones(1, 1, 2, 2)), r"Input type \(torch.FloatTensor\) and weight"),
        (lambda: nn.LSTM(3, 3).to("cuda")(h[None, None]), "Input and parameter tensors are not at the same device"),
        (lambda: functional.scaled_dot_product_attention(d[None], h[None], h[None]), "same device type, but got query"),
        (lambda: torch.rand(2, device="cuda", generator=torch.Generator()), "Expected a 'cuda' device type for gen"),
        (d.pin_memory, "cannot pin 'torch.cuda.FloatTensor'"),
    ]
    for number, (action, text) in enumerate(cases):
        with pytest.raises(RuntimeError, match=text):
            print(number, action())


@in_simulation
def test_what_cuda_takes_is_taken() -> None:
    import torch

    d = torch.ones(3, device="cuda")
    assert (d + torch.tensor(2.0)).is_cuda
    assert (torch.tensor(2.0) * d).is_cuda
    assert d.clamp(max=torch.tensor(0.5)).tolist() == [0.5] * 3
    assert torch.where(d > 0, d, 0.0).is_cuda
    assert d[torch.tensor([0, 2])].is_cuda
    d[torch.tensor([True, False, False])] = 4.0
    assert d.tolist() == [4.0, 1.0, 1.0]
    assert torch.rand(2, device="cuda", generator=torch.Generator("cuda").manual_seed(1)).is_cuda
    assert (torch.ones(3) + torch.tensor([1.0])).device.type == "cpu"
    host = torch.zeros(3)
    torch._foreach_copy_([host], [d])
    assert host.tolist() == [4.0, 1.0, 1.0]


@in_simulation
def test_numpy_and_arrays_of_device_tensors_are_refused_in_cudas_words() -> None:
    import numpy as np
    import torch

    d = torch.ones(2, device="cuda")
    for action in (d.numpy, lambda: np.asarray(d), lambda: np.add(d, 1)):
        with pytest.raises(TypeError, match="can't convert cuda:0 device type tensor to numpy"):
            action()
    assert repr(d) == "tensor([1., 1.], device='cuda:0')"
    assert d.type() == "torch.cuda.FloatTensor"


@in_simulation
def test_the_old_types_are_types_to_move_to() -> None:
    import torch

    kind = torch.cuda.LongTensor
    assert (kind.__name__, kind.__module__) == ("LongTensor", "torch.cuda")
    for moved in (torch.ones(2).type(kind), torch.ones(2).type("torch.cuda.LongTensor")):
        assert (moved.device.type, moved.dtype, isinstance(moved, kind)) == ("cuda", torch.int64, True)
    assert moved.type(torch.FloatTensor).device.type == "cpu"


@in_simulation
def test_operators_that_cuda_lacks_are_refused_in_its_words() -> None:
    import torch

    with pytest.raises(NotImplementedError, match=r"Could not run 'aten::histogram.*from the 'CUDA' backend"):
        torch.ones(3, device="cuda").histogram(2)


@in_simulation
def test_results_never_share_memory_with_the_host() -> None:
    import torch

    h = torch.zeros(3)
    d = h.cuda()
    d += 1
    back = d.cpu()
    d += 1
    assert (h.tolist(), back.tolist(), d.tolist()) == ([0.0] * 3, [1.0] * 3, [2.0] * 3)
    assert d.to("cuda") is d
    assert d.cuda() is d
