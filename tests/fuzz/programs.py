"""Whole tensor programs: how they are laid out around the statements of `tensors.py`."""

from __future__ import annotations

import random
from collections.abc import Callable

from fuzz.tensors import DEVICES, Function, Maker

_TYPES = ("cf1", "cf1", "hf1", "cf2", "num", "int", "af1", "L:cf1", "cf0")
_GIVES = ("cf1", "cf0", "num", "hf1", "cf1", "bool", "L:cf1", "af1")


def program(chance: random.Random, size: int = 14) -> str:
    """A program of about so many statements in its main part."""
    maker = Maker(chance)
    for line in ("import numpy as np", "import torch", "from torch import nn"):
        maker.put(line)
    maker.put("")
    maker.put("torch.manual_seed(0)")
    maker.put(f"device = {chance.choice(DEVICES)}")
    for _ in range(chance.randint(0, 3)):
        _helper(maker)
    maker.turns = 12
    chance.choice(_LAYOUTS)(maker, size)
    return "\n".join(maker.lines) + "\n"


def _function(maker: Maker, name: str, takes: list[tuple[str, str, str]], gives: str, size: int, own: str = "") -> None:
    """A function with arguments of a name, a type and a default ("": none), that returns a value of a type."""
    arguments = [one if not default else f"{one}={default}" for one, _, default in takes]
    outer, loops, returns = maker.scope, maker.loops, maker.returns
    maker.scope = {one: kind for one, kind in outer.items() if maker.likely(0.3)} | {
        one: kind for one, kind, _ in takes
    }
    maker.loops, maker.returns, maker.left = 0, gives, size
    with maker.block(f"def {name}({', '.join([own, *arguments] if own else arguments)}):"):
        maker.scope = {
            one: kind for one, kind in maker.scope.items() if one not in outer
        }  # globals are not bound again
        maker.statements(size)
        maker.put(f"return {maker.value(gives, 2)}")
    maker.scope, maker.loops, maker.returns = outer, loops, returns


def _takes(maker: Maker, count: int) -> list[tuple[str, str, str]]:
    made = [(maker.fresh("a"), maker.chance.choice(_TYPES), "") for _ in range(count)]
    if maker.likely(0.3):
        made.append((maker.fresh("a"), "num", "0.5"))
    if maker.likely(0.2):
        made.append((maker.fresh("a"), "bool", "True"))
    return made


def _helper(maker: Maker) -> None:
    maker.put("")
    maker.put("")
    name, gives = maker.fresh("helper"), maker.chance.choice(_GIVES)
    takes = _takes(maker, maker.chance.randint(1, 3))
    _function(maker, name, takes, gives, maker.chance.randint(0, 5))
    called = tuple(kind for _, kind, default in takes if not default or maker.likely(0.5))
    maker.functions.append(Function(name, called, gives))


def _script(maker: Maker, size: int) -> None:
    maker.put("")
    maker.left = size
    maker.assign()
    maker.assign()
    while maker.left > 0:
        maker.statements(maker.left)
    _loop(maker, "for step in range(12):", {"step": "num"}, size)


