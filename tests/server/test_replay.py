"""A project that is put together again after a change is the one that is made from nothing."""

from __future__ import annotations

import os
import random
import shutil
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from keystrokes import EDITED, FILES, PIECES, inserted, typed

from transferlint import registry
from transferlint.engine import checking
from transferlint.engine.scopes import Scopes
from transferlint.server.documents import Document, uri_of
from transferlint.server.projects import Projects
from transferlint.settings.loading import Settings
from transferlint.sources.nearest import Nearest


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


PACKS = registry.load()


def projects() -> Projects:
    def scopes_for(path: str) -> Scopes:
        chosen = Settings(root=os.getcwd())
        return Scopes(Nearest(chosen), checking.plan_for(chosen, PACKS, write=False))

    return Projects(scopes_for)


def found(kept: Projects, path: Path, text: str, version: int) -> list[str]:
    document = Document(uri_of(str(path)), str(path), version, text)
    outcome = kept.check(document, {str(path): text}, lambda: False).outcome
    assert outcome.troubles == ()
    return [repr(one) for one in outcome.findings]


CHANGES = st.lists(
    st.tuples(st.integers(0, 60), st.sampled_from(PIECES), st.booleans(), st.booleans()), min_size=1, max_size=4
)


@pytest.mark.parametrize("seed", range(6))
def test_what_is_found_while_a_file_is_edited_is_what_a_check_finds_that_keeps_nothing(
    tree: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    monkeypatch.chdir(tree)
    name = EDITED[seed % len(EDITED)]
    kept, path = projects(), tree / name
    found(kept, path, FILES[name], 0)
    for version, text in enumerate(typed(random.Random(seed), name, 12), start=1):
        assert found(kept, path, text, version) == found(projects(), path, text, version), text


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("table = torch.ones(3)", "table = torch.ones(3).cuda()"),  # read while the module runs, by what did not change
        ("self.kept = torch.zeros(size)", "self.kept = torch.zeros(size).cuda()"),  # read by a method called from there
        ("def first(i=0):", "def first(i=0, more=None):"),
        ("def forward(self, x, scale=1):", "def forward(self, scale=1, x=None):"),
    ],
)
def test_what_reads_a_change_before_it_is_finished_sees_it(
    tree: Path, monkeypatch: pytest.MonkeyPatch, before: str, after: str
) -> None:
    """Typed, taken back and typed again, after what was taken over was taken over once more."""
    monkeypatch.chdir(tree)
    kept, path = projects(), tree / "lib/running.py"
    text = FILES["lib/running.py"]
    changed = text.replace(before, after, 1)
    assert changed != text
    for version, one in enumerate((text, text + "\n", text + "\n# why\n", changed, text, changed)):
        assert found(kept, path, one, version) == found(projects(), path, one, version)


HOOKS = """import torch
import pytorch_lightning as pl


class Base(pl.LightningModule):
    def transfer_batch_to_device(self, batch, device, dataloader_idx):
        return batch


class Net(Base):
    def training_step(self, batch, batch_idx):
        return batch.item()
"""


def test_a_hook_that_moves_batches_is_seen_by_what_inherits_it(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The code of the hook is read where nothing calls it."""
    monkeypatch.chdir(tree)
    kept, path = projects(), tree / "lib/hooks.py"
    path.write_text(HOOKS)
    moving = HOOKS.replace("return batch\n", "return batch.to(device)\n")
    results = []
    for version, text in enumerate((HOOKS, moving, HOOKS, moving)):
        results.append(found(kept, path, text, version))
        assert results[-1] == found(projects(), path, text, version)
    assert results[0] == results[2] != results[1] == results[3]


TABLES = """import torch


def read(x):
    return x.item()


def kept(x):
    return x


class Table:
    own = {"a": read}

    def __init__(self):
        self.found = [read]
        self.local = []

    def first(self, x):
        for one in x.cuda():
            self.own["a"](one)

    def last(self, x):
        for one in x.cuda():
            self.found[0](one)
            NAMED["a"](one)


NAMED = {"a": read}
"""


@pytest.mark.parametrize(
    ("before", "after"),
    [('own = {"a": read}', 'own = {"a": kept}'), ("[read]", "[kept]"), ('NAMED = {"a": read}', 'NAMED = {"a": kept}')],
)
def test_what_a_table_holds_is_seen_by_who_calls_it(
    tree: Path, monkeypatch: pytest.MonkeyPatch, before: str, after: str
) -> None:
    monkeypatch.chdir(tree)
    kept, path = projects(), tree / "lib/tables.py"
    path.write_text(TABLES)
    changed = TABLES.replace(before, after)
    for version, text in enumerate((TABLES, changed, TABLES, changed + "\n")):
        assert found(kept, path, text, version) == found(projects(), path, text, version)


@given(st.sampled_from(EDITED), CHANGES)
@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_what_is_found_is_what_a_check_finds_that_keeps_nothing(
    tree: Path, name: str, changes: list[tuple[int, str, bool, bool]]
) -> None:
    """Each change is made to the text as it is by then, or (`anew`) to the first: as typing and undoing go."""
    before = os.getcwd()
    kept, path = projects(), tree / name
    text = FILES[name]
    try:
        found(kept, path, text, 0)
        for version, (line, piece, alone, anew) in enumerate(changes, start=1):
            text = inserted(FILES[name] if anew else text, line, piece, alone)
            assert found(kept, path, text, version) == found(projects(), path, text, version)
    finally:
        os.chdir(before)


def test_most_is_not_done_again(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A change within one function has that function placed, and what is run while its module is; no other."""
    monkeypatch.chdir(tree)
    from transferlint.flow.incremental.replay import TracedPlacement

    placed: list[tuple[str, str]] = []
    real = TracedPlacement.__mro__[1]._placed  # type: ignore[attr-defined]

    def counted(self: TracedPlacement, index: int) -> object:
        placed.append((self.key, self.program.functions[index].qualname))
        return real(self, index)

    monkeypatch.setattr(TracedPlacement.__mro__[1], "_placed", counted)
    kept, path = projects(), tree / "lib/training.py"
    text = FILES["lib/training.py"]
    found(kept, path, text, 0)
    assert len(placed) > 12
    placed.clear()
    found(kept, path, text.replace("self.seen.append(value(loss))", "self.seen.append(value(loss))  # why"), 1)
    assert {name for _, name in placed} <= {"<module>"}
    placed.clear()
    found(kept, path, text.replace("append(value(loss))", "append(value(loss) + 1)"), 2)
    assert {name for _, name in placed} <= {"<module>", "Trainer.step"}
    assert ("lib/training.py", "Trainer.step") in placed


def test_another_file_on_disk_counts_once_it_is_told(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tree)
    kept, path = projects(), tree / "lib/training.py"
    first = found(kept, path, FILES["lib/training.py"], 1)
    (tree / "lib/reading.py").write_text(FILES["lib/reading.py"].replace("x.item()", "x"))
    assert found(kept, path, FILES["lib/training.py"], 2) == first
    kept.renew([str(tree / "lib/reading.py")])
    changed = found(kept, path, FILES["lib/training.py"], 3)
    assert changed == found(projects(), path, FILES["lib/training.py"], 3) != first
    shutil.rmtree(tree / "lib/__pycache__", ignore_errors=True)
    (tree / "lib/reading.py").unlink()
    kept.look_again()
    assert found(kept, path, FILES["lib/training.py"], 4) == found(projects(), path, FILES["lib/training.py"], 4)
