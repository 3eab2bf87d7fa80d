"""The reports of the run-time half show names and source of the program, and obey nothing in them."""

from __future__ import annotations

from transferlint import pages


def test_a_page_shows_control_and_bidirectional_characters_as_escapes(tmp_path):
    (tmp_path / "p.html").write_text("<p>{{ name }}</p><pre>{{ source }}</pre>{{ message|words }}{{ number }}")
    values = {"name": "\x1b[31m<b>\u202e", "source": "a\n\tb\x00", "message": "`\u2066x` & y", "number": 3}
    made = pages.render("p.html", tmp_path, values)
    assert made == ("<p>\\x1b[31m&lt;b&gt;\\u202e</p><pre>a\n\tb\\x00</pre><code>\\u2066x</code> &amp; y3")
