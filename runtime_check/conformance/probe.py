"""The process that makes the calls: names on its standard input, one line of JSON for each on its standard output.

A call that ends the process, or leaves the device unusable, costs the names after it nothing: `running` goes on with
them in another process.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import json
import os
import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any

from runtime_check import session
from runtime_check.conformance import calls, driver
from runtime_check.conformance.calls import Call
from runtime_check.events import Event
from transferlint.knowledge import catalogue
from transferlint.model import Direction

_AT_ONCE = 200  # calls under one profiler: what goes wrong in one costs no more than these their driver's word


class _Seen:
    """Collects what the recorder tells."""

    def __init__(self) -> None:
        self.kinds: set[str] = set()
        self.bytes = 0

    def __call__(self, event: Event) -> None:
        if event.direction in (Direction.H2D, Direction.D2H):
            self.kinds.add(event.direction.value)
            self.bytes += event.bytes
        if event.sync:
            self.kinds.add("sync")


class Probe:
    """Makes calls on the device of this process, which was started before."""

    def __init__(self, torch: Any) -> None:
        self._torch = torch
        self._grouped = False

    def namespace(self, call: Call) -> dict[str, Any]:
        """Everything that a call may use, new. Raises whatever importing or the setup raises."""
        torch = self._torch
        torch.manual_seed(0)
        x = torch.rand(3, 4).add(0.1).to("cuda")
        names: dict[str, Any] = {
            "torch": torch,
            "x": x,
            "y": x.clone().add(0.5),
            "host": torch.rand(3, 4),
            "pinned": torch.rand(3, 4).pin_memory(),
            "v": torch.tensor([0.1, 0.2, 0.3, 0.4], device="cuda"),
            "i": torch.tensor([0, 2, 1], device="cuda"),
            "b": x > 0.5,
            "m": torch.eye(4, device="cuda") + 0.1,
            "z": torch.tensor(0.5, device="cuda"),
            "g": torch.rand(3, 4, device="cuda").requires_grad_(),
            "group": self._group,
        }
        with contextlib.suppress(ImportError):
            names["numpy"] = importlib.import_module("numpy")
        if not call.name.startswith("Tensor."):
            names["F"], names["Owner"] = resolve(call.stands or call.name)
        exec(call.setup, names)
        return names

    def recorded(self, call: Call) -> dict[str, Any]:
        """What the recorder saw of a call, and where its result is. Raises what the call raises."""
        code = compile(call.text, f"<{call.name}>", "eval")
        eval(code, self.namespace(call))  # what the first call loads or allocates is no part of it
        names = self.namespace(call)
        self._torch.cuda.synchronize()
        seen = _Seen()
        with session.Session(seen, trace=False):
            result = eval(code, names)
        self._torch.cuda.synchronize()
        return {"seen": sorted(seen.kinds), "bytes": seen.bytes, "place": self._place(result)}

    def driven(self, wanted: list[Call]) -> dict[str, frozenset[str]]:
        """What the driver did in each call, by its index as text."""

        def run(stretch: Callable[[str], Any]) -> None:
            for index, call in enumerate(wanted):
                names = self.namespace(call)
                code = compile(call.text, f"<{call.name}>", "eval")
                self._torch.cuda.synchronize()
                with stretch(str(index)), contextlib.suppress(Exception):  # it was made twice and did not raise
                    eval(code, names)

        return driver.kinds(run)

    def _group(self) -> None:
        """A process group of this process alone."""
        if not self._grouped:
            distributed = self._torch.distributed
            store = distributed.HashStore()
            distributed.init_process_group("nccl", store=store, rank=0, world_size=1)
            distributed.all_reduce(self._torch.ones(1, device="cuda"))
            self._grouped = True

    def _place(self, result: Any) -> str:
        found = next(_tensors(result, self._torch.Tensor), None)
        return "" if found is None else "device" if found.is_cuda else "host"


def _tensors(value: Any, kind: type) -> Iterator[Any]:
    if isinstance(value, kind):
        yield value
    elif isinstance(value, (list, tuple)):
        for one in value:
            yield from _tensors(one, kind)
    elif isinstance(value, dict):
        for one in value.values():
            yield from _tensors(one, kind)


def resolve(name: str) -> tuple[Any, Any]:
    """What a qualified name stands for (None: its owner makes it on its objects), and what it is an attribute of.
    Raises ImportError and AttributeError."""
    parts = name.split(".")
    for end in range(len(parts), 0, -1):
        try:
            found: Any = importlib.import_module(".".join(parts[:end]))
        except ModuleNotFoundError as error:
            if error.name is None or not f"{'.'.join(parts[:end])}.".startswith(f"{error.name}."):
                raise
            continue
        owner: Any = None
        for part in parts[end:-1]:
            owner, found = found, getattr(found, part)
        if end < len(parts):
            owner, found = found, getattr(found, parts[-1], None)
        return found, owner
    raise ImportError(f"{parts[0]} is not installed")


def main() -> None:
    """Answer each name of the standard input; then, where there is a driver, say what it did in each call."""
    answers = os.dup(1)
    os.dup2(2, 1)  # what libraries print is no answer
    sys.stdout = io.StringIO()
    warnings.simplefilter("ignore")
    torch = importlib.import_module("torch")
    torch.set_num_threads(1)
    simulated = not torch.cuda.is_available()
    simulation: Any = None
    if simulated:
        from runtime_check import simulate

        simulation = simulate.start()
    probe = Probe(torch)
    made: list[tuple[int, Call]] = []
    with os.fdopen(answers, "w") as out:
        for line in sys.stdin:
            number, name, index = json.loads(line)
            call = calls.of(name, catalogue.rows()[name])[index]
            answer = _answer(probe, call)
            if "error" not in answer:
                made.append((number, call))
            print(json.dumps({"number": number, **answer}), file=out, flush=True)
            if answer.get("lost"):
                os._exit(3)
        if not simulated and made:
            for start in range(0, len(made), _AT_ONCE):
                some = made[start : start + _AT_ONCE]
                for key, kinds in probe.driven([call for _, call in some]).items():
                    print(json.dumps({"number": some[int(key)][0], "driver": sorted(kinds)}), file=out, flush=True)
    if simulation is not None:
        simulation.leave(0)
    os._exit(0)  # process groups and libraries' threads have nothing more to say


def _answer(probe: Probe, call: Call) -> dict[str, Any]:
    try:
        return probe.recorded(call)
    except Exception as error:
        words = f"{type(error).__name__}: {' '.join(str(error).split())}"[:200]
    answer: dict[str, Any] = {"error": words}
    try:
        probe._torch.cuda.synchronize()
    except Exception:
        answer["lost"] = True  # of an error in a kernel, every later call is told
    return answer


if __name__ == "__main__":
    main()
