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
