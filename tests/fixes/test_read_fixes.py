"""Fixes of reads and copies in loops: what is kept on the device gives the same values after the loop."""

from __future__ import annotations

import importlib.util

import pytest
from simulated import in_simulation

from proving import all_rules, check_bytes, execute, fix, same
from transferlint.fixes.rounds import apply_edits
from transferlint.model import Finding, Safety

RULES = {rule.code: rule for rule in all_rules()}
HAS_TORCH = importlib.util.find_spec("torch") is not None
HEAD = "import numpy as np\nimport torch\n"


def findings(code: str, text: str) -> list[Finding]:
    return list(check_bytes("example.py", text.encode(), [RULES[code]]))


def safeties(code: str, text: str) -> list[Safety | None]:
    return [found.fix.safety if found.fix is not None else None for found in findings(code, text)]


def fixed(code: str, text: str) -> str:
    """The text after all fixes, which must come to rest and compute the same where torch is there."""
    made = fix(text, RULES[code], unsafe=True)
    assert made.refused == ()
    again = fix(made.text, RULES[code], unsafe=True)
    assert again.text == made.text
    if HAS_TORCH:
        one, two = execute(text), execute(made.text)
        assert one.error is None
        assert two.error is None, two.error
        assert [name for name, value in one.values.items() if not same(value, two.values[name])] == []
    return made.text


def by_hand(code: str, text: str) -> str:
    """The text with all edits that are only shown, which must compute the same where torch is there."""
    assert fix(text, RULES[code], unsafe=True).text == text
    shown = [found.fix for found in findings(code, text) if found.fix is not None]
    assert [one.safety for one in shown] == [Safety.DISPLAY] * len(shown)
    made = apply_edits(text, tuple(dict.fromkeys(edit for one in shown for edit in one.edits)))
    if HAS_TORCH:
        one, two = execute(text), execute(made)
        assert one.error is None
        assert two.error is None, two.error
        assert [name for name, value in one.values.items() if not same(value, two.values[name])] == []
    return made


def looped(body: str, before: str, result: str, turns: str = "4") -> str:
    """A function that goes over chunks on the device; `out` is what it returns."""
    indented = "".join(f"        {line}\n" for line in body.splitlines())
    start = "".join(f"    {line}\n" for line in before.splitlines())
    head = f"{HEAD}def run(data: torch.Tensor, n: int):\n    data = data.cuda()\n{start}    for i in range(n):\n"
    return f"{head}{indented}    return {result}\nout = run(torch.arange(8.0).reshape(4, 2), {turns})\n"


SUMS = {
    "a float": ("total += data[i].sum().item()", "total = 0.0", "total += data[i].sum().detach()", "float(total)"),
    "with a factor": ("total += 2 * data[i].sum().item()", "total = 0.0", "2 * data[i].sum().detach()", "float(total)"),
    "of whole numbers": (
        "total += (data[i] > 2).sum().item()",
        "total = 0",
        "total += (data[i] > 2).sum()\n",
        "int(total)",
    ),
    "taken away": ("total -= data[i].sum().item() / 2", "total = 1.0", ".detach() / 2", "float(total)"),
    "under a condition": ("if i:\n    total += data[i].sum().item()", "total = 0.0", ".detach()", "float(total)"),
}


@pytest.mark.parametrize("turns", ["4", "0"])
@pytest.mark.parametrize("name", SUMS)
def test_sums_stay_on_the_device(name: str, turns: str) -> None:
    body, before, kept, read = SUMS[name]
    made = fixed("TL101", looped(body, before, "total", turns))
    assert kept in made
    assert made.count(read) == 1
    assert made.index(kept) < made.index(read) < made.index("return total")


def test_the_comments_at_the_end_of_a_loop_stay_in_it() -> None:
    made = fixed("TL101", looped("total += data[i].sum().item()\n\n# if i:\n#     print(i)", "total = 0.0", "total"))
    assert "        # if i:\n        #     print(i)\n    total = float(total)\n    return total\n" in made


def test_two_sums_into_one_are_read_once() -> None:
    body = "total += data[i].sum().item()\nother = 1\ntotal += data[i].max().item()"
    made = fixed("TL101", looped(body, "total = 0.0", "total"))
    assert made.count("total = float(total)") == 1
    assert ".item()" not in made


