"""Reading source files: bytes to text and back, text to a tree; every failure is one clear line.

Limits, so that no input can take the process down or stall it:

- A file over `MAX_BYTES` (2 MB) is refused: modules written by hand stay well below (the largest of PyTorch's has
  1.4 MB), and what is larger is data or generated.
- More than `MAX_BRACKETS` nested brackets are refused, as CPython refuses them (Parser/tokenizer.h, MAXLEVEL).
- More than `MAX_LINKS` operators, attributes or calls within each other in one expression are refused, counted without
  regard to precedence; CPython's compiler gives up at 3,000 that really nest (Python/symtable.c,
  COMPILER_STACK_FRAME_SCALE), and the parser's time grows with their third power: a chain of 1,000 calls (2,000 links)
  takes it seconds. `MAX_EFFORT` bounds what all statements together take. `MAX_ELIFS` only bounds the parser's stack;
  beyond `MAX_STRINGS` literals side by side it gives up by itself, with a message that says nothing.
- More than `MAX_PATTERN_BRACKETS` in a `case` pattern are refused: the parser's time doubles with each.
- More than `MAX_TOKENS` operators, brackets, separators and strings are refused: a table of a million numbers on one
  line takes the parser a minute and gigabytes. A module of 25,000 lines has half of that.
"""

from __future__ import annotations

import ast
import codecs
import os
import re
import stat
import warnings
from typing import TYPE_CHECKING, NoReturn

from transferlint import late
from transferlint.syntax import collector, nesting, notebooks
from transferlint.syntax.deep import with_stack

if TYPE_CHECKING:
    import libcst as cst

MAX_BYTES = 2_000_000
MAX_BRACKETS = 200
MAX_LINKS = 2_500
MAX_EFFORT = 40_000_000_000
MAX_STRINGS = 2_900
MAX_ELIFS = 20_000
MAX_PATTERN_BRACKETS = 8
MAX_TOKENS = 300_000
FEW_LINKS = 1_000  # that any thread's stack holds
PARSER_STACK_BYTES = 64 * 1024 * 1024  # three times what the parser was seen to need at all limits at once

_LINKS = ("links", MAX_LINKS, "operators, attributes or calls in one expression")
_TOKENS = ("tokens", MAX_TOKENS, "operators, brackets, separators and strings")
_LIMITS = (
    ("brackets", MAX_BRACKETS, "nested brackets (Python refuses them too)"),
    _LINKS,
    ("strings", MAX_STRINGS, "string literals side by side"),
    ("elifs", MAX_ELIFS, "elif branches"),
    ("pattern_brackets", MAX_PATTERN_BRACKETS, "nested brackets in a case pattern"),
    ("effort", MAX_EFFORT, "long expressions (the third powers of what each has)"),
    _TOKENS,
)

# PEP 263, 'Defining the Encoding': the comment that declares one, in the first two lines.
COOKIE = late.pattern(rb"^[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)")
BLANK = late.pattern(rb"^[ \t\f]*(?:#.*)?$")
NEWLINE = late.pattern(r"\r\n|\r|\n")
BYTES_NEWLINE = late.pattern(rb"\r\n|\r|\n")

# What the line of a syntax error, or the one before, looks like in Python 2.
PYTHON_2 = (
    (late.pattern(r"^\s*print\s+(?![=(.\[,)+*/%&|^<>@:-])\S|\bprint\s*>>|^\s*print\s*\(.*\)\s*%"), "a print statement"),
    (late.pattern(r"[:;]\s*print\s+['\"\w]"), "a print statement"),
    (late.pattern(r"^\s*except\s+[\w.()]+\s*,\s*\w+\s*:"), "`except X, e:`"),
    (late.pattern(r"^\s*exec\s+(?![=(.\[,)+*/%&|^<>@:-])\S"), "an exec statement"),
    (late.pattern(r"^\s*raise\s+[\w.]+\s*,\s*\S"), "`raise X, message`"),
    (late.pattern(r"`[^`]+`"), "backticks"),
    (late.pattern(r"<>"), "the operator <>"),
    (late.pattern(r"\b(?:0[0-7]+|\d+)[lL]\b|(?<![\w.])0[0-7]+\b(?!\.)"), "an integer literal of Python 2"),
    (late.pattern(r"\b[uU][rR]['\"]"), "a ur'' literal"),
)


class SourceError(Exception):
    """A file that cannot be read or parsed: `path` as the user named it, a 1-based `line` or None, one line of text."""

    def __init__(self, path: str, line: int | None, message: str) -> None:
        self.path = path
        self.line = line
        self.message = message
        super().__init__(f"{path}: {message}" if line is None else f"{path}:{line}: {message}")


