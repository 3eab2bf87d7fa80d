"""What is kept between runs: the same answers, whatever happened to the entries."""

from __future__ import annotations

import dataclasses
import os
import sys
import time
from pathlib import Path

import pytest

from transferlint import registry
from transferlint.cache import packs, places, pruning
from transferlint.engine import steps
from transferlint.engine.checking import check_paths, plan_for
from transferlint.settings.loading import Settings
from transferlint.sources.discovery import Target

SOURCE = """\
import torch
from lib import number


def train(loader, model):
    model.cuda()
    for batch in loader:
        loss = model(batch.cuda()).mean()
        print(number(loss))
        more = torch.zeros(3).cuda()  # transferlint: ignore[TL401] once
"""


class _Nobody:
    def begin(self, total: int) -> None: ...

    def advance(self, count: int) -> None: ...


@pytest.fixture
def where(tmp_path, monkeypatch):
    work = tmp_path / "work"
    work.mkdir()
    (work / "pyproject.toml").write_text("")
    (work / "train.py").write_text(SOURCE)
    (work / "lib.py").write_text("import torch\n\n\ndef number(x):\n    return x.item()\n")
    monkeypatch.chdir(work)
    return places.folder({places.VARIABLE: str(tmp_path / "kept")})


def run(where, path="train.py"):
    settings = Settings(jobs=1)
    plan = plan_for(settings, registry.load(), cache=where)
    result = check_paths((path,), settings, plan, _Nobody())
    assert not result.troubles
    return result.findings


def entries(where):
    """The programs that are kept."""
    found = [os.path.join(at, name) for at, _, names in os.walk(where) for name in names]
    return [path for path in found if path not in beside(where)]


def test_the_second_run_says_the_same(where):
    first = run(where)
    assert len(first) == 1
    assert len(entries(where)) == 2
    assert run(where) == first == run("")


def test_what_is_kept_is_not_parsed_again(where, monkeypatch):
    first = run(where)
    for name in ("by_ast", "by_libcst"):
        monkeypatch.setattr(f"transferlint.syntax.front_end.{name}", lambda source: pytest.fail("parsed"))
    assert run(where) == first


def test_an_entry_serves_a_file_of_any_name(where):
    run(where)
    os.rename("train.py", "other.py")
    (finding,) = run(where, "other.py")
    assert finding.site.path == "other.py"
    assert len(entries(where)) == 2


@pytest.mark.parametrize("damage", [b"", b"\0" * 200, None])
def test_damaged_entries_are_made_again(where, damage):
    first = run(where)
    for entry in entries(where):
        content = Path(entry).read_bytes()
        with open(entry, "wb") as file:
            file.write(content[:-1] if damage is None else damage)
    assert run(where) == first
    assert run(where) == first


def test_a_cache_that_cannot_be_written_costs_nothing(where, tmp_path):
    (tmp_path / "file").write_text("")
    assert run(str(tmp_path / "file" / "below")) == run("")


def test_a_kept_file_that_is_gone_by_then_is_an_empty_one(where, monkeypatch):
    run(where)
    settings = Settings(jobs=1)
    plan = plan_for(settings, registry.load(), cache=where)
    prepared = [steps.prepare(Target("train.py"), plan), steps.prepare(Target("lib.py"), plan, wanted=False)]
    os.unlink("lib.py")
    from transferlint.flow.callgraph.modules import ModuleIndex

    project = steps.linked(prepared, ModuleIndex(["train.py", "lib.py"], "."), plan, {"train.py"})
    assert project.linked("train.py") is not None


def test_old_entries_go_once_a_day(where):
    run(where)
    old, new = sorted(entries(where))
    now = time.time()
    os.utime(old, (now - 40 * 24 * 3600,) * 2)
    pruning.prune(where, now)
    assert entries(where) == [new]
    os.utime(new, (now - 40 * 24 * 3600,) * 2)
    pruning.prune(where, now + 3600)
    assert entries(where) == [new]
    pruning.prune(where, now + 25 * 3600)
    assert entries(where) == []


def test_what_is_too_much_goes_the_oldest_first(where):
    run(where)
    old, *others = entries(where)
    now = time.time()
    os.utime(old, (now - 3600,) * 2)
    pruning.prune(where, now, most=sum(os.stat(path).st_size for path in (*others, *beside(where))))
    assert entries(where) == others


