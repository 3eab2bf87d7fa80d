"""What a user may tell the analysis."""

from __future__ import annotations

from transferlint import late
from transferlint.knowledge.user import NOTHING_SAID, UserKnowledge


@late.dataclass(frozen=True, slots=True)
class AnalysisOptions:
    """Settings of the analysis; every field has a default.

    `test_paths`: globs (POSIX separators, matched against the path as reported) of files whose code is cold because it
    tests or measures; None means the built-in list (`knowledge.roles.TEST_PATHS`). `knowledge`: what functions do that
    no table knows. `excerpts`: the files are excerpts of programs, as the examples of rules are: who runs their code is
    not seen, and it counts as seen to run.
    """

    test_paths: tuple[str, ...] | None = None
    knowledge: UserKnowledge = NOTHING_SAID
    excerpts: bool = False
