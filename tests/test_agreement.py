"""Where several rules could speak of one expression, one does: the one that says most."""

from __future__ import annotations

import textwrap

import pytest

from proving import all_rules, check_bytes, default_rules, marks, reported, without_marks

HEAD = "import numpy as np\nimport torch\n"

CASES = {
    "a part of a download, not any copy": """
        class M(torch.nn.Module):
            def forward(self, x: torch.Tensor):
                self.mean = x.cpu().mean()  # expect: TL405
                self.last = x.tolist()[-1]  # expect: TL405
                return x
    """,
    "the copy that is used as a whole is any copy": """
        def collect(model, loader, device, sink):
            for x in loader:
                copy = model(x.to(device)).cpu()  # expect: TL102
                sink.put(copy)
                sink.note(copy.mean())
    """,
    "a loop over elements, not any read": """
        class M(torch.nn.Module):
            def forward(self, x: torch.Tensor, lengths: torch.Tensor):
                for i in range(len(x)):
                    x[i, lengths[i] :] = 0  # expect: TL107
                    if lengths[i] > 3:
                        x[i, int(lengths[i])] = 1
                return x, [one.item() for one in lengths]  # expect: TL107
    """,
    "several reads, not any read": """
        def train(model, loader, device, tracker):
            for x in loader:
                out = model(x.to(device))
                low, high, mean = out.min(), out.max(), out.mean()
                mean.backward()
                tracker.log(low.item(), high.item(), mean.item())  # expect: TL106
    """,
    "two reads are any reads": """
        def train(model, loader, device, tracker):
            for x in loader:
                out = model(x.to(device))
                low, mean = out.min(), out.mean()
                mean.backward()
                tracker.log(low.item(), mean.item())  # expect: TL101
    """,
    "a round trip": """
        class M(torch.nn.Module):
            def forward(self, x: torch.Tensor):
                copy = x.softmax(-1).cpu()  # expect: TL201
                return copy.to(x.device) * 2
    """,
    "made on the spot, not made larger": """
        def train(model, device, steps: int):
            for step in range(steps):
                model(torch.arange(step).repeat(2, 1).to(device))  # expect: TL401
    """,
    "what the loop does not change, not made larger and not uploaded again": """
        def train(model, table, device, steps: int):
            mask = torch.from_numpy(np.asarray(table)) > 0
            for step in range(steps):
                model(mask.float().to(device))  # expect: TL103
                model.check(mask.float().to(device))  # expect: TL103
    """,
    "a pinned batch that is uploaded again": """
        from torch.utils.data import DataLoader
        def train(model, data, device):
            for x, y in DataLoader(data, pin_memory=True):
                first = y.to(device, non_blocking=True)
                loss = model(x.to(device, non_blocking=True), first)
                model.note(loss, y.to(device, non_blocking=True))  # expect: TL204
    """,
}


@pytest.mark.parametrize("name", CASES)
def test_one_expression_is_reported_once(name: str) -> None:
    text = HEAD + textwrap.dedent(CASES[name])
    assert reported(check_bytes("example.py", without_marks(text).encode(), default_rules())) == marks(text)


def test_rules_that_claim_give_way_to_higher_codes_alone() -> None:
    claiming = [rule.code for rule in all_rules() if rule.claims is not None]
    assert claiming == sorted(claiming)
    assert {"TL106", "TL107", "TL204", "TL405"} <= set(claiming)
