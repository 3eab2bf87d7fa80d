"""An unsafe fix is the whole change, as a person would write it; what is half of one is only shown."""

from __future__ import annotations

import importlib.util
import textwrap

import libcst
import pytest
from showing import module, offered, ran

from proving import all_rules, check_bytes, same
from transferlint.flow.analysis import analyse
from transferlint.flow.lattice.options import AnalysisOptions
from transferlint.flow.lattice.transfers import MOVE
from transferlint.flow.lattice.values import RESIDENT
from transferlint.model import Safety
from transferlint.syntax.lower import lower
from transferlint.syntax.spans import Spans
from transferlint_rules.fixes.recreating import make_on_device

HAS_TORCH = importlib.util.find_spec("torch") is not None
X = "x: torch.Tensor"

# code, arguments, body, what the fix makes of it, and arguments to run both with ("" for none)
CASES = [
    # a cast beside the move
    (
        "TL401",
        X,
        "y = torch.full((n,), 0.5).to(device=x.device, dtype=x.dtype)\n",
        "y = torch.full((n,), 0.5, device=x.device, dtype=x.dtype)\n",
        "torch.ones(3, dtype=torch.half)",
    ),
    (
        "TL401",
        X,
        "y = torch.ones((n, 2)).to(self.device).to(self.dtype) * 4\n",
        "y = torch.ones((n, 2), device=self.device, dtype=self.dtype) * 4\n",
        "",
    ),
    (
        "TL401",
        X,
        "y = torch.tensor([n], dtype=torch.float, requires_grad=False).to(x.dtype).to(x.device)\n",
        "y = torch.tensor([n], dtype=x.dtype, requires_grad=False, device=x.device)\n",
        "torch.ones(3, dtype=torch.half)",
    ),
    (
        "TL401",
        X,
        "y = torch.randn(n).to(x.device).to(x.dtype).sum()\n",
        "y = torch.randn(n, device=x.device, dtype=x.dtype).sum()\n",
        "",
    ),
    (
        "TL401",
        X,
        "y = torch.randn(n).to(x.device).long()\n",
        "y = torch.randn(n, device=x.device).long()\n",  # there are no random whole numbers of that kind
        "",
    ),
    # what is filled behind the move
    (
        "TL401",
        "x: torch.Tensor, device=None",
        "y = torch.ones([n, 2], dtype=torch.long).to(device).fill_(-100)\n",
        "y = torch.full([n, 2], -100, dtype=torch.long, device=device)\n",
        "x",
    ),
    (
        "TL401",
        f"{X}, device=None",
        "y = torch.empty(n).to(device).fill_(0)\n",
        "y = torch.zeros(n, device=device)\n",
        "x",
    ),
    # zeros and ones
    ("TL401", X, "y = torch.Tensor([0.0] * (2 + n)).to(x.device)\n", "y = torch.zeros(2 + n, device=x.device)\n", "x"),
    ("TL401", X, "y = torch.tensor([0.0]).to(self.device)\n", "y = torch.zeros(1, device=self.device)\n", ""),
    (
        "TL401",
        X,
        "y = torch.tensor([1] * n).to(self.device)\n",
        "y = torch.ones(n, dtype=torch.long, device=self.device)\n",
        "",
    ),
    (
        "TL104",
        X,
        "y = x + torch.tensor([0] * n, device=x.device)\n",
        "y = x + torch.zeros(n, dtype=torch.long, device=x.device)\n",
        "x",
    ),
    (
        "TL104",
        X,
        "y = x + torch.tensor([1] * n, dtype=self.kind.dtype, device=x.device)\n",
        "y = x + torch.ones(n, dtype=self.kind.dtype, device=x.device)\n",
        "",
    ),
]


