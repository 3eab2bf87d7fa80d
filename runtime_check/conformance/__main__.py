"""`python -m runtime_check.conformance [-o DIR] [--match TEXT] [--seconds N]`."""

from __future__ import annotations

import argparse
import datetime
import importlib
import json
import platform
import subprocess
import sys
from pathlib import Path
from typing import Any

from runtime_check.conformance import running, tables


def main() -> int:
    """Call, print what disagrees, write the tables. 1 where something disagrees that is not known to, 2 where there is
    no device, not even a simulated one."""
    parser = argparse.ArgumentParser(prog="python -m runtime_check.conformance", description=__doc__)
    parser.add_argument("-o", "--output", type=Path, help="write conformance.md and conformance.json to this folder")
    parser.add_argument("--match", default="", help="only names that hold this text")
    parser.add_argument("--seconds", type=float, default=600.0, help="stop after so long (default 600)")
    options = parser.parse_args()
    about = device()
    if about is None:
        return 2
    simulated = about["device"].startswith("Simulated")
    outcomes = running.run(running.names(options.match), options.seconds)
    number = tables.counts(outcomes)
    for one in tables.unexpected(outcomes, simulated):
        print(f"{one.call.name}: `{one.call.text}`: {one.why} (the row says {one.call.claim.text})")
    print("; ".join(f"{verdict}: {count}" for verdict, count in number.items()), f"({about['device']})")
    if options.output is not None:
        try:
            options.output.mkdir(parents=True, exist_ok=True)
            text = json.dumps(tables.data(outcomes, about), indent=1) + "\n"
            (options.output / "conformance.json").write_text(text, encoding="utf-8")
            (options.output / "conformance.md").write_text(tables.markdown(outcomes, about), encoding="utf-8")
        except OSError as error:
            print(f"{options.output}: cannot be written: {error.strerror}", file=sys.stderr)
            return 2
    return 1 if tables.unexpected(outcomes, simulated) else 0


def device() -> dict[str, str] | None:
    """What is measured on; None, and a line said, where there is nothing."""
    try:
        torch: Any = importlib.import_module("torch")
    except ImportError:
        print("conformance: torch is not installed; install it: pip install torch", file=sys.stderr)
        return None
    about = {"torch": str(torch.__version__), "python": platform.python_version(), "date": str(datetime.date.today())}
    if torch.cuda.is_available():
        return {"device": torch.cuda.get_device_name(), "driver": driver(), **about}
    from runtime_check import simulate

    refusal = simulate.refusal()
    if refusal:
        print(f"conformance: {refusal}", file=sys.stderr)
        return None
    return {"device": "Simulated CUDA device", **about}


def driver() -> str:
    """The version of NVIDIA's driver, "" where it does not tell."""
    command = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip().splitlines()[0]
    except (OSError, subprocess.CalledProcessError, IndexError):
        return ""


if __name__ == "__main__":
    sys.exit(main())
