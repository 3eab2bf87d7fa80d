"""catalyst: runners with their callbacks, metrics, losses, layers and optimizers."""

from __future__ import annotations

import tempfile

import torch
from catalyst import dl, metrics
from catalyst.contrib import layers as more
from catalyst.contrib import losses, optimizers
from catalyst.contrib.data import AllTripletsSampler, HardTripletsSampler
from catalyst.metrics import functional
from torch.utils.data import DataLoader, TensorDataset

from truth import Package, bound, case, step, workload
from truth.drive import DEVICE, calls, train

PACKAGE = Package(
    "catalyst==22.4", extra=("setuptools<80", "six", "accelerate==0.12.0", "tensorboard"), seconds=400
)  # for distutils


def _loaders(x, y, size=4):
    return {name: DataLoader(TensorDataset(x, y), size) for name in ("train", "valid")}


def _images(classes=4, n=24):
    return torch.randn(n, 8), torch.randint(0, classes, (n,))


def _fit(name, make, callbacks, data=None, **options):
    with case(name), tempfile.TemporaryDirectory() as folder:
        model = make()
        bound(model, "train")
        runner = dl.SupervisedRunner()
        runner.train(
            model=model, criterion=options.pop("criterion", torch.nn.CrossEntropyLoss()),
            optimizer=torch.optim.Adam(model.parameters(), 1e-3), loaders=_loaders(*(data or _images())),
            num_epochs=2, callbacks=callbacks(folder), **options,
        )  # fmt: skip


def _classifier(classes=4):
    return torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, classes))


@workload
def running():
    keys = {"input_key": "logits", "target_key": "targets"}
    _fit("plain", _classifier, lambda _: [])
    _fit("accuracy", _classifier, lambda _: [dl.AccuracyCallback(**keys, topk=(1, 3))])
    _fit("classification", _classifier, lambda _: [
        dl.PrecisionRecallF1SupportCallback(**keys, num_classes=4), dl.AUCCallback(**keys)])  # fmt: skip
    _fit("checkpoints", _classifier, lambda folder: [
        dl.CheckpointCallback(folder, loader_key="valid", metric_key="loss", minimize=True),
        dl.EarlyStoppingCallback(2, loader_key="valid", metric_key="loss", minimize=True)])  # fmt: skip
    _fit("clipping", _classifier, lambda _: [
        dl.BackwardCallback("loss", grad_clip_fn=torch.nn.utils.clip_grad_norm_, grad_clip_params={"max_norm": 1.0},
                            log_gradient=True), dl.OptimizerCallback("loss", accumulation_steps=2)])  # fmt: skip
    _fit("logging", _classifier, lambda folder: [dl.AccuracyCallback(**keys)],
         loggers={"console": dl.ConsoleLogger(log_hparams=False)}, verbose=True)  # fmt: skip
    many = (torch.randn(24, 8), torch.randint(0, 2, (24, 4)).float())
    _fit("multilabel", _classifier, lambda _: [
        dl.MultilabelAccuracyCallback(**keys, threshold=0.5),
        dl.MultilabelPrecisionRecallF1SupportCallback(**keys, num_classes=4),
        dl.HitrateCallback(**keys, topk=(1, 3)), dl.MRRCallback(**keys, topk=(1, 3)),
        dl.MAPCallback(**keys, topk=(1, 3)), dl.NDCGCallback(**keys, topk=(1, 3)),
    ], many, criterion=torch.nn.BCEWithLogitsLoss())  # fmt: skip
    _fit("mixup", _classifier, lambda _: [dl.MixupCallback(keys=["features", "targets"])], many,
         criterion=torch.nn.BCEWithLogitsLoss())  # fmt: skip
    _fit("regression", lambda: _classifier(1), lambda _: [dl.R2SquaredCallback(**keys)],
         (torch.randn(24, 8), torch.randn(24, 1)), criterion=torch.nn.MSELoss())  # fmt: skip
    maps = (torch.rand(16, 1, 8, 8), torch.randint(0, 2, (16, 3, 8, 8)).float())
    _fit("segmentation", lambda: torch.nn.Conv2d(1, 3, 3, padding=1), lambda _: [
        dl.IOUCallback(**keys), dl.DiceCallback(**keys), dl.TrevskyCallback(**keys, alpha=0.4)],
        maps, criterion=losses.IoULoss())  # fmt: skip


