"""What changed since a revision: which files, and of each the lines, compared with its text at that revision.

git is asked for the texts (git-diff, git-cat-file), and all by which a repository's configuration has it start programs
is turned off: external diffs and text conversions, hooks, and the file system monitor.
"""

from __future__ import annotations

import difflib
import functools
import os
import subprocess
from collections.abc import Iterable, Mapping

from transferlint import late
from transferlint.files.repository import repository
from transferlint.model import Site
from transferlint.settings.loading import SettingsError
from transferlint.syntax import notebooks
from transferlint.syntax.source import SourceError, decode

_SAFE = ("-c", "core.fsmonitor=false", "-c", "core.hooksPath=" + os.devnull, "--no-pager")
_LINE_ENDS = late.pattern(r"\r\n|\r|\n")


@late.dataclass(frozen=True, slots=True)
class Changes:
    """The text at the revision of each file that is not as it was, by real path; "" for a file that was not there."""

    texts: Mapping[str, str]

    def touch(self, path: str) -> bool:
        """Whether anything of a file changed."""
        return os.path.realpath(path) in self.texts

    def cover(self, site: Site, text: str) -> bool:
        """Whether a line of the site is new or changed, in a file that now has this text."""
        old = self.texts.get(os.path.realpath(site.path))
        if old is None:
            return False
        lines = _changed(old, text)
        return any(line in lines for line in range(site.line, max(site.line, site.end_line) + 1))


@functools.lru_cache(maxsize=8)
def _changed(old: str, new: str) -> frozenset[int]:
    """The 1-based lines of a text that are not as they were."""
    matcher = difflib.SequenceMatcher(None, _LINE_ENDS.split(old), _LINE_ENDS.split(new), autojunk=False)
    found = [range(first, last) for kind, _, _, first, last in matcher.get_opcodes() if kind != "equal"]
    return frozenset(at + 1 for part in found for at in part)


def since(revision: str, paths: Iterable[str]) -> Changes:
    """What changed in the repositories of `paths` since the revision, or since the last commit that it shares with what
    is checked out, committed or not; new files that git does not ignore have changed as a whole.

    Raises SettingsError, in one line, where there is no repository, no such revision or no git."""
    texts: dict[str, str] = {}
    roots: dict[str, None] = {}
    for path in paths:
        folder = os.path.realpath(path)
        root = repository(folder if os.path.isdir(folder) else os.path.dirname(folder))
        if root is None:
            raise SettingsError(f"--diff-base: {path} is in no git repository")
        roots[root] = None
    for root in roots:
        texts.update(_of(root, revision))
    return Changes(texts)


def _of(root: str, revision: str) -> dict[str, str]:
    base = _base(root, revision)
    listed = _git(root, "diff", "--no-ext-diff", "--no-textconv", "--name-status", "-M", "-z", base, "--").split("\0")
    names: dict[str, str] = {}  # of a file now, to that at the revision, "" for none
    fields = iter(listed)
    for status in fields:
        if not status:
            break
        before = next(fields)
        now = next(fields) if status[0] in "RC" else before
        if status[0] != "D":
            names[now] = "" if status[0] == "A" else before
    others = _git(root, "ls-files", "--others", "--exclude-standard", "-z").split("\0")
    names.update((name, "") for name in others if name)
    wanted = {now: before for now, before in names.items() if now.endswith((".py", ".pyi", ".ipynb"))}
    texts = _texts(root, base, [before for before in wanted.values() if before])
    return {
        os.path.realpath(os.path.join(root, now)): texts.get(before, "") if before else ""
        for now, before in wanted.items()
    }


def _base(root: str, revision: str) -> str:
    """The commit to compare with. In a shallow clone there may be none that is shared: then the revision itself."""
    if revision.startswith("-"):
        raise SettingsError(f"--diff-base: {revision} is no revision")
    try:
        commit = _git(root, "rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}").strip()
    except SettingsError as error:
        if error.__cause__ is not None:
            raise
        hint = "; a shallow clone may lack it (actions/checkout: `fetch-depth: 0`)"
        raise SettingsError(f"--diff-base: {root} has no revision {revision}{hint}") from None
    try:
        return _git(root, "merge-base", commit, "HEAD").strip()
    except SettingsError:
        return commit


def _texts(root: str, commit: str, names: list[str]) -> dict[str, str]:
    """The texts of files at a commit, by one call of git for all."""
    asked = [name for name in names if "\n" not in name]  # the protocol has a name a line
    if not asked:
        return {}
    data = _run(
        root,
        ["cat-file", "--batch"],
        "".join(f"{commit}:{name}\n" for name in asked).encode("utf-8", "surrogateescape"),
    )
    found, at = {}, 0
    for name in asked:
        end = data.index(b"\n", at)
        head = data[at:end].split()
        at = end + 1
        if head[-1] == b"missing" or len(head) != 3:
            continue
        size = int(head[2])
        found[name] = _text(name, data[at : at + size])
        at += size + 1
    return found


def _text(name: str, data: bytes) -> str:
    """What a file was, as it is compared: of a notebook its code, "" where that cannot be read."""
    if name.endswith(notebooks.SUFFIX):
        try:
            return decode(name, data).text
        except SourceError:
            return ""
    return data.decode("utf-8", "replace").removeprefix("\ufeff")


def _git(root: str, *arguments: str) -> str:
    return _run(root, list(arguments)).decode("utf-8", "surrogateescape")


def _run(root: str, arguments: list[str], given: bytes = b"") -> bytes:
    try:
        made = subprocess.run(["git", *_SAFE, *arguments], cwd=root, input=given, capture_output=True, check=False)
    except OSError as error:
        raise SettingsError(f"--diff-base: git cannot be run: {error.strerror or error}") from error
    if made.returncode:
        said = made.stderr.decode("utf-8", "replace").strip().split("\n")[0]
        raise SettingsError(f"--diff-base: git {arguments[0]}: {said or 'failed'}")
    return made.stdout
