"""Forked workers get CUDA's error, spawned processes a device of their own, ranks talk over gloo, and processes end as
they should."""

from __future__ import annotations

import functools
import os
import shutil
import socket
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest
from simulated import in_simulation, side_by_side

STARTED = "from runtime_check import simulate\nsimulation = simulate.start()\n"


class Touching:
    """A data set that touches the device: `make` for a new tensor, otherwise one that was there."""

    def __init__(self, make: bool) -> None:
        import torch

        self.make = make
        self.held = torch.ones(2, device="cuda")

    def __len__(self) -> int:
        return 2

    def __getitem__(self, index: int) -> Any:
        import torch

        return torch.ones(2, device="cuda") if self.make else self.held.cpu()


@in_simulation
def test_a_forked_worker_that_touches_the_device_gets_cudas_error() -> None:
    from torch.utils.data import DataLoader

    with pytest.raises(RuntimeError, match="Cannot re-initialize CUDA in forked subprocess"):
        list(DataLoader(Touching(make=True), num_workers=1))  # type: ignore[arg-type]
    with pytest.raises(RuntimeError, match="CUDA error: initialization error"):
        list(DataLoader(Touching(make=False), num_workers=1))  # type: ignore[arg-type]


def test_a_spawned_process_has_the_device(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        STARTED
        + textwrap.dedent(
            """
            import torch.multiprocessing

            def work(rank, folder):
                import torch
                with open(f"{folder}/{rank}", "w") as stream:
                    stream.write(str((torch.ones(2, device="cuda") * rank).sum().item()))

            if __name__ == "__main__":
                torch.multiprocessing.spawn(work, ("FOLDER",), nprocs=2)
            """
        ).replace("FOLDER", str(tmp_path))
    )
    subprocess.run([sys.executable, str(program)], check=True, timeout=600)
    assert [(tmp_path / str(rank)).read_text() for rank in range(2)] == ["0.0", "2.0"]


def rank(number: int, ranks: int, port: int, place: str, backend: str) -> list[float]:
    """One rank of a training with DistributedDataParallel; what its weights and collectives gave."""
    import os

    import torch
    import torch.distributed as dist

    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), RANK=str(number), WORLD_SIZE=str(ranks))
    dist.init_process_group(backend)
    torch.manual_seed(number)
    layer = torch.nn.Linear(3, 3).to(place)
    model = torch.nn.parallel.DistributedDataParallel(layer, device_ids=[0] if place == "cuda" else None)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        optimizer.zero_grad()
        model(torch.full((2, 3), number + 1.0, device=place)).square().sum().backward()
        optimizer.step()
    parts = [torch.zeros(2, device=place) for _ in range(ranks)]
    dist.all_gather(parts, torch.full((2,), float(number), device=place))
    total = torch.ones(2, device=place) * (number + 1)
    dist.all_reduce(total)
    dist.barrier()
    del model  # its reducer holds the group: as in programs/ddp_two_ranks.py
    dist.destroy_process_group()
    return [*layer.weight.flatten().tolist(), *torch.cat(parts).tolist(), *total.tolist()]


@pytest.mark.parametrize("backend", ["gloo", "nccl"])
def test_two_ranks_train_together(backend: str) -> None:
    on_host = both_ranks(False, "cpu", "gloo")  # once for both
    assert on_host[0] == on_host[1]
    assert on_host[0][-6:] == [0.0, 0.0, 1.0, 1.0, 3.0, 3.0]
    assert both_ranks(True, "cuda", backend) == on_host


@functools.cache
def both_ranks(simulate: bool, place: str, backend: str) -> list[list[float]]:
    """What each of two ranks gave, each in a fork of its own."""
    given = {"ranks": 2, "port": free_port(), "place": place, "backend": backend}
    return side_by_side(__file__, "rank", simulate, [{"number": number, **given} for number in range(2)])


