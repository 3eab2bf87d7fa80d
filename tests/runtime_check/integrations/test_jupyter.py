"""The magic in a shell of IPython and in a notebook; skipped where these are not installed."""

from __future__ import annotations

import re
from typing import Any

import pytest
from simulated import in_fork, in_simulation

pytest.importorskip("torch")


class Shell:
    """A shell of IPython, what is shown in it, and what fails."""

    def __init__(self, *cells: str) -> None:
        interactive = pytest.importorskip("IPython.core.interactiveshell")
        self.shell: Any = interactive.InteractiveShell.instance()
        self.shell.history_manager.enabled = False
        self.shell.showtraceback = self._failed
        self.run("%load_ext transferlint")
        for cell in cells:
            self.run(cell)

    def run(self, cell: str) -> tuple[str, Any]:
        """What is shown as text, and the cell's value."""
        from IPython.utils.capture import capture_output

        with capture_output(display=True) as captured:
            result = self.shell.run_cell(cell, store_history=True)
        shown = [output.data["text/plain"] for output in captured.outputs]
        self.html = [output.data.get("text/html", "") for output in captured.outputs]
        self.error = result.error_in_exec or result.error_before_exec
        return "\n".join((*shown, captured.stdout)), result.result

    def _failed(self, *args: Any, **kwargs: Any) -> None:
        """Tracebacks are told by `error`."""


@in_simulation
def test_a_cell_shows_its_lines_with_counts_and_gives_its_value() -> None:
    shell = Shell("import torch\ndef read(x):\n    return x.sum().item()\nx = torch.ones(4, device='cuda')")
    text, value = shell.run("%%transfers\ny = x * 2\n\nfor i in range(3):\n    read(y)\nt = y.cpu()\ny.tolist()")
    assert value == [2.0, 2.0, 2.0, 2.0]
    first, headings, *rows = text.splitlines()
    assert first.startswith("transfers: h2d 0 · d2h 5 (44 B) · 5 waits · the host was blocked for ")
    assert " µs (modelled) · the cell took " in first
    assert headings.split() == ["h2d", "d2h", "wait", "bytes", "blocked"]
    assert [row.split("|")[1].strip() for row in rows[:3]] == ["return x.sum().item()", "t = y.cpu()", "y.tolist()"]
    assert [row[:12].strip() for row in rows[1:3]] == ["line 6", "line 7"]
    assert rows[0].startswith("Cell In[2], line 3 ")
    assert rows[0].split()[4:7] == ["3", "12", "B"]
    assert '<td class="what">line 6: <code>t = y.cpu()</code>' in shell.html[0]
    text, value = shell.run("%transfers x.sum().item()")
    assert value == 4.0
    assert "line 1" in text
    text, _ = shell.run("%%transfers\nz = x + 1")
    assert text.startswith("transfers: none · the cell took ")


@in_simulation
def test_what_goes_wrong_in_a_cell_is_its_own_error() -> None:
    shell = Shell("import torch\nx = torch.ones(4, device='cuda')")
    text, _ = shell.run("%%transfers\nx.cpu()\n1/0\nx.cpu()")
    assert "d2h 1 " in text
    assert isinstance(shell.error, ZeroDivisionError)
    trace, lines = shell.error.__traceback__, []
    while trace is not None:
        lines.append(trace.tb_lineno)
        trace = trace.tb_next
    assert lines[-1] == 3
    shell.run("%%transfers\nx +")
    assert isinstance(shell.error, SyntaxError)
    assert shell.error.lineno == 2


@in_simulation
def test_a_limit_fails_the_cell_and_names_its_lines() -> None:
    shell = Shell("import torch\nx = torch.ones(4, device='cuda')\ndef read():\n    x.sum().item()")
    shell.run("%%transfers --limit d2h=1 --limit=h2d=0\nx.cpu()\nread()")
    error = shell.error
    assert type(error).__name__ == "TransferLimitExceeded"
    first, *lines = str(error).splitlines()
    assert first == "the cell transferred too often: d2h 2, limit 1"
    assert [line.split(": d2h")[0] for line in lines] == ["  cell:2", "  Cell In[2]:4"]
    assert error._render_traceback_() == [f"TransferLimitExceeded: {error}"]
    shell.run("%%transfers --limit d2h=1\nx.cpu()")
    assert shell.error is None


@in_simulation
def test_wrong_options_are_refused_in_one_line() -> None:
    shell = Shell()
    for line in ("--what", "--limit d2h", "--limit x=1", "--limit d2h=-1", "--simulated", "y"):
        shell.run(f"%%transfers {line}\n1")
        assert type(shell.error).__name__ == "UsageError", line
        assert "\n" not in str(shell.error)
        assert line in str(shell.error)


@in_simulation
def test_check_is_told_beside_the_lines() -> None:
    shell = Shell("import torch\n%time 1\nx = torch.ones(4, device='cuda')", "%%time\n1 +")
    cell = "for i in range(20):\n    loss = (x * i).sum()\n    if loss.item() < 0:\n        print((loss + x).tolist())"
    text, _ = shell.run(f"%%transfers --check\n{cell}")
    assert "line 4" in text
    assert re.search(r"\|   confirmed: TL\d+ `loss.item\(\)", text)
    assert "line 5: TL" in text
    assert "nothing crossed there" in text


@in_fork
def test_without_an_accelerator_the_cell_says_so_and_a_simulated_one_can_be_started() -> None:
    shell = Shell()
    text, value = shell.run("%%transfers\nimport torch\ntorch.ones(2).tolist()")
    assert value == [1.0, 1.0]
    assert "torch finds no accelerator, so nothing is transferred: `%%transfers --simulate`" in text
    shell.run("%transfers --simulate")
    text, _ = shell.run("%%transfers --simulate\ntorch.ones(2, device='cuda').tolist()")
    assert "d2h 1 (8 B)" in text
    assert "accelerator" not in text


def test_a_notebook_fails_where_a_cell_moves_more_than_it_may() -> None:
    nbclient = pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    import nbformat

    cells = [
        "%load_ext transferlint\n%transfers --simulate",
        "import torch\nx = torch.ones(1000, device='cuda')",
        "%%transfers\nx.cpu().shape",
        "%%transfers --limit d2h=0\nx.cpu()",
    ]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    with pytest.raises(nbclient.exceptions.CellExecutionError) as caught:
        nbclient.NotebookClient(notebook, timeout=600, kernel_name="python3").execute()
    assert caught.value.ename == "TransferLimitExceeded"
    assert caught.value.evalue.splitlines()[0] == "the cell transferred too often: d2h 1, limit 0"
    shown = [output for output in notebook.cells[2].outputs if output.output_type == "display_data"]
    assert "<code>x.cpu().shape</code>" in shown[0].data["text/html"]
    assert "d2h 1 (3.91 KiB)" in shown[0].data["text/plain"]
