"""Whether libraries pass their own tests after fixing: `python benchmarks/own_tests.py --sources FOLDER`.

FOLDER holds the source tree of each library of LIBRARIES under its name; what else they import must be installed beside
torch, in the Python that is named by `--python`. Of each library a copy is made and its tests are run on the CPU as it
is, after `--fix`, and after `--fix --unsafe-fixes`. Told are the findings that were fixed, how many tests passed each
time, and every test that passed before and does not after. Nothing is downloaded. A fix that no test runs says nothing:
the places that were changed are told as run where the tests execute one of their lines (by coverage.py, which that
Python has, too).

Rows are kept in a file as they are measured; the table holds all of them. Exit code 1 where a test fails newly.
"""

from __future__ import annotations

import argparse
import dataclasses
import difflib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from collections.abc import Mapping
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).with_name("results")
STEPS = {"before": (), "--fix": ("--fix",), "--fix --unsafe-fixes": ("--fix", "--unsafe-fixes")}
PASSED = "passed"


@dataclasses.dataclass(frozen=True)
class Library:
    """Where a library's package and tests lie in its tree; `tests` are those that run on the CPU without downloads in
    minutes, `options` are pytest's."""

    package: str
    tests: tuple[str, ...]
    options: tuple[str, ...] = ()


_KERNELS = ("newton_girard_additive", "piecewise_polynomial")
LIBRARIES: Mapping[str, Library] = {
    "linear_operator": Library(
        "linear_operator",
        (
            *("test/utils/test_minres.py", "test/utils/test_sparse.py"),
            "test/operators/test_identity_linear_operator.py",
            "test/operators/test_kronecker_product_added_diag_linear_operator.py",
        ),
        ("-k", "not Batch and not Rectangular"),
    ),
    "gpytorch": Library(
        "gpytorch",
        (
            *("test/functions/test_log_normal_cdf.py", "test/likelihoods/test_gaussian_likelihood.py"),
            *(f"test/kernels/test_{one}_kernel.py" for one in _KERNELS),
        ),
    ),
    "captum": Library(
        "captum",
        ("tests/attr/neuron/test_neuron_conductance.py", "tests/attr/layer/test_internal_influence.py"),
    ),
    "ignite": Library("ignite", ("tests/ignite/metrics/nlp/test_bleu.py",), ("-k", "not distrib")),
    "kornia": Library(
        "kornia",
        (
            *("tests/contrib/test_diamond_square.py", "tests/color/test_colormap.py", "tests/losses/test_hd.py"),
            *("tests/geometry/liegroup/test_so2.py", "tests/feature/test_laf.py"),
        ),
        ("-k", "not gradcheck and not dynamo and not jit"),
    ),
}


def fixed(tree: Path, package: str, options: tuple[str, ...]) -> dict[str, int]:
    """Fix a package in place; how many findings of each rule were fixed. Raises RuntimeError without a report."""
    command = [
        sys.executable,
        "-m",
        "transferlint",
        "check",
        package,
        "--isolated",
        "--no-cache",
        "--exit-zero",
        "-f",
        "json",
    ]
    made = subprocess.run([*command, *options], cwd=tree, capture_output=True, text=True, check=False)
    try:
        return dict(json.loads(made.stdout)["summary"]["fixed_by_code"])
    except ValueError:
        raise RuntimeError(f"{tree.name}: {made.stderr.strip()[-500:]}") from None


def changed(tree: Path, source: Path, package: str) -> dict[str, list[range]]:
    """By the path of a fixed file in `tree`, the places that were changed: numbers of its lines, from 1."""
    places: dict[str, list[range]] = {}
    for path in sorted((tree / package).rglob("*.py")):
        before, after = ((top / path.relative_to(tree)).read_bytes().splitlines() for top in (source, tree))
        if before != after:
            steps = difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
            places[str(path)] = [range(step[3] + 1, step[4] + 1) for step in steps if step[0] in ("replace", "insert")]
    return places


def ran(data: Path, python: str, places: Mapping[str, list[range]]) -> dict[str, int]:
    """How many places of how many files were changed, and how many of each the tests ran."""
    read = "import coverage, json, sys; data = coverage.CoverageData(sys.argv[1]); data.read(); "
    read += "print(json.dumps({path: data.lines(path) for path in data.measured_files()}))"
    told = subprocess.run([python, "-c", read, str(data)], capture_output=True, text=True, check=True).stdout
    lines = {path: set(numbers) for path, numbers in json.loads(told).items()}
    run = {path: sum(not lines.get(path, set()).isdisjoint(one) for one in all_) for path, all_ in places.items()}
    return {
        "files": len(places),
        "files_run": sum(number > 0 for number in run.values()),
        "places": sum(map(len, places.values())),
        "places_run": sum(run.values()),
    }


