"""`python -m fuzz [--seconds N | --rounds N] [--seed S] [--only FAMILY ...] [--keep FOLDER]`: rounds of every family.

A round is `FAMILY:SEED:NUMBER`; `--round` makes one again. Exit code 1 where something failed: the smallest case is
written to a folder, which is named, with what to type to see it again.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import sys
import threading
import time
import traceback
from collections.abc import Mapping
from pathlib import Path

from fuzz import reducing
from fuzz.families import FAMILIES, Family, Unavailable
from fuzz.judging import Case, Fault

_UNAVAILABLE = 3
_HANGS = 240.0  # seconds of the processor in one round, beyond which it does not end


class Fuzzing:
    """A run: which families, from which seed, and what failed so far."""

    def __init__(self, families: Mapping[str, Family], seed: int, keep: Path) -> None:
        self._families = families
        self._seed = seed
        self.keep = keep
        self.rounds = dict.fromkeys(families, 0)
        self.failed: dict[str, str] = {}  # by kind: how to see it again
        self.current: tuple[str, Case, float] | None = None

    def repeat(self, count: int) -> None:
        """So many rounds of each family."""
        for name in self._families:
            for number in range(count):
                self.round(name, self._seed, number)
                self.rounds[name] += 1

    def again(self, folder: Path) -> None:
        """What failed once: a file each, named after its family, with its options in a comment on the first line."""
        for path in sorted(folder.glob("*.py")):
            text = path.read_text(encoding="utf-8")
            name = path.name.partition("-")[0]
            if name in self._families:
                first = text.partition("\n")[0]
                told = first.removeprefix("# options: ") if first.startswith("# options: ") else ""
                self._one(
                    f"{name}:{path.name}", self._families[name], Case({"program.py": text}, (told,) if told else ())
                )
                self.rounds[name] += 1

    def run(self, seconds: float) -> None:
        """Rounds of each family in turn, each family with its share of the processor's time."""
        start = time.process_time()
        spent = dict.fromkeys(self._families, 0.0)
        while time.process_time() - start < seconds:
            name = min(spent, key=lambda one: spent[one])
            began = time.process_time()
            self.round(name, self._seed, self.rounds[name])
            self.rounds[name] += 1
            spent[name] += time.process_time() - began

    def round(self, name: str, seed: int, number: int) -> None:
        family = self._families[name]
        label = f"{name}:{seed}:{number}"
        self._one(label, family, family.make(random.Random(label)))

    def _one(self, label: str, family: Family, case: Case) -> None:
        self.current = label, case, time.process_time()
        for fault in self._faults(family, case, told=True):
            if fault.kind not in self.failed:
                self.failed[fault.kind] = label
                self._write(label, family, case, fault)
        self.current = None

    def _faults(self, family: Family, case: Case, told: bool = False) -> list[Fault]:
        try:
            return family.judge(case, told)
        except Exception as error:
            last = traceback.extract_tb(error.__traceback__)[-1]
            where = f"{type(error).__name__} in {Path(last.filename).name}, {last.name}"
            return [Fault(where, traceback.format_exc())]

    def _write(self, label: str, family: Family, case: Case, fault: Fault) -> None:
        """Make the case as small as can be, keep it, and say so."""
        print(f"\n{label}: {fault.kind}\n{fault.seen}", flush=True)

        def fails(tried: Case) -> bool:
            self.current = label, tried, time.process_time()
            return any(one.kind == fault.kind for one in self._faults(family, tried))

        small = reducing.reduced(case, fails)
        seen = next((one.seen for one in self._faults(family, small) if one.kind == fault.kind), fault.seen)
        folder = kept(self.keep, label, small, f"{label}: {fault.kind}\n{seen}\n")
        print(f"smallest case in {folder}; again: make fuzz ROUND={label}\n{seen}", flush=True)
        for name, text in small.files.items():
            print(f"--- {name} {' '.join(small.options)}\n{text}", flush=True)


def kept(keep: Path, label: str, case: Case, about: str) -> Path:
    """Write a case to a folder of its own."""
    folder = keep / label.replace(":", "-")
    for name, text in case.files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode(errors="surrogateescape"))
    (folder / "about.txt").write_text(f"{about}options: {' '.join(case.options)}\n", encoding="utf-8")
    return folder


def watch(fuzzing: Fuzzing) -> None:
    """Where a round does not end, keep its case and leave; for a thread of its own."""
    while True:
        time.sleep(1.0)
        current = fuzzing.current
        if current is not None and time.process_time() - current[2] > _HANGS:
            label, case, _ = current
            folder = kept(fuzzing.keep, label, case, f"{label}: does not end\n")
            print(f"\n{label}: does not end; the case is in {folder}", flush=True)
            os._exit(1)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60.0, help="of the processor")
    parser.add_argument("--rounds", type=int, help="so many of each family, however long they take")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    parser.add_argument("--only", nargs="+", choices=tuple(FAMILIES), default=list(FAMILIES))
    parser.add_argument("--round", help="this one alone")
    parser.add_argument("--met", action="store_true", help="what failed once, and nothing else")
    parser.add_argument("--keep", type=Path, default=Path("fuzz-failures"), help="where failures are written")
    given = parser.parse_args()
    keep = given.keep.resolve()
    names = [given.round.partition(":")[0]] if given.round else given.only
    try:
        families = {name: FAMILIES[name]() for name in names}
    except Unavailable as error:
        print(f"cannot be run here: {error}")
        return _UNAVAILABLE
    fuzzing = Fuzzing(families, given.seed, keep)
    print(f"SEED={given.round or given.seed}", flush=True)

    threading.Thread(target=watch, args=(fuzzing,), daemon=True).start()
    with contextlib.suppress(KeyboardInterrupt):  # what was seen so far is told
        if given.round:
            name, seed, number = given.round.split(":")
            fuzzing.round(name, int(seed), int(number))
        elif given.met:
            fuzzing.again(Path(__file__).with_name("met"))
        elif given.rounds:
            fuzzing.repeat(given.rounds)
        else:
            fuzzing.run(given.seconds)
    for family in families.values():
        print("\n".join(family.told()))
        family.close()
    print(", ".join(f"{count} {name}" for name, count in fuzzing.rounds.items()) + ": ", end="")
    print(f"{len(fuzzing.failed)} kinds of failure" if fuzzing.failed else "nothing failed", flush=True)
    for kind, label in fuzzing.failed.items():
        print(f"  {kind}: make fuzz ROUND={label}")
    return 1 if fuzzing.failed else 0


if __name__ == "__main__":
    status = main()
    sys.stdout.flush()
    os._exit(status)  # the simulated device has threads that outlive the interpreter
