"""Programs that nobody here wrote, run unmodified by `transferlint verify` on the simulated accelerator.

    python benchmarks/real_programs.py SOURCES [--only NAME ...] [--markdown FILE]

SOURCES is a folder with checkouts, each by the name of its repository (`git clone --depth 1`):

    karpathy/nanoGPT  rtqichen/torchdiffeq  cornellius-gp/gpytorch  pyro-ppl/pyro  vwxyzjn/cleanrl

What they need comes from the package index, into the environment that runs this, in which transferlint is installed:

    pip install transformers accelerate tiktoken requests matplotlib scipy linear_operator pyro-ppl==1.9.1
    pip install gymnasium tyro tensorboard

torchdiffeq, gpytorch and pyro are run from their checkouts and count as the program's own code; so do transformers
and accelerate, which are copied beside the program that uses them. A program whose checkout or package is missing is
left out, and said so. Nothing is downloaded: models are made from configs and data is made or the repository's text.

Of each program is told what crossed, and of its own hot sites (a line, a direction and an operation that crossed in
every other step, or ten times where there are no steps) how many `check` reports, how many `verify` explains, and how
many are left. Counts, bytes and lines are as on a real device; times would be modelled, and are not told.
"""

from __future__ import annotations

import argparse
import dataclasses
import importlib.util
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

LIBRARIES = ("transformers", "accelerate")
OF_LIBRARIES = (
    *("trainer.py", "trainer_utils.py", "trainer_pt_utils.py", "generation", "models/gpt2", "loss", "masking_utils.py"),
    *("cache_utils.py", "modeling_utils.py", "pytorch_utils.py"),
)


@dataclasses.dataclass(frozen=True)
class Program:
    """A program: its folder in SOURCES, its command, what it needs, and what has to be made first."""

    name: str
    folder: str
    command: str
    needs: tuple[str, ...] = ()
    prepare: Callable[[Path], None] | None = None
    findings: tuple[str, ...] = ()  # check these files only: of a library with thousands
    own: str = ""  # the program itself, in its folder; the rest there is a library that is run from its checkout


