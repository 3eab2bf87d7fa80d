"""Notebooks are checked and fixed cell by cell; magics, outputs and all else in the file stay as they are."""

from __future__ import annotations

import ast
import json
from pathlib import Path

import jupytext
import nbformat
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from transferlint.cli import main
from transferlint.syntax import notebooks

from .conftest import TRAIN

IMPORTS = "%matplotlib inline\nimport torch\nfiles = !ls\nfrom lib import step\ntorch.cuda.is_available()"


def check(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    code = main(["check", "--no-cache", "-q", *arguments])
    out, err = capsys.readouterr()
    assert err == ""
    return code, out


def places(out: str) -> list[str]:
    return [line.split(" TL")[0] for line in out.splitlines() if " TL" in line]


def test_findings_name_cell_and_line_and_the_project_is_context(save, capsys, tmp_path):
    save("a.ipynb", IMPORTS, "print('nothing')", TRAIN)
    (tmp_path / "lib.py").write_text("def step(model, x):\n    return model(x).mean()\n")
    code, out = check(capsys, ".", "-f", "concise")
    assert (code, places(out)) == (1, ["a.ipynb:cell 4:8:9", "a.ipynb:cell 4:9:13"])
    text = check(capsys, "a.ipynb")[1]
    assert "   9 |     total = step(model, x).item()\n" in text
    assert "in the loop over `loader` at cell 4:3" in text
    found = json.loads(check(capsys, ".", "-f", "json")[1])["findings"]
    assert [(one["path"], one["cell"], one["line"]) for one in found] == [("a.ipynb", 4, 8), ("a.ipynb", 4, 9)]


def test_a_fix_changes_its_line_and_nothing_else(save, capsys):
    path = save("a.ipynb", IMPORTS, TRAIN)
    before = path.read_bytes()
    check(capsys, "a.ipynb", "--fix", "--unsafe-fixes")
    after = path.read_bytes()
    lines = [pair for pair in zip(before.splitlines(), after.splitlines(), strict=True) if pair[0] != pair[1]]
    assert lines == [
        (rb'    "    w = torch.ones(3).to(x.device)\n",', rb'    "    w = torch.ones(3, device=x.device)\n",'),
    ]  # fmt: skip
    nbformat.validate(nbformat.reads(after.decode(), 4))


def test_a_diff_is_shown_cell_by_cell_with_magics_as_they_are(save, capsys):
    save("a.ipynb", IMPORTS, TRAIN)
    assert main(["check", "--no-cache", "--diff", "--unsafe-fixes", "a.ipynb"]) == 1
    out = capsys.readouterr().out
    assert out.startswith("--- a.ipynb:cell 3\n+++ a.ipynb:cell 3\n")
    assert "     !nvidia-smi \\\n" in out
    assert "get_ipython" not in out


def test_what_a_cell_shows_is_taken_by_somebody(save, capsys):
    moved = "import torch\nx = torch.ones(3)\n"
    save("a.ipynb", f"{moved}x.cuda()", "x.cuda()  # shown\n\n", "x.cuda();", "x.cuda()\nx", "if True:\n    x.cuda()")
    out = check(capsys, "a.ipynb", "-f", "concise", "--select", "TL501")[1]
    assert places(out) == ["a.ipynb:cell 4:1:1", "a.ipynb:cell 5:1:1", "a.ipynb:cell 6:2:5"]


def test_suppressions_and_baselines_count_in_cells(save, capsys):
    path = save("a.ipynb", IMPORTS, TRAIN)
    check(capsys, "a.ipynb", "--baseline", "known.json", "--write-baseline")
    assert check(capsys, "a.ipynb", "--baseline", "known.json") == (0, "")
    check(capsys, "a.ipynb", "--add-ignore", "--reason", "why")
    assert check(capsys, "a.ipynb") == (0, "")
    cells = nbformat.read(path, 4).cells
    assert cells[2].source.splitlines()[4:6] == TRAIN.splitlines()[4:6]
    assert cells[2].source.endswith("# transferlint: ignore[TL101] why")
    assert cells[2].outputs[0].data["text/plain"] == "漢字"


@pytest.mark.parametrize("form", ["sarif", "github", "gitlab", "azure", "junit", "rdjson"])
def test_services_get_the_file_and_the_cell_in_words(save, capsys, form):
    save("a.ipynb", IMPORTS, TRAIN)
    out = check(capsys, "a.ipynb", "-f", form)[1]
    assert "cell 3:8:9: " in out.replace("%3A", ":")
    assert "ipynb:cell" not in out


def test_a_cell_that_is_not_python_is_named(save, capsys):
    save("a.ipynb", "import torch\nx = (", "y = 1")
    assert check(capsys, "a.ipynb", "-f", "concise") == (
        1, "a.ipynb:1:1 TL001 cell 2, line 2: syntax error: '(' was never closed\n",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("{}", "is a notebook without cells"),
        ('{"worksheets": []}', "is a notebook of a format before 4"),
        ("torch [", "is no notebook: not JSON"),
        ('{"cells": [{"cell_type": "code", "source": 3}]}', "cell 1, line 1: its source is no text"),
    ],
)
def test_what_is_no_notebook_is_one_finding(save, capsys, tmp_path, content, words):
    save("other.ipynb", IMPORTS, TRAIN)
    (tmp_path / "a.ipynb").write_text(content.replace("{", '{"torch": 1, ', 1) if content != "{}" else '{"torch": 1}')
    out = check(capsys, ".", "-f", "concise")[1]
    assert words in out
    assert "other.ipynb:cell 3" in out


