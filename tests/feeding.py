"""Running a small program with arguments of every kind, before and after its fixes: what each leaves is the same.

A program defines classes, each with a method `run` of an argument that nothing tells of. It is fed with a tensor of the
host, one of the device, a dtype, a number, an array, a module, an object of a class of its own, and so on.
"""

from __future__ import annotations

import ast
import contextlib
import io
import types
from collections.abc import Callable
from typing import Any

import driving
import numpy as np
import torch


class Thing:
    """Looks like a tensor, a place and a container, and is none. It keeps what is done with it."""

    def __init__(self) -> None:
        self.done: list[str] = []

    def _does(self, name: str) -> Thing:
        self.done.append(name)
        return self

    def to(self, *given: Any, **named: Any) -> Thing:
        return self._does(f"to {len(given)} {sorted(named)}")

    def cuda(self, *given: Any, **named: Any) -> Thing:
        return self._does(f"cuda {len(given)} {sorted(named)}")

    def cpu(self) -> Thing:
        return self._does("cpu")

    def bool(self) -> Thing:
        return self._does("bool")

    def float(self) -> Thing:
        return self._does("float")

    def numpy(self) -> Any:
        return np.full(2, len(self._does("numpy").done))

    def item(self) -> int:
        return len(self._does("item").done)

    def numel(self) -> int:
        return len(self._does("numel").done)

    @property
    def shape(self) -> tuple[int, ...]:
        return (len(self._does("shape").done),)

    @property
    def device(self) -> torch.Tensor:
        return torch.zeros(1, dtype=torch.int32).cuda()

    @property
    def dtype(self) -> type:
        return float

    def __len__(self) -> int:
        self._does("len")
        return 2

    def __getitem__(self, key: Any) -> Thing:
        if isinstance(key, int) and key >= 2:
            raise IndexError(key)
        return self._does("item")

    def __add__(self, other: Any) -> Thing:
        return self._does("add")

    __radd__ = __add__

    def __str__(self) -> str:
        return f"thing {len(self._does('str').done)}"


class Narrow(torch.Tensor):
    """A class of tensors of its own."""


KINDS: dict[str, Callable[[], Any]] = {
    "a tensor of the host": lambda: torch.ones(3, 2),
    "a tensor of the device": lambda: torch.ones(3, 2).cuda(),
    "a tensor without dimensions": lambda: torch.tensor(2.0).cuda(),
    "a tensor of one element": lambda: torch.ones(1, 1).cuda(),
    "a tensor of whole numbers": lambda: torch.arange(3),
    "an empty tensor": lambda: torch.ones(0, 2).cuda(),
    "a mask": lambda: torch.tensor([True, False, True]).cuda(),
    "a tensor with a gradient": lambda: torch.ones(3, 2, requires_grad=True),
    "a parameter": lambda: torch.nn.Parameter(torch.ones(3, 2).cuda()),
    "a tensor of another class": lambda: torch.ones(3, 2).as_subclass(Narrow),
    "a strided tensor": lambda: torch.ones(3, 4).cuda()[:, ::2],
    "a device": lambda: torch.device("cuda"),
    "the host": lambda: torch.device("cpu"),
    "the name of a device": lambda: "cuda",
    "a word": lambda: "word",
    "an index": lambda: 0,
    "a number": lambda: 3,
    "a long number": lambda: 2**70,
    "a fraction": lambda: 2.5,
    "a large fraction": lambda: 1e300,
    "no number": lambda: float("nan"),
    "a truth": lambda: True,
    "none": lambda: None,
    "a dtype": lambda: torch.float16,
    "a type": lambda: int,
    "a number of numpy": lambda: np.float64(0.1),
    "an array": lambda: np.arange(6.0).reshape(3, 2),
    "an array of bytes": lambda: np.arange(3, dtype=np.uint8),
    "a list": lambda: [1.5, 2.5],
    "a list of tensors": lambda: [torch.ones(2), torch.zeros(2)],
    "a tuple": lambda: (2, 3),
    "a size": lambda: torch.Size([2, 3]),
    "a mapping": lambda: {"y": torch.ones(2)},
    "a module": lambda: torch.nn.Linear(2, 2),
    "a data set": lambda: torch.utils.data.TensorDataset(torch.ones(4, 2), torch.zeros(4)),
    "a list of samples": lambda: [(torch.ones(2), 1), (torch.zeros(2), 0)],
    "a list of things": lambda: [Thing(), Thing()],
    "a thing": Thing,
    "a function": lambda: len,
}


def left(namespace: dict[str, Any], name: str, kind: str) -> Any:
    """What `run` of the class `name` of a loaded program returns or raises, writes and says, given one kind."""
    torch.manual_seed(0)
    said = io.StringIO()
    given = KINDS[kind]()
    holder = types.SimpleNamespace(y=given, device=given)
    driving.CLOCK.now = 0.0
    try:
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(io.StringIO()):
            made = namespace[name]().run({"given": given, "holder": holder, "get": lambda: given})
        result = ("returned", driving._plain(made))
    except Exception as error:
        result = ("raised", type(error).__name__)
    finally:
        torch.set_grad_enabled(True)
    return [*result, driving._plain(given), said.getvalue(), torch.get_rng_state()]


def differences(before: str, after: str, names: list[str]) -> list[str]:
    """Where the classes `names` of a program leave something else after the fixes than before, for some kind. A class
    that does nothing with what it is given is given one kind."""
    old, new = driving.load(before), driving.load(after)
    taking = _taking(before) | _taking(after)
    found = []
    for name in names:
        for kind in KINDS if name in taking else [*KINDS][:1]:
            one, two = left(old, name, kind), left(new, name, kind)
            if not driving.alike(one, two, True):
                found.append(f"{name}, given {kind}: {driving.difference(one, two)}")
    return found


def _taking(text: str) -> set[str]:
    """The classes whose methods use an argument that `run` passes on in `given`."""
    return {
        node.name
        for node in ast.parse(text).body
        if isinstance(node, ast.ClassDef)
        for method in node.body
        if isinstance(method, ast.FunctionDef) and method.name != "run"
        if {"given", "holder", "get"} & {one.id for one in ast.walk(method) if isinstance(one, ast.Name)}
    }