@pytest.mark.parametrize(("code", "arguments", "body", "fixed", "given"), CASES)
def test_the_whole_change_is_made(code: str, arguments: str, body: str, fixed: str, given: str) -> None:
    text = module(body, arguments)
    ((safety, _, made),) = offered(code, text)
    assert made == module(fixed, arguments)
    assert safety is Safety.UNSAFE
    if HAS_TORCH and given:
        tensor = "torch.ones(3)" if given == "x" else given
        before, after = ran(text, tensor), ran(made, tensor)
        assert all(same(before[name], after[name]) for name in before)


# code, arguments, body: a fix that is half of a change, or may be wrong, with what else there is to do
SHOWN = {
    "an upload of what is shaped as another tensor": (
        "TL401",
        X,
        "a = torch.rand(n, 1)\nb = torch.cat([x, x])\na = a.expand_as(b).to(b.device)\n"
        "c = words.embed(a * b)\ny = torch.ones(c.size()).to(c.device)\n",
    ),
    "a number that may do": ("TL104", "x: torch.Tensor, count: int", "y = x + torch.tensor(count, device=x.device)\n"),
    "random numbers of a seed": ("TL401", X, "torch.manual_seed(n)\ny = torch.randn(n).to(x.device)\n"),
    "another index that may be on the host": (
        "TL305",
        "x: torch.Tensor, found",
        "v = x * 2\ny = v[torch.arange(n) * 2 // 2, found.places()]\n",
    ),
    "a bound that may be of the device as well": (
        "TL302",
        "x: torch.Tensor, other",
        "ends = x.sum(0)\nfor i in range(n):\n    x[: ends[i]] = x[: other[i]]\n",
    ),
    "a number that may be whole": (
        "TL101",
        X,
        "total = 0\nfor i in range(n):\n    total += x[i].sum().item()\nout = total\n",
    ),
    "another read in the same loop": (
        "TL101",
        X,
        "total, right = 0.0, 0.0\nfor i in range(n):\n"
        "    total += x[i].mean().item()\n    right += words(i).item()\nout = total\n",
    ),
    "a copy in the same loop": (
        "TL101",
        X,
        "total, rows = 0.0, []\nfor i in range(n):\n"
        "    total += x[i].mean().item()\n    rows.append(x[i].cpu().numpy())\nout = total\n",
    ),
    "the place that the finding is at": (
        "TL401",
        X,
        "a = torch.LongTensor(words[0] + words[1]).to(x.device)\nb = x + 1\nb = b + 1\nb = b + 1\n"
        "y = torch.randn(n).to(x.device)\n",
    ),
    "the like in the next line": (
        "TL104",
        X,
        "t = torch.tensor(0.0, dtype=x.dtype, device=x.device)\nd = torch.tensor(words, device=x.device)\n",
    ),
    "a number that is spelled out, and a wait anyway": (
        "TL104",
        X,
        "t = torch.tensor([n], dtype=torch.long, device=x.device)\ny = (x > 1).nonzero()\n",
    ),
    "a list that stays uploaded, behind a view": (
        "TL401",
        X,
        "y = torch.Tensor(sorted(words)).view(-1, 4).to(x.device)\n",
    ),
    "a list of the numbers of a range": (
        "TL401",
        X,
        "y = torch.tensor([i for i in range(-n, n + 1)]).expand(x.shape).float().to(device=x.device)\n",
    ),
    "a number of its own that takes more text": (
        "TL401",
        "x: torch.Tensor, device",
        "for v in words:\n    y = torch.tensor([1]).to(device)\n",
    ),
    "what only the host reads": (
        "TL401",
        "x: torch.Tensor, count: int",
        "rows = list(range(count))\nt = (len(rows) * torch.rand([1])).long().to(x.device)\ny = rows[t]\n",
    ),
    "what is only logged": ("TL401", X, "y = torch.randn(3)\nprint(str(y.to(x.device)))\n"),
    "a move that the host takes back": ("TL401", X, "y = torch.randn(n).to(x.device)\nz = y.cpu()\n"),
    "a copy without gradients in the same loop": (
        "TL101",
        X,
        "total = 0.0\nfor i in range(n):\n    total += x[i].mean().item()\n"
        "    with torch.no_grad():\n        rows = x[i].cpu()\nout = total\n",
    ),
    "a test in the same loop": (
        "TL101",
        X,
        "total = 0.0\nfor i in range(n):\n    total += x[i].mean().item()\n    if x[i].max() > 1:\n        break\n"
        "out = total\n",
    ),
    "a list that stays uploaded, by another name": ("TL401", X, "y = torch.Tensor([0.5, 1]).to(x.device)\n"),
    "a list that stays uploaded, on more lines": (
        "TL401",
        "audio_data: torch.Tensor, right_padding=0",
        "audio_lengths_of_all_samples_in_the_batch_here = torch.tensor([right_padding, n]).to("
        "audio_data.device, torch.long)\n",
    ),
    "the like in the next line, which may be on the device": (
        "TL401",
        X,
        "a = torch.randn(n)\nb = torch.zeros(n)\nif n > 2:\n    b[0] = x[0]\na = a.to(x.device)\nb = b.to(x.device)\n",
    ),
    "fractions that are rounded": ("TL401", X, "y = torch.linspace(0, 255, n).long().to(x.device)\n"),
    "two reads, of which one can stay": (
        "TL101",
        "x: torch.Tensor, right: torch.Tensor",
        "total, hits = 0.0, 0\nfor i in range(n):\n    total += x[i].mean().item()\n    hits += right[i].sum().item()\n"
        "out = total, hits\n",
    ),
    "two lists, each read on lines of its own": (
        "TL101",
        X,
        "first, second = [], []\nfor i in range(n):\n    first.append(x[i].mean().item())\n"
        "    second.append(x[i].max().item())\nout = sum(first) + sum(second)\n",
    ),
    "a number beside data": (
        "TL104",
        X,
        "y = words(torch.tensor([0.5], dtype=x.dtype, device=x.device), torch.tensor([x.sum()], device=x.device))\n",
    ),
    "a copy that would get a name": (
        "TL204",
        "x: torch.Tensor, lengths: torch.Tensor",
        "a = lengths + 1\na = a.cpu()\ny = words(a.to(x.device))\nz = words(a.to(x.device))\n",
    ),
    "a cast that stays behind what is made": (
        "TL401",
        X,
        "y = x + torch.arange(n).to(device=x.device, dtype=words)\n",
    ),
    "a list that stays uploaded, and more text": (
        "TL401",
        X,
        "y = x + torch.tensor([n, 2 * n]).to(self.device)\n",
    ),
    "an index that stays on the host": (
        "TL401",
        "x: torch.Tensor, last: torch.Tensor",
        "y = torch.randn(n).to(x.device)\nrows = torch.arange(n)[:, None]\nz = last.sum(0) + x.mul(2)[rows, last]\n",
    ),
    "a conversion to the type and place of another tensor": (
        "TL401",
        X,
        "count = n * torch.randn(n).to(x.device)\nrows = torch.arange(n).type_as(count)\n",
    ),
    "random numbers of numpy": (
        "TL401",
        X,
        "a = torch.Tensor(numpy.random.random((n, 1))).to(x.device)\n"
        "y = torch.ones([n], requires_grad=False).to(x.device)\n",
    ),
    "an upload further down": (
        "TL104",
        X,
        "y = torch.tensor([0] * n, device=x.device)\na = x + 1\na = a + 1\na = a + 1\na = a + 1\n"
        "b = torch.tensor(words, device=x.device)\n",
    ),
    "an upload in the same loop": (
        "TL101",
        X,
        "total = 0.0\nfor i in range(n):\n    y = torch.zeros(3) + i\n    y = y.cuda()\n"
        "    total += (x[i] * y).mean().item()\nout = total\n",
    ),
    "a wait by name in the same loop": (
        "TL101",
        X,
        "total = 0.0\nfor i in range(n):\n    total += x[i].mean().item()\n    torch.cuda.synchronize()\nout = total\n",
    ),
    "a sum that is uploaded again": (
        "TL101",
        X,
        "total = 0.0\nfor i in range(n):\n    total += x[i].mean().item()\nout = torch.tensor([total])\n",
    ),
    "an array in the same loop, which raises where x is on the device": (
        "TL101",
        X,
        "total, rows = 0.0, []\nfor i in range(n):\n    total += x[i].mean().item()\n    rows.append(x[i].numpy())\n"
        "out = total\n",
    ),
    "an index for what is asked at once": ("TL305", X, "v = x * 2\nassert (v[:, [0]] == v).all()\n"),
    "another index that stays": (
        "TL305",
        X,
        "v = x * 2\na = v[:, [0]]\nb = a + 1\nb = b + 1\nb = b + 1\nc = v[[3, 2, 3, 2]]\n",
    ),
    "a type that may be none": (
        "TL104",
        "x: torch.Tensor, dtype=None",
        "y = x + torch.tensor([0] * n, dtype=dtype, device=x.device)\n",
    ),
}


