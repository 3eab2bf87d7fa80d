"""The source of a package as its table saw it: copied from its environment, or from the wheel or the source
distribution of that version. Nothing of it is run or imported."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

from truth import environments
from truth.tables import Table


class NoSource(Exception):
    """A package whose source cannot be had; the message is one line."""


def extract(table: Table) -> Path:
    """A folder that holds the top-level modules of the table's package, said to be a distribution. Raises NoSource."""
    header = table.header
    name = f"{header['requirement']}-{header['package_version']}"
    target = environments.folder() / "sources" / name
    if target.is_dir():
        return target
    beside = target.with_name(f"{name}.new")
    shutil.rmtree(beside, ignore_errors=True)
    beside.mkdir(parents=True)
    if not _copied(header["package"], header["modules"], beside):
        _downloaded(header["requirement"], header["package_version"], header["modules"], beside)
    # What is installed is a distribution, which programs that are not here use: its own tree says so, a wheel does not.
    (beside / "pyproject.toml").write_text(f'[project]\nname = "{header["requirement"]}"\n', encoding="utf-8")
    beside.rename(target)
    return target


def unchanged(table: Table, root: Path) -> list[str]:
    """The files of a table that lie in `root` with the content that ran."""
    found = []
    for path, file in sorted(table.files.items()):
        there = root / path
        if there.is_file() and hashlib.sha256(there.read_bytes()).hexdigest() == file.sha256:
            found.append(path)
    return found


def _copied(package: str, modules: list[str], target: Path) -> bool:
    python = environments.folder() / "packages" / package / "bin" / "python"
    if not python.exists():
        return False
    for module in modules:
        for place in environments.places(python):
            if (place / module).is_dir():
                shutil.copytree(place / module, target / module, ignore=shutil.ignore_patterns("__pycache__", "*.so"))
                break
            if (place / f"{module}.py").is_file():
                shutil.copy(place / f"{module}.py", target)
                break
        else:
            return False
    return True


def _downloaded(requirement: str, version: str, modules: list[str], target: Path) -> None:
    """From the wheel of the version, or from its source distribution where there is none for this Python."""
    archives = target / ".archives"
    tops = {f"{module}.py" for module in modules} | set(modules)
    for kind in ("--only-binary", "--no-binary"):
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", kind, ":all:", "--dest", archives]
        made = subprocess.run([*command, f"{requirement}=={version}"], capture_output=True, text=True, check=False)
        if made.returncode == 0:
            break
    else:
        lines = made.stderr.strip().splitlines() or ["pip said nothing"]
        raise NoSource(f"{requirement}=={version} could not be downloaded: {lines[-1]}")
    for wheel in archives.glob("*.whl"):
        with zipfile.ZipFile(wheel) as archive:
            wanted = [one for one in archive.namelist() if one.endswith(".py")]
            archive.extractall(target, [one for one in wanted if one.partition("/")[0] in tops])
    for source in archives.glob("*.tar.gz"):
        with tarfile.open(source) as packed:
            for member in packed:
                inside = member.name.partition("/")[2].removeprefix("src/")
                if member.isfile() and inside.endswith(".py") and inside.partition("/")[0] in tops:
                    member.name = inside
                    packed.extract(member, target, filter="data")
    shutil.rmtree(archives)
