"""The files of a run by the settings that hold for them: each settings file makes a plan for what is below it."""

from __future__ import annotations

from collections.abc import Callable

from transferlint import late
from transferlint.engine.plan import Plan
from transferlint.settings.loading import Settings, SettingsError
from transferlint.sources.discovery import Exclusion, Trouble
from transferlint.sources.nearest import Nearest


class Scopes:
    """The plan of each file, by number: `plans[0]` is the run's own; `make` makes that of other settings, and raises
    SettingsError where they cannot be used. What they are below follows the run's own then."""

    def __init__(self, nearest: Nearest, plan: Plan, make: Callable[[Settings], Plan] | None = None) -> None:
        self.nearest = nearest
        self.plans = [plan]
        self._make = make
        self._ignored = [_PerFile(nearest.top)]
        self._numbers = {nearest.top.source: 0}

    def of(self, path: str) -> int:
        """The number of a file's plan."""
        settings = self.nearest.of(path)
        if settings.source not in self._numbers:
            self._numbers[settings.source] = self._added(settings)
        return self._numbers[settings.source]

    def ignored(self, path: str) -> tuple[str, ...]:
        """The selectors that do not count in a file."""
        return self._ignored[self.of(path)].of(path)

    def troubles(self) -> tuple[Trouble, ...]:
        """The settings that could not be used, as far as files asked for them."""
        return tuple(Trouble("", line) for line in self.nearest.troubles)

    def _added(self, settings: Settings) -> int:
        if self._make is None:
            return 0
        try:
            self.plans.append(self._make(settings))
        except SettingsError as error:
            self.nearest.troubles.append(f"{settings.source}: {error}")
            return 0
        self._ignored.append(_PerFile(settings))
        return len(self.plans) - 1


class _PerFile:
    """The selectors that `per-file-ignores` names for a path; patterns as in `exclude`."""

    def __init__(self, settings: Settings) -> None:
        empty = late.replace(settings, exclude=(), extend_exclude=())
        self.rows = [
            (Exclusion(late.replace(empty, exclude=(pattern,))), codes) for pattern, codes in settings.per_file_ignores
        ]

    def of(self, path: str) -> tuple[str, ...]:
        return tuple(code for pattern, codes in self.rows if pattern.covers(path) for code in codes)
