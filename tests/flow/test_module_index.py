"""Names of modules, from paths alone."""

from __future__ import annotations

import itertools
import os
import random

import pytest

from transferlint.flow.callgraph.modules import ModuleIndex

ROOT = "/project"


def index(*files: str, root: str = ROOT, links: dict[str, str] | None = None) -> ModuleIndex:
    return ModuleIndex([f"{ROOT}/{file}" for file in files], root, links)


def find(modules: ModuleIndex, dotted: str, asking: str = "") -> tuple[str, str] | None:
    found = modules.find(dotted, f"{ROOT}/{asking}" if asking else "")
    return found and (found[0].removeprefix(f"{ROOT}/"), found[1])


@pytest.mark.parametrize(
    ("files", "path", "name"),
    [
        (["train.py"], "train.py", "train"),
        (["pkg/__init__.py"], "pkg/__init__.py", "pkg"),
        (["pkg/__init__.py", "pkg/a.py"], "pkg/a.py", "pkg.a"),
        (["pkg/__init__.py", "pkg/sub/__init__.py", "pkg/sub/a.py"], "pkg/sub/a.py", "pkg.sub.a"),
        (["pkg/__init__.py", "pkg/ns/a.py"], "pkg/ns/a.py", "pkg.ns.a"),
        (["ns/a.py"], "ns/a.py", "ns.a"),
        (["src/ns/a.py"], "src/ns/a.py", "ns.a"),
        (["src/a.py"], "src/a.py", "a"),
        (["src/pkg/__init__.py", "src/pkg/a.py"], "src/pkg/a.py", "pkg.a"),
        (["python/pkg/__init__.py", "python/pkg/a.py"], "python/pkg/a.py", "pkg.a"),
        (["__init__.py", "a.py"], "a.py", "project.a"),
        (["__init__.py"], "__init__.py", "project"),
        (["my-tools/v1.0/a.py"], "my-tools/v1.0/a.py", "my-tools.v1-0.a"),
    ],
)
def test_names(files, path, name):
    modules = index(*files)
    assert modules.name(f"{ROOT}/{path}") == name
    assert find(modules, name) == (path, "")


def test_a_package_is_its_init_file():
    modules = index("pkg/__init__.py", "pkg/a.py")
    assert modules.is_package(f"{ROOT}/pkg/__init__.py")
    assert not modules.is_package(f"{ROOT}/pkg/a.py")


@pytest.mark.parametrize(
    ("dotted", "expected"),
    [
        ("pkg.a.f", ("pkg/a.py", "f")),
        ("pkg.a.K.method", ("pkg/a.py", "K.method")),
        ("pkg.a", ("pkg/a.py", "")),
        ("pkg.thing", ("pkg/__init__.py", "thing")),
        ("pkg", ("pkg/__init__.py", "")),
        ("ns.a.f", ("ns/a.py", "f")),
        ("ns.f", None),
        ("ns", None),
        ("torch.nn", None),
        ("", None),
    ],
)
def test_the_longest_beginning_that_is_a_module(dotted, expected):
    assert find(index("pkg/__init__.py", "pkg/a.py", "ns/a.py"), dotted) == expected


def test_a_package_beats_the_module_beside_it():
    modules = index("pkg/a.py", "pkg/__init__.py", "pkg/a/__init__.py", "pkg/a/b.py")
    assert find(modules, "pkg.a.f") == ("pkg/a/__init__.py", "f")


TWICE = ("one/models/__init__.py", "one/models/net.py", "one/train.py", "two/models/__init__.py", "two/models/net.py",
         "two/deep/er/train.py", "other/run.py")  # fmt: skip


@pytest.mark.parametrize(
    ("asking", "expected"),
    [
        ("", None),
        ("other/run.py", None),
        ("one/train.py", ("one/models/net.py", "Net")),
        ("one/models/__init__.py", ("one/models/net.py", "Net")),
        ("two/deep/er/train.py", ("two/models/net.py", "Net")),
    ],
)
def test_an_ambiguous_name_means_the_one_in_the_same_tree(asking, expected):
    assert find(index(*TWICE), "models.net.Net", asking) == expected


def test_two_in_the_same_tree_stay_unknown():
    files = ["a/x/lib/pkg/__init__.py", "a/y/lib/pkg/__init__.py", "a/run.py"]
    assert find(index(*files), "pkg.f", "a/run.py") is None


def test_the_folder_of_a_script_comes_first():
    modules = index("lib/utils/__init__.py", "examples/utils.py", "examples/train.py", "lib/use.py")
    assert find(modules, "utils.f", "examples/train.py") == ("examples/utils.py", "f")
    assert find(modules, "utils.f", "lib/use.py") == ("lib/utils/__init__.py", "f")


def test_a_script_is_not_its_own_import():
    assert find(index("examples/torch.py"), "torch.nn", "examples/torch.py") is None


def test_modules_of_a_package_do_not_see_their_siblings_by_bare_names():
    modules = index("pkg/__init__.py", "pkg/logging.py", "pkg/a.py")
    assert find(modules, "logging.info", "pkg/a.py") is None


