"""Starting: once, for good, or not at all with one line that says why, and then nothing has changed."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from simulated import in_fork, in_simulation


def without_device() -> tuple[str, str]:
    """What torch says to a program that wants a device, and which accelerator C++ names: it depends on the build."""
    import torch

    with pytest.raises((AssertionError, RuntimeError)) as refused:
        torch.ones(1, device="cuda")
    return str(refused.value), str(torch._C._accelerator_getAccelerator())


@in_simulation
def test_there_is_one_simulation_in_a_process() -> None:
    import torch

    from runtime_check import simulate

    assert simulate.start() is simulate.start()
    assert simulate.refusal() == ""
    assert simulate.start().device_name == torch.cuda.get_device_name()


@in_fork
def test_asking_for_a_refusal_changes_nothing() -> None:
    import torch

    from runtime_check import simulate

    before = without_device()
    assert simulate.refusal() == ""
    assert not torch.cuda.is_available()
    assert without_device() == before


@in_simulation
def test_no_real_kernel_is_left_in_a_build_with_cuda() -> None:
    import torch

    from runtime_check.simulate import changes
    from runtime_check.simulate.cuda_wheel import NOT_THERE

    if not hasattr(torch._C, "_cuda_getDeviceCount"):  # the simulated `torch.version` tells nothing of the build
        pytest.skip("this torch was built without CUDA")
    real = [
        f"{name} at {line}"
        for name in torch._C._dispatch_get_all_op_names()
        for line in torch._C._dispatch_dump(name).splitlines()
        if line.partition(": ")[0] in ("CUDA", *NOT_THERE) and f"registered at {changes.__file__}:" not in line
    ]
    assert real == []
    indices, values = torch.tensor([[0, 1]], device="cuda"), torch.ones(2, device="cuda")
    with pytest.raises(NotImplementedError, match="with arguments from the 'SparseCUDA' backend"):
        torch.sparse_coo_tensor(indices, values, (3,))


@in_fork
def test_one_device_goes_backward_in_the_thread_that_asks() -> None:
    import torch

    from runtime_check import simulate

    def thread_of_a_hook() -> int:
        found = []
        x = torch.ones(2, device="cuda", requires_grad=True)
        x.register_hook(lambda _: found.append(threading.get_native_id()))
        (x * 2).sum().backward()
        return found[0]

    simulate.start()
    assert thread_of_a_hook() == threading.get_native_id()
    with torch.autograd.set_multithreading_enabled(True):
        assert thread_of_a_hook() != threading.get_native_id()


@in_fork
def test_several_devices_keep_autograds_threads() -> None:
    import torch

    from runtime_check import simulate

    simulate.start(2)
    assert torch._C._is_multithreading_enabled()


@in_fork
def test_it_does_not_start_after_a_backward_pass() -> None:
    import torch

    from runtime_check import simulate

    torch.ones(1, requires_grad=True).sum().backward()
    with pytest.raises(simulate.Refused, match=r"before the first backward pass.*tested with torch 2") as refused:
        simulate.start()
    assert "\n" not in str(refused.value)
    assert not torch.cuda.is_available()


@in_fork
def test_another_order_of_virtual_functions_is_refused() -> None:
    import torch

    from runtime_check import simulate
    from runtime_check.simulate import cuda_hooks, device_guard

    real = cuda_hooks.slots
    cuda_hooks.slots = lambda header: {name: slot + (slot > 1) for name, slot in real(header).items()}
    assert "isBuilt() is function 3, its behaviour says 2" in simulate.refusal()
    cuda_hooks.slots = lambda header: {}
    assert "header of accelerator hooks" in simulate.refusal()
    cuda_hooks.slots = real
    device_guard.slots = lambda header: {}
    if torch.cuda._is_compiled():  # it has a guard, and needs no header for one
        assert simulate.refusal() == ""
    else:
        assert "header of device guards" in simulate.refusal()


@in_fork
def test_an_abort_in_the_trial_is_a_refusal() -> None:
    from runtime_check import simulate
    from runtime_check.simulate import trial

    trial.exercise = os.abort
    assert simulate.refusal().startswith("the simulated accelerator cannot start: SIGABRT")


STARTING = """
import os, sys
from runtime_check import simulate
from runtime_check.simulate import trial
fork, forks = os.fork, []
os.fork = lambda: forks.append(1) or fork()
{}
try:
    simulate.start(devices=int(sys.argv[1]))
