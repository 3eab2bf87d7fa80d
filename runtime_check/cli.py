"""The commands `transferlint verify` and `transferlint report`, which the linter finds by their entry points. What they
do stands in `runtime_check.verify`, imported when one of them runs."""

from __future__ import annotations

import os
import re
from typing import Any

import click

from runtime_check.plan import LEVELS, POLICIES

FOLDER = "transferlint-run"
_FORMATS = ("text", "json", "html", "perfetto")


class _ProgramCommand(click.Command):
    """A command whose arguments end with a program and its own: whatever follows SCRIPT or `-m MODULE` is the
    program's."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        valued = {name for one in self.params if isinstance(one, click.Option) and not one.is_flag for name in one.opts}
        at = 0
        while at < len(args) and args[at].startswith("-") and args[at] != "--":
            if args[at] == "--trace":  # files follow, and no program whose options they would be
                ctx.allow_interspersed_args = True
                return super().parse_args(ctx, args)
            if args[at] == "-m":
                args = [*args[: at + 1], "--", *args[at + 1 :]]
                break
            at += 2 if args[at] in valued else 1
        return super().parse_args(ctx, args)


class _Refused(click.ClickException):
    """What can not be done, in one line."""

    exit_code = 2


def _window(_: click.Context, __: click.Parameter, text: str | None) -> tuple[int, int]:
    """`10:20` is (10, 20); an end that is left out is -1."""
    found = re.fullmatch(r"(\d*):(\d*)", text or ":")
    first, end = (int(found[1] or 0), int(found[2] or -1)) if found else (0, 0)
    if 0 <= end <= first:
        raise click.BadParameter(f"{text!r} is no window of steps; write for example 10:20")
    return first, end


@click.command(
    "verify",
    cls=_ProgramCommand,
    short_help="Run a program, record its transfers, and verify the findings.",
    context_settings={"allow_interspersed_args": False, "help_option_names": ["-h", "--help"]},
    options_metavar="[OPTIONS]",
)
@click.argument("program", nargs=-1, metavar="SCRIPT|-m MODULE [ARGS...]", type=click.UNPROCESSED)
@click.option("-m", "module", is_flag=True, help="Run a module as a script, as `python -m` does.")
@click.option(
    "--level",
    type=click.Choice(LEVELS),
    default="auto",
    help="How much to record: guard (transfers and syncs), trace (and where data came from), profile (trace, and a few "
    "steps under torch.profiler), or simulate (trace on a simulated accelerator). auto is trace if there is an "
    "accelerator, else simulate.  [default: auto]",
)
@click.option("--device-model", default="", metavar="NAME", help="On the simulated accelerator: the device "
              "whose measured times are used, a100 or v100.  [default: a100]")  # fmt: skip
@click.option(
    "--findings",
    type=click.Path(exists=True, dir_okay=False),
    help="Findings to verify, written by `check -f json -o FILE` in the folder of --root; check is not run then.",
)
@click.option(
    "--root",
    type=click.Path(exists=True, file_okay=False),
    help="Folder of the program's own code, which is checked.  [default: the script's project, or its folder]",
)
@click.option("--steps", metavar="A:B", callback=_window, help="Record only steps A to B - 1.")
@click.option("--warmup", type=click.IntRange(min=0), default=0, metavar="N", help="Do not record the first N steps.")
@click.option("--guard", type=click.Choice(POLICIES), metavar="POLICY", help="Refuse or log transfers "
              "while the program runs: allow, log, disallow, log_explicit, disallow_explicit, as `jax.transfer_guard` "
              "and `transferlint.runtime.guard` know them.")  # fmt: skip
@click.option(
    "--fail-on",
    multiple=True,
    metavar="KINDS",
    help="Exit 1 if there is any: confirmed, partly, refuted, not-reached, missed (comma-separated).",
)
@click.option(
    "--max-blocked", metavar="5%|200ms", help="Exit 1 if the host is blocked for more: a share of the run or a time."
)
@click.option(
    "--max-per-step",
    multiple=True,
    metavar="KIND=N",
    help="Exit 1 if a step has more on average: h2d, d2h or sync.",
)
@click.option(
    "--baseline",
    type=click.Path(dir_okay=False),
    help="Known results; only new or worse ones fail. Created if it does not exist.",
)
@click.option("--output", "-o", "folder", type=click.Path(file_okay=False), default=FOLDER, help="Folder of the run.",
              show_default=True)  # fmt: skip
@click.option("--html", is_flag=True, help="Write report.html to it as well.")
@click.option("--lines", is_flag=True, help="Count how often each line of the program's own files runs, and print it "
              "next to the transfers of the line.")  # fmt: skip
@click.option("--color/--no-color", default=None, help="Force colours on or off.")
@click.option("--quiet", "-q", is_flag=True, help="Print only failures.")
@click.option("--trace", is_flag=True, help="Run nothing: take the times from FILE..., traces of torch.profiler (JSON, "
              "optionally gzipped, one per rank) or SQLite exports of nsys; folders and .py files among them are "
              "checked.  [default: the project around the current folder]")  # fmt: skip
@click.option("--devices", type=click.IntRange(1, 16), metavar="N", help="Simulate this many CUDA devices; implies "
              "--level simulate.  [default: 1]")  # fmt: skip
@click.option("--device-type", type=click.Choice(("cuda", "mps", "xpu")), default="cuda", show_default=True,
              help="Kind of the simulated device: only cuda is supported.")  # fmt: skip
@click.option("--fixed", is_flag=True, help="Run copies with and without the fixes, alternately, and compare them.")
@click.option("--rounds", type=click.IntRange(min=1), default=5, metavar="N", show_default=True,
              help="With --fixed: number of runs of each.")  # fmt: skip
@click.option("--unsafe-fixes", is_flag=True, help="With --fixed: also fixes that may change what the program does.")
@click.option("--compare-files", is_flag=True, help="With --fixed: also compare the files that the programs write.")
@click.option("--link", multiple=True, metavar="PATTERN", help="With --fixed: files and folders of the project that "
              "the program only reads, to link instead of copy.")  # fmt: skip
def VERIFY(**given: Any) -> int:
    """Run SCRIPT (or -m MODULE) with its arguments, as Python would, and record every transfer and sync between host
    and device with its line, its bytes and how long it kept the host.

    This executes the program, with everything that it does and with your rights, on a simulated accelerator too;
    `check` only reads. Do not verify what you would not run.

    The program's own code is checked first. Then each finding gets a verdict: confirmed, partly, refuted or not
    reached; what crossed without a finding is missed. Without an accelerator the program runs on a simulated one, with
    exact counts and bytes, and with times from a model. The report goes to standard error, the program's output is
    its own.

    Exit code: the program's where it is not 0; else 1 for a failed --fail-on or budget, 2 where something could not be
    done.
    """
    from runtime_check.verify import Options, verify

    if not given["program"]:
        raise click.UsageError("name the program to run: transferlint verify [OPTIONS] SCRIPT [ARGS...]")
    _ask_for_devices(given)
    if given.pop("trace"):
        return _verify_trace(given)
    of_fixed = {name: given.pop(name) for name in ("rounds", "unsafe_fixes", "compare_files", "link")}
    if given.pop("fixed"):
        return _verify_fixed(given, of_fixed)
    misplaced = [name for name in ("unsafe_fixes", "compare_files", "link") if of_fixed[name]]
    if misplaced:
        raise click.UsageError(f"--{misplaced[0].replace('_', '-')} goes with --fixed")
    return verify(Options(**given))


def _verify_trace(given: dict[str, Any]) -> int:
    """`verify --trace`, which runs nothing and so takes nothing that says how."""
    from runtime_check.verify import Options, verify_trace

    of_fixed = ("fixed", "unsafe_fixes", "compare_files", "link")
    misplaced = [name for name in (*of_fixed, "module", "lines", "warmup", "guard") if given[name]]
    misplaced += ["level"] * (given["level"] != "auto") + ["device_model"] * bool(given["device_model"])
    misplaced += ["steps"] * (given["steps"] != (0, -1))
    if misplaced:
        name = "-m" if misplaced[0] == "module" else f"--{misplaced[0].replace('_', '-')}"
        raise click.UsageError(f"--trace runs nothing and takes no {name}")
    for name in (*of_fixed, "rounds"):
        del given[name]
    return verify_trace(Options(**given))


def _ask_for_devices(given: dict[str, Any]) -> None:
    """`--device-type` and `--devices`: every process of the program's is told by its environment."""
    from runtime_check.simulate.conditions import DEVICES

    kind, number = given.pop("device_type"), given.pop("devices")
    if kind != "cuda":
        raise _Refused(
            f"the simulated device is CUDA's and --device-type {kind} can not be had (docs/simulator.md, Limits): a "
            "program that takes cuda where it is available runs as it is, another on a real device"
        )
    if number is None:
        return
    if given["trace"]:
        raise click.UsageError("--trace runs nothing and takes no --devices")
    if given["level"] not in ("auto", "simulate"):
        raise click.UsageError(f"--devices simulates devices, and --level {given['level']} takes those that are there")
    given["level"] = "simulate"
    os.environ[DEVICES] = str(number)


