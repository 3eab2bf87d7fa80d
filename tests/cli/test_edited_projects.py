"""Whatever is edited between runs, a run with the cache says what one without it says, in one process or several, of
the whole project and of a file alone."""

from __future__ import annotations

import contextlib
import io
import json
import os
import tempfile
from pathlib import Path
from unittest import mock

from hypothesis import given, settings
from hypothesis import strategies as st

from transferlint.cache import places, signatures
from transferlint.cli import main

LIB = "import torch\n\n\ndef number(x):\n    return x.item()\n"
LIB_ON_HOST = "import torch\n\n\ndef number(x):\n    return x.cpu()\n"
MODEL = "import torch\n\n\nclass Model(torch.nn.Module):\n    def forward(self, x):\n        return step(x)\n\n\n"
TEXTS = {
    "train.py": (
        "import torch\nfrom pkg.lib import number\n\n\ndef train(loader, model):\n    model.cuda()\n"
        "    for x in loader:\n        print(number(model(x.cuda())))\n",
        "import torch\nfrom pkg import number\n\n\ndef train(rows, model):\n    print(number(torch.ones(3).cuda()))\n",
        "import torch\n\n\ndef train(loader, model):\n    for x in loader:\n        print(model(x.cuda()).item())\n",
        "import torch  # here\n\n\n\ndef train(loader, model):\n    for x in loader:\n        print(model(x).item())\n",
    ),
    "pkg/__init__.py": ("", "from .lib import number\n", "from .lib import *\n"),
    "pkg/lib.py": (LIB, LIB_ON_HOST, LIB.replace("x.item()", "x.item()  # transferlint: ignore[TL101] once")),
    "pkg/model.py": (
        MODEL + "def step(x):\n    return x.sum().item()\n",
        MODEL + "from pkg.lib import number as step\n",
    ),
    "apart/__init__.py": ("", "import pkg\n"),
    "apart/tool.py": (
        "import torch\n\n\ndef steps(loader):\n    for x in loader:\n        x.cuda().item()\n",
        "import torch\nfrom pkg import lib\n\n\ndef steps(rows):\n    for x in rows:\n        lib.number(x.cuda())\n",
        "import torch\n\n\nclass Tool:\n    def number(self, x):\n        return x.item()\n",
    ),
    "transferlint.toml": ("", "ignore = ['TL101']\n", "min-confidence = 'possible'\n", "exclude = ['pkg']\n"),
    ".gitignore": ("", "train.py\n"),
}
EDIT = st.one_of(*(st.tuples(st.just(path), st.sampled_from((None, *texts))) for path, texts in TEXTS.items()))
RUNS = (["."], ["-j", "2", "."], ["train.py"], ["pkg/lib.py"])


def check(*arguments: str) -> tuple[int, str, str]:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(["check", "-f", "json", *arguments])
    return code, out.getvalue(), err.getvalue()


@settings(max_examples=5, deadline=None)
@given(st.lists(EDIT, min_size=1, max_size=4))
def test_a_cache_changes_nothing(edits):
    before = os.getcwd()
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        stack.enter_context(mock.patch.object(signatures, "SLACK", -(10**18)))
        stack.enter_context(mock.patch.dict(os.environ, {places.VARIABLE: os.path.join(folder, "kept")}))
        stack.callback(os.chdir, before)
        os.makedirs(os.path.join(folder, "work", ".git"))
        os.chdir(os.path.join(folder, "work"))
        edits = [*((path, texts[0]) for path, texts in TEXTS.items()), *edits]
        for number, (path, text) in enumerate(edits, start=1):
            if text is not None:
                os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
                Path(path).write_text(text)
                os.utime(path, ns=(number, number))  # a clock that ticks for every edit
            elif os.path.exists(path):
                os.unlink(path)
            if number >= len(TEXTS):
                for arguments in RUNS:
                    assert check(*arguments) == check(*arguments) == check("--no-cache", *arguments)


def test_a_file_that_appears_changes_what_a_bare_name_in_a_package_means(tmp_path, monkeypatch):
    monkeypatch.setattr(signatures, "SLACK", -(10**18))
    monkeypatch.setenv(places.VARIABLE, str(tmp_path / "kept"))
    folder = tmp_path / "work"
    (folder / "core").mkdir(parents=True)
    monkeypatch.chdir(folder)
    train = TEXTS["train.py"][0].replace("pkg.lib", "lib")
    codes: list[set[tuple[str, str]]] = []
    files = [("pyproject.toml", ""), ("core/__init__.py", ""), ("core/train.py", train)]
    for path, text in [*files, ("core/lib.py", LIB), ("core/lib.py", LIB_ON_HOST), ("lib.py", LIB)]:
        Path(path).write_text(text)
        if path.endswith("lib.py"):
            assert check(".") == check(".") == check("--no-cache", ".")
            assert check("core/train.py") == check("--no-cache", "core/train.py")
        codes.append({(one["path"], one["code"]) for one in json.loads(check(".")[1])["findings"]})
    read, copied = {("core/train.py", "TL101")}, {("core/train.py", "TL102")}
    assert codes[2:] == [set(), read, copied, read]
