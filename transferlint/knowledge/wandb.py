"""Weights & Biases and the trackers like it: logged tensors are read at once."""

from __future__ import annotations

from transferlint.knowledge.api import Api, Effect, methods, named

# `wandb.init` stands for the run that it gives.
RUNS = ("wandb.Run", "wandb.sdk.wandb_run.Run", "wandb.init")
_PAGE = "docs.wandb.ai 'wandb.Run.log'"

TABLE: tuple[Api, ...] = (
    Api(
        (*named("wandb.", "log"), *methods(RUNS, "log")),
        Effect.READS_ARGUMENTS,
        _PAGE + "; source: wandb/util.py json_friendly: obj.item() of a 0-d tensor, obj.cpu().detach().numpy()"
        " of others",
    ),
    Api(
        named("wandb.", "Image Histogram Video Audio Object3D"),
        Effect.READS_ARGUMENTS,
        "docs.wandb.ai 'Log media and objects'; source: wandb/sdk/data_types: data.cpu().numpy()",
    ),
    Api(named("wandb.", "init"), Effect.OBJECT, "docs.wandb.ai 'wandb.init': gives a wandb.Run"),
    Api(
        (*named("wandb.", "watch finish login define_metric save Table Artifact"),
         *methods(RUNS, "watch finish define_metric log_artifact save")),
        Effect.NOTHING,
        "docs.wandb.ai 'Python SDK': no tensors are read at the call",
    ),
    Api(
        named("mlflow.", "log_metric log_metrics"),
        Effect.READS_ARGUMENTS,
        "mlflow.org docs mlflow.log_metric: 'value (float)'",
    ),
    Api(named("mlflow.", "log_param log_params start_run end_run set_tag"), Effect.NOTHING, "mlflow.org docs"),
    Api(
        named("swanlab.", "log"),
        Effect.READS_ARGUMENTS,
        "docs.swanlab.cn 'swanlab.log': numbers",
    ),
)  # fmt: skip
