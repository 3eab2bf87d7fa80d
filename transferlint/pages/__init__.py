"""HTML reports as one file: the page they share (`page.html`: head, colours, keys; `page.js`: filter, keys, theme) and
its parts (`parts.html`: source with a margin, filter; the filter `words` sets code in a message). A report's own
template extends the page. Everything is escaped, nothing is fetched, and nothing runs but the templates' own scripts:
the page's Content-Security-Policy names each script and style sheet by its hash (w3.org/TR/CSP3, hash-source)."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from transferlint import escaping

if TYPE_CHECKING:
    from markupsafe import Markup

_POLICY = "default-src 'none'"  # as `page.html` has it, which allows nothing at all


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
    return _secured(environment.get_template(template).render(values))


def _secured(page: str) -> str:
    """The page with its own scripts and style sheets allowed; what comes from a program is escaped, and makes none."""
    allowed = [_POLICY]
    for kind in ("script", "style"):
        found = re.findall(rf"<{kind}>(.*?)</{kind}>", page, re.DOTALL)
        if found:
            allowed.append(f"{kind}-src {' '.join(map(_hash, found))}")
    return page.replace(f'content="{_POLICY}', f'content="{"; ".join(allowed)}', 1)


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


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
