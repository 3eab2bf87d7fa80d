"""A plugin for pytest: transfers and waits counted in tests, and limited.

    @pytest.mark.transfers(d2h=0)            # this test may not read from the device
    def test_step(transfers): ...            # `transfers` counts while the test runs: see `runtime_check.watch`

The whole process is watched while a marked test runs, its fixtures left out. `--transfers=simulate` does that on a
simulated accelerator where there is no other, `--transfers=guard` stops a test in the line that does what its mark
allows not once, `--transfers=off` looks at nothing; `transfers = ...` in pytest's settings is the same.
`--transfers-report FILE` watches every test and writes what was seen as JSON.
"""

from __future__ import annotations

import contextlib
import dataclasses
import importlib.util
import json
import sys
from collections.abc import Generator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from runtime_check.guards import guard
    from runtime_check.watching import watch

VERSION = 1
MODES = ("simulate", "guard", "off")
_MARK = "transfers"
_LINES = 20  # tests, in the summary
_WATCH: pytest.StashKey[watch] = pytest.StashKey()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("transfers", "host-device transfers")
    parser.addini("transfers", "what --transfers says where it is not given", default="")
    group.addoption(
        "--transfers",
        metavar="MODE",
        help="simulate: count on a simulated accelerator where torch finds no other; guard: what a mark limits to 0 "
        "raises in its line; simulate,guard: both; off: count nothing, whatever marks say",
    )
    group.addoption(
        "--transfers-report",
        metavar="FILE",
        help="count transfers and waits in every test, and write them to FILE as JSON",
    )


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """The simulation begins before anything imports names from torch."""
    _start(early_config, early_config.known_args_namespace.transfers)


def pytest_configure(config: pytest.Config) -> None:
    _start(config, config.getoption("--transfers"))
    config.addinivalue_line(
        "markers", "transfers(h2d=None, d2h=None, sync=None): fail where the test transfers or waits more often"
    )
    report = config.getoption("--transfers-report")
    if report and not _has_torch():
        raise pytest.UsageError("--transfers-report: torch is not installed here, so there is nothing to count")
    if report and not hasattr(config, "workerinput"):
        try:
            Path(report).write_text(_json([]), encoding="utf-8")
        except OSError as error:
            raise pytest.UsageError(f"--transfers-report {report}: {(error.strerror or str(error)).lower()}") from None


def pytest_report_header(config: pytest.Config) -> str | None:
    if "simulate" not in _modes(config):
        return None
    from runtime_check import simulate

    return "transfers: counted on " + ("a simulated accelerator" if simulate.running() else "the accelerator there is")


@pytest.fixture
def transfers(request: pytest.FixtureRequest) -> watch:
    """Counts the transfers of the test: `transfers.d2h`, `.h2d`, `.sync`, `.records()`; see `runtime_check.watch`."""
    return _watch(request.node)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, Any]:
    modes, limits = _modes(item.config), _limits(item)
    unasked = limits is None and _WATCH not in item.stash and not item.config.getoption("--transfers-report")
    if unasked or "off" in modes:
        return (yield)
    from runtime_check.limits import exceeded, message

    run = _watch(item)
    with run, _guarded(limits or {}) if "guard" in modes else contextlib.nullcontext():
        result = yield
    over = exceeded(limits or {}, run.totals())
    if over:
        pytest.fail(message("transferred too often", over, run.totals(), run.records()), pytrace=False)
    return result


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, Any, Any]:
    report = yield
    run = item.stash.get(_WATCH, None)
    if call.when == "call" and run is not None:
        report.transfers = _counts(item.nodeid, run)  # travels with the report where tests run in other processes
    return report


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    reports = [one for found in terminalreporter.stats.values() for one in found if hasattr(one, "transfers")]
    seen = sorted((one.transfers for one in reports), key=lambda counts: -(counts["h2d"] + counts["d2h"]))
    if not seen:
        return
    terminalreporter.section("transfers")
    crossed = [counts for counts in seen if counts["h2d"] or counts["d2h"] or counts["sync"]]
    for counts in crossed[:_LINES]:
        terminalreporter.write_line(
            f"{counts['test']}: h2d {counts['h2d']} ({counts['h2d_bytes']} bytes), "
            f"d2h {counts['d2h']} ({counts['d2h_bytes']} bytes), waits {counts['sync']}"
        )
    if len(crossed) > _LINES:
        terminalreporter.write_line(f"... and {len(crossed) - _LINES} more tests")
    quiet = len(seen) - len(crossed)
    if quiet:
        terminalreporter.write_line(f"{quiet} watched test{'s' * (quiet != 1)} transferred nothing")
    if not _has_device():
        terminalreporter.write_line(
            "torch has no accelerator here: nothing can be transferred; --transfers=simulate counts on a simulated one"
        )
    report = config.getoption("--transfers-report")
    if report:
        Path(report).write_text(_json(seen), encoding="utf-8")
        terminalreporter.write_line(f"written to {report}")