RUN_INSIDE = ("core/__init__.py", "core/raft.py", "core/utils/__init__.py", "core/utils/utils.py",
              "core/nets/deep/a.py", "core/tqdm.py", "core/wandb.py", "core/torch/__init__.py", "core/json.py",
              "train.py")  # fmt: skip


@pytest.mark.parametrize(
    ("dotted", "asking", "expected"),
    [
        ("utils.utils.f", "core/raft.py", ("core/utils/utils.py", "f")),
        ("utils.utils.f", "core/nets/deep/a.py", ("core/utils/utils.py", "f")),
        ("utils.other.f", "core/raft.py", ("core/utils/__init__.py", "other.f")),
        ("utils.utils.f", "core/utils/utils.py", ("core/utils/__init__.py", "utils.f")),
        ("utils.utils.f", "train.py", None),
        ("utils.utils.f", "", None),
        ("tqdm.tqdm", "core/raft.py", None),
        ("wandb.log", "core/raft.py", None),
        ("torch.zeros", "core/raft.py", None),
        ("json.loads", "core/raft.py", None),
        ("raft.f", "core/raft.py", None),
    ],
)
def test_the_folder_of_a_package_is_where_a_name_is_looked_up_last(dotted, asking, expected):
    assert find(index(*RUN_INSIDE), dotted, asking) == expected


def test_what_is_found_otherwise_beats_the_folder_of_a_package():
    assert find(index(*RUN_INSIDE, "utils/utils.py"), "utils.utils.f", "core/raft.py") == ("utils/utils.py", "f")
    nested = index("core/__init__.py", "core/nets/__init__.py", "core/nets/a.py", "core/nets/ops.py", "core/ops.py")
    assert find(nested, "ops.f", "core/nets/a.py") == ("core/nets/ops.py", "f")


def test_folders_above_a_script_come_last():
    modules = index("proj/models/net.py", "proj/train/loop.py")
    assert find(modules, "models.net.Net", "proj/train/loop.py") == ("proj/models/net.py", "Net")
    assert find(modules, "models.net.Net") is None


def test_programs_are_run_from_a_root_that_is_a_package():
    modules = index("__init__.py", "nodes.py", "sub/__init__.py", "sub/a.py")
    assert find(modules, "nodes.f", "sub/a.py") == ("nodes.py", "f")


@pytest.mark.parametrize(
    ("path", "module", "expected"),
    [
        ("pkg/sub/a.py", "os.path", "os.path"),
        ("pkg/sub/a.py", ".x", "pkg.sub.x"),
        ("pkg/sub/a.py", ".", "pkg.sub"),
        ("pkg/sub/a.py", "..x.y", "pkg.x.y"),
        ("pkg/sub/a.py", "..", "pkg"),
        ("pkg/sub/a.py", "....x", ""),
        ("pkg/sub/__init__.py", ".x", "pkg.sub.x"),
        ("pkg/sub/__init__.py", "..x", "pkg.x"),
        ("pkg/__init__.py", ".", "pkg"),
        ("pkg/__init__.py", "..x", ""),
        ("ns/a.py", ".x", "ns.x"),
    ],
)
def test_relative_names(path, module, expected):
    modules = index("pkg/__init__.py", "pkg/sub/__init__.py", "pkg/sub/a.py", "ns/a.py")
    assert modules.absolute(f"{ROOT}/{path}", module) == expected


def test_links_are_what_they_lead_to():
    modules = index(
        "a/prepare.py", "b/prepare.py", "b/train.py", links={f"{ROOT}/b/prepare.py": f"{ROOT}/a/prepare.py"}
    )
    assert find(modules, "prepare.f", "b/train.py") == ("a/prepare.py", "f")


def test_files_outside_of_the_root_have_names_too():
    modules = ModuleIndex(["/elsewhere/x.py", "/elsewhere/pkg/__init__.py", "/elsewhere/pkg/a.py"], ROOT)
    assert modules.name("/elsewhere/x.py") == "x"
    assert modules.name("/elsewhere/pkg/a.py") == "pkg.a"
    assert modules.find("x.f", "/elsewhere/pkg/a.py") == ("/elsewhere/x.py", "f")


def test_a_root_of_everything_ends():
    modules = ModuleIndex(["/a.py", "/ns/b.py"], "/")
    assert modules.find("a.f", "/ns/b.py") == ("/a.py", "f")
    assert modules.find("nothing", "/ns/b.py") is None


def test_relative_paths_count_from_the_current_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    modules = ModuleIndex(["pkg/__init__.py", "pkg/a.py"], ".")
    assert modules.name(os.path.join("pkg", "a.py")) == "pkg.a"
    assert modules.find("pkg.a.f") == ("pkg/a.py", "f")


def test_the_order_of_files_does_not_matter():
    files = [*TWICE, "one/models.py", "models.py", "src/models/net.py", "two/__init__.py"]
    names = ["models.net.Net", "models", "two.models.net", "train", "one.train"]
    answers = set()
    for seed in range(20):
        random.Random(seed).shuffle(files)
        modules = index(*files)
        answers.add(tuple(find(modules, *pair) for pair in itertools.product(names, sorted([*files, ""]))))
    assert len(answers) == 1
