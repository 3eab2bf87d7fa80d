"""What a function is by its name, class, decorators and path: hot, cold, on the host side."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from transferlint.flow.lattice.options import AnalysisOptions
from transferlint.model import Level
from transferlint.wording import words

LookUp = Callable[..., Any]


@pytest.mark.parametrize(
    "method",
    [
        "forward",
        "training_step",
        "validation_step",
        "test_step",
        "train_step",
        "compute_loss",
        "step",
        "update",
        "loss",
        "_forward",
    ],
)
def test_step_methods_are_hot(look: LookUp, method: str) -> None:
    found = look(f"class Net:\n    def {method}(self, x):\n        seen\n")
    warmth = found.warmth("seen")
    assert warmth.hot
    assert warmth.level == Level.PER_STEP
    assert not warmth.seen
    assert method.lstrip("_") in words(warmth.reason)


@pytest.mark.parametrize("name", ["test_step", "validation_step", "on_step_end", "fit_batch"])
def test_a_function_that_is_no_method_is_no_hook(look: LookUp, name: str) -> None:
    assert not look(f"def {name}(model):\n    seen\n").warmth("seen").hot


@pytest.mark.parametrize(
    ("bases", "method"),
    [
        ("torch.nn.Module", "forward"),
        ("torch.nn.Module", "__call__"),
        ("torchmetrics.Metric", "update"),
        ("torch.optim.Optimizer", "step"),
        ("nn.modules.loss._Loss", "forward"),
        ("SchedulerMixin", "step"),
        ("torch.autograd.Function", "backward"),
    ],
)
def test_step_methods_of_libraries(look: LookUp, bases: str, method: str) -> None:
    found = look(
        f"import torch, torchmetrics\nfrom torch import nn\nclass Own({bases}):\n"
        f"    def {method}(self, x):\n        seen\n"
    )
    assert found.warmth("seen").hot


@pytest.mark.parametrize(
    "name", ["dice_loss", "loss_fn", "forward_features", "compute_bbox_loss", "decode", "sample", "get_grad_norm"]
)
def test_functions_that_are_named_for_a_step_are_hot(look: LookUp, name: str) -> None:
    assert look(f"def {name}(x):\n    seen\n").warmth("seen").hot


@pytest.mark.parametrize(
    "name",
    [
        "__init__",
        "setup",
        "_setup_model",
        "load_weights",
        "from_pretrained",
        "save_checkpoint",
        "save",
        "state_dict",
        "export_onnx",
        "plot_losses",
        "build_model",
        "create_optimizer",
        "get_dataloader",
        "parse_args",
        "reset_parameters",
        "init_weights",
        "__repr__",
        "configure_optimizers",
        "convert_checkpoint",
        "extra_repr",
    ],
)
def test_setup_and_checkpoint_code_is_cold(look: LookUp, name: str) -> None:
    found = look(
        f"class Net:\n    def {name}(self, x, rows):\n        seen\n        for row in rows:\n            inner\n"
    )
    assert found.warmth("seen").cold
    assert not found.warmth("seen").hot
    assert not found.warmth("inner").hot


@pytest.mark.parametrize(
    "source",
    [
        "from torch.utils.data import Dataset\nclass Rows(Dataset):\n    def __getitem__(self, i):\n        seen\n",
        "def collate_fn(batch):\n    seen\n",
        "def my(batch):\n    seen\ndef collate(batch):\n    for row in batch:\n        seen\n",
        "class RandomTransform:\n    def __call__(self, x):\n        seen\n",
        "def worker_init_fn(i):\n    seen\n",
    ],
)
def test_the_data_pipeline_is_on_the_host_and_cold(look: LookUp, source: str) -> None:
    found = look(source)
    function, reg = found.find("seen")
    assert function.warmth(reg).cold
    assert function.role.host_side


@pytest.mark.parametrize(
    ("name", "host"),
    [
        ("transform_images", True),
        ("transformImages", True),
        ("_read2", True),
        ("_transformer_forward", False),
        ("ready_step", False),
        ("opener_step", False),
    ],
)
def test_the_data_pipeline_goes_by_whole_words(look: LookUp, name: str, host: bool) -> None:
    function, _ = look(f"def {name}(x):\n    seen\n").find("seen")
    assert function.role.host_side is host


@pytest.mark.parametrize(
    ("signature", "cold"),
    [
        ("preprocess_data(batch)", True),
        ("preprocess_data(batch, device)", False),
        ("load_data(path, device)", True),
        ("augment(x, *, device_id)", False),
    ],
)
def test_data_code_that_is_told_a_device_is_no_host_code(look: LookUp, signature: str, cold: bool) -> None:
    found = look(f"def {signature}:\n    seen\n")
    assert bool(found.warmth("seen").cold) is cold


def test_a_script_runs_once(look: LookUp) -> None:
    found = look("import torch\nseen\nif __name__ == '__main__':\n    main\n")
    for name in ("seen", "main"):
        assert found.warmth(name).level == Level.ONCE
        assert found.warmth(name).once


def test_a_class_body_and_a_constructor_run_once(look: LookUp) -> None:
    found = look("class Net:\n    a = seen\n    def __init__(self):\n        inner\n")
    assert found.warmth("seen").once
    assert found.warmth("inner").once


def test_kernels_are_no_code_of_the_host(look: LookUp) -> None:
    found = look("import triton\n@triton.jit\ndef kernel(x):\n    for i in range(100):\n        seen\n")
    function, reg = found.find("seen")
    assert function.role.skip
    assert not function.warmth(reg).hot


@pytest.mark.parametrize(
    "path",
    [
        "tests/train.py",
        "src/tests/unit/train.py",
        "test_train.py",
        "src/train_test.py",
        "conftest.py",
        "benchmarks/run.py",
        "pkg/bench_ops.py",
    ],
)
def test_test_paths_are_cold(look: LookUp, path: str) -> None:
    source = "class Net:\n    def forward(self, loader):\n        for x in loader:\n            seen\n"
    assert look(source, path).warmth("seen").cold
    assert look(source, path, AnalysisOptions(test_paths=())).warmth("seen").hot


@pytest.mark.parametrize("path", ["train.py", "src/contest/train.py", "src/latest.py", "testing.py"])
def test_other_paths_are_not(look: LookUp, path: str) -> None:
    assert look("def forward(x):\n    seen\n", path).warmth("seen").hot


def test_test_paths_are_a_setting(look: LookUp) -> None:
    options = AnalysisOptions(test_paths=("checks/**",))
    assert look("def forward(x):\n    seen\n", "checks/a.py", options).warmth("seen").cold
    assert look("def forward(x):\n    seen\n", "tests/a.py", options).warmth("seen").hot


@pytest.mark.parametrize(
    ("path", "cold"),
    [
        ("lib/export/onnx.py", True),
        ("scripts/convert_weights.py", True),
        ("tools/model_converters/hf.py", True),
        ("scripts/dataset_processing/mels.py", True),
        ("lib/processing/mels.py", False),
        ("lib/exported.py", False),
    ],
)
def test_what_is_done_once_has_its_place(look: LookUp, path: str, cold: bool) -> None:
    found = look("def forward(x):\n    here\n", path=path)
    assert bool(found.warmth("here").cold) is cold


@pytest.mark.parametrize(
    ("path", "base", "hot"),
    [
        ("speech/inference/tts.py", "Interface", False),
        ("speech/inference/tts.py", "torch.nn.Module", True),
        ("speech/models/tts.py", "Interface", True),
    ],
)
def test_an_interface_for_serving_runs_once_for_each_request(look: LookUp, path: str, base: str, hot: bool) -> None:
    text = f"import torch\nfrom serving import Interface\nclass Voice({base}):\n"
    text += "    def forward(self, x):\n        seen\n"
    assert look(text, path).warmth("seen").hot is hot


@pytest.mark.parametrize(("name", "cold"), [("ONNXDecoder", True), ("ExportedGreedy", True), ("Exporting", False)])
def test_what_runs_an_exported_model_is_no_code_of_the_device(look: LookUp, name: str, cold: bool) -> None:
    assert bool(look(f"class {name}:\n    def forward(self, x):\n        seen\n").warmth("seen").cold) is cold


@pytest.mark.parametrize(("maker", "hot"), [("start_profile", False), ("install", True)])
def test_the_hooks_of_a_profiler_are_not_hot(look: LookUp, maker: str, hot: bool) -> None:
    text = (
        f"class Watch:\n    def {maker}(self, model: torch.nn.Module):\n"
        "        model.register_forward_hook(self.after)\n"
        "    def after(self, module, inputs, output):\n        seen\n"
    )
    assert look(text).warmth("seen").hot is hot


@pytest.mark.parametrize(
    ("decorator", "cold"),
    [
        ("functools.lru_cache(maxsize=2)", True),
        ("lru_cache", True),
        ("functools.cache", True),
        ("cached_property", True),
        ("cache_output", False),
        ("nn.cache", False),
        ("torch.no_grad()", False),
    ],
)
def test_what_is_kept_after_the_first_call_is_cold(look: LookUp, decorator: str, cold: bool) -> None:
    head = "import functools\nfrom functools import cached_property, lru_cache\n"
    head += "class Net:\n    def forward(self, x):\n        return self.grid(3)\n"
    text = f"    @{decorator}\n    def grid(self, n):\n"
    warmth = look(f"{head}{text}        for i in range(n):\n            seen\n").warmth("seen")
    assert bool(warmth.cold) is cold
    assert warmth.hot is not cold


@pytest.mark.parametrize("hook", ["on_stage_end", "on_stage_start"])
def test_what_the_stages_of_epochs_call(look: LookUp, hook: str) -> None:
    assert look(f"class Brain:\n    def {hook}(self, stage):\n        seen\n").warmth("seen").cold


@pytest.mark.parametrize(
    ("name", "cold"),
    [
        ("get_layer_static_inputs", True),
        ("_make_sample_args", True),
        ("create_dummy_inputs", True),
        ("copy_static_inputs", False),
        ("sample_args", False),
        ("get_inputs", False),
    ],
)
def test_what_makes_arguments_to_try_a_model_with_is_cold(look: LookUp, name: str, cold: bool) -> None:
    text = f"import torch\nclass Net(torch.nn.Module):\n    def {name}(self, x):\n        seen\n"
    assert bool(look(text).warmth("seen").cold) is cold


TWINS = """
import torch