def test_a_loader_is_pinned_for_what_does_not_wait_beside_it() -> None:
    head = (
        "import torch\nfrom torch.utils.data import DataLoader\n\n\ndef train(model, data):\n"
        "    loader = DataLoader(data, num_workers=2)\n    for x, y in loader:\n"
    )
    whole = (
        head + "        x, y = x.cuda(non_blocking=True), y.cuda(non_blocking=True)\n        model(x, y).backward()\n"
    )
    half = whole.replace("x.cuda(non_blocking=True)", "x.cuda()")
    assert {one for one, _, _ in offered("TL403", whole)} == {Safety.UNSAFE}
    assert {one for one, _, _ in offered("TL403", half)} == {Safety.DISPLAY}


TRAINER = """\
import torch


class Trainer:
    def __init__(self, model, parts: int = {parts}):
        self.model = model
        self.parts = parts

    def step(self, x):
        total = 0.0
        for _ in range(self.parts):
            loss = self.model(x).sum()
            total += loss.item()
            loss.backward()
        return total


trainer = Trainer(torch.nn.Linear(2, 2).cuda(){given})
for x in torch.utils.data.DataLoader(open(0)):
    print(trainer.step(x.cuda()))
"""


@pytest.mark.parametrize(
    ("parts", "given", "wanted"),
    [("1", "", Safety.DISPLAY), ("1", ", 4", Safety.UNSAFE), ("2", "", Safety.UNSAFE)],
)
def test_a_loop_of_one_turn_by_default_is_left_alone(parts: str, given: str, wanted: Safety) -> None:
    text = TRAINER.format(parts=parts, given=given)
    assert [one for one, _, _ in offered("TL101", text)] == [wanted]


