"""A repository in which everything that could be imported, run or loaded would leave a mark: checking leaves none."""

from __future__ import annotations

import json
import marshal
import os
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

from transferlint.cache import places, programs

# What transferlint and its libraries import, and what they, Python or test runners would pick up by themselves. A file
# `torch.py` is not among them: the program would import that one, and nothing in it is a tensor then.
MODULES = (
    "libcst click rich pathspec platformdirs jinja2 markupsafe tomli tomllib typing_extensions yaml pygments "
    "sitecustomize usercustomize conftest setup noxfile transferlint_rules evil_pack json "
    "dataclasses marshal tokenize difflib hashlib concurrent multiprocessing colorama"
).split()
HOT = "def f(x: torch.Tensor):\n    for _ in range(9):\n        x = x + torch.zeros(3).to(x.device)\n    return x\n"
PROGRAM = "import torch\nimport evil\nfrom evil_rules import evil as other\n\n\n" + HOT
SETTINGS = 'rules = ["evil.py", "evil_rules/"]\n'


class Tree:
    """A hostile repository, with a marked folder above it, and the file that any of its code would write."""

    def __init__(self, base: Path) -> None:
        self.mark = base / "mark"
        self.above = base / "above"
        self.root = self.above / "repository"
        self.code = f"import os\nwith open({str(self.mark)!r}, 'a') as f:\n    f.write(__name__ + '\\n')\n"
        self.plant(self.root)
        self.plant(self.root / "sub")
        self.plant(self.above)
        (self.root / ".git").mkdir()
        (self.root / ".git" / "config").write_text(f'[core]\n\tfsmonitor = "echo x > {self.mark}"\n')
        hooks = self.root / ".git" / "hooks"
        hooks.mkdir()
        for name in ("pre-commit", "post-checkout"):
            (hooks / name).write_text(f"#!/bin/sh\necho {name} >> {self.mark}\n")
            (hooks / name).chmod(0o755)

    def plant(self, folder: Path) -> None:
        """Everything in one folder."""
        folder.mkdir(parents=True, exist_ok=True)
        for name in MODULES:
            (folder / f"{name}.py").write_text(self.code)
        for package in ("transferlint.evil", "evil_rules", "rules", ".vscode"):
            (folder / package).mkdir()
            (folder / package / "__init__.py").write_text(self.code)
            (folder / package / "evil.py").write_text(self.code)
        (folder / "evil.py").write_text(self.code + "RULES = ()\n")
        (folder / "train.py").write_text(PROGRAM)
        (folder / "evil.pth").write_text(f"import os; open({str(self.mark)!r}, 'a').write('pth')\n")
        (folder / "transferlint.toml").write_text(SETTINGS)
        (folder / "pyproject.toml").write_text(
            f"[tool.transferlint]\n{SETTINGS}[build-system]\nrequires = []\nbuild-backend = 'evil'\n"
            "[project]\nname = 'evil'\n[project.entry-points.'transferlint.rules']\nevil = 'evil_pack'\n"
        )
        points = "[transferlint.rules]\nevil = evil_pack\n[transferlint.commands]\ncheck = evil_pack:X\n"
        points += "bad = evil_pack:X\n"
        for kind in ("evil-1.0.dist-info", "evil.egg-info"):
            (folder / kind).mkdir()
            (folder / kind / "entry_points.txt").write_text(points)
            for name in ("METADATA", "PKG-INFO"):
                (folder / kind / name).write_text("Metadata-Version: 2.1\nName: evil\nVersion: 1.0\n")
        self.plant_caches(folder)

    def plant_caches(self, folder: Path) -> None:
        """Pickles and marshalled code where caches might be looked for, one of them where ours would be."""
        bomb = pickle.dumps(_Bomb(str(self.mark)))
        code = marshal.dumps(compile(self.code, "x", "exec"))
        data = (folder / "train.py").read_bytes()
        for base in (".transferlint_cache", ".cache/transferlint", "cache"):
            entry = Path(programs.entry(places.folder({places.VARIABLE: str(folder / base)}), data))
            entry.parent.mkdir(parents=True)
            entry.write_bytes(bomb)
            (folder / base / "cache.pickle").write_bytes(bomb)
        (folder / "__pycache__").mkdir()
        (folder / "__pycache__" / f"evil.{sys.implementation.cache_tag}.pyc").write_bytes(b"\0" * 16 + code)


