"""Which files a program can import is told from its imports, and rather too many than too few."""

from __future__ import annotations

from pathlib import Path

import pytest

from transferlint.sources.entries import counts, reachable

FILES = {
    "train.py": "import torch\nfrom pkg import model\nimport tools.show as show\n",
    "pkg/__init__.py": "",
    "pkg/model.py": "from . import layers\nfrom .deep.inner import (\n    A,\n    B,\n)\n",
    "pkg/layers.py": "def f():\n    from ..pkg.lazy import g\n",
    "pkg/lazy.py": "",
    "pkg/deep/__init__.py": "from .. import both\n",
    "pkg/deep/inner.py": "import importlib; importlib.import_module('pkg.named')\n",
    "pkg/both.py": "",
    "pkg/named.py": "",
    "pkg/other.py": "import other_again",
    "src/tools/show.py": "",
    "src/tools/hide.py": "",
    "pkg/__main__.py": "from pkg.other import x",
    "other_again.py": "",
    ".venv/lib/pkg/model.py": "import pkg.other",
    "env/pyvenv.cfg": "",
    "env/torch.py": "",
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path


def test_a_script_reaches_what_it_imports_and_what_that_imports(root: Path) -> None:
    wanted = {"train.py", "src/tools/show.py", "pkg/deep/__init__.py", "pkg/deep/inner.py"}
    wanted |= {f"pkg/{name}.py" for name in ("__init__", "model", "layers", "lazy", "both", "named")}
    assert set(reachable(str(root), str(root / "train.py")) or ()) == wanted


def test_a_module_is_found_by_its_name_and_a_package_by_what_it_runs(root: Path) -> None:
    assert reachable(str(root), "pkg.both") == ["pkg/__init__.py", "pkg/both.py"]
    package = reachable(str(root), "pkg")
    assert package == ["other_again.py", "pkg/__init__.py", "pkg/__main__.py", "pkg/other.py"]


def test_in_a_folder_that_is_no_project_a_name_is_looked_up_from_the_folder_alone(root: Path) -> None:
    wanted = {"train.py", "pkg/deep/__init__.py", "pkg/deep/inner.py"}  # tools lies in src
    wanted |= {f"pkg/{name}.py" for name in ("__init__", "model", "layers", "lazy", "both", "named")}
    assert set(reachable(str(root), str(root / "train.py"), whole=False) or ()) == wanted
    assert reachable(str(root), "pkg.both", whole=False) == ["pkg/__init__.py", "pkg/both.py"]
    assert reachable(str(root), str(root / "nowhere.py"), whole=False) is None


def test_such_a_folder_is_not_walked(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.walk", None)
    assert reachable(str(root), str(root / "pkg/lazy.py"), whole=False) == ["pkg/lazy.py"]


@pytest.mark.parametrize(
    "line",
    [
        "importlib.import_module(name)",
        "__import__('a' + b)",
        "importlib.import_module('.models', package=__name__)",
        "runpy.run_path(path)",
        "importlib.util.spec_from_file_location(name, path)",
        "for one in pkgutil.iter_modules(path): ...",
        "import hydra",
        "for one in entry_points(group='x'): ...",
    ],
)
def test_an_import_by_a_computed_name_may_reach_anything(root: Path, line: str) -> None:
    (root / "pkg/layers.py").write_text(f"import importlib\n{line}\n")
    assert reachable(str(root), str(root / "train.py")) is None
    assert reachable(str(root), "pkg.both") is not None


def test_a_start_that_is_not_there_is_no_start(root: Path) -> None:
    assert reachable(str(root), "nowhere") is None
    assert reachable(str(root), str(root / "nowhere.py")) is None
    assert reachable(str(root), str(root.parent / "train.py")) is None


def test_environments_and_hidden_folders_are_not_the_programs_own() -> None:
    assert counts("pkg/model.py")
    assert not counts(".venv/lib/pkg/model.py")
    assert not counts("env/site-packages/torch.py")