@pytest.mark.parametrize(
    ("body", "before"),
    [
        ("total += data[i].sum().item()\nprint(total)", "total = 0.0"),
        ("total += data[i].sum().item()\nif total > 3:\n    break", "total = 0.0"),
        ("total += data[i].sum().item()\nseen = lambda: total", "total = 0.0"),
        ("total += data[i].sum().item()\ntotal = total / 2", "total = 0.0"),
        ("total += str(data[i].sum().item())", "total = ''"),
        ("total += data[i].sum().item()", "total = 'a'"),
        ("total *= data[i].sum().item()", "total = 1.0"),
    ],
)
def test_a_sum_that_is_looked_at_is_left_alone(body: str, before: str) -> None:
    assert Safety.UNSAFE not in safeties("TL101", looped(body, before, "total"))


def test_a_loop_with_an_else_that_looks_is_left_alone() -> None:
    text = looped("total += data[i].sum().item()", "total = 0.0", "total")
    text = text.replace("    return total", "    else:\n        print(total)\n    return total")
    assert Safety.UNSAFE not in safeties("TL101", text)


@pytest.mark.parametrize("turns", ["4", "0"])
@pytest.mark.parametrize(
    ("body", "kept", "read"),
    [
        ("x = data[i].sum()\nvalues.append(x.item())", "values.append(x.detach())", "torch.stack(values).tolist()"),
        (
            "values.append(data[i].sum().item())",
            "values.append(data[i].sum().detach())",
            "torch.stack(values).tolist()",
        ),
    ],
)
def test_lists_are_read_at_once(body: str, kept: str, read: str, turns: str) -> None:
    made = fixed("TL101", looped(body, "values = []", "values", turns))
    assert kept in made
    assert f"    if values:\n        values = {read}"[:-30] in made
    assert read in made


def test_brackets_that_a_read_needed_go_with_it() -> None:
    body = "values.append((data[i].detach().sum().detach() / 2).item())"
    assert "values.append(data[i].detach().sum().detach() / 2)\n" not in looped(body, "values = []", "values")
    made = fixed("TL101", looped(f"with torch.no_grad():\n    {body}", "values = []", "values"))
    assert "values.append(data[i].detach().sum().detach() / 2)\n" in made
    made = fixed("TL102", looped("parts.append((data[i] > 2).cpu())", "parts = []", "torch.vstack(parts)"))
    assert "parts.append(data[i] > 2)\n" in made


@pytest.mark.parametrize(
    ("turns", "body", "asks"),
    [
        ("40", "values.append(data[i % 4].sum().item())", False),
        ("1, 40", "values.append(data[i % 4].sum().item())", True),
        ("40", "if i == 9:\n    continue\nvalues.append(data[i % 4].sum().item())", True),
        ("40", "if i < 9:\n    values.append(data[i % 4].sum().item())", True),
    ],
)
def test_a_list_of_a_loop_that_has_turns_for_certain_is_not_asked_for(turns: str, body: str, asks: bool) -> None:
    text = looped(body, "values = []", "values").replace("range(n)", f"range({turns})")
    made = fixed("TL101", text)
    assert ("    if values:\n" in made) is asks
    assert "values = torch.stack(values).tolist()" in made


@pytest.mark.parametrize(
    ("test", "safety"),
    [("self.per", Safety.DISPLAY), ("self.per or self.all", Safety.DISPLAY), ("n > 2", Safety.UNSAFE)],
)
def test_what_waits_behind_a_setting_may_wait_in_every_turn(test: str, safety: Safety) -> None:
    body = f"total += data[i].mean().item()\nif {test}:\n    self.kept.update(data[i].abs().cpu().numpy())"
    text = looped(body, "total = 0.0", "total").replace("def run(", "def run(self, ").replace("= run(", "= run(None, ")
    assert safeties("TL101", text) == [safety]


@pytest.mark.parametrize(
    ("helper", "safety"),
    [
        ("    return x.abs()\n", Safety.UNSAFE),
        ("    if x.sum() == 0:\n        return 0\n    return x.mean()\n", Safety.DISPLAY),
        ("    for one in x:\n        print(one.item())\n", Safety.DISPLAY),
        ("    if x is None:\n        print(x.item())\n", Safety.UNSAFE),
        ("    return inner(x)\n\n\ndef inner(x: torch.Tensor):\n    return x.cuda().max().item()\n", Safety.DISPLAY),
    ],
)
def test_what_is_called_may_wait_in_every_turn(helper: str, safety: Safety) -> None:
    text = looped("total += data[i].mean().item()\nhelp(data[i])", "total = 0.0", "total")
    assert safeties("TL101", f"{text}\n\ndef help(x: torch.Tensor):\n{helper}")[0] == safety