def _in_function(maker: Maker, size: int) -> None:
    """All of it in a function with arguments that is called once."""
    takes = [(maker.fresh("x"), maker.chance.choice(_TYPES), "") for _ in range(maker.chance.randint(1, 3))]
    given = maker.chance.choice(("", "device"))
    maker.put("")
    maker.put("")
    maker.scope, outer = {name: kind for name, kind, _ in takes}, maker.scope
    names = [name for name, _, _ in takes] + ([given] if given else [])
    with maker.block(f"def work({', '.join(names)}):"):
        maker.left = size
        maker.statements(size // 2)
        _loop(maker, "for step in range(12):", {"step": "num"}, size // 2)
        maker.put(f"return {', '.join(maker.scope) or 'None'}")
    maker.scope = outer
    maker.put("")
    maker.put("")
    maker.put(
        f"answer = work({', '.join([*(maker.value(kind, 1) for _, kind, _ in takes), *([given] if given else [])])})"
    )


def _loop(maker: Maker, head: str, more: dict[str, str], size: int) -> None:
    maker.left = size
    maker.loops += 1
    with maker.bound(more), maker.block(head):
        maker.statements(size)
    maker.loops -= 1


def _over_batches(maker: Maker, size: int) -> None:
    """An evaluation over a loader, batches of which lie on the host."""
    maker.put("")
    kind = maker.chance.randrange(3)
    if kind == 0:
        maker.put("loader = [(torch.rand(4), torch.rand(4)) for _ in range(12)]")
    else:
        options = maker.chance.choice(("", ", pin_memory=False", ", shuffle=False"))
        maker.put("data = torch.utils.data.TensorDataset(torch.rand(12, 4), torch.rand(12, 4))")
        maker.put(f"loader = torch.utils.data.DataLoader(data, batch_size=None{options})")
    maker.left = 4
    maker.statements(2)
    _loop(maker, "for x, y in loader:", {"x": "hf1", "y": "hf1"}, 0)
    del maker.lines[-1]
    maker.indent += 1
    maker.loops += 1
    with maker.bound({"x": "hf1", "y": "hf1"}):
        if maker.likely(0.8):
            maker.put(f"x = x.to(device{maker.chance.choice(('', ', non_blocking=True'))})")
            maker.scope["x"] = "cf1"
        maker.left = size
        maker.statements(size)
        maker.put(maker.chance.choice(("pass", "print(x.sum())", "x.mul_(2)")))
    maker.loops -= 1
    maker.indent -= 1


def _training(maker: Maker, size: int) -> None:
    """A model, an optimizer and steps."""
    maker.put("")
    maker.put(f"model = nn.Linear(4, 4).to({maker.chance.choice(('device', 'torch.device(device)'))})")
    maker.put("optimizer = torch.optim.SGD(model.parameters(), lr=0.01)")
    maker.put("losses = []")
    maker.put("total = 0.0")
    head = maker.chance.choice(("for step in range(12):", "for epoch in range(2):"))
    with maker.block(head):
        inner = maker.block("for step in range(6):") if "epoch" in head else maker.block("if True:")
        with inner:
            maker.put("optimizer.zero_grad()")
            maker.put(maker.chance.choice(("x = torch.rand(4).to(device)", "x = torch.rand(4, device=device)")))
            maker.put(maker.chance.choice(("loss = model(x).square().mean()", "loss = (model(x) - x).abs().sum()")))
            maker.put("loss.backward()")
            maker.put("optimizer.step()")
            maker.loops += 1
            with maker.bound({"x": "cf1", "step": "num", "total": "num"}):
                rows = ["losses.append(loss.item())", "total += loss.item()", "losses.append(loss.detach())"]
                rows += ["print(float(loss))", "if step % 5 == 0:\n        print(loss.item())", "total += float(loss)"]
                rows += ["if torch.isnan(loss):\n        break", "losses.append(loss.detach().cpu().numpy())"]
                maker.put(maker.chance.choice(rows).replace("\n", "\n" + "    " * maker.indent))
                maker.left = size
                with maker.block("with torch.no_grad():"):
                    maker.statements(size // 2)
            maker.loops -= 1


def _classes(maker: Maker, size: int) -> None:
    """A class whose attributes are tensors, and whose method a loop calls."""
    attributes = {f"self.{maker.fresh('t')}": maker.chance.choice(("cf1", "hf1", "num", "L:cf1", "af1", "cf0"))
                  for _ in range(maker.chance.randint(1, 4))}  # fmt: skip
    module = maker.likely(0.4)
    maker.put("")
    maker.put("")
    gives = maker.chance.choice(_GIVES)
    with maker.block(f"class Worker{'(nn.Module)' if module else ''}:"):
        with maker.block("def __init__(self, device):"):
            if module:
                maker.put("super().__init__()")
            for name, kind in attributes.items():
                if module and kind == "cf1" and maker.likely(0.5):
                    maker.put(f'self.register_buffer("{name[5:]}", torch.ones(4))')
                else:
                    maker.put(f"{name} = {maker.value(kind, 2)}")
        maker.put("")
        takes = [(maker.fresh("a"), maker.chance.choice(("cf1", "hf1", "num")), "") for _ in range(2)]
        name = "forward" if module else "step"
        arguments = ", ".join(one for one, _, _ in takes)
        outer, maker.scope = maker.scope, {**attributes, **{one: kind for one, kind, _ in takes}}
        maker.loops, maker.returns, maker.left = 0, gives, size
        with maker.block(f"def {name}(self, {arguments}):"):
            maker.statements(size)
            maker.put(f"return {maker.value(gives, 2)}")
        maker.scope, maker.returns = outer, ""
    maker.put("")
    maker.put("")
    maker.put(f"worker = Worker(device){'.to(device)' if module else ''}")
    maker.put("kept = []")
    maker.functions.append(Function("worker" if module else "worker.step", tuple(kind for _, kind, _ in takes), gives))
    with maker.block("for step in range(12):"):
        maker.put(f"kept.append({maker.call(maker.functions[-1], 1)})")


_LAYOUTS: tuple[Callable[[Maker, int], None], ...] = (
    _script, _in_function, _in_function, _over_batches, _training, _classes, _classes,
)  # fmt: skip