@workload
def customising():
    """Runners of one's own."""

    class Generative(dl.Runner):
        def predict_batch(self, batch):
            return self.model["generator"](torch.randn(1, 4, device=self.engine.device))

        def handle_batch(self, batch):
            real = batch[0]
            fake = self.model["generator"](torch.randn(len(real), 4, device=self.engine.device))
            ones = torch.ones(len(real), 1, device=self.engine.device)
            self.batch = {
                "real": self.model["discriminator"](real), "fake": self.model["discriminator"](fake.detach()),
                "wanted": self.model["discriminator"](fake), "ones": ones, "zeros": torch.zeros_like(ones),
            }  # fmt: skip

    with case("generative"):
        models = {"generator": torch.nn.Linear(4, 8), "discriminator": torch.nn.Linear(8, 1)}
        bound(models["generator"], "train")
        Generative().train(
            model=models, criterion={name: torch.nn.BCEWithLogitsLoss() for name in models},
            optimizer={name: torch.optim.Adam(one.parameters()) for name, one in models.items()},
            loaders={"train": DataLoader(TensorDataset(torch.randn(24, 8)), 4)}, num_epochs=2,
            callbacks=[
                dl.CriterionCallback("wanted", "ones", "g", criterion_key="generator"),
                dl.CriterionCallback("fake", "zeros", "df", criterion_key="discriminator"),
                dl.CriterionCallback("real", "ones", "dr", criterion_key="discriminator"),
                dl.MetricAggregationCallback("d", metrics=["df", "dr"]),
                dl.BackwardCallback("g"), dl.OptimizerCallback("g", optimizer_key="generator"),
                dl.BackwardCallback("d"), dl.OptimizerCallback("d", optimizer_key="discriminator"),
            ],
        )  # fmt: skip

    class Own(dl.Runner):
        def on_loader_start(self, runner):
            super().on_loader_start(runner)
            self.meters = {key: metrics.AdditiveMetric(compute_on_call=False) for key in ("loss", "accuracy")}

        def handle_batch(self, batch):
            x, y = batch
            logits = self.model(x)
            loss = torch.nn.functional.cross_entropy(logits, y)
            (accuracy,) = functional.accuracy(logits, y)
            self.batch_metrics.update({"loss": loss, "accuracy": accuracy})
            for key in ("loss", "accuracy"):
                self.meters[key].update(self.batch_metrics[key].item(), self.batch_size)
            if self.is_train_loader:
                self.engine.backward(loss)
                self.optimizer.step()
                self.optimizer.zero_grad()

        def on_loader_end(self, runner):
            for key in ("loss", "accuracy"):
                self.loader_metrics[key] = self.meters[key].compute()[0]
            super().on_loader_end(runner)

    with case("own loop"):
        model = _classifier()
        bound(model, "train")
        Own().train(model=model, optimizer=torch.optim.Adam(model.parameters()), loaders=_loaders(*_images()),
                    num_epochs=2)  # fmt: skip
    with case("prediction"):
        runner = dl.SupervisedRunner()
        runner.model = _classifier().to(DEVICE)
        for prediction in runner.predict_loader(loader=_loaders(*_images())["valid"], model=_classifier()):
            prediction["logits"].detach().cpu().numpy()


