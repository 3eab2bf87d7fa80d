"""What a file's project adds: names, classes, arguments and heat of other files."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from transferlint.flow.analysis import analyse
from transferlint.flow.callgraph.modules import ModuleIndex
from transferlint.flow.facts import FileFacts
from transferlint.flow.lattice import values as v
from transferlint.flow.lattice.options import AnalysisOptions
from transferlint.flow.project import Project
from transferlint.reasons import Cause, is_a
from transferlint.syntax.lower import lower
from transferlint.syntax.portable import FrozenSpans, freeze
from transferlint.syntax.source import decode, parse
from transferlint.syntax.spans import Spans


def linked(files: Mapping[str, str], order: list[str] | None = None) -> dict[str, FileFacts]:
    """The facts of every file of a small project, given as path to text."""
    programs, lines = {}, {}
    for path in order or list(files):
        tree = parse(decode(path, files[path].encode()))
        spans = Spans(tree, files[path])
        programs[path] = freeze(lower(tree, path), spans)
        lines[path] = spans.line_starts()
    project = Project(programs, ModuleIndex(list(programs), "."), AnalysisOptions(), lines.__getitem__)
    return {
        path: analyse(path, files[path], program, FrozenSpans(files[path], lines[path]), project.options, project)
        for path, program in programs.items()
    }


UTILS = """\
import torch


def item(x):
    return x.item()


def fresh(n, device):
    return torch.zeros(n, device=device)
"""
TRAIN = """\
import torch
from pkg.utils import fresh, item
from pkg import settings


def main(loader, model):
    model.cuda()
    for batch in loader:
        loss = model(batch.cuda()).mean()
        print(item(loss))
        y = fresh(3, settings.DEVICE)
        z = y + 1
"""
FILES = {"pkg/__init__.py": "", "pkg/utils.py": UTILS, "pkg/settings.py": 'DEVICE = "cuda"\n', "train.py": TRAIN}


def value(facts: FileFacts, text: str) -> v.Value:
    found = [f.values[r] for f in facts.functions for r in range(len(f.code)) if f.has_text(r) and f.text(r) == text]
    assert found, text
    return found[-1]


def test_a_function_of_another_module_gives_what_it_returns() -> None:
    assert value(linked(FILES)["train.py"], "y + 1").places & v.ON_DEVICE


def test_a_variable_of_another_module_names_its_place() -> None:
    assert value(linked(FILES)["train.py"], "settings.DEVICE").places == v.DEVICE


def test_heat_and_arguments_reach_a_helper_of_another_file() -> None:
    facts = linked(FILES)["pkg/utils.py"]
    (read,) = [t for f in facts.functions for t in f.transfers if t.api == ".item()"]
    assert read.before.on_device
    function = next(f for f in facts.functions if f.function.name == "item")
    warmth = function.warmth(read.register)
    assert warmth.hot
    assert warmth.caller is not None
    assert warmth.caller[0] == "train.py"
    assert facts.project is not None
    assert facts.project.describe(*warmth.caller) == "`main` (train.py:10)"


@pytest.mark.parametrize(("beside", "known"), [("core/utils/ops.py", True), ("elsewhere/core/ops.py", False)])
def test_a_module_beside_a_file_of_a_package_is_found_by_its_bare_name(beside: str, known: bool) -> None:
    net = "import torch\nfrom utils.ops import fresh\n\n\ndef f(x):\n    return fresh(3, 'cuda') + x\n"
    files = {"core/__init__.py": "", "core/net.py": net, beside: UTILS}
    assert (value(linked(files)["core/net.py"], "fresh(3, 'cuda')").places == v.DEVICE) is known


COMPAT = """\
try:
    import torch
    from torch.nn import functional as F
except ImportError:
    torch = None
    F = None
from .settings import DEVICE
"""


@pytest.mark.parametrize(
    ("importing", "call"),
    [
        ("from pkg.compat import torch", "torch.zeros(3, device='cuda')"),
        ("from pkg import compat", "compat.torch.zeros(3, device='cuda')"),
        ("from pkg.through import torch as t", "t.zeros(3, device='cuda')"),
        ("from pkg.compat import torch, DEVICE", "torch.zeros(3, device=DEVICE)"),
    ],
)
def test_a_library_that_a_module_passes_on_is_that_library(importing: str, call: str) -> None:
    files = {
        "pkg/__init__.py": "",
        "pkg/settings.py": 'DEVICE = "cuda"\n',
        "pkg/compat.py": COMPAT,
        "pkg/through.py": "from .compat import torch\n",
        "train.py": f"{importing}\n\n\ndef f():\n    x = {call}\n",
    }
    found = value(linked(files)["train.py"], call)
    assert found.is_a(v.TENSOR)
    assert found.places == v.DEVICE


@pytest.mark.parametrize("annotation", ["Array", "Maybe", "shapes.Array", "'Pair'", "Psd"])
def test_an_alias_of_another_module_is_what_it_stands_for(annotation: str) -> None:
    shapes = "import torch\nfrom typing import Optional\nArray = torch.Tensor\nMaybe = Optional[Array]\n"
    shapes += "Pair = tuple[Array, Array]\nclass Psd(torch.Tensor): ...\n"
    use = f"from pkg import shapes\nfrom pkg.shapes import *\ndef main(x: {annotation}):\n    return x\n"
    found = value(linked({"pkg/__init__.py": "", "pkg/shapes.py": shapes, "use.py": use})["use.py"], "x")
    held = found.item if found.is_a(v.CONTAINER) else found
    assert held is not None
    assert held.is_a(v.TENSOR)
    assert held.on_device


def test_modules_that_pass_a_name_to_each_other_end() -> None:
    files = {
        "pkg/__init__.py": "",
        "pkg/one.py": "from .two import torch\n",
        "pkg/two.py": "from .one import torch\n",
        "train.py": "from pkg.one import torch\n\n\ndef f():\n    x = torch.zeros(3, device='cuda')\n",
    }
    assert not value(linked(files)["train.py"], "torch.zeros(3, device='cuda')").is_a(v.TENSOR)


STATE = """\
import torch


