"""The benchmarks of a device: what they make of what they see, and that a dry run leaves no results."""

from __future__ import annotations

import collections
import dataclasses
import importlib
import json
import os
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def importable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT))


def module(name: str) -> Any:
    return importlib.import_module(f"benchmarks.{name}")


def checked(folder: Path, *options: str) -> list[dict[str, Any]]:
    command = [sys.executable, "-m", "transferlint", "check", "--isolated", "--no-cache", "--exit-zero", "-f", "json"]
    made = subprocess.run([*command, *options, "."], cwd=folder, capture_output=True, text=True, check=True)
    found: list[dict[str, Any]] = json.loads(made.stdout)["findings"]
    return found


def test_every_rule_about_transfers_that_is_on_by_default_has_a_pair(tmp_path: Path) -> None:
    fixes = module("fixes")
    for path in fixes.PAIRS.glob("*.py"):
        (tmp_path / path.name).write_bytes(path.read_bytes())
    found = checked(tmp_path, "--extend-select", "TL4")
    own = collections.defaultdict(list)
    for one in found:
        if one["path"] == f"{one['code']}.py":
            own[one["code"]].append((one["fix"] or {}).get("safety", ""))
    codes = fixes.codes()
    assert sorted(own) == codes  # each program has the mistake that its name says
    pages = (ROOT / "docs" / "rules").glob("TL[1-4]*.md")
    on = [path.stem for path in pages if "· on by default ·" in path.read_text(encoding="utf-8")]
    assert set(on) - set(codes) == {"TL307"}  # which is JAX's, where the programs are torch's
    by_hand = {path.stem.partition("_")[0] for path in fixes.PAIRS.glob("*_after.py")}
    assert [code for code in codes if code not in by_hand and not {"safe", "unsafe"} & set(own[code])] == []
    assert [one for one in found if one["path"] == f"{one['code']}_after.py"] == []  # a fix by hand fixes


def test_a_dry_run_of_the_pairs_measures_by_the_model(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    command = [sys.executable, "-m", "benchmarks.fixes", "--only", "TL401", "TL303", "-o", str(tmp_path)]
    made = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=600)
    if "can be simulated" in made.stderr:
        pytest.skip(made.stderr.strip())
    found = json.loads((tmp_path / "fixes.json").read_text())
    assert found["dry"] is True
    assert found["failed"] == {}
    rows = {row["code"]: row for row in found["rules"]}
    assert rows["TL401"]["crossing"] == ["1 / 0 / 1", "0 / 0 / 0"]
    assert rows["TL303"]["crossing"][0] == "0 / 1 / 1"
    assert [row["fix"] for row in rows.values()] == ["transferlint", "by hand"]
    assert all(row["same"] and row["default"] and row["found"] == 1 for row in rows.values())
    assert "DRY RUN, no measurement" in (tmp_path / "fixes.md").read_text()


