"""Fixes of the rules: what a safe fix makes is the same program, and where that is not sure there is no safe fix."""

from __future__ import annotations

import importlib.util
import textwrap

import pytest
from showing import offered

from proving import all_rules, check_bytes, execute, fix, same
from transferlint.fixes.rounds import apply_edits
from transferlint.model import Safety

RULES = {rule.code: rule for rule in all_rules()}
HAS_TORCH = importlib.util.find_spec("torch") is not None
HEAD = "import torch\nimport torch.nn.functional as F\n"
HEAD += "device = torch.device('cuda')\nx = torch.ones(3, device=device)\n"


def findings(code: str, text: str) -> list[Safety | None]:
    """How safe the fix of every finding is, None for a finding without one."""
    found = check_bytes("example.py", text.encode(), [RULES[code]])
    return [f.fix.safety if f.fix is not None else None for f in found]


def equal_runs(before: str, after: str) -> None:
    """Run both on the CPU: the same values under the names of the first, the same printed, the same error type."""
    one, two = execute(before), execute(after)
    assert type(one.error) is type(two.error), two.error
    assert one.printed == two.printed
    assert one.values.keys() <= two.values.keys()
    for name, value in one.values.items():
        assert same(value, two.values[name]), name


def safely_fixed(code: str, text: str) -> str:
    """The text after safe fixes alone, shown to run as before."""
    made = fix(text, RULES[code], unsafe=False)
    assert made.refused == ()
    if HAS_TORCH and made.text != text:
        equal_runs(text, made.text)
    return made.text


def loop(body: str, before: str = "", turns: str = "range(10)") -> str:
    """A module-level loop; `t` is a tensor of the host, `kept` one of the device."""
    lines = [HEAD, "t = torch.rand(3)\nkept = torch.zeros(3, device=device)\n", before, f"for step in {turns}:\n"]
    return "".join(lines) + textwrap.indent(textwrap.dedent(body), "    ")


# TL103: what the loop reads is hoisted.


@pytest.mark.parametrize(
    ("body", "expression"),
    [
        ("kept = kept + t.to(device)\n", "t.to(device)"),
        ("y = t.to(device)\ny = y * 2\nkept = kept + y\n", "t.to(device)"),
        ("kept = torch.maximum(kept, t.to(device, non_blocking=True))\n", "t.to(device, non_blocking=True)"),
        ("kept = kept + t.to(x.device).square().sum()\n", "t.to(x.device)"),
        ("kept = kept + F.mse_loss(kept, t.to(device))\n", "t.to(device)"),
        ("kept = kept + F.relu(t.to(device))\n", "t.to(device)"),
        ("kept += t.to(device)\n", "t.to(device)"),
    ],
)
def test_a_copy_that_is_only_read_is_hoisted(body: str, expression: str) -> None:
    text = loop(body)
    made = safely_fixed("TL103", text)
    assert made.count(expression) == 1
    assert f"t_on_device = {expression}\nfor step in range(10):\n" in made
    assert body.replace(expression, "t_on_device") in textwrap.dedent(made.partition("range(10):\n")[2])


def test_gradients_add_up_as_before() -> None:
    text = loop("loss = (x * t.to(device)).sum()\nloss.backward()\n", "t.requires_grad_()\n")
    (found,) = check_bytes("example.py", text.encode(), [RULES["TL103"]])
    assert found.fix is not None
    made = apply_edits(text, found.fix.edits)
    assert "t_on_device" in made
    if HAS_TORCH:
        equal_runs(text + "grad = t.grad\n", made + "grad = t.grad\n")


@pytest.mark.parametrize(
    "body",
    [
        "y = t.to(device)\ny += 1\nkept = kept + y\n",
        "y = t.to(device)\nz = y\nz.add_(1)\nkept = kept + y\n",
        "y = t.to(device).view(-1)\ny.add_(1)\nkept = kept + y\n",
        "kept = kept + torch.reshape(t.to(device), (-1,)).add_(1)\n",
        "kept = kept + F.relu(t.to(device) , inplace=True)\n",
        "kept = kept + F.relu(t.to(device), True)\n",
        "kept = kept + torch.relu_(t.to(device))\n",
        "y = t.to(device)\nz = y[0:1]\nz[0] = 1\nkept = kept + y\n",
        "kept = kept + t.to(device).T.mul_(2)\n",
        "y = t.to(device).float()\ny.mul_(2)\nkept = kept + y\n",
        "y = t.to(device).contiguous().detach().squeeze()\ny.mul_(2)\nkept = kept + y\n",
        "y = t.to(device)\nouts.append(y)\n",
        "outs = [*outs, t.to(device)]\nouts[0].add_(1)\n",
        "torch.add(x, step, out=t.to(device))\n",
        "y = t.to(device)\ny.data = x\n",
        "same = t.to(device)\nfound = same is outs\n",
        "kept = unknown(t.to(device))\n",
        "if step:\n    kept = kept + t.to(device)\n",
        "y = t.to(device)\ny.requires_grad = True\n",
    ],
)
def test_a_copy_that_may_be_written_or_kept_is_not_hoisted_safely(body: str) -> None:
    text = loop(body, "outs = []\nunknown = torch.abs_\n")
    made = findings("TL103", text)
    assert made
    assert Safety.SAFE not in made
    assert safely_fixed("TL103", text) == text


