"""What is worth analysing."""

from __future__ import annotations

import pytest

from transferlint.files.screen import worth_analysing


@pytest.mark.parametrize(
    "source",
    [b"import torch", b"x: Tensor", b"y = x.cuda()", b"x.cpu()", b"import lightning as L", b"accelerator.prepare(m)",
     b"def f(a): return a.item()", b"# -*- coding: utf-7 -*-\n+AGk-mport x"],
)  # fmt: skip
def test_worth_it(source):
    assert worth_analysing(source)


@pytest.mark.parametrize("source", [b"", b"import os\nprint(1)\n", b"items = [x.items() for x in y]\n"])
def test_not_worth_it(source):
    assert not worth_analysing(source)
