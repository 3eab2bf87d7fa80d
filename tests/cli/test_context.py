"""`--context` and `--project-root` reach the engine."""

from __future__ import annotations

import json


def test_context_is_a_setting(run, folder):
    assert json.loads(run("check", "--show-settings").out)["context"] == "project"
    assert json.loads(run("check", "--show-settings", "--context", "file").out)["context"] == "file"
    assert run("check", "--context", "world").code == 2


def test_both_contexts_find_the_same_words(run, write, folder):
    write("a.py", "import torch\nfrom b import f\nbad\n")
    write("b.py", "import torch\ndef f(): pass\nbad\n")
    alone, together = (run("check", "a.py", "-f", "concise", "--context", one) for one in ("file", "project"))
    assert alone.out == together.out != ""
    assert run("check", "a.py", "--project-root", ".").code == 1