def test_a_notebook_of_another_language_is_left_alone(save, capsys):
    save("a.ipynb", "torch <- function(x) x", language="R")
    assert check(capsys, "a.ipynb") == (0, "")


def test_only_changed_cells_lines_with_a_diff_base(save, capsys, tmp_path):
    import subprocess

    git = ["git", "-c", "user.email=a@b.example", "-c", "user.name=n", "-c", "init.defaultBranch=main"]
    save("a.ipynb", IMPORTS, TRAIN)
    for arguments in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "first"]):
        subprocess.run([*git, *arguments], check=True, cwd=tmp_path)
    assert check(capsys, ".", "--diff-base", "main") == (0, "")
    save("a.ipynb", IMPORTS, "x = 1", TRAIN.replace("torch.ones(3)", "torch.ones(4)"))
    out = check(capsys, ".", "--diff-base", "main", "-f", "concise")[1]
    assert places(out) == ["a.ipynb:cell 4:8:9"]


def test_a_percent_script_is_a_script(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    made = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(one) for one in (IMPORTS, TRAIN)])
    (tmp_path / "a.py").write_text(jupytext.writes(made, fmt="py:percent"))
    out = check(capsys, "a.py", "-f", "concise")[1]
    assert "TL401" in out


MAGICS = [
    "%time x = f(1)", "!pip install x", "?print", "print?", "x = %time f(1)", "files = !ls", "    %load_ext y",
    "!ls \\\n  -l \\\n  -a", "%config A.b = 'c'", "x.y?", "np.*load*?",
]  # fmt: skip
CODE = ["x = 1", "if x:\n    pass", "y = 5 \\\n% 3", 's = """\n!not one\n%nor this\n"""', "# %x", ""]


def book(*sources: str | list[str], **style: object) -> str:
    cells = [{"cell_type": "code", "metadata": {}, "outputs": [], "source": one} for one in sources]
    return json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}, **style)  # type: ignore[arg-type]


@settings(suppress_health_check=[HealthCheck.too_slow])  # of a loaded machine
@given(st.lists(st.lists(st.sampled_from(MAGICS + CODE), max_size=4).map("\n".join), max_size=3))
def test_what_ipython_reads_is_python_and_comes_back(sources):
    sources = [one.replace("\n    %load", "\n%load").removeprefix("    ") for one in sources]
    made = book(*sources)
    text = notebooks.to_text(made)
    ast.parse(text)
    assert [one for _, one in notebooks.split(text)] == sources
    assert notebooks.to_notebook(made, text) == made


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\r"), max_size=9), min_size=1, max_size=3),
    st.sampled_from([None, 1, 2, "\t"]), st.booleans(), st.booleans(),
)  # fmt: skip
def test_only_the_source_of_what_changed_is_written(comments, indent, as_lines, ensure_ascii):
    sources = ["".join(f"# {line}\n" for line in one.split("\n") if line.isprintable()) + "x = 1" for one in comments]
    shaped = [one.splitlines(keepends=True) if as_lines else one for one in sources]
    made = book(*shaped, indent=indent, ensure_ascii=ensure_ascii)
    text = notebooks.to_text(made)
    changed = notebooks.to_notebook(made, text.replace("x = 1", "x = 2", 1))
    want = json.loads(made)
    first = want["cells"][0]
    first["source"] = [*first["source"][:-1], "x = 2"] if as_lines else first["source"][:-1] + "2"
    assert json.loads(changed) == want
    assert changed == json.dumps(want, indent=indent, ensure_ascii=made.isascii())


def test_a_change_across_cells_is_refused():
    made = book("x = 1", "y = 2")
    text = notebooks.to_text(made)
    with pytest.raises(notebooks.NotebookError, match="goes across cells"):
        notebooks.to_notebook(made, text.replace("# %% cell 2\n\n", ""))


def test_lines_by_cell():
    text = notebooks.to_text(book("a = 1\nb = 2", "", "c = 3"))
    assert [(at.cell, at.line) for at in (notebooks.place(text, n) for n in range(1, 10))] == [
        (1, 1), (1, 1), (1, 1), (1, 2), (2, 1), (2, 1), (2, 1), (3, 1), (3, 1),
    ]  # fmt: skip


def test_cells_of_other_languages_are_passed_over():
    text = notebooks.to_text(book("%%bash\nfor f in *; do echo $f; done", "%%time\nx = 1"))
    assert [type(one).__name__ for one in ast.parse(text).body] == ["Expr", "Assign"]


def test_other_files_come_before_notebooks_of_their_name(tmp_path: Path):
    from transferlint.flow.callgraph.modules import ModuleIndex

    names = [str(tmp_path / name) for name in ("train.ipynb", "train.py")]
    assert ModuleIndex(names, str(tmp_path)).name(names[1]) == "train"
    assert ModuleIndex(names, str(tmp_path)).name(names[0]) != "train"
