"""Where the project and its pages are found; the `[project.urls]` of the package say the same."""

from __future__ import annotations

HOME = "https://github.com/OWNER/transferlint"
PAGES = f"{HOME}/blob/main/docs"


def rule_page(code: str) -> str:
    """The address of a built-in rule's page."""
    return f"{PAGES}/rules/{code}.md"
