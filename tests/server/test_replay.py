"""A project that is put together again after a change is the one that is made from nothing."""

from __future__ import annotations

import os
import random
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from transferlint import engine, registry
from transferlint.nearest import Nearest
from transferlint.scopes import Scopes
from transferlint.server.documents import Document, uri_of
from transferlint.server.projects import Projects
from transferlint.settings import Settings

FILES = {
    "pyproject.toml": "",
    "lib/__init__.py": "from lib.layers import Block\nfrom lib.reading import value\n",
    "lib/reading.py": """import torch

SCALE = torch.ones(3).cuda()


def value(x):
    return x.item()


def moved(x, device="cpu"):
    return x.to(device)


def looped(x, depth=3):
    return looped(x, depth - 1) if depth else value(x)
""",
    "lib/layers.py": """import torch
from lib.reading import SCALE, moved, value


class Base(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = SCALE
        self.table = {"a": self.first}
        self.limit: torch.Tensor = torch.zeros(1)

    def first(self, x):
        return x * self.scale

    def forward(self, x):
        if x.sum() > self.limit:
            return self.first(x)
        return self.table["a"](x)


class Block(Base):
    bias = torch.zeros(2)

    def first(self, x):
        self.last = moved(x, "cuda")
        return self.last + self.bias

    def report(self):
        return value(self.last)
""",
    "lib/every.py": "from lib.reading import *\n",
    "lib/training.py": """import torch
from lib import Block, value
from lib.every import SCALE, moved
from lib.reading import looped


class Trainer:
    def __init__(self, model):
        self.model = model.cuda()
        self.seen = []

    def step(self, batch):
        loss = self.model(batch.cuda()).mean()
        self.seen.append(value(loss))
        moved(loss * SCALE).item()
        return loss

    def run(self, loader):
        total = 0.0
        for batch in loader:
            total += looped(self.step(batch))
            keep = lambda x: x.cpu()
            keep(batch)
        return total


def main(loader):
    trainer = Trainer(Block())
    print(trainer.run(loader), trainer.model.report())
""",
}
# A module whose variables its own functions read while it runs, and methods that store what others read meanwhile.
FILES["lib/running.py"] = """import torch
from lib.reading import value

table = torch.ones(3)


def first(i=0):
    return table[i].item()


class Loop(torch.nn.Module):
    def __init__(self, size, device="cpu"):
        super().__init__()
        self.kept = torch.zeros(size)
        self.start()
        self.late = self.kept.cuda()

    def start(self):
        self.seen = self.kept.sum().item()

    def forward(self, x, scale=1):
        def inner(y):
            return value(y) * scale

        if self.seen and x.any():
            return inner(x) + first()
        return [value(one) for one in self.late]


begun = first(1)
table = table.cuda()
loop = Loop(3)
print(loop(table), loop.seen)
"""
EDITED = sorted(name for name in FILES if name.endswith(".py") and "__init__" not in name)
# Each may be put at the end of a line, or on a line of its own before one.
PIECES = (
    "", "  # why", " + 1", ".item()", ".cpu()", ".to('cuda')", ".detach()", "[0]", "(", " if x else None",
    "x = x.cuda()", "x = value(x)", "self.last = x.cpu()", "self.scale = x", "global SCALE", "y = lambda z: z.item()",
    "for x in loader: value(x)", "import torch as t", "pass", "def value(x): return x", "return x", "print(x)",
    "class A(Base): pass", "super().first(x)", "torch.set_default_device('cuda')", "self.model = self.model.cpu()",
    "x = looped(x)", "SCALE = None", "moved = None", "from lib.layers import Base",
)  # fmt: skip
HEADS = ("", ", extra=None", ", *rest", ", x: 'torch.Tensor' = None", ", device='cuda'")


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
        return Scopes(Nearest(chosen), engine.plan_for(chosen, PACKS, write=False))

    return Projects(scopes_for)


def found(kept: Projects, path: Path, text: str, version: int) -> list[str]:
    document = Document(uri_of(str(path)), str(path), version, text)
    outcome = kept.check(document, {str(path): text}, lambda: False).outcome
    assert outcome.troubles == ()
    return [repr(one) for one in outcome.findings]


def inserted(text: str, line: int, piece: str, alone: bool) -> str:
    lines = text.split("\n")
    at = line % len(lines)
    if not alone:
        lines[at] += piece
    else:
        indentation = lines[at][: len(lines[at]) - len(lines[at].lstrip())]
        lines.insert(at, indentation + piece)
    return "\n".join(lines)


CHANGES = st.lists(
    st.tuples(st.integers(0, 60), st.sampled_from(PIECES), st.booleans(), st.booleans()), min_size=1, max_size=4
)


def deleted(text: str, line: int, count: int) -> str:
    lines = text.split("\n")
    at = line % len(lines)
    return "\n".join(lines[:at] + lines[at + count :])


def redeclared(text: str, line: int, piece: str) -> str:
    """One of the functions with one more parameter, or (for no piece) another name."""
    lines = text.split("\n")
    heads = [at for at, one in enumerate(lines) if re.match(r" *(def|class) \w+\(", one)]
    if heads:
        at = heads[line % len(heads)]
        head, _, _ = lines[at].rpartition(")")
        lines[at] = f"{head}{piece}):" if piece else lines[at].replace("(", "_new(", 1)
    return "\n".join(lines)


def typed(drawn: random.Random, name: str, count: int) -> Iterator[str]:
    """Texts of a file as they come while somebody edits it: lines put in and taken out, heads changed, code moved,
    text that is no Python for a while, and every now and then the first text again."""
    text = FILES[name]
    for _ in range(count):
        what, line = drawn.random(), drawn.randrange(60)
        if what < 0.4:
            text = inserted(text, line, drawn.choice(PIECES), drawn.random() < 0.6)
        elif what < 0.55:
            text = deleted(text, line, drawn.randint(1, 2))
        elif what < 0.75:
            text = redeclared(text, line, drawn.choice(HEADS))
        elif what < 0.85:
            text = FILES[name]
        elif what < 0.95:
            yield inserted(text, line, drawn.choice(("(", "def", '"""', "  if:")), drawn.random() < 0.5)
        else:
            lines = text.split("\n")
            lines.insert(drawn.randrange(len(lines)), lines.pop(line % len(lines)))
            text = "\n".join(lines)
        yield text


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
    from transferlint.flow.replay import TracedPlacement

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