def main() -> None:
    """Run what can be run, print a table, and list what is left."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sources", type=Path)
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME")
    parser.add_argument("--markdown", type=Path, help="write the tables here, too")
    options = parser.parse_args()
    sources = options.sources.resolve()
    told = []
    for program in PROGRAMS:
        if options.only and program.name not in options.only:
            continue
        print(f"==> {program.name}: {program.command}", flush=True)
        report = _run(program, sources)
        if isinstance(report, str):
            print(f"left out: {report}")
            continue
        told.append(_told(program, report, sources / program.folder))
        print(_row(told[-1]), flush=True)
    text = _markdown(told)
    print(f"\n{text}")
    if options.markdown:
        options.markdown.write_text(text, encoding="utf-8")


def _run(program: Program, sources: Path) -> dict[str, Any] | str:
    """The report of a run, or why there is none."""
    missing = [name for name in program.needs if importlib.util.find_spec(name) is None]
    folder, out = sources / program.folder, sources / "runs" / program.name.replace(" ", "-")
    if missing:
        return f"{', '.join(missing)} is not installed"
    if program.prepare is not None:
        program.prepare(folder)
    if not folder.is_dir():
        return f"{folder} is not there"
    out.mkdir(parents=True, exist_ok=True)
    tool = [sys.executable, "-m", "transferlint"]
    environment = {**os.environ, "PYTHONPATH": ".", "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1", "MPLBACKEND": "Agg"}
    asked = [*tool, "verify", "--level", "simulate", "--root", ".", "-o", str(out)]
    if program.findings:
        check = [*tool, "check", *program.findings, "--output-format", "json", "--quiet-sites"]
        found = out.parent / f"{out.name}-findings.json"
        with found.open("w", encoding="utf-8") as file:
            subprocess.run(check, cwd=folder, env=environment, stdout=file, stderr=subprocess.DEVNULL, check=False)
        asked += ["--findings", str(found)]
    with (out.parent / f"{out.name}.txt").open("w", encoding="utf-8") as file:
        made = subprocess.run(
            [*asked, *program.command.split()], cwd=folder, env=environment, stdout=file, stderr=file, check=False
        )
    if made.returncode:
        return f"it ended with {made.returncode}; see {file.name}"
    report: dict[str, Any] = json.loads((out / "report.json").read_text(encoding="utf-8"))
    return report


@dataclasses.dataclass(frozen=True)
class Told:
    """What is told of a run. `left` are (place, source line, direction, operation, count), `why` what is explained,
    with the reason for the operation, and `own` the hot sites of the program itself that are known, and all of them."""

    name: str
    steps: int
    crossed: dict[str, tuple[int, int]]
    verdicts: dict[str, int]
    reported: int
    explained: int
    left: tuple[tuple[str, str, str, str, int], ...]
    own: tuple[int, int]
    why: tuple[tuple[str, str, str, str, int], ...]


def _told(program: Program, report: dict[str, Any], folder: Path) -> Told:
    sites = [site for site in report["sites"] if site["sync"] or site["direction"] != "none"]
    crossed = {}
    for way in ("h2d", "d2h", "none"):
        of_way = [site for site in sites if site["direction"] == way]
        crossed[way] = sum(site["count"] for site in of_way), sum(site["bytes"] for site in of_way)
    claimed = {number for verdict in report["verdicts"] for number in verdict["sites"]}
    own = [one for one in report["missed"] if one["own"] and not one["explained"].startswith("inside ")]
    of_missed = {number: one for one in own for number in one["sites"]}
    full = report["outcome"]["full_steps"]
    reported = {_place(site) for site in sites if site["id"] in claimed and _own(site, folder) and _hot(site, full)}
    left, why = [], []
    for one in own:
        line = _line(folder / one["path"], one["line"])
        into = why if one["explained"] else left
        said = one["explained"] or one["operation"]
        into.append((f"{one['path']}:{one['line']}", line, one["direction"], said, one["count"]))
    reported -= {_place(site) for site in sites if site["id"] in of_missed}
    known = sum(Path(str(place[0])).is_relative_to(folder / program.own) for place in reported)
    known += sum(Path(one["path"]).is_relative_to(program.own or ".") for one in own if one["explained"])
    missed = sum(Path(one["path"]).is_relative_to(program.own or ".") for one in own if not one["explained"])
    return Told(
        program.name,
        report["outcome"]["steps"],
        crossed,
        report["summary"],
        len(reported),
        len(why),
        tuple(left),
        (known, known + missed),
        tuple(why),
    )


def _place(site: dict[str, Any]) -> tuple[object, ...]:
    place = site["site"]
    return place["path"], place["line"], place["column"], site["direction"], site["operation"]


def _own(site: dict[str, Any], folder: Path) -> bool:
    return Path(site["site"]["path"]).is_relative_to(folder)


def _hot(site: dict[str, Any], full: int) -> bool:
    share = site["executions"] / site["count"] if site["executions"] else 1  # `Module.to` is one, however much it moves
    return bool(site["stepped"] * share * 2 >= full if full >= 2 else site["count"] * share >= 10)


def _line(path: Path, number: int) -> str:
    try:
        return path.read_text(encoding="utf-8").splitlines()[number - 1].strip()
    except (OSError, IndexError):
        return ""


def _row(told: Told) -> str:
    events = [f"{count:,} ({size:,} B)" for count, size in told.crossed.values()]
    kinds = " / ".join(str(told.verdicts[kind]) for kind in ("confirmed", "partly", "refuted", "not_reached"))
    hot = told.reported + told.explained + len(told.left)
    share = f"{(told.reported + told.explained) / hot:.0%}" if hot else "-"
    cells = [told.name, str(told.steps), *events, kinds, str(hot), str(told.reported), str(told.explained)]
    return f"| {' | '.join([*cells, str(len(told.left)), share])} |"


def _markdown(told: list[Told]) -> str:
    head = "program | steps | h2d | d2h | sync | confirmed / partly / refuted / not reached | hot sites | reported"
    lines = [f"| {head} | explained | left | share |", "| --- |" + " --- |" * 10, *map(_row, told), ""]
    known = sum(one.reported + one.explained for one in told)
    hot = known + sum(len(one.left) for one in told)
    itself, all_own = sum(one.own[0] for one in told), sum(one.own[1] for one in told)
    if all_own:
        share = f"{itself / all_own:.0%}"
        lines += [f"The programs' own code: {itself} of {all_own} hot sites reported or explained, {share}."]
    if hot:
        lines += [f"The same and the libraries: {known} of {hot}, {known / hot:.0%}.", ""]
    lines += ["| explained in | line | why | events |", "| --- | --- | --- | --- |"]
    for one in told:
        for place, line, way, reason, count in one.why:
            text = line.replace("|", "\\|")
            lines.append(f"| {one.name} | {place} `{text}` | {way}: {reason} | {count:,} |")
    lines.append("")
    lines += ["| left in | line | what | events |", "| --- | --- | --- | --- |"]
    for one in told:
        for place, line, way, operation, count in one.left:
            text = line.replace("|", "\\|")
            lines.append(f"| {one.name} | {place} `{text}` | {way} {operation} | {count:,} |")
    return "\n".join(lines) + "\n"


def _text(folder: Path) -> None:
    """nanoGPT's character data from text that lies there: its own README, licence and model."""
    data = folder / "data" / "shakespeare_char"
    text = "".join((folder / name).read_text(encoding="utf-8") for name in ("README.md", "LICENSE", "model.py"))
    (data / "input.txt").write_text(text, encoding="utf-8")
    subprocess.run([sys.executable, str(data / "prepare.py")], check=True, stdout=subprocess.DEVNULL)


