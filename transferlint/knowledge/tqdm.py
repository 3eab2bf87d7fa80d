"""tqdm: a bar around an iterable, whose postfix is put into words at the call."""

from __future__ import annotations

from transferlint.knowledge.api import Api, Effect, methods, named

BARS = named("tqdm.", "tqdm trange auto.tqdm auto.trange notebook.tqdm notebook.trange std.tqdm rich.tqdm asyncio.tqdm"
             " autonotebook.tqdm")  # fmt: skip
_PAGE = "tqdm.github.io docs tqdm"

TABLE: tuple[Api, ...] = (
    Api(
        tuple(name for name in BARS if not name.endswith("trange")),
        Effect.WRAP,
        _PAGE + ": 'acts exactly like the original iterable'",
    ),
    Api(
        tuple(name for name in BARS if name.endswith("trange")), Effect.HOST_DATA, _PAGE + ": trange: tqdm(range(...))"
    ),
    Api(
        methods(BARS, "set_postfix"),
        Effect.FORMATS_ARGUMENTS,
        _PAGE + ".set_postfix: 'automatic formatting based on datatype'; source: tqdm/std.py: str(value) at the call,"
        " whatever refresh says",
    ),
    Api(
        methods(BARS, "set_description set_description_str set_postfix_str write"),
        Effect.FORMATS_ARGUMENTS,
        _PAGE + ": texts, made of the argument at the call",
    ),
    Api(methods(BARS, "update close refresh reset clear"), Effect.NOTHING, _PAGE),
)
