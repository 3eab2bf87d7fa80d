"""What the tests of fixes share: a module around a body, what it computes, and the only fix that there is for it."""

from __future__ import annotations

import ast
import textwrap

from proving import all_rules, check_bytes, execute, fix
from transferlint.fixes.rounds import apply_edits
from transferlint.model import Safety

RULES = {rule.code: rule for rule in all_rules()}


def module(body: str, arguments: str = "x: torch.Tensor") -> str:
    """A module whose forward has a body and gives its local tensors back."""
    return (
        "import math\nimport torch\n\n\n"
        "class Net(torch.nn.Module):\n"
        f"    def forward(self, {arguments}, n: int = 3, words=None):\n"
        f"{textwrap.indent(textwrap.dedent(body), ' ' * 8)}"
        "        return {k: v for k, v in locals().items() if k not in ('self', '__class__')}\n"
    )


def ran(text: str, *args: str) -> dict[str, object]:
    """What forward gives for tensors that are made anew."""
    made = execute(f"{text}\n\nout = Net()({', '.join(args)})\n")
    assert made.error is None, made.error
    return {k: v for k, v in made.values["out"].items() if not k.endswith("_on_host")}


def offered(code: str, text: str) -> list[tuple[Safety, str, str]]:
    """For every finding with a fix how safe it is, its title, and the text it makes, which is Python."""
    found = check_bytes("example.py", text.encode(), [RULES[code]])
    assert found, "nothing found"
    fixes = [one.fix for one in found if one.fix is not None]
    made = [(one.safety, one.title, apply_edits(text, one.edits)) for one in fixes]
    for safety, _, new in made:
        ast.parse(new)
        if safety is Safety.DISPLAY and len(made) == 1:
            assert fix(text, RULES[code], unsafe=True).text == text, "what is only shown was applied"
    return made


def remaining(code: str, text: str) -> int:
    """How many findings of a rule there are."""
    return len(check_bytes("example.py", text.encode(), [RULES[code]]))