def free_port() -> int:
    """A port that nothing listens on."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@pytest.mark.parametrize("status", [0, 3])
def test_leaving_runs_what_the_interpreter_runs_and_keeps_the_status(status: int, tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        STARTED
        + textwrap.dedent(
            f"""
            import atexit, threading, time, torch

            atexit.register(print, "at exit")
            layer = torch.nn.Linear(20, 20).cuda()

            def endless():
                while True:
                    layer(torch.ones(2, 20, device="cuda")).sum().backward()

            said = threading.Event()

            def slow():
                said.wait()
                time.sleep(0.5)
                print("waited for")

            threading.Thread(target=endless, daemon=True).start()
            threading.Thread(target=slow).start()
            print("end of program", end=" ")
            said.set()
            simulation.leave({status})
            """
        )
    )
    ended = subprocess.run([sys.executable, str(program)], capture_output=True, text=True, timeout=600, check=False)
    assert (ended.returncode, ended.stderr) == (status, "")
    assert ended.stdout == "end of program waited for\nat exit\n"


@in_simulation
def test_autograds_threads_are_told_by_their_name_and_sleep_when_they_have_nothing_to_do() -> None:
    import torch

    from runtime_check.simulate import leaving

    assert leaving.asleep() == {}
    torch.ones(2, device="cuda", requires_grad=True).sum().backward()
    leaving.settle()
    assert leaving.asleep()


def test_the_end_waits_until_autograds_threads_sleep_through(monkeypatch: pytest.MonkeyPatch) -> None:
    from runtime_check.simulate import leaving

    looks: list[dict[str, str] | None] = [{"7": "1"}, None, {"7": "2"}, {"7": "3"}, None, {"7": "4"}, {"7": "4"}]
    left = iter(looks)
    monkeypatch.setattr(leaving, "asleep", lambda: next(left))
    leaving.settle()
    assert list(left) == []
    monkeypatch.setattr(leaving, "asleep", lambda: None)
    monkeypatch.setattr(leaving, "LONGEST_WAIT", 0.01)
    leaving.settle()


SLOW = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

/* Keeps autograd's threads busy, where that is asked for, after each time that they wake another. */
int pthread_cond_signal(pthread_cond_t *condition)
{
    static int (*real)(pthread_cond_t *);
    char name[17] = "";
    struct timespec begin, now;
    if (!real)
        real = (int (*)(pthread_cond_t *))dlsym(RTLD_NEXT, "pthread_cond_signal");
    int answer = real(condition);
    prctl(PR_GET_NAME, name);
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
    do
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    while (getenv("SLOW") && !strncmp(name, "pt_autograd_", 12)
           && (now.tv_sec - begin.tv_sec) * 1000000000L + now.tv_nsec - begin.tv_nsec < 20000000L);
    return answer;
}
"""
LATE = """
import os, sys, torch
from runtime_check import simulate
from runtime_check.simulate import trial

trial.run = lambda *_: ""
simulate.start()
x = torch.ones(2, requires_grad=True).to("cuda")
os.environ["SLOW"] = "1"
USE
sys.exit(3)
"""
ENDS = {
    "a gradient": "torch.autograd.grad((x * x).sum(), x)",
    "a mode": """
from runtime_check import session
session.start("trace", lambda event: None)
x.sum().backward()
""",
}


@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
@pytest.mark.parametrize("kept", ENDS)
def test_a_program_ends_well_whose_backward_pass_is_let_go_of_late(kept: str, tmp_path: Path) -> None:
    (tmp_path / "slow.c").write_text(SLOW)
    command = ["cc", "-O1", "-shared", "-fPIC", "-o", "slow.so", "slow.c", "-ldl"]
    subprocess.run(command, cwd=tmp_path, check=True, timeout=600)
    program = tmp_path / "program.py"
    program.write_text(LATE.replace("USE", ENDS[kept]))
    ended = subprocess.run(
        [sys.executable, str(program)],
        env={**os.environ, "LD_PRELOAD": str(tmp_path / "slow.so")},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (3, "", "")
