"""How often a line runs: loops, step methods, callers, cold code, and what leaves a loop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from transferlint.flow.options import AnalysisOptions
from transferlint.model import Level

LookUp = Callable[..., Any]


# Loops


@pytest.mark.parametrize(
    "loop",
    [
        "for batch in loader:",
        "for i, batch in enumerate(train_loader):",
        "for batch in tqdm(self.val_dataloader):",
        "for x, y in DataLoader(data):",
        "for batch in tqdm.tqdm(batches):",
        "for step in range(1000):",
        "for it in range(max_iter):",
        "for t in range(args.num_steps):",
        "for _ in range(n_iterations):",
        "for episode in range(n):",
        "while True:",
        "while step < max_steps:",
        "while not done:",
        "for batch_idx, (x, y) in enumerate(zip(loader_a, loader_b)):",
    ],
)
def test_loops_over_loaders_and_steps(look: LookUp, loop: str) -> None:
    found = look(f"from torch.utils.data import DataLoader\ndef main(loader, args, data):\n    {loop}\n        seen\n")
    warmth = found.warmth("seen")
    assert warmth.level == Level.PER_STEP
    assert warmth.seen
    assert warmth.hot


@pytest.mark.parametrize(
    "loop",
    [
        "for epoch in range(10):",
        "for ep in range(args.n):",
        "for e in range(num_epochs):",
        "for epoch in tqdm(range(start_epoch, epochs)):",
        "for _ in range(args.epochs):",
        "while epoch < 10:",
    ],
)
def test_loops_over_epochs(look: LookUp, loop: str) -> None:
    warmth = look(f"def main(args):\n    {loop}\n        seen\n").warmth("seen")
    assert warmth.level == Level.PER_EPOCH
    assert warmth.seen
    assert not warmth.hot


def test_loops_in_loops(look: LookUp) -> None:
    found = look(
        """
        def main(loader, rows):
            for epoch in range(10):
                at_epoch
                for batch in loader:
                    at_step
                    for row in rows:
                        at_element
                after_steps
            at_end
        """
    )
    assert found.warmth("at_epoch").level == Level.PER_EPOCH
    assert found.warmth("at_step").level == Level.PER_STEP
    assert found.warmth("at_element").level == Level.PER_ELEMENT
    assert found.warmth("after_steps").level == Level.PER_EPOCH
    assert not found.warmth("after_steps").hot
    assert found.warmth("at_end").level == Level.ONCE


@pytest.mark.parametrize("loop", ["for x in (a, b):", "for x in ['p', 'q', 'r']:", "for _ in range(3):", "for g in range(world_size):"])
def test_a_handful_of_turns_is_no_loop(look: LookUp, loop: str) -> None:
    warmth = look(f"def main(a, b, world_size):\n    {loop}\n        seen\n").warmth("seen")
    assert warmth.level == Level.ONCE
    assert not warmth.hot


@pytest.mark.parametrize(
    ("element", "source"),
    [
        ("t.item()", "[t.item() for t in rows]"),
        ("t.item()", "{t.item() for t in rows}"),
        ("t.item()", "sum(t.item() for t in rows)"),
        ("t.item()", "{k: t.item() for k, t in rows.items()}"),
    ],
)
def test_comprehensions_are_loops_over_elements(look: LookUp, element: str, source: str) -> None:
    found = look(f"class M:\n    def training_step(self, rows):\n        return {source}\n")
    assert found.warmth(element).level == Level.PER_ELEMENT
    assert found.warmth("rows", 0).level == Level.PER_STEP


def test_a_lambda_runs_where_it_is_made(look: LookUp) -> None:
    found = look(
        "def main(loader):\n    f = lambda q: q.sum().item()\n    for x in loader:\n        y = list(map(lambda t: t.item(), x))\n"
    )
    assert found.warmth("t.item()").hot
    assert found.warmth("q.sum().item()").level == Level.ONCE


def test_the_else_of_a_loop_runs_once(look: LookUp) -> None:
    found = look("def main(loader):\n    for x in loader:\n        pass\n    else:\n        seen\n")
    assert found.warmth("seen").level == Level.ONCE


def test_the_iterable_is_evaluated_outside(look: LookUp) -> None:
    found = look("def main(x):\n    for row in x.tolist():\n        pass\n    while x.any():\n        pass\n")
    assert found.warmth("x.tolist()").level == Level.ONCE
    assert found.warmth("x.any()").level == Level.PER_STEP


# Roles


@pytest.mark.parametrize(
    "method",
    ["forward", "training_step", "validation_step", "test_step", "train_step", "compute_loss", "step", "update", "loss", "_forward"],
)
def test_step_methods_are_hot(look: LookUp, method: str) -> None:
    found = look(f"class Net:\n    def {method}(self, x):\n        seen\n")
    warmth = found.warmth("seen")
    assert warmth.hot
    assert warmth.level == Level.PER_STEP
    assert not warmth.seen
    assert method.lstrip("_") in warmth.reason


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
    found = look(f"import torch, torchmetrics\nfrom torch import nn\nclass Own({bases}):\n    def {method}(self, x):\n        seen\n")
    assert found.warmth("seen").hot


@pytest.mark.parametrize("name", ["dice_loss", "loss_fn", "forward_features", "compute_bbox_loss", "decode", "sample", "get_grad_norm"])
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
    found = look(f"class Net:\n    def {name}(self, x, rows):\n        seen\n        for row in rows:\n            inner\n")
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
    ["tests/train.py", "src/tests/unit/train.py", "test_train.py", "src/train_test.py", "conftest.py", "benchmarks/run.py", "pkg/bench_ops.py"],
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


# Callers


def test_what_a_hot_place_calls_is_hot(look: LookUp) -> None:
    found = look(
        """
        def main(loader):
            for batch in loader:
                one(batch)

        def one(batch):
            at_one
            two(batch)

        def two(batch):
            at_two
        """
    )
    for name in ("at_one", "at_two"):
        assert found.warmth(name).hot
        assert found.warmth(name).seen
    function, reg = found.find("at_two")
    caller, call = function.warmth(reg).caller
    assert found.facts.functions[caller].text(call) == "two(batch)"


def test_what_methods_call(look: LookUp) -> None:
    found = look(
        """
        class Net:
            def forward(self, x):
                return self._inner(x)

            def _inner(self, x):
                seen
                return x
        """
    )
    assert found.warmth("seen").hot


def test_a_private_function_called_only_from_cold_code_is_cold(look: LookUp) -> None:
    found = look(
        """
        class Net:
            def __init__(self, x):
                self._fill(x)

            def _fill(self, x):
                for row in x:
                    seen
        """
    )
    assert found.warmth("seen").cold
    assert not found.warmth("seen").hot


def test_the_hottest_caller_decides(look: LookUp) -> None:
    found = look(
        """
        class Net:
            def __init__(self, x):
                self._fill(x)

            def forward(self, x):
                return self._fill(x)

            def _fill(self, x):
                seen
        """
    )
    assert found.warmth("seen").hot


def test_recursion_ends(look: LookUp) -> None:
    found = look("def f(x):\n    seen\n    return g(x)\ndef g(x):\n    return f(x)\n")
    assert not found.warmth("seen").cold


def test_a_guarded_call_is_rare(look: LookUp) -> None:
    found = look(
        """
        def main(loader):
            for step, batch in enumerate(loader):
                if step % 100 == 0:
                    _report(batch)

        def _report(batch):
            seen
        """
    )
    assert not found.warmth("seen").hot


# Assumed, weak, unsure


def test_what_takes_tensors_is_assumed_hot_and_weak(look: LookUp) -> None:
    found = look(
        """
        import torch

        def normalise(x: torch.Tensor):
            y = x.sum()
            return y
        """
    )
    warmth = found.warmth("x.sum()")
    assert warmth.hot
    assert not warmth.seen
    assert warmth.weak
    assert warmth.unsure


def test_a_loop_in_what_nothing_is_known_of_is_hot_but_unsure(look: LookUp) -> None:
    found = look("def prepare_things(rows):\n    for row in rows:\n        seen\n    for batch in rows:\n        stepping\n")
    element, step = found.warmth("seen"), found.warmth("stepping")
    assert element.level == Level.PER_STEP
    assert element.seen
    assert element.weak
    assert element.unsure
    assert not step.weak
    assert not step.unsure


def test_nothing_is_known_of_an_ordinary_function(look: LookUp) -> None:
    warmth = look("def job(name: str):\n    seen\n").warmth("seen")
    assert warmth.level == Level.ONCE
    assert not warmth.hot
    assert not warmth.seen


@pytest.mark.parametrize("name", ["main", "train", "fit", "evaluate", "run"])
def test_what_holds_the_loop_runs_once(look: LookUp, name: str) -> None:
    found = look(f"import torch\ndef {name}(x: torch.Tensor, loader):\n    y = x.sum()\n    for batch in loader:\n        seen\n")
    assert found.warmth("x.sum()").level == Level.ONCE
    assert found.warmth("seen").hot


# Error paths, exits


@pytest.mark.parametrize(
    "statement",
    [
        "if x is None:\n                raise ValueError(seen)",
        "try:\n                pass\n            except ValueError:\n                seen",
        "assert x, seen",
        "if x:\n                pass\n            else:\n                y = seen\n                raise ValueError(y)",
    ],
)
def test_error_paths_are_rare(look: LookUp, statement: str) -> None:
    found = look(f"class Net:\n    def forward(self, rows):\n        for x in rows:\n            {statement}\n")
    assert found.warmth("seen").amortised == "an error path"


def test_what_follows_a_check_is_the_ordinary_path(look: LookUp) -> None:
    found = look("class Net:\n    def forward(self, x):\n        if x is None:\n            raise ValueError\n        seen\n")
    assert found.warmth("seen").hot


@pytest.mark.parametrize("leave", ["return seen", "y = seen\n            break"])
def test_the_last_turn_runs_once(look: LookUp, leave: str) -> None:
    found = look(f"def main(loader):\n    for x in loader:\n        if x.ready:\n            {leave}\n        other\n")
    assert not found.warmth("seen").hot
    assert found.warmth("other").hot


def test_a_break_out_of_an_inner_loop_is_as_hot_as_the_outer_one(look: LookUp) -> None:
    found = look("def main(loader, rows):\n    for x in loader:\n        for row in rows:\n            if row:\n                y = seen\n                break\n")
    warmth = found.warmth("seen")
    assert warmth.level == Level.PER_STEP
    assert warmth.hot


def test_a_return_in_a_step_method_is_as_hot_as_the_method(look: LookUp) -> None:
    found = look("class Net:\n    def forward(self, x):\n        if x.ndim == 2:\n            return seen\n        return other\n")
    assert found.warmth("seen").hot
    assert found.warmth("other").hot


def test_with_and_try_bodies_are_as_hot_as_what_is_around(look: LookUp) -> None:
    found = look(
        """
        def main(loader, torch):
            for x in loader:
                with torch.no_grad():
                    inner
                try:
                    tried
                finally:
                    last
        """
    )
    for name in ("inner", "tried", "last"):
        assert found.warmth(name).hot


# In words


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("def main(loader, x):\n    for _ in loader:\n        x.item()\n", "per step, in the loop over `loader` at line 2"),
        ("def main(n):\n    while n:\n        n.item()\n", "per step, in the loop at line 2"),
        ("def forward(x):\n    x.item()\n", "per step (assumed): `forward` runs for every batch"),
        (
            "def main(loader):\n    for x in loader:\n        f(x)\ndef f(x):\n    x.item()\n",
            "per step: called from `main` at line 3",
        ),
    ],
)
def test_heat_in_words(look: LookUp, source: str, words: str) -> None:
    found = look(source)
    (function,) = [f for f in found.facts.functions if f.transfers]
    assert function.finding(function.transfers[0].register, "m").heat.why == words