def beside(where):
    """What is kept of the import graph, of contents and of findings."""
    shelves = ("graphs", "contents", "results", "bases")
    return [str(path) for shelf in shelves for path in Path(where, shelf).glob("*")]


def test_fixes_are_made_from_what_is_kept(where):
    with open("made.py", "w") as file:
        file.write("import torch\n\n\ndef forward(x):\n    return x + torch.zeros(3).cuda()\n")
    run(where, "made.py")
    settings = Settings(jobs=1, fix=True)
    plan = dataclasses.replace(plan_for(settings, registry.load(), cache=where))
    result = check_paths(("made.py",), settings, plan, _Nobody())
    assert result.changed == 1
    assert 'torch.zeros(3, device="cuda")' in Path("made.py").read_text()


def test_nothing_of_others_is_pruned(tmp_path):
    """The folder that the user named may hold more than the cache."""
    where = places.folder({places.VARIABLE: str(tmp_path)})
    for name in ("photos", "0123456789abcdef0123", "0123456789abcdef012"):
        (tmp_path / name / "below").mkdir(parents=True)
        os.utime(tmp_path / name, (time.time() - 400 * 24 * 3600,) * 2)
    (tmp_path / "abcdef0123456789abcd").symlink_to(tmp_path / "photos", target_is_directory=True)
    pruning.prune(where)
    assert sorted(one.name for one in tmp_path.iterdir() if one.name != ".pruned") == [
        "0123456789abcdef012", "abcdef0123456789abcd", "photos"
    ]  # fmt: skip
    assert (tmp_path / "photos" / "below").exists()


def test_a_cache_that_others_can_write_is_not_used(tmp_path, monkeypatch):
    tree, base = tmp_path / "tree", tmp_path / "kept"
    (tree / ".git").mkdir(parents=True)
    (tree / "sub").mkdir()
    base.mkdir(mode=0o755)
    where = places.folder({places.VARIABLE: str(base)})
    assert places.unfit(where, [str(tree)]) == ""
    for inside in (tree, tree / "kept", tree / "sub" / "kept"):
        for path in (tree, tree / "sub", tree / "sub" / "a.py"):
            assert "which is checked" in places.unfit(str(inside / "0123"), [str(path)])
    (tmp_path / "link").symlink_to(tree / "sub", target_is_directory=True)
    assert "which is checked" in places.unfit(str(tmp_path / "link" / "0123"), [str(tree)])
    base.chmod(0o777)
    assert places.unfit(where, [str(tree)]) == "everybody can write to it"
    base.chmod(0o755)
    monkeypatch.setattr(os, "getuid", lambda: base.stat().st_uid + 1, raising=False)
    belongs = "it belongs to another user" if base.stat().st_uid else ""  # to root, whom one has to trust
    assert places.unfit(where, [str(tree)]) == belongs


def test_a_new_cache_is_the_user_s_alone(tmp_path):
    base = tmp_path / "kept"
    where = places.folder({places.VARIABLE: str(base)})
    plan = plan_for(Settings(), registry.load(), cache=where)
    steps.prepare_bytes("a.py", SOURCE.encode(), plan)
    assert entries(where)
    assert base.stat().st_mode & 0o777 == 0o700


def test_installed_packs_are_asked_for_once_while_no_folder_of_packages_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    packages = tmp_path / "site-packages"
    asked: list[bool] = []
    packages.mkdir()
    long_ago = time.time_ns() - 10**11
    os.utime(packages, ns=(long_ago, long_ago))
    # What changed lately is asked for again: a second change in the same tick would not show.
    monkeypatch.setattr(packs, "settled", lambda state, now: state[0] < now - 2 * 10**9)
    monkeypatch.setattr(sys, "path", [str(packages), str(tmp_path / "missing")])

    def ask() -> list[packs.Pack]:
        asked.append(True)
        return [packs.Pack("builtin", "transferlint_rules")]

    where = str(tmp_path / "cache" / "v1")
    for _ in range(3):
        assert packs.installed(where, ask) == (packs.Pack("builtin", "transferlint_rules"),)
    assert len(asked) == 1
    (packages / "new.dist-info").mkdir()
    packs.installed(where, ask)
    packs.installed(where, ask)
    assert len(asked) == 3
    assert packs.installed("", ask)
    assert len(asked) == 4
