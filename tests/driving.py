"""Calling what a program defines: arguments are made up from the names of parameters, the same ones for the program
before a fix and after it, and all that a call leaves behind can be compared.

A recipe says what batches, tensors and unnamed things look like. Those with which the program runs are found by trying.
"""

from __future__ import annotations

import ast
import contextlib
import dataclasses
import inspect
import io
import itertools
import re
import signal
import types
from collections.abc import Callable, Iterator
from typing import Any

import torch

SECONDS = 5.0  # of the processor
Count = Callable[[], contextlib.AbstractContextManager[Any]]
_MODEL = re.compile(r"(model|net|(en|de)coder|critic|policy|student|teacher|body|module|backbone|layer|embed(ding)?)$")
_BATCHES = re.compile(r"(loader|batches|data|dataset|rows|chunks|frames|sentences|cameras|pairs|lines|samples)$")
_SINK = re.compile(r"(logger|log|sink|tracker|trainer|writer|queue|progress|meter)$")
_NUMBER = re.compile(r"(lr|momentum|limit|gain|floor|level|seconds|rate|scale|value|weight|threshold)$")
_COUNT = re.compile(r"(n|steps?|count|rounds?|epochs?|width|size|classes|turns|index|at|longest|workers|k|timestep)$")


_CHOICES: dict[str, tuple[Any, ...]] = {
    "batch": ("one", "pair", "alike", "mapping"),
    "shape": ((8, 4), (4,), (2, 4, 4), ()),
    "dtype": ("float32", "int64", "bool"),
    "device": ("cuda", "cpu"),
    "other": ("tensor", "list", "count", "array", "sink"),
}


@dataclasses.dataclass(frozen=True)
class Recipe:
    """What arguments look like: `batch` "one", "pair" (of numbers and classes), "alike" (a pair of one shape) or
    "mapping"; where tensors are, their dtype and shape; and what is given for a name that says nothing."""

    batch: str
    shape: tuple[int, ...]
    dtype: str
    device: str
    other: str


def recipes() -> list[Recipe]:
    """All recipes, the plain ones first."""
    made = itertools.product(*(range(len(choices)) for choices in _CHOICES.values()))
    ordered = sorted(made, key=lambda picks: (sum(map(bool, picks)), sum(picks)))
    return [
        Recipe(*(choices[pick] for choices, pick in zip(_CHOICES.values(), picks, strict=True))) for picks in ordered
    ]


class Net(torch.nn.Module):
    """A model that takes anything with numbers in it and gives a float tensor of 4 columns."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(4, 4)

    def forward(self, *given: Any, **named: Any) -> Any:
        tensors = [one for one in (*given, *named.values()) if isinstance(one, torch.Tensor)]
        if not tensors:
            return self.linear(self.linear.weight)
        x = tensors[0].float()
        x = x if x.dim() and x.shape[-1] == 4 else x.unsqueeze(-1).expand(*x.shape, 4)
        return self.linear(x)


class Sink:
    """Takes whatever is called on it, and keeps it."""

    def __init__(self) -> None:
        self.kept: list[Any] = []

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *given, **named: self.kept.append((name, given, named))

    def __call__(self, *given: Any, **named: Any) -> None:
        self.kept.append(("call", given, named))


@dataclasses.dataclass
class Left:
    """What a call left: plain data that `alike` compares, the error's type, and how often it crossed or waited."""

    data: Any
    error: str
    crossings: int


class Crossings:
    """How many transfers and waits were told of since this was made, until it is stopped."""

    def __init__(self, events: list[Any]) -> None:
        self.events = events
        self.start = len(events)
        self.end = 0

    def stop(self) -> None:
        self.end = len(self.events)

    def __call__(self) -> int:
        return sum(event.sync or event.direction.value != "none" for event in self.events[self.start : self.end])


def targets(before: str, after: str) -> list[str]:
    """The functions at the top of a program, and its classes' methods (`Class.method`), whose text a fix changed, or
    that name one of these."""
    old, new = _functions(before), _functions(after)
    found = {name for name, text in old.items() if new.get(name) != text}
    words = [name.rpartition(".")[2] for name in found]
    return [name for name, text in old.items() if name in found or any(f"'{word}'" in text for word in words)]


