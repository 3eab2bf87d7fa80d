"""Frameworks beside torch: planted programs, what is traced, what a rule says of which framework, and what is left of
torch outside of the tables."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from proving import all_rules, check_bytes, default_rules, marks, reported
from transferlint.cli.cards import beside_torch
from transferlint.cli.rule_command import COMMAND
from transferlint.flow.callgraph import tracing
from transferlint.flow.placement import foreign, foreign_members
from transferlint.knowledge.frameworks import FRAMEWORKS
from transferlint.model import Confidence, Finding, Safety
from transferlint.rule import Rule

ROOT = Path(__file__).parents[1]
PLANTED = sorted((Path(__file__).parent / "fixtures" / "planted").glob("*.py"))
NAMES = {framework.name for framework in FRAMEWORKS}
SHOWN = {path.stem for path in PLANTED}
# How often the analysis and the rules spell torch in code: it may only become less. What is told by tables is not here.
TORCH_IN_FLOW = 98
TORCH_IN_RULES = 201


def found(text: str, *also: str) -> tuple[Finding, ...]:
    return check_bytes("example.py", text.encode(), default_rules(*also))


@pytest.mark.parametrize("path", PLANTED, ids=lambda path: path.stem)
def test_ten_planted_mistakes_are_found_and_none_is_invented(path: Path) -> None:
    """Without being asked, and with what is possible."""
    data = path.read_bytes()
    wanted = marks(data.decode())
    assert sum(wanted.values()) == 10
    findings = check_bytes(path.name, data, default_rules(), Confidence.POSSIBLE)
    assert reported(findings) == wanted
    assert reported(check_bytes(path.name, data, default_rules())) == wanted
    assert {finding.framework for finding in findings} == {path.stem}
    assert [finding for finding in findings if finding.fix is not None] == []
    assert [finding.help for finding in findings if "torch" in finding.help] == []


@pytest.mark.parametrize("rule", all_rules(), ids=lambda rule: rule.code)
def test_a_rule_says_which_frameworks_it_serves(rule: Rule) -> None:
    if rule.code.startswith("TL0"):
        return
    assert rule.advice is not None
    assert {name for name, _ in rule.advice} <= NAMES
    assert {example.framework for example in rule.all_examples()} <= NAMES | {""}
    for name, advice in rule.advice:
        assert advice == advice.strip() != ""
        assert not advice.endswith(".")
        for kind in ("fires", "quiet", "suppressed") if name in SHOWN else ():
            assert (ROOT / "tests" / "fixtures" / rule.code / f"{kind}_{name}.py").is_file(), (rule.code, name, kind)


LOOP = """\
import {imported}


def train(batches):
    for batch in batches:
        total = {made}
        print({read})