except simulate.Refused as error:
    print(str(error)[:50])
print(len(forks))
"""


def starting(folder: Path, *lines: str, devices: int = 1) -> list[str]:
    """What a process prints that starts with a cache here: a refusal, and how often it forked."""
    environment = {**os.environ, "TRANSFERLINT_CACHE_DIR": str(folder)}
    command = [sys.executable, "-c", STARTING.format("\n".join(lines)), str(devices)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout.splitlines()


def test_what_was_tried_is_not_tried_again_by_a_process_that_has_just_imported_torch(tmp_path: Path) -> None:
    from runtime_check.simulate import conditions

    if unmet := conditions.unmet():
        pytest.skip(unmet)
    assert "SIGABRT" in starting(tmp_path, "trial.exercise = os.abort")[0]
    assert not (tmp_path / "simulation").exists()
    assert starting(tmp_path) == ["1"]
    assert starting(tmp_path) == ["0"]
    assert starting(tmp_path, "import torch") == ["1"]
    assert starting(tmp_path, devices=2) == ["1"]
    assert len(list((tmp_path / "simulation").iterdir())) == 2


@in_fork
def test_a_trial_that_hangs_is_ended() -> None:
    import threading

    from runtime_check import simulate
    from runtime_check.simulate import trial

    trial.SECONDS = 1.0
    trial.exercise = lambda: threading.Event().wait()
    assert "did not end in time" in simulate.refusal()


@in_fork
def test_a_start_that_fails_is_taken_back() -> None:
    import torch

    from runtime_check import simulate
    from runtime_check.simulate import dispatcher, trial

    said = without_device()
    before = {name: value for name, value in vars(torch.cuda).items() if not name.startswith("__")}
    names = {module: dict(vars(module)) for module in (torch, torch.accelerator, torch.Tensor, torch.UntypedStorage)}

    def broken(*_args: object) -> None:
        raise KeyError("on purpose")

    trial.run = lambda *_: ""
    dispatcher._fall_back = broken
    with pytest.raises(simulate.Refused, match="KeyError: 'on purpose'"):
        simulate.start()
    assert {name: value for name, value in vars(torch.cuda).items() if not name.startswith("__")} == before
    for module, values in names.items():
        assert dict(vars(module)) == values
    assert without_device() == said
    x = torch.ones(3, requires_grad=True)
    (x * 2).sum().backward()
    assert x.grad is not None


@pytest.mark.parametrize("hidden", ["", "-1"])
def test_a_hidden_gpu_is_no_obstacle(hidden: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from runtime_check.simulate import conditions

    monkeypatch.setattr(conditions.Path, "exists", lambda self: True)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", hidden)
    assert conditions._real_device() == ""


def test_a_visible_gpu_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    from runtime_check.simulate import conditions

    monkeypatch.setattr(conditions.Path, "exists", lambda self: True)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    assert conditions._real_device().startswith("a real GPU is visible; hide it with CUDA_VISIBLE_DEVICES=")


@pytest.mark.parametrize(
    ("version", "why"),
    [("", "torch is not installed"), ("2.9.1+cu128", "it needs torch 2.10 or later"), ("odd", "2.10")],
)
def test_other_versions_of_torch_are_refused(version: str, why: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from runtime_check.simulate import conditions

    monkeypatch.setattr(conditions, "torch_version", lambda: version)
    assert why in conditions._torch()


def test_the_package_imports_without_torch() -> None:
    code = "import sys, runtime_check.simulate; assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=600)