@pytest.mark.parametrize(
    ("before", "turns"),
    [
        ("t = None\nif unknown():\n    t = torch.rand(3)\n", "range(10)"),
        ("t, kept = read()\n", "range(10)"),
        ("device = choose()\nkept = read()\n", "range(unknown())"),
        ("", "fill(t)"),
    ],
)
def test_what_could_fail_or_change_before_the_loop_is_not_hoisted_safely(before: str, turns: str) -> None:
    assert Safety.SAFE not in findings("TL103", loop("kept = kept + t.to(device)\n", before, turns))


def test_an_empty_loop_moves_only_where_the_device_is_there() -> None:
    body = "for step in range(n):\n        out = out + t.to(device)\n    return out\n"
    start = "import torch\ndef run(n: int, device):\n    t = torch.rand(3)\n"
    assert findings("TL103", f"{start}    out = 0\n    {body}") == [Safety.DISPLAY]
    assert findings("TL103", f"{start}    out = torch.zeros(3, device=device)\n    {body}") == [Safety.SAFE]
    assert findings("TL103", f"{start}    out = 0\n    if n:\n        torch.ones(1).to(device)\n    {body}") == [
        Safety.DISPLAY
    ]


def test_arguments_may_be_written_by_whom_the_loop_calls() -> None:
    text = """\
import torch
def run(t: torch.Tensor, other: torch.Tensor, device, steps):
    out = torch.zeros(3, device=device)
    for step in range(steps):
        {}
        out = out + t.to(device)
    return out
"""
    assert findings("TL103", text.format("step += 1")) == [Safety.SAFE]
    assert findings("TL103", text.format("other.add_(1)")) == [Safety.DISPLAY]
    assert findings("TL103", text.format("tick()")) == [Safety.DISPLAY]


# TL103: what the loop writes under another name is no finding.


WRITES = {
    "a shared array": ("a = np.zeros(3)\nt = torch.from_numpy(a)\n", "a[0] = step\n"),
    "copyto": ("a = np.zeros(3)\nt = torch.as_tensor(a)\n", "np.copyto(a, np.full(3, step))\n"),
    "an alias": ("other = t\n", "other.add_(1)\n"),
    "an alias of an alias": ("other = t\nthird = other\n", "third[0] = step\n"),
    "the base of a view": ("base = torch.zeros(2, 3)\nt = base[0]\n", "base.fill_(step)\n"),
    "a view": ("first = t[0:1]\n", "first.fill_(step)\n"),
    "a view by a method": ("first = t.view(-1)\n", "first += 1\n"),
    "a view of data": ("", "t.data[0] = step\n"),
    "an argument of a method": ("class R:\n    def into(self, a):\n        a.add_(1)\nr = R()\n", "r.into(t)\n"),
    "an argument of a function": ("def into(a):\n    a.add_(1)\n", "into(t)\n"),
    "out": ("", "torch.mul(t, step, out=t)\n"),
    "a keyword": ("def into(n, a):\n    a.add_(n)\n", "into(1, a=t)\n"),
    "a global": ("def tick():\n    t.add_(1)\n", "tick()\n"),
    "a rebound global": ("def tick():\n    global t\n    t = t + 1\n", "tick()\n"),
    "a global's view": ("base = torch.zeros(2, 3)\nt = base[0]\ndef tick():\n    base.add_(1)\n", "tick()\n"),
    "through two functions": ("def tick():\n    t.add_(1)\ndef tock():\n    tick()\n", "tock()\n"),
    "initialisation": ("", "torch.nn.init.ones_(t)\n"),
    "data": ("", "t.data = torch.full((3,), float(step))\n"),
}


