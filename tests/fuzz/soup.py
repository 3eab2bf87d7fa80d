"""Programs that parse and mean nothing: every syntax in every place, for a linter that must bear all of it."""

from __future__ import annotations

import random

_NAMES = ("x", "y", "z", "self", "device", "model", "loader", "rows", "torch", "é")
_LITERALS = """
0  1.5  None  True  'cuda'  'cpu'  ...  b'a'  []  {}  ()  torch.zeros(2)  np.zeros(3)  torch.zeros(2, device='cuda')
torch.device('cuda')  torch.nn.Linear(1, 1)  self.a  self.b.c  x.shape  torch.float16  lambda q: q + x  f'{x} {y!r:>{z}}'
lambda *a, k=x, **o: (a, k)  1_000j  rb'\\x'  'a' "b" f'{x=}'  torch.zeros(3, 4).cuda()  x.y.z.w  super().m  '😀'
"""
_OF_ONE = """
(@)  -(@)  not (@)  (@).item()  (@).to('cuda')  (@).cpu()  (@).to(device)  (@).numpy()  (@).view(-1)  (@).grad  (@).items()
list(@)  [q for q in (@) if q]  {k: v for k, v in (@)}  next(iter(@))  float(@)  print(@)  len(@)  (@)[0]  (@)[1:, None]
torch.nonzero(@)  model(@)  self.m(@)  helper(@)  enumerate(@)  dict(a=(@))  (w := (@))  [*(@)]  helper(*(@), **(@))
getattr(@, 'a')  map(lambda q: q.cuda(), (@))  isinstance(@, torch.Tensor)  (@).to(y)  torch.tensor(@)  (@).cuda().cpu()
(@).tolist()  torch.from_numpy(@).to(device)  (@).to(device).to(device)  torch.tensor([@]).to(device)  {*(@)}  (@)(@)
torch.zeros(@).to(device)  [x for x in (@) for y in x if x.item()]  (@).cpu().numpy()  (@).sum().item()  f'{@}'  (@,)
"""
_OF_TWO = """
(@) + (@)  (@) @@ (@)  (@) and (@)  (@) or (@)  (@) < (@)  (@) in (@)  (@) is (@)  (@, @)  [@, @]  {'a': (@), 'b': (@)}
(@)[@]  (@) if (@) else x  zip(@, @)  torch.where(@, @, x)  max(@, @)  (@).to(@)  (@).append(@)  (@) % (@)
x if (@) < (@) < y else z  torch.tensor(@, device=(@))  (@).copy_(@)  (@)[(@):(@)]  {**(@), 'a': @}  torch.zeros(@, @).to(y)
"""
_TARGETS = (
    "x",
    "y",
    "z",
    "self.a",
    "self.b.c",
    "x[0]",
    "x['k']",
    "x[y > 0]",
    "x, y",
    "x, (y, *z)",
    "[x, y]",
    "*x, y",
    "é",
)
_SIMPLE = (
    "` = @", "` = @", "$ = ` = @", "$ += @", "$ @@= @", "$: torch.Tensor = @", "($): int = @", "return @", "assert @, @",
    "raise ValueError(@)", "raise @ from @", "del $", "@", "@", "pass", "break", "continue", "import torch as $",
    "from a import *", "yield @", "$ = yield from @", "import a.b, a.b.c as $", "from . import $", "from .a import $ as x",
    "global w", "$ = @; $ = @", "print(@, file=@)", "$ = (\n    @  # kept\n)", "$ = @ \\\n    if @ else x", "await @",
)  # fmt: skip
_HEADS = (
    "if @:", "while @:", "for x in @:", "for self.a, y[0] in @:", "with @ as y:", "with torch.device(@), @ as (x, y):",
    "for epoch in range(9):", "while True:", "for step, (x, y) in enumerate(loader):", "if step % 100 == 0:", "async for x in @:",
    "def helper(x, *y, z=@, **k):", "def forward(self, x: 'Tensor', /, y=@, *, z):", "class Inner(torch.nn.Module):", "try:",
    "match @:", "class D(metaclass=M, *a):", "async def work(x):", "@@wraps(@)\ndef helper(x):", "async with @ as y:",
    "@@torch.no_grad()\nclass E(x, y=@):", "with (@ as x, @ as y):", "for x in @, @:",
)  # fmt: skip
_PATTERNS = (
    "[x, *y] if z",
    "{'k': z} | (z, 1)",
    "C(a=1, b=[*_, d]) as e",
    "{**rest}",
    "'cuda' | None",
    "-1.5",
    "a.b",
    "_",
)