@late.dataclass(frozen=True, slots=True)
class Source:
    """The text of a file, newlines as they are, without its byte order mark (`bom` says whether there was one).

    `encoding` is Python's name of what the file declares, "utf-8" where it declares nothing. Of a notebook the text is
    its code (`notebooks.py`), and `notebook` is the whole.
    """

    path: str
    text: str
    encoding: str
    bom: bool
    notebook: str = ""


def read(path: str | os.PathLike[str], max_bytes: int = MAX_BYTES) -> Source:
    """The source at a path. Raises SourceError where nothing is there that can be read as text."""
    name = os.fspath(path)
    try:
        mode = os.stat(path).st_mode
        if stat.S_ISDIR(mode):
            raise SourceError(name, None, "is a directory")
        if not stat.S_ISREG(mode):
            raise SourceError(name, None, "is not a regular file")
        with open(path, "rb") as file:
            data = file.read(max_bytes + 1)
    except FileNotFoundError:
        raise SourceError(name, None, "no such file") from None
    except PermissionError:
        raise SourceError(name, None, "permission denied") from None
    except (OSError, ValueError) as error:
        message = getattr(error, "strerror", None) or str(error)
        raise SourceError(name, None, f"cannot be read: {_one_line(message)}") from None
    return decode(name, data, max_bytes)


def decode(path: str, data: bytes, max_bytes: int = MAX_BYTES) -> Source:
    """The source that the bytes of a file are. Raises SourceError where they are too many or no text."""
    if path.endswith(notebooks.SUFFIX):
        return _decode_notebook(path, data, max_bytes)
    if len(data) > max_bytes:
        raise SourceError(path, None, f"larger than {max_bytes:,} bytes: not checked")
    if b"\0" in data:
        at = data.index(b"\0")
        raise SourceError(path, _line(data, at), f"contains a NUL byte (at byte {at}): not Python source")
    bom = data.startswith(codecs.BOM_UTF8)
    body = data[len(codecs.BOM_UTF8) :] if bom else data
    encoding = _encoding(path, body, bom)
    try:
        return Source(path, body.decode(encoding), encoding, bom)
    except UnicodeDecodeError as error:
        at = error.start + len(data) - len(body)
        message = f"is not {encoding.upper()}: byte {at} is {data[at]:#04x}"
        raise SourceError(path, _line(data, at), message) from None
    except ValueError as error:
        raise SourceError(path, None, f"is not {encoding}: {_one_line(str(error))}") from None


def of_text(path: str, text: str) -> Source:
    """The source that a text is which somebody else decoded, such as an editor: whatever encoding it declares, it is
    right already. Raises SourceError where `decode` would for any other reason."""
    data = text.encode("utf-8", "surrogatepass")
    try:
        return late.replace(decode(path, data), text=text.removeprefix("\ufeff"))
    except SourceError:
        first = _encoding(path, data, False)  # raises it again where that is what is wrong
        if first == "utf-8" or len(data) > MAX_BYTES or b"\0" in data:
            raise
        return Source(path, text.removeprefix("\ufeff"), first, False)


def _decode_notebook(path: str, data: bytes, max_bytes: int) -> Source:
    """The text of a notebook's cells. Raises SourceError with a line of that text."""
    if len(data) > notebooks.MAX_BYTES:
        raise SourceError(path, None, f"larger than {notebooks.MAX_BYTES:,} bytes: not checked")
    bom = data.startswith(codecs.BOM_UTF8)
    try:
        whole = data.decode("utf-8-sig")
        text = notebooks.to_text(whole)
    except UnicodeDecodeError as error:
        raise SourceError(path, _line(data, error.start), "is not UTF-8, as a notebook must be") from None
    except notebooks.NotebookError as error:
        where = f"cell {error.cell}, line {error.line}: " if error.cell is not None else ""
        raise SourceError(path, error.line if error.cell is None else None, where + error.message) from None
    if len(text) > max_bytes:
        raise SourceError(path, None, f"has code of more than {max_bytes:,} characters: not checked")
    return Source(path, text, "utf-8", bom, whole)


def encode(source: Source, text: str) -> bytes:
    """The bytes to write for a changed text: in the encoding of the source, with a byte order mark where it had one.

    Raises SourceError where that encoding lacks a character, or a change goes across a notebook's cells.
    """
    if source.notebook:
        try:
            text = notebooks.to_notebook(source.notebook, text)
        except notebooks.NotebookError as error:
            raise SourceError(source.path, None, f"cannot be written: {error.message}") from None
    try:
        body = text.encode(source.encoding)
    except UnicodeError as error:
        raise SourceError(source.path, None, f"cannot be written: {_one_line(str(error))}") from None
    return codecs.BOM_UTF8 + body if source.bom else body