@pytest.mark.parametrize(("other", "safety"), [("", Safety.UNSAFE), ("seen.append(more(i).cpu())", Safety.DISPLAY)])
def test_a_copy_that_stays_in_the_loop_makes_half_of_a_change(other: str, safety: Safety) -> None:
    text = looped(f"{other}\nparts.append((data[i] > 2).cpu())", "parts, seen = [], []", "torch.vstack(parts), seen")
    text = text.replace("parts, seen = [], []", "parts = []\n    seen = []").replace("n: int", "n: int, more=None")
    assert safeties("TL102", text)[-1:] == [safety]


@pytest.mark.parametrize(
    ("body", "before"),
    [
        ("values.append(data[i].sum().item())\nprint(values)", "values = []"),
        ("values.append(data[i].sum().item())\nvalues.append(1.0)", "values = []"),
        ("values.append(data[i].sum().item())", "values = [1.0]"),
        ("values.append(data[i, :1].item())", "values = []"),  # a part would keep the whole, a copy costs as much
        ("data += 1\nx = data[0, 0]\nvalues.append(x.item())", "values = []"),
        ("values.append(data[i].sum().item())", "values = []\nkept = values"),
        ("values.append([data[i].sum().item()])", "values = []"),
    ],
)
def test_a_list_that_is_looked_at_is_left_alone(body: str, before: str) -> None:
    assert Safety.UNSAFE not in safeties("TL101", looped(body, before, "values"))


@pytest.mark.parametrize(
    ("append", "join", "kept", "joined"),
    [
        ("data[i:i + 1].sum(0).cpu()", "torch.cat(parts)", "data[i:i + 1].sum(0))", "torch.cat(parts).cpu()"),
        ("data[i].sum(-1).cpu()", "torch.stack(parts, dim=0)", "data[i].sum(-1))", "torch.stack(parts, dim=0).cpu()"),
        (
            "data[i:i + 1].sum(0).detach().cpu().numpy()",
            "np.concatenate(parts, axis=0)",
            "data[i:i + 1].sum(0).detach())",
            "torch.cat(parts, dim=0).cpu().numpy()",
        ),
        ("(data[i] > 2).to('cpu')", "torch.vstack(parts)", "data[i] > 2)", "torch.vstack(parts).cpu()"),
    ],
)
def test_what_is_joined_after_the_loop_is_copied_once(append: str, join: str, kept: str, joined: str) -> None:
    made = fixed("TL102", looped(f"parts.append({append})", "parts = []", join))
    assert kept in made
    assert joined in made


@pytest.mark.parametrize(
    "join", ["parts", "np.concatenate(parts)", "torch.cat(parts[1:])", "torch.cat([*parts, data])"]
)
def test_what_is_not_joined_whole_is_left_alone(join: str) -> None:
    text = looped("parts.append(data[i:i + 1].cpu())", "parts = []", join)
    assert Safety.UNSAFE not in safeties("TL102", text)


def test_a_copy_is_returned_on_the_device() -> None:
    text = f"{HEAD}class M:\n    def evaluate_batch(self, x):\n        x = x.cuda()\n"
    text += "        return x.detach().cpu()  # c\n"
    assert safeties("TL102", text) == [Safety.DISPLAY]
    assert fixed("TL102", text) == text


@pytest.mark.parametrize(
    "rest",
    [
        "import torch.distributed.rpc as rpc\n",
        "from multiprocessing import Queue\n",
        "def ask(m, pool, x):\n    return pool.submit(m.evaluate_batch, x)\n",
    ],
)
def test_what_may_go_to_another_process_stays_on_the_host(rest: str) -> None:
    text = f"{HEAD}class M:\n    def evaluate_batch(self, x):\n        x = x.cuda()\n        return x.detach().cpu()\n"
    assert safeties("TL102", text + rest) == [None]


def test_whole_outputs_are_collected_only_by_hand() -> None:
    text = looped("parts.append((data[i:i + 1] * 2).cpu())", "parts = []", "torch.cat(parts)")
    assert Safety.UNSAFE not in safeties("TL102", text)


@pytest.mark.parametrize(
    ("code", "body", "new"),
    [
        ("TL302", "out[int(row[i])] = i", "out[int(row_on_host[i])] = i"),
        ("TL101", "out[row[i].item()] = i", "out[row_on_host[i].item()] = i"),
        ("TL302", "k = int(row[i])\nout[:k] += 1\nout[row[i]:] += 1", "k = int(row_on_host[i])"),
    ],
)
def test_elements_come_from_one_copy(code: str, body: str, new: str) -> None:
    text = looped(body, "row = data[:, 0].long()\nout = [0] * 9 if False else np.zeros(9)", "out.tolist()")
    made = by_hand(code, text)
    assert new in made
    assert "    row_on_host = row.cpu()\n    for i in range(n):\n" in made


