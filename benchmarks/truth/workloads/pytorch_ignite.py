"""pytorch-ignite: trainers and evaluators with handlers, every metric attached to an evaluator on the device."""

from __future__ import annotations

import tempfile

import torch
from ignite import handlers, metrics, utils
from ignite.engine import Engine, Events, create_supervised_evaluator, create_supervised_trainer
from torch import nn

from truth import Package, case, step, workload

PACKAGE = Package("pytorch-ignite==0.5.5", imports=("ignite",), extra=("scikit-learn", "scipy"), seconds=300)
DEVICE = "cuda"


def _net(outputs=3):
    return nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, outputs)).to(DEVICE)


def _loader(n=6, outputs=3):
    return [(torch.randn(8, 8), torch.randint(0, outputs, (8,))) for _ in range(n)]


def _stepped(one):
    """A step begins with each iteration of an engine."""
    original = one._process_function

    def process(engine, batch):
        with step("iteration"):
            return original(engine, batch)

    one._process_function = process
    return one


@workload
def engines():
    with case("supervised"):
        net = _net()
        optimizer = torch.optim.SGD(net.parameters(), 0.1)
        trainer = create_supervised_trainer(net, optimizer, nn.CrossEntropyLoss(), device=DEVICE)
        wanted = {"accuracy": metrics.Accuracy(), "nll": metrics.Loss(nn.CrossEntropyLoss())}
        evaluator = create_supervised_evaluator(net, wanted, device=DEVICE)
        metrics.RunningAverage(output_transform=lambda one: one).attach(trainer, "loss")
        seen = []

        @trainer.on(Events.EPOCH_COMPLETED)
        def evaluate(engine):
            evaluator.run(_loader(4))
            seen.append(evaluator.state.metrics["accuracy"])

        @trainer.on(Events.ITERATION_COMPLETED(every=3))
        def log(engine):
            seen.append(engine.state.metrics["loss"])

        trainer.run(_loader(), max_epochs=3)
    for name, options in (
        ("mixed precision", {"amp_mode": "amp", "scaler": True}),
        ("accumulated", {"gradient_accumulation_steps": 2}),
        ("non blocking", {"non_blocking": True, "output_transform": lambda x, y, y_pred, loss: (loss.item(), y_pred)}),
    ):
        with case(name):
            net = _net()
            optimizer = torch.optim.Adam(net.parameters())
            trainer = create_supervised_trainer(net, optimizer, nn.CrossEntropyLoss(), device=DEVICE, **options)
            trainer.run(_loader(), max_epochs=2)
    with case("handlers"), tempfile.TemporaryDirectory() as folder:
        net = _net()
        optimizer = torch.optim.SGD(net.parameters(), 0.1)

        def train(engine, batch):
            net.train()
            x, y = batch[0].to(DEVICE), batch[1].to(DEVICE)
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(net(x), y)
            loss.backward()
            optimizer.step()
            return loss.item()

        trainer = _stepped(Engine(train))
        evaluator = create_supervised_evaluator(net, {"nll": metrics.Loss(nn.CrossEntropyLoss())}, device=DEVICE)
        trainer.add_event_handler(Events.EPOCH_COMPLETED, lambda _: evaluator.run(_loader(3)))
        trainer.add_event_handler(Events.ITERATION_COMPLETED, handlers.TerminateOnNan())
        schedule = handlers.param_scheduler.create_lr_scheduler_with_warmup(
            torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.9), 0.01, 4
        )
        trainer.add_event_handler(Events.ITERATION_STARTED, schedule)
        evaluator.add_event_handler(
            Events.COMPLETED, handlers.EarlyStopping(5, lambda one: -one.state.metrics["nll"], trainer)
        )
        saver = handlers.ModelCheckpoint(folder, "net", n_saved=2, score_function=lambda one: -one.state.metrics["nll"])
        evaluator.add_event_handler(Events.COMPLETED, saver, {"net": net})
        handlers.EMAHandler(net, momentum=0.01).attach(trainer)
        timer = handlers.Timer(average=True)
        timer.attach(trainer, step=Events.ITERATION_COMPLETED)
        trainer.run(_loader(), max_epochs=3)
        saver.load_objects({"net": net}, checkpoint=saver.last_checkpoint)
    with case("gradual schedulers"):
        for make in (
            lambda o: handlers.param_scheduler.LinearCyclicalScheduler(o, "lr", 0.1, 0.01, 6),
            lambda o: handlers.param_scheduler.CosineAnnealingScheduler(o, "lr", 0.1, 0.01, 6),
            lambda o: handlers.param_scheduler.PiecewiseLinear(o, "lr", [(0, 0.1), (4, 0.01)]),
        ):
            net = _net()
            optimizer = torch.optim.SGD(net.parameters(), 0.1)
            trainer = create_supervised_trainer(net, optimizer, nn.CrossEntropyLoss(), device=DEVICE)
            trainer.add_event_handler(Events.ITERATION_STARTED, make(optimizer))
            trainer.run(_loader(4), max_epochs=2)
    with case("learning rate finder"):
        net = _net()
        optimizer = torch.optim.SGD(net.parameters(), 1e-4)
        trainer = create_supervised_trainer(net, optimizer, nn.CrossEntropyLoss(), device=DEVICE)
        finder = handlers.FastaiLRFinder()
        state = {"model": net, "optimizer": optimizer}
        with finder.attach(trainer, state, num_iter=10, end_lr=1.0) as found:
            found.run(_loader(10))
        finder.lr_suggestion()
    with case("own engine"):
        generator, judge = _net(8), _net(1)
        ours, theirs = (torch.optim.Adam(one.parameters()) for one in (generator, judge))

        def play(engine, batch):
            real = utils.convert_tensor(batch[0], device=DEVICE)
            ones, zeros = torch.ones(len(real), 1, device=DEVICE), torch.zeros(len(real), 1, device=DEVICE)
            fake = generator(torch.randn(len(real), 8, device=DEVICE))
            judge.zero_grad()
            loss = nn.functional.binary_cross_entropy_with_logits(judge(real), ones)
            loss = loss + nn.functional.binary_cross_entropy_with_logits(judge(fake.detach()), zeros)
            loss.backward()
            theirs.step()
            generator.zero_grad()
            fooled = nn.functional.binary_cross_entropy_with_logits(judge(fake), ones)
            fooled.backward()
            ours.step()
            return {"judge": loss.item(), "generator": fooled.item()}

        trainer = _stepped(Engine(play))
        for name in ("judge", "generator"):
            metrics.RunningAverage(alpha=0.9, output_transform=lambda one, name=name: one[name]).attach(trainer, name)
        trainer.run(_loader(), max_epochs=2)