def parse(source: Source) -> cst.Module:
    """The tree of a source.

    Raises SourceError with the parser's line and message, one that names Python 2 where the line looks like it, or
    one that names the limit which the text exceeds.
    """
    import libcst

    text = source.text
    _refuse_too_deep(source.path, text)
    try:
        with collector.paused():
            return with_stack(lambda: libcst.parse_module(text), PARSER_STACK_BYTES)
    except libcst.ParserSyntaxError as error:
        _raise_syntax_error(source, error.raw_line, error.message)
    except (RecursionError, MemoryError):
        raise SourceError(source.path, None, "nests too deeply for the parser") from None
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # a panic of the parser is no Exception; this file is lost, not the run
        raise SourceError(source.path, None, f"the parser failed: {_one_line(str(error))}") from None


def parse_ast(source: Source) -> ast.Module:
    """The tree of a source that Python's own parser makes. Raises SourceError as `parse` does.

    That parser bounds its own recursion, but for what leans to the left (Python/ast.c, Python-ast.c): such chains get a
    stack that holds the longest which is allowed, and longer ones are refused as for the other parser.
    """
    text = source.text
    links = refuse_too_long(source)
    try:
        with collector.paused(), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of odd escapes and comparisons
            return ast.parse(text) if links <= FEW_LINKS else with_stack(lambda: ast.parse(text), PARSER_STACK_BYTES)
    except SyntaxError as error:
        _raise_syntax_error(source, error.lineno or 1, f"parser error: {error.msg}")
    except (RecursionError, MemoryError):
        raise SourceError(source.path, None, "nests too deeply for the parser") from None
    except ValueError as error:  # characters that UTF-8 lacks
        raise SourceError(source.path, None, f"the parser failed: {_one_line(str(error))}") from None


def refuse_too_long(source: Source) -> int:
    """Raises SourceError for a text in which more leans to the left than `parse_ast` takes; else how much does."""
    links = nesting.most_links(source.text, FEW_LINKS)
    if links > MAX_LINKS or nesting.most_tokens(source.text) > MAX_TOKENS:
        _refuse(source.path, source.text, nesting.measure(source.text), (_LINKS, _TOKENS))
    return links


def _refuse_too_deep(path: str, text: str) -> None:
    _refuse(path, text, nesting.measure(text), _LIMITS)


def _refuse(path: str, text: str, depth: nesting.Depth, limits: tuple[tuple[str, int, str], ...]) -> None:
    for name, most, what in limits:
        found, at = getattr(depth, name)
        if found > most:
            line = len(NEWLINE.findall(text, 0, at)) + 1
            raise SourceError(path, line, f"too many {what}: {found:,}, at most {most:,}")


def _raise_syntax_error(source: Source, line: int, message: str) -> NoReturn:
    message = _one_line(message)
    if message.startswith("tokenizer error"):
        line = _line_of_error(source.text) or line
    lines = NEWLINE.split(source.text)
    for number in (line, line - 1):
        if 1 <= number <= len(lines):
            shown = lines[number - 1]
            for pattern, what in PYTHON_2:
                if pattern.search(shown):
                    raise SourceError(source.path, number, f"looks like Python 2 ({what}): not supported") from None
    short = re.sub(r"^(?:parser|tokenizer) error: (?:error at \d+:\d+: )?", "", message)
    if short.count(",") > 6:
        short = "invalid syntax"  # of a dozen alternatives none helps
    raise SourceError(source.path, max(line, 1), f"syntax error: {short}") from None


def _line_of_error(text: str) -> int | None:
    """Where Python's own parser finds an error: LibCST says line 1 for all that its tokenizer refuses."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(text)
    except SyntaxError as error:
        return error.lineno
    except (ValueError, RecursionError, MemoryError):
        pass
    return None


def _encoding(path: str, body: bytes, bom: bool) -> str:
    """The name of the encoding that the first two lines declare (PEP 263)."""
    lines = BYTES_NEWLINE.split(body[:4096], maxsplit=2)[:2]
    number = 1
    found = COOKIE.match(lines[0])
    if found is None and len(lines) == 2 and BLANK.match(lines[0]):
        number = 2
        found = COOKIE.match(lines[1])
    if found is None:
        return "utf-8"
    declared = found.group(1).decode("ascii", "replace")
    try:
        codec = codecs.lookup(declared)
    except (LookupError, ValueError):
        raise SourceError(path, number, f"declares an unknown encoding: {declared}") from None
    if not getattr(codec, "_is_text_encoding", True):
        raise SourceError(path, number, f"declares an encoding that is not one of text: {declared}")
    if bom and codec.name not in ("utf-8", "utf-8-sig"):
        raise SourceError(path, number, f"declares {declared} but begins with a UTF-8 byte order mark")
    return "utf-8" if codec.name == "utf-8-sig" else codec.name


def _line(data: bytes, at: int) -> int:
    return len(BYTES_NEWLINE.findall(data, 0, at)) + 1


def _one_line(message: str) -> str:
    return " ".join(message.split())