def test_what_the_loop_changes_is_not_copied_before() -> None:
    text = looped("row += 1\nout[int(row[i])] = i", "row = data[:, 0].long()\nout = np.zeros(99)", "out.tolist()")
    assert Safety.UNSAFE not in safeties("TL302", text)


def test_a_loop_over_elements_goes_over_a_copy() -> None:
    text = f"{HEAD}def f(x):\n    x = x.cuda()\n    out = []\n    for e in x:\n        out.append(str(e.item()))\n"
    text += "    return out\n"
    text += "out = f(torch.arange(3.0))\n"
    assert "for e in x.cpu():" in by_hand("TL101", text)
    changed = text.replace("        out.append", "        x[1] = 5\n        out.append")
    assert fixed("TL101", changed) == changed


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("max(r.max() for r in data)", "torch.stack([r.max() for r in data]).max()"),
        ("min([r.max() for r in data])", "torch.stack([r.max() for r in data]).min()"),
        ("max(data[i])", "data[i].max()"),
        ("max(data.sum(), 3)", "torch.clamp(data.sum(), min=3)"),
        ("min(100.0, data.sum() + 1)", "torch.clamp(data.sum() + 1, max=100.0)"),
    ],
)
def test_extremes_are_found_on_the_device(old: str, new: str) -> None:
    made = by_hand("TL302", looped(f"found = {old}\nout = out + found", "out = 0", "out"))
    assert new in made


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (["torch.cuda.synchronize()", "x = x + 1"], ["x = x + 1"]),
        (["torch.cuda.synchronize(", "    device=None", ")", "x = 1"], ["x = 1"]),
    ],
)
def test_waits_are_removed(lines: list[str], expected: list[str]) -> None:
    assert by_hand("TL306", waiting(lines)) == waiting(expected)


def waiting(body: list[str]) -> str:
    return HEAD + "def f(loader, n):\n    for x in loader:\n" + "".join(f"        {line}\n" for line in body)


@pytest.mark.parametrize(
    "lines",
    [
        ["torch.cuda.synchronize()  # why", "x = x + 1"],
        ["# why", "torch.cuda.synchronize()"],
        ["if n:", "    torch.cuda.synchronize()", "x = x + 1"],
        ["x = 1; torch.cuda.synchronize()"],
        ["if n: torch.cuda.synchronize()"],
        ["torch.cuda.empty_cache()", "x = x + 1"],
        ["torch.cuda.synchronize()", "peak = torch.cuda.max_memory_allocated()"],
        ["y = x.to('cpu', non_blocking=True)", "x = x + 1", "torch.cuda.synchronize()"],
        ["a, b = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)", "a.record()", "x = x + 1",
         "b.record()", "torch.cuda.synchronize()", "print(a.elapsed_time(b))"],
    ],
)  # fmt: skip
def test_waits_that_somebody_may_need_stay(lines: list[str]) -> None:
    text = waiting(lines)
    assert fixed("TL306", text) == text


def test_events_and_streams_wait_on_the_device() -> None:
    text = (
        "import torch\ndef f(loader):\n    side = torch.cuda.Stream()\n    done = torch.cuda.Event()\n"
        "    for x in loader:\n        WAIT\n        y = x.cuda()\n"
    )
    for wait, instead in (
        ("done.synchronize()", "done.wait()"),
        ("side.synchronize()", "torch.cuda.current_stream().wait_stream(side)"),
    ):
        assert instead in by_hand("TL306", text.replace("WAIT", wait))


def test_what_is_taken_from_a_queue_is_still_taken() -> None:
    text = "import torch\ndef f(loader, events):\n    for x in loader:\n        events.popleft().synchronize()\n"
    assert set(safeties("TL306", text)) <= {None}


