"""How sure it is that a decision of the host waits: as sure as the read it rests on, where it always comes first, and
as the place of what is read."""

from __future__ import annotations

import pytest

from proving import check_bytes, default_rules
from transferlint.model import Confidence

LOOP = """
import torch
loader = [(torch.rand(4), torch.rand(4)) for _ in range(12)]
for x, y in loader:
    x = x.to("cuda")
    {before}
    for row in x:
        if kept.all().item():
            torch.relu_(x)
        else:
            kept = x.cpu()
"""


@pytest.mark.parametrize("before", ["kept = y", "kept = x.cpu()"])
def test_a_read_at_the_end_of_some_turns_does_not_always_come_first(before: str) -> None:
    text = LOOP.format(before=before)
    found = [one for one in check_bytes("example.py", text.encode(), default_rules()) if one.code == "TL203"]
    assert [one.confidence for one in found] == [Confidence.LIKELY]


@pytest.mark.parametrize("test", ["x.all().item()", "kept.all()"])
def test_a_read_right_before_the_decision_always_comes_first(test: str) -> None:
    text = f"""
import torch
weight = torch.ones(4, device="cuda")
for x in [torch.ones(4, device="cuda")] * 12:
    kept = x.cpu()
    if {test}:
        weight = weight + 1
"""
    found = [at for one in check_bytes("example.py", text.encode(), default_rules()) for at in one.apart()]
    assert [one.confidence for one in found if one.code == "TL203"] == [Confidence.CERTAIN]


def test_what_some_callers_give_on_the_host_is_not_proven_to_be_on_the_device() -> None:
    text = """
import torch
def check(x):
    if x.sum() > 0:
        pass
{}
for _ in range(1000):
    check(torch.ones(4, device="cuda"))
"""
    for other, confidence in (("pass", Confidence.CERTAIN), ("check(torch.ones(4))", Confidence.LIKELY)):
        found = check_bytes("example.py", text.format(other).encode(), default_rules())
        assert [(one.code, one.confidence) for one in found] == [("TL301", confidence)]
