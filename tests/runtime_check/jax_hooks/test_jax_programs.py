"""`transferlint verify` of JAX programs: with JAX itself where it is installed, else with a stand-in for it."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
STAND_IN = HERE / "site-packages"
with_jax = pytest.mark.skipif(importlib.util.find_spec("jax") is None, reason="JAX is not installed")
SHARED = (
    "JAX's CPU device shares the host's memory: transfers are counted as on an accelerator, but not timed"
)


class Verified:
    """What `verify` of a program left."""

    def __init__(self, folder: Path, text: str, *options: str, stand_in: bool = False) -> None:
        (folder / "program.py").write_text(text)
        # What the rules are less sure of beside torch is what a run is asked about.
        (folder / "transferlint.toml").write_text('min-confidence = "possible"\n')
        names = {"TRANSFERLINT_CACHE_DIR": str(folder), "OMP_NUM_THREADS": "1", "JAX_PLATFORMS": "cpu"}
        if stand_in:
            names["PYTHONPATH"] = os.pathsep.join((str(STAND_IN), os.environ.get("PYTHONPATH", "")))
        command = [sys.executable, "-m", "transferlint", "verify", *options, "program.py"]
        environment = {**os.environ, **names}
        made = subprocess.run(command, cwd=folder, capture_output=True, text=True, env=environment, check=False)
        self.code, self.out, self.err = made.returncode, made.stdout, made.stderr
        report = folder / "transferlint-run" / "report.json"
        self.report: dict[str, Any] = json.loads(report.read_text()) if report.exists() else {}

    def verdicts(self) -> dict[tuple[int, str], str]:
        """By line and code."""
        return {(one["line"], one["code"]): one["verdict"] for one in self.report["verdicts"]}

    def missed(self) -> list[tuple[int, str]]:
        """Lines and directions of what should have been found."""
        return [(one["line"], one["direction"]) for one in self.report["missed"] if not one["explained"] and one["own"]]


def marks(text: str) -> set[tuple[int, str]]:
    """The lines that are marked, with their codes."""
    rows = enumerate(text.splitlines(), start=1)
    return {(number, found[1]) for number, row in rows if (found := re.search(r"# expect: (TL\d+)$", row))}


@with_jax
def test_ten_planted_mistakes_are_confirmed(tmp_path: Path) -> None:
    text = (HERE / "programs" / "planted.py").read_text()
    made = Verified(tmp_path, text)
    wanted = marks(text)
    assert len(wanted) == 10
    assert made.verdicts() == dict.fromkeys(wanted, "confirmed"), made.err
    assert {way for _, way in made.missed()} == {"h2d"}  # the same batches went up in every pass
    once = next(one for one in made.report["verdicts"] if one["code"] == "TL101")
    assert (once["count"], once["bytes"], once["blocked_ns"]) == (12, 48, 0)
    again = next(one for one in made.report["verdicts"] if one["code"] == "TL103")
    assert "the same data was transferred again 11 times" in again["text"]
    assert SHARED in made.report["notes"]
    assert any(note.startswith("JAX compiled ") for note in made.report["notes"])
    assert made.report["header"]["device"] == "JAX's CPU device"
    assert "time not measured" in made.err.splitlines()[1]


@with_jax
def test_a_clean_program_is_silent(tmp_path: Path) -> None:
    made = Verified(tmp_path, (HERE / "programs" / "clean.py").read_text())
    assert (made.code, made.verdicts(), made.missed()) == (0, {}, []), made.err
    assert made.out.startswith("loss True")


@with_jax
def test_what_did_not_cross_is_refuted_and_what_did_not_run_is_not_reached(tmp_path: Path) -> None:
    text = (HERE / "programs" / "refuted.py").read_text()
    made = Verified(tmp_path, text)
    verdicts = {text.splitlines()[line - 1].strip(): kind for (line, _), kind in made.verdicts().items()}
    assert verdicts["total += float(loss + 0)"] == "confirmed", made.err
    assert verdicts["print(jnp.asarray(batch).sum().item())"] == "not reached"
    assert verdicts["total += kept.tolist()[0]"] == "refuted"


@with_jax
@pytest.mark.parametrize("first", ["jax", "torch"])
def test_a_program_with_both_gets_both(tmp_path: Path, first: str) -> None:
    text = (HERE / "programs" / "both.py").read_text()
    if first == "torch":
        text = text.replace("import jax\n", "import torch\nimport jax\n", 1)
    made = Verified(tmp_path, text)
    if "simulated accelerator cannot" in made.err or "on torch" in made.err:
        pytest.skip(made.err.splitlines()[-1])
    assert set(made.verdicts().values()) == {"confirmed"}, made.err
    ways = {(site["framework"], site["operation"], site["count"]) for site in made.report["sites"] if site["sync"]}
    assert {("jax", "jax.Array.__float__", 12), ("", "aten::_local_scalar_dense", 12)} <= ways
    of_torch = next(site for site in made.report["sites"] if site["operation"] == "aten::_local_scalar_dense")
    assert of_torch["blocked"]["total"] > 0
    assert made.report["header"]["jax"]
    assert made.report["header"]["torch"]


@with_jax
def test_a_policy_refuses_at_the_line(tmp_path: Path) -> None:
    made = Verified(tmp_path, (HERE / "programs" / "guarded.py").read_text(), "--level", "guard", "--guard", "disallow")
    assert made.out == "explicit 1.0\nallowed [1.0, 1.0]\n", made.err
    assert made.code == 1
    assert "program.py:12: device-to-host transfer of 12 bytes: z.tolist(), refused by --guard disallow" in made.err
    assert "runtime_check/jax_hooks" not in made.err  # no frame of ours


@with_jax
def test_jaxs_own_guard_refuses_uploads_on_the_cpu_too(tmp_path: Path) -> None:
    text = "import jax\nimport numpy as np\nf = jax.jit(lambda x: x)\nf(np.ones(3, np.float32))\n"
    made = Verified(tmp_path, text, "--guard", "disallow")
    assert made.code == 1
    assert re.search(r'program\.py", line 4', made.err)
    assert "Disallowed host-to-device transfer" in made.err


PROGRAM = """\
import jax
import numpy as np
{more}
score = jax.jit(lambda x: x * 2)
def run(rounds):
    total = 0.0
    for number in range(rounds):
        array = jax.numpy.asarray(np.ones(3) * number)
        total += float(score(array)._kept[0])
        total += sum(np.asarray(score(array)))
        {step}
    return total
