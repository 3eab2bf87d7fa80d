"""pytorch-tabnet: its estimators fitted on tables, pretrained, explained and saved."""

from __future__ import annotations

import tempfile

import numpy as np
import torch
from pytorch_tabnet import augmentations, sparsemax
from pytorch_tabnet.multitask import TabNetMultiTaskClassifier
from pytorch_tabnet.pretraining import TabNetPretrainer
from pytorch_tabnet.tab_model import TabNetClassifier, TabNetRegressor

from truth import Package, bound, case, workload
from truth.drive import DEVICE, calls

PACKAGE = Package("pytorch-tabnet==4.1.0", extra=("pandas",), seconds=400)
SIZES = {"n_d": 4, "n_a": 4, "n_steps": 2, "device_name": "cuda", "verbose": 0}


def _table(rows=64, classes=3):
    x = np.random.randn(rows, 6).astype("float32")
    x[:, 5] = np.random.randint(0, 4, rows)
    return x, np.random.randint(0, classes, rows)


def _fit(model, x, y, **options):
    made = model._set_network

    def watch():
        made()
        bound(model.network, "train")

    model._set_network = watch
    model.fit(x, y, max_epochs=2, batch_size=16, virtual_batch_size=8, drop_last=False, **options)


@workload
def estimating():
    x, y = _table()
    for name, options, more in (
        ("classifier", {}, {}), ("embedding", {"cat_idxs": [5], "cat_dims": [4], "cat_emb_dim": 2}, {}),
        ("entmax", {"mask_type": "entmax"}, {"weights": 1}),
        ("evaluated", {}, {"eval_set": [_table(32)], "eval_metric": ["accuracy", "logloss"], "patience": 2}),
        ("augmented", {}, {"augmentations": augmentations.ClassificationSMOTE(device_name=DEVICE)}),
        ("scheduled", {"scheduler_fn": torch.optim.lr_scheduler.StepLR, "scheduler_params": {"step_size": 1}}, {}),
        ("grouped", {"grouped_features": [[0, 1], [2, 3]]}, {}),
    ):  # fmt: skip
        with case(name), tempfile.TemporaryDirectory() as folder:
            model = TabNetClassifier(**SIZES, **options)
            _fit(model, x, y, **more)
            model.predict(x)
            model.predict_proba(x)
            model.explain(x)
            model.save_model(f"{folder}/model")
    with case("regressor"):
        model = TabNetRegressor(**SIZES)
        _fit(
            model,
            x,
            np.random.randn(64, 2).astype("float32"),
            augmentations=augmentations.RegressionSMOTE(device_name=DEVICE),
        )
        model.predict(x)
    with case("several tasks"):
        model = TabNetMultiTaskClassifier(**SIZES)
        _fit(model, x, np.stack([y, _table()[1]], 1))
        model.predict(x)
    with case("pretrained"):
        before = TabNetPretrainer(**SIZES)
        made = before._set_network
        before._set_network = lambda: (made(), bound(before.network, "pretrain"))
        before.fit(x, max_epochs=2, batch_size=16, virtual_batch_size=8, pretraining_ratio=0.5)
        before.predict(x)
        _fit(TabNetClassifier(**SIZES), x, y, from_unsupervised=before)


@workload
def activating():
    for name, function in (("sparsemax", sparsemax.Sparsemax(-1)), ("entmax", sparsemax.Entmax15(-1))):
        calls(name, function, lambda: (torch.randn(8, 16, device=DEVICE, requires_grad=True),), backward=True)
