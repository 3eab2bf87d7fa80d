"""torch-uncertainty: layers, ensembles, losses, calibration and metrics of models that say how sure they are."""

from __future__ import annotations

import tempfile

import torch
from torch.utils.data import DataLoader, TensorDataset
from torch_uncertainty import layers, losses, methods, metrics, post_processing
from torch_uncertainty.layers import bayesian, distributions
from torch_uncertainty.models import classification
from torch_uncertainty.models.mlp import mlp

from truth import Package, bound, case, step, workload
from truth.drive import DEVICE, calls, train

PACKAGE = Package("torch-uncertainty==0.13.0", extra=("lightning", "rich", "scikit-learn"), seconds=500)


def _rows():
    return (torch.randn(8, 16, device=DEVICE),)


def _images(channels=4):
    return (torch.randn(8, channels, 8, 8, device=DEVICE),)


@workload
def building():
    several = {"num_estimators": 2}
    for name, make, data in (
        ("batch linear", lambda: layers.BatchLinear(16, 4, **several), _rows),
        ("batch convolution", lambda: layers.BatchConv2d(4, 8, 3, **several), _images),
        ("bayes linear", lambda: layers.BayesLinear(16, 4), _rows),
        ("bayes convolution", lambda: layers.BayesConv2d(4, 8, 3), _images),
        ("low rank linear", lambda: bayesian.LPBNNLinear(16, 4, **several), _rows),
        ("low rank convolution", lambda: bayesian.LPBNNConv2d(4, 8, kernel_size=3, **several), _images),
        ("masked linear", lambda: layers.MaskedLinear(16, 4, scale=2.0, **several), _rows),
        ("masked convolution", lambda: layers.MaskedConv2d(16, 8, 3, scale=2.0, **several), lambda: _images(16)),
        ("packed linear", lambda: layers.PackedLinear(16, 4, alpha=2, first=True, last=True, **several), _rows),
        ("packed convolution", lambda: layers.PackedConv2d(4, 8, 3, alpha=2, first=True, **several), _images),
        ("response norm", lambda: layers.FilterResponseNorm2d(4), _images),
        ("channel norm", lambda: layers.ChannelLayerNorm(4), _images),
    ):  # fmt: skip
        train(name, make, data)
    for kind in (
        "NormalLinear",
        "LaplaceLinear",
        "CauchyLinear",
        "StudentTLinear",
        "GammaLinear",
        "NormalInverseGammaLinear",
    ):
        train(kind, lambda: _Likelihood(getattr(distributions, kind)(torch.nn.Linear, 1, in_features=16)), _rows)


class _Likelihood(torch.nn.Module):
    def __init__(self, head):
        super().__init__()
        self.body, self.head = torch.nn.Linear(16, 16), head

    def forward(self, x):
        found = self.head(self.body(x))
        return found if isinstance(found, dict) else vars(found)


@workload
def ensembling():
    def net():
        return mlp(16, 4, [16])

    def flat():
        return torch.nn.Sequential(torch.nn.Linear(16, 16), torch.nn.ReLU(), torch.nn.Linear(16, 4))

    for name, make in (
        ("dropout", lambda: methods.mc_dropout(mlp(16, 4, [16], dropout_rate=0.2), num_estimators=3)),
        ("deep ensembles", lambda: methods.deep_ensembles([net() for _ in range(3)])),
        ("batch ensemble", lambda: methods.batch_ensemble(flat(), num_estimators=2, convert_layers=True)),
        ("lenet", lambda: classification.lenet(3, 4)), ("lenet packed", lambda: classification.packed_lenet(3, 4, num_estimators=2, alpha=2)),
        ("lenet bayes", lambda: classification.bayesian_lenet(3, 4)),
        ("lenet batch", lambda: classification.batchensemble_lenet(3, 4, num_estimators=2)),
    ):  # fmt: skip
        data = (lambda: (torch.randn(4, 3, 32, 32, device=DEVICE),)) if "lenet" in name else _rows
        train(name, make, data)
    for name, make in (
        ("moving average", lambda core: methods.EMA(core, momentum=0.9)),
        ("weight average", lambda core: methods.SWA(core, cycle_start=0, cycle_length=1)),
        ("gaussian weights", lambda core: methods.SWAG(core, cycle_start=0, cycle_length=1, num_estimators=2)),
    ):  # fmt: skip
        with case(name):
            model = make(net()).to(DEVICE)
            optimizer = torch.optim.SGD(model.core_model.parameters(), 0.01)
            for epoch in range(5):
                with step("train"):
                    model.train()
                    model.core_model(*_rows()).sum().backward()
                    optimizer.step()
                    optimizer.zero_grad()
                    model.update_wrapper(epoch)
                    model.bn_update([_rows()], DEVICE) if hasattr(model, "bn_update") else None
            model.eval()
            for _ in range(4):
                with step("eval"), torch.no_grad():
                    model(*_rows())


