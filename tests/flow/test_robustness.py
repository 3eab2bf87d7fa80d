"""The analysis says something of every program that parses, and ends: generated programs, and other people's."""

from __future__ import annotations

import sysconfig
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, reject, settings
from hypothesis import strategies as st

from transferlint.flow.dump import dump
from transferlint.flow.lattice.options import AnalysisOptions
from transferlint.flow.lattice.values import DEVICE, TENSOR
from transferlint.syntax.source import SourceError

LookUp = Callable[..., Any]
NAMES = st.sampled_from(["x", "y", "z", "self", "device", "model", "loader", "rows"])
LITERALS = """
0  1.5  None  True  'cuda'  'cpu'  ...  b'a'  []  {}  ()  torch.zeros(2)  np.zeros(3)  torch.zeros(2, device='cuda')
torch.device('cuda')  torch.nn.Linear(1, 1)  self.a  self.b.c  x.shape  torch.float16  lambda q: q + x  f'{x} {y!r}'
"""
OF_ONE = """
({0})  -({0})  not ({0})  ({0}).item()  ({0}).to('cuda')  ({0}).cpu()  ({0}).to(device)  ({0}).numpy()  ({0}).view(-1)
({0}).grad  ({0}).items()  ({0}).parameters()  list({0})  [q for q in ({0}) if q]  {{k: v for k, v in ({0})}}
next(iter({0}))  float({0})  print({0})  len({0})  ({0})[0]  ({0})[1:, None]  torch.nonzero({0})  model({0})
self.m({0})  helper({0})  enumerate({0})  dict(a=({0}))  (w := ({0}))  [*({0})]  helper(*({0}), **({0}))
getattr({0}, 'a')  map(lambda q: q.cuda(), ({0}))  isinstance({0}, torch.Tensor)
"""
OF_TWO = """
({0}) + ({1})  ({0}) @ ({1})  ({0}) and ({1})  ({0}) or ({1})  ({0}) < ({1})  ({0}) in ({1})  ({0}) is ({1})  ({0}, {1})
[{0}, {1}]  {{'a': ({0}), 'b': ({1})}}  ({0})[{1}]  ({0}) if ({1}) else x  zip({0}, {1})  torch.where({0}, {1}, x)
max({0}, {1})  ({0}).to({1})  ({0}).append({1})  ({0}) % ({1})  x if ({0}) < ({1}) < y else z
torch.tensor({0}, device=({1}))  ({0}).copy_({1})
"""


def _listed(text: str) -> list[str]:
    """What two spaces or a line end separate."""
    return [one for line in text.strip().splitlines() for one in line.split("  ")]


ATOMS = st.one_of(NAMES, st.sampled_from(_listed(LITERALS)))


def _wider(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        st.builds(str.format, st.sampled_from(_listed(OF_ONE)), inner),
        st.builds(str.format, st.sampled_from(_listed(OF_TWO)), inner, inner),
    )


EXPRESSIONS = st.recursive(ATOMS, _wider, max_leaves=6)
TARGETS = st.sampled_from(
    ["x", "y", "z", "self.a", "self.b.c", "x[0]", "x['k']", "x[y > 0]", "x, y", "x, (y, *z)", "[x, y]"]
)
SIMPLE = st.one_of(
    st.builds("{} = {}".format, TARGETS, EXPRESSIONS),
    st.builds("{} {}= {}".format, NAMES, st.sampled_from(["+", "*", "@", "|", "%"]), EXPRESSIONS),
    st.builds("{}: torch.Tensor = {}".format, NAMES, EXPRESSIONS),
    st.builds("return {}".format, EXPRESSIONS),
    st.builds("assert {}, {}".format, EXPRESSIONS, EXPRESSIONS),
    st.builds("raise ValueError({})".format, EXPRESSIONS),
    st.builds("del {}".format, NAMES),
    EXPRESSIONS,
    st.sampled_from(["pass", "break", "continue", "import torch as y", "from a import *", "yield x", "yield from y"]),
)
HEADS = [
    "if {0}:", "while {0}:", "for x in {0}:", "for self.a, y[0] in {0}:", "with {0} as y:", "with torch.device({0}):",
    "for epoch in range(9):", "while True:", "for step, (x, y) in enumerate(loader):", "if step % 100 == 0:",
    "def helper(x, *y, z=1, **k):", "def forward(self, x):", "class Inner(torch.nn.Module):", "try:", "match {0}:",
]  # fmt: skip


def _indented(lines: list[str]) -> str:
    return "\n".join("    " + line for text in lines for line in text.split("\n"))


def _block(head: str, test: str, body: list[str], other: list[str]) -> str:
    first = head.format(test)
    suite = _indented(body)
    rest = _indented(other)
    if head == "try:":
        return f"try:\n{suite}\nexcept (ValueError, KeyError) as z:\n{rest}\nelse:\n{rest}\nfinally:\n{suite}"
    if head == "match {0}:":
        cases = f"case [x, *y] if z:\n{suite}\ncase {{'k': z}} | (z, 1):\n{rest}\ncase _:\n    pass"
        return f"{first}\n{_indented([cases])}"
    if head.startswith(("if", "while", "for")) and other:
        return f"{first}\n{suite}\nelse:\n{rest}"
    return f"{first}\n{suite}"