@pytest.mark.parametrize("name", WRITES)
def test_a_write_under_any_name_silences(name: str) -> None:
    before, write = WRITES[name]
    text = "import numpy as np\n" + loop(f"{write}kept = kept + t.to(device)\n", before)
    if HAS_TORCH:
        assert execute(text).error is None
    assert findings("TL103", text) == []
    without = "import numpy as np\n" + loop("kept = kept + t.to(device)\n", before)
    assert len(findings("TL103", without)) == 1


@pytest.mark.parametrize("write", ["slots.reverse()", "slots[0].add_(1)", "slots.append(slots.pop(0))", "slots[0] = x"])
def test_a_list_that_is_written_silences_what_is_read_from_it(write: str) -> None:
    body = "kept = kept + slots[0].to(device)\n"
    before = "slots = [torch.zeros(3), torch.ones(3)]\n"
    assert findings("TL103", loop(f"{write}\n{body}", before)) == []
    assert findings("TL103", loop(body, before)) == [Safety.DISPLAY]


@pytest.mark.parametrize(
    "write", ["self.refill(step)", "self.replace(step)", "self.indirect(step)", "self.t.add_(1)", "fill(self.t)"]
)
def test_methods_count_for_what_they_write_to_self(write: str) -> None:
    text = f"""\
import torch
class Kept:
    def __init__(self):
        self.t = torch.zeros(3)
    def refill(self, value):
        self.t.fill_(value)
    def replace(self, value):
        self.t = torch.ones(3) * value
    def indirect(self, value):
        self.refill(value)
    def look(self, value):
        self.seen = value
    def run(self, steps: int, device):
        out = torch.zeros(3, device=device)
        for step in range(steps):
            {write}
            out = out + self.t.to(device)
        return out
"""
    assert findings("TL103", text) == []
    assert len(findings("TL103", text.replace(f"            {write}\n", "            self.look(step)\n"))) == 1


@pytest.mark.parametrize(
    "text",
    [
        loop("kept = kept * t.to(device)\n"),
        "def f(m, loader, table, device):\n    for x in loader:\n        y = m(x) + table.to(device)\n",
        "import torch.nn.functional as F\ndef train(m, loader, weights, device):\n    for x, y in loader:\n"
        "        loss = F.cross_entropy(m(x), y, weight=weights.to(device))\n        loss.backward()\n",
    ],
)
def test_what_the_loop_reads_is_reported(text: str) -> None:
    assert len(findings("TL103", text)) == 1


# TL104


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("torch.tensor(2, device=device)", "torch.full((), 2, device=device)"),
        ("torch.tensor(0.5, device=device)", "torch.full((), 0.5, device=device)"),
        ("torch.tensor(True, device=device)", "torch.full((), True, device=device)"),
        ("torch.tensor((0.5), device=device)", "torch.full((), (0.5), device=device)"),
        ("torch.tensor([(2)], device=device)", "torch.full((1,), (2), device=device)"),
        ("torch.tensor([2,], device=device)", "torch.full((1,), 2, device=device)"),
        ("torch.tensor(( [2] ), device=device)", "torch.full((1,), 2, device=device)"),
        (
            "torch.tensor(2, dtype=torch.float64, device=device)",
            "torch.full((), 2, dtype=torch.float64, device=device)",
        ),
        (
            "torch.tensor(3., device=device, requires_grad=True)",
            "torch.full((), 3., device=device, requires_grad=True)",
        ),
        ("torch.tensor(\\\n    0.5, device=device)", "torch.full(\\\n    (), 0.5, device=device)"),
    ],
)
def test_constants_are_filled_on_the_device(old: str, new: str) -> None:
    text = loop(f"y = {old}\nkept = kept * y\n")
    old, new = (part.replace("\n", "\n    ") for part in (old, new))
    assert safely_fixed("TL104", text) == text.replace(old, new)


@pytest.mark.parametrize("value", ["-2", "-0.5", "[-1]"])
def test_negative_numbers_keep_their_value(value: str) -> None:
    text = loop(f"y = torch.tensor({value}, device=device)\nkept = kept * y\n")
    assert len(findings("TL104", text)) == 1
    safely_fixed("TL104", text)


@pytest.mark.parametrize(
    "made",
    [
        "tensor(0.5, device=device)",
        "torch.as_tensor(0.5, device=device)",
        "torch.tensor(0.5, device=device, pin_memory=False)",
        "torch.tensor([0.5  # half\n    ], device=device)",
        "torch.tensor(9223372036854775808, dtype=torch.float32, device=device)",
        "torch.tensor([1, 2], device=device)",
        "torch.tensor(0.5, **{'device': device})",
    ],
)
def test_others_are_not_filled_in(made: str) -> None:
    text = loop(f"y = {made}\nkept = kept * y[0:0]\n", "from torch import tensor\n")
    assert Safety.SAFE not in findings("TL104", text)
    assert safely_fixed("TL104", text) == text


