"""How many dimensions the results of torch's operators have: what the table says, held against torch."""

from __future__ import annotations

from typing import Any

import pytest

from transferlint.flow.lattice.values import SEVERAL
from transferlint.knowledge import torch_ranks
from transferlint.knowledge.torch_ranks import BROADCAST, LESS, MORE, PRODUCT, REDUCED, SAME, SECOND, rows

torch = pytest.importorskip("torch")
F = torch.nn.functional
FIXED = {torch_ranks.NONE: 0, torch_ranks.ONE: 1, torch_ranks.TWO: 2, torch_ranks.THREE: 3}
# What an operator takes beside a tensor of fractions, where that is more.
ARGUMENTS: dict[str, tuple[Any, ...]] = {
    **dict.fromkeys("cumsum cumprod logcumsumexp softmax log_softmax softmin cummax cummin unbind".split(), (0,)),
    **dict.fromkeys("swapaxes swapdims transpose".split(), (0, 0)),
    "layer_norm": ((3,),),
    "rms_norm": ((3,),),
    "renorm": (2, 0, 1.0),
    "movedim": (0, 0),
    "narrow": (0, 0, 1),
    "select": (0, 0),
    "topk": (1,),
    "chunk": (1,),
    "split": (1,),
    "tensor_split": (1,),
    "roll": (1,),
    "flip": (0,),
    "normalize": (2.0, 0),
    "dropout": (0.5, True),
    "unsqueeze": (0,),
    "clamp_min": (0,),
    "clamp_max": (0,),
    "clamp": (0.5,),
    "clip": (0.5,),
    "full_like": (1.0,),
    "randint_like": (5,),
    "multinomial": (1,),
    "isin": (torch.tensor([1.0]),),
    "type": (torch.float64,),
    "to": (torch.float64,),
}
FIRST: dict[str, Any] = {
    "eye": 3,
    "randperm": 3,
    **dict.fromkeys("hann_window hamming_window bartlett_window blackman_window kaiser_window".split(), 3),
}
NOT_HERE = {"cuda", "pin_memory"}  # both need a device


def made(shape: tuple[int, ...], whole: bool = False) -> Any:
    return torch.ones(shape, dtype=torch.int64) if whole else torch.rand(shape) * 0.9 + 0.1


def function(name: str) -> Any:
    for owner in (torch, F, torch.special):
        if hasattr(owner, name):
            return getattr(owner, name)
    return None


def given(name: str, shape: tuple[int, ...]) -> Any:
    """The result of an operator for a tensor of a shape; of several, one that is a tensor."""
    x = made(shape, whole=name in ("one_hot", "embedding", "bincount", "bitwise_not"))
    if name == "one_hot":
        return F.one_hot(x)
    if name == "embedding":
        return F.embedding(x, torch.rand(5, 4))
    if name in ("stack", "cat", "concat", "concatenate"):
        return function(name)([x, x])
    if name in ("gather", "scatter", "scatter_add"):
        positions = torch.zeros(shape, dtype=torch.int64)
        return getattr(x, name)(0, positions, *((x,) if name != "gather" else ()))
    if name in ("index_select", "index_add", "index_copy", "index_fill"):
        at = torch.zeros(shape[0], dtype=torch.int64)
        more = {"index_select": (), "index_fill": (1.0,)}.get(name, (x,))
        return getattr(x, name)(0, at, *more)
    if name == "masked_fill":
        return x.masked_fill(x > 0.5, 0)
    if name == "type_as":
        return x.type_as(x)
    if name == "bucketize":
        return torch.bucketize(x, torch.tensor([0.0, 1.0]))
    if name == "batch_norm":
        return F.batch_norm(x, torch.zeros(shape[1]), torch.ones(shape[1]))
    if name in ("T", "mT"):
        return getattr(x, name)
    arguments = ARGUMENTS.get(name, ())
    if name == "permute":
        arguments = (tuple(range(len(shape))),)
    called = getattr(x, name)(*arguments) if hasattr(x, name) else function(name)(x, *arguments)
    return called if torch.is_tensor(called) else next(one for one in called if torch.is_tensor(one))


def _named(*rules: str) -> list[str]:
    return sorted(name for name, rule in rows().items() if rule in rules and name not in NOT_HERE)


