"""Whoever does the work, what is said is the same: threads, processes, a cluster, and executors that fail."""

from __future__ import annotations

import concurrent.futures
import dataclasses
import multiprocessing
import os
import pickle
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from pathlib import Path
from typing import Any

import pytest

import transferlint
from transferlint import registry
from transferlint.engine import executors
from transferlint.engine.checking import Result, plan_for
from transferlint.engine.workers import Job
from transferlint.settings.loading import Settings
from transferlint.sources.changes import Changes
from transferlint.sources.discovery import Target
from transferlint.suppressions.baseline import Baseline, Entry

LIB = "import torch\n\n\ndef number(x):\n    return x.item()  # transferlint: ignore[TL101]\n\n\ny = (((1)))\n"
LIB += "for _ in range(9):\n    print(torch.ones(3, device='cuda').sum().item())\n"
USER = "import torch\nfrom lib{0} import number\n\n\ndef train(loader, model):\n    model.cuda()\n"
USER += "    for x in loader:\n        print(number(model(x.cuda())), x.cuda().sum().item())\n"
CONTEXTS = ("project", "file")


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TRANSFERLINT_CACHE_DIR", str(tmp_path.parent / f"{tmp_path.name}-kept"))
    monkeypatch.setattr(executors, "_BYTES", 600)
    (tmp_path / "transferlint.toml").write_text("extend-select = ['TL003']\nmin-confidence = 'possible'\n")
    for number in range(6):
        (tmp_path / f"lib{number}.py").write_text(LIB)
        (tmp_path / f"user{number}.py").write_text(USER.format(number))
    (tmp_path / "broken.py").write_text("import torch\ndef f(:\n")
    (tmp_path / "plain.py").write_text("x = 1\n")
    return tmp_path


class Counting(Executor):
    """Passes on to another executor, or fails as `fails` says, and keeps what passes."""

    def __init__(self, to: Executor | None = None, fails: Callable[[int], bool] = lambda _: False) -> None:
        self.to = to
        self.fails = fails
        self.tasks: list[bytes] = []

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        self.tasks.append(pickle.dumps((fn, args, kwargs)))
        if self.to is not None:
            return self.to.submit(fn, *args, **kwargs)
        future: Future[Any] = Future()
        if self.fails(len(self.tasks)):
            future.set_exception(concurrent.futures.BrokenExecutor("a worker is gone"))
        else:
            future.set_result(pickle.loads(pickle.dumps(fn(*args, **kwargs))))
        return future


@pytest.fixture(params=["threads", "processes", "dask"])
def executor(request: pytest.FixtureRequest) -> Iterator[Executor]:
    if request.param == "threads":
        with concurrent.futures.ThreadPoolExecutor(4) as threads:
            yield threads
    elif request.param == "processes":
        started = multiprocessing.get_context("spawn")
        with concurrent.futures.ProcessPoolExecutor(2, mp_context=started) as processes:
            yield processes
    else:
        distributed = pytest.importorskip("distributed", reason="the extra `dask` is not installed")
        with (
            distributed.LocalCluster(
                n_workers=1, threads_per_worker=2, dashboard_address=None, worker_dashboard_address=None
            ) as cluster,
            distributed.Client(cluster) as client,
        ):
            yield client.get_executor()


def check(context: str, **other: Any) -> Result:
    return transferlint.check(".", settings={"context": context, "jobs": 1}, **other)


def test_any_executor_gives_the_same(project: Path, executor: Executor) -> None:
    limit = sys.getrecursionlimit()
    for context in CONTEXTS:
        counted = Counting(executor)
        alone = check(context, cache=False)
        assert check(context, cache=False, executor=counted) == alone
        assert {"TL001", "TL003", "TL101"} <= {finding.code for finding in alone.findings}
        assert len(counted.tasks) > 2
    assert sys.getrecursionlimit() == limit


@pytest.mark.parametrize("context", CONTEXTS)
def test_parts_of_a_run_may_have_an_executor_too(project: Path, context: str) -> None:
    parts = [check(context, cache=False, executor=Counting(), shard=f"{index}/3") for index in (1, 2, 3)]
    assert [one for part in parts for one in part.findings] == list(check(context).findings)


def test_what_comes_back_is_kept_and_is_not_asked_for_again(project: Path) -> None:
    first, second = Counting(), Counting()
    assert check("project", executor=first) == check("project", executor=second) == check("project", cache=False)
    assert first.tasks
    assert [task for task in second.tasks if b"broken.py" not in task] == []


