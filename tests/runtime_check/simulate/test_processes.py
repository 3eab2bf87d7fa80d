"""Forked workers get CUDA's error, spawned processes a device of their own, ranks talk over gloo, and processes end as
they should."""

from __future__ import annotations

import functools
import socket
import subprocess
import sys
import textwrap
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from simulated import Server, in_simulation

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
    subprocess.run([sys.executable, str(program)], check=True, timeout=120)
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
    port = free_port()
    with ThreadPoolExecutor(2) as pool:
        asked = [
            pool.submit(
                server.ask,
                {
                    "path": __file__,
                    "function": "rank",
                    "simulate": simulate,
                    "kwargs": {"number": number, "ranks": 2, "port": port, "place": place, "backend": backend},
                },
            )
            for number, server in enumerate(two_servers())
        ]
    answers = [future.result() for future in asked]
    assert [answer.get("text") for answer in answers] == [None, None]
    return [answer["value"] for answer in answers]


@functools.cache
def two_servers() -> tuple[Server, Server]:
    """One for each rank."""
    return Server(), Server()


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
    ended = subprocess.run([sys.executable, str(program)], capture_output=True, text=True, timeout=120, check=False)
    assert (ended.returncode, ended.stderr) == (status, "")
    assert ended.stdout == "end of program waited for\nat exit\n"