@pytest.mark.parametrize("name", _named(SAME, MORE, LESS))
def test_what_follows_the_first_operand(name: str) -> None:
    if name == "multinomial":
        assert [torch.multinomial(made(shape), 1).dim() for shape in ((3,), (3, 3))] == [1, 2]
        return
    more = {SAME: 0, MORE: 1, LESS: -1}[rows()[name]]
    fewest = {"mT": 2, "batch_norm": 2, "triu": 2, "tril": 2, "fliplr": 2, "renorm": 2}.get(name, 1)
    shapes = [shape for shape in ((3,), (3, 3), (3, 3, 3)) if len(shape) >= fewest and (name != "t" or len(shape) < 3)]
    for shape in shapes:
        assert given(name, shape).dim() == len(shape) + more, shape


@pytest.mark.parametrize("name", _named(BROADCAST))
def test_what_is_broadcast(name: str) -> None:
    operator = function(name)
    whole = name.startswith("bitwise")
    for left, right in (((3,), (2, 3)), ((2, 3), ()), ((), ())):
        a, b = made(left, whole), made(right, whole)
        if name == "where":
            result = torch.where(a > 0.5, a, b)
        elif name in ("addcmul", "addcdiv"):
            result = operator(a, b, b)
        elif name == "lerp":
            result = operator(a, b, 0.5)
        else:
            result = operator(a, b)
        assert result.dim() == max(len(left), len(right))


@pytest.mark.parametrize("name", _named(REDUCED))
def test_what_is_reduced(name: str) -> None:
    x = made((2, 3))
    one = function(name)
    if name != "logsumexp":
        assert one(x).dim() == 0
    if name == "count_nonzero":
        assert one(x, 0).dim() == 1
        return
    before = (2,) if name == "norm" else ()
    along, kept = one(x, *before, 0), one(x, *before, 0, keepdim=True)
    along, kept = (part if torch.is_tensor(part) else part[0] for part in (along, kept))
    assert (along.dim(), kept.dim()) == (1, 2)


@pytest.mark.parametrize("name", _named(*FIXED))
@pytest.mark.filterwarnings("ignore:torch.range is deprecated")
def test_what_has_a_number_of_its_own(name: str) -> None:
    operator, count = function(name), FIXED[rows()[name]]
    x = made((3, 3))
    arguments: tuple[Any, ...] = {
        "arange": (3,), "range": (0, 3), "linspace": (0, 1, 3), "logspace": (0, 1, 3), "bincount": (made((3,), True),),
        "dot": (x[0], x[0]), "mv": (x, x[0]), "mm": (x, x), "outer": (x[0], x[0]), "addmm": (x, x, x),
        "bmm": (x[None], x[None]), "baddbmm": (x[None], x[None], x[None]), "masked_select": (x, x > 0.5),
        "tril_indices": (3, 3), "triu_indices": (3, 3),
    }.get(name, (FIRST.get(name, x),))  # fmt: skip
    assert operator(*arguments).dim() == count


def test_the_rest() -> None:
    x = made((2, 3, 4))
    assert set(_named(SECOND)) == {"searchsorted", "take", "expand_as", "view_as", "reshape_as"}
    assert torch.searchsorted(torch.tensor([0.0, 1.0]), x).dim() == 3
    assert _named(PRODUCT) == ["matmul"]
    for name in ("expand_as", "view_as", "reshape_as"):
        assert getattr(made((3,)), name)(made((1, 3))).dim() == 2
    assert x.take(torch.zeros(2, 2, dtype=torch.int64)).dim() == 2
    assert _named(torch_ranks.WIDENED) == ["expand", "repeat", "tile"]
    for name in ("expand", "repeat", "tile"):
        assert getattr(made((3,)), name)(2, 3).dim() == getattr(made((3,)), name)((2, 3)).dim() == 2
    assert [x.flatten().dim(), x.flatten(1).dim(), x.flatten(2).dim(), torch.tensor(1).flatten().dim()] == [1, 2, 3, 1]
    for left, right, count in (((3,), (3,), 0), ((2, 3), (3,), 1), ((3,), (3, 2), 1), ((2, 3), (3, 2), 2)):
        assert (made(left) @ made(right)).dim() == count
    assert torch.full((2, 3), 1.0).dim() == torch.randint(5, (2, 3)).dim() == torch.randint(0, 5, (2, 3)).dim() == 2
    for name in _named(torch_ranks.SIZED):
        if name == "broadcast_to":
            assert x[:1, :1, 0].broadcast_to((2, 3)).dim() == 2
            continue
        call = function(name) if name in ("zeros", "ones", "empty", "rand", "randn") else getattr(made((1,)), name)
        assert call(1, 1).dim() == call((1, 1)).dim() == 2, name
    assert SEVERAL > 64  # of which torch has no more (c10/core/TensorImpl.h)