@pytest.mark.parametrize("context", CONTEXTS)
@pytest.mark.parametrize("fails", [lambda _: True, lambda number: number % 2 == 0], ids=["always", "now and then"])
def test_what_an_executor_loses_is_done_here(project: Path, context: str, fails: Callable[[int], bool]) -> None:
    alone = check(context, cache=False)
    made = check(context, cache=False, executor=Counting(fails=fails))
    assert made.findings == alone.findings
    assert made.troubles == alone.troubles
    (note,) = [note for note in made.notes if note not in alone.notes]
    assert note.startswith("the executor failed on ")
    assert note.endswith("done here: BrokenExecutor: a worker is gone")


def test_an_executor_that_takes_no_work_is_done_without(project: Path) -> None:
    closed = concurrent.futures.ThreadPoolExecutor(1)
    closed.shutdown()
    made = check("project", cache=False, executor=closed)
    assert made.findings == check("project", cache=False).findings
    assert "RuntimeError" in made.notes[-1]


def test_a_worker_in_another_folder_checks_nothing(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Elsewhere(Counting):
        def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
            with monkeypatch.context() as patch:
                patch.setattr(os, "getcwd", lambda: "/elsewhere")
                future: Future[Any] = Future()
                try:
                    future.set_result(fn(*args, **kwargs))
                except OSError as error:
                    future.set_exception(error)
                return future

    made = check("file", cache=False, executor=Elsewhere())
    assert made.findings == check("file", cache=False).findings
    assert "a worker is in the folder /elsewhere, not in" in made.notes[-1]
    assert check("project", cache=False, executor=Elsewhere()).notes == ()


def test_what_is_sent_holds_the_files_and_not_the_project(project: Path) -> None:
    """Not the baseline of other files, nor their texts before a change; and no rules where none run."""
    paths = [f"user{number}.py" for number in range(6)]
    entries = {path: Entry(path, "TL101", path, "f", "z" * 1000, 1) for path in paths}
    since = Changes({os.path.realpath(path): "z" * 1000 for path in paths})
    known = Baseline(os.path.abspath("known.json"), entries)
    plan = dataclasses.replace(plan_for(Settings(), registry.load(), known=known), since=since)
    jobs = [Job(index, Target(path)) for index, path in enumerate(paths)]
    for send, most in ((executors.prepare, 3_000), (executors.check, 30_000)):
        counted = Counting()
        send(jobs, [plan, plan], counted)
        assert max(map(len, counted.tasks)) < most, send
        assert sum(b"user1.py" in task for task in counted.tasks) == 1
        assert all(task.count(b"z" * 1000) <= 3 for task in counted.tasks)


def test_threads_that_check_at_once_leave_the_process_as_it_was(project: Path) -> None:
    before = sys.getrecursionlimit(), threading.stack_size()
    with concurrent.futures.ThreadPoolExecutor(8) as threads:
        check("file", cache=False, executor=threads)
    assert (sys.getrecursionlimit(), threading.stack_size()) == before


def test_the_projects_of_a_monorepo_are_tasks_themselves(project: Path) -> None:
    """`check` and what it gives pickle: an executor can have a project for a task."""
    task = pickle.loads(pickle.dumps((transferlint.check, "user1.py")))
    result = task[0](task[1], cache=False)
    assert pickle.loads(pickle.dumps(result)) == result
    assert result.files == 1


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"settings": {"selct": ["TL1"]}}, "selct"),
        ({"settings": {"select": ["TL999"]}}, "TL999"),
        ({"settings": {"baseline": "none.json"}}, "no such baseline"),
        ({"shard": "3/2"}, "shard: '3/2'"),
    ],
)
def test_settings_that_cannot_be_used_are_one_line(project: Path, given: dict[str, Any], words: str) -> None:
    with pytest.raises(transferlint.SettingsError, match=words) as error:
        transferlint.check("user1.py", **given)
    assert "\n" not in str(error.value)


def test_settings_of_files_hold_unless_they_are_left_out(project: Path) -> None:
    assert "TL003" in {finding.code for finding in transferlint.check([Path("lib1.py")], cache=False).findings}
    alone = transferlint.check("lib1.py", isolated=True, cache=False)
    assert "TL101" in {finding.code for finding in alone.findings}
    assert "TL003" not in {finding.code for finding in alone.findings}
    with pytest.raises(AttributeError, match="has no attribute 'chekc'"):
        transferlint.chekc  # noqa: B018


def test_nothing_is_fixed(project: Path) -> None:
    before = {path: path.read_bytes() for path in project.glob("*.py")}
    transferlint.check(".", settings={"fix": True}, cache=False)
    assert {path: path.read_bytes() for path in project.glob("*.py")} == before
