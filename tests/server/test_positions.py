"""Positions: the same place in a text as offset and as the protocol has it, in every encoding."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from transferlint.server.edits import changed, differences
from transferlint.server.positions import UTF8, UTF16, UTF32, Lines, Position, Range, edited, units

# What has one, two, three and four bytes, a pair of code units in UTF-16, and all that ends a line somewhere.
ALPHABET = "a é€😀\t\f\v\x1c\x85\u2028\r\n"
TEXTS = st.text(alphabet=ALPHABET, max_size=40)
ENCODINGS = st.sampled_from((UTF8, UTF16, UTF32))
CODECS = {UTF8: ("utf-8", 1), UTF16: ("utf-16-le", 2), UTF32: ("utf-32-le", 4)}


@given(TEXTS, ENCODINGS, st.data())
def test_an_offset_comes_back_from_its_position(text: str, encoding: str, data: st.DataObject) -> None:
    lines = Lines(text, encoding)
    offset = data.draw(st.integers(0, len(text)))
    position = lines.position(offset)
    assert position.line == text[:offset].replace("\r\n", "\n").replace("\r", "\n").count("\n") or (
        text[offset - 1 : offset + 1] == "\r\n"
    )
    back = lines.offset(position)
    # Within a line end there is no position: the end of the line is the nearest.
    assert back == offset or text[back:offset] in ("\r", "\n", "\r\n")


@given(TEXTS, ENCODINGS)
def test_units_are_those_of_the_encoding(text: str, encoding: str) -> None:
    codec, size = CODECS[encoding]
    assert units(text, encoding) == len(text.encode(codec)) // size


@given(TEXTS, ENCODINGS, st.integers(0, 50), st.integers(0, 60))
def test_any_position_is_some_offset(text: str, encoding: str, line: int, character: int) -> None:
    lines = Lines(text, encoding)
    offset = lines.offset(Position(line, character))
    assert 0 <= offset <= len(text)
    found = lines.position(offset)
    assert found <= Position(line, character) or found.line < line


@given(TEXTS, TEXTS, ENCODINGS, st.data())
def test_an_edit_puts_a_text_in_the_place_of_a_range(text: str, new: str, encoding: str, data: st.DataObject) -> None:
    lines = Lines(text, encoding)
    start = lines.offset(lines.position(data.draw(st.integers(0, len(text)))))
    end = lines.offset(lines.position(data.draw(st.integers(start, len(text)))))
    start, end = min(start, end), max(start, end)
    assert edited(text, lines.range(start, end), new, encoding) == text[:start] + new + text[end:]
    assert edited(text, None, new, encoding) == new


@given(st.text(alphabet="ab\r\n", max_size=60), st.text(alphabet="ab\r\n", max_size=60))
def test_differences_make_the_other_text(before: str, after: str) -> None:
    edits = differences(before, after)
    assert changed(before, edits) == after
    assert (edits == []) == (before == after)


def test_a_changed_word_is_all_that_differs() -> None:
    (edit,) = differences("a = 1\nb = two\nc = 3\n", "a = 1\nb = three\nc = 3\n")
    assert (edit.start, edit.end, edit.text) == (11, 13, "hree")


def test_a_form_feed_ends_no_line() -> None:
    lines = Lines("a\f\nb\u2028c\nd", UTF16)
    assert [lines.line(number) for number in range(3)] == ["a\f", "b\u2028c", "d"]
    assert lines.position(5) == Position(1, 2)


def test_a_position_within_a_pair_is_its_beginning() -> None:
    lines = Lines("x = '😀'", UTF16)
    assert lines.offset(Position(0, 6)) == 5
    assert lines.offset(Position(0, 7)) == 6
    assert lines.range(5, 6) == Range(Position(0, 5), Position(0, 7))


def test_a_byte_order_mark_is_no_column() -> None:
    assert Lines("\ufeffx = 1\n").at(1, 1) == 1
    assert Lines("x = 1\ny\n").at(2, 1) == 6