@workload
def judging():
    def scores(classes=4):
        return torch.randn(8, classes, device=DEVICE, requires_grad=True), torch.randint(
            0, classes, (8,), device=DEVICE
        )

    for name, make in (
        ("evidential", lambda: losses.DECLoss(reg_weight=0.1)), ("confidence", losses.ConfidencePenaltyLoss),
        ("conflictual", losses.ConflictualLoss), ("focal", lambda: losses.FocalLoss(2.0)),
        ("maximal", lambda: losses.CrossEntropyMaxSupLoss(max_sup=0.1)), ("mixed", losses.MixupMPLoss),
    ):  # fmt: skip
        calls(name, make(), lambda: (scores()[0] if name != "evidential" else scores()[0].exp(), scores()[1]),
              backward=True)  # fmt: skip
    with case("evidence lower bound"):
        model = torch.nn.Sequential(layers.BayesLinear(16, 8), torch.nn.ReLU(), layers.BayesLinear(8, 4)).to(DEVICE)
        loss = losses.ELBOLoss(model, torch.nn.CrossEntropyLoss(), 1e-3, 2)
        for _ in range(5):
            with step("train"):
                loss(*_rows(), torch.randint(0, 4, (8,), device=DEVICE)).backward()

    def probabilities(rows=16):
        return torch.randn(rows, 4, device=DEVICE).softmax(-1), torch.randint(0, 4, (rows,), device=DEVICE)

    def members():
        return (torch.randn(3, 8, 4, device=DEVICE).softmax(-1),)

    def binary():
        return torch.rand(16, device=DEVICE), torch.randint(0, 2, (16,), device=DEVICE)

    def depths():
        return torch.rand(16, device=DEVICE) + 0.1, torch.rand(16, device=DEVICE) + 0.1

    for kind, options, data in (
        ("BrierScore", {"num_classes": 4}, probabilities), ("CategoricalNLL", {}, probabilities),
        ("CalibrationError", {"task": "multiclass", "num_classes": 4}, probabilities),
        ("AdaptiveCalibrationError", {"task": "multiclass", "num_classes": 4}, probabilities),
        ("ClasswiseCalibrationError", {"num_classes": 4}, probabilities), ("AURC", {}, probabilities), ("AUGRC", {}, probabilities),
        ("SmoothCalibrationError", {}, binary), ("CovAt5Risk", {}, probabilities), ("RiskAt80Cov", {}, probabilities),
        ("FPR95", {"pos_label": 1}, binary), ("Disagreement", {}, members), ("Entropy", {}, members),
        ("MutualInformation", {}, members), ("VariationRatio", {}, members), ("SILog", {}, depths), ("Log10", {}, depths),
        ("CoverageRate", {}, lambda: (torch.rand(8, 4, device=DEVICE) > 0.5, torch.randint(0, 4, (8,), device=DEVICE))),
        ("SetSize", {}, lambda: (torch.rand(8, 4, device=DEVICE) > 0.5,)),
        ("ThresholdAccuracy", {"power": 1}, depths), ("MeanSquaredErrorInverse", {}, depths), ("AUSE", {}, depths),
        ("MeanIntersectionOverUnion", {"num_classes": 4}, probabilities),
    ):  # fmt: skip
        made = (
            getattr(metrics, kind, None)
            or getattr(metrics.classification, kind, None)
            or getattr(metrics.regression, kind, None)
        )
        if made is None:
            continue
        with case(kind):
            metric = made(**options).to(DEVICE)
            for _ in range(6):
                given = data()
                with step("update"):
                    metric.update(*given)
            metric.compute()


@workload
def calibrating():
    net = mlp(16, 4, [16]).to(DEVICE).eval()
    data = DataLoader(TensorDataset(torch.randn(32, 16), torch.randint(0, 4, (32,))), 8)
    for kind, options in (
        ("TemperatureScaler", {}), ("VectorScaler", {"num_classes": 4}), ("MatrixScaler", {"num_classes": 4}),
        ("DirichletScaler", {"num_classes": 4}), ("HistogramBinningScaler", {}), ("IsotonicRegressionScaler", {}),
        ("BBQScaler", {}), ("ConformalClsTHR", {"alpha": 0.1}), ("ConformalClsAPS", {"alpha": 0.1}),
        ("ConformalClsRAPS", {"alpha": 0.1}),
    ):  # fmt: skip
        made = getattr(post_processing, kind, None)
        if made is None:
            continue
        with case(kind):
            model = made(model=net, device=DEVICE, **options)
            model.fit(data) if hasattr(model, "fit") else None
            for _ in range(5):
                x = torch.randn(8, 16, device=DEVICE)
                with step("eval"), torch.no_grad():
                    model(x)


@workload
def training():
    import lightning
    from torch_uncertainty.routines import ClassificationRoutine, RegressionRoutine

    def fit(name, routine, model, data):
        with case(name), tempfile.TemporaryDirectory() as folder:
            bound(model, "train")
            trainer = lightning.Trainer(max_epochs=2, accelerator="gpu", devices=1, logger=False, enable_checkpointing=False,
                                        enable_progress_bar=False, default_root_dir=folder, enable_model_summary=False)  # fmt: skip
            trainer.fit(routine, DataLoader(data, 4), DataLoader(data, 4))
            trainer.test(routine, DataLoader(data, 4), verbose=False)

    labelled = TensorDataset(torch.randn(24, 16), torch.randint(0, 4, (24,)))
    for name, make, options in (
        ("classification", lambda: mlp(16, 4, [16]), {}),
        ("classification of several", lambda: methods.deep_ensembles([mlp(16, 4, [16]) for _ in range(2)]), {"is_ensemble": True}),
    ):  # fmt: skip
        model = make()
        fit(name, ClassificationRoutine(
            num_classes=4, model=model, loss=torch.nn.CrossEntropyLoss(),
            optim_recipe=torch.optim.Adam(model.parameters()), **options), model, labelled)  # fmt: skip
    model = mlp(16, 1, [16])
    numbers = TensorDataset(torch.randn(24, 16), torch.randn(24, 1))
    fit("regression", RegressionRoutine(output_dim=1, model=model, loss=torch.nn.MSELoss(),
                                        optim_recipe=torch.optim.Adam(model.parameters())), model, numbers)  # fmt: skip
