"""fastai: learners on data from tensors and images, with callbacks, schedules, metrics, predictions."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import numpy as np
import torch
from fastai import learner, losses, metrics, optimizer
from fastai.callback import all as callbacks
from fastai.data.all import DataLoader, DataLoaders
from fastai.vision.all import ImageDataLoaders, PILImage, Resize, aug_transforms, xresnet18
from fastai.vision.models.unet import DynamicUnet
from torch import nn

from truth import Package, bound, case, workload

PACKAGE = Package(
    "fastai==2.8.12",
    extra=("fastcore", "fastprogress", "fastdownload", "fasttransform", "plum-dispatch", "cloudpickle", "matplotlib", "pandas", "scikit-learn", "scipy", "pyyaml", "requests", "packaging"),
    alone=True,
    seconds=400,
)  # fmt: skip
DEVICE = "cuda"


def _loaders(n=40):
    rows = [(torch.randn(8), torch.randint(0, 3, ())) for _ in range(n)]
    return DataLoaders(DataLoader(rows, bs=8, shuffle=True), DataLoader(rows[:16], bs=8), device=torch.device(DEVICE))


def _net(outputs=3):
    net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.BatchNorm1d(16), nn.Linear(16, outputs))
    bound(net, "batch")
    return net


def _learner(**more):
    made = learner.Learner(
        _loaders(), _net(), **{"loss_func": losses.CrossEntropyLossFlat(), "metrics": metrics.accuracy, **more}
    )
    made.remove_cbs([one for one in made.cbs if type(one).__name__ == "ProgressCallback"])
    return made


@workload
def learners():
    with case("one cycle"):
        made = _learner()
        made.fit_one_cycle(3, 1e-2)
        made.validate()
        made.get_preds()
    with case("flat then cosine"):
        _learner(opt_func=optimizer.ranger).fit_flat_cos(2, 1e-2)
    for name in ("SGD", "RMSProp", "Adam", "RAdam", "Lamb", "Larc"):
        with case(f"optimizer {name}"):
            _learner(opt_func=getattr(optimizer, name)).fit(2, 1e-2)
    with case("callbacks"), tempfile.TemporaryDirectory() as folder:
        made = _learner(path=folder, metrics=[metrics.accuracy, metrics.F1Score(average="macro")])
        made.fit(
            3,
            1e-2,
            cbs=[
                callbacks.SaveModelCallback(),
                callbacks.EarlyStoppingCallback(patience=2),
                callbacks.ReduceLROnPlateau(),
                callbacks.GradientClip(0.5),
                callbacks.GradientAccumulation(16),
                callbacks.TerminateOnNaNCallback(),
            ],
        )
    with case("mixup"):
        _learner().fit(2, 1e-2, cbs=callbacks.MixUp(0.4))
    with case("label smoothing"):
        _learner(loss_func=losses.LabelSmoothingCrossEntropyFlat()).fit(2, 1e-2)
    with case("mixed precision"):
        _learner().to_fp16().fit(2, 1e-2)
    with case("learning rate finder"), tempfile.TemporaryDirectory() as folder:
        _learner(path=folder).lr_find(num_it=10, show_plot=False)
    with case("saved"), tempfile.TemporaryDirectory() as folder:
        made = _learner(path=folder)
        made.fit(1)
        made.save("one")
        made.load("one")
    with case("recorded activations"):
        _learner().fit(2, 1e-2, cbs=callbacks.ActivationStats(with_hist=True, every=2))


@workload
def blocks():
    with case("images"), tempfile.TemporaryDirectory() as folder:
        from PIL import Image

        for number in range(16):
            Image.fromarray(np.random.randint(0, 255, (40, 40, 3), dtype=np.uint8)).save(
                os.path.join(folder, f"{'ab'[number % 2]}_{number}.png")
            )
        files = sorted(Path(folder).iterdir())
        loaders = ImageDataLoaders.from_name_func(
            folder,
            files,
            valid_pct=0.25,
            label_func=lambda one: one[0],
            item_tfms=Resize(32),
            batch_tfms=aug_transforms(size=32),
            bs=4,
            num_workers=0,
            device=torch.device(DEVICE),
        )
        net = xresnet18(n_out=2, pretrained=False)
        bound(net, "batch")
        made = learner.Learner(loaders, net, metrics=metrics.error_rate)
        made.remove_cbs([one for one in made.cbs if type(one).__name__ == "ProgressCallback"])
        made.fit(1)
        made.tta(n=2)
        made.predict(PILImage.create(files[0]))
    with case("unet"):
        body = nn.Sequential(*list(xresnet18(n_out=2).children())[:-4])
        net = DynamicUnet(body, 2, (32, 32)).to(DEVICE)
        bound(net, "batch")
        wanted = losses.CrossEntropyLossFlat(axis=1)
        for _ in range(3):
            wanted(
                net(torch.randn(2, 3, 32, 32, device=DEVICE)), torch.randint(0, 2, (2, 32, 32), device=DEVICE)
            ).backward()
    with case("language model"):
        from fastai.text.models.awdlstm import AWD_LSTM
        from fastai.text.models.core import get_language_model

        net = get_language_model(
            AWD_LSTM,
            60,
            config={
                "emb_sz": 16,
                "n_hid": 24,
                "n_layers": 2,
                "pad_token": 1,
                "bidir": False,
                "output_p": 0.1,
                "hidden_p": 0.1,
                "input_p": 0.1,
                "embed_p": 0.02,
                "weight_p": 0.2,
                "tie_weights": True,
                "out_bias": True,
            },
        ).to(DEVICE)
        net.reset()  # as the learner does when training begins: the states go where the weights are
        bound(net, "batch")
        for _ in range(4):
            found = net(torch.randint(2, 60, (2, 12), device=DEVICE))
            losses.CrossEntropyLossFlat()(found[0], torch.randint(2, 60, (2, 12), device=DEVICE)).backward()
