"""pytorch-toolbelt: encoders and decoders of segmentation, losses, tiled inference and test-time augmentation."""

from __future__ import annotations

import numpy as np
import torch
from pytorch_toolbelt import losses
from pytorch_toolbelt.inference import functional, tiles, tta
from pytorch_toolbelt.inference.ensembling import Ensembler
from pytorch_toolbelt.modules import (
    coord_conv,
    dropblock,
    encoders,
    ocnet,
    pooling,
    scse,
    spp,
    srm,
    unet,
)  # fmt: skip
from pytorch_toolbelt.modules.fpn import FPNContextBlock
from pytorch_toolbelt.utils import torch_utils

from truth import Package, case, step, workload
from truth.drive import DEVICE, calls, train

PACKAGE = Package("pytorch-toolbelt==0.8.0", extra=("timm",), seconds=400)


def _maps():
    return (torch.randn(2, 8, 16, 16, device=DEVICE),)


@workload
def modules():
    for name, make in (
        ("attention of an object", lambda: ocnet.ObjectContextBlock(8, 8, 4, 4, 0.1)),
        ("pyramid of objects", lambda: ocnet.PyramidObjectContextBlock(8, 8)),
        ("average", pooling.GlobalAvgPool2d), ("largest", pooling.GlobalKMaxPool2d),
        ("weighted", lambda: pooling.GlobalWeightedAvgPool2d(8)), ("root of squares", pooling.RMSPool),
        ("many instances", lambda: pooling.MILCustomPoolingModule(8, 4)),
        ("rank", lambda: pooling.GlobalRankPooling(8, 256)), ("generalised", pooling.GeneralizedMeanPooling2d),
        ("channels", lambda: scse.ChannelGate2d(8)), ("space", lambda: scse.SpatialGate2d(8, squeeze_channels=4)),
        ("both", lambda: scse.ChannelSpatialGate2dV2(8)), ("style", lambda: srm.SRMLayer(8)),
        ("atrous", lambda: spp.ASPP(8, 8, spp.ASPPModule, atrous_rates=(1, 2, 3))),
        ("drop block", lambda: dropblock.DropBlock2D(0.3, 3)), ("coordinates", lambda: coord_conv.CoordConv(8, 4, True, kernel_size=3)),
        ("unet block", lambda: unet.UnetBlock(8, 8)), ("unet residual", lambda: unet.UnetResidualBlock(8, 4)),
        ("pyramid context", lambda: FPNContextBlock(8, 8)),
    ):  # fmt: skip
        train(name, make, _maps)
    with case("scheduled drop block"):
        module = dropblock.DropBlockScheduled(dropblock.DropBlock2D(0.1, 3), 0.1, 0.5, 5).to(DEVICE)
        for _ in range(6):
            with step("train"):
                module.step()
                module(*_maps())


@workload
def encoding():
    from pytorch_toolbelt.modules import decoders, heads

    for kind, options in (
        ("MobilenetV2Encoder", {}), ("Resnet18Encoder", {"pretrained": False}), ("SEResnext50Encoder", {"pretrained": False}),
        ("SqueezenetEncoder", {"pretrained": False}), ("StackedHGEncoder", {"stack_level": 1, "depth": 2, "features": 16}),
        ("DenseNet121Encoder", {"pretrained": False}), ("HRNetW18SmallEncoder", {"pretrained": False}), ("XResNet18Encoder", {}),
        ("MobilenetV3Small", {"pretrained": False}), ("SwinT", {"pretrained": False}),
    ):  # fmt: skip
        made = getattr(encoders, kind, None)
        if made is None:
            continue
        train(kind, lambda: made(**options), lambda: (torch.randn(2, 3, 64, 64, device=DEVICE),), turns=3, evaluate=2)
    for name, make in (
        ("unet", lambda spec: decoders.UNetDecoder(spec, [8, 8, 16])),
        ("pyramid", lambda spec: decoders.FPNDecoder(spec, 16)), ("bifpn", lambda spec: decoders.BiFPNDecoder(spec, 16, 1)),
        ("deeplab", lambda spec: decoders.DeeplabV3Decoder(spec, 16, 16)),
        ("deeplab plus", lambda spec: decoders.DeeplabV3PlusDecoder(spec, 16, 16)),
        ("context", lambda spec: decoders.CANDecoder(spec, 16)),
    ):  # fmt: skip
        with case(f"segmentation {name}"):
            encoder = encoders.Resnet18Encoder(pretrained=False)
            decoder = make(encoder.get_output_spec())
            head = heads.ResizeHead(decoder.get_output_spec(), num_classes=1)
            model = torch.nn.ModuleList([encoder, decoder, head]).to(DEVICE)
            optimizer = torch.optim.Adam(model.parameters())
            dice, focal = losses.DiceLoss("binary"), losses.BinaryFocalLoss()
            for _ in range(4):
                x, y = torch.randn(2, 3, 64, 64), torch.randint(0, 2, (2, 1, 64, 64)).float()
                with step("train"):
                    found = head(decoder(encoder(x.to(DEVICE))), output_size=(64, 64))
                    target = y.to(DEVICE)
                    (dice(found, target) + 0.5 * focal(found, target)).backward()
                    optimizer.step()
                    optimizer.zero_grad()


