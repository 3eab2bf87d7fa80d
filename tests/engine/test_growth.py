"""What a check does grows with the text, whatever its shape: operations are counted, and not seconds."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from counting import operations

from transferlint import registry
from transferlint.engine import checking, steps, workers
from transferlint.engine.plan import Outcome, Plan
from transferlint.flow.callgraph.modules import ModuleIndex
from transferlint.model import Confidence
from transferlint.settings.loading import Settings
from transferlint.sources.reach import imports, reach
from transferlint.syntax import nesting
from transferlint.syntax.source import MAX_EFFORT, MAX_LINKS

START = "import torch\nx = torch.zeros(3, device='cuda')\ndef forward(a, n, rows, device):\n    y = a\n"


@pytest.fixture(scope="module")
def plan() -> Plan:
    """All rules, with all that they find."""
    return checking.plan_for(Settings(select=("ALL",), min_confidence=Confidence.POSSIBLE), registry.load())


def check(text: str, plan: Plan) -> Outcome:
    """A file checked as by itself in its project."""

    def work() -> Outcome:
        prepared = steps.prepare_bytes("train.py", text.encode(), plan)
        project = steps.linked([prepared], ModuleIndex(["train.py"], "."), plan, {"train.py"})
        return steps.check_prepared(prepared, plan, (), project)

    return workers.deep(work)


def lines(form: str, start: str = START) -> Callable[[int], str]:
    """A shape of n times the same lines, with a number in them."""
    return lambda n: start + "".join(form.replace("NEXT", str(i + 1)).replace("N", str(i)) for i in range(n))


LOOP = START + "    for r in rows:\n"
SHAPES: dict[str, Callable[[int], str]] = {
    "arms that move": lines("    if n == N:\n        y = a.to(device)\n"),
    "arms that read": lines("    if n == N:\n        y = a.item()\n"),
    "arms that read and upload": lines(
        "    if n == N:\n        y = a.sum().item()\n        z = torch.tensor(y, device='cuda')\n"
    ),
    "elifs that return": lines("    elif n == N:\n        return a.item()\n", START + "    if n:\n        return a\n"),
    "checks that raise": lines("    if a.sum() > N:\n        raise ValueError(a.item())\n"),
    "truth tests": lines("    if (a > N).any():\n        a = a + 1\n"),
    "reads in a row": lines("    vN = a[N].item()\n"),
    "reads in a loop": lines("        vN = r[N].item()\n", LOOP),
    "loops in a row": lines("    for iN in range(n):\n        y = y + a[iN].item()\n"),
    "lists filled in loops": lines(
        "    lN = []\n    for r in rows:\n        lN.append(r.item())\n    torch.tensor(lN)\n"
    ),
    "dicts of loaders": lines(
        "    kw.update(kw)\n    for rN in DataLoader(a, **kw):\n        y = rN.to('cuda')\n",
        START.replace("import torch", "import torch\nfrom torch.utils.data import DataLoader") + "    kw = {}\n",
    ),
    "methods that store one attribute": lines(
        "    def mN(self, a):\n        self.w = a.cpu()\n        return self.mNEXT(self.w)\n", START + "class C:\n"
    ),
    "variables of variables": lines("        vNEXT = vN\n        yN = vN.to(device)\n", LOOP + "        v0 = r\n"),
    "whiles in a row": lines("    while a.sum() > N:\n        a = a - 1\n"),
    "tries in a row": lines("    try:\n        y = a.item()\n    except KeyError:\n        y = a.cpu()\n"),
    "waits and copies": lines("    torch.cuda.synchronize()\n    yN = a.cpu()\n"),
    "copies that go back": lines("    vN = a.cpu().numpy()\n    wN = torch.from_numpy(vN).cuda()\n"),
    "selections": lines("    bN = a[a > N]\n    cN = a.unique()\n"),
    "copies of copies": lines("    vNEXT = vN.cpu()\n", START + "    v0 = a\n"),
    "items of a batch": lines("        r['kN'] = r['kN'].cuda()\n        n['sN'] += r['kN'].item()\n", LOOP),
    "suppressions": lines("    vN = a[N].item()  # transferlint: ignore[TL101] because\n"),
    "functions that call the next": lines("def fN(a):\n    return fNEXT(a.cpu())\n"),
    "functions that call one another": lambda n: START + "".join(
        f"def f{i}(a):\n    return f{(i + 1) % n}(a) + f{(i * 3) % n}(a.item())\n" for i in range(n)
    ),
    "methods and attributes": lines(
        "    def mN(self, a):\n        self.wN = a.cpu()\n        return self.mNEXT(self.wN)\n", START + "class C:\n"
    ),
    "classes": lines(
        "class CN(torch.nn.Module):\n    def forward(self, a):\n        return self.w.to(a.device) + a.item()\n"
    ),
    "subclasses of one class": lines(
        "class CN(B):\n    def go(self, a):\n        return a.cpu()\n",
        START + "class B(torch.nn.Module):\n    def forward(self, a):\n        return self.go(a).item()\n",
    ),
    "imports of all": lambda n: lines(
        "    a = nN(a).item()\n", "".join(f"from m{i} import *\n" for i in range(n)) + START
    )(n),
    "a long list": lambda n: f"{START}    y = torch.tensor([{', '.join(f'a[{i}].item()' for i in range(n))}])\n",
    "a long sum": lambda n: f"{START}    y = {' + '.join(['a.item()'] * n)}\n",
    "a long conjunction": lambda n: f"{START}    if {' and '.join(f'a[{i}] > 1' for i in range(n))}:\n        y = a\n",
}  # fmt: skip


@pytest.mark.parametrize("shape", SHAPES)
def test_a_check_does_ten_times_as_much_for_ten_times_the_text(shape: str, plan: Plan) -> None:
    made = SHAPES[shape]
    assert not check(made(5), plan).troubles
    few = operations(lambda: check(made(15), plan))
    many = operations(lambda: check(made(150), plan))
    assert many < 12 * few, f"{few:,} calls for 15, {many:,} for 150"


@pytest.mark.parametrize(
    "line",
    ["import ", "import a, ", "import (", "import (#;", "#;import (\n", "x: import a; ", "from a import (b, # c\n"],
)
def test_imports_are_read_in_one_pass(line: str) -> None:
    few, many = (operations(lambda n=n: imports(line.encode() * n)) for n in (100, 1000))
    assert many < 12 * few + 100
    imports(line.encode() * 100_000)


CIRCLES: dict[str, Callable[[int, int], str]] = {
    "re-exports": lambda i, n: f"from p{(i + 1) % n} import a as b, b as a\nimport p{i}.x.y\nfrom .x.y import z as a\n",
    "imports of all": lambda i, n: f"from p{(i + 1) % n} import *\n",
    "imports of the own package": lambda i, n: (
        f"import p{i}.p{i}.sub\nfrom . import p{i}\nimport p{(i + 1) % n} as p{i}\n"
    ),
}


@pytest.mark.parametrize("circle", CIRCLES)
def test_what_files_matter_is_found_where_packages_import_one_another(circle: str) -> None:
    def work(n: int) -> None:
        sources = {f"p{i}/__init__.py": CIRCLES[circle](i, n).encode() for i in range(n)}
        sources["run.py"] = b"import p0\nfrom p0 import a\nx = p0.p0.p0.sub.a(a)\n"
        found = reach(["run.py"], sources, ModuleIndex(sources, "."))
        assert "p0/__init__.py" in found.used

    few, many = operations(lambda: work(10)), operations(lambda: work(100))
    assert many < 12 * few


def test_a_project_of_packages_that_import_all_of_one_another_is_put_together(plan: Plan) -> None:
    def work(n: int) -> None:
        sources = {}
        for i in range(n):
            stars = "".join(f"from p{(i + step) % n} import *\n" for step in (1, 2, 3))
            body = f"    return f{(i + 1) % n}(a).item() + g(a)\n"
            sources[f"p{i}.py"] = f"{stars}import torch\ndef f{i}(a):\n{body}"
        prepared = [steps.prepare_bytes(path, text.encode(), plan) for path, text in sources.items()]
        steps.linked(prepared, ModuleIndex(sources, "."), plan, set(sources))

    assert operations(lambda: workers.deep(lambda: work(24))) < 1_000_000


def test_what_would_take_the_parser_minutes_is_refused() -> None:
    for text in (f"y = {' + '.join(['a'] * 2 * MAX_LINKS)}\n", f"y = a{'.b()' * 2 * MAX_LINKS}\n"):
        assert nesting.measure(text).links[0] > MAX_LINKS
    assert nesting.measure(f"y = a{'.b()' * (MAX_LINKS // 4)}\n" * 50).effort[0] > MAX_EFFORT
    assert nesting.measure("y = a.b().c() + d\n" * 10_000).effort[0] < MAX_EFFORT
