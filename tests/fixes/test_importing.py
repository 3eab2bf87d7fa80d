"""The import that a fix needs: the name the file has, or a line in the right place, or nothing."""

from __future__ import annotations

import libcst
import pytest

from transferlint.fixes.rounds import apply_edits
from transferlint.flow.analysis import analyse
from transferlint.flow.lattice.options import AnalysisOptions
from transferlint.syntax import lower, spans
from transferlint_rules.code.importing import torch_name

FUNCTION = "\n\ndef f(x):\n    return x.item()\n"


def named(text: str, function: str = "f") -> tuple[str, str]:
    """What torch is called in a function of the text, and the text with what that needs."""
    tree = libcst.parse_module(text)
    program = lower.lower(tree, "a.py")
    facts = analyse("a.py", text, program, spans.Spans(tree, text), AnalysisOptions())
    of = next(one for one in facts.functions if one.function.name == function)
    reg = next(reg for reg in range(len(of.code)) if of.has_text(reg) and of.text(reg) == "x.item()")
    name, edits = torch_name(of, reg)
    return name, apply_edits(text, edits)


@pytest.mark.parametrize(
    ("head", "name"),
    [("import torch\n", "torch"), ("import torch as th\n", "th"), ("import torch.nn\n", "torch")],
)
def test_the_name_that_the_file_has(head, name):
    text = head + FUNCTION
    assert named(text) == (name, text)


@pytest.mark.parametrize(
    ("head", "after"),
    [
        ("from torch import nn\n", "import torch\nfrom torch import nn\n"),
        ("import torch.nn.functional as F\n", "import torch\nimport torch.nn.functional as F\n"),
        (
            '"""Doc."""\nfrom __future__ import annotations\nimport os\nfrom numpy import (\n    a,\n    b,\n)\n',
            '"""Doc."""\nfrom __future__ import annotations\nimport os\nimport torch\nfrom numpy import (\n'
            "    a,\n    b,\n)\n",
        ),
        ("# x\nimport os, sys\n", "# x\nimport torch\nimport os, sys\n"),
        ("import os\r\nfrom .a import b\r\n", "import os\r\nimport torch\r\nfrom .a import b\r\n"),
        ("import os\nfrom torch import (\n    nn,\n)\n", "import os\nimport torch\nfrom torch import (\n    nn,\n)\n"),
    ],
)
def test_the_import_that_is_added(head, after):
    name, text = named(head + FUNCTION)
    assert (name, text) == ("torch", after + FUNCTION)
    assert named(text) == ("torch", text)


@pytest.mark.parametrize(
    "text",
    [
        FUNCTION,
        "import os\ntorch = 3\n" + FUNCTION,
        "import os\n\n\ndef f(x, torch):\n    return x.item()\n",
        "import os\nif os:\n    import torch\nelse:\n    torch = None\n\n\ndef g():\n    torch = 1\n" + FUNCTION[:0]
        + "\n\ndef f(x):\n    torch = 2\n    return x.item()\n",
        "def f(x):\n    return x.item()\n\n\nimport os\n",
    ],
)  # fmt: skip
def test_no_name_where_it_is_taken_or_has_no_place(text):
    assert named(text) == ("", text)
