"""Holds the committed tables against what `check` says today, and writes `benchmarks/results/truth.md` and `.json`.

    python benchmarks/truth/report.py [PACKAGE ...] [--lines CLASS] [--output FOLDER]

Nothing of the packages is run: their tables are read, and their source is taken from their environments or from their
wheels. What was compared before, of the same table by the same analysis, is taken from `$TRUTH_ENV/compared`. `--lines`
prints the lines of the disagreements whose class contains a text, for the packages that are named and not kept out.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import pickle
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from truth import analysed, compare, environments, sources, tables
from truth.compare import Compared

RESULTS = Path(__file__).parents[1] / "results"
_CLASSES = 10


def main() -> int:
    """Compare, and write; 1 where a package could not be compared."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("packages", nargs="*", metavar="PACKAGE")
    parser.add_argument("--lines", metavar="CLASS")
    parser.add_argument("--output", type=Path, default=RESULTS, metavar="FOLDER")
    options = parser.parse_args()
    known = sorted(path.name.removesuffix(".jsonl.xz") for path in tables.DATA.glob("*.jsonl.xz"))
    made: dict[str, tuple[tables.Table, Compared]] = {}
    failed = 0
    for name in options.packages or known:
        try:
            made[name] = _compared(name)
        except (OSError, ValueError, RuntimeError, sources.NoSource) as error:
            print(f"{name}: {error}", file=sys.stderr)
            failed = 1
    if options.lines is not None:
        _print_lines(made, options.lines)
        return failed
    text = _markdown(made)
    print(text)
    if not options.packages or options.output != RESULTS:
        options.output.mkdir(parents=True, exist_ok=True)
        (options.output / "truth.md").write_text(text, encoding="utf-8")
        content = {name: _numbers(table, one) for name, (table, one) in made.items()}
        (options.output / "truth.json").write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    return failed


def _compared(name: str) -> tuple[tables.Table, Compared]:
    table = tables.read(name)
    kept = environments.folder() / "compared" / f"{name}-{_digest(name)}"
    if kept.exists():
        before: Compared = pickle.loads(kept.read_bytes())  # our own: it holds nothing that came from elsewhere
        return table, before
    root = sources.extract(table)
    files = sources.unchanged(table, root)
    print(f"{name}: {len(files)} of {len(table.files)} files", file=sys.stderr, flush=True)
    found = compare.compare(table, root, files, analysed.analyse(root, files))
    kept.parent.mkdir(parents=True, exist_ok=True)
    for old in kept.parent.glob(f"{name}-*"):
        old.unlink()
    kept.write_bytes(pickle.dumps(found))
    return table, found


def _digest(name: str) -> str:
    """Of a table, and of all that it is compared with and by."""
    here = Path(__file__).parent
    compares = ("analysed", "compare", "measured", "structure", "tables")
    code = [*(here / f"{one}.py" for one in compares), *(here / "rules").glob("*.py")]
    for folder in ("transferlint", "rules"):
        code += (here.parents[1] / folder).rglob("*")
    digest = hashlib.sha256(tables.path_of(name).read_bytes())
    for path in sorted(one for one in code if one.is_file() and one.suffix != ".pyc"):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def _print_lines(made: dict[str, tuple[tables.Table, Compared]], wanted: str) -> None:
    for table, one in made.values():
        if table.header["kept_out"]:
            print("kept out of all fitting: its lines are not shown")
            continue
        for found in one.disagreements:
            if wanted in f"{found.sort}: {found.why}":
                print(f"{found.path}:{found.line}: {found.sort}: {found.why}")


def _numbers(table: tables.Table, one: Compared) -> dict[str, Any]:
    classes = Counter(f"{found.sort}: {found.why}" for found in one.disagreements)
    header = table.header
    return {
        "version": header["package_version"],
        "torch": header["torch"],
        "kept_out": header["kept_out"],
        "seconds": header["seconds"],
        "workloads": _workloads(table),
        "counts": dict(sorted(one.counts.items())),
        "tenths": {str(tenth): [len(found), sum(found)] for tenth, found in sorted(one.tenths.items())},
        "classes": dict(classes.most_common()),
    }


def _workloads(table: tables.Table) -> dict[str, int]:
    """How many cases ended how; a workload that is divided in cases is not counted beside them."""
    outcomes = table.header["workloads"]
    divided = {one["workload"] for one in outcomes if one["case"] != one["workload"]}
    counted = [one for one in outcomes if one["case"] != one["workload"] or one["workload"] not in divided]
    return dict(Counter(one["outcome"] for one in counted))


_HEAD = (
    "package", "workloads", "kLOC", "hot crossings", "reported", "+ explained", "+ known", "facts right",
    "findings confirmed", "refuted", "hot: precision", "recall", "minutes",
)  # fmt: skip


