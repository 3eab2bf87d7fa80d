"""vector-quantize-pytorch: quantisers inside of an autoencoder that is trained, and used afterwards."""

from __future__ import annotations

import torch
import vector_quantize_pytorch as vq

from truth import Package, case, step, workload

PACKAGE = Package("vector-quantize-pytorch==1.32.0", seconds=400)
DEVICE = "cuda"


def _loss(answer, x):
    """The sum of what a quantiser gives beside the quantised: commitment losses and the like."""
    parts = answer if isinstance(answer, tuple) else (answer,)
    total = torch.nn.functional.mse_loss(parts[0], x)
    for part in parts[2:]:
        if torch.is_tensor(part) and part.is_floating_point():
            total = total + part.sum()
    return total


def _train(name, make, shape=(2, 16, 32), turns=8, evaluate=True):
    with case(name):
        quantizer = make().to(DEVICE)
        encoder = torch.nn.Linear(shape[-1], shape[-1]).to(DEVICE)
        optimizer = torch.optim.AdamW([*encoder.parameters(), *quantizer.parameters()], 1e-3)
        for _ in range(turns):
            x = torch.randn(*shape, device=DEVICE)
            with step("train"):
                _loss(quantizer(encoder(x)), x).backward()
                optimizer.step()
                optimizer.zero_grad()
        if evaluate:
            quantizer.eval()
            with torch.no_grad():
                for _ in range(4):
                    with step("eval"):
                        quantizer(encoder(torch.randn(*shape, device=DEVICE)))


@workload
def vectors():
    base = {"dim": 32, "codebook_size": 64}
    _train("plain", lambda: vq.VectorQuantize(**base))
    _train("kmeans", lambda: vq.VectorQuantize(**base, kmeans_init=True, kmeans_iters=3))
    _train("cosine", lambda: vq.VectorQuantize(**base, use_cosine_sim=True))
    _train("stale codes", lambda: vq.VectorQuantize(**base, threshold_ema_dead_code=2))
    _train("low dimension", lambda: vq.VectorQuantize(**base, codebook_dim=8))
    _train("orthogonal", lambda: vq.VectorQuantize(**base, orthogonal_reg_weight=10.0))
    _train("heads", lambda: vq.VectorQuantize(**base, heads=4, separate_codebook_per_head=True, codebook_dim=8))
    _train("learnable", lambda: vq.VectorQuantize(**base, learnable_codebook=True, ema_update=False))
    _train("stochastic", lambda: vq.VectorQuantize(**base, stochastic_sample_codes=True, sample_codebook_temp=0.5))
    _train("rotation", lambda: vq.VectorQuantize(**base, rotation_trick=True))
    _train("diversity", lambda: vq.VectorQuantize(**base, codebook_diversity_loss_weight=0.1))
    with case("images"):
        quantizer = vq.VectorQuantize(**base, accept_image_fmap=True).to(DEVICE)
        for _ in range(6):
            with step("train"):
                quantizer(torch.randn(2, 32, 8, 8, device=DEVICE))[2].sum()
    with case("masked"):
        quantizer = vq.VectorQuantize(**base).to(DEVICE)
        for turn in range(6):
            lengths = torch.arange(16, device=DEVICE)[None] < 8 + turn
            with step("train"):
                quantizer(torch.randn(1, 16, 32, device=DEVICE), mask=lengths)
    with case("codes"):
        quantizer = vq.VectorQuantize(**base).to(DEVICE).eval()
        for _ in range(6):
            with step("decode"):
                quantizer.get_output_from_indices(torch.randint(0, 64, (2, 16), device=DEVICE))


@workload
def residual():
    base = {"dim": 32, "codebook_size": 64, "num_quantizers": 4}
    _train("plain", lambda: vq.ResidualVQ(**base))
    _train("dropout", lambda: vq.ResidualVQ(**base, quantize_dropout=True, quantize_dropout_cutoff_index=1))
    _train(
        "shared",
        lambda: vq.ResidualVQ(
            **base, shared_codebook=True, stochastic_sample_codes=True, kmeans_init=True, kmeans_iters=2
        ),
    )
    _train("beam", lambda: vq.ResidualVQ(**base, beam_size=2))
    _train("grouped", lambda: vq.GroupedResidualVQ(dim=32, num_quantizers=2, groups=2, codebook_size=32))
    _train("finite", lambda: vq.ResidualFSQ(dim=32, levels=[8, 5, 5, 3], num_quantizers=3))
    _train("grouped finite", lambda: vq.GroupedResidualFSQ(dim=32, levels=[8, 5, 5], num_quantizers=2, groups=2))
    _train("lookup free", lambda: vq.ResidualLFQ(dim=32, codebook_size=64, num_quantizers=3))
    _train("simple", lambda: vq.ResidualSimVQ(dim=32, codebook_size=64, num_quantizers=3))


@workload
def scalars():
    _train("finite", lambda: vq.FSQ(levels=[8, 5, 5, 3], dim=32))
    _train("finite symmetric", lambda: vq.FSQ(levels=[8, 5, 5], dim=32, preserve_symmetry=True))
    _train("lookup free", lambda: vq.LFQ(dim=32, codebook_size=64, entropy_loss_weight=0.1, diversity_gamma=1.0))
    _train(
        "lookup free spherical", lambda: vq.LFQ(dim=32, codebook_size=64, spherical=True, soft_clamp_input_value=10.0)
    )
    _train("simple", lambda: vq.SimVQ(dim=32, codebook_size=64, rotation_trick=True))
    _train("latent", lambda: vq.LatentQuantize(levels=[5, 5, 8], dim=32), shape=(2, 32, 4, 32))
    with case("binary"):
        mapper = vq.BinaryMapper(bits=5).to(DEVICE)
        for _ in range(8):
            logits = torch.randn(2, 16, 5, device=DEVICE, requires_grad=True)
            with step("train"):
                codes, loss = mapper(logits)
                (codes.sum() + loss.sum()).backward()
    with case("random projection"):
        quantizer = vq.RandomProjectionQuantizer(dim=32, num_codebooks=2, codebook_dim=8, codebook_size=32).to(DEVICE)
        for _ in range(8):
            with step("eval"):
                quantizer(torch.randn(2, 16, 32, device=DEVICE))