def _nested(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    suites = st.lists(inner, min_size=1, max_size=4)
    return st.builds(_block, st.sampled_from(HEADS), EXPRESSIONS, suites, suites)


STATEMENTS = st.recursive(SIMPLE, _nested, max_leaves=12)
PROGRAMS = st.lists(STATEMENTS, min_size=1, max_size=5).map(
    lambda body: (
        "import torch\nimport numpy as np\nclass C:\n    def m(self, x, device='cuda', *, model=None):\n"
        + "\n".join("    " + line for line in _indented(body).split("\n"))
        + "\n"
    )
)


def everything(found: Any) -> str:
    """Ask the facts all that a rule may ask."""
    for function in found.facts.functions:
        for reg, value in enumerate(function.values):
            function.warmth(reg)
            function.loops(reg)
            function.confidence(value)
            if function.has_text(reg):
                function.why(value)
    return dump(found.facts)


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(program=PROGRAMS)
def test_generated_programs(look: LookUp, program: str) -> None:
    started = time.process_time()
    try:
        said = everything(look(program))
    except SourceError:
        reject()
    assert time.process_time() - started < 10
    assert said == everything(look(program)), "the same text gives the same facts"


def library() -> list[Path]:
    """Sixty files of the Python that runs the tests, spread over its standard library."""
    root = Path(sysconfig.get_paths()["stdlib"])
    files = [f for name in ("*.py", "asyncio/*.py", "email/*.py", "test/test_*.py") for f in sorted(root.glob(name))]
    return files[:: max(1, len(files) // 60)][:60]


@pytest.mark.parametrize("part", range(6))
def test_the_standard_library(look: LookUp, part: int) -> None:
    files = library()[part::6]
    assert files
    for path in files:
        started = time.process_time()
        try:
            found = look(path.read_text(encoding="utf-8"), str(path), AnalysisOptions(test_paths=()))
        except (SourceError, UnicodeDecodeError):
            continue  # Python's own tests hold files that are no Python
        everything(found)
        assert time.process_time() - started < 30, path
        assert not [t for t in found.transfers() if t.before.is_a(TENSOR) and t.before.places == DEVICE], path


@pytest.mark.parametrize(
    "source",
    [
        "",
        "\n",
        "# nothing\n",
        "x",
        "x = x",
        "del x",
        "return 1",
        "break",
        "lambda: (yield)",
        "class A(A): pass",
        "class A:\n    class A(A):\n        a = A.a\n",
        "def f(f=lambda f: f): return f(f)",
        "def f(): return f\nf()()()",
        "self.x = self.x",
        "x.a.b.c = x[1][2][3] = x",
        "for x.y in x: pass",
        "for x in x: x = x",
        "while x: x = x\nelse: x",
        "with x as x, x as x.y: x",
        "try: pass\nfinally: pass",
        "global x\nx = 1",
        "def f():\n    nonlocal y\n    y = 1\n",
        (
            "async def f():\n    async for x in y:\n        async with x as z:\n"
            "            await z\n    return [i async for i in z]\n"
        ),
        "from . import *\nfrom .. import a as b\nimport a.b.c, a.b as d\n",
        "x: int\ny: 'Tensor' = 1\n",
        "@a.b(c)\n@d\nclass E(F, metaclass=G): pass",
        "f(*a, *b, **c, **d)(x=1)[...]",
        "print(f'{x!r:>{w}} {y=}' 'z')",
        "match x:\n    case A(b=1, c=[*_, d]) as e if d: pass\n    case {**rest}: pass\n",
        "torch.to(torch)\ntorch.device()\ntorch.zeros()\ntorch.tensor()\n",
        (
            "import torch\ntorch.tensor()\ntorch.where()\ntorch.cat()\ntorch.device()\n"
            "torch.from_numpy()\ntorch.nn.Parameter()\n"
        ),
        (
            "import torch\nx = torch.zeros(2).cuda()\nx.to()\nx.to(*a)\nx.to(**b)\nx.copy_()\n"
            "x.new_tensor()\nx.repeat_interleave()\n"
        ),
        (
            "import torch\nmax()\nmin()\nsum()\nzip()\nmap()\nmap(f)\nnext()\nenumerate()\n"
            "range()\nfloat()\nprint()\ngetattr()\nsuper()\n"
        ),
        "import torch\ntorch.set_default_device()\ntorch.set_default_device(None)\ntorch.load()\ntorch.compile()\n",
        (
            "class A:\n    def __init__(): self.x = 1\n    @property\n"
            "    def p(self): return self.p\n    def q(self): return self.q()\n"
        ),
    ],
)
def test_odd_programs(look: LookUp, source: str) -> None:
    everything(look(source))