def outcomes(
    tree: Path, library: Library, python: str, seconds: int, traced: Mapping[str, list[range]] | None = None
) -> tuple[dict[str, str], dict[str, int]]:
    """What became of each test: PASSED, "skipped", or the first line of why it failed; of `traced`, see `ran`."""
    environment = {
        **os.environ,
        "OMP_NUM_THREADS": "1",
        "CUDA_VISIBLE_DEVICES": "",
        "HF_HUB_OFFLINE": "1",
        "MPLBACKEND": "Agg",
    }
    environment["PYTHONPATH"] = os.pathsep.join((str(tree), str(tree / library.package / "..")))
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "report.xml")
        command = [python]
        if traced:
            command += ["-m", "coverage", "run", f"--data-file={folder}/data", f"--include={','.join(traced)}"]
        command += [
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:cacheprovider",
            "-p",
            "no:transferlint",
            "--continue-on-collection-errors",
        ]
        command += [f"--junitxml={report}", "-o", "addopts=", "-W", "ignore", *library.options, *library.tests]
        try:
            subprocess.run(command, cwd=tree, env=environment, capture_output=True, timeout=seconds, check=False)
        except subprocess.TimeoutExpired:
            return {}, {}
        if not report.exists():
            return {}, {}
        found = {
            f"{one.get('classname')}::{one.get('name')}": _outcome(one)
            for one in ElementTree.parse(report).iter("testcase")
        }
        return found, ran(Path(folder, "data"), python, traced) if traced else {}


def _outcome(case: ElementTree.Element) -> str:
    for kind in ("failure", "error"):
        found = case.find(kind)
        if found is not None:
            return " ".join((found.get("message") or kind).split())[:200]
    return "skipped" if case.find("skipped") is not None else PASSED


def measure(name: str, source: Path, python: str, seconds: int) -> dict[str, Any]:
    """The row of a library."""
    library = LIBRARIES[name]
    row: dict[str, Any] = {"name": name, "tests": list(library.tests), "steps": {}}
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder, source.name).resolve()
        shutil.copytree(source, tree, symlinks=True, ignore=shutil.ignore_patterns(".git"))
        first: dict[str, str] = {}
        found: dict[str, str] = {}
        run: dict[str, int] = {}
        for step, options in STEPS.items():
            changes = fixed(tree, library.package, options) if options else {}
            if changes or not options:  # else all is as it was
                places = changed(tree, source, library.package)
                found, run = outcomes(tree, library, python, seconds, places)
            first = first or found
            passed = sum(one == PASSED for one in found.values())
            newly = {
                test: found.get(test, "is gone") for test, was in first.items() if was == PASSED != found.get(test)
            }
            row["steps"][step] = {"fixed": changes, "passed": passed, "tests": len(found), "newly": newly, "run": run}
            if not first:
                break
            if newly:  # once more: a test may depend on chance or time
                again, _ = outcomes(tree, library, python, seconds)
                row["steps"][step]["newly"] = {test: why for test, why in newly.items() if again.get(test) != PASSED}
    return row


def table(rows: list[Mapping[str, Any]]) -> str:
    """All rows, and what fails newly."""
    lines = ["# Libraries' own tests before and after fixing", "", *(__doc__ or "").strip().splitlines()[2:8], ""]
    head = (
        "library",
        "tests",
        "passed before",
        *("fixed by `--fix`", "passed", "newly failing"),
        *("fixed by `--unsafe-fixes` too", "passed", "newly failing"),
        *("fixed files run by the tests", "fixed places run by the tests"),
    )
    lines += [f"| {' | '.join(head)} |", "| --- " * len(head) + "|"]
    failing: list[str] = []
    for row in sorted(rows, key=lambda one: str(one["name"]).lower()):
        cells = [row["name"], ", ".join(f"`{one}`" for one in row["tests"])]
        run: Mapping[str, int] = {}
        for step, one in row["steps"].items():
            run = one["run"]
            counts = ", ".join(f"{code} {number}" for code, number in sorted(one["fixed"].items())) or "nothing"
            cells += [] if step == "before" else [counts]
            cells += [f"{one['passed']} of {one['tests']}", *([] if step == "before" else [str(len(one["newly"]))])]
            failing += [f"- {row['name']}, {step}: `{test}`: {why}" for test, why in one["newly"].items()]
        cells += [""] * (len(head) - 2 - len(cells))
        cells += [f"{run[f'{one}_run']} of {run[one]}" if run else "" for one in ("files", "places")]
        failing += [f"- {row['name']}: {row['reason']}"] if row.get("reason") else []  # written by whoever looked
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join([*lines, *(["", "## Newly failing", "", *failing] if failing else []), ""])


def main() -> int:
    """Run what is asked for, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sources", type=Path, required=True, help="the folder of the libraries' trees")
    parser.add_argument("--python", default=sys.executable, help="a Python that has torch, pytest and what they import")
    parser.add_argument("--only", nargs="+", choices=tuple(LIBRARIES), default=list(LIBRARIES))
    parser.add_argument("--seconds", type=int, default=1800, help="for one run of a library's tests")
    parser.add_argument("--rows", type=Path, default=RESULTS / "own_tests.jsonl", help="where rows are kept")
    parser.add_argument("--markdown", type=Path, default=RESULTS / "own_tests.md", help="where the table is written")
    options = parser.parse_args()
    rows: dict[str, Mapping[str, Any]] = {}
    if options.rows.exists():
        rows = {row["name"]: row for row in map(json.loads, options.rows.read_text(encoding="utf-8").splitlines())}
    for name in options.only:
        source = options.sources / name
        if not source.is_dir():
            print(f"{name}: left out: {source} is not there")
            continue
        rows[name] = measure(name, source.resolve(), options.python, options.seconds)
        print(json.dumps(rows[name], indent=1), flush=True)
        options.rows.write_text("".join(json.dumps(row) + "\n" for row in rows.values()), encoding="utf-8")
        options.markdown.write_text(table(list(rows.values())), encoding="utf-8")
    return int(any(one["newly"] for row in rows.values() for one in row["steps"].values()))


if __name__ == "__main__":
    sys.exit(main())
