"""What is known of a name: tables, arguments that decide, prefixes, hooks, and what the user says."""

from __future__ import annotations

import pickle

import pytest

from transferlint.flow.lattice.options import AnalysisOptions
from transferlint.knowledge import lookup, receivers
from transferlint.knowledge.api import Effect
from transferlint.knowledge.lookup import cold, effect_of, event, hot, told
from transferlint.knowledge.user import UserKnowledge
from transferlint.model import Level

SCALER = "torch.cuda.amp.GradScaler"


@pytest.mark.parametrize(
    ("name", "effect"),
    [
        (f"{SCALER}.get_scale", Effect.READS_STATE),
        (f"{SCALER}.step", Effect.READS_STATE),
        (f"{SCALER}.update", Effect.NOTHING),
        (f"{SCALER}.unscale_", Effect.NOTHING),
        ("torch.amp.GradScaler", Effect.OBJECT),
        ("torch.distributed.all_reduce", Effect.COLLECTIVE),
        ("torch.distributed.all_gather_object", Effect.EXCHANGES_OBJECTS),
        ("torch.distributed.barrier", Effect.SYNCHRONIZE),
        ("torch.optim.AdamW.step", Effect.NOTHING),
        ("torch.optim.LBFGS.step", Effect.READS_STATE),
        ("torch.utils.data.DataLoader", Effect.LOADER),
        ("torch.utils.tensorboard.SummaryWriter.add_scalar", Effect.READS_ARGUMENTS),
        ("wandb.log", Effect.READS_ARGUMENTS),
        ("tqdm.auto.tqdm", Effect.WRAP),
        ("tqdm.tqdm.set_postfix", Effect.FORMATS_ARGUMENTS),
        ("pytorch_lightning.LightningModule.log", Effect.NOTHING),
        ("lightning.Fabric.log", Effect.READS_ARGUMENTS),
        ("accelerate.Accelerator.prepare", Effect.PREPARE),
        ("accelerate.Accelerator.gather", Effect.KEEP),
        ("accelerate.Accelerator.log", Effect.READS_ARGUMENTS),
        ("transformers.AutoTokenizer.batch_decode", Effect.READS_ARGUMENTS),
        ("einops.rearrange", Effect.KEEP),
        ("torch_geometric.data.Batch.to_data_list", Effect.SHAPE),
        ("torchmetrics.Metric.update", Effect.NOTHING),
        ("nobody.knows", None),
    ],
)
def test_effects_of_the_tables(name: str, effect: Effect | None):
    assert effect_of(name) is effect


def test_arguments_decide():
    clip = "torch.nn.utils.clip_grad_norm_"
    assert effect_of(clip) is Effect.KEEP
    assert effect_of(clip, given={"error_if_nonfinite"}) is Effect.CHECK
    dense = "torch_geometric.utils.to_dense_batch"
    assert effect_of(dense) is Effect.SHAPE
    assert effect_of(dense, given={"max_num_nodes"}) is Effect.SHAPE
    assert effect_of(dense, given={"max_num_nodes", "batch_size"}) is Effect.KEEP
    assert effect_of("accelerate.Accelerator.gather_for_metrics", given={"use_gather_object"}) is (
        Effect.EXCHANGES_OBJECTS
    )


def test_a_prefix_stands_for_what_no_row_names():
    assert effect_of("torchvision.transforms.functional.resize") is Effect.KEEP
    assert effect_of("torchvision.transforms.functional.to_pil_image") is Effect.READS_ARGUMENTS
    assert effect_of("torchvision.ops.nms") is Effect.SHAPE
    assert effect_of("torchvision.transforms.v2.functional.horizontal_flip") is Effect.KEEP
    assert effect_of("torchvision.models.resnet18") is None


def test_hooks():
    assert "runs per step" in hot("proj.callbacks.Watch.on_train_batch_end")
    assert "lightning.ai" in hot("proj.callbacks.Watch.on_train_batch_end")
    assert hot("Watch.on_step_end")
    assert not cold("Watch.on_step_end")
    assert "runs per epoch" in cold("proj.Net.on_validation_epoch_end")
    assert "runs once" in cold("proj.Net.configure_optimizers")
    assert not hot("proj.Net.configure_optimizers")
    assert cold("lightning.pytorch.LightningModule.setup")
    assert not cold("proj.Anything.setup")  # others have a method of that name
    assert not hot("proj.Net.helper")
    assert not cold("proj.Net.helper")


