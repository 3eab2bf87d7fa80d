"""Which lines of findings ran is known, and a watched program does not notice."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

from runtime_check import executed

DRIVER = """
import json, sys
from pathlib import Path
from runtime_check import executed
path, sites = sys.argv[1], json.loads(sys.argv[2])
sys.path.insert(0, str(Path(path).parent))
watching = executed.ExecutedLines(sites)
watching.start()
try:
    exec(watching.compile(Path(path).read_bytes(), path), {"__name__": "__main__"})
finally:
    watching.stop()
    print(json.dumps({Path(file).name: sorted(lines) for file, lines in watching.lines().items()}))
left = vars(sys).get("monitoring")
assert left is None or not any(left.get_tool(number) for number in range(6))
assert not any("runtime_check" in str(one) for one in sys.meta_path)
"""
LINES = """\
import other

def never(
    x,
):
    return x

def ran(x):
    if x > 3:
        return "large"
    elif x > 2: return "middle"
    values = [
        x,
    ]
    while x:
        x -= 1
    return values

ran(1)
other.f()
"""
OTHER = "def f():\n    x = 1\n    return x\n\n\ndef g():\n    return 2\n"


def lines(script: Path, sites: Iterable[tuple[Path, int, int]]) -> dict[str, list[int]]:
    """The lines of the sites that ran in the script, by name of the file."""
    given = json.dumps([(str(path), first, last) for path, first, last in sites])
    made = subprocess.run(
        [sys.executable, "-c", DRIVER, str(script), given], capture_output=True, text=True, check=True, timeout=600
    )
    found: dict[str, list[int]] = json.loads(made.stdout.splitlines()[-1])
    return found


def test_the_lines_that_ran_are_known(tmp_path: Path) -> None:
    script, other = tmp_path / "program.py", tmp_path / "other.py"
    script.write_text(LINES)
    other.write_text(OTHER)
    sites = [(script, line, line) for line in (1, 6, 8, 9, 10, 11, 15)]
    sites += [(script, 3, 5), (script, 12, 14), (other, 2, 2), (other, 7, 7)]
    assert lines(script, sites) == {"program.py": [1, 3, 8, 9, 11, 12, 15], "other.py": [2]}


def test_a_site_is_known_by_its_first_line(tmp_path: Path) -> None:
    script = tmp_path / "program.py"
    script.write_text("x = (\n    1\n    + int('2')\n)\n")
    assert lines(script, [(script, 1, 4)]) == {"program.py": [1]}
    assert lines(script, [(script, 3, 3)]) == {"program.py": [3]}


def test_a_linked_file_is_the_file(tmp_path: Path) -> None:
    script = tmp_path / "program.py"
    script.write_text("x = 1\n")
    (tmp_path / "link.py").symlink_to(script)
    assert lines(tmp_path / "link.py", [(script, 1, 1)]) == {"program.py": [1]}


def test_a_package_is_watched_too(tmp_path: Path) -> None:
    inside = tmp_path / "package" / "__init__.py"
    inside.parent.mkdir()
    inside.write_text("def f():\n    return 1\n\nf()\n")
    (tmp_path / "program.py").write_text("import package\n")
    assert lines(tmp_path / "program.py", [(inside, 2, 2)]) == {"__init__.py": [2]}


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="no code is changed where there is sys.monitoring")
def test_docstrings_and_futures_stay_first() -> None:
    text = b'"""Words."""\nfrom __future__ import annotations\ndef f():\n    """More."""\n    return 1\n'
    watching = executed.ExecutedLines([("program.py", line, line) for line in range(1, 6)])
    names: dict[str, object] = {}
    exec(watching.compile(text, "program.py"), names)
    assert names["__doc__"] == "Words."
    assert getattr(names["f"], "__doc__", "") == "More."


def test_without_findings_nothing_is_watched() -> None:
    before = list(sys.meta_path)
    watching = executed.ExecutedLines([])
    watching.start()
    assert sys.meta_path == before
    watching.stop()
    assert watching.lines() == {}


def test_marks_are_no_part_of_a_compiled_graph(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    script = tmp_path / "program.py"
    script.write_text("def f(x):\n    y = x + 1\n    return y * 2\n")
    watching = executed.ExecutedLines([(str(script), line, line) for line in (1, 2, 3)])
    watching.start()
    try:
        names: dict[str, object] = {}
        exec(watching.compile(script.read_bytes(), str(script)), names)
        compiled = torch.compile(names["f"], fullgraph=True, backend="eager")
        assert torch.equal(compiled(torch.ones(2)), torch.full((2,), 4.0))
    finally:
        watching.stop()
    assert watching.lines()[str(script)] >= {1}
