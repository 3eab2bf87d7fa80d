"""Which files matter for which, from their bytes."""

from __future__ import annotations

import pytest

from transferlint.flow.callgraph.modules import ModuleIndex
from transferlint.sources.reach import Bounds, Import, Reached, imports, reach


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("import a", [Import("a", "", "a")]),
        ("import a.b, c as d", [Import("a.b", "", "a"), Import("c", "", "d")]),
        ("import a.b as c  # import z", [Import("a", "b", "c")]),
        ("from a import b, c as d", [Import("a", "b", "b"), Import("a", "c", "d")]),
        ("from a import (\n    b,  # , x\n    c as d,\n)\n", [Import("a", "b", "b"), Import("a", "c", "d")]),
        ("from a import b, \\\n    c\n", [Import("a", "b", "b"), Import("a", "c", "c")]),
        ("from a \\\n    import b\n", [Import("a", "b", "b")]),
        ("from .. import x", [Import("..", "x", "x")]),
        ("from ..a.b import x", [Import("..a.b", "x", "x")]),
        ("from .import x", [Import(".", "x", "x")]),
        ("from a import *", [Import("a", "*", "*")]),
        ("def f():\n\tfrom a import b\n", [Import("a", "b", "b")]),
        ("try: import a\nexcept E: import b", [Import("a", "", "a"), Import("b", "", "b")]),
        ("x = 1; import a; y", [Import("a", "", "a")]),
        ("import a\r\nfrom b import c\r\n", [Import("a", "", "a"), Import("b", "c", "c")]),
        ("m = importlib.import_module('a.b')", [Import("a.b", "", "")]),
        ("important = 1\nimport_it()\nx.important\nreimport a", []),
        ("# we import a\n'please import b from c'", []),
        ("", []),
        ("import", []),
        ("from import", []),
    ],
)
def test_imports_read_off_the_bytes(text, expected):
    assert imports(text.encode()) == expected


def test_bytes_that_are_no_text_are_no_trouble():
    imports(bytes(range(256)) + b"\nimport " + bytes(range(256)))


FILES = {
    "pkg/__init__.py": "from .core import Brain as Boss, helper\nfrom . import nnet\nfrom .far import *\n",
    "pkg/core.py": "from .base import Base\nclass Brain(Base): pass\ndef helper(): pass\n",
    "pkg/base.py": "class Base: pass\n",
    "pkg/far.py": "def distant(): pass\n",
    "pkg/lonely.py": "def alone(): pass\n",
    "pkg/nnet/__init__.py": "from .losses import nll\n",
    "pkg/nnet/losses.py": "def nll(): pass\n",
    "pkg/nnet/layers.py": "def layer(): pass\n",
    "run.py": "from pkg import Boss, helper\nclass Mine(Boss): pass\ndef go(): helper()\n",
    "whole.py": "import pkg as p\nx = p.nnet.losses.nll()\n",
    "main.py": "from run import go\nimport extra\ngo()\n",
    "outer.py": "import main\nmain.all_of_it()\n",
    "extra.py": "def more(): pass\n",
    "star.py": "from pkg import *\n",
}
DEFINING = FILES | {"main.py": FILES["main.py"] + "def all_of_it(): go()\n"}


BOUNDS = Bounds()
ALONE = Bounds(users=0, bases=0)


def near(target: str, bounds: Bounds = BOUNDS, files: dict[str, str] = DEFINING) -> set[str]:
    sources = {path: text.encode() for path, text in files.items()}
    found = reach([target], sources, ModuleIndex(files, "."), bounds)
    assert target not in found.users | found.used
    assert not found.users & found.used
    return set(found.users | found.used)


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ("pkg/base.py", set()),
        ("pkg/core.py", {"pkg/base.py"}),
        ("run.py", {"pkg/__init__.py", "pkg/core.py", "pkg/base.py", "pkg/far.py"}),
        ("main.py", {"run.py", "extra.py", "pkg/__init__.py", "pkg/core.py", "pkg/base.py", "pkg/far.py"}),
        ("whole.py", {"pkg/__init__.py", "pkg/nnet/losses.py"}),
    ],
)
def test_what_a_file_uses(target, expected):
    assert near(target, ALONE) == expected