def _markdown(made: dict[str, tuple[tables.Table, Compared]]) -> str:
    fitted = [name for name, (table, _) in made.items() if not table.header["kept_out"]]
    apart = [name for name in made if name not in fitted]
    parts = ["# What programs did, and what the analysis says", "", _INTRODUCTION, ""]
    for title, names in (
        ("Packages that the analysis may be fitted to", fitted),
        ("Packages kept out of all fitting", apart),
    ):
        if names:
            parts += [f"## {title}", "", *_table(made, names), "", *_tenths([made[name][1] for name in names])]
            parts += ["### The largest classes of disagreement", "", *_classes([made[name][1] for name in names]), ""]
    return "\n".join(parts).rstrip() + "\n"


_INTRODUCTION = """Every package is run the way its users run it, on the simulated accelerator (`make truth`), and what
crossed on each of its lines is held against what `transferlint check` says of its source (`make truth-report`).

- *hot crossings*: lines that crossed, one way, in half of the steps of some kind or more. *Reported*: a finding stands
  on it or names it; *explained*: `check --quiet-sites` gave a reason that the run does not contradict; *known*: there
  is a fact of a transfer.
- *facts right*: of the transfers that the analysis holds to cross, on lines that ran on the device, how many did.
- *hot*: of lines with a transfer whose function ran, what is called hot against what ran in half of the steps or more.
- *kLOC*: of the files of which a function ran. *minutes*: how long the workloads took, others on the machine or not."""


def _table(made: dict[str, tuple[tables.Table, Compared]], names: Sequence[str]) -> list[str]:
    rows = ["| " + " | ".join(_HEAD) + " |", "|" + " --- |" * len(_HEAD)]
    total: Counter[str] = Counter()
    done: Counter[str] = Counter()
    for name in names:
        table, one = made[name]
        outcomes = _workloads(table)
        rows.append(_row(f"{name} {table.header['package_version']}", outcomes, one.counts, table.header["seconds"]))
        total += one.counts
        done += Counter(outcomes)
    return [*rows, _row("**all**", dict(done), total, sum(made[name][0].header["seconds"] for name in names))]


def _row(name: str, outcomes: dict[str, int], counts: Counter[str], seconds: float) -> str:
    hot = counts["crossed hot"]
    explained = counts["reported"] + counts["explained"]
    known = explained + counts["known, not told"] + counts["explained wrongly"]
    right, wrong = counts["fact confirmed"], counts["fact refuted"]
    yes, only_said, only_ran = counts["hot True True"], counts["hot True False"], counts["hot False True"]
    cells = (
        *(name, f"{outcomes.get('ok', 0)} of {sum(outcomes.values())}", f"{counts['lines'] / 1000:.0f}", hot),
        *(_share(counts["reported"], hot), _share(explained, hot), _share(known, hot), _share(right, right + wrong)),
        *(counts["finding confirmed"], counts["finding refuted"]),
        *(_share(yes, yes + only_said), _share(yes, yes + only_ran), f"{seconds / 60:.1f}"),
    )
    return "| " + " | ".join(str(cell) for cell in cells) + " |"


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.0f} % of {whole}" if whole else "-"


def _tenths(compared: Sequence[Compared]) -> list[str]:
    found: dict[int, list[float]] = {}
    for one in compared:
        for tenth, shares in one.tenths.items():
            found.setdefault(tenth, []).extend(shares)
    if not found:
        return []
    counts = sum((one.counts for one in compared), Counter())
    yes, only_said, only_ran = (counts[f"expected {case}"] for case in ("True True", "True False", "False True"))
    rows = [
        "### Calibration of frequency",
        "",
        f"Of the lines that are expected in half of the steps or more, {_share(yes, yes + only_said)} ran so often; of"
        f" those that did, {_share(yes, yes + only_ran)} are expected to. Lines in a loop over steps of their own"
        " function are left out.",
        "",
        "| expected | lines | measured |",
        "| --- | --- | --- |",
    ]
    for tenth, shares in sorted(found.items()):
        rows.append(f"| {tenth / 10:.1f} - {tenth / 10 + 0.1:.1f} | {len(shares)} | {sum(shares) / len(shares):.2f} |")
    return [*rows, ""]


def _classes(compared: Sequence[Compared]) -> list[str]:
    classes = Counter((found.sort, found.why) for one in compared for found in one.disagreements)
    sorts = Counter(found.sort for one in compared for found in one.disagreements)
    rows = ["| disagreement | class | lines |", "| --- | --- | --- |"]
    for sort, count in sorts.most_common():
        rows.append(f"| **{sort}** | | **{count}** |")
        of_sort = Counter({why: number for (name, why), number in classes.items() if name == sort})
        rows += [f"| | {why.replace('|', '/')} | {number} |" for why, number in of_sort.most_common(_CLASSES)]
    return rows


if __name__ == "__main__":
    sys.exit(main())