class _Bomb:
    def __init__(self, mark: str) -> None:
        self.mark = mark

    def __reduce__(self) -> object:
        return open, (self.mark, "w")


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Tree:
    return Tree(tmp_path_factory.mktemp("hostile"))


def run(tree: Tree, cwd: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """`python -m transferlint` in a folder, without anything of this process's environment that names modules."""
    outside = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", places.VARIABLE)}
    home = {"HOME": str(tree.above.parent / "home"), "XDG_CACHE_HOME": str(tree.above.parent / "caches")}
    return subprocess.run(
        [sys.executable, "-m", "transferlint", *arguments],
        cwd=cwd, env={**outside, **home, **variables}, capture_output=True, text=True, input="", check=False,
        timeout=300,
    )  # fmt: skip


COMMANDS = {
    "check": ["check"],
    "workers": ["check", "--jobs", "2", "-f", "json"],
    "file context": ["check", "--context", "file", "-f", "sarif"],
    "diff": ["check", "--diff", "--unsafe-fixes"],
    "fix": ["check", "--fix", "--unsafe-fixes", "-f", "github"],
    "statistics": ["check", "--statistics", "--no-respect-gitignore", "--exclude", "x"],
    "files": ["check", "--show-files"],
    "settings": ["check", "--show-settings"],
    "inline": ["check", "--config", "fix = false"],
    "root": ["check", "--project-root", "."],
}


CASES = [("inside", name) for name in COMMANDS] + [("below", "fix"), ("outside", "check"), ("outside", "fix")]


@pytest.mark.parametrize(("place", "name"), CASES)
def test_checking_leaves_no_mark(tree: Tree, place: str, name: str) -> None:
    cwd = {"inside": tree.root, "below": tree.root / "sub", "outside": tree.above.parent}[place]
    for folder in (tree.root, tree.root / "sub"):
        (folder / "train.py").write_text(PROGRAM)
    made = run(tree, cwd, *COMMANDS[name], str(tree.root) if place == "outside" else ".")
    assert not tree.mark.exists(), tree.mark.read_text()
    assert "Traceback" not in made.stderr
    assert "internal error" not in made.stderr
    if name == "settings":
        assert made.returncode == 0
    else:
        assert made.returncode == 2
        assert "`rules` is code, which runs only if you name it" in made.stderr
    if name == "fix":
        assert "device=x.device" in (tree.root / "sub" / "train.py").read_text()
    if name == "workers":
        assert {one["code"] for one in json.loads(made.stdout)["findings"]}


@pytest.mark.parametrize(
    "arguments",
    [
        ["explain", "train.py:8"],
        ["rules"],
        ["--help"],
        ["--version"],
        ["debug", "facts", "train.py"],
        ["bad"],
    ],
)
def test_other_commands_leave_no_mark(tree: Tree, arguments: list[str]) -> None:
    made = run(tree, tree.root, *arguments)
    assert not tree.mark.exists(), tree.mark.read_text()
    assert "Traceback" not in made.stderr


@pytest.mark.parametrize("folder", ["cache", ".cache/transferlint"])
def test_a_cache_in_the_tree_is_not_read_where_the_environment_names_it(tree: Tree, folder: str) -> None:
    (tree.root / "train.py").write_text(PROGRAM)
    made = run(tree, tree.root, "check", "--isolated", "train.py", **{places.VARIABLE: folder})
    assert not tree.mark.exists()
    assert f"the cache in {folder} is not used: it lies in {tree.root.resolve()}, which is checked" in made.stderr
    made = run(tree, tree.root, "check", "--isolated", "train.py", "-q", XDG_CACHE_HOME=str(tree.root / ".cache"))
    assert (made.returncode, made.stderr) == (1, "")


@pytest.mark.parametrize(
    "option", [("--rules", "evil.py"), ("--config", "transferlint.toml"), ("--config", 'rules = ["evil.py"]')]
)
def test_what_the_user_names_does_run(tmp_path: Path, option: tuple[str, str]) -> None:
    """The marks work, and there is a way to say that the code is wanted."""
    own = Tree(tmp_path)
    run(own, own.root, "check", *option, "train.py")
    assert own.mark.exists()


def test_settings_above_the_repository_do_not_count(tree: Tree) -> None:
    made = run(tree, tree.root, "check", "--show-settings", str(tree.root / "sub"))
    assert json.loads(made.stdout)["source"] == str(tree.root / "sub" / "transferlint.toml")
    for folder in (tree.root, tree.root / "sub"):
        for name in ("transferlint.toml", "pyproject.toml"):
            (folder / name).rename(folder / f"{name}.off")
    try:
        made = run(tree, tree.root, "check", "--show-settings", ".")
        assert json.loads(made.stdout)["source"] == ""
    finally:
        for folder in (tree.root, tree.root / "sub"):
            for name in ("transferlint.toml", "pyproject.toml"):
                (folder / f"{name}.off").rename(folder / name)


def test_pipes_and_devices_in_place_of_files_do_not_hang_it(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("import torch\n\n\n" + HOT)
    (tmp_path / ".git").mkdir()
    (tmp_path / "sub").mkdir()
    for name in ("transferlint.toml", "pyproject.toml", "b.py", "sub/.gitignore"):
        os.mkfifo(tmp_path / name)
    (tmp_path / ".gitignore").symlink_to("/dev/zero")
    (tmp_path / "c.py").symlink_to("/dev/zero")
    made = subprocess.run(
        [sys.executable, "-m", "transferlint", "check", "-q"],
        cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert (made.returncode, made.stderr) == (1, "")


@pytest.mark.parametrize("target", ["../outside.json", "/dev/zero", "link.json"])
def test_a_baseline_elsewhere_is_neither_read_nor_written(tmp_path: Path, target: str) -> None:
    outside = tmp_path / "outside.json"
    outside.write_text("mine\n")
    root = tmp_path / "repository"
    root.mkdir()
    (root / "link.json").symlink_to(outside)
    (root / "a.py").write_text("import torch\n\n\n" + HOT)
    (root / "transferlint.toml").write_text(f"baseline = {target!r}\n")
    for options in ([], ["--write-baseline"]):
        made = subprocess.run(
            [sys.executable, "-m", "transferlint", "check", *options],
            cwd=root, capture_output=True, text=True, timeout=120, check=False,
        )  # fmt: skip
        assert made.returncode == 2
        assert "`baseline` leads out of its folder; name it with --baseline" in made.stderr
    assert outside.read_text() == "mine\n"


def test_a_link_out_of_the_tree_is_not_written_through(tmp_path: Path) -> None:
    outside = tmp_path / "outside.py"
    text = "import torch\n\n\n" + HOT
    outside.write_text(text)
    root = tmp_path / "repository"
    root.mkdir()
    (root / "a.py").symlink_to(outside)
    command = [sys.executable, "-m", "transferlint", "check", "--fix", "-q", "-f", "concise"]
    made = subprocess.run([*command, "."], cwd=root, capture_output=True, text=True, check=False)
    assert outside.read_text() == text
    assert made.returncode == 2
    assert made.stderr == (
        f"transferlint: a.py: not written: it is a link to {outside.resolve()}, outside of what is checked; "
        "name that file to fix it\n"
    )
    subprocess.run([*command, "a.py"], cwd=root, capture_output=True, check=False)
    assert outside.read_text() != text


def test_the_installed_command_leaves_no_mark(tree: Tree) -> None:
    script = Path(sys.executable).parent / "transferlint"
    if not script.exists():
        pytest.skip("the command is not installed beside this interpreter")
    outside = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", places.VARIABLE)}
    made = subprocess.run(
        [str(script), "check", "."],
        cwd=tree.root,
        env=outside,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert not tree.mark.exists(), tree.mark.read_text()
    assert made.returncode == 2
    assert "`rules` is code" in made.stderr