class State:
    def __init__(self):
        self.found = torch.zeros(3)

    def to_(self, device):
        self.found = self.found.to(device)

    def read(self):
        return self.found + 1
"""


def test_a_constructor_tells_of_attributes_whatever_is_called_first() -> None:
    first = "from state import State\n\n\ndef f(state: State):\n    state.to_('cuda')\n"
    found = value(linked({"first.py": first, "state.py": STATE})["state.py"], "self.found + 1")
    assert found.is_a(v.TENSOR)
    assert found.places & v.HOST
    assert found.on_device


def test_a_file_alone_knows_nothing_of_the_others() -> None:
    facts = linked({"pkg/utils.py": UTILS})["pkg/utils.py"]
    (read,) = [t for f in facts.functions for t in f.transfers if t.api == ".item()"]
    assert not read.before.on_device


@pytest.mark.parametrize(
    "importing",
    [
        "from pkg.base import Base",
        "from pkg import Base",
        "from pkg.base import *",
    ],
)
def test_a_base_class_of_another_file_is_seen(importing: str) -> None:
    base = """\
import torch
from torch import nn


class Base(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = torch.arange(4)
"""
    net = f"import torch\n{importing}\n\n\nclass Net(Base):\n    def forward(self, x):\n        return x + self.table\n"
    found = linked({"pkg/__init__.py": "from .base import Base\n", "pkg/base.py": base, "net.py": net})["net.py"]
    table = value(found, "self.table")
    assert table.is_a(v.TENSOR)
    assert table.flags & v.PLAIN


def test_the_order_of_files_does_not_matter() -> None:
    there = linked(FILES)
    back = linked(FILES, sorted(FILES, reverse=True))
    for path in FILES:
        mine = [(t.register, t.kind, t.before.places) for f in there[path].functions for t in f.transfers]
        other = [(t.register, t.kind, t.before.places) for f in back[path].functions for t in f.transfers]
        assert mine == other


def test_modules_that_import_each_other_end() -> None:
    one = "from two import g\n\n\ndef f(x):\n    return g(x)\n"
    two = "from one import f\n\n\ndef g(x):\n    return f(x)\n"
    assert len(linked({"one.py": one, "two.py": two})) == 2


def test_what_only_cold_code_of_other_files_calls_is_cold() -> None:
    plot = "from helpers import curve\n\n\ndef plot_all(xs):\n    for x in xs:\n        curve(x)\n"
    helpers = "import torch\n\n\ndef curve(x: torch.Tensor):\n    return x.cpu()\n"
    facts = linked({"plot.py": plot, "helpers.py": helpers})["helpers.py"]
    function = next(f for f in facts.functions if f.function.name == "curve")
    assert is_a(function.warmth(0).cold, Cause.RARE_CALLERS)


def test_the_loops_of_what_runs_rarely_count_as_ever() -> None:
    train = (
        "from helpers import estimate\n\n\nfor step in range(1000):\n    if step % 100 == 0:\n        estimate(model)\n"
    )
    helpers = "def estimate(model):\n    for k in range(200):\n        loss = model(k)\n        loss.item()\n"
    facts = linked({"train.py": train, "helpers.py": helpers})["helpers.py"]
    function = next(f for f in facts.functions if f.function.name == "estimate")
    (read,) = [t for t in function.transfers if t.api == ".item()"]
    assert function.warmth(read.register).hot


def test_tests_do_not_make_cold_what_they_call() -> None:
    net = "class Net:\n    def merge(self, parts):\n        for part in parts:\n            part.sum().item()\n"
    use = "from net import Net\n\ndef test_merge():\n    Net().merge([1])\n"
    facts = linked({"net.py": net, "tests/test_net.py": use})["net.py"]
    merge = next(f for f in facts.functions if f.function.name == "merge")
    assert not any(merge.warmth(reg).cold for reg in range(len(merge.code)))


OVERFLOW = """\
import torch

class Optimizer(torch.optim.Optimizer):
    def step(self, closure=None):
        self.check()

    def check(self, parted=True):
        self.overflow = self.has_overflow(parted)

    def has_overflow(self, parted=True):
        if parted:
            return self.found
        return self.all_overflow()

    def all_overflow(self):
        for p in self.parts:
            if self._overflows(p.grad):
                return True
        return False

    def group_overflow(self):
        for i in range(len(self.groups)):
            for grad in self.grads[i]:
                if self._overflows(grad):
                    return True
        return False

    @staticmethod
    def _overflows(x):
        seen = x.float().sum()
        return bool(seen)
"""


@pytest.mark.parametrize(
    ("old", "new", "hot"),
    [
        ("", "", False),
        ("self.check()", "self.check(closure)", True),
        ("self.check()", "self.check(False)", True),
        ("self.check()", "self.group_overflow()", True),
        ("def group_overflow(self)", "def group_overflow(self, groups)", True),
        ("_overflows", "overflows", True),
        ("return self.all_overflow()", "return self.found_by_all", True),
    ],
)
def test_what_nobody_calls_says_nothing_beside_what_no_option_asks_for(old: str, new: str, hot: bool) -> None:
    files = {"optim.py": OVERFLOW.replace(old or "-", new), "main.py": "import optim\n"}
    functions = linked(files)["optim.py"].functions
    places = ((f, r) for f in functions for r in range(len(f.code)) if f.has_text(r))
    ((function, reg),) = [(f, r) for f, r in places if f.text(r) == "x.float().sum()"]
    assert function.warmth(reg).hot is hot


@pytest.mark.parametrize(
    ("first", "second", "third", "hot"),
    [
        ("mix(x)", "blend(x)", "stir(x)", False),
        ("mix(x, p)", "blend(x)", "stir(x)", False),
        ("mix(x, p)", "blend(x, 0)", "stir(x)", False),
        ("mix(x, p)", "blend(x, 1)", "stir(x)", True),
        ("mix(x, p)", "blend(x, p)", "stir(x)", True),  # who calls `stir` may not be looked for
    ],
)
def test_an_option_is_followed_as_far_as_callers_are_looked_for(first: str, second: str, third: str, hot: bool) -> None:
    files = {
        "low.py": "def mix(x, p=0):\n    if p:\n        x.sum()\n",
        "mid.py": f"from low import mix\n\ndef blend(x, p=0):\n    {first}\n",
        "high.py": f"from mid import blend\n\ndef stir(x, p=0):\n    {second}\n",
        "top.py": f"from high import stir\n\ndef training_step(x):\n    {third}\n",
    }
    (mix,) = [f for f in linked(files)["low.py"].functions if f.function.name == "mix"]
    reg = next(r for r in range(len(mix.code)) if mix.has_text(r) and mix.text(r) == "x.sum()")
    assert bool(mix.warmth(reg).amortised) is not hot


STARRED = {
    "pkg/__init__.py": "",
    "pkg/names.py": """\
import torch
import torch.nn.functional as F
from pkg.more import *


def made(n):
    return n
""",
    "pkg/more.py": "from pkg.names import *\nimport numpy as np\nDEVICE = 'cuda'\n",
    "main.py": """\
from pkg.names import *


def run(n):
    x = torch.zeros(n, device=DEVICE)
    y = F.relu(x)
    z = np.ones(n)
    w = made(n)
    u = nobody.knows(n)
    return y.item()
""",
}


def test_a_star_import_brings_what_the_module_imports_and_sets() -> None:
    facts = linked(STARRED)["main.py"]
    run = next(f for f in facts.functions if f.function.name == "run")
    found = {run.text(reg): run.values[reg] for reg in range(len(run.code)) if run.has_text(reg)}
    assert found["torch.zeros(n, device=DEVICE)"].is_a(v.TENSOR)
    assert found["torch.zeros(n, device=DEVICE)"].places == v.DEVICE
    assert found["F.relu(x)"].places == v.DEVICE
    assert found["np.ones(n)"].is_a(v.ARRAY)
    assert found["nobody.knows(n)"].is_a(v.UNKNOWN)
    assert found["nobody.knows(n)"].places == v.ANYWHERE
    assert [t.kind for t in run.transfers] == ["scalar-read"]
    made = next(reg for reg in range(len(run.code)) if run.has_text(reg) and run.text(reg) == "made(n)")
    assert run.calls[made].startswith("pkg/names.py#")


def test_of_a_star_import_that_cannot_be_read_a_name_may_come_from_there() -> None:
    files = {"main.py": "from torch.nn import *\n\n\ndef run():\n    return Linear(3, 4), len([])\n"}
    run = linked(files)["main.py"].functions[1]
    found = {run.text(reg): run.values[reg] for reg in range(len(run.code)) if run.has_text(reg)}
    assert found["Linear(3, 4)"].kinds & v.MODULE
    assert found["len([])"].is_a(v.HOST_VALUE)
