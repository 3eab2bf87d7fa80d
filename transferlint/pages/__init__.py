"""HTML reports as one file: the page they share (`page.html`: head, colours, filter) and its parts (`parts.html`:
source with a margin; the filter `words` sets code in a message). A report's own template extends the page. Everything
is escaped, and nothing is fetched."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

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
    )
    environment.filters["words"] = _words
    return environment.get_template(template).render(values)


def _words(text: str) -> Markup:
    """A message with what stands between backticks set as code; what is left of its backticks is shown."""
    from markupsafe import Markup, escape

    pieces = re.split(r"`([^`]+)`", text)
    return Markup("").join(
        Markup("<code>{}</code>").format(piece) if number % 2 else escape(piece) for number, piece in enumerate(pieces)
    )
