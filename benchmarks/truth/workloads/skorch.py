"""skorch: networks as scikit-learn estimators: fit with callbacks, predict, score, grid search, saving."""

from __future__ import annotations

import os
import tempfile

import numpy as np
import skorch
import torch
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from skorch import NeuralNet, NeuralNetBinaryClassifier, NeuralNetClassifier, NeuralNetRegressor, callbacks
from skorch.dataset import ValidSplit
from skorch.helper import SliceDataset
from torch import nn

from truth import Package, bound, case, workload

PACKAGE = Package("skorch==1.4.0", seconds=240)
DEVICE = "cuda"


class Net(nn.Module):
    def __init__(self, inputs=8, hidden=16, outputs=3, softmax=True):
        super().__init__()
        layers = [nn.Linear(inputs, hidden), nn.ReLU(), nn.Dropout(0.1), nn.Linear(hidden, outputs)]
        self.layers = nn.Sequential(*layers, *([nn.Softmax(-1)] if softmax else []))
        bound(self, "batch")

    def forward(self, x):
        return self.layers(x)


class Flat(Net):
    def forward(self, x):
        return self.layers(x).squeeze(-1)


def _classes(n=60):
    return np.random.randn(n, 8).astype(np.float32), np.random.randint(0, 3, n)


@workload
def estimators():
    common = {"max_epochs": 3, "batch_size": 16, "device": DEVICE, "verbose": 0}
    with case("classifier"):
        net = NeuralNetClassifier(Net, **common, lr=0.1)
        x, y = _classes()
        net.fit(x, y)
        net.predict(x)
        net.predict_proba(x)
        net.score(x, y)
        net.partial_fit(x, y)
    with case("classifier by logits"):
        net = NeuralNetClassifier(
            Net, module__softmax=False, criterion=nn.CrossEntropyLoss, optimizer=torch.optim.AdamW, **common
        )
        x, y = _classes()
        net.fit(x, y)
        net.predict_proba(x)
    with case("binary"):
        net = NeuralNetBinaryClassifier(Flat, module__outputs=1, module__softmax=False, **common)
        x, y = _classes()
        net.fit(x, (y > 0).astype(np.float32))
        net.predict(x)
    with case("regressor"):
        net = NeuralNetRegressor(Net, module__outputs=1, module__softmax=False, train_split=None, **common)
        x, y = _classes()
        net.fit(x, y.astype(np.float32)[:, None])
        net.predict(x)
        net.score(x, y.astype(np.float32)[:, None])
    with case("callbacks"), tempfile.TemporaryDirectory() as folder:
        net = NeuralNetClassifier(
            Net,
            **{**common, "max_epochs": 5},
            callbacks=[
                callbacks.EpochScoring("balanced_accuracy", name="balanced"),
                callbacks.BatchScoring("accuracy", name="batch accuracy", on_train=True),
                callbacks.EarlyStopping(patience=3),
                callbacks.LRScheduler("StepLR", step_size=2),
                callbacks.GradientNormClipping(1.0),
                callbacks.Checkpoint(dirname=folder),
                callbacks.TrainEndCheckpoint(dirname=folder),
                callbacks.InputShapeSetter(param_name="inputs"),
            ],
        )
        x, y = _classes()
        net.fit(x, y)
        net.load_params(checkpoint=callbacks.Checkpoint(dirname=folder))
        net.history[:, "train_loss"]
    with case("plateau and frozen layers"):
        net = NeuralNetClassifier(
            Net,
            **common,
            callbacks=[
                callbacks.LRScheduler("ReduceLROnPlateau", monitor="valid_loss"),
                callbacks.Freezer("layers.0.*"),
                callbacks.ParamMapper("layers.3.*", lambda one: nn.init.xavier_uniform_(one) if one.dim() > 1 else one),
            ],
        )
        net.fit(*_classes())
    with case("saving"), tempfile.TemporaryDirectory() as folder:
        net = NeuralNetClassifier(Net, **common)
        x, y = _classes()
        net.fit(x, y)
        for _ in range(3):
            net.save_params(os.path.join(folder, "p.pt"), f_optimizer=os.path.join(folder, "o.pt"))
            net.load_params(os.path.join(folder, "p.pt"), f_optimizer=os.path.join(folder, "o.pt"))
        other = NeuralNetClassifier(Net, **common).initialize()
        other.load_params(os.path.join(folder, "p.pt"))
    with case("dataset and slices"):
        x, y = _classes()
        data = torch.utils.data.TensorDataset(torch.from_numpy(x), torch.from_numpy(y))
        net = NeuralNetClassifier(Net, train_split=ValidSplit(3), iterator_train__shuffle=True, **common)
        net.fit(data, y=None)
        net.predict(SliceDataset(data))
        for batch in net.forward_iter(x):
            batch.sum()
        net.forward(x, training=False, device="cpu")
    with case("grid search"):
        net = NeuralNetClassifier(Net, train_split=None, **{**common, "max_epochs": 2})
        x, y = _classes()
        search = GridSearchCV(net, {"lr": [0.01, 0.1]}, cv=2, scoring="accuracy", refit=True)
        search.fit(x, y)
        search.predict(x)
    with case("pipeline"):
        x, y = _classes()
        pipeline = make_pipeline(StandardScaler(), NeuralNetClassifier(Net, **common))
        pipeline.fit(x, y)
        pipeline.predict(x)
        cross_val_predict(NeuralNetClassifier(Net, **common), x, y, cv=2)
    with case("own training step"):

        class Autoencoder(NeuralNet):
            def get_loss(self, y_pred, y_true, *args, **kwargs):
                return super().get_loss(y_pred, y_true, *args, **kwargs) + 1e-3 * y_pred.abs().mean()

        net = Autoencoder(
            Net, criterion=nn.MSELoss, module__outputs=8, module__softmax=False,
            train_split=skorch.dataset.ValidSplit(4), **common,
        )  # fmt: skip
        x, _ = _classes()
        net.fit(x, x)
        net.evaluation_step((torch.from_numpy(x), None))