def test_what_a_package_defines_may_use_all_it_imports():
    files = {
        "p/__init__.py": "from .a import A\nthing = A()\n",
        "p/a.py": "class A: pass",
        "use.py": "from p import thing",
    }
    assert near("use.py", ALONE, files) == {"p/__init__.py", "p/a.py"}
    assert near("use.py", ALONE, files | {"p/__init__.py": "from .a import A\n_thing = A()\n"}) == {"p/__init__.py"}


def test_what_a_package_passes_on_is_not_all_it_imports():
    assert "pkg/nnet/losses.py" not in near("run.py", ALONE)


def test_a_star_may_be_anything():
    assert near("star.py", ALONE) >= {"pkg/core.py", "pkg/nnet/__init__.py", "pkg/far.py"}


def test_users_through_packages_and_two_levels_up():
    assert {"run.py", "main.py"} <= near("pkg/core.py")
    assert "outer.py" not in near("pkg/core.py")
    assert "outer.py" in near("pkg/core.py", Bounds(users=3))
    assert "main.py" not in near("pkg/core.py", Bounds(users=1))


def test_what_defines_nothing_is_used_by_nobody():
    assert "outer.py" in near("run.py")
    assert "outer.py" not in near("main.py", files=FILES)


def test_users_bring_what_they_import():
    assert "extra.py" in near("run.py", Bounds(users=1, bases=1))
    assert "extra.py" not in near("run.py", Bounds(users=1, bases=0))


def test_circles_end():
    files = {
        "a/__init__.py": "from .b import x\nfrom . import *\n",
        "a/b.py": "from . import x\nfrom .c import x\ndef f(): pass\n",
        "a/c.py": "from .b import x, f\ndef g(): f()\n",
    }
    assert near("a/b.py", files=files) == {"a/__init__.py", "a/c.py"}


def test_all_of_a_project_is_all_of_it():
    sources = {path: text.encode() for path, text in FILES.items()}
    assert reach(FILES, sources, ModuleIndex(FILES, ".")) == Reached(frozenset(), frozenset())


def test_a_user_that_calls_only_what_is_told_by_name_does_not_matter():
    files = {
        "net.py": "class Net:\n    def forward(self, x): pass\n    def mix(self, x): pass\n",
        "train.py": "from net import Net\nnet = Net()\nnet.forward(1)\n",
        "eval.py": "from net import Net\nnet = Net()\nnet.mix(1)\n",
    }
    assert near("net.py", files=files) == {"eval.py"}


def test_who_calls_a_method_by_way_of_its_base_class_matters():
    files = {
        "base.py": "class Base:\n    def advance(self, x): pass\n",
        "model.py": "from base import Base\nclass M(Base):\n"
        "    def advance(self, x): pass\n    def forward(self, x): pass\n",
        "server.py": "from base import Base\ndef serve(model: Base):\n    model.advance(1)\n",
        "other.py": "from base import Base\ndef serve(model: Base):\n    model.forward(1)\n",
    }
    assert near("model.py", files=files) == {"base.py", "server.py"}


@pytest.mark.parametrize(
    ("name", "matters"),
    [
        ("clip_grad_norm_", True),
        ("_clip_gradients", True),
        ("get_grad_norm", True),
        ("sample_codes", True),
        ("focal_loss", False),
        ("forward_train", False),
        ("training_step", False),
        ("save_norms", False),
    ],
)
def test_a_user_tells_what_is_given_to_what_only_the_source_calls(name, matters):
    files = {
        "norms.py": f"def {name}(x, kind=2): pass\n",
        "train.py": f"from norms import {name}\n{name}(1)\n",
    }
    assert near("norms.py", files=files) == ({"train.py"} if matters else set())
