"""All tables as one index. Adding a table is adding its module here."""

from __future__ import annotations

import functools

from transferlint.knowledge import (
    accelerate,
    composer,
    einops,
    ignite,
    libraries,
    lightning,
    numpy,
    tensorboard,
    tensordict,
    torch,
    torch_amp,
    torch_checks,
    torch_data,
    torch_distributed,
    torch_distributions,
    torch_geometric,
    torch_hooks,
    torch_optim,
    torch_xla,
    torchaudio,
    torchmetrics,
    torchvision,
    tqdm,
    transformers,
    wandb,
)
from transferlint.knowledge.api import Api, Callback, Effect, Hook

TABLES: tuple[tuple[Api, ...], ...] = (
    torch.TABLE, torch.VENDORS, torch_data.TABLE, torch_distributed.TABLE, torch_amp.TABLE, torch_optim.TABLE,
    torch_checks.TABLE, torch_distributions.TABLE, torch_xla.TABLE,
    numpy.TABLE, torchvision.TABLE, torchaudio.TABLE, lightning.TABLE, accelerate.TABLE, transformers.TABLE,
    ignite.TABLE, einops.TABLE, tensordict.TABLE, torch_geometric.TABLE, torchmetrics.TABLE, tensorboard.TABLE,
    wandb.TABLE, tqdm.TABLE, libraries.TABLE,
)  # fmt: skip
HOOKS: tuple[tuple[Hook, ...], ...] = (
    lightning.HOOKS, transformers.HOOKS, ignite.HOOKS, torchmetrics.HOOKS, composer.HOOKS,
)  # fmt: skip
CALLBACKS: tuple[tuple[Callback, ...], ...] = (
    torch_hooks.CALLBACKS, transformers.CALLBACKS, ignite.CALLBACKS,
)  # fmt: skip

# What a call of a function by its name, or of a tensor's method, does by its operands alone. The other effects need
# the receiver's class, or more than one operand, and are asked for by `lookup.effect_of`.
BY_OPERANDS: frozenset[Effect] = frozenset(
    {
        Effect.FILL, Effect.DATA, Effect.LIKE, Effect.NEW, Effect.ARRAY, Effect.KEEP, Effect.KEEP_BOOLEAN,
        Effect.REDUCE, Effect.SAME, Effect.HOST, Effect.NOTHING, Effect.SCALAR, Effect.COPY, Effect.NUMPY,
        Effect.SHAPE, Effect.TRUTH, Effect.MOVE, Effect.CUDA, Effect.PIN, Effect.COPY_INTO, Effect.SYNCHRONIZE,
        Effect.BACKWARD, Effect.LOADER, Effect.NAME_DEVICE, Effect.ARRAY_MAKER, Effect.COLLECTIVE,
    }
)  # fmt: skip


@functools.cache
def effects() -> dict[str, Effect]:
    """Qualified name to effect over every table, of the effects `BY_OPERANDS`, with no argument given."""
    found = {name: row.of(()) for name, row in rows().items()}
    return {name: effect for name, effect in found.items() if effect in BY_OPERANDS}


@functools.cache
def rows() -> dict[str, Api]:
    """Qualified name to row over every table."""
    return {name: row for table in TABLES for row in table for name in row.names if not name.endswith(".*")}


@functools.cache
def makers(*kinds: Effect) -> frozenset[str]:
    """Last names of torch's functions and methods that have one of these effects: "zeros", "new_tensor"."""
    return frozenset(
        name.rpartition(".")[2]
        for name, effect in effects().items()
        if effect in kinds and name.partition(".")[0] in ("torch", "Tensor")
    )


@functools.cache
def below() -> dict[str, Api]:
    """Prefix to the row that stands for all names below it."""
    return {name[:-2]: row for table in TABLES for row in table for name in row.names if name.endswith(".*")}


def hook(name: str) -> Hook | None:
    """The hook of a qualified name, or of a method that its own name tells."""
    full, by_method = _hooks()
    return full.get(name) or by_method.get(name.rpartition(".")[2])


@functools.cache
def callbacks() -> dict[str, tuple[Callback, ...]]:
    """Callee to what is known of the functions it is given."""
    found: dict[str, tuple[Callback, ...]] = {}
    for table in CALLBACKS:
        for row in table:
            found[row.callee] = (*found.get(row.callee, ()), row)
    return found


@functools.cache
def _hooks() -> tuple[dict[str, Hook], dict[str, Hook]]:
    full: dict[str, Hook] = {}
    by_method: dict[str, Hook] = {}
    for table in HOOKS:
        for row in table:
            for name in row.names:
                full[name] = row
                if row.anywhere:
                    by_method.setdefault(name.rpartition(".")[2], row)
    return full, by_method