def _functions(text: str) -> dict[str, str]:
    found = {}
    for node in ast.parse(text).body:
        if isinstance(node, ast.FunctionDef):
            found[node.name] = ast.dump(node)
        elif isinstance(node, ast.ClassDef):
            whole = {f"{node.name}.{one.name}": ast.dump(one) for one in node.body if isinstance(one, ast.FunctionDef)}
            made = whole.get(f"{node.name}.__init__", "")  # what a method computes with
            found |= {name: one + made for name, one in whole.items() if not name.rpartition(".")[2].startswith("__")}
    return found


def load(text: str) -> dict[str, Any]:
    """Run a program's top level, where memory that nobody filled is zero. Raises whatever it raises."""
    namespace: dict[str, Any] = {"__name__": "driven"}
    exec(compile(text.replace("torch.empty(", "torch.zeros("), "driven.py", "exec"), namespace)
    return namespace


def call(text: str, target: str, recipe: Recipe, count: Count) -> Left:
    """`called`, with the attributes that the object of a method lacks, made up like arguments."""
    lacking: tuple[str, ...] = ()
    while True:
        left = called(text, target, recipe, count, lacking)
        missing = re.match(r"AttributeError: '(\w+)' object has no attribute '(\w+)'$", left.error)
        if missing is None or missing[1] != target.partition(".")[0] or missing[2] in lacking:
            return left
        lacking += (missing[2],)


def called(text: str, target: str, recipe: Recipe, count: Count, lacking: tuple[str, ...] = ()) -> Left:
    """Load a program and call one of its functions; "" is its top level. `count` gives a context whose value,
    called, tells the crossings within. Nothing is raised: an error is what the call left."""
    torch.manual_seed(0)
    CLOCK.now = 0.0
    said = io.StringIO()
    given: dict[str, Any] = {}
    result: Any = None
    error = ""
    with _limited(), contextlib.redirect_stdout(said), contextlib.redirect_stderr(io.StringIO()):
        try:
            if target:
                namespace = load(text)
                function, owner = _function(namespace, target, recipe, lacking)
                given = arguments(function, recipe)
                torch.manual_seed(1)
            with count() as counted:
                if target:
                    result = function(**given)
                    if isinstance(result, types.GeneratorType):
                        result = list(itertools.islice(result, 8))
                    given = {**given, "": owner}
                else:
                    result = {key: one for key, one in load(text).items() if not key.startswith("__")}
        except Exception as raised:
            return Left(None, f"{type(raised).__name__}: {raised}", 0)
        finally:
            torch.set_default_device(None)
            torch.set_grad_enabled(True)
    random = [torch.get_rng_state(), *_device_random()]
    return Left(_plain([result, given, said.getvalue(), random]), error, counted())


def arguments(function: Callable[..., Any], recipe: Recipe) -> dict[str, Any]:
    """An argument for each parameter that has no default."""
    given: dict[str, Any] = {}
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.default is parameter.empty and parameter.kind not in (
            parameter.VAR_POSITIONAL,
            parameter.VAR_KEYWORD,
        ):
            given[name] = _argument(name, str(parameter.annotation), recipe, given)
    return given


def _argument(name: str, annotation: str, recipe: Recipe, others: dict[str, Any]) -> Any:
    model = next((one for one in others.values() if isinstance(one, torch.nn.Module)), None)
    if name in ("device", "dev"):
        return torch.device("cuda")
    if "Tensor" in annotation and "list" not in annotation:
        return _tensor(recipe)
    if "Optimizer" in annotation or name in ("optimizer", "optim"):
        return torch.optim.SGD((model or Net().to("cuda")).parameters(), lr=0.1)
    if "list[str]" in annotation or name == "words":
        return ["a", "b", "c", "d", "e"]
    if "bool" in annotation:
        return True
    if "int" in annotation or _COUNT.match(name):
        return 3
    if "float" in annotation or _NUMBER.match(name):
        return 0.5
    if "DataLoader" in annotation or _BATCHES.search(name):
        return [_batch(recipe) for _ in range(3)]
    if "Module" in annotation or _MODEL.search(name):
        return Net().to("cuda")
    if name in ("models", "layers", "heads"):
        return [Net().to("cuda"), Net().to("cuda")]
    if name in ("criterion", "loss_fn"):
        return _criterion
    if name in ("closure", "make_batch", "step"):
        return lambda *_: _tensor(recipe)
    if _SINK.search(name):
        return Sink()
    if recipe.other == "array":
        return _tensor(recipe, "cpu").numpy()
    many = [_tensor(recipe) for _ in range(3)]
    return {"tensor": _tensor(recipe), "count": 3, "list": many, "sink": Sink()}[recipe.other]


