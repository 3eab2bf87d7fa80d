"""A session leaves the process as it found it, however it ends, and however many there are."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import threading
import warnings
from typing import Any

import pytest
from listening import Told, told
from simulated import in_fork, in_simulation

from runtime_check import guard, session

pytest.importorskip("torch")
PRELUDE = """
    from runtime_check import simulate
    simulation = simulate.start()
    import sys, torch
    sys.path.insert(0, {tests!r})
    from listening import Told
    from runtime_check import session
    x = torch.ones(3, device="cuda")
"""


def run(body: str) -> subprocess.CompletedProcess[str]:
    """Run a program on the simulated device in a new interpreter."""
    tests = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    code = textwrap.dedent(PRELUDE.format(tests=tests)) + textwrap.dedent(body)
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=600, check=False)


def registered() -> dict[str, Any]:
    """What a session changes in the process."""
    import multiprocessing.process

    import torch
    from torch.optim import optimizer
    from torch.utils import _python_dispatch as modes

    dump = torch._C._dispatch_dump
    return {
        "copy": dump("aten::copy_"),
        "read": dump("aten::_local_scalar_dense"),
        "Tensor": dict(vars(torch.Tensor)),
        "torch": dict(vars(torch)),
        "cuda": dict(vars(torch.cuda)),
        "Stream": dict(vars(torch.cuda.Stream)),
        "Event": dict(vars(torch.cuda.Event)),
        "accelerator": dict(vars(torch.accelerator)),
        "autograd": dict(vars(torch.autograd)),
        "steps": dict(optimizer._global_optimizer_post_hooks),
        "process": dict(vars(multiprocessing.process.BaseProcess)),
        "thread": dict(vars(threading.Thread)),
        "modes": modes._get_current_dispatch_mode_stack(),
        "filters": list(warnings.filters),
        "showwarning": warnings.showwarning,
        "excepthook": sys.excepthook,
    }


def use(x: Any) -> None:
    """A little of everything that hooks see."""
    import torch

    x.cpu()
    torch.tensor([x.sum().item()], device="cuda")
    x.to("cuda")
    x.nonzero()
    torch.cuda.synchronize()
    torch.ones(2, requires_grad=True).to("cuda").sum().backward()


def on_device() -> Any:
    import torch

    return torch.ones(3, device="cuda")


@in_simulation
def test_after_stop_nothing_of_ours_is_registered() -> None:
    import torch

    torch.nn.functional.relu(on_device())
    before = registered()
    for trace in (False, True, True):
        with told(trace) as seen:
            use(on_device())
        count = len(seen.events)
        assert count >= 7
        use(on_device())
        assert len(seen.events) == count
        after = registered()
        assert {name for name in before if before[name] != after[name]} == set()


@in_simulation
def test_a_dispatch_mode_of_the_program_works_before_and_after() -> None:
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode

    class Counting(TorchDispatchMode):
        count = 0

        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            self.count += 1
            return func(*args, **(kwargs or {}))

    counts = []
    listening = Told()
    for trace in (None, False, True, None):
        running = None if trace is None else session.Session(listening, trace)
        with Counting() as mode:
            use(on_device())
            torch.tensor([1.0], device="cuda")
        if running is not None:
            running.stop()
        counts.append(mode.count)
    assert len(set(counts)) == 1


@in_simulation
def test_stop_leaves_modes_that_the_program_entered_meanwhile() -> None:
    import torch
    from torch.utils import _python_dispatch as modes

    class Passing(modes.TorchDispatchMode):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return func(*args, **(kwargs or {}))

    running = session.start("trace", Told())
    with Passing() as mode:
        running.stop()
        assert modes._get_current_dispatch_mode_stack() == [mode]
        torch.ones(2) + 1
    assert modes._get_current_dispatch_mode_stack() == []


@in_simulation
def test_sessions_nest_and_repeat() -> None:
    outer, inner = Told(), Told()
    x = on_device()
    first = session.start("guard", outer)
    x.cpu()
    second = session.start("trace", inner)
    x.cpu()
    first.stop()
    x.cpu()
    second.stop()
    second.stop()
    x.cpu()
    assert (len(outer.events), len(inner.events)) == (2, 2)
    assert outer.events[0].target is None
    assert inner.events[0].target is not None
    assert inner.events[1].target is not None
    assert len(inner.events[0].frames) > 1  # the chain is told to whoever comes later, too
    same = Told()
    with session.start("guard", same), session.start("guard", same):
        x.cpu()
    assert len(same.events) == 2


@in_simulation
def test_starting_and_stopping_in_threads_at_once() -> None:
    before = registered()
    problems: list[BaseException] = []
    x = on_device()

    def often() -> None:
        try:
            for index in range(10):
                with told(trace=index % 2 == 0) as seen, guard(h2d="disallow_explicit"):
                    x.cpu()
                assert seen.events
        except BaseException as error:
            problems.append(error)

    threads = [threading.Thread(target=often) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert problems == []
    after = registered()
    assert {name for name in before if before[name] != after[name]} == set()


@in_simulation
def test_an_exception_in_the_program_is_the_programs() -> None:
    import torch

    x = on_device()
    with told() as seen, pytest.raises(RuntimeError, match="must match the size"):
        torch.ones(2).copy_(x)
    assert seen.events == []
    with pytest.raises(KeyError), told():
        raise KeyError
    assert session.RECORDER._hooks is None


@in_simulation
def test_a_name_that_was_kept_while_recording_still_works_afterwards() -> None:
    import torch

    with told(trace=True) as seen:
        synchronize, make, move = torch.cuda.synchronize, torch.tensor, torch.Tensor.to
    synchronize()
    move(make([1.0]), "cuda")
    assert seen.events == []


@in_simulation
def test_what_others_replaced_meanwhile_stays() -> None:
    import torch

    with told():
        ours = torch.cuda.synchronize

        def theirs() -> None:
            ours()

        torch.cuda.synchronize = theirs
    assert torch.cuda.synchronize is theirs
    torch.cuda.synchronize()


@in_simulation
def test_a_forked_child_goes_on_recording_by_itself() -> None:
    import torch

    with told() as seen:
        child = os.fork()
        if child == 0:
            before = len(seen.events)
            try:
                torch.cuda.synchronize()
            except RuntimeError:  # as in a child of a process that has used CUDA
                os._exit(0 if len(seen.events) == before else 1)
            os._exit(0 if len(seen.events) == before + 1 else 2)
        _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    assert seen.events == []


@in_simulation
def test_a_forked_child_can_stop_and_start_while_its_parent_held_the_lock() -> None:
    with session.RECORDER._lock:
        child = os.fork()
        if child == 0:
            with told():
                pass
            os._exit(7)
        _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 7


@in_fork
def test_a_session_without_an_accelerator_sees_nothing_and_changes_nothing() -> None:
    import torch

    before = registered()
    with told(trace=True) as seen:
        torch.ones(3).cpu()
        torch.ones(2, requires_grad=True).sum().backward()
    assert [event.operation for event in seen.events] == ["torch.Tensor.cpu"]
    after = registered()
    assert {name for name in before if before[name] != after[name]} == set()


@in_fork
def test_kernels_that_are_not_python_are_called_through() -> None:
    import torch

    from runtime_check.hooks import overrides
    from runtime_check.hooks.observer import Observer

    before = torch._C._dispatch_dump("aten::copy_"), torch._C._dispatch_dump("aten::_local_scalar_dense")
    undo = overrides.install(Observer(), "CPU")
    try:
        assert torch._C._dispatch_dump("aten::copy_") != before[0]
        a = torch.arange(6.0).reshape(2, 3)
        assert a.t().to(torch.float64).tolist() == [[0.0, 3.0], [1.0, 4.0], [2.0, 5.0]]
        b = torch.zeros(3)
        b[1] = 5
        assert b.sum().item() == 5.0
        x = torch.ones(3, requires_grad=True)
        (x.to(torch.float64) * 2).sum().backward()
        assert x.grad is not None
        assert x.grad.tolist() == [2.0, 2.0, 2.0]
    finally:
        undo()
    assert (torch._C._dispatch_dump("aten::copy_"), torch._C._dispatch_dump("aten::_local_scalar_dense")) == before


def test_the_exit_of_a_program_that_records_to_its_end_is_its_own() -> None:
    ran = run(
        """
        seen = Told()
        session.start("trace", seen)
        torch.ones(2, requires_grad=True).to("cuda").sum().backward()
        import atexit
        atexit.register(lambda: print(len(seen.events), flush=True))
        sys.exit(3)
        """
    )
    assert (ran.stdout.strip(), ran.stderr) == ("2", "")
    assert ran.returncode == 3


def test_a_traceback_is_the_programs() -> None:
    ran = run(
        """
        session.start("guard", Told())
        torch.ones(2).copy_(x)
        """
    )
    assert ran.returncode == 1
    assert ran.stderr.strip().splitlines()[-1].startswith("RuntimeError: The size of tensor a (2) must match")


def test_an_unknown_level_is_refused_in_words() -> None:
    with pytest.raises(ValueError, match="no level 'loud': one of guard, trace, profile, simulate"):
        session.start("loud", Told())
