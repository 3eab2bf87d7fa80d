"""torch.utils.data: the host side of the pipeline."""

from __future__ import annotations

from transferlint.knowledge.api import Api, Effect, named

_PAGE = "docs.pytorch.org torch.utils.data"
_PREFIX = "torch.utils.data."

TABLE: tuple[Api, ...] = (
    Api(
        (*named(_PREFIX, "DataLoader"), "torch.utils.data.dataloader.DataLoader"),
        Effect.LOADER,
        _PAGE
        + " 'Memory Pinning', 'Multi-process data loading': batches are host tensors, pinned with pin_memory; it is"
        " 'generally not recommended to return CUDA tensors in multi-process loading'",
    ),
    Api(
        named(_PREFIX, "default_collate default_convert"),
        Effect.HOST_DATA,
        _PAGE + " default_collate, default_convert: tensors of samples, numbers and numpy arrays",
    ),
    Api(
        named(
            _PREFIX,
            "TensorDataset ConcatDataset ChainDataset StackDataset Subset Dataset IterableDataset random_split"
            " SequentialSampler RandomSampler SubsetRandomSampler WeightedRandomSampler BatchSampler"
            " distributed.DistributedSampler DistributedSampler",
        ),
        Effect.HOST_DATA,
        _PAGE + " 'Dataset Types', 'Data Loading Order and Sampler'",
    ),
    Api(named(_PREFIX, "get_worker_info"), Effect.HOST, _PAGE + " get_worker_info"),
)