def _tensor(recipe: Recipe, place: str = "") -> torch.Tensor:
    made = torch.rand(recipe.shape) if recipe.dtype == "float32" else torch.randint(0, 2, recipe.shape)
    return made.to(getattr(torch, recipe.dtype)).to(place or recipe.device)


def _batch(recipe: Recipe) -> Any:
    """Batches are on the host, as loaders give them."""
    if recipe.batch == "one":
        return _tensor(recipe, "cpu")
    pair = torch.rand(8, 4), torch.randint(0, 4, (8,))
    if recipe.batch == "pair":
        return pair
    if recipe.batch == "alike":
        return pair[0], torch.rand(8, 4)
    names = ("x", "image", "images", "pixels", "input_ids", "ids", "mask", "lengths", "features")
    return {**dict.fromkeys(names, pair[0]), **dict.fromkeys(("y", "label", "labels", "target", "targets"), pair[1])}


def _criterion(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    if a.dim() == 2 and b.dtype == torch.int64 and b.dim() == 1:
        return torch.nn.functional.cross_entropy(a, b)
    return (a.float() - b.float().mean()).square().mean()


def _function(
    namespace: dict[str, Any], target: str, recipe: Recipe, lacking: tuple[str, ...]
) -> tuple[Callable[..., Any], Any]:
    """The function, bound to an object where it is a method, and that object."""
    owner, _, name = target.rpartition(".")
    if not owner:
        return namespace[name], None
    made = namespace[owner](**arguments(namespace[owner], recipe))
    for attribute in lacking:
        setattr(made, attribute, _argument(attribute, "", recipe, {}))
    if isinstance(made, torch.nn.Module):
        made.to(recipe.device)
    return getattr(made, name), made


@contextlib.contextmanager
def _limited() -> Iterator[None]:
    """A loop that waits for a number that never comes is ended."""

    def late(number: int, frame: Any) -> None:
        raise TimeoutError("takes too long")

    before = signal.signal(signal.SIGPROF, late)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def _device_random() -> list[torch.Tensor]:
    return [torch.cuda.get_rng_state()] if torch.cuda.is_available() else []


def _plain(value: Any, depth: int = 6) -> Any:
    """Data that stays as it is: of tensors where they are and what they hold, of objects what they are made of."""
    if isinstance(value, torch.Tensor):
        made = value.detach().to("cpu", copy=True)
        grad = _plain(value.grad) if value.is_leaf and value.grad is not None else None
        return ("tensor", value.device.type, value.requires_grad, made, grad)
    if isinstance(value, torch.nn.Module):
        return ("module", {name: _plain(one) for name, one in value.named_parameters()}, dict(value.named_buffers()))
    if type(value).__module__ == "numpy" and hasattr(value, "dtype"):
        return ("array", torch.as_tensor(value).clone())
    if isinstance(value, Sink):
        return ("sink", _plain(value.kept, depth))
    if isinstance(value, (list, tuple)) and depth:
        return [_plain(one, depth - 1) for one in value]
    if isinstance(value, dict) and depth:
        return {str(key): _plain(one, depth - 1) for key, one in value.items()}
    if isinstance(value, (bool, int, float, complex, str, bytes, type(None))):
        return value
    if type(value).__module__.partition(".")[0] in ("torch", "runtime_check"):
        return type(value).__name__
    if hasattr(value, "__dict__") and depth and not isinstance(value, (type, types.ModuleType, types.FunctionType)):
        return _plain({key: one for key, one in vars(value).items() if not key.startswith("__")}, depth - 1)
    return type(value).__name__


def alike(a: Any, b: Any, strict: bool) -> bool:
    """Whether two calls left the same. `strict`: bit for bit, at the same place and of the same type; else numbers
    count, whether they lie on the host, the device or in a list, up to the rounding of another order of additions."""
    return _same(a, b) if strict else _loosely(a, b)


def _loosely(a: Any, b: Any) -> bool:
    if isinstance(a, dict) and isinstance(b, dict):  # a fix may add a name, or a buffer
        return a.keys() <= b.keys() and all(_loosely(one, b[key]) for key, one in a.items())
    if isinstance(a, (list, tuple)) and type(a) is type(b) and len(a) == len(b) and a[:1] != ("tensor",):
        return all(map(_loosely, a, b))
    one, other = list(_numbers(a)), list(_numbers(b))
    return len(one) == len(other) and all(map(_near, one, other))


def difference(a: Any, b: Any) -> str:
    """Where two calls left something else, for whoever reads a failed test."""
    if isinstance(a, dict) and isinstance(b, dict):
        parts = [(key, one, b.get(key)) for key, one in a.items()]
    elif isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)) and len(a) == len(b):
        parts = [(str(number), one, other) for number, (one, other) in enumerate(zip(a, b, strict=True))]
    else:
        return f"{a} != {b}"[:300]
    return "; ".join(f"[{key}] {difference(one, other)}" for key, one, other in parts if not _same(one, other))[:600]


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor):
        if a.dtype != b.dtype or a.shape != b.shape:
            return False
        return bool(torch.equal(a, b) or torch.allclose(a.double(), b.double(), rtol=0, atol=0, equal_nan=True))
    if isinstance(a, (list, tuple)):
        return type(a) is type(b) and len(a) == len(b) and all(map(_same, a, b))
    if isinstance(a, dict):  # a fix may add a name
        return isinstance(b, dict) and a.keys() <= b.keys() and all(_same(one, b[key]) for key, one in a.items())
    return type(a) is type(b) and (a == b or (a != a and b != b))


