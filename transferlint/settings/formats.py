"""The names of what a report may be written in, and of the orders that its findings may come in. They stand apart from
the code that does it, so that a list of options costs no import."""

from __future__ import annotations

FORMATS = (
    "text", "concise", "grouped", "markdown", "html", "json", "json-lines", "sarif", "github", "gitlab", "azure",
    "junit", "rdjson",
)  # fmt: skip
ORDERS = ("cost", "place", "rule")
# Where nobody says an order: what people read from the top begins with what costs most, what programs read (and what is
# compared from run to run) follows the files.
_BY_COST = frozenset(("text", "markdown", "html"))


def usual_order(form: str) -> str:
    """The order of a format's findings where none is asked for."""
    return "cost" if form in _BY_COST else "place"
