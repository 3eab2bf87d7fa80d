"""torchmetrics: metrics of every domain, updated with batches on the device and computed once an epoch."""

from __future__ import annotations

import torch
import torchmetrics
import torchmetrics.aggregation as aggregation
import torchmetrics.audio as audio
import torchmetrics.classification as classification
import torchmetrics.clustering as clustering
import torchmetrics.detection as detection
import torchmetrics.functional as functional
import torchmetrics.image as image
import torchmetrics.nominal as nominal
import torchmetrics.regression as regression
import torchmetrics.retrieval as retrieval
import torchmetrics.segmentation as segmentation
import torchmetrics.text as text

from truth import Package, case, step, workload

PACKAGE = Package("torchmetrics==1.8.2", seconds=400)
DEVICE = "cuda"
N = 32


def _rand(*shape):
    return torch.rand(*shape, device=DEVICE)


def _multiclass():
    return torch.randn(N, 5, device=DEVICE).softmax(-1), torch.randint(0, 5, (N,), device=DEVICE)


def _binary():
    return _rand(N), torch.randint(0, 2, (N,), device=DEVICE)


def _multilabel():
    return _rand(N, 4), torch.randint(0, 2, (N, 4), device=DEVICE)


def _regression():
    x = _rand(N)
    return x, x + 0.1 * _rand(N)


def _images():
    x = _rand(2, 3, 48, 48)
    return x, (x + 0.1 * _rand(2, 3, 48, 48)).clamp(0, 1)


def _waves():
    x = torch.randn(2, 800, device=DEVICE)
    return x, x + 0.1 * torch.randn(2, 800, device=DEVICE)


def _sentences():
    return ["the cat sat on the mat", "hello there world"], ["the cat is on the mat", "hello world"]


def _references():
    return ["the cat sat on the mat"], [["the cat is on the mat", "a cat on the mat"]]


def _queries():
    return _rand(N), torch.randint(0, 2, (N,), device=DEVICE), torch.randint(0, 4, (N,), device=DEVICE)


def _labels():
    return torch.randint(0, 3, (N,), device=DEVICE), torch.randint(0, 3, (N,), device=DEVICE)


def _boxes():
    base = torch.tensor([[10.0, 10, 30, 30], [5, 5, 20, 25]], device=DEVICE)
    labels = torch.tensor([0, 1], device=DEVICE)
    return [{"boxes": base + _rand(2, 4), "scores": _rand(2), "labels": labels}], [{"boxes": base, "labels": labels}]


def _segments():
    return torch.randint(0, 2, (2, 3, 16, 16), device=DEVICE), torch.randint(0, 2, (2, 3, 16, 16), device=DEVICE)


def _panoptic():
    return detection.PanopticQuality(things={0, 1}, stuffs={6, 7})


def _panels():
    """Category and instance of each pixel."""
    return torch.stack([torch.randint(0, 2, (1, 8, 8)), torch.randint(0, 3, (1, 8, 8))], -1).to(DEVICE)


def _each(cases, forward=()):
    """Two epochs of updates of each metric, and a few calls of `forward` where users log every step."""
    for name, make, data in cases:
        with case(name):
            metric = make().to(DEVICE)
            for _ in range(2):
                for _ in range(7):
                    batch = data()
                    with step("update"):
                        metric.update(*batch)
                metric.compute()
                metric.reset()
            if name in forward:
                for _ in range(7):
                    batch = data()
                    with step("forward"):
                        metric(*batch)
                metric.compute()
            metric.load_state_dict(metric.state_dict())