def test_an_index_is_left_beside_a_tensor_of_the_host_that_stays() -> None:
    text = (
        "import torch\n\n\nclass Net(torch.nn.Module):\n    def forward(self, x: torch.Tensor):\n"
        "        y = torch.randn(x.shape[0], 3).to({0}device=x.device)\n        return y + x[:, [0]]\n"
    )
    for breaks, wanted in (("", Safety.UNSAFE), ("\n            ", Safety.DISPLAY)):
        found = check_bytes("example.py", text.format(breaks).encode(), list(all_rules()))
        assert {at.code for one in found for at in one.apart()} >= {"TL305", "TL401"}
        assert {one.fix.safety for one in found if one.fix is not None} == {wanted}


@pytest.mark.parametrize("name", SHOWN)
def test_half_a_change_is_only_shown(name: str) -> None:
    code, arguments, body = SHOWN[name]
    text = module(body, arguments)
    assert {safety for safety, _, _ in offered(code, text)} <= {Safety.DISPLAY}


@pytest.mark.parametrize(
    ("start", "added", "kept"),
    [
        ("0", "(x[i] > 2).sum().item()", "(x[i] > 2).sum()"),
        ("0.0", "torch.sum(torch.square(self.w[i].grad)).item()", "torch.sum(torch.square(self.w[i].grad))"),
        ("0.0", "x[i].mean().item()", "x[i].mean().detach()"),
    ],
)
def test_whole_numbers_and_what_has_no_gradient_are_not_detached(start: str, added: str, kept: str) -> None:
    body = f"total = {start}\nfor i in range(n):\n    total += {added}\nprint(total)\n"
    ((safety, _, made),) = offered("TL101", module(body))
    assert safety is Safety.UNSAFE
    assert f"total += {kept}\n" in made


