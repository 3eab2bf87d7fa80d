"""torch.amp: gradient scaling, where two methods read from the device and the others do not."""

from __future__ import annotations

from transferlint.knowledge.api import Api, Effect, methods, named

SCALERS = ("torch.amp.GradScaler", "torch.cuda.amp.GradScaler", "torch.amp.grad_scaler.GradScaler",
           "torch.cuda.amp.grad_scaler.GradScaler",
           "torch.distributed.fsdp.sharded_grad_scaler.ShardedGradScaler")  # fmt: skip
_PAGE = "docs.pytorch.org amp"

TABLE: tuple[Api, ...] = (
    Api(SCALERS, Effect.OBJECT, _PAGE + " 'Gradient Scaling'"),
    Api(
        methods(SCALERS, "get_scale"),
        Effect.READS_STATE,
        _PAGE + " GradScaler.get_scale: 'incurs a CPU-GPU sync'",
    ),
    Api(
        methods(SCALERS, "step"),
        Effect.READS_STATE,
        _PAGE + " GradScaler.step: skips optimizer.step() where gradients hold infs; source: torch/amp/grad_scaler.py"
        " _maybe_opt_step reads found_inf of each device by item(); fused optimizers take it as a tensor instead",
        avoidable=False,
    ),
    Api(
        methods(SCALERS, "unscale_"),
        Effect.NOTHING,
        _PAGE + " GradScaler.unscale_: 'does not incur a CPU-GPU sync'",
    ),
    Api(
        methods(SCALERS, "update"),
        Effect.NOTHING,
        _PAGE + " GradScaler.update; source: torch/amp/grad_scaler.py: _amp_update_scale_ works on the device",
    ),
    Api(
        methods(SCALERS, "scale"),
        Effect.KEEP,
        _PAGE + " GradScaler.scale: 'multiplies (scales) a tensor or list of tensors'; on the tensors' device",
    ),
    Api(
        methods(SCALERS, "state_dict"),
        Effect.READS_STATE,
        _PAGE + " GradScaler.state_dict: holds the scale as a number, read by get_scale",
    ),
    Api(
        methods(SCALERS, "is_enabled get_growth_factor get_backoff_factor get_growth_interval set_growth_factor"
                " set_backoff_factor set_growth_interval load_state_dict"),
        Effect.HOST,
        _PAGE + " GradScaler: Python numbers",
    ),
    Api(
        named("torch.", "amp.autocast cuda.amp.autocast autocast cpu.amp.autocast amp.autocast_mode.autocast"),
        Effect.NOTHING,
        _PAGE + " 'Autocasting': chooses dtypes",
    ),
)  # fmt: skip