@pytest.mark.parametrize(
    ("old", "new", "safety"),
    [
        ("torch.tensor(t.item(), dtype=t.dtype, device=t.device)", "t.detach().clone()", Safety.SAFE),
        ("torch.tensor(t.item(), device=t.device)", "t.detach().clone()", Safety.UNSAFE),
        (
            "torch.tensor(t.item(), dtype=torch.float64, device='cuda')",
            ".to(device='cuda', dtype=torch.float64)",
            Safety.UNSAFE,
        ),
        ("torch.tensor(data.tolist(), dtype=data.dtype, device=data.device)", "data.detach().clone()", Safety.UNSAFE),
        ("torch.from_numpy(data.cpu().numpy()).to(data.device)", "data.detach().clone()", Safety.UNSAFE),
        (
            "torch.from_numpy(np.argsort(row.cpu().numpy())).cuda()",
            'torch.argsort(row.detach()).to(device="cuda")',
            Safety.UNSAFE,
        ),
        ("(t > 2).type(torch.FloatTensor).to(t.device)", "(t > 2).float().to(t.device)", Safety.UNSAFE),
        ("t.type('torch.LongTensor').cuda()", "t.long().cuda()", Safety.UNSAFE),
        (
            "torch.tensor(sorted(row.tolist()), dtype=row.dtype, device=row.device)",
            "torch.sort(row.detach()).values",
            Safety.UNSAFE,
        ),
    ],
)
def test_detours_stay_on_the_device(old: str, new: str, safety: Safety) -> None:
    text = looped(f"t = data.sum()\nback = {old}\nout = out + back.sum()", "row = -data[:, 0]\nout = 0", "out")
    assert safeties("TL201", text) == [safety]
    assert new in fixed("TL201", text)


def test_what_is_shown_only_is_never_applied() -> None:
    text = f"{HEAD}class M(torch.nn.Module):\n    def training_step(self, batch, i):\n"
    text += "        loss = self.net(batch).mean()\n"
    text += "        self.log('loss', loss.item())\n        return {'loss': loss, 'value': loss.item()}\n"
    assert set(safeties("TL101", text)) == {Safety.DISPLAY}
    edits = [edit for found in findings("TL101", text) if found.fix for edit in found.fix.edits]
    assert {edit.text for edit in edits} == {".detach()"}
    assert fix(text, RULES["TL101"], unsafe=True).text == text


@pytest.mark.parametrize("use", ["y[:n]", "range(n)", "'%d' % n", "y.view(n, -1)", "[1, 2][n]", "(n if n > 2 else 0)"])
def test_no_edit_is_shown_where_a_number_is_needed(use: str) -> None:
    text = f"{HEAD}class M(torch.nn.Module):\n    def forward(self, x, y):\n"
    text += f"        n = x.max().item()\n        return {use}\n"
    assert safeties("TL101", text) == [None]


@in_simulation
def test_a_sum_waits_once_on_the_simulated_accelerator() -> None:
    import torch

    device = torch.device("cuda")
    losses = torch.arange(4.0, device=device)
    total = 0.0
    for i in range(4):
        total += losses[i].detach()
    assert isinstance(total, torch.Tensor)
    assert total.device.type == "cuda"
    assert float(total) == 6.0
    values = [losses[i].detach() for i in range(4)]
    assert torch.stack(values).tolist() == [0.0, 1.0, 2.0, 3.0]
    kept = losses[2].detach().clone()
    assert kept.device == losses.device
    assert kept.dtype == torch.tensor(losses[2].item(), dtype=losses.dtype, device=device).dtype


@pytest.mark.parametrize(
    ("said", "safety"),
    [("", Safety.UNSAFE), (": float", Safety.DISPLAY), (": torch.Tensor | float", Safety.UNSAFE)],
)
def test_a_sum_stays_of_the_type_that_is_written_down(said: str, safety: Safety) -> None:
    text = looped("total += data[i].mean().item()", f"total{said} = 0.0", "total")
    assert safeties("TL101", text) == [safety]


@pytest.mark.parametrize(
    ("said", "safety"),
    [("", Safety.UNSAFE), (": list", Safety.UNSAFE), (": list[float]", Safety.DISPLAY)],
)
def test_a_list_stays_of_the_type_that_is_written_down(said: str, safety: Safety) -> None:
    text = looped("means.append(data[i].mean().item())", f"means{said} = []", "means")
    assert safeties("TL101", text) == [safety]


@pytest.mark.parametrize(
    ("made", "safety"),
    [
        ("model.half()", Safety.DISPLAY),
        ("model.to(torch.bfloat16)", Safety.DISPLAY),
        ("model.from_pretrained('a', torch_dtype=torch.float16)", Safety.DISPLAY),
        ("model.from_pretrained('a', torch_dtype=torch.float32)", Safety.UNSAFE),
        ("torch.ones(3, dtype=torch.float16).to(torch.float32)", Safety.UNSAFE),
        ("torch.ones(3).half()", Safety.UNSAFE),
    ],
)
def test_a_sum_in_half_precision_is_only_shown(made: str, safety: Safety) -> None:
    text = looped("total += data[i].mean().item()", "total = 0.0", "total")
    assert safeties("TL101", f"{text}\n\ndef made(model):\n    return {made}\n") == [safety]
