"""Names that tell what a function does, whoever wrote it, and loaders of libraries that have no table of their own."""

from __future__ import annotations

import re

from transferlint import late
from transferlint.knowledge.api import Api, Effect

TABLE: tuple[Api, ...] = (
    Api(
        (
            "monai.data.DataLoader",
            "torchdata.stateful_dataloader.StatefulDataLoader",
            "dgl.dataloading.DataLoader",
            "dgl.dataloading.GraphDataLoader",
            "webdataset.WebLoader",
        ),
        Effect.LOADER,
        "docs of the libraries: loaders of host batches",
    ),
)

# Libraries whose classes are modules, and those that compute on data of their own.
OF_MODULES = frozenset("lightning pytorch_lightning transformers torchvision timm diffusers torchmetrics".split())
FOREIGN = frozenset("jax tensorflow cupy paddle mxnet cv2 PIL sklearn pandas scipy".split())
# Those of them that compute on the host, whatever they are given (SciPy and scikit-learn unless told otherwise: their
# pages 'Support for the array API standard').
HOST_LIBRARIES = frozenset("PIL cv2 pandas scipy sklearn".split())

# Functions named like this, whoever wrote them, move what they get (convention; their summary wins where it is known).
MOVERS = late.pattern(
    r"^_?(to_device|move_to|move_to_device|to_gpu|to_cuda|send_to_device|batch_to_device|move_data_to_device|recursive_to|"
    r"move_to_gpu|move_batch\w*|to_cuda_\w+|_?prepare_inputs?|put_on_device|batch_to|transfer_batch\w*|cast_to_device|"
    r"batch_to_\w+|sample_to_cuda|move_to_cuda|device_put|convert_to_device)$"
)
READERS = late.pattern(
    r"^_?(to_numpy|as_numpy|tonumpy|to_np|tensor2numpy|tensor_to_numpy|to_list|to_cpu|move_to_cpu|to_scalar|get_item|to_python|detach_to_cpu)$"
)
HOST_NAMES = late.pattern(
    r"^_?(is|has|num|n|len|count|get_num|get_len|name|str|path|format|shape|size|length|get_rank|get_world_size|"
    r"get_name|get_path|time|perf_counter|get_device_name|isinstance)(_|$)"
)
# What only the host does with data: writing it away, and stepping a simulated environment.
SAVERS = late.pattern(
    r"^(save\w*|imwrite|imsave|write|write_\w+|writerow\w*|dump|dumps|to_csv|to_parquet|add_image\w*|add_video|imshow|savefig|to_file)$"
)
ENVIRONMENTS = late.pattern(r"(^|_)(v?envs?|environments?|simulator|gym)\d*$", re.IGNORECASE)

# Classes of torch.nn that hold parameters, buffers or other modules (docs.pytorch.org torch.nn): the others compute
# where their arguments are, wherever they were made. `InstanceNorm2d` and losses hold something where they are told to.
HOLDING = frozenset(
    """
    AdaptiveLogSoftmaxWithLoss BatchNorm1d BatchNorm2d BatchNorm3d Bilinear Container Conv1d Conv2d Conv3d
    ConvTranspose1d ConvTranspose2d ConvTranspose3d DataParallel Embedding EmbeddingBag GRU GRUCell GroupNorm LSTM
    LSTMCell LayerNorm LazyBatchNorm1d LazyBatchNorm2d LazyBatchNorm3d LazyConv1d LazyConv2d LazyConv3d
    LazyConvTranspose1d LazyConvTranspose2d LazyConvTranspose3d LazyInstanceNorm1d LazyInstanceNorm2d
    LazyInstanceNorm3d LazyLinear Linear LinearCrossEntropyLoss Module ModuleDict ModuleList MultiheadAttention PReLU
    ParameterDict ParameterList RMSNorm RNN RNNBase RNNCell RNNCellBase Sequential SyncBatchNorm Transformer
    TransformerDecoder TransformerDecoderLayer TransformerEncoder TransformerEncoderLayer
    """.split()
)


def holds_nothing(name: str) -> bool:
    """True for a class of torch.nn, by its qualified name, that holds no parameters and no other modules."""
    last = name.removeprefix("torch.nn.")
    return last != name and last.isidentifier() and last not in HOLDING
