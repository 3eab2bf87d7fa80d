"""How fixes are written, whoever runs the code: what of it is seen to run is for `tests/flow/test_runs.py`."""

from __future__ import annotations

import pytest

from transferlint.flow.heat import HeatMap


@pytest.fixture(autouse=True)
def seen_to_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take every place that is hot for one that is seen to run repeatedly."""
    monkeypatch.setattr(HeatMap, "shown", lambda self, function, reg: True)
