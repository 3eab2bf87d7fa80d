"""Functions that torch calls back, and how often."""

from __future__ import annotations

from transferlint.knowledge.api import Callback
from transferlint.model import Level

CALLBACKS: tuple[Callback, ...] = (
    *(
        Callback(f"Module.{name}", "hook", 0, Level.PER_STEP, f"docs.pytorch.org torch.nn.Module.{name}: every pass")
        for name in (
            "register_forward_hook",
            "register_forward_pre_hook",
            "register_full_backward_hook",
            "register_full_backward_pre_hook",
        )
    ),
    *(
        Callback(f"Tensor.{name}", "hook", 0, Level.PER_STEP, f"docs.pytorch.org torch.Tensor.{name}: every backward")
        for name in ("register_hook", "register_post_accumulate_grad_hook")
    ),
    *(
        Callback(
            f"torch.optim.Optimizer.{name}", "hook", 0, Level.PER_STEP, f"docs.pytorch.org optim {name}: every step"
        )
        for name in ("register_step_pre_hook", "register_step_post_hook")
    ),
    Callback(
        "torch.utils.checkpoint.checkpoint",
        "function",
        0,
        Level.PER_STEP,
        "docs.pytorch.org torch.utils.checkpoint: runs in every forward, and again in backward",
    ),
    *(
        Callback(f"Module.{name}", "hook", 0, Level.ONCE, f"docs.pytorch.org torch.nn.Module.{name}: at checkpoints")
        for name in ("register_state_dict_pre_hook", "register_load_state_dict_post_hook")
    ),
)