def _listed(text: str) -> tuple[str, ...]:
    """What two spaces or a line end separate."""
    return tuple(one for line in text.strip().splitlines() for one in line.split("  "))


class Soup:
    """Makes text from random choices; `left` bounds how much."""

    def __init__(self, chance: random.Random, size: int) -> None:
        self.chance = chance
        self.left = size
        self._literals, self._one, self._two = _listed(_LITERALS), _listed(_OF_ONE), _listed(_OF_TWO)

    def expression(self, depth: int) -> str:
        pick = self.chance.random()
        if depth <= 0 or pick < 0.3:
            return self.chance.choice((*_NAMES, *self._literals))
        return self.filled(self.chance.choice(self._one if pick < 0.75 else self._two), depth - 1)

    def filled(self, template: str, depth: int) -> str:
        """`@` is an expression, `$` a name, `` ` `` a target, and `@@` is `@`."""
        parts = []
        for piece in template.replace("@@", "\0"):
            if piece == "@":
                parts.append(self.expression(depth))
            elif piece == "$":
                parts.append(self.chance.choice(_NAMES))
            elif piece == "`":
                parts.append(self.chance.choice(_TARGETS))
            else:
                parts.append("@" if piece == "\0" else piece)
        return "".join(parts)

    def block(self, indent: str, depth: int) -> list[str]:
        lines: list[str] = []
        for _ in range(self.chance.randint(1, 4)):
            self.left -= 1
            if depth > 0 and self.left > 0 and self.chance.random() < 0.4:
                lines += self.compound(indent, depth)
            else:
                lines += self.simple(indent)
        return lines

    def simple(self, indent: str) -> list[str]:
        text = self.filled(self.chance.choice(_SIMPLE), 3)
        lines = [indent + line for line in text.split("\n")]
        if self.chance.random() < 0.1 and not lines[-1].endswith("\\"):
            lines[-1] += f"  # comment {self.left}"
        if self.chance.random() < 0.03:
            lines[0] = "\f" + lines[0]
        return lines if self.chance.random() > 0.03 else ["", f"{indent}# alone {self.left}", *lines]

    def compound(self, indent: str, depth: int) -> list[str]:
        head = self.filled(self.chance.choice(_HEADS), 2)
        inner = indent + self.chance.choice(("    ", "    ", "  ", "\t"))
        lines = [indent + line for line in head.split("\n")]
        if head.startswith("match"):
            for _ in range(2):
                lines += [f"{inner}case {self.chance.choice(_PATTERNS[:-1])}:", *self.block(inner + " ", depth - 1)]
            return [*lines, f"{inner}case _: pass"]
        lines += self.block(inner, depth - 1)
        if head == "try:":
            lines += [f"{indent}except (ValueError, x.y) as z:", *self.block(inner, depth - 1)]
            lines += [f"{indent}finally:", *self.block(inner, 0)] if self.chance.random() < 0.5 else []
        elif head.startswith(("if", "while", "for")) and self.chance.random() < 0.4:
            lines += [f"{indent}{'elif y:' if head[0] == 'i' and self.chance.random() < 0.5 else 'else:'}"]
            lines += self.block(inner, depth - 1)
        return lines


def soup(chance: random.Random, size: int = 30) -> str:
    """A text, which most often parses."""
    made = Soup(chance, size)
    lines = ["import torch", "import numpy as np", *made.block("", 2)]
    lines += ["class C(torch.nn.Module):", "    def m(self, x, device='cuda', *, model=None):", *made.block(" " * 8, 3)]
    while made.left > 0:
        lines += ["async def work(x, y):" if chance.random() < 0.2 else "def work(x, y):", *made.block("    ", 3)]
    end = chance.choice(("\n", "\n", "\n", "\n", "\r\n", "\r"))
    return end.join(lines) + (end if chance.random() < 0.9 else "")
