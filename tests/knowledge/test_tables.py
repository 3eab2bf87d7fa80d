"""The tables: every name exists where its library is installed, stands once, and rests on something."""

from __future__ import annotations

import builtins
import importlib
import importlib.util
from typing import Any

import pytest

from transferlint.knowledge import catalogue, torch
from transferlint.knowledge.api import Api, Effect, Hook
from transferlint.knowledge.frameworks import FRAMEWORKS
from transferlint.knowledge.libraries import HOLDING
from transferlint.knowledge.lightning import CALLBACK_BASES, MODULES
from transferlint.knowledge.roles import COLD_EXACT, HOT_METHODS
from transferlint.model import Level

ROWS = [(name, row) for table in catalogue.TABLES for row in table for name in row.names]
VENDORS = {name for row in torch.VENDORS for name in row.names}
NEEDED_BESIDE = {"torch.utils.tensorboard": "tensorboard"}


def resolve(name: str) -> Any:
    """What a qualified name stands for; raises ImportError or AttributeError where it is nothing."""
    root, _, rest = name.partition(".")
    if root in ("Tensor", "Module"):
        found: Any = importlib.import_module("torch")
        rest = name if root == "Tensor" else "nn." + name
    elif root == "builtins":
        found = builtins
    else:
        found = importlib.import_module(root)
    path = found.__name__
    for part in rest.split("."):
        path += "." + part
        found = getattr(found, part) if hasattr(found, part) else importlib.import_module(path)
    return found


def _exists(name: str) -> bool:
    try:
        resolve(name)
    except (ImportError, AttributeError):
        return False
    return True


def _names_of(root: str) -> list[str]:
    return sorted(name for name, _ in ROWS if name.partition(".")[0] == root and name not in VENDORS)


# Other libraries rename with every release, and their tables keep the older names too.
@pytest.mark.parametrize("root", ["torch", "Tensor", "numpy", "builtins"])
def test_every_name_exists(root: str):
    names = _names_of(root)
    assert names
    library = "torch" if root in ("Tensor", "Module") else root
    if importlib.util.find_spec(library) is None:
        pytest.skip(f"{library} is not installed")
    if library == "torch":
        pytest.importorskip("torch.distributed.fsdp")
    missing = []
    for name in names:
        beside = next((needed for prefix, needed in NEEDED_BESIDE.items() if name.startswith(prefix)), None)
        if beside is not None and importlib.util.find_spec(beside) is None:
            continue
        if not _exists(name.removesuffix(".*")):
            missing.append(name)
    assert missing == []


def test_no_name_stands_twice():
    seen: dict[str, Api] = {}
    twice = [name for name, row in ROWS if seen.setdefault(name, row) is not row]
    assert twice == []
    within = [name for table in catalogue.TABLES for row in table for name in row.names if row.names.count(name) > 1]
    assert within == []


def test_every_row_rests_on_something():
    assert [row.names for _, row in ROWS if len(row.source) < 10] == []
    assert [row.names for _, row in ROWS if "://" in row.source] == []  # a page's name outlives its address
    hooks = [hook for table in catalogue.HOOKS for hook in table]
    assert [hook.names for hook in hooks if len(hook.source) < 10] == []
    assert [one.callee for table in catalogue.CALLBACKS for one in table if len(one.source) < 10] == []


def test_names_are_qualified():
    assert [name for name, _ in ROWS if "." not in name or name != name.strip() or ".." in name] == []


def test_every_effect_is_used_and_explained():
    beside_torch = (row for framework in FRAMEWORKS for row in framework.table)
    used = {row.effect for row in (*(row for _, row in ROWS), *beside_torch)}
    used |= {row.otherwise for _, row in ROWS if row.when or row.unless}
    assert [effect.name for effect in Effect if len(effect.value) < 10] == []
    # an effect without a row is one that the analysis gives by itself
    assert {effect for effect in Effect if effect not in used} == {Effect.ITERATE}


def test_what_the_operands_decide_is_the_effect_without_arguments():
    effects = catalogue.effects()
    assert effects["Tensor.item"] is Effect.SCALAR
    assert effects["torch.nn.utils.clip_grad_norm_"] is Effect.KEEP
    assert effects["torch.distributed.barrier"] is Effect.SYNCHRONIZE
    assert "torch.amp.GradScaler.get_scale" not in effects
    assert set(effects.values()) <= catalogue.BY_OPERANDS


def test_no_hook_is_both_hot_and_cold():
    by_method: dict[str, Hook] = {}
    for table in catalogue.HOOKS:
        for hook in table:
            for name in hook.names:
                if hook.anywhere:
                    known = by_method.setdefault(name.rpartition(".")[2], hook)
                    assert (known.level >= Level.PER_STEP) == (hook.level >= Level.PER_STEP), name
    for method, hook in by_method.items():
        if hook.level < Level.PER_STEP:
            assert method not in HOT_METHODS, method
        else:
            assert method not in COLD_EXACT, method


@pytest.mark.parametrize("bases", [MODULES, CALLBACK_BASES])
def test_lightning_has_its_two_names(bases: tuple[str, ...]):
    assert any(name.startswith("lightning.pytorch.") for name in bases)
    assert any(name.startswith("pytorch_lightning.") for name in bases)


@pytest.mark.filterwarnings("ignore")
def test_what_holds_parameters_or_modules_is_known() -> None:
    nn = pytest.importorskip("torch").nn
    holding = set()
    for name in dir(nn):
        kind = getattr(nn, name)
        if not isinstance(kind, type) or not issubclass(kind, nn.Module):
            continue
        for given in ((), (2,), (2, 2), (2, 2, 2), (4, 8, [2]), (nn.TransformerEncoderLayer(2, 1), 1)):
            try:
                made = kind(*given)
            except Exception:
                continue
            if list(made.parameters()) or list(made.buffers()):
                holding.add(name)
            break
    containers = {"Container", "Module", "ModuleDict", "ModuleList", "ParameterDict", "ParameterList", "Sequential"}
    made_otherwise = {"DataParallel", "RNNBase", "RNNCellBase", "TransformerDecoder", "AdaptiveLogSoftmaxWithLoss"}
    assert holding <= HOLDING
    assert {name for name in HOLDING - holding if hasattr(nn, name)} <= containers | made_otherwise