@workload
def learning():
    def scores():
        return torch.randn(6, 4, device=DEVICE, requires_grad=True), torch.randint(0, 4, (6,), device=DEVICE)

    def labelled():
        x = torch.nn.functional.normalize(torch.randn(8, 16, device=DEVICE, requires_grad=True))
        return x, torch.tensor([0, 0, 1, 1, 2, 2, 3, 3], device=DEVICE)

    def pairs():
        x = torch.randn(8, 16, device=DEVICE, requires_grad=True)
        return x, torch.randn(8, 16, device=DEVICE)

    def maps():
        return torch.rand(2, 3, 8, 8, device=DEVICE, requires_grad=True), torch.randint(0, 2, (2, 3, 8, 8)).float().to(
            DEVICE
        )

    def signs():
        return torch.randn(8, 1, device=DEVICE, requires_grad=True), torch.randint(0, 2, (8, 1), device=DEVICE).float()

    for kind, options, data in (
        (losses.NaiveCrossEntropyLoss, {}, scores), (losses.SymmetricCrossEntropyLoss, {}, scores),
        (losses.CircleLoss, {"margin": 0.25, "gamma": 32}, labelled), (losses.TripletLoss, {}, labelled),
        (losses.TripletLossV2, {}, labelled), (losses.MarginLoss, {}, labelled),
        (losses.SupervisedContrastiveLoss, {"tau": 0.1}, labelled), (losses.NTXentLoss, {"tau": 0.1}, pairs),
        (losses.BarlowTwinsLoss, {}, pairs), (losses.ContrastivePairwiseEmbeddingLoss, {}, pairs),
        (losses.TripletPairwiseEmbeddingLoss, {}, pairs), (losses.HuberLossV0, {}, pairs), (losses.WingLoss, {}, pairs),
        (losses.RSquareLoss, {}, pairs), (losses.DiceLoss, {}, maps), (losses.IoULoss, {"mode": "weighted",
         "weights": [0.2, 0.3, 0.5]}, maps), (losses.TrevskyLoss, {"alpha": 0.3}, maps),
        (losses.FocalTrevskyLoss, {"alpha": 0.3}, maps), (losses.SmoothingDiceLoss, {}, maps),
        (losses.FocalLossBinary, {}, maps), (losses.FocalLossBinary, {"ignore": 0, "reduced": True}, maps),
        (losses.BPRLoss, {}, signs), (losses.LogisticLoss, {}, signs), (losses.HingeLoss, {}, signs),
        (losses.WARPLoss, {}, lambda: (torch.randn(4, 6, device=DEVICE, requires_grad=True),
                                       torch.eye(6, device=DEVICE)[:4])),
        (losses.RocStarLoss, {}, signs),
        (losses.LovaszLossBinary, {"per_image": True}, lambda: (maps()[0][:, 0], maps()[1][:, 0])),
        (losses.LovaszLossMultiClass, {}, lambda: (maps()[0].softmax(1), torch.randint(0, 3, (2, 8, 8), device=DEVICE))),
        (losses.LovaszLossMultiLabel, {}, maps),
    ):  # fmt: skip
        calls(f"{kind.__name__} {len(options)}", kind(**options), data, backward=True, kind="train")
    for name, sampler in (("all", AllTripletsSampler(100)), ("hard", HardTripletsSampler())):
        calls(f"triplets {name}", losses.TripletMarginLossWithSampler(0.3, sampler), labelled, backward=True)
    for kind in ("AdamP", "Lamb", "QHAdamW", "RAdam", "Ralamb", "SGDP"):
        with case(kind):
            model = _classifier().to(DEVICE)
            optimizer = getattr(optimizers, kind)(model.parameters(), lr=1e-3, weight_decay=0.01)
            optimizer = optimizers.Lookahead(optimizer) if kind == "RAdam" else optimizer
            for _ in range(7):
                with step("train"):
                    model(torch.randn(4, 8, device=DEVICE)).sum().backward()
                    optimizer.step()
                    optimizer.zero_grad()
    for kind in ("AMSoftmax", "ArcFace", "SubCenterArcFace", "CosFace", "AdaCos", "CurricularFace"):
        train(kind, lambda: getattr(more, kind)(16, 4), labelled, evaluate=0)
    for kind in ("GlobalConcatPool2d", "GeM2d"):
        train(kind, getattr(more, kind), lambda: maps()[:1])
    for kind in ("cSE", "sSE", "scSE"):
        options = {"r": 2} if kind in ("cSE", "scSE") else {}
        train(kind, lambda: getattr(more, kind)(3, **options), lambda: maps()[:1])
    train("lama", lambda: more.LamaPooling(16, groups=["last", "avg", "max", "softmax", "avg_droplast"]),
          lambda: (torch.randn(2, 7, 16, device=DEVICE), torch.ones(2, 7, 1, device=DEVICE) > 0))  # fmt: skip
    calls("noise", more.GaussianNoise(0.1), lambda: maps()[:1])


