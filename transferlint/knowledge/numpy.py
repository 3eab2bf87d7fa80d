"""numpy and the standard library: everything they make is on the host."""

from __future__ import annotations

from transferlint.knowledge.api import Api, Effect

TABLE: tuple[Api, ...] = (
    Api(
        tuple(f"numpy.{name}" for name in ["asarray", "array", "ascontiguousarray", "asanyarray", "copy"]),
        Effect.ARRAY_MAKER,
        "numpy.org numpy.asarray: calls __array__, which torch.Tensor raises from on a device tensor",
    ),
    Api(
        tuple(
            f"builtins.{name}"
            for name in [
                "len",
                "isinstance",
                "issubclass",
                "type",
                "id",
                "hash",
                "hasattr",
                "callable",
                "repr",
                "str",
                "ascii",
                "open",
                "input",
                "ord",
                "chr",
                "dir",
                "vars",
                "bytes",
                "bin",
                "hex",
                "oct",
                "format",
            ]
        ),
        Effect.HOST,
        "docs.python.org library/functions",
    ),
)