def _libraries(folder: Path) -> None:
    """The program and the libraries that it uses, side by side, so that they count as its own code."""
    folder.mkdir(exist_ok=True)
    shutil.copy(Path(__file__).parent / "tiny_transformer.py", folder)
    for name in LIBRARIES:
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.origin and not (folder / name).exists():
            shutil.copytree(Path(spec.origin).parent, folder / name, ignore=shutil.ignore_patterns("__pycache__"))


SMALL = "--n_layer=2 --n_head=2 --n_embd=32 --block_size=32 --batch_size=4 --out_dir=out-small"
GPT = f"train.py config/train_shakespeare_char.py --max_iters=40 --eval_interval=20 --eval_iters=5 {SMALL}"
GP = "test_svgp_gp_regression.TestSVGPRegression.test_regression_error_cuda"
RL = "--total-timesteps"
ENVIRONMENT = ("gymnasium", "tyro", "tensorboard")
PROGRAMS = (
    Program("nanoGPT train", "nanoGPT", GPT, ("requests",), _text),
    Program(
        "nanoGPT sample",
        "nanoGPT",
        "sample.py --out_dir=out-small --num_samples=2 --max_new_tokens=20",
        ("tiktoken",),
    ),
    Program(
        "transformers Trainer and generate",
        "transformers-own",
        "tiny_transformer.py",
        LIBRARIES,
        _libraries,
        ("tiny_transformer.py", "accelerate", *(f"transformers/{name}" for name in OF_LIBRARIES)),
        "tiny_transformer.py",
    ),
    Program("gpytorch SVGP", "gpytorch", f"-m unittest test.examples.{GP}", ("linear_operator",), own="test"),
    Program(
        "pyro CEVAE",
        "pyro",
        "examples/contrib/cevae/synthetic.py --cuda --num-data 200 -n 3 --hidden-dim 20",
        ("pyro",),
        own="examples",
    ),
    Program("pyro HMC", "pyro", "examples/sir_hmc.py --cuda -n 6 -w 3 -t 2 -p 10 -d 8", ("pyro",), own="examples"),
    Program("cleanrl PPO", "cleanrl", f"cleanrl/ppo.py {RL} 1100", ENVIRONMENT),
    Program("cleanrl DQN", "cleanrl", f"cleanrl/dqn.py {RL} 1100 --learning-starts 200 --start-e 0.3", ENVIRONMENT),
    Program(
        "cleanrl SAC",
        "cleanrl",
        f"cleanrl/sac_continuous_action.py {RL} 180 --env-id Pendulum-v1 --learning-starts 60 --batch-size 32",
        ENVIRONMENT,
    ),
    Program(
        "cleanrl TD3",
        "cleanrl",
        f"cleanrl/td3_continuous_action.py {RL} 180 --env-id Pendulum-v1 --learning-starts 60 --batch-size 32",
        ENVIRONMENT,
    ),
    Program(
        "torchdiffeq demo",
        "torchdiffeq",
        "examples/ode_demo.py --niters 6 --test_freq 3 --data_size 100 --adjoint",
        ("scipy",),
        own="examples",
    ),
    Program(
        "torchdiffeq latent",
        "torchdiffeq",
        "examples/latent_ode.py --niters 5",
        ("matplotlib", "scipy"),
        own="examples",
    ),
)

if __name__ == "__main__":
    main()
