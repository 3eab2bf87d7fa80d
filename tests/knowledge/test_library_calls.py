"""What the tables of libraries, and the user, make of calls: values, transfers, and what the rules say."""

from __future__ import annotations

from pathlib import Path

import pytest

from transferlint import registry
from transferlint.engine import checking
from transferlint.settings import loading
from transferlint.settings.loading import Settings

HEAD = """\
import torch, wandb, accelerate
import torch.distributed as dist
from torch.utils.tensorboard import SummaryWriter
from tqdm import tqdm
from transformers import AutoTokenizer
import mylib
from mylib import ops

"""
LOOP = """\
def train(model, loader, optimizer, device, writer, scaler, accelerator, tokenizer):
    bar = tqdm(loader)
    for step, inputs in enumerate(bar):
        loss = torch.nn.functional.mse_loss(model(inputs.to(device)), torch.zeros(3, device=device))
        loss.backward()
        optimizer.step()
        {body}
"""


def found(body: str, knowledge: str = "") -> list[str]:
    """The codes reported in the loop's body."""
    text = HEAD + LOOP.format(body=body)
    used = Settings(context="file")
    if knowledge:
        used = loading.inline(knowledge, used)
    plan = checking.plan_for(used, registry.load())
    result, _ = checking.check_stdin("a.py", text.encode(), used, plan)
    assert not result.troubles
    line = text.count("\n")
    return [finding.code for finding in result.findings if finding.site.line == line]


@pytest.mark.parametrize(
    ("body", "codes"),
    [
        ("writer.add_scalar('loss', loss, step)", ["TL101"]),
        ("writer.add_scalar('loss', 0.5, step)", []),
        ("writer.add_text('loss', 'low', step)", []),
        ("wandb.log({'loss': loss})", ["TL101"]),
        ("wandb.log({'step': step})", []),
        ("accelerator.log({'loss': loss}, step=step)", ["TL101"]),
        ("everyone = accelerator.gather(loss)", []),
        ("torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)", []),
        ("torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0, error_if_nonfinite=True)", ["TL301"]),
        ("scale = scaler.get_scale()", ["TL101"]),
        ("scaler.step(optimizer)", []),
        ("scaler.update()", []),
        ("dist.barrier()", ["TL306"]),
        ("dist.all_reduce(loss)", []),
        ("dist.all_gather_object([None], step)", ["TL306"]),
        ("words = tokenizer.batch_decode(loss.argmax(-1))", ["TL101"]),
        ("mylib.peek(loss)", []),
    ],
)
def test_in_a_training_loop(body: str, codes: list[str]) -> None:
    assert found(body) == codes


@pytest.mark.parametrize(
    ("knowledge", "body", "codes"),
    [
        ('knowledge.reads = ["mylib.peek"]', "mylib.peek(loss)", ["TL101"]),
        ('knowledge.reads = ["mylib.ops.*"]', "ops.peek(loss)", ["TL101"]),
        ('knowledge.syncs = ["*.wait"]', "mylib.wait()", ["TL306"]),
        ('knowledge.returns-device = ["mylib.noise"]', "value = mylib.noise(3).item()", ["TL101"]),
        ('knowledge.returns-host = ["mylib.noise"]', "value = mylib.noise(loss).item()", []),
        ('knowledge.returns-host = ["wandb.log"]', "wandb.log({'loss': loss})", []),
        ('knowledge.cold = ["*.train"]', "value = loss.item()", []),
    ],
)
def test_what_the_user_says(knowledge: str, body: str, codes: list[str]) -> None:
    assert found(body, knowledge) == codes


def test_hot_by_the_settings(tmp_path: Path) -> None:
    text = "import torch\n\ndef advance(state):\n    x = torch.ones(3, device='cuda')\n    return x.sum().item()\n"
    for knowledge, codes in (('knowledge.hot = ["a.advance"]', ["TL101"]), ('knowledge.hot = ["b.advance"]', [])):
        used = loading.inline(knowledge, Settings(context="file"))
        result, _ = checking.check_stdin("a.py", text.encode(), used, checking.plan_for(used, registry.load()))
        assert [finding.code for finding in result.findings] == codes
