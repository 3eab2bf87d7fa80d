"""torch: operators that look at what they computed, or were given, before they return: the host waits for a flag."""

from __future__ import annotations

from transferlint.knowledge.api import Api, Effect, named

_LINALG = "docs.pytorch.org torch.linalg"

TABLE: tuple[Api, ...] = (
    Api(
        named("torch.linalg.", "inv solve cholesky lu_factor ldl_factor")
        + named("torch.", "inverse cholesky")
        + named("Tensor.", "inverse cholesky"),
        Effect.CHECK,
        _LINALG + ".inv: 'When inputs are on a CUDA device, this function synchronizes that device with the CPU. For a"
        " version of this function that does not synchronize, see torch.linalg.inv_ex()'; likewise the others",
        instead="use the `_ex` form (`torch.linalg.inv_ex`, `solve_ex`, `cholesky_ex`): its flag stays on the device",
    ),
    Api(
        named("torch.linalg.", "eig eigh eigvals eigvalsh svd svdvals matrix_rank pinv")
        + named("torch.", "svd pinverse")
        + named("Tensor.", "svd pinverse"),
        Effect.CHECK,
        _LINALG + ".eigh, .svdvals: 'When inputs are on a CUDA device, this function synchronizes that device with the"
        " CPU'; there is no form that does not",
        avoidable=False,
        instead="call it less often, or overlap it with other work: there is no variant without the sync",
    ),
    Api(
        named("torch.linalg.", "cond tensorinv tensorsolve") + named("torch.", "svd_lowrank pca_lowrank"),
        Effect.CHECK,
        "source: aten/src/ATen/native/LinearAlgebra.cpp, BatchLinearAlgebra.cpp, torch/_lowrank.py: by svd, inv, solve",
        avoidable=False,
        instead="call it less often, or overlap it with other work: there is no variant without the sync",
    ),
    Api(
        named("torch.", "cov corrcoef") + named("Tensor.", "cov corrcoef"),
        Effect.CHECK,
        "source: aten/src/ATen/native/Correlation.cpp: reads whether the factor that it divides by is above zero",
        instead="compute it: `d = x - x.mean(-1, keepdim=True)`, then `d @ d.T / (n - 1)`",
    ),
    Api(
        ("torch.nn.functional.gaussian_nll_loss", "torch.nn.GaussianNLLLoss.forward"),
        Effect.CHECK,
        "source: torch/nn/functional.py gaussian_nll_loss: `if torch.any(var < 0): raise`",
        instead="compute it: `0.5 * (var.log() + (input - target) ** 2 / var)`",
    ),
    Api(
        ("torch.nn.functional.ctc_loss", "torch.ctc_loss", "torch.nn.CTCLoss.forward"),
        Effect.COPIES_OPERAND,
        "source: aten/src/ATen/native/LossCTC.cpp ctc_loss: `input_lengths.to(Device(at::kCPU))`, unless by cuDNN",
        checks=("input_lengths", 2),
        instead="leave the lengths on the host: it needs them there",
    ),
    Api(
        ("torch.combinations",),
        Effect.SHAPE,
        "source: aten/src/ATen/native/Itertools.cpp combinations: by masked_select",
    ),
    Api(
        ("torch.istft", "Tensor.istft"),
        Effect.CHECK,
        "source: aten/src/ATen/native/SpectralOps.cpp istft: reads whether the windows add up to something everywhere",
        avoidable=False,
        instead="call it less often, or overlap it with other work: there is no variant without the sync",
    ),
    Api(
        ("torch.multinomial", "Tensor.multinomial", "torch.cholesky_inverse", "Tensor.cholesky_inverse"),
        Effect.KEEP,
        "measured on an H200 with torch 2.11: no wait (benchmarks/results/conformance.md); multinomial checks its input"
        " on the device",
    ),
    Api(
        ("torch.normal",),
        Effect.CHECK,
        "source: aten/src/ATen/native/DistributionTemplates.h CHECK_NORMAL_TENSOR_STD: reads whether all of a tensor"
        " `std` is at least zero",
        checks=("std", 1),
        instead="scale a standard normal sample: `mean + std * torch.randn_like(std)`",
    ),
)
