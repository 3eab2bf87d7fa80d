"""What would be uploaded: built from a copy of what is tracked, the wheel tried with nothing but what it asks for."""

from __future__ import annotations

import dataclasses
import email
import os
import re
import shutil
import subprocess
import sys
import tarfile
import venv
import zipfile
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[2]
BUG = """\
import torch


def train(model, loader, device):
    total = 0.0
    for x in loader:
        total += model(x.to(device)).mean().item()
    return total
"""


@dataclasses.dataclass(frozen=True)
class Built:
    """Both files, and the names of what was tracked."""

    wheel: Path
    source: Path
    tracked: frozenset[str]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    """The source distribution, and a wheel that is built from it alone. The tree itself is not touched."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    try:
        listed = subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout.decode().split("\0")
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("not a git checkout")
    tracked = frozenset(name for name in listed if name and (ROOT / name).is_file())
    tree, out = tmp_path_factory.mktemp("tree"), tmp_path_factory.mktemp("dist")
    for name in tracked:
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tree / name)
    build = [sys.executable, "-m", "build", "--quiet", "--no-isolation", "--skip-dependency-check"]
    made = subprocess.run([*build, "--outdir", str(out), str(tree)], capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stdout + made.stderr
    (wheel,), (source,) = out.glob("*.whl"), out.glob("*.tar.gz")
    return Built(wheel, source, tracked)


def test_the_source_distribution_is_complete(built: Built) -> None:
    with tarfile.open(built.source) as archive:
        names = {member.name.partition("/")[2] for member in archive.getmembers() if member.isfile()}
    made = {"PKG-INFO", "setup.cfg"} | {name for name in names if name.startswith("transferlint.egg-info/")}
    assert names - made == built.tracked


def test_the_wheel_holds_the_packages_and_what_they_read(built: Built) -> None:
    with zipfile.ZipFile(built.wheel) as archive:
        names = {name for name in archive.namelist() if ".dist-info/" not in name}
    packed = [name for name in built.tracked if name.partition("/")[0] in ("transferlint", "rules", "runtime_check")]
    moved = {re.sub("^rules/", "transferlint_rules/", name) for name in packed}
    assert names == moved
    assert {"transferlint/py.typed", "transferlint_rules/py.typed", "runtime_check/py.typed"} <= names


def test_what_is_uploaded_is_accepted(built: Built) -> None:
    command = [sys.executable, "-m", "twine", "check", "--strict", str(built.wheel), str(built.source)]
    made = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, "NO_COLOR": "1"})
    assert made.returncode == 0, made.stdout + made.stderr
    assert made.stdout.count("PASSED") == 2


def test_the_description_has_no_link_that_only_a_checkout_knows(built: Built) -> None:
    with zipfile.ZipFile(built.wheel) as archive:
        name = next(name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        message = email.message_from_bytes(archive.read(name))
    links = re.findall(r"\]\(([^)]+)\)", str(message.get_payload()))
    assert links
    assert [link for link in links if not link.startswith("https://")] == []
    assert message["License-Expression"] == "Apache-2.0"
    assert {url.partition(",")[0] for url in message.get_all("Project-URL")} >= {
        "Homepage", "Documentation", "Changelog", "Source", "Issues",
    }  # fmt: skip


def test_the_wheel_works_with_nothing_but_what_it_asks_for(built: Built, tmp_path: Path) -> None:
    home = tmp_path / "venv"
    venv.create(home, with_pip=False, symlinks=True)
    (site,) = (home / "lib").glob("python*/site-packages")
    with zipfile.ZipFile(built.wheel) as archive:
        archive.extractall(site)
        text = archive.read(next(name for name in archive.namelist() if name.endswith(".dist-info/METADATA")))
    link(email.message_from_bytes(text).get_all("Requires-Dist") or [], site)
    (tmp_path / "train.py").write_text(BUG)
    code = "import sys; from transferlint.cli import main; sys.exit(main(sys.argv[1:]))"
    command = [str(home / "bin" / "python"), "-I", "-c", code, "check", "--isolated", "--no-cache"]
    made = subprocess.run([*command, "train.py"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (made.returncode, made.stderr) == (1, ""), made.stderr
    assert "train.py:7:18 TL101" in made.stdout
    absent = [str(home / "bin" / "python"), "-I", "-c", "import torch"]
    assert b"No module named 'torch'" in subprocess.run(absent, capture_output=True, check=False).stderr


def link(requirements: list[str], site: Path, done: frozenset[str] = frozenset()) -> frozenset[str]:
    """Link into a folder what distributions that are installed here bring, and all that they ask for in turn."""
    for text in requirements:
        requirement = Requirement(text)
        if requirement.name in done or (requirement.marker and not requirement.marker.evaluate({"extra": ""})):
            continue
        distribution = metadata.distribution(requirement.name)
        assert requirement.specifier.contains(distribution.version, prereleases=True)
        done |= {requirement.name}
        tops = {file.parts[0] for file in distribution.files or ()}
        for name in {top for top in tops if not top.startswith(("..", "__"))}:
            target = Path(str(distribution.locate_file(name)))
            if target.exists() and not (site / name).exists():
                (site / name).symlink_to(target.resolve())
        done = link(distribution.requires or [], site, done)
    return done
