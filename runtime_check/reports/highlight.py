"""Source in coloured pieces, by pygments where it is installed, else plain."""

from __future__ import annotations

from collections.abc import Sequence

Piece = tuple[str, str]  # the class of the page's style sheet ("" for none), and the text
Line = tuple[Piece, ...]
_MOST = 400_000  # characters of a file that is coloured


def lines(text: Sequence[str]) -> list[Line]:
    """Each line in pieces, which together are the line. What pygments does not give back as it was is left plain."""
    whole = "\n".join(text)
    plain: list[Line] = [((("", line),) if line else ()) for line in text]
    if len(whole) > _MOST:
        return plain
    try:
        from pygments.lexers.python import PythonLexer
    except ImportError:
        return plain
    found: list[list[Piece]] = [[]]
    for kind, value in PythonLexer(stripnl=False, ensurenl=False).get_tokens(whole):
        name = _name(str(kind))
        for number, part in enumerate(value.split("\n")):
            if number:
                found.append([])
            if part:
                _append(found[-1], name, part)
    same = len(found) == len(text) and all(
        "".join(part for _, part in made) == line for made, line in zip(found, text, strict=True)
    )
    return [tuple(line) for line in found] if same else plain


def stripped(line: Line) -> Line:
    """A line without its indentation and what of blanks is at its end."""
    found = list(line)
    while found and not found[0][1].strip():
        del found[0]
    while found and not found[-1][1].strip():
        del found[-1]
    if found:
        found[0] = found[0][0], found[0][1].lstrip()
        found[-1] = found[-1][0], found[-1][1].rstrip()
    return tuple(found)


def _append(line: list[Piece], name: str, text: str) -> None:
    if line and line[-1][0] == name:
        line[-1] = name, line[-1][1] + text
    else:
        line.append((name, text))


def _name(kind: str) -> str:
    """The class for one of pygments' kinds ("Token.Literal.String.Doc"); names and operators are plain."""
    for start, name in _CLASSES:
        if kind.startswith(start):
            return name
    return ""


_CLASSES = (
    ("Token.Comment", "t-c"),
    ("Token.Keyword", "t-k"),
    ("Token.Operator.Word", "t-k"),
    ("Token.Literal.String", "t-s"),
    ("Token.Literal.Number", "t-n"),
    ("Token.Name.Builtin", "t-b"),
    ("Token.Name.Function", "t-f"),
    ("Token.Name.Class", "t-f"),
    ("Token.Name.Decorator", "t-f"),
)
