"""What an object is, by the name that the field gives its variable, where nothing in the source says more.

`scaler.step(optimizer)` in a function that takes `scaler` is worth knowing; a name is a convention and no proof, so
what rests on one is likely at best. Each row's source is the example in which the library's own pages use the name.
"""

from __future__ import annotations

import re

from transferlint import late

RECEIVERS: tuple[tuple[re.Pattern[str], str, str], ...] = tuple(
    (late.pattern(rf"^_?(self_)?({names})$"), owner, source)
    for names, owner, source in (
        (r"(grad_|amp_|loss_)?scaler", "torch.amp.GradScaler", "docs.pytorch.org amp 'Gradient Scaling'"),
        (r"accelerator", "accelerate.Accelerator", "huggingface.co docs accelerate 'Quicktour'"),
        (
            r"(tb_|summary_|tensorboard_|train_|val_|test_)?(summary_)?writer|tb_logger",
            "torch.utils.tensorboard.SummaryWriter",
            "docs.pytorch.org tensorboard",
        ),
        (
            r"pbar|progress_bar|prog_bar|tqdm_bar|progressbar|loop_bar|train_bar",
            "tqdm.tqdm",
            "tqdm.github.io docs tqdm",
        ),
        (r"fabric", "lightning.Fabric", "lightning.ai docs fabric 'Fabric Methods'"),
        (r"wandb_run|wandb_logger_run", "wandb.Run", "docs.wandb.ai 'wandb.Run.log'"),
        (
            r"tokenizer|processor",
            "transformers.PreTrainedTokenizerBase",
            "huggingface.co docs transformers 'Tokenizer'",
        ),
    )
)


def owner_of(name: str) -> str:
    """The class that a variable of this name is by convention an object of, "" where there is no such convention.

    A row of a class is only taken for methods that other objects do not share: `scaler.transform(x)` is none of its."""
    for pattern, owner, _ in RECEIVERS:
        if pattern.match(name):
            return owner
    return ""
