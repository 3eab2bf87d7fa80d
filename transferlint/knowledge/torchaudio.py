"""torchaudio: files are decoded on the host, transforms are modules and functions on tensors."""

from __future__ import annotations

from transferlint.knowledge.api import Api, Effect, named

TABLE: tuple[Api, ...] = (
    Api(
        named("torchaudio.", "load load_with_torchcodec"),
        Effect.ARRAY,
        "docs.pytorch.org audio torchaudio.load: a host tensor and the sample rate",
    ),
    Api(named("torchaudio.", "info"), Effect.HOST, "docs.pytorch.org audio torchaudio.info: metadata"),
    Api(
        named("torchaudio.", "save"),
        Effect.READS_ARGUMENTS,
        "docs.pytorch.org audio torchaudio.save: encodes a tensor into a file",
    ),
    Api(
        ("torchaudio.transforms.*",),
        Effect.MODULE,
        "docs.pytorch.org audio 'torchaudio.transforms': torch.nn.Modules, whose `.to` moves their buffers",
    ),
)
