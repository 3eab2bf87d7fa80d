"""A line of code that is too long, on several lines, as black and ruff lay them out.

"The Black code style" (Wrapping lines): the content of the last pair of brackets on a line of its own, one element per
line with a trailing comma where that is too long; parentheses around a right-hand side of several operators, which are
split before each operator of the lowest precedence.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator

from transferlint import late

_TOKEN = late.pattern(
    r"""(?P<blank>\s+)|(?P<comment>\#.*)|(?P<string>[rRbBfFuUtT]{0,2}(?:"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'))
    |(?P<number>\d(?:[\w.]|(?<=[eE])[-+])*)|(?P<word>\w+)
    |(?P<symbol>\*\*=?|//=?|>>=?|<<=?|->|:=|\.\.\.|[-+*/%@&|^=!<>]=?|.)""",
    re.X,
)
_PAIRS = {")": "(", "]": "[", "}": "{"}
# From the operators at which a line is split first to those that bind the most (The Python reference, 6.17).
_PRECEDENCE: tuple[frozenset[str], ...] = (
    frozenset({"for"}),
    frozenset({"if", "else"}),
    frozenset({"or"}),
    frozenset({"and"}),
    frozenset({"in", "is", "<", ">", "==", "!=", "<=", ">="}),
    frozenset("|"),
    frozenset("^"),
    frozenset("&"),
    frozenset({"<<", ">>"}),
    frozenset("+-"),
    frozenset({"*", "/", "//", "%", "@"}),
)
_ASSIGNS = late.pattern(r"(?:[-+*/%@&|^]|//|\*\*|<<|>>)?=")
_VARIABLES = {"for": "in", "lambda": ":"}  # what names variables, and what ends their names
_HEAD_WORDS = frozenset({"return", "if", "elif", "while", "assert"})
_NESTED = 20
# What stands before the brackets around all of a right-hand side.
OPENED = late.pattern(r"(?:(?:[^#'\"]|\"[^\"]*\"|'[^']*')*[^=!<>#'\"]=|[ \t]*return) ?\(")
# Comments that mean something to a tool, where they stand.
_DIRECTIVE = late.pattern(r"#\s*(type:|noqa|pylint|pragma|fmt:|mypy|pyright|nosec|isort|yapf|transferlint|ruff)", re.I)


@late.dataclass(frozen=True, slots=True)
class Token:
    """A token of a line; `depth` counts the brackets of the line around it, `mate` is the index of the bracket that
    belongs to it, -1 for none on this line."""

    kind: str
    text: str
    start: int
    depth: int
    mate: int = -1

    @property
    def end(self) -> int:
        """The column behind it."""
        return self.start + len(self.text)


def tokens_of(code: str) -> list[Token] | None:
    """The tokens of a line without blanks; None for what holds a string of several lines or a continuation."""
    if '"""' in code or "'''" in code or code.rstrip().endswith("\\"):
        return None
    found: list[Token] = []
    opened: list[int] = []
    for match in _TOKEN.finditer(code):
        text = match.group()
        kind = match.lastgroup or ""
        if kind == "blank":
            continue
        if kind == "symbol" and text in ("'", '"'):
            return None
        mate = -1
        if kind == "symbol" and text in _PAIRS and opened:
            mate = opened.pop()
            found[mate] = late.replace(found[mate], mate=len(found))
        found.append(Token(kind, text, match.start(), len(opened), mate))
        if kind == "symbol" and text in _PAIRS.values():
            opened.append(len(found) - 1)
    return found


def balanced(tokens: list[Token]) -> bool:
    """True where each bracket of a line belongs to another on it."""
    brackets = (one for one in tokens if one.kind == "symbol" and (one.text in _PAIRS or one.text in _PAIRS.values()))
    return all(one.mate >= 0 for one in brackets)


def wrapped(line: str, limit: int, unit: str, inside: bool, depth: int = 0) -> list[str]:
    """A line (without its end) on as many lines as it takes; the line itself where there is no way. `unit` is one step
    of indentation; `inside`: the line stands within brackets, and may be split anywhere."""
    if len(line) > limit and not inside:
        line = without_parentheses(line)
    body = line.strip()
    indent = line[: len(line) - len(line.lstrip())]
    tokens = tokens_of(body)
    if len(line) <= limit or not tokens or depth > _NESTED:
        return [line]
    if tokens[-1].kind == "comment":
        rest = body[: tokens[-2].end] if len(tokens) > 1 else ""
        if 0 < len(rest) <= limit - len(indent):
            return [line] if _DIRECTIVE.match(tokens[-1].text) else [indent + tokens[-1].text, indent + rest]
        made = wrapped(indent + rest, limit, unit, inside, depth) if rest else []
        return [*made[:-1], f"{made[-1]}  {tokens[-1].text}"] if len(made) > 1 else [line]
    if inside:
        parts = _split(body, tokens)
        if len(parts) > 1:
            return [out for part in parts for out in wrapped(indent + part, limit, unit, True, depth + 1)]
    else:
        made = _parenthesised(indent, body, tokens, limit, unit, depth)
        if made:
            return made
    return _at_bracket(indent, body, tokens, limit, unit, depth) or [line]


def wrapped_before(line: str, limit: int, unit: str) -> list[str]:
    """A line that ends in an opening bracket on several lines, split at a pair of brackets before that; [] where there
    is none."""
    body = line.strip()
    made = _at_bracket(line[: len(line) - len(line.lstrip())], body, tokens_of(body) or [], limit, unit, 0)
    return made if made and max(map(len, made)) <= limit else []


def is_call(tokens: list[Token]) -> bool:
    """True for a call, and for a chain of calls: `torch.zeros(n).view(1, -1)`."""
    outer = [one for one in tokens if one.depth == 0]
    if len(outer) < 3 or outer[0].kind != "word" or tokens[-1] is not outer[-1] or outer[-1].text != ")":
        return False
    paired = all(one.mate >= 0 for one in outer if one.text in _PAIRS or one.text in _PAIRS.values())
    words = itertools.pairwise(outer)
    return paired and all(
        (one.kind == "word" and two.text in (".", "(", "["))
        or (one.text == "." and two.kind == "word")
        or (one.text in _PAIRS.values() and two.text in _PAIRS)
        or (one.text in _PAIRS and two.text in (".", "(", "["))
        for one, two in words
    )


def without_parentheses(line: str) -> str:
    """`x = call(...)` for `x = (call(...))`; the line itself where it is something else."""
    opened = OPENED.match(line)
    if opened is None or not line.endswith(")"):
        return line
    inner = line[opened.end() : -1]
    return line[: opened.end() - 1] + inner if is_call(tokens_of(inner) or []) else line


def _at_bracket(indent: str, body: str, tokens: list[Token], limit: int, unit: str, depth: int) -> list[str]:
    """Split at the last pair of brackets that holds something worth a line, and leaves what comes before short."""
    for index in range(len(tokens) - 1, -1, -1):
        token = tokens[index]
        if token.mate < 0 or token.mate > index or token.depth > 0:
            continue
        opening = tokens[token.mate]
        content = body[opening.end : token.start].strip()
        held = tokens[token.mate + 1 : index]
        if not held or (opening.text == "[" and len(held) == 1):
            continue
        head, tail = indent + body[: opening.end], indent + body[token.start :]
        if len(head) > limit or len(tail) > limit:
            continue
        comma, each = _takes_comma(tokens, token.mate), _displays(tokens, token.mate)
        return [head, *_content(indent + unit, content, limit, unit, depth, comma, each), tail]
    return []


def _displays(tokens: list[Token], opening: int) -> bool:
    """True for the brackets of a list, tuple, set or dict of several elements, which has a line for each."""
    before = tokens[opening - 1] if opening else None
    inside = tokens[opening + 1 : tokens[opening].mate]
    names = before is not None and (before.text in _PAIRS or before.kind in ("string", "word"))
    called = names and before is not None and before.text not in ("return", "in", "not", "and", "or", "if", "else")
    return not called and _several(inside)


def _several(tokens: list[Token]) -> bool:
    """True for several elements, or one with a comma behind it."""
    return any(True for _ in _commas(tokens, min((one.depth for one in tokens), default=0)))


def _commas(tokens: list[Token], depth: int) -> Iterator[Token]:
    """The commas between elements at a depth, not those of the variables of a comprehension or the parameters of a
    lambda."""
    until = ""
    for one in tokens:
        if one.depth != depth or one.mate >= 0:
            continue
        if one.text == until:
            until = ""
        elif not until and one.text in _VARIABLES:
            until = _VARIABLES[one.text]
        elif not until and one.text == ",":
            yield one


def _takes_comma(tokens: list[Token], opening: int) -> bool:
    """True for the brackets of a call or of a display, in which a trailing comma means nothing."""
    before = tokens[opening - 1] if opening else None
    inside = tokens[opening + 1 : tokens[opening].mate]
    if _several(inside):
        return True
    if tokens[opening].text == "(":
        called = before is not None and (before.text in (")", "]") or before.kind == "word")
        return called and before is not None and before.text not in ("in", "not", "and", "or", "if", "return")
    return tokens[opening].text == "{" or before is None or before.kind != "word"


def _content(indent: str, content: str, limit: int, unit: str, depth: int, comma: bool, each: bool) -> list[str]:
    """What stands between two brackets: on one line (but for `each`), or one element per line, or split before its
    operators."""
    line = indent + content
    if len(line) <= limit and not content.endswith(",") and not each:
        return [line]
    parts = _split(content, tokens_of(content) or [])
    commas = parts[0].endswith(",")
    if comma and not parts[-1].endswith(",") and (commas or len(parts) == 1) and not parts[-1].startswith("**kw"):
        parts = [*parts[:-1], parts[-1] + ","]
    if len(parts) == 1 and not commas:
        return wrapped(line, limit, unit, True, depth + 1)
    return [out for part in parts for out in wrapped(indent + part, limit, unit, True, depth + 1)]


def _split(body: str, tokens: list[Token]) -> list[str]:
    """The parts of what stands within brackets: behind its commas, or before its operators of the lowest precedence."""
    own = [(i, one) for i, one in enumerate(tokens) if one.depth == 0 and one.mate < 0]
    cuts = [one.end for one in _commas(tokens, 0) if one.end < len(body)]
    bare = tokens[:-1] if tokens and tokens[-1].text == "," else tokens
    rest = [one for i, one in own if i < len(bare)]
    if not cuts and not any(one.text in ("lambda", ":=") or _ASSIGNS.fullmatch(one.text) for one in rest):
        cuts = _operators(bare) or _chained(bare)
    edges = [0, *cuts, len(body)]
    return [body[a:b].strip() for a, b in itertools.pairwise(edges)]


def _operators(tokens: list[Token]) -> list[int]:
    """The columns of the operators of the lowest precedence outside of all brackets."""
    own = [(i, one) for i, one in enumerate(tokens) if one.depth == 0 and one.mate < 0]
    for level in _PRECEDENCE:
        cuts = [tokens[_first(tokens, i)].start for i, one in own if one.text in level and _binary(tokens, i)]
        if "for" in level and cuts:
            cuts += [one.start for i, one in own if one.text == "if" and one.start > cuts[0]]
        if cuts:
            return sorted(cuts)
    return []


def _chained(tokens: list[Token]) -> list[int]:
    """The columns of the dots of a chain of several calls ("Call chains"); [] for other expressions."""
    if not is_call(tokens):
        return []
    pairs = itertools.pairwise(one for one in tokens if one.depth == 0)
    cuts = [dot.start for before, dot in pairs if dot.text == "." and before.text in _PAIRS]
    return cuts if len(cuts) > 1 else []


def _first(tokens: list[Token], index: int) -> int:
    """The index of the first word of an operator: `not` of `not in`."""
    return index - 1 if tokens[index].text == "in" and index and tokens[index - 1].text == "not" else index


def _binary(tokens: list[Token], index: int) -> bool:
    """True for an operator that has something on its left."""
    one = tokens[index]
    if index == 0 or (one.text == "in" and any(t.text == "for" and t.depth == one.depth for t in tokens[:index])):
        return False
    if one.kind == "word":
        return True
    before = tokens[index - 1]
    operator = before.kind == "symbol" and before.text not in _PAIRS and before.text != "..."
    return not operator and before.text not in ("return", "in", "and", "or", "not", "if", "else", "is")


def _parenthesised(indent: str, body: str, tokens: list[Token], limit: int, unit: str, depth: int) -> list[str]:
    """The right-hand side of a statement in parentheses, where it has operators to split at, or no brackets."""
    start, end = _right(body, tokens)
    if start < 0:
        return []
    side = [one for one in tokens if start <= one.start < end]
    own = [late.replace(one, mate=-1 if one.mate < 0 else 0) for one in side]
    if any(one.text in ("lambda", "yield", "await", ":=") and one.depth == 0 for one in side):
        return []
    if _several(side):
        content = _content(indent + unit, body[start:end].strip(), limit, unit, depth, True, True)
        made = [indent + body[:start] + "(", *content, indent + ")" + body[end:]]
        return made if max(map(len, made)) <= limit and tokens[0].text not in ("assert", "if", "while") else []
    cuts = _operators(own) or _chained(own)
    pairs = any(one.mate >= 0 for one in own)
    ends = own[-1].text in _PAIRS and own[-2].text not in _PAIRS.values()
    if (not cuts and pairs) or (len(cuts) == 1 and ends) or (own[0].text == "(" and side[0].mate == len(tokens) - 1):
        return []
    head, tail = indent + body[:start] + "(", indent + ")" + body[end:]
    made = [head, *_content(indent + unit, body[start:end].strip(), limit, unit, depth, False, False), tail]
    return made if max(map(len, made)) <= limit else []


def _right(body: str, tokens: list[Token]) -> tuple[int, int]:
    """The columns of the expression of a simple statement or header; (-1, -1) for others."""
    end = len(body)
    first = tokens[0].text
    if first in _HEAD_WORDS and len(tokens) > 1:
        if first in ("if", "elif", "while"):
            end = tokens[-1].start if tokens[-1].text == ":" else -1
        return (tokens[1].start, end) if end > 0 else (-1, -1)
    assigns = [i for i, one in enumerate(tokens) if one.depth == 0 and _ASSIGNS.fullmatch(one.text)]
    if len(assigns) != 1 or assigns[0] + 1 >= len(tokens) or first in ("for", "with", "def", "class", "lambda"):
        return -1, -1
    return tokens[assigns[0] + 1].start, end
