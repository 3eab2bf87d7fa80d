"""What is measured on a real device: calls of the knowledge tables, costs, and what fixes are worth."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from pathlib import Path

import pytest

from runtime_check.conformance import running

pytest.importorskip("torch")
pytestmark = pytest.mark.gpu
ROOT = Path(__file__).resolve().parents[3]
NAMES = (
    "Tensor.item Tensor.cpu Tensor.to Tensor.nonzero Tensor.add Tensor.copy_ Tensor.equal torch.zeros torch.tensor"
    " torch.full torch.cuda.synchronize torch.amp.GradScaler.get_scale torch.optim.AdamW.step torch.unique"
).split()
PROGRAM = """\
import torch

def train(device):
    weight = torch.ones(1024, 1024, device=device, requires_grad=True)
    optimizer = torch.optim.SGD([weight], lr=0.1)
    total = 0.0
    for step in range(60):
        loss = (weight @ weight).mean() + torch.ones(4).to(device).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    return total

print("sum", round(train(torch.device("cuda")), 1))
"""


@pytest.fixture(autouse=True)
def device(monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    if not torch.cuda.is_available() or torch.version.cuda is None:
        pytest.skip("needs a CUDA device")
    monkeypatch.syspath_prepend(str(ROOT))


def test_rows_agree_with_the_driver_and_the_recorder_sees_what_it_did() -> None:
    outcomes = running.run(NAMES)
    assert [f"{one.call.name}: {one.why}" for one in outcomes if one.verdict != running.AGREE] == []
    assert all(one.driver is not None for one in outcomes)
    assert [one.call.name for one in outcomes if running.unlike(one)] == []


def test_fixes_are_measured_by_the_clock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "program.py").write_text(PROGRAM)
    command = [sys.executable, "-m", "transferlint", "verify", "--fixed", "--unsafe-fixes", "--rounds", "2"]
    made = subprocess.run([*command, "program.py"], capture_output=True, text=True, check=False, timeout=600)
    assert made.returncode == 0, made.stderr
    found = json.loads((tmp_path / "transferlint-run" / "fixed.json").read_text())
    assert (found["times"], found["what"], found["rounds"]) == ("measured", "wall time", 2)
    assert found["device"] not in ("", "Simulated CUDA device")
    assert (found["steps"], found["crossed"]["original"]["d2h"], found["crossed"]["fixed"]["d2h"]) == (59, 60, 1)
    assert 0.2 < found["step"]["ratio"] < 20
    assert found["whole"]["original_ns"] > found["step"]["original_ns"] * 59


def test_costs_grow_with_bytes_and_reads_wait_for_the_queue() -> None:
    costs, devices = (importlib.import_module(f"benchmarks.{name}") for name in ("costs", "device"))
    copies = costs.measure_copies([4096, 64 << 20], 10)
    for kind, ((_, short, _), (_, long, _)) in copies.items():
        if kind.endswith("non_blocking") and "pinned" in kind:
            assert long < 1e6, kind  # the host only hands it over
        else:
            assert long - short > 3e5, kind  # 64 MiB at less than 200 GB/s
    here = devices.Device({"device": "GPU", "torch": "", "date": ""})
    model, problem = costs.fitted(copies, costs.measure_waits(20), here)
    assert problem == ""
    assert model is not None
    busy = costs.measure_busy(5.0, 5, here)
    assert busy["blocked"] > 0.5 * busy["work"]
    assert busy["gap"] > busy["gap without"]


def test_lines_of_the_driver_are_those_of_the_recorder() -> None:
    kineto = importlib.import_module("benchmarks.kineto")
    for name in ("train", "numpy_detours", "own_backward"):
        found = kineto.compare(name, dry=False)
        assert (found["not told"], found["not made"]) == ([], []), name
        assert found["share"] == 1.0
