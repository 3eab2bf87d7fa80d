"""What `check` was given."""

from __future__ import annotations

from transferlint import late
from transferlint.sources.shards import Shard


@late.dataclass(frozen=True, slots=True)
class CheckOptions:
    """The options of `check`; those that are settings are None or empty where they were not given."""

    paths: tuple[str, ...]
    select: tuple[str, ...]
    extend_select: tuple[str, ...]
    ignore: tuple[str, ...]
    min_confidence: str | None
    min_frequency: float | None
    output_format: str | None
    output_file: str | None
    sort: str | None
    fix: bool | None
    unsafe_fixes: bool | None
    fix_only: bool
    diff: bool
    add_ignore: bool
    reason: str | None
    baseline: str | None
    write_baseline: bool
    rules: tuple[str, ...]
    statistics: bool
    exit_zero: bool
    jobs: int | None
    exclude: tuple[str, ...]
    extend_exclude: tuple[str, ...]
    force_exclude: bool | None
    respect_gitignore: bool | None
    stdin_filename: str | None
    show_files: bool
    show_settings: bool
    isolated: bool
    config: tuple[str, ...]
    project_root: str | None
    context: str | None
    no_cache: bool
    color: bool | None
    quiet: bool
    quiet_sites: bool = False
    front_end: str | None = None
    diff_base: str | None = None
    show_fixes: bool = False
    exit_non_zero_on_fix: bool = False
    verbose: bool = False
    watch: bool = False
    shard: Shard | None = None
