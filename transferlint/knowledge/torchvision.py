"""torchvision: reading and decoding is on the host, transforms of tensors are where the tensors are."""

from __future__ import annotations

from transferlint.knowledge.api import Api, Effect, named

_PAGE = "docs.pytorch.org vision transforms"

TABLE: tuple[Api, ...] = (
    Api(
        (*named("torchvision.transforms.", "ToTensor PILToTensor v2.ToTensor v2.ToImage v2.PILToTensor"),
         *named("torchvision.transforms.functional.", "to_tensor pil_to_tensor"),
         *named("torchvision.transforms.v2.functional.", "to_image pil_to_tensor to_tensor")),
        Effect.ARRAY,
        _PAGE + " ToTensor, PILToTensor, v2.ToImage: of a PIL image or an ndarray",
    ),
    Api(
        (
            *named("torchvision.io.", "read_image decode_image read_video read_file"),
            "torchvision.datasets.folder.pil_loader",
        ),
        Effect.HOST_DATA,
        "docs.pytorch.org vision io: host tensors",
    ),
    Api(
        named("torchvision.io.", "decode_jpeg"),
        Effect.FILL,
        "docs.pytorch.org vision torchvision.io.decode_jpeg: 'device': decoded there, on the host by default",
    ),
    Api(
        (*named("torchvision.transforms.functional.", "to_pil_image"),
         *named("torchvision.transforms.v2.functional.", "to_pil_image")),
        Effect.READS_ARGUMENTS,
        _PAGE + " to_pil_image: 'Convert a tensor or an ndarray to PIL Image', which is host data",
    ),
    Api(named("torchvision.utils.", "save_image"), Effect.READS_ARGUMENTS, "docs.pytorch.org vision utils.save_image"),
    Api(
        ("torchvision.transforms.functional.*", "torchvision.transforms.v2.functional.*",
         *named("torchvision.utils.", "make_grid draw_bounding_boxes draw_segmentation_masks")),
        Effect.KEEP,
        _PAGE + " 'Transforms scriptability', 'Supported input types': tensors stay on their device",
    ),
    Api(
        named("torchvision.ops.", "nms batched_nms"),
        Effect.SHAPE,
        "docs.pytorch.org vision ops.nms: indices 'of the elements that have been kept': as many as the data says",
    ),
)  # fmt: skip