def test_nothing_is_detached_where_no_gradients_are_computed() -> None:
    loop = "    for i in range(n):\n        out.append(x[i].mean().item())\n"
    body = f"out = []\nwith torch.no_grad():\n{loop}out = sum(out)\n"
    ((_, _, made),) = offered("TL101", module(body))
    assert "out.append(x[i].mean())\n" in made


@pytest.mark.parametrize(("context", "kept"), [("torch.no_grad()", "mean()"), ("words.part()", "mean().detach()")])
def test_nothing_is_detached_where_all_calls_compute_no_gradients(context: str, kept: str) -> None:
    text = "import torch\n\n\ndef added(rows):\n    total = 0.0\n    for row in rows:\n"
    text += "        total += row.mean().item()\n    return total\n\n\n"
    text += "def f(x: torch.Tensor, words, n):\n    x = x.cuda()\n    for _ in range(n):\n"
    ((_, _, made),) = offered("TL101", text + f"        with {context}:\n            words(added(x))\n")
    assert f"total += row.{kept}\n" in made


HELPERS = """\
import torch


def ramp(low, size):
    return torch.clamp((torch.arange(size, dtype=torch.float32) - low) / 3, 0, 1)


def f(x: torch.Tensor, n, low):
    for _ in range(n):
        y = torch.randn(n).to(x.device)
        x = x + y * {}
    return x
"""


@pytest.mark.parametrize(
    ("other", "safety"),
    [("ramp(low, n).to(x.device)", Safety.DISPLAY), ("2", Safety.UNSAFE), ("read(low, n).to(x.device)", Safety.UNSAFE)],
)
def test_what_a_helper_makes_and_the_function_moves_stays(other: str, safety: Safety) -> None:
    assert {one for one, _, _ in offered("TL401", HELPERS.format(other))} == {safety}


def test_what_is_made_like_a_tensor_that_may_be_there_is_only_shown() -> None:
    text = "import torch\n\n\ndef f(rows, device):\n    for row in rows:\n        made = torch.ones(3)\n"
    text += "        row.add_(torch.zeros_like(made).to(device))\n"
    tree = libcst.parse_module(text)
    facts = analyse("a.py", text, lower(tree, "a.py"), Spans(tree, text), AnalysisOptions())
    ((function, transfer),) = ((one, move) for one in facts.functions for move in one.transfers if move.kind == MOVE)
    known = make_on_device(function, transfer)
    assert known is not None
    assert known.safety is Safety.UNSAFE
    transfer.before = transfer.before.but(flags=transfer.before.flags | RESIDENT)
    maybe = make_on_device(function, transfer)
    assert maybe is not None
    assert maybe.safety is Safety.DISPLAY


def test_names_of_copies_have_one_underscore() -> None:
    body = "_lengths = x.sum(0)\nout = 0\nfor i in range(n):\n    out += words[_lengths[i].item()]\n"
    ((_, _, made),) = offered("TL107", module(body))
    assert "lengths_on_host = _lengths.cpu()\n" in made


def test_brackets_around_an_argument_go() -> None:
    ((_, _, made),) = offered("TL302", module("c = x.sum()\ny = max(0, ((c - 1) / c)) * 2\n"))
    assert "torch.clamp((c - 1) / c, min=0) * 2" in made


def test_the_same_text_elsewhere_is_changed_as_well_or_nothing_is() -> None:
    made = "torch.randn(3).cuda()"
    text = module(f"y = x + {made}\n") + f"\n\ndef set_up():\n    return {made}\n\n\nset_up()\n"
    assert {safety for safety, _, _ in offered("TL401", text)} == {Safety.DISPLAY}
    other = text.replace(made, "torch.randn(4).cuda()", 1)
    assert {safety for safety, _, _ in offered("TL401", other)} == {Safety.UNSAFE}