print(run(12))
"""


def test_the_stand_in_is_recorded_without_torch_being_imported(tmp_path: Path) -> None:
    text = PROGRAM.format(more="from transferlint.runtime import step", step="step()")
    made = Verified(tmp_path, text, "--max-per-step", "d2h=0", stand_in=True)
    assert made.out == "528.0\n", made.err
    assert (made.code, made.report["failures"]) == (1, ["1 d2h a step, allowed are 0"])
    header = made.report["header"]
    assert (header["torch"], header["jax"], header["level"]) == ("", "0.10.0", "trace")
    assert header["watched"] == ["torch", "jax"]
    (read,) = [site for site in made.report["sites"] if site["direction"] == "d2h"]
    assert (read["site"]["line"], read["count"], read["untimed"], read["framework"]) == (10, 12, 12, "jax")
    assert made.report["outcome"]["steps"] == 12
    assert SHARED in made.report["notes"]


def test_a_time_budget_needs_times(tmp_path: Path) -> None:
    made = Verified(tmp_path, PROGRAM.format(more="", step="pass"), "--max-blocked", "1s", stand_in=True)
    assert made.code == 2
    assert "--max-blocked: nothing tells how long the host was blocked; count with --max-per-step" in made.err


@pytest.mark.parametrize("also", ["", "import torch"])
def test_a_version_that_lacks_a_place_is_said_in_one_line(tmp_path: Path, also: str) -> None:
    if also:
        pytest.importorskip("torch")
    (tmp_path / "jax").mkdir()
    (tmp_path / "jax" / "__init__.py").write_text('__version__ = "0.3"\n')
    made = Verified(tmp_path, f"import jax\n{also}\nprint('ran')\n")
    if "simulated accelerator cannot" in made.err:
        pytest.skip(made.err.splitlines()[-1])
    assert made.out == "ran\n", made.err
    why = "jax 0.3 lacks jax._src.array.ArrayImpl, by which its transfers are seen; it works with jax 0.10"
    if also:
        assert made.code == 0
        assert f"what JAX moves was not recorded: {why}" in made.report["notes"]
        assert made.report["header"]["watched"] == ["torch"]
    else:
        assert made.code == 2
        assert made.err.splitlines()[-1] == f"transferlint: {why}"
