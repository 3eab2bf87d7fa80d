"""tensordict: one call moves every tensor it holds."""

from __future__ import annotations

from transferlint.knowledge.api import Api, Effect, methods, named

CLASSES = named("tensordict.", "TensorDict TensorDictBase LazyStackedTensorDict tensordict.TensorDict")
_PAGE = "docs.pytorch.org tensordict 'Devices, dtypes, and memory'"
_METHODS = "docs.pytorch.org tensordict TensorDictBase"

TABLE: tuple[Api, ...] = (
    Api(
        CLASSES,
        Effect.OBJECT,
        _PAGE + " 'The device of a tensordict': with device=, entries are moved there as they are set",
    ),
    Api(methods(CLASSES, "numpy tolist"), Effect.READS_ARGUMENTS, _METHODS + ".numpy, .tolist: of every leaf"),
    Api(
        methods(CLASSES, "clone detach contiguous view reshape squeeze unsqueeze permute expand select exclude apply"
                " get gather unbind flatten_keys unflatten_keys to_tensordict mean sum"),
        Effect.KEEP,
        _METHODS + ": computed where the leaves are",
    ),
    Api(
        methods(CLASSES, "keys numel dim size is_empty batch_dims"),
        Effect.HOST,
        _METHODS + ": metadata",
    ),
)  # fmt: skip
