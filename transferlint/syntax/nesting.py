"""How deep a text nests, found without parsing it, so that the parser never meets what it cannot stand.

LibCST's parser recurses natively: on an expression that nests deeper than its stack allows it takes the process down,
and it needs time in the square of the depth. One scan over brackets, operators and strings finds the depth first.
"""

from __future__ import annotations

import re

from transferlint import late

# Every match consumes what is of no interest before it. Nothing backtracks: strings end at the latest at the end of
# their line (of the text, for triple quotes), so that each alternative that begins also matches.
_PATTERN = r"""[^'"\#\\()\[\]{},;\r\n*/+@&|^~.%-]*QUANTIFIER(?:
    ('''(?:[^\\']|\\.|'(?!''))*(?:''')?|\"\"\"(?:[^\\"]|\\.|"(?!""))*(?:\"\"\")?
    |'(?:[^\\'\r\n]|\\(?:\r\n|.))*'?|"(?:[^\\"\r\n]|\\(?:\r\n|.))*"?)
    |([([{])
    |([)\]}])
    |([,;])
    |([\r\n]\s*)
    |([-+*/%@&|^~.]+WORDS)
    |\#[^\r\n]*
    |\\(?:\r\n|.)?
    |\Z)"""
_WORDS = r"\b(?:and|or|not|lambda|if|else|await|for|yield)\b"
_FLAGS = re.X | re.S
_SYMBOLS = late.pattern(_PATTERN.replace("QUANTIFIER", "").replace("WORDS", ""), _FLAGS)
_WITH_WORDS = late.pattern(_PATTERN.replace("QUANTIFIER", "?").replace("WORDS", "|" + _WORDS), _FLAGS)
_WORD = late.pattern(_WORDS)
_LINK = late.pattern(r"[-+*/%@&|^~.(\[]|" + _WORDS)
_FIELD = late.pattern(r"\{[^{}]*")
_STRING, _OPEN, _CLOSE, _SEPARATOR, _NEWLINE, _OPERATOR = range(1, 7)
FEW_WORDS = 1000
LONG_STRING = 2000


_LINK_BYTES = b"+-*/%@&|^~<>.(["
_TOKEN_BYTES = b"'\"#\\()[]{},;\r\n*/+@&|^~.%-"
_DEFINITION = late.pattern(rb"[\r\n][ \t\f]*(?:(?:async[ \t]+)?def|class)[ \t]")


@late.dataclass(slots=True)
class Depth:
    """The most of each kind, and the 0-based offset where it was first reached.

    `brackets`: open at once. `links`: operators, attributes, calls and brackets within each other in one expression;
    those between two commas are taken to be. `strings`: literals side by side. `pattern_brackets`: open at once on a
    line that begins with `case`. `elifs` and `tokens` (all but names, numbers and blanks): in the whole text. `effort`:
    the third powers of the most links of each statement, together, which the parser's time goes by.
    """

    brackets: tuple[int, int] = (0, 0)
    links: tuple[int, int] = (0, 0)
    strings: tuple[int, int] = (0, 0)
    pattern_brackets: tuple[int, int] = (0, 0)
    elifs: tuple[int, int] = (0, 0)
    tokens: tuple[int, int] = (0, 0)
    effort: tuple[int, int] = (0, 0)


def measure(text: str) -> Depth:
    """How deep a text nests; never less than the truth by more than `FEW_WORDS` links where it can be parsed.

    Takes time linear in the length of the text.
    """
    depth = Depth(elifs=(text.count("elif"), max(text.find("elif"), 0)))
    stack: list[tuple[int, int]] = []  # for each open bracket, `operators` and `trailers` of where it stands
    operators = trailers = 0  # of the expression so far; attributes and calls only count within one operand
    total = strings = tokens = 0
    in_case = False
    effort = peak = 0
    for match in _tokens(text).finditer(text):
        kind = match.lastindex
        tokens += 1
        if kind == _OPERATOR:
            sign = match.group(kind)
            if sign == ".":
                trailers += 1
                total += 1
            else:
                # "----" are four signs; "//" is one operator, and "--" is taken for one.
                more = 1 if len(sign) < 3 or sign.isalpha() else len(sign)
                operators += more
                total += more - trailers
                trailers = 0
            strings = 0
        elif kind == _OPEN:
            stack.append((operators, trailers + 1))
            total += 1
            operators = trailers = strings = 0
            if len(stack) > depth.brackets[0]:
                depth.brackets = (len(stack), match.start(kind))
            if in_case and len(stack) > depth.pattern_brackets[0]:
                depth.pattern_brackets = (len(stack), match.start(kind))
        elif kind == _CLOSE:
            if stack:
                total -= operators + trailers
                operators, trailers = stack.pop()
        elif kind == _SEPARATOR or (kind == _NEWLINE and not stack):
            total -= operators + trailers
            operators = trailers = strings = 0
            if kind == _NEWLINE:
                effort, peak = effort + peak**3, 0
                in_case = text.startswith("case", match.end())
        elif kind == _STRING:
            strings += 1
            if strings > depth.strings[0]:
                depth.strings = (strings, match.start(kind))
            if match.end() - match.start(kind) > LONG_STRING:
                _measure_fields(text, match.start(kind), match.end(), depth)
        if total > peak:
            peak = total
            if total > depth.links[0]:
                depth.links = (total, match.end() - 1)
    depth.tokens = (tokens, 0)
    depth.effort = (effort + peak**3, depth.links[1])
    return depth


def most_links(text: str, enough: int) -> int:
    """No less than the signs, attributes, calls and brackets of any one expression; up to `enough`, of all together.

    An expression does not reach beyond a line that begins with a definition.
    """
    data = text.encode("utf-8", "surrogatepass")
    most = _count(data, _LINK_BYTES)
    return most if most <= enough else max(_count(part, _LINK_BYTES) for part in _DEFINITION.split(data))


def most_tokens(text: str) -> int:
    """No less than the tokens that `measure` counts, keywords apart."""
    return _count(text.encode("utf-8", "surrogatepass"), _TOKEN_BYTES)


def _count(data: bytes, signs: bytes) -> int:
    return len(data) - len(data.translate(None, signs))


def _tokens(text: str) -> re.Pattern[str]:
    """The pattern that also sees keywords where there are enough to matter; it is three times as slow."""
    words = ("and", "or", "not", "lambda", "else", "await", "for", "yield")
    if sum(text.count(word) for word in words) < FEW_WORDS or len(_WORD.findall(text)) < FEW_WORDS:
        return _SYMBOLS
    return _WITH_WORDS


def _measure_fields(text: str, start: int, end: int, depth: Depth) -> None:
    """The same within a long f-string, roughly: its braces, and the operators between two of them."""
    prefix = text[max(start - 2, 0) : start].lower()
    if "f" not in prefix and "t" not in prefix:
        return
    level = 0
    for match in re.compile(r"[{}]").finditer(text, start, end):
        level = level + 1 if match.group() == "{" else max(level - 1, 0)
        if level > depth.brackets[0]:
            depth.brackets = (level, match.start())
    for match in _FIELD.finditer(text, start, end):
        links = len(_LINK.findall(match.group()))
        if links > depth.links[0]:
            depth.links = (links, match.start())
