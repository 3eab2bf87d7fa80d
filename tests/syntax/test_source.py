"""Bytes to text to tree and back, and one clear line for whatever cannot be read."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from transferlint.syntax import source as s


def failure(data: bytes) -> s.SourceError:
    with pytest.raises(s.SourceError) as caught:
        s.parse(s.decode("x.py", data))
    error = caught.value
    assert error.path == "x.py"
    assert "\n" not in str(error)
    assert str(error).startswith("x.py:")
    return error


@pytest.mark.parametrize(
    ("data", "text", "encoding", "bom"),
    [
        (b"", "", "utf-8", False),
        (b"x = 1\r\n", "x = 1\r\n", "utf-8", False),
        ("x = 'é'\r".encode(), "x = 'é'\r", "utf-8", False),
        (b"\xef\xbb\xbfx = 1", "x = 1", "utf-8", True),
        (b"\xef\xbb\xbf# coding: utf8\n", "# coding: utf8\n", "utf-8", True),
        (b"# -*- coding: latin-1 -*-\nx = '\xe9'\n", "# -*- coding: latin-1 -*-\nx = 'é'\n", "iso8859-1", False),
        (
            b"#!python\n# vim: set fileencoding=cp1252 :\n'\x80'",
            "#!python\n# vim: set fileencoding=cp1252 :\n'€'",
            "cp1252",
            False,
        ),
        (b"# coding: utf-8-sig\n", "# coding: utf-8-sig\n", "utf-8", False),
        ("x = 1\n# coding: latin-1\n'é'".encode(), "x = 1\n# coding: latin-1\n'é'", "utf-8", False),
        ("\n\n# coding: latin-1\n'é'".encode(), "\n\n# coding: latin-1\n'é'", "utf-8", False),
    ],
)
def test_decode_and_back(data, text, encoding, bom):
    source = s.decode("x.py", data)
    assert (source.text, source.encoding, source.bom) == (text, encoding, bom)
    assert s.encode(source, source.text) == data
    s.parse(source)


@pytest.mark.parametrize(
    ("data", "line", "words"),
    [
        (b"x = 1\ny = '\xe9'\n", 2, "is not UTF-8: byte 11 is 0xe9"),
        (b"\xef\xbb\xbfx = 1\ny = '\xe9'\n", 2, "byte 14"),
        (b"\n# coding: klingon\n", 2, "unknown encoding: klingon"),
        (b"# coding: rot13\n", 1, "not one of text: rot13"),
        (b"\xef\xbb\xbf# coding: latin-1\n", 1, "byte order mark"),
        (b"# coding: ascii\n\n'\xe9'\n", 3, "is not ASCII"),
        (b"x = 1\r\nx\0", 2, "NUL byte (at byte 8)"),
        ("x = 1\n".encode("utf-16"), 1, "NUL byte"),
        (b"x" * 2_000_001, None, "larger than 2,000,000 bytes"),
    ],
)
def test_undecodable(data, line, words):
    error = failure(data)
    assert error.line == line
    assert words in error.message


def test_character_the_encoding_lacks():
    source = s.decode("x.py", b"# coding: latin-1\n")
    with pytest.raises(s.SourceError, match="cannot be written"):
        s.encode(source, "# coding: latin-1\n'€'")


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("def f(:\n", 1, "syntax error"),
        ("x = 1\nif a:\nb\n", 3, "syntax error: expected INDENT"),
        ("x = 'a\n", 1, "unterminated string"),
        ("x = $\n", 1, "not a valid character"),
        ("x = 1\n\ny = $\n", 3, "not a valid character"),
        ("x = 1\n\ny = '''a\nb\n", 3, "unterminated triple-quoted string"),
    ],
)
def test_syntax_error(text, line, words):
    error = failure(text.encode())
    assert error.line == line
    assert words in error.message
    assert "Python 2" not in error.message


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("x = 1\nprint 'a'\n", "print statement"),
        ("x = 1\nprint x, y\n", "print statement"),
        ("x = 1\nprint >>f, y\nprint y\n", "print statement"),
        ("x = 1\nif x: print 'a'\n", "print statement"),
        ("x = 1\nx = `y`\n", "backticks"),
        ("x = 1\nexec 'a' in b\n", "exec statement"),
        ("x = 1\nraise E, 'message'\n", "raise X, message"),
        ("x = 1\ny = 0777\n", "integer"),
        ("x = 1\ny = 10L\n", "integer"),
        ("x = 1\nif a <> b: pass\n", "<>"),
        ("x = 1\ny = ur'a'\n", "ur''"),
        ("try: pass\nexcept E, e: print e\n", "print statement"),
    ],
)
def test_python_2(text, what):
    error = failure(text.encode())
    assert "looks like Python 2" in error.message
    assert what in error.message
    assert error.line in (2, 3)


@pytest.mark.parametrize("text", ["print", "print (x)\n", "print(x, end='')\n", "exec(x)\n", "print = 1\n"])
def test_not_python_2(text):
    s.parse(s.decode("x.py", text.encode()))


def test_unreadable_paths(tmp_path):
    cases = {
        tmp_path: "is a directory",
        tmp_path / "missing.py": "no such file",
        tmp_path / "a\0b.py": "cannot be read",
    }
    fifo = tmp_path / "fifo.py"
    if hasattr(os, "mkfifo"):
        os.mkfifo(fifo)
        cases[fifo] = "not a regular file"
    for path, words in cases.items():
        with pytest.raises(s.SourceError, match=words) as caught:
            s.read(path)
        assert caught.value.line is None


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read everything")
def test_permission_denied(tmp_path):
    path = tmp_path / "a.py"
    path.touch(mode=0o000)
    with pytest.raises(s.SourceError, match="permission denied"):
        s.read(path)


def test_read(tmp_path):
    path = tmp_path / "a.py"
    path.write_bytes(b"x = 1\r\n")
    assert s.read(path) == s.Source(str(path), "x = 1\r\n", "utf-8", False)
    assert s.read(str(path), max_bytes=7).text == "x = 1\r\n"
    with pytest.raises(s.SourceError, match="larger than 6 bytes"):
        s.read(path, max_bytes=6)


HOSTILE = {
    "3,000 parentheses": ("'x = ' + '(' * 3000 + ')' * 3000", "nested brackets"),
    "3,000 lists": ("'[' * 3000 + ']' * 3000", "nested brackets"),
    "calls hidden behind strings": ("'x = ' + 'f(\")\", ' * 3000 + '1' + ')' * 3000", "nested brackets"),
    "signs": ("'x = ' + '-' * 1900000 + '1'", "in one expression"),
    "spaced signs": ("'x = ' + '- - ' * 400000 + '1'", "in one expression"),
    "sum": ("'x = ' + 'a+' * 900000 + '1'", "in one expression"),
    "not": ("'x = ' + 'not ' * 400000 + '1'", "in one expression"),
    "lambda": ("'x = ' + 'lambda:' * 200000 + '1'", "in one expression"),
    "attributes": ("'x = a' + '.b' * 900000", "in one expression"),
    "calls of calls": ("'x = a' + '()' * 900000", "in one expression"),
    "sum in an f-string": ("'f\"{' + 'a+' * 900000 + 'a}\"'", "in one expression"),
    "strings": ("'x = ' + '\"a\" ' * 400000", "string literals"),
    "elif": ("'if a: pass\\n' + 'elif a: pass\\n' * 150000", "elif"),
    "patterns": ("'match a:\\n case ' + '(' * 40 + 'a' + ')' * 40 + ': pass'", "case pattern"),
    "numbers": ("'x = [' + '1,' * 990000 + ']'", "separators"),
    "backslashes": ("'x = 1 ' + '\\\\' * 1900000", ""),
    "quotes": ("'\"' * 1999999", ""),
    "open brackets": ("'(' * 1999999", "nested brackets"),
    "one name": ("'a' * 1999999", None),
    "one string": ("'\"' + 'a' * 1999000 + '\"'", None),
    "one comment": ("'#' * 1999999", None),
    "spaces": ("' ' * 1999999", None),
    "2,000 terms": ("'x = ' + 'f(a).b + ' * 2000 + '1'", None),
    "2,000 elif": ("'if a: pass\\n' + 'elif b: f()\\n' * 2000", None),
    "2,000 attributes": ("'x = a' + '.b' * 2000", None),
    "150 brackets": ("'x = ' + 'f([' * 75 + '1' + '])' * 75", None),
    "99 blocks": ("''.join(' ' * i + 'if a:\\n' for i in range(99)) + ' ' * 99 + 'f()'", None),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_text_neither_crashes_nor_stalls(name):
    """In a process of its own, which a parser that overflows its stack would take down."""
    text, words = HOSTILE[name]
    program = f"""
import sys
from transferlint.syntax import dump, lower, source, spans
text = {text}
try:
    tree = source.parse(source.decode("x.py", text.encode()))
except source.SourceError as error:
    print("refused:", error)
else:
    program = lower.lower(tree, "x.py")
    positions = spans.Spans(tree, text)
    assert all(positions.of(n)[1] <= len(text) for f in program.functions for n in f.nodes if n is not None)
    dump.dump(program)
    print("fine")
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    if words is None:
        assert done.stdout == "fine\n"
    else:
        assert done.stdout.startswith("refused: x.py")
        assert words in done.stdout
        assert done.stdout.count("\n") == 1