@workload
def classifying():
    c = classification
    _each(
        [
            ("multiclass accuracy", lambda: c.MulticlassAccuracy(5), _multiclass),
            ("multiclass accuracy top 2", lambda: c.MulticlassAccuracy(5, top_k=2, average="micro"), _multiclass),
            ("binary accuracy", c.BinaryAccuracy, _binary),
            ("multilabel accuracy", lambda: c.MultilabelAccuracy(4), _multilabel),
            ("task accuracy", lambda: torchmetrics.Accuracy(task="multiclass", num_classes=5), _multiclass),
            ("multiclass f1", lambda: c.MulticlassF1Score(5), _multiclass),
            ("multilabel f1", lambda: c.MultilabelF1Score(4), _multilabel),
            ("binary precision", c.BinaryPrecision, _binary),
            ("multiclass recall", lambda: c.MulticlassRecall(5, ignore_index=0), _multiclass),
            ("multiclass specificity", lambda: c.MulticlassSpecificity(5), _multiclass),
            ("multiclass jaccard", lambda: c.MulticlassJaccardIndex(5), _multiclass),
            ("confusion matrix", lambda: c.MulticlassConfusionMatrix(5), _multiclass),
            ("multilabel confusion matrix", lambda: c.MultilabelConfusionMatrix(4), _multilabel),
            ("cohen kappa", lambda: c.MulticlassCohenKappa(5), _multiclass),
            ("matthews", c.BinaryMatthewsCorrCoef, _binary),
            ("hamming", lambda: c.MultilabelHammingDistance(4), _multilabel),
            ("exact match", lambda: c.MulticlassExactMatch(5), lambda: (_labels()[0][:, None], _labels()[1][:, None])),
            ("negative predictive value", c.BinaryNegativePredictiveValue, _binary),
        ],
        forward=("multiclass accuracy", "task accuracy", "binary accuracy"),
    )


@workload
def ranking():
    c = classification
    _each(
        [
            ("multiclass auroc", lambda: c.MulticlassAUROC(5), _multiclass),
            ("binary auroc thresholds", lambda: c.BinaryAUROC(thresholds=20), _binary),
            ("multilabel auroc", lambda: c.MultilabelAUROC(4), _multilabel),
            ("binary average precision", c.BinaryAveragePrecision, _binary),
            ("multilabel average precision", lambda: c.MultilabelAveragePrecision(4, thresholds=10), _multilabel),
            ("binary roc", c.BinaryROC, _binary),
            ("multiclass precision recall curve", lambda: c.MulticlassPrecisionRecallCurve(5), _multiclass),
            ("recall at fixed precision", lambda: c.BinaryRecallAtFixedPrecision(0.5), _binary),
            ("binary calibration error", c.BinaryCalibrationError, _binary),
            ("multiclass calibration error", lambda: c.MulticlassCalibrationError(5), _multiclass),
            ("multiclass hinge", lambda: c.MulticlassHingeLoss(5), _multiclass),
            ("coverage error", lambda: c.MultilabelCoverageError(4), _multilabel),
            ("ranking loss", lambda: c.MultilabelRankingLoss(4), _multilabel),
            (
                "group fairness",
                lambda: c.BinaryFairness(2),
                lambda: (*_binary(), torch.randint(0, 2, (N,), device=DEVICE)),
            ),
        ]
    )


@workload
def regressing():
    r = regression
    _each(
        [
            ("mse", r.MeanSquaredError, _regression),
            ("mae", r.MeanAbsoluteError, _regression),
            ("mape", r.MeanAbsolutePercentageError, _regression),
            ("smape", r.SymmetricMeanAbsolutePercentageError, _regression),
            ("msle", r.MeanSquaredLogError, _regression),
            ("r2", r.R2Score, _regression),
            ("relative squared error", r.RelativeSquaredError, _regression),
            ("pearson", r.PearsonCorrCoef, _regression),
            ("concordance", r.ConcordanceCorrCoef, _regression),
            ("spearman", r.SpearmanCorrCoef, _regression),
            ("kendall", r.KendallRankCorrCoef, _regression),
            ("explained variance", r.ExplainedVariance, _regression),
            ("minkowski", lambda: r.MinkowskiDistance(3), _regression),
            ("log cosh", r.LogCoshError, _regression),
            ("tweedie", lambda: r.TweedieDevianceScore(1.5), _regression),
            ("critical success", lambda: r.CriticalSuccessIndex(0.5), _regression),
            ("cosine", r.CosineSimilarity, lambda: (_rand(8, 4), _rand(8, 4))),
            ("kl", r.KLDivergence, lambda: (_rand(8, 4).softmax(-1), _rand(8, 4).softmax(-1))),
            ("nrmse", r.NormalizedRootMeanSquaredError, _regression),
        ],
        forward=("mse", "r2"),
    )