# TL401


def made_in_forward(expression: str) -> str:
    """A module whose forward, run twice, makes a tensor by `expression`."""
    return (
        "import torch\nfrom torch import zeros\nb = torch.zeros(3)\nn = 3\n"
        'device = torch.device("cuda")\nkinds = ["cpu", "cuda"]\n'
        "class Net(torch.nn.Module):\n    def forward(self, x: torch.Tensor):\n"
        f"        made = {expression}\n        return made\n"
        "net = Net().to(device)\nout = [net(torch.ones(3, device=device)) for _ in range(2)]\n"
    )


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("torch.zeros(3).to(x.device)", "torch.zeros(3, device=x.device)"),
        (
            "torch.zeros(3).to(torch.device('cuda') if n else 'cpu')",
            "torch.zeros(3, device=torch.device('cuda') if n else 'cpu')",
        ),
        ("zeros(3).to((x).device)", "zeros(3, device=(x).device)"),
        ("torch.ones(3, ).cuda()", 'torch.ones(3, device="cuda")'),
        (
            "torch.zeros((3), dtype=torch.half).to(device=x.device)",
            "torch.zeros((3), dtype=torch.half, device=x.device)",
        ),
        ("torch.arange(3).to(x.device, non_blocking=True)", "torch.arange(3, device=x.device)"),
        ("torch.arange(0, x.size(0), 2).to(x.device)", "torch.arange(0, x.size(0), 2, device=x.device)"),
        ("torch.tensor([1, 2]).to(x.device, )", "torch.tensor([1, 2], device=x.device)"),
        ("torch.arange(1, x.shape[0] + 1).cuda()", 'torch.arange(1, x.shape[0] + 1, device="cuda")'),
        ("torch.full((2,), 0.1).to(x.device)", "torch.full((2,), 0.1, device=x.device)"),
        ("torch.zeros(3).to(x.device, torch.float16)", "torch.zeros(3, device=x.device, dtype=torch.float16)"),
        ("torch.ones(3).to(device=x.device, dtype=torch.long)", "torch.ones(3, device=x.device, dtype=torch.long)"),
        ("torch.eye(2).to(x.device, dtype=torch.bool)", "torch.eye(2, device=x.device, dtype=torch.bool)"),
        ("(zeros(3)\n            .to(x.device))", "zeros(3, device=x.device)"),
        ("(zeros(3)).to(x.device)", "zeros(3, device=x.device)"),
        ("torch.full((2,), 0.1).to(x.device, torch.half)", "torch.full((2,), 0.1, device=x.device).to(torch.half)"),
        ("torch.tensor([0.1]).to(x.device, torch.float64)", "torch.tensor([0.1], device=x.device).to(torch.float64)"),
        ("torch.arange(3).to(x.device, torch.bool)", "torch.arange(3, device=x.device).to(torch.bool)"),
        ("torch.zeros(3).long().to(x.device)", "torch.zeros(3, device=x.device).long()"),
        ("torch.arange(3)[None].repeat(2, 1).to(x.device)", "torch.arange(3, device=x.device)[None].repeat(2, 1)"),
        ("torch.arange(3)[None, :].float().cuda() / 2", 'torch.arange(3, device="cuda")[None, :].float() / 2'),
        ("torch.tril(torch.ones(3, 3)).to(x.device)", "torch.tril(torch.ones(3, 3, device=x.device))"),
        ("(torch.ones(3, 1)\n  .squeeze(1)\n  .to(x.device))", "torch.ones(3, 1, device=x.device).squeeze(1)"),
    ],
)
def test_constants_are_made_on_the_device(old: str, new: str) -> None:
    text = made_in_forward(old)
    assert safely_fixed("TL401", text) == text.replace(old, new)


@pytest.mark.parametrize(
    "made",
    [
        "torch.zeros(3, requires_grad=True).to(x.device)",
        "torch.linspace(0, 1, 7).to(x.device)",
        "torch.logspace(0, 1, 7).to(x.device)",
        "torch.arange(0, 1, 0.1).to(x.device)",
        "torch.arange(3.0).to(x.device)",
        "torch.arange(3, dtype=torch.float16).to(x.device)",
        "torch.randn(3).to(x.device)",
        "torch.randperm(3).to(x.device)",
        "torch.empty(3).to(x.device)",
        "torch.empty_like(b).to(x.device)",
        "torch.rand_like(torch.zeros(3)).to(x.device)",
    ],
)
def test_what_may_differ_is_not_made_on_the_device_safely(made: str) -> None:
    text = made_in_forward(made)
    assert Safety.SAFE not in findings("TL401", text)
    assert safely_fixed("TL401", text) == text


