"""How many wildcards a pattern of paths may have. A regular expression tries every way in which they can share a path,
so that each run of `*` multiplies the steps by its length; and the patterns of a repository are not the user's own."""

from __future__ import annotations

from transferlint import late

MOST = 4  # runs of `*`; what the .gitignore files of 78 public projects need
_RUN = late.pattern(r"\*+")
_REPEATED = late.pattern(r"(?:\*\*/){2,}")


def plain(pattern: str) -> str:
    """The pattern with `**/**/` as the `**/` that says the same."""
    return _REPEATED.sub("**/", pattern)


def too_many(pattern: str) -> bool:
    """Whether matching a pattern could take longer than anybody waits."""
    return len(_RUN.findall(plain(pattern))) > MOST