LIKE = """\
import torch


def forth(x: torch.Tensor, device):
    sign = torch.ones(x.shape[0]).float().to(device)
    sign[x < 0] = -1.0
    return sign * x


def back(x: torch.Tensor, device, words):
    table = torch.ones(x.shape)
    table[:, :] = torch.tensor(words)
    y = table.to(x.device) * x
    sign = {}.float().to(device)
    sign[y < 0] = -1.0
    return sign * y
"""


@pytest.mark.parametrize(
    ("other", "safety"),
    [("torch.ones(y.shape[0])", [Safety.DISPLAY] * 2), ("torch.ones(3)", [Safety.UNSAFE, Safety.DISPLAY])],
)
def test_what_stays_in_another_function_by_other_names_stays_here_too(other: str, safety: list[Safety]) -> None:
    assert [one for one, _, _ in offered("TL401", LIKE.format(other))] == safety


def test_what_is_made_like_another_tensor_is_called_so() -> None:
    body = "y = torch.where(x > 0, x, torch.zeros(x.shape).to(x.device).to(x.dtype))\n"
    ((safety, _, made),) = offered("TL401", module(body, "x"))
    assert safety is Safety.UNSAFE
    assert "y = torch.where(x > 0, x, torch.zeros_like(x))\n" in made
    if HAS_TORCH:
        given = "torch.ones(3, dtype=torch.half)"
        assert same(*(ran(text, given)["y"] for text in (module(body, "x"), made)))


def test_an_argument_behind_one_of_several_lines_is_on_a_line_of_its_own() -> None:
    body = "y = (\n    torch.ones(\n        (\n            x.shape[0],\n            n,\n        )\n    )\n"
    body += "    .to(self.device)\n    .float()\n)\n"
    ((_, _, made),) = offered("TL401", module(body))
    want = "y = torch.ones(\n    (\n        x.shape[0],\n        n,\n    ),\n"
    want += "    device=self.device,\n    dtype=torch.float,\n)\n"
    assert textwrap.indent(want, " " * 8) in made


def in_file(above: str) -> set[Safety]:
    """How safe it is to draw on the device, in a function of a file that begins so."""
    text = f"import torch\n\n{above}\n\ndef f(x: torch.Tensor, n):\n    return x * torch.randn(n).to(x.device)\n"
    return {safety for safety, _, _ in offered("TL401", text)}


def test_what_stays_in_the_same_function_makes_half_of_a_change() -> None:
    head = "import torch\n\n\nclass Net(torch.nn.Module):\n    def forward(self, x: torch.Tensor, n):\n"
    one = "        y = torch.rand(n, 3).to(x.device)\n"
    other = "        z = torch.rand(3).long().to(x.device)\n"
    end = "        return x + y\n"
    assert [one for one, _, _ in offered("TL401", head + one + end)] == [Safety.UNSAFE]
    assert {one for one, _, _ in offered("TL401", f"{head}{one}        x = x * 2\n{other}{end}")} == {Safety.DISPLAY}


@pytest.mark.parametrize(
    ("other", "safety"),
    [
        ("p[0], p[1] = torch.eye(n)[0], -torch.eye(n)[1]", Safety.DISPLAY),
        ("p[1:] = torch.ones(n, n)", Safety.DISPLAY),
        ("p[1:] = torch.ones(n, n, device=x.device)", Safety.UNSAFE),
        ("p[1:] = 1", Safety.UNSAFE),
        ("for i in range(n):\n            if i == 0:\n                p = torch.zeros(n).to(x.device)", Safety.DISPLAY),
    ],
)
def test_what_is_made_and_written_into_the_device_makes_half_of_a_change(other: str, safety: Safety) -> None:
    head = "import torch\n\n\nclass Net(torch.nn.Module):\n    def forward(self, x: torch.Tensor, n):\n"
    one = "        y = torch.rand(n, 3).to(x.device)\n        p = torch.zeros(n, n, device=x.device)\n"
    text = f"{head}{one}        {other}\n        return x + y, p\n"
    assert {one for one, _, _ in offered("TL401", text)} == {safety}


