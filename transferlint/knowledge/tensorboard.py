"""TensorBoard writers: what they are given is read at once."""

from __future__ import annotations

from transferlint.knowledge.api import Api, Effect, methods

WRITERS = ("torch.utils.tensorboard.SummaryWriter", "torch.utils.tensorboard.writer.SummaryWriter")
WRITERS_X = ("tensorboardX.SummaryWriter", "tensorboardX.writer.SummaryWriter")
_PAGE = "docs.pytorch.org tensorboard"

TABLE: tuple[Api, ...] = (
    Api((*WRITERS, *WRITERS_X), Effect.OBJECT, _PAGE),
    Api(
        methods((*WRITERS, *WRITERS_X), "add_scalar add_scalars add_histogram add_image add_images add_embedding"
                " add_pr_curve add_video add_audio add_mesh add_hparams add_image_with_boxes"),
        Effect.READS_ARGUMENTS,
        _PAGE + " SummaryWriter.add_scalar: 'scalar_value (float or string/blobname)'; source:"
        " torch/utils/tensorboard/_convert_np.py: x.detach().cpu().numpy()",
    ),
    Api(methods(WRITERS, "add_tensor"), Effect.READS_ARGUMENTS, _PAGE + " SummaryWriter.add_tensor; as add_scalar"),
    Api(
        methods((*WRITERS, *WRITERS_X), "add_text add_figure add_graph add_custom_scalars flush close"),
        Effect.NOTHING,
        _PAGE + " SummaryWriter: host data",
    ),
)  # fmt: skip
