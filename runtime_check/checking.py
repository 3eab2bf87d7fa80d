"""What `check` says of the program's own code: run as a command of its own, so that nothing of the linter is imported
here, and its answer read as JSON."""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from runtime_check.findings import FindingsError, FoundFinding, read_findings, read_quiet
from transferlint.model import QuietSite
from transferlint.sources import entries

_COMMAND = "import sys; sys.path[:1] == [''] and sys.path.pop(0); from transferlint.cli import main; sys.exit(main())"
_ASKED = ("--output-format", "json", "--quiet-sites", "--exit-zero", "--force-exclude")
_MARKERS = ("pyproject.toml", "setup.py", "setup.cfg", ".git", "transferlint.toml")


class CheckError(Exception):
    """Why there are no findings; one line."""


@dataclasses.dataclass(frozen=True, slots=True)
class Checked:
    """The answer of `check --output-format json`, as text, and what it says: the findings, how many files were checked,
    what could not be, and what it says nothing of on purpose. `asked` are the files, relative to the root, that the
    program can import; empty where all were checked."""

    text: str
    findings: tuple[FoundFinding, ...]
    files: int = 0
    problems: tuple[str, ...] = ()
    quiet: tuple[QuietSite, ...] = ()
    asked: tuple[str, ...] = ()


def project_root(script: Path) -> Path:
    """The folder to check for a program that starts in a file or folder: the nearest one above it that holds a project,
    or else its own."""
    start = script.resolve()
    folder = start if start.is_dir() else start.parent
    home = Path.home()
    for one in (folder, *folder.parents):
        if one in (home, Path(one.anchor)):
            break
        if is_project(one):
            return one
    return folder


def is_project(folder: Path) -> bool:
    """True for a folder that holds a project."""
    return any((folder / marker).exists() for marker in _MARKERS)


def check(root: Path, scripts: Sequence[Path], start: str = "", whole: bool = True) -> Checked:
    """Check the Python files below `root`, and the scripts wherever they lie; of those below only what a program can
    import, where it starts with the file or module `start` and this can be told; where it cannot, and the folder is not
    the `whole` of a project, and so has whatever else, the scripts alone. Raises CheckError."""
    reached = entries.reachable(str(root), start, whole) if start else None
    if reached is None and start and scripts and not whole:
        reached = [os.path.relpath(one, root) for one in map(Path.resolve, scripts) if one.is_relative_to(root)]
    named = [str(script.resolve()) for script in scripts if not script.resolve().is_relative_to(root)]
    if reached is None:
        return _asked(root, [".", *named])
    return dataclasses.replace(_asked(root, [*reached, *named]), asked=(*reached, *named))


def check_only(root: Path, paths: Sequence[Path]) -> Checked:
    """Check these files and folders, and nothing else below `root`. Raises CheckError."""
    return _asked(root, [str(path.resolve()) for path in paths])


def further(checked: Checked, root: Path, paths: Iterable[str]) -> Checked:
    """The same where all of `paths` (absolute) that are of the program's own below `root` were checked, else all of it
    with them: a program may import by other ways than were seen. Raises CheckError."""
    if not checked.asked:
        return checked
    inside = {os.path.relpath(path, root) for path in paths if Path(path).is_relative_to(root) and path.endswith(".py")}
    more = sorted(one for one in inside - {*checked.asked} if entries.counts(one) and (root / one).is_file())
    asked = (*checked.asked, *more)
    return dataclasses.replace(_asked(root, asked), asked=asked) if more else checked


def _asked(root: Path, paths: Sequence[str]) -> Checked:
    command = [sys.executable, "-c", _COMMAND, "check", *_ASKED, "--", *paths]
    try:
        made = subprocess.run(command, cwd=root, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    except OSError as error:
        raise CheckError(f"{root}: cannot be checked: {(error.strerror or str(error)).lower()}") from None
    text = made.stdout.decode(errors="replace")
    if not text.strip():
        said = made.stderr.decode(errors="replace").strip().splitlines()
        raise CheckError(f"{root}: check failed: {said[-1] if said else f'exit code {made.returncode}'}")
    return parse(text, root, str(root))


def read(path: Path, root: Path) -> Checked:
    """The findings in a file that `check --output-format json --output-file` wrote. Raises CheckError."""
    try:
        return parse(path.read_text(encoding="utf-8"), root, str(path))
    except OSError as error:
        raise CheckError(f"{path}: cannot be read: {(error.strerror or str(error)).lower()}") from None
    except UnicodeDecodeError:
        raise CheckError(f"{path}: is not text") from None


def parse(text: str, root: Path, name: str) -> Checked:
    """What an answer of `check --output-format json` says; its relative paths start from `root`. Raises CheckError."""
    try:
        found = read_findings(text, root, name)
        quiet = read_quiet(text, root, name)
    except FindingsError as error:
        raise CheckError(str(error)) from None
    findings = tuple(dataclasses.replace(one, shown=_from_here(one.site.path)) for one in found)
    whole = json.loads(text)
    problems = tuple(f"{one.get('path') or root}: {one.get('message', '')}" for one in whole.get("errors", ()))
    return Checked(text, findings, int(whole.get("summary", {}).get("files", 0)), problems, quiet)


def _from_here(path: str) -> str:
    """A path as a command that is typed here names it."""
    here = os.path.realpath(os.getcwd())
    return os.path.relpath(path, here) if path.startswith(here + os.sep) else path