def test_events():
    assert event("trainer.on(Events.ITERATION_COMPLETED)") == (Level.PER_STEP, "")
    assert event("self.trainer.on(ignite.engine.Events.EPOCH_COMPLETED)") == (Level.PER_EPOCH, "")
    level, amortised = event("trainer.on(Events.ITERATION_COMPLETED(every=100))") or (None, "")
    assert (level, bool(amortised)) == (Level.PER_STEP, True)
    assert event("torch.no_grad()") is None
    assert event("trainer.on(Events.MY_OWN)") is None


def test_callbacks():
    (metrics, *_) = [one for one in lookup.callbacks("transformers.Trainer") if one.argument == "compute_metrics"]
    assert (metrics.position, metrics.level) == (-1, Level.PER_EPOCH)
    assert lookup.callbacks("Module.register_forward_hook")[0].level is Level.PER_STEP
    assert lookup.callbacks("nobody.knows") == ()


def test_receivers():
    assert receivers.owner_of("grad_scaler") == "torch.amp.GradScaler"
    assert receivers.owner_of("writer") == "torch.utils.tensorboard.SummaryWriter"
    assert receivers.owner_of("pbar") == "tqdm.tqdm"
    assert receivers.owner_of("standard_scaler_config") == ""
    for _, owner, source in receivers.RECEIVERS:
        assert lookup.row_of(owner) or any(name.startswith(owner + ".") for name in lookup.catalogue.rows()), owner
        assert source


class TestUser:
    USER = UserKnowledge(
        moves=("mylib.ops.upload", "*.to_gpu"),
        reads=("mylib.ops.*",),
        syncs=("mylib.wait",),
        returns_device=("mylib.ops.sample*",),
        returns_host=("mylib.ops.cpu.*",),
        hot=("mylib.train.*",),
        cold=("mylib.train.setup_*", "*.on_train_batch_end"),
    )

    @pytest.mark.parametrize(
        ("name", "effect"),
        [
            ("mylib.ops.upload", Effect.SEND),
            ("mylib.ops.read", Effect.READS_ARGUMENTS),
            ("mylib.ops.sample_noise", Effect.DEVICE_TENSOR),
            ("mylib.ops.cpu.norm", Effect.HOST_DATA),
            ("mylib.wait", Effect.SYNCHRONIZE),
            ("mylib.waiting", None),
            ("a.b.Thing.to_gpu", Effect.SEND),
            ("to_gpu", Effect.SEND),
            ("not_to_gpu", None),
            ("mylib.opsy", None),
        ],
    )
    def test_the_most_specific_pattern_decides(self, name: str, effect: Effect | None):
        assert effect_of(name, self.USER) is effect

    def test_the_user_beats_the_tables(self):
        user = UserKnowledge(returns_host=("wandb.*",), reads=("wandb.log",))
        assert effect_of("wandb.log", user) is Effect.READS_ARGUMENTS
        assert effect_of("wandb.Image", user) is Effect.HOST_DATA
        assert effect_of("Tensor.item", UserKnowledge(returns_host=("Tensor.item",))) is Effect.HOST_DATA

    def test_heat(self):
        assert hot("mylib.train.run", self.USER) == "`run` is hot by the settings"
        assert cold("mylib.train.setup_model", self.USER) == "`setup_model` is cold by the settings"
        assert not hot("mylib.train.setup_model", self.USER)
        assert cold("proj.Watch.on_train_batch_end", self.USER)
        assert not hot("proj.Watch.on_train_batch_end", self.USER)
        assert hot("proj.Watch.on_step_end", self.USER)

    def test_what_is_told(self):
        assert told("mylib.ops.upload", self.USER) == "moves"
        assert told("mylib.train.run", self.USER) == "hot"
        assert told("torch.equal", self.USER) == ""
        assert told("mylib.ops.upload", UserKnowledge()) == ""

    def test_it_is_a_value(self):
        options = AnalysisOptions(knowledge=self.USER)
        again = pickle.loads(pickle.dumps(options))
        assert again == options
        assert hash(again) == hash(options)
        assert not UserKnowledge()
        assert self.USER
