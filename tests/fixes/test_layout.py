"""How fixes are laid out: within the line length of the project's formatter, and as the lines around them."""

from __future__ import annotations

import ast
import textwrap
from pathlib import Path

import pytest
from showing import RULES, fix, offered

from proving import check_bytes
from transferlint.fixes.layout import laid_out
from transferlint.fixes.line_length import BLACK, YAPF, formatter, line_length
from transferlint.fixes.rounds import apply_edits
from transferlint.fixes.surroundings import Statements, parsed
from transferlint.model import Edit, Safety


def edited(text: str, old: str, new: str, limit: int = 60) -> str:
    start = text.index(old)
    edit = Edit(start, start + len(old), new)
    made = apply_edits(text, laid_out(Statements(text), (edit,), limit))
    assert ast.dump(ast.parse(made)) == ast.dump(ast.parse(text.replace(old, new, 1)))
    return made


# what stands in a function, what is put for Q, and how that is laid out in 60 columns, as black has it
CASES = [
    ("x = f(aaa, Q)", "device=bbbbb.device", "x = f(aaa, device=bbbbb.device)"),
    (
        "x = torch.zeros(aaaaaaaaaaa, Q).sum().cpu()",
        "bbbbbbbbb, device=xxxxxxx.device",
        "x = (\n    torch.zeros(\n        aaaaaaaaaaa, bbbbbbbbb, device=xxxxxxx.device\n    )\n"
        "    .sum()\n    .cpu()\n)",
    ),
    (
        "x = torch.zeros(aaaaaaaaaaa, Q)  # type: ignore",
        "bbbbbbbbb, device=xxxxxxx.device",
        "x = torch.zeros(\n    aaaaaaaaaaa, bbbbbbbbb, device=xxxxxxx.device\n)  # type: ignore",
    ),
    ("x = f(aaaaaaa, Q)  # some words of it", "device=bbb", "x = f(aaaaaaa, device=bbb)  # some words of it"),
    ("x = f(aaaaaaaaaaaaaaa, Q)  # type: ignore", "device=bbbbbbbbbbb", None),
    (
        "x = f(aaaaaaa, Q)  # some words of it",
        "device=bbbbbbbbb.device",
        "# some words of it\nx = f(aaaaaaa, device=bbbbbbbbb.device)",
    ),
    (
        "if aaaaaaaaaaaaaaa and Q:\n    pass",
        "bbbbbbbbbbbbbbbbbbbb and ccccccccccccc % 16 == 15",
        "if (\n    aaaaaaaaaaaaaaa\n    and bbbbbbbbbbbbbbbbbbbb\n    and ccccccccccccc % 16 == 15\n):\n    pass",
    ),
    (
        "return Q",
        "aaaaaaaaaaaaaaaaaaaaa * cccccccccccc + eeeeeeeeeeeeeee % 16",
        "return (\n    aaaaaaaaaaaaaaaaaaaaa * cccccccccccc\n    + eeeeeeeeeeeeeee % 16\n)",
    ),
    (
        "return aaaa, Q",
        "bbbbbbbbbbbbbbbbbbbbbbbbbbb(x), ccccccccccccccccccc(x)",
        "return (\n    aaaa,\n    bbbbbbbbbbbbbbbbbbbbbbbbbbb(x),\n    ccccccccccccccccccc(x),\n)",
    ),
    (
        "f(\n    a=1,\n    b=Q,\n)",
        "torch.zeros(aaaaaaaaaaaaa, bbbbbbbbbbbbbbb, dtype=ccccccccc)",
        "f(\n    a=1,\n    b=torch.zeros(\n        aaaaaaaaaaaaa, bbbbbbbbbbbbbbb, dtype=ccccccccc\n    ),\n)",
    ),
    (
        "f(\n    a, Q\n)",
        "torch.zeros(aaaaaaaaaaa, bbbbbbbbbbbbbbb, dtype=cc)",
        "f(\n    a,\n    torch.zeros(aaaaaaaaaaa, bbbbbbbbbbbbbbb, dtype=cc),\n)",
    ),
    (
        "f(\n    alpha[Q], b=1\n)",
        "torch.arange(aaaaaaaaaaaaa, device=aaaaaaa), -1",
        "f(\n    alpha[\n        torch.arange(aaaaaaaaaaaaa, device=aaaaaaa), -1\n    ],\n    b=1,\n)",
    ),
    (
        "return values[Q, b].reshape(\n    size\n)",
        "torch.arange(aaaaaaaaaaaaaaaa, device=xxxxxxx)",
        "return values[\n    torch.arange(aaaaaaaaaaaaaaaa, device=xxxxxxx), b\n].reshape(\n    size\n)",
    ),
    (
        "x = cat((aaa, Q), dim=1)",
        "torch.zeros(bbbbbbbbbbbbbbbb, device=ccccccc)",
        "x = cat(\n    (\n        aaa,\n        torch.zeros(bbbbbbbbbbbbbbbb, device=ccccccc),\n    ),\n    dim=1,\n)",
    ),
    (
        "mask = (\n    Q\n)",
        "torch.ones(aaaaaaaaaaaaaaaaaa, device=bbbbbbb, dtype=ccccc)",
        "mask = torch.ones(\n    aaaaaaaaaaaaaaaaaa, device=bbbbbbb, dtype=ccccc\n)",
    ),
    (
        "mask = (torch.ones(Q))",
        "aaaaaaaaaaaaaaaaaa, device=bbbbbbb, dtype=ccccc",
        "mask = torch.ones(\n    aaaaaaaaaaaaaaaaaa, device=bbbbbbb, dtype=ccccc\n)",
    ),
    (
        "mask = (\n    Q\n    * 2\n)",
        "torch.ones(aaaaaaaaaaaaaaaaaa, device=bbbbbbb, dtype=ccccc)",
        "mask = (\n    torch.ones(\n        aaaaaaaaaaaaaaaaaa, device=bbbbbbb, dtype=ccccc\n    )\n    * 2\n)",
    ),
    (
        "return foo(a, Q, eeeeeeeeee,\n           b, c)",
        "torch.zeros(aaa, bb, dtype=cc), eee",
        "return foo(a, torch.zeros(aaa, bb, dtype=cc), eee,\n           eeeeeeeeee,\n           b, c)",
    ),
    (
        "x = (\n    torch.arange(3)\n    .float()\n    Q\n)",
        ".to(device=aaaaaaaaaaaaaaaaaaaaa, dtype=bbbbbbbbbb)",
        "x = (\n    torch.arange(3)\n    .float()\n    .to(device=aaaaaaaaaaaaaaaaaaaaa, dtype=bbbbbbbbbb)\n)",
    ),
    (
        "a, b = aaaaaa.to(device, Q), bbbbb.to(dev)",
        "non_blocking=True",
        "a, b = (\n    aaaaaa.to(device, non_blocking=True),\n    bbbbb.to(dev),\n)",
    ),
    (
        "x = [aaaaaa.to(device, Q), bbbbbbb.to(dev)]",
        "non_blocking=True",
        "x = [\n    aaaaaa.to(device, non_blocking=True),\n    bbbbbbb.to(dev),\n]",
    ),
    (
        "x = [f(a, b).to(Q) for a, b in zip(aaaaaaa, bbbbbbbb)]",
        "device=dev",
        "x = [\n    f(a, b).to(device=dev)\n    for a, b in zip(aaaaaaa, bbbbbbbb)\n]",
    ),
    ("x = yQ", ".aaaaaaaaaaaaaaaaaaaaaaa.bbbbbbbbbbbbbbbbbbbbbbbb.cccccccccccc", None),
    ("x = f('''a\n''', Q)", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa, bbbbbbbbbbbbbbbbbbbbbbbbbbb", None),
]


@pytest.mark.parametrize(("before", "new", "after"), CASES)
def test_lines_that_a_fix_makes_too_long_are_wrapped(before: str, new: str, after: str | None) -> None:
    text, wanted = (
        "def f():\n" + textwrap.indent(one, "    ") + "\n"
        for one in (before, before.replace("Q", new) if after is None else after)
    )
    assert edited(text, "Q", new) == wanted


def test_a_line_that_was_too_long_before_is_left_alone() -> None:
    text = "x = 'a long text, on one line, that nobody wants to wrap, as it is one'; y = 1\n"
    assert edited(text, "y = 1", "y = 1") == text


def test_two_changes_of_one_line_are_wrapped_together() -> None:
    text = "value = function(first, second)\nother = 1\n"
    edits = (Edit(17, 22, "first_argument_it"), Edit(24, 30, "second_argument"), Edit(31, 31, "\nmore = 2"))
    made = apply_edits(text, laid_out(Statements(text), edits, 40))
    assert made == "value = function(\n    first_argument_it, second_argument\n)\nmore = 2\nother = 1\n"


@pytest.mark.parametrize(
    ("files", "length"),
    [
        ({"pyproject.toml": "[tool.ruff]\nline-length = 100\n"}, 100),
        ({"pyproject.toml": "[tool.black]\nline-length = 99\n"}, 99),
        ({"pyproject.toml": "[tool.black]\n"}, 88),
        ({"pyproject.toml": "[tool.black]\nline_length = 100\n"}, 100),
        ({"pyproject.toml": "[tool.ruff]\nline-length = 120\n[tool.black]\nline-length = 90\n"}, 90),
        ({"ruff.toml": "line-length = 70\n", "pyproject.toml": "[tool.black]\nline-length = 99\n"}, 70),
        ({".ruff.toml": 'extend = "other.toml"\n', "other.toml": "line-length = 71\n"}, 71),
        ({".ruff.toml": 'extend = ".ruff.toml"\n'}, 88),
        ({"setup.cfg": "[flake8]\nmax-line-length = 110\n"}, 88),  # which allows more than the file makes use of
        ({"setup.cfg": "[flake8]\nmax-line-length = 85\n"}, 85),
        ({"tox.ini": "[pycodestyle]\nmax_line_length = 79  # why\n"}, 79),
        ({".flake8": "[flake8]\nmax-line-length = 100\n", "pyproject.toml": "[tool.ruff]\nline-length = 90\n"}, 90),
        ({"a/ruff.toml": "line-length = 77\n", "pyproject.toml": "[tool.ruff]\nline-length = 90\n"}, 77),
        ({"pyproject.toml": "[tool.yapf]\ncolumn_limit = 120\n"}, 120),
        ({".pre-commit-config.yaml": "- repo: b\n  hooks:\n  - id: black\n    args: [--line-length=100]\n"}, 100),
        ({".pre-commit-config.yaml": "  - id: flake8\n    args: [--line-length=100]\n"}, 88),
        ({"pyproject.toml": "[tool.ruff.lint]\n[tool.black]\nline-length = 120\n"}, 88),
        ({"setup.cfg": "[yapf]\nbased_on_style = google\n[flake8]\nmax-line-length = 110\n"}, 80),
        ({".style.yapf": "[style]\nbased_on_style = pep8\ncolumn_limit: 100\n", "setup.cfg": "[yapf]\n"}, 100),
        ({".style.yapf": "column_limit = 100\n"}, 88),
        ({"../pyproject.toml": "[tool.ruff]\nline-length = 60\n"}, 88),
        ({"pyproject.toml": "[tool.ruff\n", "setup.cfg": "no section\n", "ruff.toml": "line-length = 'x'\n"}, 88),
        ({"pyproject.toml": "tool = 1\n", ".flake8": "[flake8]\nmax-line-length = -4\n"}, 88),
    ],
)
def test_the_nearest_formatter_says_how_long_a_line_may_be(files: dict[str, str], length: int, tmp_path: Path) -> None:
    root = tmp_path / "repository"
    (root / "a").mkdir(parents=True)
    (root / ".git").mkdir()
    for name, text in files.items():
        (root / name).write_text(text)
    assert line_length(str(root / "a" / "b.py"), "x = 1\n") == length


@pytest.mark.parametrize(
    ("lines", "length"),
    [
        (["x = 1"], 88),
        (["x" * 80 + " = f(1, 2, 34567890)"], 100),
        (["x" * 280 + " = f(1, 2, 34567890)"], 120),
        (["x" * 280 + " = f(1, 2, 34567890)"] * 3, 300),
        (["# " + "a" * 98, f"x = f('{'a' * 200}')", "x = 1  # " + "a" * 100], 88),
        (['"""Words.', "a" * 100 + " = (b)", '"""'], 88),
        (["x = f(1)"] * 50, 88),
        (["x = f(1)"] * 200, 79),
        (["x = f(1)", *["x" * 60 + " = f(1, 2, 34567890)"] * 200], 88),
    ],
)
def test_without_settings_the_code_of_the_file_is_the_example(lines: list[str], length: int, tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    assert line_length(str(tmp_path / "a.py"), "\n".join(lines) + "\n") == length


# what stands in a function, what is taken out of it, and what is left
CHAINS = [
    ("y = (\n    f(x)\n    .to(d)\n)", "\n    .to(d)", "y = f(x)"),
    ('y["a"] = (\n    f(x)\n    .to(d)\n)', "\n    .to(d)", 'y["a"] = f(x)'),
    ("y = (f(x)\n     .to(d))", "\n     .to(d)", "y = f(x)"),
    ("return (\n    f(x)\n    .to(d)\n    .view(1, -1)\n)", "\n    .to(d)", "return f(x).view(1, -1)"),
    ("y = (\n    f(\n        x,\n        y,\n    )\n    .to(d)\n)", "\n    .to(d)", "y = f(\n    x,\n    y,\n)"),
    (
        "y = (\n    function_of(argument_1, argument_2)\n    .to(d)\n    .half()\n    .view(size_of_it, -1)\n)",
        "\n    .to(d)",
        "y = (\n    function_of(argument_1, argument_2)\n    .half()\n    .view(size_of_it, -1)\n)",
    ),
    ("y = (\n    f(x)\n    .to(d)\n)  # why", "\n    .to(d)", "y = f(x)  # why"),
    (
        "y = (\n    function_of(argument_1, argument_2)\n    .to(d)\n    .view(size_of_it, -1, 12)\n)",
        "\n    .to(d)",
        "y = function_of(argument_1, argument_2).view(\n    size_of_it, -1, 12\n)",
    ),
    ("y = (\n    f(x)  # why\n    .to(d)\n)", "\n    .to(d)", "y = (\n    f(x)  # why\n)"),
    ("y = (\n    f(x)\n    .to(d)\n    + z\n)", "\n    .to(d)", "y = (\n    f(x)\n    + z\n)"),
]


@pytest.mark.parametrize(("before", "gone", "after"), CHAINS)
def test_brackets_that_a_chain_of_calls_needed_go_with_it(before: str, gone: str, after: str) -> None:
    text, wanted = ("def f():\n" + textwrap.indent(one, "    ") + "\n" for one in (before, after))
    assert edited(text, gone.replace("\n", "\n    "), "") == wanted


HEAD = "import torch\n\n\ndef f(x: torch.Tensor, n: int, words):\n"


@pytest.mark.parametrize(
    ("code", "body", "wanted"),
    [
        (
            "TL401",
            "y = torch.zeros(\n    n,\n    n,\n).to(x.device)",
            "y = torch.zeros(\n    n,\n    n,\n    device=x.device,\n)",
        ),
        ("TL401", "y = torch.zeros(n,\n                n).to(x.device)", "y = torch.zeros(n,\n                n,\n"
         "                device=x.device)"),
        ("TL401", "y = torch.zeros(\n    n, n\n).to(x.device)", "y = torch.zeros(\n    n, n, device=x.device\n)"),
        ("TL401", "y = torch.zeros(n, n,).to(x.device)", "y = torch.zeros(n, n, device=x.device,)"),
        ("TL401", "y = torch.zeros(n).to(x)", "y = torch.zeros(n, device=x.device, dtype=x.dtype)"),
        (
            "TL401",
            "y = torch.Tensor([n]).to(x.device, torch.long)",
            "y = torch.full((1,), n, dtype=torch.long, device=x.device)",
        ),
        ("TL104", "y = x + torch.tensor(0.0, device=x.device)", "y = x + torch.zeros((), device=x.device)"),
        (
            "TL104",
            "y = x + torch.tensor([1], dtype=x.dtype, device=x.device)",
            "y = x + torch.ones(1, dtype=x.dtype, device=x.device)",
        ),
        ("TL104", "y = x + torch.tensor(words, device=x.device)", None),
        ("TL104", "y = x + torch.tensor(x.shape, device=x.device)", None),
    ],
)  # fmt: skip
def test_text_is_what_a_person_would_write(code: str, body: str, wanted: str | None) -> None:
    tail = "        x = x + y\n    return x\n"
    text, after = (
        HEAD + "    x = x.cuda()\n    for _ in range(n):\n" + textwrap.indent(one, " " * 8) + "\n" + tail
        for one in (body, body if wanted is None else wanted)
    )
    assert fix(text, RULES[code], unsafe=True).text == after


def test_one_mistake_has_one_fix() -> None:
    """A move whose result is dropped is not the first of two uploads: once it is assigned the second moves nothing."""
    text = (
        "import torch\n\n\ndef train(model, loader, device):\n    for x, labels in loader:\n"
        "        labels.to(device)\n        loss = model(x.to(device), labels.to(device))\n        loss.backward()\n"
    )
    for code in ("TL204", "TL501"):
        assert "on_device" not in fix(text, RULES[code], unsafe=True).text


def test_what_a_condition_may_leave_out_is_not_made_before_the_loop() -> None:
    text = (
        "import torch\n\n\ndef f(model, loader, crop, device):\n    for x in loader:\n"
        "        if crop is not None:\n            x = x + crop.color.to(device)\n        model(x)\n"
    )
    assert [one.fix for one in check_bytes("example.py", text.encode(), [RULES["TL103"]])] == [None]


def test_what_is_parsed_again_is_what_stands_around_the_fix(monkeypatch: pytest.MonkeyPatch) -> None:
    """A long line in a long function: the text is parsed once, and then the statement alone."""
    head = "def f(a, b):\n    for one in a:\n"
    text = head + "        one = call(a, b)\n" * 400
    read: list[int] = []
    for module in ("layout", "surroundings"):
        name = f"transferlint.fixes.{module}.parsed"
        monkeypatch.setattr(name, lambda given: read.append(len(given)) or parsed(given))
    statements = Statements(text)
    for offset in (len(head) + text[len(head) :].index("call"), text.rindex("call")):
        edit = Edit(offset, offset, "another_name_that_is_long.and_its_attribute.")
        made = apply_edits(text, laid_out(statements, (edit,), 66))
        assert "another_name_that_is_long.and_its_attribute.call(\n            a, b\n        )\n" in made
    assert read[0] == len(text)
    assert max(read[1:]) < 300


@pytest.mark.parametrize("head", ["if a:\n        b = 1\n    elif ", "while ", "with ", "if "])
def test_the_head_of_a_statement_is_laid_out_without_its_suite(head: str) -> None:
    text = f"def f(a, b):\n    {head}call(a, b):\n" + "        x = 1\n" * 3 + "    return a\n"
    offset = text.index("call")
    edit = Edit(offset, offset, "another_name_that_is_long.and_its_attribute.")
    made = apply_edits(text, laid_out(Statements(text), (edit,), 60))
    assert "another_name_that_is_long.and_its_attribute.call(\n        a, b\n    ):\n        x = 1\n" in made


CLOSED = "def g():\n    x = f(\n        1)\n    y = f(\n        [2, 3])\n    z = f(\n        4)\n\n\n"
ALIGNED = (
    "def g():\n    w = f(1,\n          2)\n    x = f(1,\n          2)\n    y = f(1,\n          2,\n          3)\n\n\n"
)


@pytest.mark.parametrize(
    ("above", "new", "after"),
    [
        (CLOSED, "bbbbbbbbbbbbbbbbbbbb, device=ccccc", "x = f(\n        aaaaaaaa, bbbbbbbbbbbbbbbbbbbb, device=ccccc)"),
        (
            CLOSED,
            "bbbbbbbbbbbbbbbbbbbb, device=ccccc, dtype=ddddddddddddddd",
            "x = f(\n        aaaaaaaa, bbbbbbbbbbbbbbbbbbbb, device=ccccc,\n        dtype=ddddddddddddddd)",
        ),
        (
            ALIGNED,
            "bbbbbbbbbbbbbbbbbbbb, device=ccccccc",
            "x = f(aaaaaaaa, bbbbbbbbbbbbbbbbbbbb,\n          device=ccccccc)",
        ),
    ],
)
def test_lines_are_wrapped_as_the_others_of_the_file(above: str, new: str, after: str) -> None:
    text = f"{above}def h():\n    x = f(aaaaaaaa, Q)\n"
    assert edited(text, "Q", new, 53 if above == CLOSED else 45) == f"{above}def h():\n    {after}\n"


LONG = "a_name_of_thirty_characters_yes"


@pytest.mark.parametrize(
    ("value", "safety"),
    [
        ("torch.randn(n, n, 3).to(x)", Safety.UNSAFE),
        (f"torch.cat([x, torch.randn({LONG}, {LONG}).to(x)], 1)", Safety.DISPLAY),
    ],
)
def test_what_needs_several_lines_more_is_only_shown(value: str, safety: Safety) -> None:
    text = f"import torch\n\n\ndef f(x: torch.Tensor, n, {LONG}):\n    return {value}\n"
    ((found, _, _),) = offered("TL401", text)
    assert found is safety


@pytest.mark.parametrize(
    ("above", "added"),
    [
        ("", 'device="cuda"'),
        ("k = f(x, dim = -1)\n", 'device = "cuda"'),
        ("k = f(x, dim = -1) + f(x, dim=1)\n", 'device="cuda"'),
        ("k = {'a': 'b'}\n", "device='cuda'"),
        ("b, c, h, w = x.shape\nd, e = f(1)\n", 'device="cuda"'),
        ("k = {'a': 'b', \"c\": \"it's\"}\n", 'device="cuda"'),
        ("# it's 'so'\n", 'device="cuda"'),
    ],
)
def test_what_is_added_is_written_as_the_file_is(above: str, added: str) -> None:
    text = (
        f"import torch\n\n{above}\n\ndef f(x, n):\n    for _ in x:\n        y = torch.randn(n).cuda()\n    return y\n"
    )
    ((_, _, made),) = offered("TL401", text)
    assert f"torch.randn(n, {added})" in made


def test_keywords_are_written_as_those_of_the_same_call() -> None:
    spaced = "k = f(x, dim = -1, size = 3)\n"
    call = "torch.zeros(n, dtype=torch.half)"
    text = f"import torch\n\n{spaced}\n\ndef f(x: torch.Tensor, n):\n    return x * {call}.to(x.device)\n"
    ((_, _, made),) = offered("TL401", text)
    assert "torch.zeros(n, dtype=torch.half, device=x.device)" in made


def test_lines_after_a_loop_are_indented_as_its_body() -> None:
    body = "  out = []\n  for i in range(n):\n    out.append(x[i].mean().item())\n  return sum(out)\n"
    ((_, _, made),) = offered("TL101", f"import torch\n\n\ndef f(x: torch.Tensor, n: int):\n  x = x.cuda()\n{body}")
    assert "  if out:\n    out = torch.stack(out).tolist()\n" in made


def test_a_comment_stays_behind_a_line_that_gets_no_longer() -> None:
    comment = "  # words that make of the line one that is too long for sixty"
    assert edited(f"x = f(a[:, [0]]){comment}\n", "[0]", ":1") == f"x = f(a[:, :1]){comment}\n"
    assert edited(f"x = f(a[:, 0]){comment}\n", "0", "0:1") == f"x = f(a[:, 0:1]){comment}\n"


@pytest.mark.parametrize("value", ["torch.randn(n, n, n, {0}, {0}).to(x)", "torch.randn({0})[:, n:{0}].to(x.device)"])
def test_a_line_that_is_broken_is_only_shown(value: str) -> None:
    head = f"import torch\n\n\ndef f(x: torch.Tensor, n, {LONG}):\n"
    text = f"{head}    a_long_name_of_y = {value.format(LONG)}\n    return x * a_long_name_of_y\n"
    ((found, _, _),) = offered("TL401", text)
    assert found is Safety.DISPLAY


@pytest.mark.parametrize(("width", "wrapped"), [(20, False), (60, True)])
def test_the_only_argument_of_a_call_gets_no_line_of_its_own(width: int, wrapped: bool) -> None:
    size = "a" * width
    head = f"import torch\n\n\ndef f(x: torch.Tensor, {size}):\n"
    text = f"{head}    act = (torch.rand({size}) * 2 - 1).unsqueeze(0).to(x.device)\n    return act\n"
    ((found, _, made),) = offered("TL401", text)
    assert found is Safety.DISPLAY
    assert ("unsqueeze(\n        0\n    )\n" in made) is wrapped


SET_UP = {
    "setup.cfg": "[yapf]\nbased_on_style = pep8\n",
    ".style.yapf": "[style]\ncolumn_limit = 80\n",
    "pyproject.toml": "[tool.yapf]\n",
    ".pre-commit-config.yaml": "repos:\n  - repo: b\n    hooks:\n      - id: yapf\n",
}


@pytest.mark.parametrize("name", [*SET_UP, ""])
def test_lines_are_not_wrapped_for_yapf(name: str, tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    if name:
        (tmp_path / name).write_text(SET_UP[name])
    path = str(tmp_path / "a.py")
    assert formatter(path, "x = 1\n") == (YAPF if name else "")
    for arguments, wraps in (("n", False), ("n,\n        n", True)):
        text = f"import torch\n\n\ndef f(x: torch.Tensor, n):\n    return x * torch.randn({arguments}).to(x.device)\n"
        (found,) = check_bytes(path, text.encode(), [RULES["TL401"]])
        assert found.fix is not None
        assert found.fix.safety is (Safety.DISPLAY if wraps else Safety.UNSAFE)


def test_the_nearest_folder_says_which_formatter(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "a").mkdir()
    (tmp_path / "setup.cfg").write_text(SET_UP["setup.cfg"])
    (tmp_path / "a" / "pyproject.toml").write_text("[tool.black]\n")
    assert formatter(str(tmp_path / "a" / "b.py"), "") == BLACK
    assert formatter(str(tmp_path / "b.py"), "") == YAPF


@pytest.mark.parametrize(
    ("value", "safety"),
    [
        ("torch.randn(n).to(x.device)", Safety.UNSAFE),
        (f"torch.randn({LONG}, {LONG}).to(x.device)", Safety.DISPLAY),  # would be wrapped
        (f"torch.randn({LONG}, n, n, n, n, n, n).to(\n        x.device)", Safety.DISPLAY),  # was wrapped before
        (f"torch.randn(\n        {LONG}).to(x.device)", Safety.DISPLAY),
        (f"torch.where({LONG}, x, torch.randn(\n        x.shape).to(x.device).to(x.dtype))", Safety.DISPLAY),
        (f"torch.where(x > {LONG}, x, torch.randn(\n        x.shape).to(x.device).to(x.dtype))", Safety.UNSAFE),
    ],
)
def test_without_a_formatter_lines_end_where_they_did(value: str, safety: Safety, tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    text = f"import torch\n\n\ndef f(x: torch.Tensor, n, {LONG}):\n    y = {value}\n    return x * y\n"
    (found,) = check_bytes(str(tmp_path / "a.py"), text.encode(), [RULES["TL401"]])
    assert found.fix is not None
    assert found.fix.safety is safety


def test_the_statements_of_a_function_are_those_of_the_whole_text() -> None:
    """Whichever lines are asked about, what is around them is the same if functions are parsed by themselves."""
    text = '''@deco(
    1)
def f(a,
      b): return 1; c = 2
class A:
    @deco
    async def g(self):
        """doc"""
        if self:
            x = 1; y = 2
        elif x:
            pass
        def h(): return (
            1)
        return h

\tx = 1

def last(a):
    try:
        return a
    finally: pass'''.replace("\n\tx = 1\n", "\n    x = 1\n")
    spans = [(text.index("def f"), text.index("class A") - 1), (text.index("async"), text.index("return h") + 8)]
    spans += [(text.index("def h"), text.index("1)\n        return h") + 2), (text.index("def last"), len(text))]
    whole, parts = Statements(text), Statements(text, spans)
    count = len(whole.lines)
    for first in range(1, count + 1):
        for last in range(first, count + 1):
            assert parts.around(first, last) == whole.around(first, last), (first, last)
