"""A small project, and the texts of a file of it while somebody edits it."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator

FILES = {
    "pyproject.toml": "",
    "lib/__init__.py": "from lib.layers import Block\nfrom lib.reading import value\n",
    "lib/reading.py": """import torch

SCALE = torch.ones(3).cuda()


def value(x):
    return x.item()


def moved(x, device="cpu"):
    return x.to(device)


def looped(x, depth=3):
    return looped(x, depth - 1) if depth else value(x)
""",
    "lib/layers.py": """import torch
from lib.reading import SCALE, moved, value


class Base(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = SCALE
        self.table = {"a": self.first}
        self.limit: torch.Tensor = torch.zeros(1)

    def first(self, x):
        return x * self.scale

    def forward(self, x):
        if x.sum() > self.limit:
            return self.first(x)
        return self.table["a"](x)


class Block(Base):
    bias = torch.zeros(2)

    def first(self, x):
        self.last = moved(x, "cuda")
        return self.last + self.bias

    def report(self):
        return value(self.last)
""",
    "lib/every.py": "from lib.reading import *\n",
    "lib/training.py": """import torch
from lib import Block, value
from lib.every import SCALE, moved
from lib.reading import looped


class Trainer:
    def __init__(self, model):
        self.model = model.cuda()
        self.seen = []

    def step(self, batch):
        loss = self.model(batch.cuda()).mean()
        self.seen.append(value(loss))
        moved(loss * SCALE).item()
        return loss

    def run(self, loader):
        total = 0.0
        for batch in loader:
            total += looped(self.step(batch))
            keep = lambda x: x.cpu()
            keep(batch)
        return total


def main(loader):
    trainer = Trainer(Block())
    print(trainer.run(loader), trainer.model.report())
""",
}
# A module whose variables its own functions read while it runs, and methods that store what others read meanwhile.
FILES["lib/running.py"] = """import torch
from lib.reading import value

table = torch.ones(3)


def first(i=0):
    return table[i].item()


class Loop(torch.nn.Module):
    def __init__(self, size, device="cpu"):
        super().__init__()
        self.kept = torch.zeros(size)
        self.start()
        self.late = self.kept.cuda()

    def start(self):
        self.seen = self.kept.sum().item()

    def forward(self, x, scale=1):
        def inner(y):
            return value(y) * scale

        if self.seen and x.any():
            return inner(x) + first()
        return [value(one) for one in self.late]


begun = first(1)
table = table.cuda()
loop = Loop(3)
print(loop(table), loop.seen)
"""
EDITED = sorted(name for name in FILES if name.endswith(".py") and "__init__" not in name)
# Each may be put at the end of a line, or on a line of its own before one.
PIECES = (
    "", "  # why", " + 1", ".item()", ".cpu()", ".to('cuda')", ".detach()", "[0]", "(", " if x else None",
    "x = x.cuda()", "x = value(x)", "self.last = x.cpu()", "self.scale = x", "global SCALE", "y = lambda z: z.item()",
    "for x in loader: value(x)", "import torch as t", "pass", "def value(x): return x", "return x", "print(x)",
    "class A(Base): pass", "super().first(x)", "torch.set_default_device('cuda')", "self.model = self.model.cpu()",
    "x = looped(x)", "SCALE = None", "moved = None", "from lib.layers import Base",
)  # fmt: skip
HEADS = ("", ", extra=None", ", *rest", ", x: 'torch.Tensor' = None", ", device='cuda'")


def inserted(text: str, line: int, piece: str, alone: bool) -> str:
    lines = text.split("\n")
    at = line % len(lines)
    if not alone:
        lines[at] += piece
    else:
        indentation = lines[at][: len(lines[at]) - len(lines[at].lstrip())]
        lines.insert(at, indentation + piece)
    return "\n".join(lines)


def deleted(text: str, line: int, count: int) -> str:
    lines = text.split("\n")
    at = line % len(lines)
    return "\n".join(lines[:at] + lines[at + count :])


def redeclared(text: str, line: int, piece: str) -> str:
    """One of the functions with one more parameter, or (for no piece) another name."""
    lines = text.split("\n")
    heads = [at for at, one in enumerate(lines) if re.match(r" *(def|class) \w+\(", one)]
    if heads:
        at = heads[line % len(heads)]
        head, _, _ = lines[at].rpartition(")")
        lines[at] = f"{head}{piece}):" if piece else lines[at].replace("(", "_new(", 1)
    return "\n".join(lines)


def typed(drawn: random.Random, name: str, count: int) -> Iterator[str]:
    """Texts of a file as they come while somebody edits it: lines put in and taken out, heads changed, code moved,
    text that is no Python for a while, and every now and then the first text again."""
    text = FILES[name]
    for _ in range(count):
        what, line = drawn.random(), drawn.randrange(60)
        if what < 0.4:
            text = inserted(text, line, drawn.choice(PIECES), drawn.random() < 0.6)
        elif what < 0.55:
            text = deleted(text, line, drawn.randint(1, 2))
        elif what < 0.75:
            text = redeclared(text, line, drawn.choice(HEADS))
        elif what < 0.85:
            text = FILES[name]
        elif what < 0.95:
            yield inserted(text, line, drawn.choice(("(", "def", '"""', "  if:")), drawn.random() < 0.5)
        else:
            lines = text.split("\n")
            lines.insert(drawn.randrange(len(lines)), lines.pop(line % len(lines)))
            text = "\n".join(lines)
        yield text