@workload
def learning():
    def binary():
        return (torch.randn(2, 1, 8, 8, device=DEVICE, requires_grad=True),
                torch.randint(0, 2, (2, 1, 8, 8), device=DEVICE).float())  # fmt: skip

    def classes():
        return torch.randn(2, 4, 8, 8, device=DEVICE, requires_grad=True), torch.randint(0, 4, (2, 8, 8), device=DEVICE)

    def rows():
        return torch.randn(6, 4, device=DEVICE, requires_grad=True), torch.randint(0, 4, (6,), device=DEVICE)

    for name, make, data in (
        ("balanced", losses.BalancedBCEWithLogitsLoss, binary),
        ("bitempered", lambda: losses.BiTemperedLogisticLoss(0.8, 1.2), rows),
        ("bitempered binary", lambda: losses.BinaryBiTemperedLogisticLoss(0.8, 1.2), binary),
        ("dice", lambda: losses.DiceLoss("multiclass"), classes),
        ("dice of some", lambda: losses.DiceLoss("multiclass", classes=[1, 2], log_loss=True), classes),
        ("dice ignoring", lambda: losses.DiceLoss("binary", ignore_index=255), binary),
        ("jaccard", lambda: losses.JaccardLoss("multiclass"), classes), ("focal", losses.BinaryFocalLoss, binary),
        ("focal ignoring", lambda: losses.BinaryFocalLoss(ignore_index=255, normalized=True, reduced_threshold=0.5), binary),
        ("focal of classes", losses.CrossEntropyFocalLoss, classes), ("cosine", losses.FocalCosineLoss, rows),
        ("lovasz", losses.LovaszLoss, lambda: (classes()[0].softmax(1), classes()[1])),
        ("lovasz binary", lambda: losses.BinaryLovaszLoss(per_image=True), lambda: tuple(one[:, 0] for one in binary())),
        ("quality", losses.QualityFocalLoss, binary), ("soft", lambda: losses.SoftBCEWithLogitsLoss(smooth_factor=0.1), binary),
        ("soft classes", lambda: losses.SoftCrossEntropyLoss(smooth_factor=0.1), classes), ("log cosh", losses.LogCoshLoss, binary),
        ("wing", losses.WingLoss, binary), ("soft f1", losses.SoftF1Loss, rows),
    ):  # fmt: skip
        calls(name, make(), data, backward=True, kind="train")


@workload
def predicting():
    model = torch.nn.Conv2d(3, 2, 3, padding=1).to(DEVICE)
    judge = torch.nn.Sequential(model, torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten())
    for name, function in (
        ("flip", lambda x: tta.fliplr_image2mask(model, x)), ("all flips", lambda x: tta.d4_image2mask(model, x)),
        ("labels", lambda x: tta.d4_image2label(judge, x)), ("crops", lambda x: tta.fivecrop_image2label(judge, x, (16, 16))),
        ("scales", tta.MultiscaleTTA(model, size_offsets=[8])),
        ("general", tta.GeneralizedTTA(model, tta.d2_image_augment, tta.d2_image_deaugment)),
        ("ensemble", lambda x: Ensembler([model, model], reduction="gmean")(x.sigmoid())),
    ):  # fmt: skip
        with case(name):
            for _ in range(5):
                x = torch.rand(2, 3, 32, 32, device=DEVICE)
                with step("eval"), torch.no_grad():
                    function(x)
    for weight in ("mean", "pyramid"):
        with case(f"tiles {weight}"):
            picture = np.random.randint(0, 255, (96, 80, 3), dtype=np.uint8)
            slicer = tiles.ImageSlicer(picture.shape, (32, 32), (16, 16), weight=weight)
            merger = tiles.TileMerger(slicer.target_shape, 2, slicer.weight, device=DEVICE)
            pieces = [torch_utils.tensor_from_rgb_image(one).float() for one in slicer.split(picture)]
            data = torch.utils.data.DataLoader(list(zip(pieces, slicer.crops, strict=True)), batch_size=4)
            for batch, coordinates in data:
                with step("tile"), torch.no_grad():
                    merger.integrate_batch(model(batch.to(DEVICE)), coordinates)
            for _ in range(3):
                with step("merge"):
                    found = np.moveaxis(torch_utils.to_numpy(merger.merge()), 0, -1)
                    slicer.crop_to_orignal_size(found)
    for name, function in (
        ("pad", lambda x: functional.unpad_image_tensor(*functional.pad_image_tensor(x, 32))),
        ("means", lambda x: functional.geometric_mean(x, 0) + functional.harmonic_mean(x, 0) + functional.logodd_mean(x.clamp(0.1, 0.9), 0)),
        ("to numpy", torch_utils.to_numpy),
    ):  # fmt: skip
        calls(name, function, lambda: (torch.rand(2, 3, 30, 30, device=DEVICE),))
