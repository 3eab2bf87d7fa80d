"""Which code is seen to run repeatedly: an unsafe fix is applied there, and only shown elsewhere."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from proving import all_rules
from transferlint.engine import checking
from transferlint.engine.pipeline import Plan
from transferlint.model import Confidence, Finding, Safety
from transferlint.settings.loading import Settings

RULE = next(rule for rule in all_rules() if rule.code == "TL401")
NOISE = "torch.randn(4, 2).to(x.device)"
HEAD = "import torch\nfrom given import loader, net, noise\nfrom torch import nn\n\nflags = None\nnoisy = False\n\n\n"
NET = f"{HEAD}class Net(nn.Module):\n    def forward(self, x: torch.Tensor):\n        return x + {NOISE}\n"
LOOP = "for batch in loader:\n    "
STEP = f"{HEAD}def step(model, x: torch.Tensor):\n    return model(x + {NOISE})\n"
TRAIN = (
    f"{HEAD}def train(model, loader, n):\n    for x in loader:\n        x = x.cuda()\n"
    f"        model(x + {NOISE}).sum().backward()\n"
)
PARTS = NET + (
    "\n\nclass Whole(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.net = Net()\n\n"
    "    def forward(self, x):\n        return self.net(x)\n"
)
ENCODER = (
    f"{HEAD}class Encoder(nn.Module):\n    def forward(self, x: torch.Tensor):\n        return x + {NOISE}\n\n"
    "    def encode_it(self, x):\n        return x * 2\n"
)
SIZED = NET.replace("Module):\n", "Module):\n    def __init__(self, n):\n        super().__init__()\n\n")
BATCHES = "\n\n\nfor x in loader:\n    step(nn.Linear(2, 2), x.cuda())\n"
ENCODING = (
    "\n\ndef train(loader):\n    net = Encoder().cuda()\n    for x in loader:\n        net.encode_it({})\n\n\n"
    "train(open(0))\n"
)
NOISY = "def step(model, x: torch.Tensor, noisy=False):\n    if noisy:\n        x = x + {}\n    return model(x)\n"
SHOWN = f"    x = x.cuda()\n    net(x + {NOISE})\n"
LOADING = "for x in loader:\n"
OF_LOADER = f"{HEAD}for i, x in enumerate(loader):\n"
ARM = f"    if flags[i]:\n        net(x.cuda() + {NOISE})\n"
PLAIN = f"{HEAD}class Net(nn.Module):\n    pass\n"
SEEDED = f"{HEAD}def seed(number):\n    torch.manual_seed(number)\n"
PART = (
    f"{HEAD}class Encoder(nn.Module):\n    def forward(self, x: torch.Tensor):\n        return self.code(x)\n\n"
    f"    def code(self, x: torch.Tensor):\n        return x + {NOISE}\n\n\nnet = Encoder().cuda()\n"
)
MAIN = '\n\nif __name__ == "__main__":\n    '

# the files of a project; whether the fix of the place with the noise is applied
CASES: dict[str, tuple[dict[str, str], bool]] = {
    "a program of transformers' models, which stay where they are made": (
        {"main.py": f"from transformers import ViTModel\n{STEP}for x in loader:\n    step(ViTModel(), x)\n"},
        False,
    ),
    "a program whose trainer moves what it is given": (
        {"main.py": f"from transformers import Trainer\n{STEP}Trainer(1)\nfor x in loader:\n    step(net, x)\n"},
        True,
    ),
    "what Sphinx copied": ({"docs/_downloads/1/main.py": TRAIN + "\n\ntrain(net, loader, 1)\n"}, False),
    "a forward that nobody makes": ({"net.py": NET}, False),
    "a forward of a module that a program makes": (
        {"net.py": NET, "main.py": f"{HEAD}from net import Net\n\nnet = Net().cuda()\n"},
        True,
    ),
    "a part of a module that nobody makes": ({"net.py": PARTS}, False),
    "a part of a module that a program makes": ({"net.py": PARTS + "\n\nnet = Whole().cuda()\n"}, True),
    "a forward where others call methods alone": (
        {"net.py": ENCODER + ENCODING.format("x")},
        False,
    ),
    "a forward that is called beside other methods": (
        {"net.py": ENCODER + ENCODING.format("net(x)")},
        True,
    ),
    "a loop in a function that nobody names": ({"train.py": TRAIN}, False),
    "a loop in a function behind the main guard": ({"train.py": f"{TRAIN}{MAIN}train(None, [], 2)\n"}, True),
    "a loop in a function that another file calls": (
        {"train.py": TRAIN, "main.py": f"{HEAD}from train import train\n\ntrain(nn.Linear(2, 2), [], 2)\n"},
        True,
    ),
    "a loop in a function that only a function nobody names calls": (
        {"train.py": f"{TRAIN}\n\ndef run(loader):\n    train(None, loader, 2)\n"},
        False,
    ),
    "a function that nobody calls": ({"step.py": STEP}, False),
    "a function that is called once": (
        {"step.py": f"{STEP}\n\nstep(nn.Linear(2, 2), torch.ones(4, 2).cuda())\n"},
        False,
    ),
    "a function that is called in a loop": (
        {"step.py": STEP + BATCHES},
        True,
    ),
    "a function that is called in a loop of what a project carries with it": (
        {"third_party/step.py": STEP + BATCHES},
        False,
    ),
    "a test of its own behind the main guard of what others use": (
        {
            "net.py": f"{NET}\n\ndef twice(x):\n    return x * 2\n{MAIN}for x in loader:\n"
            "        Net()(twice(x.cuda()))\n",
            "main.py": f"{HEAD}from net import twice\n\nprint(twice(3))\n",
        },
        False,
    ),
    "what a package offers": (
        {"pkg/__init__.py": "from .net import Net\n", "pkg/net.py": f'{NET}\n\nBEST = torch.device("cuda")\n'},
        True,
    ),
    "what a package does not offer": ({"pkg/__init__.py": "", "pkg/net.py": NET}, False),
    "an arm that no call comes by": ({"step.py": HEAD + NOISY.format(NOISE) + BATCHES}, False),
    "an arm of a branch in a loop": ({"show.py": OF_LOADER + ARM}, False),
    "an arm that asks for a shape": (
        {"show.py": f"{OF_LOADER}    if x.shape[0] > 1:\n        net(x.cuda() + {NOISE})\n"},
        False,
    ),
    "an arm that asks whether something is there": (
        {"show.py": f"{OF_LOADER}    if x is not None:\n        net(x.cuda() + {NOISE})\n"},
        True,
    ),
    "what is called in an arm that asks for a shape": (
        {"step.py": STEP + BATCHES.replace("    step", "    if x.shape[0] > 1:\n        step")},
        True,
    ),
    "a module that a branch chooses": (
        {"net.py": NET, "main.py": f"{HEAD}from net import Net\n\nif loader.kind == 'net':\n    net = Net().cuda()\n"},
        False,
    ),
    "a module that a branch chooses, and another program": (
        {
            "net.py": NET,
            "main.py": f"{HEAD}from net import Net\n\nif loader.kind == 'net':\n    net = Net().cuda()\n",
            "run.py": f"{HEAD}from net import Net\n\nnet = Net().cuda()\n",
        },
        True,
    ),
    "an arm for an argument that is given": (
        {"step.py": HEAD + NOISY.format(NOISE) + BATCHES.replace("x.cuda()", "x.cuda(), noise")},
        False,
    ),
    "an arm of a constant": ({"show.py": f"NOISY = False\n{OF_LOADER}{ARM.replace('flags[i]', 'NOISY')}"}, False),
    "an arm of what is counted": (
        {"show.py": f"n = 0\n{OF_LOADER}    n += 1\n{ARM.replace('flags[i]', 'n > 1')}"},
        False,
    ),
    "what is called in an arm that no call comes by": (
        {
            "step.py": STEP
            + "\n\ndef some(x, n):\n    if n > 0:\n        step(nn.Linear(2, 2), x)\n\n\n"
            + "for x in loader:\n    some(x.cuda(), -1)\n"
        },
        False,
    ),
    "an arm for an option that the object keeps": (
        {"net.py": NET.replace("return x +", "if self.noisy:\n            return x +") + "\n\nnet = Net().cuda()\n"},
        False,
    ),
    "a loop in an arm of a branch": (
        {"show.py": f"{HEAD}if flags:\n    for x in loader:\n        net(x.cuda() + {NOISE})\n"},
        True,
    ),
    "a function that is called in an arm of a branch": (
        {"step.py": STEP + BATCHES.replace("    step", "    if noisy:\n        step")},
        False,
    ),
    "random numbers that another file seeds": (
        {"show.py": f"import seeds\n{OF_LOADER}{SHOWN}", "seeds.py": SEEDED},
        False,
    ),
    "a program for a torch whose functions take no device": (
        {
            "show.py": f"import see\n{OF_LOADER}{SHOWN}",
            "see.py": f"{HEAD}def see(x):\n    return nn.Variable(x, volatile=True)\n",
        },
        False,
    ),
    "a program without an accelerator": ({"step.py": STEP + BATCHES.replace("x.cuda()", "x")}, False),
    "a program without an accelerator beside one that has it": (
        {
            "total.py": f"{HEAD}def total(x):\n    return x + {NOISE}\n",
            "show.py": f"{OF_LOADER}    net(x.cuda())\n",
            "sum.py": "from total import total\n\nfor x in loader:\n    total(x)\n",
        },
        False,
    ),
    "what imports a name that is not there": (
        {"show.py": f"from net import lost\n{OF_LOADER}{SHOWN}", "net.py": PLAIN},
        False,
    ),
    "what imports a name that is there": (
        {"show.py": f"from net import Net\n{OF_LOADER}{SHOWN}", "net.py": PLAIN},
        True,
    ),
    "what imports what imports a name that is not there": (
        {
            "show.py": f"import see\n{OF_LOADER}{SHOWN}",
            "see.py": "import torch\nfrom net import lost\n",
            "net.py": PLAIN,
        },
        False,
    ),
    "what imports what may import a name that is not there": (
        {
            "show.py": f"import see\n{OF_LOADER}{SHOWN}",
            "see.py": "import torch\n\n\ndef lost():\n    from net import lost\n\n    return lost\n",
            "net.py": PLAIN,
        },
        True,
    ),
    "what imports from a package that has no such module": (
        {"show.py": f"from nets.lost import Net\n{OF_LOADER}{SHOWN}", "nets/__init__.py": "import torch\n"},
        False,
    ),
    "what imports from a folder of a package that has no such module": (
        {
            "show.py": f"from nets.small.lost import Net\n{OF_LOADER}{SHOWN}",
            "nets/__init__.py": "import torch\n",
            "nets/small/net.py": PLAIN,
        },
        False,
    ),
    "what imports from a package that imports a module that it has not": (
        {
            "show.py": f"from nets.net import Net\n{OF_LOADER}{SHOWN}",
            "nets/__init__.py": "import torch\nfrom .lost import Lost\n",
            "nets/net.py": PLAIN,
        },
        False,
    ),
    "what imports a name that a package has not": (
        {"show.py": f"from nets import lost\n{OF_LOADER}{SHOWN}", "nets/__init__.py": "import torch\n"},
        False,
    ),
    "what imports a module beside it, which asks for the package that it is in": (
        {
            "nets/__init__.py": "",
            "nets/show.py": f"import net\n{OF_LOADER}{SHOWN}",
            "nets/net.py": f"from . import parts\n{PLAIN}",
            "nets/parts.py": "",
        },
        False,
    ),
    "what imports the same by the name of its package": (
        {
            "nets/__init__.py": "",
            "show.py": f"import nets.net\n{OF_LOADER}{SHOWN}",
            "nets/net.py": f"from . import parts\n{PLAIN}",
            "nets/parts.py": "",
        },
        True,
    ),
    "what imports a package beside it, which asks for its own modules": (
        {
            "show.py": f"import nets\n{OF_LOADER}{SHOWN}",
            "nets/__init__.py": f"from . import parts\n{PLAIN}",
            "nets/parts.py": "",
        },
        True,
    ),
    "what imports a package beside it, which asks for the one around it": (
        {
            "some/show.py": f"import nets\n{OF_LOADER}{SHOWN}",
            "some/nets/__init__.py": f"from .. import parts\n{PLAIN}",
            "some/parts.py": "",
        },
        False,
    ),
    "what imports a module beside it, which tries to ask for the package that it is in": (
        {
            "nets/__init__.py": "",
            "nets/show.py": f"import net\n{OF_LOADER}{SHOWN}",
            "nets/net.py": f"try:\n    from . import parts\nexcept ImportError:\n    import parts\n{PLAIN}",
            "nets/parts.py": "",
        },
        True,
    ),
    "what imports a module of a package": (
        {
            "show.py": f"from nets import net\n{OF_LOADER}{SHOWN}",
            "nets/__init__.py": "import torch\n",
            "nets/net.py": PLAIN,
        },
        True,
    ),
    "what imports what a package looks up": (
        {
            "show.py": f"from nets import lost\n{OF_LOADER}{SHOWN}",
            "nets/__init__.py": "import torch\n\n\ndef __getattr__(name):\n    return torch\n",
        },
        True,
    ),
    "what imports what a package puts into a table": (
        {
            "show.py": f"from nets import lost\n{OF_LOADER}{SHOWN}",
            "nets/__init__.py": "import sys\nimport torch\n\nsys.modules[__name__] = torch\n",
        },
        True,
    ),
    "what imports modules that building makes": (
        {
            "show.py": "from nets import _C\nfrom nets.version import number\nfrom nets.net_pb2 import Net\n"
            f"{OF_LOADER}{SHOWN}",
            "nets/__init__.py": "import torch\n",
        },
        True,
    ),
    "what a package offers that only a program which imports what is not there uses": (
        {
            "nets/__init__.py": f"{STEP}\n\n\ndef fit(loader):\n    for x in loader:\n        step(net, x.cuda())\n",
            "main.py": "import torch\nfrom nets import fit, lost\n\nfit(lost)\n",
        },
        False,
    ),
    "a method of a class that nobody makes, where one of another is called": (
        {
            "net.py": f"{PLAIN}\n\nclass Other(Net):\n"
            f"    def look(self, x: torch.Tensor):\n        return x + {NOISE}\n",
            "show.py": f"from net import Net\n{OF_LOADER}    Net().look(x.cuda())\n",
        },
        False,
    ),
    "a method of a class that takes the place of another of its name": (
        {
            "net.py": f"{PLAIN}\n\n{NET.removeprefix(HEAD)}",
            "show.py": f"from net import Net\n{OF_LOADER}    Net()(x.cuda())\n",
        },
        True,
    ),
    "a module that is made with what its constructor does not take, in another file": (
        {
            "net.py": SIZED,
            "show.py": f"from net import Net\n{OF_LOADER}    Net()(x.cuda())\n",
        },
        False,
    ),
    "a module that is made with what its constructor takes, in another file": (
        {
            "net.py": SIZED,
            "show.py": f"from net import Net\n{OF_LOADER}    Net(3)(x.cuda())\n",
        },
        True,
    ),
    "what tries to import a name that is not there": (
        {
            "show.py": f"try:\n    from net import lost\nexcept ImportError:\n    lost = 1\n{OF_LOADER}{SHOWN}",
            "net.py": PLAIN,
        },
        True,
    ),
    "a part of a forward pass": ({"net.py": PART}, True),
    "a part of a forward pass that nobody calls, where others call the part": (
        {"net.py": f"{PART}code = net.code(torch.ones(4, 2).cuda())\n"},
        False,
    ),
    "a loop over whatever else": ({"show.py": f"{HEAD}for x in [*net.parts]:\n{SHOWN}"}, False),
    "a loop that counts": ({"show.py": f"{HEAD}for step in range(noise):\n    x = noise[step]\n{SHOWN}"}, False),
    "a loop over the starts of batches": (
        {"show.py": f"{HEAD}for i in range(0, len(noise), 8):\n    x = noise[i : i + 8]\n{SHOWN}"},
        True,
    ),
    "a program that reads a name that nothing binds": ({"show.py": f"{HEAD}print(lost)\n\n{LOADING}{SHOWN}"}, False),
    "a program that may read a name that nothing binds": (
        {"show.py": f"{HEAD}if net.lost:\n    print(lost)\n\n{LOADING}{SHOWN}"},
        True,
    ),
    "a function whose every call raises": (
        {"step.py": STEP.replace("return", "x = x + lost\n    return") + BATCHES},
        False,
    ),
    "what is called where every call raises": (
        {
            "step.py": f"{STEP}\n\ndef twice(net, x):\n    step(net, x)\n    return lost\n"
            + BATCHES.replace("step(", "twice(")
        },
        False,
    ),
    "a program that gives a function what it does not take": (
        {"show.py": f"{HEAD}def made(size):\n    return size\n\n\nmade(3, bias=True)\n{LOADING}{SHOWN}"},
        False,
    ),
    "a program that gives a decorated function what it does not name": (
        {"show.py": f"{HEAD}@net\ndef made(size):\n    return size\n\n\nmade(3, bias=True)\n{LOADING}{SHOWN}"},
        True,
    ),
    "a program that gives a function less than it takes": (
        {"show.py": f"{HEAD}def made(size, bias):\n    return size\n\n\nmade(3)\n{LOADING}{SHOWN}"},
        False,
    ),
    "a program that gives a class less than it takes": (
        {
            "show.py": f"{HEAD}class Made:\n    def __init__(self, size, *, bias):\n        self.size = size\n\n\n"
            f"parts = [Made(n) for n in range(3)]\n{LOADING}{SHOWN}"
        },
        False,
    ),
    "a program that gives a class what it takes": (
        {
            "show.py": f"{HEAD}class Made:\n    def __init__(self, size, *, bias):\n        self.size = size\n\n\n"
            f"Made(3, bias=1), Made(*noise), Made(size=3, **flags)\n{LOADING}{SHOWN}"
        },
        True,
    ),
    "a module that is made with less than it takes": (
        {"net.py": PARTS.replace("__init__(self)", "__init__(self, size)") + "\n\nnet = Whole().cuda()\n"},
        False,
    ),
    "a module whose constructor makes another with less than it takes": (
        {
            "net.py": PARTS.replace("self.net = Net()", "self.net = Net()\n        self.more = Other()")
            + "\n\nclass Other(nn.Module):\n    def __init__(self, size):\n        super().__init__()\n"
            + "\n\nnet = Whole().cuda()\n"
        },
        False,
    ),
    "what is called with a name that nothing binds": (
        {"step.py": STEP + BATCHES.replace("nn.Linear(2, 2)", "lost")},
        False,
    ),
    "what is called behind a name that nothing binds, in what is tried": (
        {
            "step.py": STEP
            + BATCHES.replace("    step", "    try:\n        lost\n    except NameError:\n        pass\n    step")
        },
        True,
    ),
    "an arm that only a call which nobody makes could ask for": (
        {
            "step.py": HEAD
            + NOISY.format(NOISE)
            + "\n\ndef often(model, x, noisy=False):\n    return step(model, x, noisy=noisy)\n"
            + BATCHES
        },
        False,
    ),
    "a loop of the module": ({"show.py": f"{HEAD}for i, x in enumerate(loader):\n{SHOWN}"}, True),
}


class Nobody:
    def begin(self, total: int) -> None:
        """Hears nothing."""

    def advance(self, count: int) -> None:
        """Hears nothing."""


def write(files: Mapping[str, str], folder: Path) -> None:
    (folder / "pyproject.toml").write_text("")
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def findings(folder: Path, least: Confidence) -> Sequence[Finding]:
    """What is found in a project at least so surely."""
    plan = Plan(rules=(RULE,), min_confidence=least)
    return checking.check_paths((str(folder),), Settings(), plan, Nobody()).findings


def safeties(files: Mapping[str, str], folder: Path) -> set[Safety]:
    """How safe the fixes of a project are."""
    write(files, folder)
    return {one.fix.safety for one in findings(folder, Confidence.POSSIBLE) if one.fix is not None}


@pytest.mark.parametrize("name", CASES)
def test_an_unsafe_fix_is_applied_where_the_place_is_seen_to_run_repeatedly(name: str, tmp_path: Path) -> None:
    files, applied = CASES[name]
    assert safeties(files, tmp_path) == {Safety.UNSAFE if applied else Safety.DISPLAY}


@pytest.mark.parametrize(
    "name",
    [
        "an arm for an option that the object keeps",
        "a function that is called in an arm of a branch",
    ],
)
@pytest.mark.parametrize(
    ("settings", "text", "told"),
    [
        ("pyproject.toml", "[tool.ruff]\n", False),
        ("pyproject.toml", '[project]\nname = "net"\n', True),
        ("setup.cfg", "[metadata]\nname = net\n", True),
        ("setup.py", "import setuptools\n\nsetuptools.setup()\n", True),
    ],
)
def test_what_no_program_in_sight_repeats_is_only_possible(
    name: str, settings: str, text: str, told: bool, tmp_path: Path
) -> None:
    used = "".join(f"import {path.removesuffix('.py')}\n" for path in CASES[name][0])
    write({**CASES[name][0], "start.py": f"{used}\n\ndef start():\n    return 1\n\n\nstart()\n"}, tmp_path)
    (tmp_path / settings).write_text(text)
    assert findings(tmp_path, Confidence.POSSIBLE)
    assert bool(findings(tmp_path, Confidence.LIKELY)) is told


@pytest.mark.parametrize("marked", [True, False])
def test_files_by_their_names_give_what_their_folder_gives(
    marked: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    files = CASES["a function that is called in an arm of a branch"][0]
    write({f"pkg/{name}": text for name, text in files.items()}, tmp_path)
    if not marked:
        (tmp_path / "pyproject.toml").unlink()
    named = sorted((os.path.join("pkg", name) for name in files), reverse=True)
    each = [
        checking.check_paths(paths, Settings(), Plan(rules=(RULE,)), Nobody()).findings
        for paths in ((".",), tuple(named))
    ]
    assert len({tuple(found.code for found in one) for one in each}) == 1
    assert bool(each[0]) is not marked