def _verify_fixed(given: dict[str, Any], of_fixed: dict[str, Any]) -> int:
    """`verify --fixed`, which judges no findings and so takes nothing that rests on them."""
    from runtime_check import fixed

    judging = ("findings", "fail_on", "max_blocked", "max_per_step", "baseline", "html", "lines", "guard")
    misplaced = [name for name in judging if given.pop(name)]
    if misplaced:
        raise click.UsageError(f"--fixed compares two programs and takes no --{misplaced[0].replace('_', '-')}")
    del given["color"]
    return fixed.verify_fixed(fixed.Options(**given, **of_fixed))


@click.command("report", short_help="Show what a run left, once more or in another form.")
@click.argument("run", type=click.Path(exists=True), default=FOLDER, metavar="[RUN]")
@click.option("--output-format", "--format", "-f", type=click.Choice(_FORMATS), default="text",
              help="Form of the report.", show_default=True)  # fmt: skip
@click.option("--output-file", "-o", type=click.Path(dir_okay=False), help="Write it there, not to stdout.")
@click.option("--color/--no-color", default=None, help="Force colours on or off.")
def REPORT(run: str, output_format: str, output_file: str | None, color: bool | None) -> int:
    """Show the run whose records are in RUN, a folder that `verify` wrote or one file of it. A program that was killed
    has left what was recorded until then.

    perfetto is a trace for ui.perfetto.dev or chrome://tracing; html is one file that needs nothing else.
    """
    from runtime_check.verify import report

    return report(run, output_format, output_file, color)


def main() -> None:
    """`python -m runtime_check`: the command `verify`, also for a launcher that starts one process a rank."""
    import sys

    try:
        code = VERIFY.main(prog_name="python -m runtime_check", standalone_mode=False)
    except click.ClickException as error:
        error.show()
        code = error.exit_code
    except click.exceptions.Exit as stop:
        code = stop.exit_code
    except (KeyboardInterrupt, click.Abort):
        code = 130
    sys.exit(code if isinstance(code, int) else 0)
