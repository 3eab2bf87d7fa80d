"""Values that are on the host in every call that can be seen, and code that its name gives to the host."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from transferlint.flow.lattice.values import ARRAY, DEVICE, GIVEN, HOST, MODULE, OBJECT, OPTIONAL, PINNED
from transferlint.model import Level

LookUp = Callable[..., Any]


def test_an_argument_that_every_call_gives_from_the_host_is_there(look: LookUp) -> None:
    found = look("""
        import torch

        def capacity(factor: torch.Tensor, least: torch.Tensor):
            ready = torch.ceil(factor * 4)
            if ready < least:
                ready = least
            return ready

        def gate(logits, k):
            room = capacity(torch.tensor(k), torch.tensor(4))
            return room + 1
    """)
    assert found.places("factor") == HOST
    assert found.places("least") == HOST
    assert found.places("room + 1") == HOST
    assert not any(t.kind == "truth" and t.before.on_device for f in found.facts.functions for t in f.transfers)


@pytest.mark.parametrize(
    "caller",
    [
        "def other(x):\n    gate(torch.relu(x.cuda()))",
        "class Net(torch.nn.Module):\n    def forward(self, x):\n        return gate(x)",
    ],
)
def test_one_call_from_the_device_is_enough(look: LookUp, caller: str) -> None:
    text = "import torch\n\ndef gate(t: torch.Tensor):\n    seen = t * 2\n    return seen\n\n"
    found = look(text + "def host():\n    gate(torch.zeros(3))\n\n" + caller + "\n")
    assert found.value("seen").on_device


def test_what_a_library_calls_is_on_the_device_whoever_else_calls_it(look: LookUp) -> None:
    found = look("""
        import torch

        class Net(torch.nn.Module):
            def forward(self, x: torch.Tensor):
                return x * 2

        def demo():
            Net().forward(torch.zeros(3))
    """)
    assert found.places("x * 2") == GIVEN


def test_tests_tell_nothing_of_arguments(look: LookUp) -> None:
    found = look("""
        import torch

        def gate(t: torch.Tensor):
            return t * 2

        def test_gate():
            gate(torch.zeros(3))
    """)
    assert found.places("t * 2") == GIVEN


def test_a_method_that_overrides_is_told_what_the_base_is_given(look: LookUp) -> None:
    found = look("""
        import torch

        class Search:
            def decode(self, scores):
                return self.partial(scores.cpu().numpy())

            def partial(self, scores: torch.Tensor):
                raise NotImplementedError

        class Beam(Search):
            def partial(self, scores: torch.Tensor):
                return scores[0]
    """)
    assert found.value("scores[0]").on_host
    assert found.value("scores[0]").is_a(ARRAY)


@pytest.mark.parametrize("annotation", ["", ": torch.Tensor"])
def test_a_model_may_have_what_a_loader_gives_moved_while_it_is_loaded_in_another_function_too(
    look: LookUp, annotation: str
) -> None:
    found = look(f"""
        import torch
        from torch.utils.data import DataLoader

        def step(model: torch.nn.Module, x{annotation}):
            return model(x).mean()

        def train(model: torch.nn.Module, data: DataLoader):
            for x, y in data:
                step(model, x)
                seen = model(x)
    """)
    assert found.places("model(x)") == GIVEN
    assert found.places("model(x).mean()") == GIVEN


def test_what_numpy_computes_with_is_on_the_host(look: LookUp) -> None:
    found = look("""
        import numpy as np
        import torch

        def prune(scores: torch.Tensor, least):
            for number, row in enumerate(scores):
                if row[0] > least:
                    continue
                kept = np.where(row > least)
    """)
    assert found.value("row[0]").on_host


def test_an_element_of_a_list_of_objects_is_such_an_object(look: LookUp) -> None:
    found = look("""
        from typing import List
        import torch

        class Hypothesis:
            tokens: torch.Tensor

        class Net(torch.nn.Module):
            def forward(self, hypotheses: List[Hypothesis]):
                for one in hypotheses:
                    one.tokens.tolist()
    """)
    assert found.value("one").is_a(OBJECT)
    assert not found.value("one.tokens").on_device


def test_a_callable_that_takes_tensors_is_none(look: LookUp) -> None:
    found = look("""
        from typing import Callable, Optional
        import torch

        class Net(torch.nn.Module):
            def forward(self, x, step: Optional[Callable[[torch.Tensor], torch.Tensor]] = None):
                step = step or self.step
    """)
    assert not any(t.kind == "truth" for f in found.facts.functions for t in f.transfers)


def test_the_device_of_ones_own_module_is_where_it_was_moved(look: LookUp) -> None:
    found = look("""
        import torch

        class Net(torch.nn.Module):
            def __init__(self):
                self.inner = torch.nn.Linear(2, 2)

            def forward(self, x):
                return x.to(self.inner.device)
    """)
    assert found.value("self.inner").is_a(MODULE)
    assert found.places("self.inner.device") == GIVEN


@pytest.mark.parametrize(
    ("name", "host"),
    [("fill_indices_cpu", True), ("update_cpu", True), ("copy_to_cpu", False), ("for_cpu", False), ("fill", False)],
)
def test_functions_that_are_named_for_the_host(look: LookUp, name: str, host: bool) -> None:
    found = look(f"import torch\n\ndef {name}(x: torch.Tensor):\n    return x * 2\n")
    assert found.value("x * 2").on_host is host


@pytest.mark.parametrize("path", ["loss/cpu_utils/loss.py", "loss/loss_cpu.py", "loss/loss_numpy.py"])
def test_files_that_are_named_for_the_host(look: LookUp, path: str) -> None:
    found = look("import torch\n\ndef loss_of(x: torch.Tensor):\n    return x * 2\n", path=path)
    assert found.value("x * 2").on_host


@pytest.mark.parametrize(
    "path",
    ["scripts/extract_features.py", "tools/a/compute_means.py", "recipes/x/make_data.py", "scripts/eval_all.py",
     "pkg/data_simulation.py", "pkg/data_analyzer.py", "pkg/debug_hook.py"],
)  # fmt: skip
def test_what_is_done_offline_is_cold(look: LookUp, path: str) -> None:
    found = look("def main(loader):\n    for batch in loader:\n        seen\n", path=path)
    assert found.warmth("seen").cold


@pytest.mark.parametrize("path", ["pkg/compute_loss.py", "scripts/train.py", "pkg/checkpoint/activations.py"])
def test_other_files_are_not(look: LookUp, path: str) -> None:
    found = look("def main(loader):\n    for batch in loader:\n        seen\n", path=path)
    assert found.warmth("seen").hot


@pytest.mark.parametrize("name", ["write_wavs", "log_samples", "log_attention_maps", "ensure_window", "_reinitialize",
                                  "_graph_reinitialize", "assert_same", "input_examples", "format_debug"])  # fmt: skip
def test_functions_that_show_check_or_set_up_are_cold(look: LookUp, name: str) -> None:
    assert found_in(look, f"class Net:\n    def {name}(self, x):\n        seen\n").cold


@pytest.mark.parametrize("name", ["ArtifactGenerator", "Visualizer", "FlopsProfiler", "DataAnalyzer"])
def test_classes_that_show_what_a_run_gives_are_cold(look: LookUp, name: str) -> None:
    assert found_in(look, f"class {name}:\n    def generate(self, x):\n        for a in x:\n            seen\n").cold


def found_in(look: LookUp, text: str) -> Any:
    """How often the expression `seen` runs."""
    return look(text).warmth("seen")


def test_a_pipeline_serves_one_request_a_call(look: LookUp) -> None:
    found = look("""
        import torch

        class FluxPipeline(torch.nn.Module):
            def __call__(self, prompt, timesteps):
                at_once = self._ids(prompt)
                for t in timesteps:
                    at_each
    """)
    assert found.warmth("self._ids(prompt)").level == Level.ONCE
    assert not found.warmth("self._ids(prompt)").hot
    assert found.warmth("at_each").hot


@pytest.mark.parametrize(
    ("other", "pinned"), [("", True), ("for x in DataLoader(data, pin_memory=True): move(x)", True),
                          ("for x in DataLoader(data): move(x)", False), ("move(data.cuda())", False)],
)  # fmt: skip
def test_what_every_call_gives_from_pinned_memory_is_pinned(look: LookUp, other: str, pinned: bool) -> None:
    found = look(f"""
        import torch
        from torch.utils.data import DataLoader

        def move(batch):
            for part in batch:
                part.to("cuda")

        def train(data):
            for x in DataLoader(data, pin_memory=True):
                move(x)

        def other(data):
            {other or "pass"}
    """)
    assert bool(found.value("part", -1).flags & PINNED) is pinned


def test_a_wrapped_move_of_pinned_memory_counts_at_the_call(look: LookUp) -> None:
    found = look("""
        import torch
        from torch.utils.data import DataLoader

        def move(x, device):
            return x["a"].to(device)

        def cast(x, device):
            x = x.double()
            return x.to(device)

        def train(data, device):
            for x in DataLoader(data, pin_memory=True):
                move(x, device)
                cast(x, device)
    """)
    (train,) = (f for f in found.facts.functions if f.function.name == "train")
    assert [(train.text(t.register), bool(t.before.flags & PINNED)) for t in train.transfers] == [
        ("move(x, device)", True)
    ]


def test_pinned_only_if_asked_for_is_told_so(look: LookUp) -> None:
    found = look("""
        from torch.utils.data import DataLoader

        def train(data, config, pin=False):
            for x in DataLoader(data, pin_memory=pin):
                x
            for y in DataLoader(data, pin_memory=config.get("pin", False)):
                y
            for z in DataLoader(data, pin_memory=config.get("pin", True)):
                z
    """)
    assert [bool(found.value(name, -1).flags & OPTIONAL) for name in "xyz"] == [True, True, False]


@pytest.mark.parametrize(
    ("callers", "expected"),
    [
        ("def main(x):\n    f(x, torch.device('cpu'))", HOST),
        ("def main(x):\n    f(x, 'cpu')\n    f(x, device=torch.device('cpu'))", HOST),
        ("def main(x, device):\n    f(x, 'cpu')\n    f(x, device)", GIVEN),
        ("def main(x):\n    f(x, 'cuda')", GIVEN),
        ("", GIVEN),
    ],
)
def test_a_device_argument_is_the_host_where_all_calls_say_so(look: LookUp, callers: str, expected: int) -> None:
    found = look("import torch\n\ndef f(x, device):\n    y = x.to(device)\n    return y\n\n" + callers + "\n")
    assert found.places("y") == expected
    assert not found.transfers("download")  # whoever calls it decides on that


@pytest.mark.parametrize(
    ("given", "expected"),
    [("x.cpu()", HOST), ("x", GIVEN), ("next(iter(x))", GIVEN), ("torch.zeros(3)", HOST), ("x.cuda()", DEVICE)],
)
def test_a_module_is_where_what_it_is_given_was_put(look: LookUp, given: str, expected: int) -> None:
    found = look(f"import torch\n\ndef f(model: torch.nn.Module, x):\n    y = model({given})\n    return y\n")
    assert found.places("y") == expected


@pytest.mark.parametrize("move", ["x.cuda()", "x.to(device)"])
def test_what_a_helper_uploads_on_some_path_is_on_the_device_there(look: LookUp, move: str) -> None:
    found = look(f"""
        import torch

        def put(x, device):
            if torch.cuda.is_available():
                x = {move}
            return x

        def f(device):
            y = put(torch.zeros(3), device)
            return y
    """)
    assert found.value("y").on_device
    assert found.places("y") & HOST


@pytest.mark.parametrize(("given", "plain"), [("self.decay, 2", True), ("self.decay, y", False), ("None, None", False)])
def test_a_number_is_one_whatever_it_is_annotated_with(look: LookUp, given: str, plain: bool) -> None:
    first, second = given.split(", ")
    found = look(f"""
        import torch

        def average(kept: torch.Tensor, new: torch.Tensor, decay: torch.Tensor):
            kept.add_(new, alpha=1 - decay)

        class Net(torch.nn.Module):
            def __init__(self, decay=0.99):
                super().__init__()
                self.decay = decay

            def forward(self, x: torch.Tensor, y: torch.Tensor):
                average(x, y, {first})
                average(x, y, {second})
    """)
    (function,) = [one for one in found.facts.functions if one.function.name == "average"]
    assert any(t.kind == "number" for t in function.transfers) is not plain


@pytest.mark.parametrize(
    ("given", "expected"),
    [("f", GIVEN), ("f.cuda()", DEVICE), ("torch.zeros(3)", HOST), ("unknown(f)", HOST)],
)
def test_what_a_name_gives_to_the_host_is_where_all_its_callers_say(look: LookUp, given: str, expected: int) -> None:
    found = look(f"""
        import torch

        class Smoothing:
            def transform(self, f: torch.Tensor):
                y = torch.log(f)
                return y

            def smooth(self, f: torch.Tensor):
                return self.transform({given})
    """)
    assert found.places("y") == expected


@pytest.mark.parametrize("between", range(1, 5))
def test_what_callers_tell_goes_along_several_calls(look: LookUp, between: int) -> None:
    calls = "\n".join(f"def f{n}(x):\n    return f{n - 1}(x)\n" for n in range(1, between + 1))
    text = f"def f0(x):\n    y = x + 1\n    return y\n\n{calls}\ndef main():\n    f{between}(torch.ones(3).cuda())\n"
    assert look("import torch\n\n" + text).places("y") == DEVICE
