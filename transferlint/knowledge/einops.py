"""einops: rearranging and reducing where the tensor is."""

from __future__ import annotations

from transferlint.knowledge.api import Api, Effect, named

_PAGE = "einops.rocks api"

TABLE: tuple[Api, ...] = (
    Api(
        named("einops.", "rearrange reduce repeat einsum pack unpack"),
        Effect.KEEP,
        _PAGE + " rearrange, reduce, repeat, einsum, pack: reshape, transpose and reduce by the tensor's own framework",
    ),
    Api(
        named("einops.", "asnumpy"),
        Effect.COPY,
        _PAGE
        + " asnumpy: 'Convert a tensor of an imperative framework (i.e. numpy/cupy/torch/jax/etc.) to numpy.ndarray'",
    ),
    Api(named("einops.", "parse_shape"), Effect.HOST, _PAGE + " parse_shape: 'Parse a tensor shape to dictionary'"),
    Api(
        named("einops.layers.torch.", "Rearrange Reduce EinMix"),
        Effect.MODULE,
        _PAGE + " 'Layers': torch.nn.Modules",
    ),
)
