"""Each file follows the nearest settings at or above it, within its repository."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from transferlint import registry
from transferlint.cli import main
from transferlint.engine import checking
from transferlint.engine.scopes import Scopes
from transferlint.settings import loading
from transferlint.settings.loading import Settings
from transferlint.sources import nearest
from transferlint.sources.nearest import Nearest

HOT = (
    "import torch\n\n\ndef f(x: torch.Tensor):\n    for _ in range(9):\n        x = x + torch.zeros(3).to(x.device)\n"
    "    return x\n"
)


class Silent:
    def begin(self, total: int) -> None: ...

    def advance(self, count: int) -> None: ...


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with settings above it, in it and in a sub-project."""
    top = tmp_path / "repository"
    for name in ("a.py", "one/a.py", "one/deep/a.py", "two/a.py", "two/gen/a.py"):
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_text(HOT)
    (top / ".git").mkdir()
    (tmp_path / "transferlint.toml").write_text('ignore = ["ALL"]\n')
    monkeypatch.chdir(top)
    return top


def found(capsys: pytest.CaptureFixture[str], *arguments: str) -> set[str]:
    """The files with findings."""
    main(["check", "--no-cache", "-f", "json", *arguments])
    out, _ = capsys.readouterr()
    return {one["path"] for one in json.loads(out)["findings"]}


ALL = {"a.py", "one/a.py", "one/deep/a.py", "two/a.py", "two/gen/a.py"}


def test_settings_above_the_repository_do_not_count(root, capsys):
    assert nearest.find("one") is None
    assert found(capsys) == ALL
    (root / ".git").rmdir()
    assert nearest.find("one") == str(root.parent / "transferlint.toml")
    assert found(capsys) == set()


@pytest.mark.parametrize("context", ["file", "project"])
def test_it_does_not_matter_from_where_a_file_is_checked(root, capsys, monkeypatch, context):
    (root / "one" / "transferlint.toml").write_text('ignore = ["TL401"]\n')
    (root / "two" / "pyproject.toml").write_text('[tool.transferlint]\nexclude = ["gen"]\n')
    options = ("--context", context)
    assert found(capsys, *options) == {"a.py", "two/a.py"}
    assert found(capsys, *options, "one", "two") == {"two/a.py"}
    assert found(capsys, *options, "one/deep/a.py", "two/a.py") == {"two/a.py"}
    monkeypatch.chdir(root / "one" / "deep")
    assert found(capsys, *options) == set()
    monkeypatch.chdir(root / "two")
    assert found(capsys, *options) == {"a.py"}


def test_the_nearest_replaces_and_the_command_line_adds(root, capsys):
    (root / "transferlint.toml").write_text('ignore = ["ALL"]\n')
    (root / "one" / "transferlint.toml").write_text("")
    assert found(capsys) == {"one/a.py", "one/deep/a.py"}
    assert found(capsys, "--ignore", "TL401") == set()
    assert found(capsys, "--extend-exclude", "deep") == {"one/a.py"}
    (root / "one" / "transferlint.toml").write_text('[per-file-ignores]\n"deep/*" = ["TL401"]\n')
    assert found(capsys) == {"one/a.py"}


def test_what_is_named_holds_for_all_files(root, capsys):
    (root / "one" / "transferlint.toml").write_text('ignore = ["ALL"]\n')
    (root / "mine.toml").write_text('extend-exclude = ["two"]\n')
    assert found(capsys, "--isolated") == ALL
    assert found(capsys, "--config", "mine.toml") == {"a.py", "one/a.py", "one/deep/a.py"}
    assert found(capsys, "--config", "fix = false") == ALL - {"one/a.py", "one/deep/a.py"}


def test_what_concerns_the_run_is_the_run_s_own(root, capsys):
    (root / "one" / "transferlint.toml").write_text('fix = true\noutput-format = "sarif"\njobs = 7\ncontext = "file"\n')
    assert found(capsys) == ALL
    assert "x.device)" in (root / "one" / "a.py").read_text()


def test_a_folder_may_be_excluded_by_the_settings_above_it(root, capsys):
    (root / "transferlint.toml").write_text('extend-exclude = ["one"]\n')
    (root / "one" / "transferlint.toml").write_text("")
    assert found(capsys) == {"a.py", "two/a.py", "two/gen/a.py"}
    assert found(capsys, "one") == {"one/a.py", "one/deep/a.py"}


