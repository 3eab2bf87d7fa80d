"""Lines of styled pieces as text, plain or with ANSI codes: what a piece holds is shown, and never obeyed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from transferlint import escaping

Piece = tuple[str, str]  # style ("" for none) and text
Row = list[Piece]


def render(rows: Iterable[Sequence[Piece]], styles: Mapping[str, str], color: bool) -> str:
    """The rows as lines; with `color`, in the `styles` (names of pieces to styles of rich), with ANSI codes."""
    return renderer(styles, color)(rows)


def renderer(styles: Mapping[str, str], color: bool) -> Callable[[Iterable[Sequence[Piece]]], str]:
    """What renders rows so, again and again."""
    if color:
        coloured = _coloured(styles)
        return lambda rows: coloured(map(_safe, rows))
    return lambda rows: "".join("".join(text for _, text in row).rstrip() + "\n" for row in map(_safe, rows))


def _safe(row: Sequence[Piece]) -> Row:
    pieces = [(style, escaping.escaped(text)) for style, text in row]
    whole = "".join(text for _, text in pieces)
    safe = escaping.line(whole)
    return pieces if safe == whole else [(pieces[0][0], safe)]  # only together are they taken for a command


def _coloured(styles: Mapping[str, str]) -> Callable[[Iterable[Row]], str]:
    import io

    from rich.console import Console
    from rich.text import Text

    out = io.StringIO()
    console = Console(file=out, force_terminal=True, color_system="standard", no_color=False, highlight=False)

    def render(rows: Iterable[Row]) -> str:
        out.seek(0)
        out.truncate()
        for row in rows:
            text = Text()
            for style, piece in row:
                text.append(piece, styles.get(style, ""))
            text.rstrip()
            console.print(text, soft_wrap=True)
        return out.getvalue()

    return render