@pytest.mark.parametrize(
    "made",
    [
        "torch.zeros(3, out=b).cuda()",
        "torch.zeros(3, pin_memory=True).to(x.device)",
        "torch.randn(3, generator=torch.Generator()).to(x.device)",
        "zeros(3).to(d := x.device)",
        "zeros(\n            3,  # three\n        ).to(x.device)",
        "zeros(3).to(  # there\n            x.device)",
        "torch.zeros(3).cuda(None)",
        "torch.tensor(i for i in range(3)).to(x.device)",
        "torch.ones(3).to(x.device, copy=True)",
        "torch.ones(3).to(x.device, non_blocking=bool(print('asked')))",
        "torch.zeros(3).to(*[x.device])",
    ],
)
def test_what_cannot_be_made_on_the_device_has_no_fix(made: str) -> None:
    text = made_in_forward(made)
    assert set(findings("TL401", text)) <= {None}
    assert fix(text, RULES["TL401"], unsafe=True).text == text


@pytest.mark.parametrize("pin", ["True", "n > 2"])
def test_pinned_memory_is_made_to_be_uploaded_from(pin: str) -> None:
    assert findings("TL401", made_in_forward(f"torch.zeros(3, pin_memory={pin}).to(x.device)")) == []
    assert findings("TL401", made_in_forward("torch.zeros(3, pin_memory=False).to(x.device)")) == [None]


@pytest.mark.parametrize("made", ["torch.zeros(3)", "torch.tensor([1.0, 2.0, 3.0])"])
@pytest.mark.parametrize(
    ("place", "known"),
    [
        ("device=gpu", False),
        ("gpu", False),
        ("gpu.gpu", False),
        ("0", True),
        ("x.get_device()", True),
        ("x.device", True),
        ("torch.device('cuda')", True),
    ],
)
def test_the_number_of_a_gpu_that_may_be_none_is_left_to_cuda(made: str, place: str, known: bool) -> None:
    """`.cuda(None)` is the current GPU, and `device=None` the host."""
    text = made_in_forward(f"{made}.cuda({place})").replace("x: torch.Tensor)", "x: torch.Tensor, gpu=None)")
    assert (fix(text, RULES["TL401"], unsafe=True).text != text) is known


@pytest.mark.parametrize(("call", "known"), [("f(x)", False), ("f(x, x.device)", True), ("f(x, device='cuda')", True)])
def test_no_place_is_named_by_what_no_call_gives(call: str, known: bool) -> None:
    text = (
        "import torch\ndef f(x: torch.Tensor, device=None):\n    return x + torch.ones(3).to(device)\n"
        f"class M(torch.nn.Module):\n    def forward(self, x: torch.Tensor):\n        return {call}\n"
    )
    assert (fix(text, RULES["TL401"], unsafe=True).text != text) is known


# TL402


def batches(move: str) -> str:
    return (
        "import torch\nfrom torch.utils.data import DataLoader\n"
        "def run(model, data, device, **kw):\n"
        f"    for x, y in DataLoader(data, pin_memory=True):\n        z = {move}\n        model(z)\n"
    )


@pytest.mark.parametrize(
    "move",
    [
        "x.to(device, torch.float16, True)",
        "x.to(device, True)",
        "x.cuda(device, True)",
        "x.cuda(0, True)",
        "x.to(device, **kw)",
        "x.cuda(**kw)",
        "x.to(*kw)",
        "x.to(torch.float16, True, device=device)",
        "x.to(device, non_blocking=True)",
    ],
)
def test_who_says_whether_to_wait_is_not_told(move: str) -> None:
    assert findings("TL402", batches(move)) == []


@pytest.mark.parametrize(
    ("move", "fixed"),
    [
        ("x.to(device)", "x.to(device, non_blocking=True)"),
        ("x.cuda()", "x.cuda(non_blocking=True)"),
        ("x.to(device, )", "x.to(device, non_blocking=True)"),
    ],
)
def test_batches_are_uploaded_without_waiting(move: str, fixed: str) -> None:
    text = batches(move)
    assert offered("TL402", text) == [(Safety.DISPLAY, "add non_blocking=True", text.replace(move, fixed))]


def test_a_comment_before_the_bracket_leaves_no_fix() -> None:
    assert findings("TL402", batches("x.to(\n            device  # there\n        )")) == [None]