@workload
def comparing_images():
    i = image
    _each(
        [
            ("psnr", lambda: i.PeakSignalNoiseRatio(data_range=1.0), _images),
            ("psnr range", lambda: i.PeakSignalNoiseRatio(data_range=(0.0, 1.0)), _images),
            ("psnrb", lambda: i.PeakSignalNoiseRatioWithBlockedEffect(data_range=1.0),
             lambda: (_rand(2, 1, 48, 48), _rand(2, 1, 48, 48))),
            ("ssim", i.StructuralSimilarityIndexMeasure, _images),
            ("ms ssim", lambda: i.MultiScaleStructuralSimilarityIndexMeasure(betas=(0.5, 0.5), kernel_size=3), _images),
            ("uqi", i.UniversalImageQualityIndex, _images),
            ("sam", i.SpectralAngleMapper, _images),
            ("scc", i.SpatialCorrelationCoefficient, _images),
            ("vif", i.VisualInformationFidelity, _images),
            ("tv", i.TotalVariation, lambda: (_images()[0],)),
            ("ergas", i.ErrorRelativeGlobalDimensionlessSynthesis, _images),
            ("rase", i.RelativeAverageSpectralError, _images),
            ("rmse window", i.RootMeanSquaredErrorUsingSlidingWindow, _images),
        ],
        forward=("psnr", "ssim"),
    )  # fmt: skip


@workload
def hearing_and_reading():
    a, t = audio, text
    _each(
        [
            ("snr", a.SignalNoiseRatio, _waves),
            ("si snr", a.ScaleInvariantSignalNoiseRatio, _waves),
            ("si sdr", a.ScaleInvariantSignalDistortionRatio, _waves),
            ("sa sdr", a.SourceAggregatedSignalDistortionRatio, lambda: (_waves()[0][None], _waves()[1][None])),
            ("sdr", a.SignalDistortionRatio, _waves),
            ("pit", lambda: a.PermutationInvariantTraining(functional.scale_invariant_signal_noise_ratio),
             lambda: (torch.randn(2, 2, 400, device=DEVICE), torch.randn(2, 2, 400, device=DEVICE))),
            ("complex si snr", a.ComplexScaleInvariantSignalNoiseRatio,
             lambda: (torch.randn(1, 33, 8, 2, device=DEVICE), torch.randn(1, 33, 8, 2, device=DEVICE))),
            ("wer", t.WordErrorRate, _sentences),
            ("cer", t.CharErrorRate, _sentences),
            ("mer", t.MatchErrorRate, _sentences),
            ("wil", t.WordInfoLost, _sentences),
            ("bleu", t.BLEUScore, _references),
            ("chrf", t.CHRFScore, _references),
            ("ter", t.TranslationEditRate, _references),
            ("eed", t.ExtendedEditDistance, _references),
            ("edit distance", t.EditDistance, _sentences),
            ("perplexity", t.Perplexity,
             lambda: (torch.randn(2, 6, 9, device=DEVICE), torch.randint(0, 9, (2, 6), device=DEVICE))),
            ("squad", t.SQuAD, lambda: ([{"prediction_text": "1976", "id": "a"}],
                                        [{"answers": {"answer_start": [97], "text": ["1976"]}, "id": "a"}])),
        ],
        forward=("snr", "bleu"),
    )  # fmt: skip


