"""Which lines of findings ran is known, and a watched program does not notice."""

from __future__ import annotations

import builtins
import dataclasses
import json
import re
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

from runtime_check import executed
from transferlint.model import Site

DRIVER = """
import json, sys
from pathlib import Path
from runtime_check import executed
from transferlint.model import Site
path, sites = sys.argv[1], [Site(*site) for site in json.loads(sys.argv[2])]
sys.path.insert(0, str(Path(path).parent))
watching = executed.ExecutedLines(sites)
watching.start()
try:
    exec(watching.compile(Path(path).read_bytes(), path), {"__name__": "__main__"})
finally:
    watching.stop()
    print(json.dumps({Path(one.path).name: [one.lines, one.decided, one.evaluated] for one in watching.executed()}))
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
    found = watched(script, [Site(str(path), first, 0, last, 0) for path, first, last in sites])
    return {name: ran[0] for name, ran in found.items()}


def watched(script: Path, sites: Iterable[Site]) -> dict[str, list[list[int]]]:
    """Of each file: the lines that ran, the sites in expressions that may not run with them, and those that did."""
    given = json.dumps([dataclasses.astuple(site) for site in sites])
    made = subprocess.run(
        [sys.executable, "-c", DRIVER, str(script), given], capture_output=True, text=True, check=True, timeout=600
    )
    found: dict[str, list[list[int]]] = json.loads(made.stdout.splitlines()[-1])
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
    watching = executed.ExecutedLines([Site("program.py", line, 0, line, 0) for line in range(1, 6)])
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
    watching = executed.ExecutedLines([Site(str(script), line, 0, line, 0) for line in (1, 2, 3)])
    watching.start()
    try:
        names: dict[str, object] = {}
        exec(watching.compile(script.read_bytes(), str(script)), names)
        compiled = torch.compile(names["f"], fullgraph=True, backend="eager")
        assert torch.equal(compiled(torch.ones(2)), torch.full((2,), 4.0))
    finally:
        watching.stop()
    assert watching.lines()[str(script)] >= {1}


EXPRESSIONS = """\
é = None; a = é is not None and [1].index(1)
b = é is None and [2].index(2)
c = [3].pop() if é else [4].pop()
d = [[5].pop() for x in () if [6].pop()], {x: [7].pop() for x in (1,)}
e = 1 < 0 < [8].pop(), (lambda: [9].pop()), (lambda: [10].pop())()
f = [y for x in () for y in [11].copy()] or [
    12,
].pop()
assert é is None, [13].pop()
while é or [14].clear(): pass
def g(x): return x and (x or [15].pop()) and [16].pop()
g(1)
"""


@pytest.fixture
def expressions(tmp_path: Path) -> tuple[Path, list[Site]]:
    """A program, and the site of each call in it that a list with a number is the object of."""
    script = tmp_path / "program.py"
    script.write_text(EXPRESSIONS, encoding="utf-8")
    rows = EXPRESSIONS.splitlines()
    found = [
        (number, match) for number, row in enumerate(rows, 1) for match in re.finditer(r"\[\d+\]\.\w+\(\w*\)", row)
    ]
    sites = [Site(str(script), line, match.start() + 1, line, match.end() + 1) for line, match in found]
    return script, [*sites, Site(str(script), 6, rows[5].rindex("[") + 1, 8, 8)]


def test_an_expression_that_others_decide_on_is_watched_by_itself(expressions: tuple[Path, list[Site]]) -> None:
    script, sites = expressions
    lines, decided, evaluated = watched(script, sites)["program.py"]
    assert set(lines) >= {1, 2, 3, 4, 5, 6, 9, 10, 11}
    rows = EXPRESSIONS.splitlines()

    def numbers(found: Iterable[Iterable[int]]) -> set[int]:
        texts = ("".join(rows[line - 1 :])[column:].lstrip() for line, column in found)
        return {int(re.match(r"\d+", text)[0]) for text in texts}  # type: ignore[index]

    assert numbers(decided) == set(range(1, 17))
    assert numbers(evaluated) == {2, 4, 7, 10, 12, 14, 16}


def test_a_program_that_is_watched_by_expressions_computes_the_same(expressions: tuple[Path, list[Site]]) -> None:
    script, sites = expressions
    watching = executed.ExecutedLines(sites)
    names: dict[str, object] = {}
    watching.start()
    try:
        exec(watching.compile(script.read_bytes(), str(script)), names)
    finally:
        watching.stop()
    assert [names[name] for name in "abcdf"] == [False, 0, 4, ([], {1: 7}), 12]


def test_what_is_sent_elsewhere_by_value_runs_there(expressions: tuple[Path, list[Site]]) -> None:
    script, sites = expressions
    watching = executed.ExecutedLines(sites)
    watching.start()
    names: dict[str, object] = {}
    exec(watching.compile(script.read_bytes(), str(script)), names)
    watching.stop()
    gone = {name: vars(builtins).pop(name) for name in (executed.MARK, executed.EVALUATED) if hasattr(builtins, name)}
    try:
        assert names["g"](1) is not None  # type: ignore[operator]
        assert names["e"][1]() == 9  # type: ignore[index]
    finally:
        vars(builtins).update(gone)


def test_expressions_are_no_part_of_a_compiled_graph(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    script = tmp_path / "program.py"
    script.write_text("def f(x, c=True):\n    return x.sin() if c else x.cos()\n")
    sites = [Site(str(script), 2, 12, 2, 19), Site(str(script), 2, 30, 2, 37)]
    watching = executed.ExecutedLines(sites)
    watching.start()
    try:
        names: dict[str, object] = {}
        exec(watching.compile(script.read_bytes(), str(script)), names)
        compiled = torch.compile(names["f"], fullgraph=True, backend="eager")
        assert torch.equal(compiled(torch.zeros(2)), torch.zeros(2))
    finally:
        watching.stop()
