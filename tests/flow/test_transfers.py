"""What is recorded as a transfer or a sync, of which kind, in which direction, and what is not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from transferlint.flow.callgraph.names import split
from transferlint.flow.lattice import transfers as t
from transferlint.flow.lattice.values import DEVICE, HOST
from transferlint.model import Confidence, Direction

LookUp = Callable[..., Any]
START = """
import math
import torch
import numpy as np
import torch.nn.functional as F
x = torch.zeros(3, device="cuda")
h = torch.zeros(3)
n = 3
"""


def recorded(found: Any) -> list[tuple[str, str, bool]]:
    return [(one.kind, one.direction.value, one.explicit) for one in found.transfers()]


@pytest.mark.parametrize(
    ("statement", "kind", "direction", "explicit"),
    [
        ("x.item()", t.SCALAR_READ, "d2h", True),
        ("x.tolist()", t.SCALAR_READ, "d2h", True),
        ("x.sum().item()", t.SCALAR_READ, "d2h", True),
        ("x.cpu()", t.DOWNLOAD, "d2h", True),
        ("x.detach().cpu().numpy()", t.DOWNLOAD, "d2h", True),
        ('x.to("cpu")', t.DOWNLOAD, "d2h", True),
        ("x.numpy(force=True)", t.DOWNLOAD, "d2h", True),
        ('h.to("cuda")', t.MOVE, "h2d", True),
        ("h.cuda()", t.MOVE, "h2d", True),
        ('x.to("cuda")', t.MOVE, "d2d", True),
        ('torch.tensor(n, device="cuda")', t.BUILD, "h2d", True),
        ("x.new_tensor([n])", t.BUILD, "h2d", True),
        ("x.copy_(h)", t.COPY_INTO, "h2d", True),
        ("h.copy_(x)", t.COPY_INTO, "d2h", True),
        ("x[0] = h", t.COPY_INTO, "h2d", False),
        ("x[0] = 1.0", t.COPY_INTO, "h2d", False),
        ("x[x.argmax(0)]", t.NUMBER, "d2h", False),
        ("h[0] = x", t.COPY_INTO, "d2h", False),
        ("if x: pass", t.TRUTH, "d2h", False),
        ("if x.any(): pass", t.TRUTH, "d2h", False),
        ("if x > 0: pass", t.TRUTH, "d2h", False),
        ("while x: break", t.TRUTH, "d2h", False),
        ("assert (x > 0).all()", t.TRUTH, "d2h", False),
        ("n = not x", t.TRUTH, "d2h", False),
        ("n = x and n", t.TRUTH, "d2h", False),
        ("n = 1 if x.isnan().any() else 2", t.TRUTH, "d2h", False),
        ("n = [i for i in range(n) if x[i]]", t.TRUTH, "d2h", False),
        ("n in x", t.TRUTH, "d2h", False),
        ("0 < x < 1", t.TRUTH, "d2h", False),
        ("bool(x)", t.TRUTH, "d2h", False),
        ("torch.equal(x, -x)", t.TRUTH, "d2h", False),
        ("x.allclose(x)", t.TRUTH, "d2h", False),
        ("any([x, x])", t.TRUTH, "d2h", False),
        ("float(x)", t.NUMBER, "d2h", False),
        ("int(x.max())", t.NUMBER, "d2h", False),
        ("range(x)", t.NUMBER, "d2h", False),
        ("h[: x.sum()]", t.NUMBER, "d2h", False),
        ("math.sqrt(x.sum())", t.NUMBER, "d2h", False),
        ("round(x)", t.NUMBER, "d2h", False),
        ("max([x.sum(), x.mean()])", t.NUMBER, "d2h", False),
        ("[0, 1, 2][x.argmax()]", t.NUMBER, "d2h", False),
        ("x[x.argmax()]", t.NUMBER, "d2h", False),
        ("x[:, torch.argmin(x)]", t.NUMBER, "d2h", False),
        ("x[x.argmax()] = x[0]", t.NUMBER, "d2h", False),
        ("[0] * x.sum()", t.NUMBER, "d2h", False),
        ("x.add(x, alpha=x.sum())", t.NUMBER, "d2h", False),
        ("torch.zeros(x.max())", t.NUMBER, "d2h", False),
        ("list(map(int, [x, x]))", t.NUMBER, "d2h", False),
        ("print(x)", t.FORMAT, "d2h", False),
        ("f'{n} {x:.2f}'", t.FORMAT, "d2h", False),
        ("'%s' % x", t.FORMAT, "d2h", False),
        ("str(x)", t.FORMAT, "d2h", False),
        ("x.nonzero()", t.SHAPE, "none", False),
        ("torch.nonzero(x)", t.SHAPE, "none", False),
        ("torch.where(x > 0)", t.SHAPE, "none", False),
        ("x[x > 0]", t.SHAPE, "none", False),
        ("x[~(x > 0)]", t.SHAPE, "none", False),
        ("x[x > 0] = x", t.SHAPE, "none", False),
        ("x.masked_select(x > 0)", t.SHAPE, "none", False),
        ("x.unique()", t.SHAPE, "none", False),
        ("torch.bincount(x)", t.SHAPE, "none", False),
        ("F.one_hot(x.long())", t.SHAPE, "none", False),
        ("x.repeat_interleave(x)", t.SHAPE, "none", False),
        ("torch.repeat_interleave(x, x)", t.SHAPE, "none", False),
        ("x[[0, 1]]", t.HOST_INDEX, "h2d", False),
        ("x[h]", t.HOST_INDEX, "h2d", False),
        ("torch.cuda.synchronize()", t.SYNCHRONIZE, "none", True),
        ("torch.cuda.current_stream().synchronize()", t.SYNCHRONIZE, "none", True),
        ("np.asarray(x)", t.ARRAY, "d2h", False),
        ("np.mean(x)", t.ARRAY, "d2h", False),
        ("x.numpy()", t.ARRAY, "d2h", True),
    ],
)
def test_one_transfer(look: LookUp, statement: str, kind: str, direction: str, explicit: bool) -> None:
    assert recorded(look(START + statement + "\n")) == [(kind, direction, explicit)]


@pytest.mark.parametrize(
    "statement",
    [
        "h.item()",
        "h.tolist()",
        "h.cpu()",
        "h.numpy()",
        "if h.any(): pass",
        "float(h)",
        "print(h)",
        "h.nonzero()",
        "h[h > 0]",
        "h[[0, 1]]",
        "x[0]",
        "x[n]",
        "x[:n, None, ...]",
        "x[x[None].argmax(0)]",
        "x[x.argmax().reshape(1)]",
        "x[x.long()]",
        "x[:1] = 1.0",
        "pow(x, 2)",
        "x[x > 0] = 0",
        "x.masked_fill_(x > 0, 0)",
        "torch.where(x > 0, x, 0)",
        "if x is None: pass",
        "if x is not None and n: pass",
        "if x.shape[0] > 1: pass",
        "if x.numel(): pass",
        "if len(x): pass",
        "if x.is_cuda: pass",
        "if x.dtype == torch.half: pass",
        "if isinstance(x, torch.Tensor): pass",
        "float(n)",
        "range(x.shape[0])",
        "range(len(x))",
        "x[: x.shape[0] // 2]",
        "print(x.shape)",
        "print(n)",
        "f'{x.shape} {x.dtype}'",
        "F.one_hot(x.long(), 3)",
        "F.one_hot(x.long(), num_classes=3)",
        "x.repeat_interleave(2)",
        "torch.repeat_interleave(x, x, output_size=9)",
        "x.copy_(x)",
        "h.copy_(h)",
        'torch.zeros(n, device="cuda")',
        'torch.full((), n, device="cuda")',
        "torch.from_numpy(np.zeros(3))",
        "np.zeros(3).tolist()",
        "x.backward()",
        "x.sum()",
        "torch.cuda.is_available()",
        "x.record_stream(torch.cuda.current_stream())",
        "x == x",
        "y = [x, x]",
        "len([x, x])",
        "'a' in {'a': x}",
    ],
)
def test_no_transfer(look: LookUp, statement: str) -> None:
    assert recorded(look(START + statement + "\n")) == []


@pytest.mark.parametrize(
    "statement",
    [
        "thing.item()",
        "thing.to(other)",
        "if thing: pass",
        "print(thing)",
        "float(thing)",
        "config.cpu()",
        "path.tolist()",
    ],
)
def test_what_nothing_is_known_of_is_possible_at_most(look: LookUp, statement: str) -> None:
    found = look(f"def job(thing, other, config, path):\n    {statement}\n")
    (function,) = [f for f in found.facts.functions if f.function.name == "job"]
    assert all(function.confidence(one.before) is Confidence.POSSIBLE for one in function.transfers)


@pytest.mark.parametrize(
    ("source", "confidence"),
    [
        ("def f():\n    return torch.zeros(3, device='cuda').item()", Confidence.CERTAIN),
        ("def f(x: torch.Tensor):\n    return x.item()", Confidence.LIKELY),
        ("def f(device):\n    return torch.zeros(3, device=device).item()", Confidence.LIKELY),
        ("def f(x):\n    return x.item()", Confidence.POSSIBLE),
        ("def f(n):\n    x = torch.zeros(3)\n    if n:\n        x = x.cuda()\n    return x.item()", Confidence.LIKELY),
    ],
)
def test_confidence_follows_from_what_is_known(look: LookUp, source: str, confidence: Confidence) -> None:
    found = look(f"import torch\n{source}\n")
    function = found.facts.functions[1]
    (read,) = [one for one in function.transfers if one.kind == t.SCALAR_READ]
    assert function.confidence(read.before) is confidence


def test_a_transfer_says_what_crosses_and_how(look: LookUp) -> None:
    found = look(f"{START}y = h.pin_memory().to('cuda', non_blocking=True)\nz = y.cpu()\n")
    up, down = found.transfers()
    function, reg = found.find("h.pin_memory().to('cuda', non_blocking=True)")
    assert up.register == reg
    assert function.text(up.subject) == "h.pin_memory()"
    assert up.places == DEVICE
    assert up.non_blocking
    assert not down.non_blocking
    assert down.places == HOST
    assert down.before.places == DEVICE
    assert down.api == ".cpu()"


def test_a_value_seen_twice_in_a_loop_is_one_transfer(look: LookUp) -> None:
    found = look(f"{START}y = h\nfor i in range(9):\n    y.item()\n    y = x\n")
    (read,) = found.transfers(t.SCALAR_READ)
    assert read.before.places == HOST | DEVICE


def test_a_discarded_move_is_recorded_and_moves_nothing(look: LookUp) -> None:
    found = look(f"{START}h.to('cuda')\nh\n")
    assert [one.kind for one in found.transfers()] == [t.MOVE]
    assert found.places("h") == HOST


def test_arguments_of_calls_of_this_file_are_linked(look: LookUp) -> None:
    found = look("def f():\n    return 1\n\ndef g():\n    return f()\n")
    function, reg = found.find("f()")
    _, index = split(function.calls[reg])
    assert found.facts.program.functions[index].name == "f"


def test_directions_are_those_of_the_model() -> None:
    assert {one.value for one in Direction} == {"h2d", "d2h", "d2d", "none"}


def test_the_dump_says_it_all(look: LookUp) -> None:
    from transferlint.flow.dump import dump

    text = dump(look(f"{START}for i in range(99):\n    loss = x.sum().item()\n").facts)
    assert "scalar-read d2h .item() [hot]" in text
    assert "tensor on device [fresh" in text


def test_the_truth_of_the_last_operand_is_asked_too(look: LookUp) -> None:
    found = look(
        """
        import torch

        def forward(x: torch.Tensor, n: int):
            if n > 1 and x[0] > x[1]:
                pass
        """
    )
    function, at = found.find("x[0] > x[1]")
    assert [t.kind for t in function.transfers if t.register == at] == ["truth"]


def test_an_array_that_indexes_a_tensor_is_uploaded(look: LookUp) -> None:
    found = look(
        """
        import numpy as np
        import torch

        def forward(x: torch.Tensor):
            at = np.arange(4)
            x[at]
        """
    )
    function, at = found.find("x[at]")
    assert [t.kind for t in function.transfers if t.register == at] == ["host-index"]


@pytest.mark.parametrize(
    ("mask", "confidence"),
    [
        ("torch.ones(4, device='cuda') > 1", Confidence.CERTAIN),
        ("helper(torch.ones(4)).clone() > 1", Confidence.LIKELY),
    ],
)
def test_a_selection_waits_as_surely_as_the_mask_is_on_the_device(
    look: LookUp, mask: str, confidence: Confidence
) -> None:
    """A mask on the host is counted there, and its indices go up: nothing waits for what is selected from."""
    found = look(
        f"""
        import torch
        def helper(a):
            return a.reshape(2, 2).view(4)
        def step(x):
            x = torch.ones(4, device="cuda")
            y = x[{mask}]
            x[{mask}] = y
        """
    )
    (function,) = [f for f in found.facts.functions if f.function.name == "step"]
    waits = [one for one in function.transfers if one.kind == t.SHAPE]
    assert [function.confidence(one.before) for one in waits] == [confidence] * 2