def test_a_repository_within_follows_the_run_where_it_says_nothing(root, capsys):
    (root / "two" / ".git").write_text("gitdir: ../.git/modules/two\n")
    (root / "transferlint.toml").write_text('ignore = ["ALL"]\n')
    assert found(capsys) == set()
    assert found(capsys, "two") == {"two/a.py", "two/gen/a.py"}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("no-such-key = 1\n", "one/transferlint.toml: unknown key `no-such-key`"),
        ("ignore = [\n", "one/transferlint.toml: not valid TOML"),
        ('select = ["NO123"]\n', "one/transferlint.toml: 'NO123' names no rule"),
        ('baseline = "none.json"\n', "one/transferlint.toml: one/none.json: no such baseline"),
        ('rules = ["own.py"]\n', "one/transferlint.toml: `rules` is code"),
    ],
)
def test_settings_that_cannot_be_used_are_one_line_and_all_files_are_checked(root, capsys, text, said):
    (root / "one" / "transferlint.toml").write_text(text)
    assert main(["check", "--no-cache", "-f", "concise", "-q"]) == 2
    out, err = capsys.readouterr()
    assert out.count("TL401") == 5
    assert err.count("\n") == 1
    assert said in err


def test_a_template_that_is_no_toml_is_passed_over(root, capsys):
    (root / "one" / "pyproject.toml").write_text("[project]\nname = {{ name }}\n")
    assert main(["check", "--no-cache", "-q", "-f", "concise"]) == 1
    assert capsys.readouterr().err == ""


def test_each_folder_s_baseline_knows_its_own_findings(root, capsys):
    (root / "transferlint.toml").write_text('baseline = "known.json"\n')
    (root / "one" / "transferlint.toml").write_text('baseline = "known.json"\n')
    assert main(["check", "--no-cache", "--write-baseline"]) == 0
    assert capsys.readouterr().out == "Wrote 3 findings to known.json.\nWrote 2 findings to one/known.json.\n"
    assert found(capsys) == set()
    assert found(capsys, "one") == set()
    (root / "one" / "a.py").write_text("import torch\n")
    (root / "two" / "new.py").write_text(HOT)
    main(["check", "--no-cache", "-q", "-f", "concise"])
    shown = capsys.readouterr().out.splitlines()
    assert [line.split()[:2] for line in shown] == [["two/new.py:6:17", "TL401"], ["one/known.json:4:1", "TL004"]]


KNOWN = "[knowledge]\nreads = ['mine.read']\n"
READS = (
    "import torch\nfrom mine import read\n\n\ndef f(x: torch.Tensor):\n    for _ in range(9):\n        read(x.cuda())\n"
)


def test_knowledge_counts_in_the_files_below_it(root):
    for folder in ("one", "two"):
        (root / folder / "a.py").write_text(READS)
    (root / "one" / "transferlint.toml").write_text(KNOWN)
    packs = registry.load()
    near = Nearest(Settings(jobs=1), lambda own: own)
    scopes = Scopes(near, checking.plan_for(near.top, packs), lambda own: checking.plan_for(own, packs))
    result = checking.check_paths(["."], near.top, scopes.plans[0], Silent(), scopes)
    told = {one.site.path for one in result.findings if one.code == "TL101"}
    assert told == {"one/a.py"}


def test_files_of_one_folder_are_looked_up_once(root, monkeypatch):
    read: list[str] = []
    real = loading.read
    monkeypatch.setattr(loading, "read", lambda path: read.append(path) or real(path))
    (root / "one" / "transferlint.toml").write_text("")
    near = Nearest(Settings(root=str(root)), lambda own: own)
    for number in range(50):
        assert near.of(f"one/deep/m{number}.py").source == str(root / "one" / "transferlint.toml")
        assert near.of(f"two/m{number}.py") is near.top
    assert read == [str(root / "one" / "transferlint.toml")]


def test_a_path_deeper_than_the_recursion_limit(root):
    near = Nearest(Settings(), lambda own: own)
    assert near.of("/".join(["d"] * 1500) + "/a.py") is near.top