def _start(config: pytest.Config, given: str | None) -> None:
    """Start the simulation where it is asked for and torch finds no accelerator. Raises pytest.UsageError."""
    if "simulate" not in _modes(config, given):
        return
    if not _has_torch():
        raise pytest.UsageError("--transfers=simulate: torch is not installed here")
    from runtime_check import simulate

    fresh = "torch" not in sys.modules
    if simulate.running() is None and not _has_device():
        try:
            simulate.start(fresh=fresh)
        except simulate.Refused as error:
            raise pytest.UsageError(f"--transfers=simulate: {error}") from None


def _modes(config: pytest.Config, given: str | None = None) -> frozenset[str]:
    """What `--transfers` says, else the setting. Raises pytest.UsageError for what is none of MODES."""
    text = given or config.getoption("--transfers", None) or config.getini("transfers")
    modes = frozenset(word.strip() for word in str(text).split(",") if word.strip())
    if modes - set(MODES) or ("off" in modes and len(modes) > 1):
        raise pytest.UsageError(f"--transfers={text}: simulate, guard, simulate,guard or off")
    return modes


def _guarded(limits: Mapping[str, int]) -> guard:
    """A guard against what may not happen once."""
    from runtime_check.guards import guard

    return guard(**{name: "disallow_explicit" for name, most in limits.items() if not most})


def _limits(item: pytest.Item) -> Mapping[str, int] | None:
    """The limits of the nearest mark; None without one. Fails the test where the mark is wrong."""
    mark = item.get_closest_marker(_MARK)
    if mark is None:
        return None
    from runtime_check import limits

    what = "numbers of transfers by name" if mark.args else limits.wrong(mark.kwargs)
    if what:
        pytest.fail(f"@pytest.mark.transfers takes h2d=, d2h= and sync=: {what}", pytrace=False)
    if not _has_torch():
        pytest.fail("@pytest.mark.transfers: torch is not installed here", pytrace=False)
    return {name: value for name, value in mark.kwargs.items() if value is not None}


def _watch(item: pytest.Item) -> watch:
    from runtime_check.watching import watch

    if _WATCH not in item.stash:
        item.stash[_WATCH] = watch(threads="all")
    return item.stash[_WATCH]


def _counts(test: str, run: watch) -> Mapping[str, Any]:
    sites = [
        {
            "path": (record.user or record.site).path,
            "line": (record.user or record.site).line,
            "direction": record.direction.value,
            "operation": record.operation,
            "sync": record.sync,
            "count": record.count,
            "bytes": record.bytes,
        }
        for record in run.records()
        if record.crossed
    ]
    numbers = dataclasses.asdict(run.totals())
    del numbers["blocked_ns"]
    return {"test": test, **numbers, "sites": sites}


def _json(tests: list[Mapping[str, Any]]) -> str:
    return json.dumps({"version": VERSION, "tests": tests}, indent=1) + "\n"


def _has_torch() -> bool:
    return importlib.util.find_spec("torch") is not None


def _has_device() -> bool:
    from runtime_check.hooks import device

    return bool(device.key())