def _numbers(value: Any) -> Iterator[Any]:
    """All numbers and words in what was left, in order."""
    if isinstance(value, tuple) and value and value[0] == "tensor":
        yield from _numbers(value[3])
        yield from _numbers(value[4])
    elif isinstance(value, torch.Tensor):
        yield from value.flatten().tolist()
    elif isinstance(value, (list, tuple)):
        for one in value:
            yield from _numbers(one)
    elif isinstance(value, dict):
        for _, one in sorted(value.items()):
            yield from _numbers(one)
    elif value is not None and value not in ("tensor", "array", "module", "sink"):
        yield value


def _near(a: Any, b: Any) -> bool:
    if isinstance(a, (bool, int, float)) and isinstance(b, (bool, int, float)):
        return abs(a - b) <= 1e-5 * max(1.0, abs(a), abs(b)) or (a != a and b != b)
    return bool(a == b)


class Clock:
    """Ticks once a look, from 0 in each call."""

    now = 0.0

    def __call__(self) -> float:
        self.now += 1
        return self.now


CLOCK = Clock()


class Plain(torch.nn.Module):
    """Stands for the base classes of libraries that are not there."""

    def log(self, name: str, value: Any, **named: Any) -> None:
        self.__dict__.setdefault("logged", []).append((name, value))


class Bar:
    """Stands for a progress bar: it goes through what it is given, and says what it is told."""

    def __init__(self, over: Any = (), **named: Any) -> None:
        self.over = over

    def __iter__(self) -> Iterator[Any]:
        return iter(self.over)

    def set_postfix(self, *given: Any, **named: Any) -> None:
        print(given, named)

    set_description = set_postfix_str = write = set_postfix


def stand_in() -> None:
    """Let clocks tick, loaders work in this process, and libraries that are missing be what is here."""
    import importlib
    import importlib.machinery
    import importlib.util
    import sys
    import time

    # What an optimizer imports when it is first made: seconds on a busy machine, and half an import if it is stopped.
    importlib.import_module("torch._dynamo")
    importlib.import_module("torch._inductor")

    for clock in ("time", "perf_counter", "monotonic"):
        setattr(time, clock, CLOCK)
    loader = torch.utils.data.DataLoader
    made = loader.__init__
    loader.__init__ = lambda *given, **named: made(*given, **{**named, "num_workers": 0})  # type: ignore[method-assign]
    base: dict[str, Any] = {"LightningModule": Plain}
    bars = {"tqdm": Bar, "trange": lambda count: Bar(range(count))}
    for name, names in {"lightning": base, "pytorch_lightning": base, "tqdm": bars}.items():
        if importlib.util.find_spec(name) is None:
            sys.modules[name] = importlib.util.module_from_spec(importlib.machinery.ModuleSpec(name, None))
            vars(sys.modules[name]).update(names)