@workload
def measuring():
    def scores():
        return torch.randn(6, 4, device=DEVICE), torch.randint(0, 4, (6,), device=DEVICE)

    def many():
        return torch.rand(6, 4, device=DEVICE), torch.randint(0, 2, (6, 4), device=DEVICE)

    def maps():
        return torch.rand(2, 3, 8, 8, device=DEVICE), torch.randint(0, 2, (2, 3, 8, 8), device=DEVICE).float()

    for name, function, data in (
        ("accuracy", lambda x, y: functional.accuracy(x, y, (1, 3)), scores),
        ("multilabel accuracy", lambda x, y: functional.multilabel_accuracy(x, y, 0.5), many),
        ("f1", functional.f1_score, scores), ("precision", functional.precision, scores),
        ("recall", functional.recall, scores), ("auc", functional.auc, many),
        ("support", functional.precision_recall_fbeta_support, scores),
        ("average precision", lambda x, y: functional.mean_average_precision(x, y, [1, 3]), many),
        ("hit rate", lambda x, y: functional.hitrate(x, y, [1, 3]), many),
        ("reciprocal rank", lambda x, y: functional.mrr(x, y, [1, 3]), many),
        ("gain", lambda x, y: functional.ndcg(x, y, [1, 3]), many), ("iou", functional.iou, maps),
        ("dice", lambda x, y: functional.dice(x, y, mode="macro"), maps),
        ("trevsky", lambda x, y: functional.trevsky(x, y, 0.3), maps),
        ("focal", functional.sigmoid_focal_loss, maps), ("reduced focal", functional.reduced_focal_loss, maps),
        ("r2", lambda x, y: functional.r2_squared(x[:, :1], x[:, 1:2]), scores),
        ("cmc", lambda x, y: functional.cmc_score(x, x, (y[:, None] == y[None]).to(x.device)), scores),
    ):  # fmt: skip
        calls(name, function, data)
    for name, make, data in (
        ("accuracy object", lambda: metrics.AccuracyMetric(topk=(1, 3)), scores),
        ("auc object", metrics.AUCMetric, many),
        ("support object", lambda: metrics.MulticlassPrecisionRecallF1SupportMetric(num_classes=4),
         lambda: (scores()[0].argmax(1), scores()[1])),
        ("multilabel support object", lambda: metrics.MultilabelPrecisionRecallF1SupportMetric(num_classes=4), many),
        ("hit rate object", lambda: metrics.HitrateMetric(topk=[1, 3]), many),
        ("gain object", lambda: metrics.NDCGMetric(topk=[1, 3]), many),
        ("iou object", metrics.IOUMetric, maps), ("dice object", metrics.DiceMetric, maps),
    ):  # fmt: skip
        with case(name):
            metric = make()
            for _ in range(2):
                metric.reset(5, 30) if "auc" in name else metric.reset()
                for _ in range(5):
                    given = data()
                    with step("update"):
                        metric.update(*given)
                metric.compute_key_value() if hasattr(metric, "compute_key_value") else metric.compute()