def test_a_dry_run_never_writes_results(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    device = module("device")
    simulated = device.Device({"device": "Simulated CUDA device"}, object())
    for output in (None, device.RESULTS):
        device.write(simulated, "nothing", {}, "a table", output)
    assert not (device.RESULTS / "nothing.json").exists()
    assert "nothing was written" in capsys.readouterr().out
    real = device.Device({"device": "GPU"})
    device.write(real, "x", {"number": 1}, "a table", tmp_path)
    assert json.loads((tmp_path / "x.json").read_text()) == {"about": {"device": "GPU"}, "dry": False, "number": 1}


def test_ratios_are_of_medians_with_the_quartiles_of_neighbours() -> None:
    found = module("device").ratios([10.0, 30.0, 20.0], [5.0, 10.0, 20.0])
    assert (found["before"], found["after"], found["ratio"]) == (20.0, 10.0, 2.0)
    assert (found["low"], found["high"]) == (1.0, 3.0)
    assert module("device").ratios([1.0], [0.0])["ratio"] == 0.0


def test_costs_become_a_model_that_the_simulator_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from runtime_check import cost

    costs, device = module("costs"), module("device")
    sizes = [4, 1 << 12, 1 << 20, 1 << 26]
    kinds = "h2d pinned,h2d pageable,d2h pinned,d2h pageable,h2d pageable non_blocking,h2d pinned non_blocking"
    rates = dict(zip(kinds.split(","), (20, 10, 25, 5, 11, 1e9), strict=True))
    copies = {kind: [[size, round(7000 + size / rate), 0] for size in sizes] for kind, rate in rates.items()}
    about = device.Device({"device": "NVIDIA X123", "torch": "2", "date": "today"})
    model, problem = costs.fitted(copies, {"torch.cuda.synchronize": 4000}, about)
    assert problem == ""
    assert model["h2d_pageable"]["bandwidth"] == pytest.approx(10, rel=0.01)
    assert (model["launch"]["latency"], model["sync"]["latency"], model["name"]) == (7000, 4000, "x123")
    monkeypatch.setattr(cost, "MODELS", tmp_path / "measured.json")
    cost.write(tmp_path / "measured.json", cost.from_data(model))
    assert cost.named("x123").source == "NVIDIA X123, torch 2, today"
    flat = {kind: [[size, 7000, 0] for size in sizes] for kind in kinds.split(",")}
    assert costs.fitted(flat, {"torch.cuda.synchronize": 1}, about) == (
        None, "the larger copies took no longer than the smaller: there is no bandwidth to fit"
    )  # fmt: skip


def memcpy(way: str, at: float, size: int, correlation: int) -> dict[str, Any]:
    arguments = {"bytes": size, "correlation": correlation}
    return {"cat": "gpu_memcpy", "name": f"Memcpy {way} (...)", "ts": at, "args": arguments}


def asking(at: float, correlation: int, thread: int = 1) -> dict[str, Any]:
    return {"cat": "cuda_runtime", "name": "cudaMemcpyAsync", "ts": at, "tid": thread,
            "args": {"correlation": correlation}}  # fmt: skip


def test_a_drivers_copy_belongs_to_the_line_that_asked_for_it() -> None:
    kineto = module("kineto")
    clock = {"cat": "user_annotation", "name": kineto._CLOCK, "ts": 100.0, "dur": 2.0}
    events = [clock, asking(110, 1), memcpy("HtoD", 150, 16, 1), asking(120, 2, 5), memcpy("DtoH", 121, 4, 2),
              memcpy("DtoD", 122, 4, 3)]  # fmt: skip
    asked: list[tuple[float, int]] = []

    def line_at(at: float, thread: int) -> int:
        asked.append((at, thread))
        return 7 if thread == 1 else 9

    found = kineto.parse(events, [1_000_000.0], line_at)  # 101 µs there is 1,000,000 ns here
    assert found == {("h2d", 7, 16): 1, ("d2h", 9, 4): 1}
    assert asked == [(1_009_000.0, 1), (1_019_000.0, 5)]


def test_agreement_counts_lines_bytes_and_waits_inside_kernels() -> None:
    kineto = module("kineto")
    driver = collections.Counter({("d2h", 1, 4): 3, ("h2d", 2, 8): 1, ("d2h", 5, 8): 1})
    told = collections.Counter({("d2h", 1, 4): 3, ("h2d", 3, 8): 1})
    found = kineto.agreement(told, {5: 1}, driver)
    assert (found["same"], found["inside kernels"], found["share"]) == (3, 1, 0.8)
    assert found["share without lines"] == 1.0
    assert found["not told"] == ["line 2: h2d 8 B x 1"]
    assert found["not made"] == ["line 3: h2d 8 B x 1"]
    assert kineto.agreement(driver, {}, driver)["share"] == 1.0


def test_lines_are_known_by_time_thread_and_return(tmp_path: Path) -> None:
    import runpy
    import threading
    import time

    kineto = module("kineto")
    path = tmp_path / "program.py"
    path.write_text("def f():\n    at(1)\n\nf(), at(2)\nimport threading\nt = threading.Thread(target=f)\n"
                    "t.start(); t.join()\n")  # fmt: skip
    seen: list[tuple[int, int, int]] = []

    def at(mark: int) -> None:
        seen.append((mark, time.time_ns(), threading.get_native_id()))

    lines = kineto.Lines(str(path))
    with lines:
        runpy.run_path(str(path), {"at": at})
    assert [(mark, lines.at(when, thread)) for mark, when, thread in seen] == [(1, 2), (2, 4), (1, 2)]
    first, *_, (_, last, thread) = seen
    assert lines.at(last, -1) == 2  # of a thread that nothing is known of: what ran last
    assert lines.at(first[1], thread) == 2  # before the thread began: the main one's
    assert lines.at(0, -1) == 0


def test_modelled_times_count_as_near_within_a_factor_of_two() -> None:
    modelled = module("modelled")
    assert modelled.within([{"factor": factor} for factor in (0.49, 0.5, 1.0, 2.0, 2.1)]) == 0.6
    assert modelled.within([]) == 1.0


@pytest.fixture
def gpu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    found = module("gpu")
    monkeypatch.setattr(found, "_LEAST", 0.1)
    monkeypatch.setattr(found, "about", lambda environment: "device: GPU")
    return found


def parts(gpu: Any) -> tuple[Any, ...]:
    write = "import sys; open(sys.argv[1] + '/good.json', 'w').write('{\"number\": 5}')"
    return (
        gpu.Part("bad", ("-c", "print('no such thing'); raise SystemExit(3)"), 600, 600, None, ()),
        gpu.Part("slow", ("-c", "import time; time.sleep(60)"), 1, 1, None, ()),
        gpu.Part("good", ("-c", write, "{out}"), 600, 600, lambda found: f"number {found['number']}", ()),
    )


def test_a_part_that_fails_or_hangs_costs_the_others_nothing(
    gpu: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(gpu, "PARTS", parts(gpu))
    monkeypatch.setattr(sys, "argv", ["gpu", "-o", str(tmp_path / "out")])
    monkeypatch.delenv("OUT", raising=False)
    assert gpu.main() == 1
    rows = [line for line in capsys.readouterr().out.splitlines() if line.startswith("|")]
    assert [row.split(" | ")[1] for row in rows] == ["exit code 3", "stopped after 1 s", "exit code 0"]
    assert "no such thing" in rows[0]
    assert "number 5" in rows[2]
    assert (tmp_path / "out" / "gpu.md").read_text().count("\n| ") == 5
    with tarfile.open(tmp_path / "out" / "gpu.tar.gz") as archive:
        assert {"results/gpu.md", "results/good/good.json", "results/bad/log.txt"} <= set(archive.getnames())


def test_parts_for_which_no_time_is_left_are_named(gpu: Any, tmp_path: Path) -> None:
    row, good = gpu.run(parts(gpu)[2], tmp_path, dict(os.environ), True, 0.0)
    assert (row, good) == ("| good | not begun | | no time was left |", False)


def test_results_of_a_gpu_are_published_and_those_of_a_dry_run_are_not(
    gpu: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from runtime_check import cost

    monkeypatch.setattr(gpu, "RESULTS", tmp_path / "benchmarks" / "results")
    monkeypatch.setattr(gpu, "ROOT", tmp_path)
    (tmp_path / "benchmarks").mkdir()
    (tmp_path / "runtime_check").mkdir()
    for name, first in (("real", "device: GPU"), ("dry", "DRY RUN, no measurement")):
        work = tmp_path / name
        (work / "verify").mkdir(parents=True)
        (work / "gpu.md").write_text(first)
        (work / "verify" / "fixed.json").write_text("{}")
        (work / "verify" / "log.txt").write_text("words")
        (work / gpu.MODEL).write_text(cost.text_of({"x123": dataclasses.replace(cost.default(), name="x123")}))
        with tarfile.open(tmp_path / f"{name}.tar.gz", "w:gz") as archive:
            archive.add(work, arcname="results")
    assert gpu.publish(tmp_path / "dry.tar.gz") == 1
    assert not gpu.RESULTS.exists()
    assert gpu.publish(tmp_path / "real.tar.gz") == 0
    assert sorted(path.name for path in gpu.RESULTS.iterdir()) == ["gpu.md", "verify_fixed.json"]
    assert list(cost.read(tmp_path / "runtime_check" / "device_models.json")) == ["x123"]


@pytest.mark.skipif(sys.version_info < (3, 11), reason="reads pyproject.toml with tomllib")
def test_a_checkout_that_is_not_installed_gets_its_entry_points(gpu: Any, tmp_path: Path) -> None:
    gpu._install_in_place(tmp_path)
    code = (
        "from importlib.metadata import entry_points as e;"
        "print(*sorted(p.value for g in ('transferlint.rules', 'transferlint.commands') for p in e(group=g)))"
    )
    command = [sys.executable, "-S", "-c", code]
    made = subprocess.run(command, env={"PYTHONPATH": str(tmp_path)}, capture_output=True, text=True, check=True)
    assert made.stdout.split() == ["runtime_check.cli:REPORT", "runtime_check.cli:VERIFY", "transferlint_rules"]
    assert (tmp_path / "transferlint_rules").resolve() == ROOT / "rules"
