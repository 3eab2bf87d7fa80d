"""What is advised where something crosses: every row of the table, by what torch was at and by what a line calls."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from runtime_check import advice, causes, phrases
from runtime_check.records import Blocked, Header, Outcome, Run, SiteRecord
from transferlint.model import Direction, Site

HEADER = Header(("train.py",), "", "a device", "1", "2.13.0", "3.12.1", "trace", "modelled")
D2H, H2D = Direction.D2H, Direction.H2D
READ = SiteRecord(0, Site("/none.py", 7, 5, 7, 9), D2H, causes.SCALAR, 100, 400, True, Blocked(10**6))

# Frames as torch 2.13 has them, or the text of a line; and the row that they belong to.
FRAMES = (
    ("torch/distributions/utils.py:56 broadcast_all.<locals>.<listcomp>", H2D, "numbers given to a distribution"),
    ("torch/distributions/distribution.py:76 Distribution.__init__", D2H, "argument checks of a distribution"),
    ("torch/distributions/distribution.py:323 Distribution._validate_sample", D2H, "argument checks of a distribution"),
    ("torch/distributions/distribution.py:76 __init__", D2H, "argument checks of a distribution"),  # Python 3.10
    ("torch/distributions/categorical.py:148 Categorical.sample", D2H, "drawing a single sample"),
    ("torch/distributions/normal.py:74 Normal.sample", D2H, "sampling from a normal distribution"),
    ("torch/nn/modules/transformer.py:1245 _detect_is_causal_mask", D2H, "a mask that may be causal"),
    ("torch/nn/modules/transformer.py:480 TransformerEncoder.forward", D2H, "nested tensors of an encoder"),
    ("torch/nn/utils/rnn.py:340 pack_padded_sequence", D2H, "lengths of a packed sequence"),
    ("torch/amp/grad_scaler.py:351 GradScaler._maybe_opt_step.<locals>.<genexpr>", D2H, "a gradient scaler"),
    ("torch/optim/lbfgs.py:330 LBFGS.step", D2H, "an optimizer that decides on the host"),
    ("torch/optim/lr_scheduler.py:1699 ReduceLROnPlateau.step", D2H, "a metric for a learning-rate schedule"),
    ("torch/optim/adam.py:120 _get_value", D2H, "a learning rate or a step count on the device"),
    ("torch/nn/utils/clip_grad.py:110 _clip_grads_with_norm_", D2H, "a norm that must be finite"),
    ("torch/_tensor_str.py:150 _Formatter.__init__", D2H, "formatting a tensor"),
)
LINES = (
    ("torch.multinomial(probs, 1)", "drawing a single sample"),
    ("probs.multinomial(1)", "drawing a single sample"),
    ("torch.normal(mean, std)", "sampling from a normal distribution"),
    ("pack_padded_sequence(x, lengths)", "lengths of a packed sequence"),
    ("x.nonzero()", "a result with a data-dependent size"),
    ("x[mask]", "a result with a data-dependent size"),
    ("x.unique()", "a result with a data-dependent size"),
    ("torch.repeat_interleave(x, counts)", "repeats by counts on the device"),
    ("torch.bincount(x)", "counting into bins"),
    ("torch.linalg.cholesky(x)", "error checks of a decomposition"),
    ("max(x, y)", "the larger of two tensors"),
    ("x.max()", ""),
    ("torch.equal(x, y)", "comparing whole tensors"),
    ("x.item()", ""),
    ("loss > limit", ""),
)


OPERATIONS = (
    ("aten::index_put_", Direction.NONE, "indexing or assignment with a boolean mask"),
    ("aten::_index_put_impl_", Direction.NONE, "indexing or assignment with a boolean mask"),
    ("aten::index_put_", H2D, ""),  # the value or the index goes up: nothing waits to learn a size
    ("jax.numpy.nonzero", D2H, "a JAX result with a data-dependent size"),
    ("jax.Array.__getitem__", H2D, ""),
)


@pytest.mark.parametrize(("frame", "way", "name"), FRAMES)
def test_torchs_own_frames_say_what_it_is_at(frame: str, way: Direction, name: str) -> None:
    inner = "torch/nn/functional.py:1 somewhere"
    found = causes.cause_of(dataclasses.replace(READ, direction=way, inside=(inner, frame)))
    assert found is not None
    assert found.name == name


@pytest.mark.parametrize(("text", "name"), LINES)
def test_a_line_says_what_it_calls(tmp_path: Path, text: str, name: str) -> None:
    path = tmp_path / "program.py"
    path.write_text(f"value = {text}\n")
    site = Site(str(path), 1, 9, 1, 9 + len(text))
    found = causes.cause_of(dataclasses.replace(READ, site=site))
    assert (found.name if found else "") == name
    if found is not None:  # Python 3.10 knows no columns
        lines = dataclasses.replace(READ, site=Site(str(path), 1, 0, 1, 0))
        assert causes.cause_of(lines) is found or text.endswith("]")


@pytest.mark.parametrize(("operation", "way", "name"), OPERATIONS)
def test_an_operation_says_what_a_framework_is_at(operation: str, way: Direction, name: str) -> None:
    framework = "jax" if operation.startswith("jax.") else ""
    found = causes.cause_of(dataclasses.replace(READ, operation=operation, direction=way, framework=framework))
    assert (found.name if found else "") == name


def test_every_row_is_met() -> None:
    met = {name for *_, name in (*FRAMES, *LINES, *OPERATIONS)} - {""}
    rest = {one.name for one in causes.CAUSES if one.library}
    assert {one.name for one in causes.CAUSES} == met | rest


def test_a_row_for_a_function_comes_before_that_of_its_caller() -> None:
    inside = (
        "torch/nn/modules/transformer.py:1245 _detect_is_causal_mask",
        "torch/nn/modules/transformer.py:511 TransformerEncoder.forward",
    )
    found = causes.cause_of(dataclasses.replace(READ, inside=inside))
    assert found is not None
    assert found.name == "a mask that may be causal"


def told(record: SiteRecord) -> tuple[str, str]:
    return advice.advise([record], [], Run(HEADER, (record,), outcome=Outcome()))


def test_the_advice_names_the_frame_and_the_reason() -> None:
    act, explained = told(dataclasses.replace(READ, inside=("torch/optim/lbfgs.py:330 LBFGS.step",)))
    assert act.endswith("in LBFGS.step: it decides on the host how to continue, depending on the loss)")
    assert "(torch/optim/lbfgs.py:330 in " in act
    assert explained.startswith("torch/optim/lbfgs.py:330 in LBFGS.step: ")
    act, explained = told(dataclasses.replace(READ, inside=("torch/nn/functional.py:9 somewhere",)))
    assert act == "keep it on the device, and read it once after the loop (torch/nn/functional.py:9 in somewhere)"
    assert explained == ""


def test_the_advice_names_the_line_of_a_library_and_the_node_of_a_backward_pass() -> None:
    inside = "/venv/lib/python3.12/site-packages/torch_geometric/utils/loop.py"
    called = dataclasses.replace(READ, site=Site(inside, 650, 18, 650, 37), user=READ.site, function="add_self_loops")
    place = "torch_geometric/utils/loop.py:650 in add_self_loops"
    assert told(called)[0].startswith("no cheaper way is known: torch_geometric has no visible option")
    assert told(called)[0].endswith(f" ({place})")
    hot = dataclasses.replace(called, stepped=9)
    for other in (dataclasses.replace(called, blocked=Blocked(1)), dataclasses.replace(called, blocked=Blocked(10**9))):
        saving = dataclasses.replace(other, id=1, function="save")
        act, _ = advice.advise([saving, hot], [], Run(HEADER, (saving, hot), outcome=Outcome()))
        assert act.endswith(f"({place})")
    frames = ("torch/autograd/__init__.py:395 backward", "torch/_tensor.py:623 Tensor.backward")
    backward = dataclasses.replace(
        READ, direction=Direction.NONE, operation="aten::_index_put_impl_", inside=frames, backward="IndexBackward0"
    )
    act, explained = told(backward)
    assert act.startswith("use a fixed-size form instead of the mask index")
    assert "(IndexBackward0 of the backward pass: a boolean index is converted to positions" in act
    assert explained == ""


def test_many_places_of_a_library_are_told_from_its_package_on() -> None:
    folder = "/venv/lib/python3.12/site-packages/lightning"
    places = (
        Site(f"{folder}/a.py", 1, 5, 1, 9),
        Site(f"{folder}/a.py", 3, 5, 3, 9),
        Site(f"{folder}/b.py", 2, 5, 2, 9),
    )
    records = [dataclasses.replace(READ, id=number, site=site) for number, site in enumerate(places)]
    assert phrases.sites(records) == "3 sites (lightning/a.py:1, 3, lightning/b.py:2)"


def test_an_upload_says_what_pinned_memory_would_save() -> None:
    blocked = Blocked(48_000_000)
    batch = dataclasses.replace(READ, direction=H2D, operation="aten::copy_", bytes=100 << 20, blocked=blocked)
    act, explained = told(batch)
    assert explained == "new data every time, such as a batch"
    assert "`pin_memory=True` of its loader, and `.to(device, non_blocking=True)`" in act
    assert "; the host would be blocked for " in act
    assert act.endswith("instead of 48.0 ms (modelled for A100)")
    assert "instead of" not in told(dataclasses.replace(batch, blocked=Blocked(1)))[0]
