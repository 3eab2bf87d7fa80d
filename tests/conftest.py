"""What every test run says and leaves out: torch is optional, and its absence is named once at the top."""

from __future__ import annotations

import importlib.util

import pytest
from hypothesis import settings

# A loaded machine is slow now and then; what a property claims does not depend on the clock. The examples are the same
# in every run, so that a red run is of the change it stands on; `--hypothesis-profile explore` draws others.
settings.register_profile("repository", deadline=None, derandomize=True)
settings.register_profile("explore", deadline=None)
settings.load_profile("repository")

HAS_TORCH = importlib.util.find_spec("torch") is not None


def pytest_report_header(config: pytest.Config) -> str:
    if not HAS_TORCH:
        return "torch: not installed, so the tests that run examples on it are skipped (pip install torch)"
    from importlib.metadata import version

    return f"torch: {version('torch')}"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    marked = [item for item in items if item.get_closest_marker("gpu")]
    if marked and not _has_accelerator():
        for item in marked:
            item.add_marker(pytest.mark.skip(reason="needs an accelerator; torch finds none"))


def _has_accelerator() -> bool:
    if not HAS_TORCH:
        return False
    import torch

    return bool(torch.accelerator.is_available())