def _classes(n=16):
    return torch.randn(n, 4, device=DEVICE).softmax(-1), torch.randint(0, 4, (n,), device=DEVICE)


def _binary(n=16):
    return (torch.rand(n, device=DEVICE) > 0.5).long(), torch.randint(0, 2, (n,), device=DEVICE)


def _scores(n=16):
    return torch.rand(n, device=DEVICE), torch.randint(0, 2, (n,), device=DEVICE)


def _values(n=16):
    x = torch.rand(n, device=DEVICE) + 0.1
    return x, x + 0.1 * torch.rand(n, device=DEVICE)


def _images():
    x = torch.rand(2, 3, 24, 24, device=DEVICE)
    return x, (x + 0.1 * torch.rand_like(x)).clamp(0, 1)


@workload
def measures():
    r = metrics.regression
    for name, metric, data in (
        ("accuracy", metrics.Accuracy(device=DEVICE), _classes),
        ("accuracy on host", metrics.Accuracy(), _classes),
        ("top k", metrics.TopKCategoricalAccuracy(2, device=DEVICE), _classes),
        ("precision", metrics.Precision(average=True, device=DEVICE), _classes),
        ("recall", metrics.Recall(average="weighted", device=DEVICE), _classes),
        ("f beta", metrics.Fbeta(1.0, device=DEVICE), _classes),
        ("confusion matrix", metrics.ConfusionMatrix(4, device=DEVICE), _classes),
        ("iou", metrics.IoU(metrics.ConfusionMatrix(4, device=DEVICE)), _classes),
        ("dice", metrics.DiceCoefficient(metrics.ConfusionMatrix(4, device=DEVICE)), _classes),
        ("report", metrics.ClassificationReport(output_dict=True, device=DEVICE), _classes),
        ("loss", metrics.Loss(nn.functional.nll_loss, device=DEVICE), _classes),
        ("entropy", metrics.Entropy(device=DEVICE), _classes),
        ("mutual information", metrics.MutualInformation(device=DEVICE), _classes),
        ("cohen kappa", metrics.CohenKappa(device=DEVICE), _binary),
        ("roc auc", metrics.ROC_AUC(device=DEVICE), _scores),
        ("average precision", metrics.AveragePrecision(device=DEVICE), _scores),
        ("precision recall curve", metrics.PrecisionRecallCurve(device=DEVICE), _scores),
        ("mae", metrics.MeanAbsoluteError(device=DEVICE), _values),
        ("mse", metrics.MeanSquaredError(device=DEVICE), _values),
        ("rmse", metrics.RootMeanSquaredError(device=DEVICE), _values),
        ("pairwise", metrics.MeanPairwiseDistance(device=DEVICE), lambda: (_images()[0][:, 0, 0], _images()[1][:, 0, 0])),
        ("psnr", metrics.PSNR(1.0, device=DEVICE), _images),
        ("ssim", metrics.SSIM(1.0, device=DEVICE), _images),
        ("js divergence", metrics.JSDivergence(device=DEVICE), lambda: (torch.randn(8, 4, device=DEVICE), torch.randn(8, 4, device=DEVICE))),
        ("kl divergence", metrics.KLDivergence(device=DEVICE), lambda: (torch.randn(8, 4, device=DEVICE), torch.randn(8, 4, device=DEVICE))),
        ("cosine", metrics.CosineSimilarity(device=DEVICE), lambda: (torch.randn(8, 4, device=DEVICE), torch.randn(8, 4, device=DEVICE))),
        ("mmd", metrics.MaximumMeanDiscrepancy(device=DEVICE), lambda: (torch.randn(8, 4, device=DEVICE), torch.randn(8, 4, device=DEVICE))),
        ("hsic", metrics.HSIC(device=DEVICE), lambda: (torch.randn(8, 4, device=DEVICE), torch.randn(8, 4, device=DEVICE))),
        ("bleu", metrics.Bleu(ngram=2), lambda: ([["the", "cat", "sat"]], [[["the", "cat", "sits"], ["a", "cat", "sat"]]])),
        ("rouge", metrics.Rouge(variants=["L", 2]), lambda: ([["the", "cat", "sat"]], [[["the", "cat", "sits"], ["a", "cat", "sat"]]])),
        ("median absolute", r.MedianAbsoluteError(device=DEVICE), _values),
        ("median relative", r.MedianRelativeAbsoluteError(device=DEVICE), _values),
        ("canberra", r.CanberraMetric(device=DEVICE), _values),
        ("fractional", r.FractionalAbsoluteError(device=DEVICE), _values),
        ("geometric", r.GeometricMeanAbsoluteError(device=DEVICE), _values),
        ("manhattan", r.ManhattanDistance(device=DEVICE), _values),
        ("maximum", r.MaximumAbsoluteError(device=DEVICE), _values),
        ("mean error", r.MeanError(device=DEVICE), _values),
        ("normalised bias", r.MeanNormalizedBias(device=DEVICE), _values),
        ("pearson", r.PearsonCorrelation(device=DEVICE), _values),
        ("spearman", r.SpearmanRankCorrelation(device=DEVICE), _values),
        ("kendall", r.KendallRankCorrelation(device=DEVICE), _values),
        ("r2", r.R2Score(device=DEVICE), _values),
        ("wave hedges", r.WaveHedgesDistance(device=DEVICE), _values),
    ):  # fmt: skip
        with case(name):
            for _ in range(2):
                metric.reset()
                for _ in range(5):
                    batch = data()
                    with step("update"):
                        metric.update(batch)
                metric.compute()
    with case("arithmetic of metrics"):
        precision, recall = (
            metrics.Precision(average=False, device=DEVICE),
            metrics.Recall(average=False, device=DEVICE),
        )
        together = metrics.MetricsLambda(lambda p, r: (2 * p * r / (p + r + 1e-9)).mean().item(), precision, recall)
        evaluator = Engine(lambda _, batch: batch)
        together.attach(evaluator, "f1")
        metrics.EpochMetric(lambda y_pred, y: (y_pred.argmax(-1) == y).float().mean().item()).attach(evaluator, "epoch")
        metrics.Frequency(output_transform=lambda one: len(one[1])).attach(evaluator, "rate")
        _stepped(evaluator)
        for _ in range(3):
            evaluator.run([_classes() for _ in range(4)])
