"""HTML reports as one file: the page they share (`page.html`: head, colours, filter) and its parts (`parts.html`:
source with a margin; the filter `words` sets code in a message). A report's own template extends the page. Everything
is escaped, and nothing is fetched."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from transferlint import escaping

if TYPE_CHECKING:
    from markupsafe import Markup


def render(template: str, folder: Path, values: Mapping[str, Any]) -> str:
    """The page that `template` of `folder` makes of the values; a value that is not given is an error, not a blank.

    Raises jinja2.TemplateError for a fault in the template."""
    import jinja2

    folders = [str(folder), str(Path(__file__).parent)]
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(folders),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_plain,
    )
    environment.filters["words"] = _words
    return environment.get_template(template).render(values)


def _plain(value: Any) -> Any:
    """What a page shows, with control and bidirectional characters as escapes; the ends of lines and tabs stay."""
    if not isinstance(value, str) or value.isprintable():
        return value
    return type(value)("".join(one if one in "\n\t" else escaping.character(one) for one in value))


def _words(text: str) -> Markup:
    """A message with what stands between backticks set as code; what is left of its backticks is shown."""
    from markupsafe import Markup, escape

    pieces = re.split(r"`([^`]+)`", text)
    return Markup("").join(
        Markup("<code>{}</code>").format(piece) if number % 2 else escape(piece) for number, piece in enumerate(pieces)
    )
