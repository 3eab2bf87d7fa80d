"""tsai: models of series trained by its learners and by hand, with its losses and transforms."""

from __future__ import annotations

import numpy as np
import torch
from tsai import all as ts

from truth import Package, bound, case, step, workload
from truth.drive import DEVICE, train

PACKAGE = Package("tsai==1.0.1", alone=True, kept_out=True, extra=("fastai", "scikit-learn", "pyts", "imbalanced-learn", "psutil"), seconds=500)  # fmt: skip


@workload
def models():
    def batch():
        return (torch.randn(4, 3, 40, device=DEVICE),)

    for kind in (
        "FCN", "FCNPlus", "ResNet", "ResNetPlus", "ResCNN", "InceptionTime", "InceptionTimePlus", "XceptionTime",
        "XceptionTimePlus", "OmniScaleCNN", "TCN", "RNN", "LSTM", "GRU", "LSTMPlus", "GRUPlus", "xresnet1d18",
    ):  # fmt: skip
        train(kind, lambda: getattr(ts, kind)(3, 4), batch, turns=4)  # noqa: B023
    for kind in (
        "TST", "TSTPlus", "LSTM_FCN", "GRU_FCN", "LSTM_FCNPlus", "XCM", "XCMPlus", "MLP", "gMLP", "TSiTPlus",
        "TSSequencerPlus", "mWDN", "TransformerModel", "ConvTranPlus", "TransformerLSTMPlus", "LSTMAttention", "TSPerceiver",
        "MiniRocketPlus", "HydraPlus",
    ):  # fmt: skip
        if kind == "TransformerModel":
            train(kind, lambda: ts.TransformerModel(3, 4, d_model=16, n_head=2, d_ffn=32, n_layers=1), batch, turns=4)
            continue
        if hasattr(ts, kind):
            train(kind, lambda: getattr(ts, kind)(3, 4, seq_len=40), batch, turns=4)  # noqa: B023
    train("PatchTST", lambda: ts.PatchTST(3, None, 40, pred_dim=8, n_layers=1, n_heads=2, d_model=16, d_ff=32), batch)


@workload
def learning():
    x, y = np.random.randn(24, 2, 30).astype("float32"), np.array([str(number % 3) for number in range(24)])
    splits = (list(range(16)), list(range(16, 24)))
    for name, kind, options in (
        ("classifier", "InceptionTimePlus", {}), ("classifier augmented", "FCNPlus", {"tfms": True}),
        ("classifier with weights", "ResCNN", {"metrics": True}),
    ):  # fmt: skip
        with case(name):
            more = {"batch_tfms": [ts.TSStandardize(by_sample=True), ts.TSMagScale(), ts.TSWindowWarp()]} if options.get("tfms") else {}
            learner = ts.TSClassifier(x, y, splits=splits, arch=kind, bs=4, metrics=ts.accuracy, device=torch.device(DEVICE),
                                      tfms=[None, ts.TSClassification()], **more)  # fmt: skip
            learner.model.to(DEVICE)
            bound(learner.model, "train")
            with learner.no_bar():
                learner.fit_one_cycle(2, 1e-3)
                learner.get_X_preds(x[16:])
    with case("regressor"):
        learner = ts.TSRegressor(x, np.random.randn(24).astype("float32"), splits=splits, arch="TSTPlus", bs=4,
                                 metrics=ts.mae, device=torch.device(DEVICE), tfms=[None, ts.TSRegression()])  # fmt: skip
        learner.model.to(DEVICE)
        bound(learner.model, "train")
        with learner.no_bar():
            learner.fit_one_cycle(2, 1e-3)
    with case("forecaster"):
        series = np.random.randn(60).astype("float32")
        windows, wanted = ts.SlidingWindow(12, horizon=2)(series)
        parts = ts.TimeSplitter(10)(wanted)
        learner = ts.TSForecaster(windows, wanted, splits=parts, arch="TSTPlus", bs=8, device=torch.device(DEVICE),
                                  tfms=[None, ts.TSForecasting()])  # fmt: skip
        learner.model.to(DEVICE)
        bound(learner.model, "train")
        with learner.no_bar():
            learner.fit_one_cycle(2, 1e-3)


@workload
def losses_and_transforms():
    for name, make, data in (
        ("focal", lambda: ts.FocalLoss(), lambda: (torch.randn(4, 3), torch.randint(0, 3, (4,)))),
        ("masked", lambda: ts.MaskedLossWrapper(torch.nn.MSELoss()), lambda: (torch.randn(4, 3), torch.randn(4, 3))),
        ("cosine", lambda: ts.HuberLoss("mean"), lambda: (torch.randn(4, 3), torch.randn(4, 3))),
        ("log cosh", lambda: ts.LogCoshLoss(), lambda: (torch.randn(4, 3), torch.randn(4, 3))),
        ("tweedie", lambda: ts.TweedieLoss(), lambda: (torch.rand(4, 1), torch.rand(4, 1))),
        ("centre", lambda: ts.CenterLoss(3, 3), lambda: (torch.randn(4, 3), torch.randint(0, 3, (4,)))),
    ):  # fmt: skip
        with case(name):
            loss = make().to(DEVICE)
            for _ in range(5):
                x, target = (one.to(DEVICE) for one in data())
                with step("train"):
                    loss(x.requires_grad_(), target).backward()
    for kind in (
        "TSStandardize", "TSNormalize", "TSMagAddNoise", "TSMagScale", "TSTimeNoise", "TSMagWarp", "TSTimeWarp",
        "TSWindowWarp", "TSWindowSlicing", "TSRandomShift", "TSHorizontalFlip", "TSVerticalFlip", "TSCutOut",
        "TSTimeStepOut", "TSVarOut", "TSSelfDropout", "TSGaussianFilter", "TSSmooth", "TSDetrend", "TSRollingMean",
        "TSLogReturn", "TSDiff", "TSRobustScale", "TSClipOutliers", "TSInputDropout", "TSRandomCropPad", "TSMaskOut",
        "TSTranslateX", "TSFreqDenoise", "TSRandomFreqNoise", "TSBlur", "TSPermutation", "TSResize", "TSMagMulNoise",
    ):  # fmt: skip
        if not hasattr(ts, kind):
            continue
        with case(kind):
            made = getattr(ts, kind)
            try:
                transform = made(magnitude=0.5)
            except TypeError:
                transform = made()
            for _ in range(6):
                batch = ts.TSTensor(torch.randn(4, 2, 40, device=DEVICE))
                with step("batch"):
                    transform(batch, split_idx=0)