def test_a_copy_to_the_host_that_stays_makes_half_of_a_change_whichever_rule_tells_of_it() -> None:
    head = "import torch\n\n\ndef run(model, loader, device):\n    preds = []\n    targets = []\n"
    loop = "    for x, y in loader:\n        x = x.to(device)\n"
    other = "        y = y.to(device)\n        targets.append(y.cpu())\n"
    end = "        preds.append(model(x).argmax(1).cpu())\n    return torch.cat(preds), targets\n"
    assert [one for one, _, _ in offered("TL102", head + loop + end)] == [Safety.UNSAFE]
    rules = [rule for rule in all_rules() if rule.code in ("TL102", "TL202")]
    found = check_bytes("example.py", f"{head}{loop}{other}{end}".encode(), rules)
    assert {(one.code, one.fix.safety if one.fix else None) for one in found} == {
        ("TL102", Safety.DISPLAY),
        ("TL202", None),
    }


def test_random_numbers_stay_where_the_file_sets_the_seed() -> None:
    assert in_file("torch.manual_seed(3)\n") == {Safety.DISPLAY}
    assert in_file("if __name__ == '__main__':\n    torch.random.manual_seed(3)\n") == {Safety.DISPLAY}
    assert in_file("torch.cuda.manual_seed(3)\n") == {Safety.DISPLAY}
    assert in_file("") == {Safety.UNSAFE}


def test_an_index_beside_a_data_set_is_only_shown() -> None:
    head = "import torch\n\n\nclass Own({}):\n    def __getitem__(self, i):\n        return i\n\n\nclass Pick:\n"
    for base, body, safety in (
        ("torch.utils.data.Dataset", "", Safety.DISPLAY),
        ("object", "", Safety.UNSAFE),
        ("torch.utils.data.Dataset", "        x = x.cuda()\n", Safety.UNSAFE),
    ):
        text = head.format(base) + f"    def forward(self, x: torch.Tensor):\n{body}"
        text += "        return x[[0]]\n"
        assert {one for one, _, _ in offered("TL305", text)} == {safety}


def test_a_wait_that_a_timer_needs_stays() -> None:
    for context, edits in (('Timer("step")', 0), ("self.profiler.step()", 0), ("torch.no_grad()", 1)):
        text = "import torch\n\n\ndef train(self, model, loader):\n    for x in loader:\n"
        text += f"        with {context}:\n            model(x).backward()\n            torch.cuda.synchronize()\n"
        assert len(offered("TL306", text)) == edits


@pytest.mark.parametrize(("above", "below", "left"), [(0, 0, 0), (1, 0, 1), (0, 1, 1), (1, 1, 1), (2, 1, 2), (1, 2, 2)])
def test_blank_lines_around_what_goes_are_those_of_one_side(above: int, below: int, left: int) -> None:
    body = "y = torch.randn(n)\n{}y = y.to(x.device)\n{}z = y\n"
    ((_, _, made),) = offered("TL401", module(body.format("\n" * above, "\n" * below)))
    assert made == module("y = torch.randn(n, device=x.device)\n{}z = y\n".format("\n" * left))


@pytest.mark.parametrize("read", ["", "first = total\n", "for i in range(n):\n    total += 1\n"])
def test_a_sum_that_nobody_reads_is_left_out_by_hand(read: str) -> None:
    body = "total = 0.0\nfor i in range(n):\n    total += x[i].mean().item()\n"
    ((safety, _, _),) = offered("TL101", module(f"{body}print(total)\n"))
    assert safety is Safety.UNSAFE
    assert {safety for safety, _, _ in offered("TL101", module(body + read))} <= {Safety.DISPLAY}
