"""Which modules of a library can be imported.

`failures` imports them one after the other in one process, as a program does that uses many; what fails there, other
than for want of a library, is tried again in a process of its own, forked from one that has imported what the library
uses of others. So a thousand modules take minutes. Only POSIX systems can fork.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NoReturn

SECONDS = 60
_TOGETHER = 2


def modules(tree: Path, packages: Iterable[str]) -> list[str]:
    """The dotted names of all modules of packages that lie in a tree, the packages' own first; scripts that are run
    (`__main__`) and files whose names are no names are none. A package that is not there has none."""
    found = []
    for package in packages:
        for path in tree.joinpath(*package.split(".")).rglob("*.py"):
            name = dotted(path.relative_to(tree).as_posix())
            if all(part.isidentifier() and part != "__main__" for part in name.split(".")):
                found.append(name)
    return sorted(found)


def dotted(path: str) -> str:
    """The name of the module in a file, whose path within the tree has slashes."""
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def failures(tree: Path, names: Sequence[str], seconds: int = SECONDS) -> dict[str, str]:
    """Why modules of a tree cannot be imported, in a line each; those that can be are not in it. `seconds` is how long
    one may take. Raises RuntimeError where the process that imports them ends early."""
    tree = tree.resolve()
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "PYTHONPATH": str(tree), "PYTHONPYCACHEPREFIX": cache}
        made = subprocess.run(
            [sys.executable, __file__, str(tree)],
            cwd=cache,
            env=environment,
            input=json.dumps({"names": list(names), "seconds": seconds}),
            capture_output=True,
            text=True,
            check=False,
        )
    lines = made.stdout.splitlines()
    if made.returncode or not lines:
        raise RuntimeError(f"importing from {tree}: {made.stderr.strip()[-500:]}")
    answer: dict[str, str] = json.loads(lines[-1])
    return answer


def _serve(tree: Path) -> None:
    """Read names, answer with failures."""
    asked = json.load(sys.stdin)
    names, seconds = asked["names"], asked["seconds"]
    answers = os.dup(1)
    quiet = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(quiet, descriptor)
    with tempfile.TemporaryDirectory() as folder:
        failed, used = _in_turn(tree, names, Path(folder), seconds)
        left = [name for name, why in failed.items() if not _wants_library(tree, why)]
        for name in used if left else ():
            with contextlib.suppress(BaseException):
                importlib.import_module(name)
        again = dict(_alone(left, Path(folder), seconds))
        failed = {name: again.get(name, why) for name, why in failed.items() if name in again or name not in left}
    os.write(answers, json.dumps(failed).encode() + b"\n")


def _wants_library(tree: Path, why: str) -> bool:
    """True where a module is missing that is none of the tree's."""
    missing = re.match(r"ModuleNotFoundError: No module named '([\w.]+)'", why)
    return missing is not None and not (tree / missing[1].partition(".")[0]).exists()


def _in_turn(tree: Path, names: Sequence[str], folder: Path, seconds: int) -> tuple[dict[str, str], list[str]]:
    """The names that cannot be imported one after the other, with the reasons, and what is used of others. Where one
    ends the process, or takes too long, a new process goes on behind it."""
    log, used = folder / "log", folder / "used"
    failed: dict[str, str] = {}
    at = 0
    while at < len(names):
        log.write_text("")
        child = os.fork()
        if child == 0:
            _import_in_turn(tree, names[at:], log, used, seconds)
        os.waitpid(child, 0)
        said = log.read_text().splitlines()
        failed |= {name: why for name, why in zip(names[at:], said, strict=False) if why}
        at += len(said)
        if at < len(names):
            failed[names[at]] = "ends the process, or takes too long"
            at += 1
    return failed, used.read_text().split() if used.exists() else []


def _import_in_turn(tree: Path, names: Iterable[str], log: Path, used: Path, seconds: int) -> NoReturn:
    with log.open("a") as lines:
        for name in names:
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.alarm(seconds)
            lines.write(f"{_why_not(name)}\n")
            lines.flush()
    # Some modules import more when an attribute is asked for: they are asked for none.
    files = {key: str(vars(module).get("__file__") or "") for key, module in list(sys.modules.items())}
    others = [key for key, file in files.items() if file and not file.startswith(f"{tree}{os.sep}")]
    used.write_text("\n".join(others))
    os._exit(0)


def _alone(names: Sequence[str], folder: Path, seconds: int) -> Iterator[tuple[str, str]]:
    """The names that cannot be imported in a process of their own, and why."""
    running: dict[int, str] = {}
    waiting = list(reversed(names))
    while waiting or running:
        while waiting and len(running) < _TOGETHER:
            name = waiting.pop()
            child = os.fork()
            if child == 0:
                _import(name, folder / name, seconds)
            running[child] = name
        child, status = os.wait()
        name = running.pop(child)
        code = os.waitstatus_to_exitcode(status)
        said = folder / name
        if code == -signal.SIGALRM:
            yield name, f"takes longer than {seconds} s"
        elif code or said.exists():
            yield name, said.read_text() if said.exists() else f"ends the process with {code}"


def _import(name: str, said: Path, seconds: int) -> NoReturn:
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(seconds)
    if why := _why_not(name):
        said.write_text(why)
    os._exit(0)


def _why_not(name: str) -> str:
    """Why a module cannot be imported here; "" where it can."""
    try:
        importlib.import_module(name)
    except BaseException as error:  # SystemExit too: who imports a module wants to go on
        return " ".join(f"{type(error).__name__}: {error}".split())[:200]
    return ""


if __name__ == "__main__":
    _serve(Path(sys.argv[1]))