def {twin}(x: torch.Tensor):
    return x + 1


def {name}(x: torch.Tensor):
    for one in x:
        seen
    return x + 1
"""


@pytest.mark.parametrize(
    ("twin", "name", "told"),
    [
        ("farthest", "farthest_naive", False),
        ("scan", "scan_ref", False),
        ("scan_loss", "scan_loss_reference", False),
        ("scan", "farthest_naive", True),
        ("scan", "scan_fast", True),
    ],
)
def test_the_plain_twin_of_a_function(look: LookUp, twin: str, name: str, told: bool) -> None:
    text = TWINS.format(twin=twin, name=name)
    assert look(text).warmth("seen").weak is not told
    called = f"{text}\n\ndef train(loader):\n    for x in loader:\n        {name}(x)\n"
    assert look(called).warmth("seen").hot
    assert not look(called).warmth("seen").weak


def test_a_method_of_a_reference_is_no_plain_twin(look: LookUp) -> None:
    text = "class Net:\n    def forward_{}(self, x):\n        return x\n    def forward_{}_{}(self, x):\n        seen\n"
    assert look(text.format("logits", "logits", "ref")).warmth("seen").hot
    assert not look(text.format("logits", "logits", "naive")).warmth("seen").hot


@pytest.mark.parametrize(("other", "level"), [("update", Level.PER_EPOCH), ("collect", Level.PER_STEP)])
def test_the_result_of_a_metric_is_asked_for_once_an_epoch(look: LookUp, other: str, level: Level) -> None:
    head = f"import torch\nclass Error(torch.nn.Module):\n    def {other}(self, x):\n        pass\n"
    text = f"{head}    def compute(self):\n        seen\n"
    assert look(text).warmth("seen").level == level
    step = "    def training_step(self, x):\n        self.compute()\n"
    assert look(f"{text}{step}").warmth("seen").hot