"""


@pytest.mark.parametrize(
    ("imported", "made", "read", "framework"),
    [
        ("torch", "torch.ones(3, device='cuda').sum()", "total.item()", ""),
        ("jax.numpy as jnp", "jnp.ones(3).sum()", "total.item()", "jax"),
        ("jax.numpy as np", "np.ones(3).sum()", "total.item()", "jax"),
    ],
)
def test_a_finding_names_its_framework(imported: str, made: str, read: str, framework: str) -> None:
    (finding,) = found(LOOP.format(imported=imported, made=made, read=read))
    assert (finding.code, finding.framework) == ("TL101", framework)


@pytest.mark.parametrize(
    "setting",
    [
        'import jax\njax.config.update("jax_platforms", "cpu")',
        'import os\nos.environ["JAX_PLATFORMS"] = "cpu"',
        'import os\nos.environ["CUDA_VISIBLE_DEVICES"] = ""',
    ],
)
def test_a_program_that_asks_for_the_host_has_nothing_on_the_device(setting: str) -> None:
    text = LOOP.format(imported="jax.numpy as jnp", made="jnp.ones(3).sum()", read="total.item()")
    assert found(text)
    assert found(setting + "\n" + text) == ()


def test_a_framework_that_is_not_imported_says_nothing() -> None:
    text = LOOP.format(imported="numpy as jnp", made="jnp.ones(3).sum()", read="total.item()")
    assert found(text) == ()


def test_a_rule_that_knows_nothing_of_frameworks_speaks_of_all() -> None:
    text = LOOP.format(imported="jax.numpy as jnp", made="jnp.ones(3).sum()", read="total.item()")
    (finding,) = found(text)
    rule = next(rule for rule in all_rules() if rule.code == "TL001")
    assert rule.advice is None
    assert rule.served(finding) is finding
    torch_only = next(rule for rule in all_rules() if rule.code == "TL402")
    assert torch_only.served(finding) is None


def _torch_in(folder: Path) -> int:
    """How often code says torch: comments, docstrings and the examples and documents of rules do not count."""
    count = 0
    for path in sorted(folder.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        text = text.partition("\nRULE = Rule(")[0]
        text = re.sub(r'"""(.|\n)*?"""', "", text)
        text = re.sub(r"#.*", "", text)
        count += len(re.findall(r'["\'][^"\'\n]*\btorch\b', text)) + len(re.findall(r"\bTENSOR_ONLY\b", text))
    return count


@pytest.mark.parametrize(
    ("folder", "known"), [("transferlint/flow", TORCH_IN_FLOW), ("rules", TORCH_IN_RULES)], ids=["flow", "rules"]
)
def test_what_assumes_torch_outside_of_the_tables_does_not_grow(folder: str, known: int) -> None:
    assert _torch_in(ROOT / folder) <= known


@pytest.mark.parametrize("rule", all_rules(), ids=lambda rule: rule.code)
def test_a_rule_shows_an_example_of_every_framework_that_it_serves(rule: Rule) -> None:
    for one in beside_torch(rule):
        assert one["bad"], one["framework"]
        assert one["good"] != one["bad"]
        page = (ROOT / "docs" / "rules" / f"{rule.code}.md").read_text(encoding="utf-8")
        assert f"## {one['framework']}" in page
        assert one["bad"] in page


def test_the_command_line_prints_advice_and_example_of_each_framework() -> None:
    made = CliRunner().invoke(COMMAND, ["TL101"])
    assert made.exit_code == 0
    rule = next(rule for rule in all_rules() if rule.code == "TL101")
    for one in beside_torch(rule):
        assert f"{one['framework']}\n{'-' * len(one['framework'])}\nUse instead: " in made.output
        assert all(line.strip() in made.output for line in (one["bad"] + one["good"]).splitlines())


@pytest.mark.parametrize(
    ("upload", "shown"),
    [
        ("jnp.asarray(t.cpu())", "jnp.from_dlpack(t)"),
        ("jnp.asarray(t.detach().cpu().numpy())", "jnp.from_dlpack(t.detach())"),
        ("cp.asarray(np.asarray(t.cpu()))", "cp.from_dlpack(t)"),
        (
            "tf.convert_to_tensor(t.cpu().numpy())",
            "tf.experimental.dlpack.from_dlpack(torch.utils.dlpack.to_dlpack(t))",
        ),
    ],
)
def test_what_another_framework_takes_by_way_of_the_host_is_shown_shared(upload: str, shown: str) -> None:
    text = (
        "import cupy as cp\nimport jax.numpy as jnp\nimport numpy as np\nimport tensorflow as tf\nimport torch\n\n\n"
        "def run(model, batches):\n    for batch in batches:\n        t = model(batch.cuda())\n"
        f"        kept = {upload}\n        print(kept.shape)\n"
    )
    (finding,) = found(text)
    assert finding.code == "TL201"
    assert finding.fix is not None
    assert finding.fix.safety is Safety.DISPLAY
    (edit,) = finding.fix.edits
    assert (text[edit.start : edit.end], edit.text) == (upload, shown)


def test_a_file_of_no_framework_is_not_searched_for_what_they_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    """Counted in calls: neither the search for traced code nor a table of a framework is asked."""
    asked: list[str] = []
    monkeypatch.setattr(tracing, "_Search", lambda file: asked.append("search"))
    for name in ("named", "applied"):
        monkeypatch.setattr(foreign, name, lambda *given, name=name: asked.append(name))
    for name in ("method", "attribute"):
        monkeypatch.setattr(foreign_members, name, lambda *given, name=name: asked.append(name))
    text = LOOP.format(imported="torch", made="torch.ones(3, device='cuda').sum()", read="total.item()")
    assert len(found(text)) == 1
    assert asked == []


def test_a_call_that_only_python_can_make_is_at_most_possible() -> None:
    text = (
        "import tensorflow as tf\n\n\n@tf.function\ndef step(env, actions):\n    def run(actions):\n"
        "        return env.step(actions)\n\n    return tf.numpy_function(run, [actions], tf.float32)\n\n\n"
        "def train(env, batches):\n    for batch in batches:\n        print(step(env, batch).shape)\n"
    )
    assert [one for one in found(text) if one.confidence > Confidence.POSSIBLE] == []


def test_what_keras_gives_as_numbers_is_on_the_host_whoever_asks() -> None:
    text = """
import keras
model = keras.Sequential([keras.layers.Dense(1)])
model.compile("adam", "mse")
losses = []
for x, y in loader:
    losses.append(float(model.train_on_batch(x, y)))
"""
    assert check_bytes("example.py", text.encode(), default_rules(), Confidence.POSSIBLE) == ()
    copied = text.replace("float(model.train_on_batch(x, y))", "model(x).numpy()")
    assert [one.code for one in check_bytes("example.py", copied.encode(), default_rules())] == ["TL102"]


def test_what_tensorflow_computes_with_int32_is_on_the_host() -> None:
    text = """
import tensorflow as tf
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
total = 0
for x, y in loader:
    hits = tf.cast(model(x) > 0, dtype=tf.int32)
    total += int(tf.reduce_sum(hits))
"""
    assert check_bytes("example.py", text.encode(), default_rules(), Confidence.POSSIBLE) == ()
    counted = text.replace("tf.int32", "tf.float32")
    assert [one.code for one in check_bytes("example.py", counted.encode(), default_rules())] == ["TL302"]