@workload
def retrieving_and_detecting():
    r, d, s = retrieval, detection, segmentation
    _each(
        [
            ("map", r.RetrievalMAP, _queries),
            ("mrr", r.RetrievalMRR, _queries),
            ("ndcg", r.RetrievalNormalizedDCG, _queries),
            ("retrieval precision", lambda: r.RetrievalPrecision(top_k=2), _queries),
            ("retrieval recall", r.RetrievalRecall, _queries),
            ("hit rate", r.RetrievalHitRate, _queries),
            ("fall out", r.RetrievalFallOut, _queries),
            ("retrieval curve", lambda: r.RetrievalPrecisionRecallCurve(max_k=4), _queries),
            ("iou", d.IntersectionOverUnion, _boxes),
            ("giou", d.GeneralizedIntersectionOverUnion, _boxes),
            ("diou", d.DistanceIntersectionOverUnion, _boxes),
            ("panoptic quality", _panoptic, lambda: (_panels(), _panels())),
            ("dice", lambda: s.DiceScore(num_classes=3), _segments),
            ("miou", lambda: s.MeanIoU(num_classes=3), _segments),
            ("hausdorff", lambda: s.HausdorffDistance(num_classes=3), _segments),
            ("mutual info", clustering.MutualInfoScore, _labels),
            ("rand score", clustering.RandScore, _labels),
            ("adjusted rand", clustering.AdjustedRandScore, _labels),
            ("v measure", clustering.VMeasureScore, _labels),
            ("calinski", clustering.CalinskiHarabaszScore, lambda: (_rand(N, 3), _labels()[0])),
            ("dunn", clustering.DunnIndex, lambda: (_rand(N, 3), _labels()[0])),
            ("cramers v", lambda: nominal.CramersV(3), _labels),
            ("theils u", lambda: nominal.TheilsU(3), _labels),
            ("mean", aggregation.MeanMetric, lambda: (_rand(3),)),
            ("max", aggregation.MaxMetric, lambda: (_rand(3),)),
            ("cat", aggregation.CatMetric, lambda: (_rand(3),)),
            ("running mean", lambda: aggregation.RunningMean(3), lambda: (_rand(3),)),
        ],
        forward=("mean", "miou"),
    )  # fmt: skip


@workload
def composing():
    w = torchmetrics.wrappers
    with case("collection"):
        c = classification
        together = torchmetrics.MetricCollection(
            [c.MulticlassAccuracy(5), c.MulticlassF1Score(5), c.MulticlassPrecision(5)]
        )
        together.to(DEVICE)
        for _ in range(2):
            for _ in range(7):
                batch = _multiclass()
                with step("update"):
                    together.update(*batch)
            together.compute()
            together.reset()
        together.clone(prefix="t_")
    with case("tracker"):
        tracker = w.MetricTracker(torchmetrics.MetricCollection([classification.MulticlassRecall(5)])).to(DEVICE)
        for _ in range(3):
            tracker.increment()
            for _ in range(5):
                batch = _multiclass()
                with step("update"):
                    tracker.update(*batch)
            tracker.compute()
        tracker.best_metric()
    made = [
        ("bootstrapper", lambda: w.BootStrapper(regression.MeanSquaredError(), num_bootstraps=3), _regression),
        ("multioutput", lambda: w.MultioutputWrapper(regression.R2Score(), 2), lambda: (_rand(8, 2), _rand(8, 2))),
        ("min max", lambda: w.MinMaxMetric(classification.BinaryAccuracy()), _binary),
        ("running", lambda: w.Running(aggregation.SumMetric(), window=3), lambda: (_rand(1),)),
        ("classwise", lambda: w.ClasswiseWrapper(classification.MulticlassAccuracy(5, average=None)), _multiclass),
    ]
    _each(made)
    with case("functional"):
        for _ in range(8):
            m, g, p, s = _multiclass(), _regression(), _images(), _waves()
            x, y = _rand(4, 3), _rand(5, 3)
            with step("functions"):
                functional.accuracy(*m, task="multiclass", num_classes=5)
                functional.mean_squared_error(*g)
                functional.structural_similarity_index_measure(*p)
                functional.peak_signal_noise_ratio(*p, data_range=1.0)
                functional.scale_invariant_signal_noise_ratio(*s)
                functional.pairwise_cosine_similarity(x, y)
                functional.pairwise_euclidean_distance(x, y)
                functional.pairwise_linear_similarity(x, y)
