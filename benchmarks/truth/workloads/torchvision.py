"""torchvision: classifiers and detectors trained and evaluated, transforms on batches and on images, operators."""

from __future__ import annotations

import os
import tempfile

import numpy as np
import torch
import torch.nn.functional as F
import torchvision
import torchvision.transforms as transforms
import torchvision.transforms.v2 as v2
from PIL import Image
from torchvision import models, ops, tv_tensors

from truth import Package, case, step, steps, workload

PACKAGE = Package("torchvision==0.28.0", seconds=600)
DEVICE = "cuda"


def _picture(size=48):
    return Image.fromarray(np.random.randint(0, 255, (size, size, 3), dtype=np.uint8))


def _classify(name, size=32, **options):
    with case(name):
        model = models.get_model(name, weights=None, num_classes=10, **options).to(DEVICE).train()
        optimizer = torch.optim.SGD(model.parameters(), 0.01)
        for _ in range(4):
            x, y = torch.randn(2, 3, size, size), torch.randint(0, 10, (2,))
            with step("train"):
                answer = model(x.to(DEVICE))
                answer = answer.logits if hasattr(answer, "logits") else answer
                F.cross_entropy(answer, y.to(DEVICE)).backward()
                optimizer.step()
                optimizer.zero_grad()
        model.eval()
        with torch.no_grad():
            for _ in range(3):
                with step("eval"):
                    model(torch.randn(2, 3, size, size, device=DEVICE))


@workload
def classifying():
    for name in ("resnet18", "mobilenet_v2", "mobilenet_v3_small", "shufflenet_v2_x0_5", "efficientnet_b0"):
        _classify(name)
    for name in ("mnasnet0_5", "regnet_y_400mf", "convnext_tiny", "swin_t", "densenet121"):
        _classify(name)
    for name in ("squeezenet1_1", "alexnet", "vgg11"):
        _classify(name, 64)
    _classify("googlenet", 64, init_weights=False)
    with case("vit"):
        model = models.VisionTransformer(32, 8, 2, 2, 16, 32, num_classes=10).to(DEVICE)
        for _ in range(5):
            with step("train"):
                model(torch.randn(2, 3, 32, 32, device=DEVICE)).sum().backward()
    with case("maxvit"):
        model = models.MaxVit(
            input_size=(64, 64), stem_channels=16, partition_size=2, block_channels=[16, 32], block_layers=[1, 1],
            head_dim=8, stochastic_depth_prob=0.1, num_classes=10,
        ).to(DEVICE)  # fmt: skip
        for _ in range(4):
            with step("train"):
                model(torch.randn(2, 3, 64, 64, device=DEVICE)).sum().backward()


def _target(kind):
    target = {
        "boxes": torch.tensor([[5.0, 5, 30, 30], [10, 10, 50, 50]], device=DEVICE),
        "labels": torch.tensor([1, 2], device=DEVICE),
    }
    if kind == "mask":
        target["masks"] = torch.ones(2, 64, 64, dtype=torch.uint8, device=DEVICE)
    if kind == "keypoint":
        target["keypoints"] = torch.tensor([[[8.0, 8, 1]] * 4, [[20.0, 20, 1]] * 4], device=DEVICE)
        target["labels"] = torch.tensor([1, 1], device=DEVICE)
    return target


def _detect(name, kind="", classes=4, turns=3, **options):
    with case(name):
        model = models.get_model(name, weights=None, weights_backbone=None, num_classes=classes, **options).to(DEVICE)
        optimizer = torch.optim.SGD(model.parameters(), 1e-4)
        for _ in range(turns):
            images = [torch.rand(3, 64, 64, device=DEVICE) for _ in range(2)]
            with step("train"):
                sum(model(images, [_target(kind), _target(kind)]).values()).backward()
                optimizer.step()
                optimizer.zero_grad()
        model.eval()
        with torch.no_grad():
            for _ in range(turns):
                with step("eval"):
                    model([torch.rand(3, 64, 64, device=DEVICE) for _ in range(2)])


@workload
def detecting():
    small = {"min_size": 64, "max_size": 64}
    _detect("fasterrcnn_mobilenet_v3_large_fpn", **small)
    _detect("retinanet_resnet50_fpn", **small)
    _detect("fcos_resnet50_fpn", **small)
    _detect("maskrcnn_resnet50_fpn", "mask", **small)
    _detect("keypointrcnn_resnet50_fpn", "keypoint", 2, num_keypoints=4, **small)
    _detect("ssdlite320_mobilenet_v3_large")


@workload
def segmenting_and_videos():
    for name in ("deeplabv3_mobilenet_v3_large", "fcn_resnet50", "lraspp_mobilenet_v3_large"):
        with case(name):
            model = models.get_model(name, weights=None, weights_backbone=None, num_classes=3).to(DEVICE)
            for _ in range(4):
                with step("train"):
                    model(torch.rand(2, 3, 48, 48, device=DEVICE))["out"].sum().backward()
    for name in ("r3d_18", "mc3_18"):
        with case(name):
            model = models.get_model(name, weights=None, num_classes=4).to(DEVICE).eval()
            for _ in range(3):
                with step("eval"), torch.no_grad():
                    model(torch.rand(1, 3, 4, 24, 24, device=DEVICE))
    with case("swin3d"):
        model = models.video.SwinTransformer3d([2, 4, 4], 12, [1, 1], [2, 2], [2, 2, 2], num_classes=4).to(DEVICE)
        for _ in range(4):
            with step("train"):
                model(torch.rand(1, 3, 4, 32, 32, device=DEVICE)).sum().backward()
    with case("raft"):
        model = models.optical_flow.raft_small(weights=None).to(DEVICE).eval()
        for _ in range(3):
            pair = torch.rand(2, 1, 3, 128, 128, device=DEVICE)
            with step("eval"), torch.no_grad():
                model(pair[0], pair[1], num_flow_updates=2)


@workload
def operating():
    with case("boxes"):
        for _ in range(8):
            boxes = torch.rand(10, 4, device=DEVICE) * 20
            boxes[:, 2:] += boxes[:, :2] + 1
            scores, labels = torch.rand(10, device=DEVICE), torch.randint(0, 3, (10,), device=DEVICE)
            with step("boxes"):
                ops.box_iou(boxes, boxes)
                ops.generalized_box_iou(boxes, boxes)
                ops.complete_box_iou(boxes, boxes)
                ops.box_convert(boxes, "xyxy", "cxcywh")
                ops.clip_boxes_to_image(boxes, (16, 16))
                ops.remove_small_boxes(boxes, 1.0)
                ops.generalized_box_iou_loss(boxes, boxes)
                ops.distance_box_iou_loss(boxes, boxes)
                ops.complete_box_iou_loss(boxes, boxes)
                ops.masks_to_boxes(torch.ones(2, 8, 8, device=DEVICE))
                ops.nms(boxes, scores, 0.5)
                ops.batched_nms(boxes, scores, labels, 0.5)
    with case("regions"):
        features = torch.rand(2, 4, 16, 16, device=DEVICE, requires_grad=True)
        for _ in range(6):
            boxes = [torch.tensor([[0.0, 0, 8, 8], [2, 2, 12, 12]], device=DEVICE) for _ in range(2)]
            with step("regions"):
                ops.roi_align(features, boxes, 3).sum().backward()
                ops.roi_pool(features, boxes, 3).sum().backward()
                ops.ps_roi_align(features, boxes, 2).sum().backward()
    with case("layers"):
        deform = ops.DeformConv2d(3, 4, 3, padding=1).to(DEVICE)
        drop, squeeze = ops.DropBlock2d(0.3, 3).to(DEVICE), ops.SqueezeExcitation(4, 2).to(DEVICE)
        pyramid, mlp = ops.FeaturePyramidNetwork([4, 8], 4).to(DEVICE), ops.MLP(4, [8, 2]).to(DEVICE)
        for _ in range(6):
            x, offset = torch.rand(1, 3, 8, 8, device=DEVICE), torch.rand(1, 18, 8, 8, device=DEVICE)
            with step("layers"):
                drop(x)
                deform(x, offset)
                mlp(torch.rand(2, 4, device=DEVICE))
                squeeze(torch.rand(1, 4, 8, 8, device=DEVICE))
                pyramid({"a": torch.rand(1, 4, 16, 16, device=DEVICE), "b": torch.rand(1, 8, 8, 8, device=DEVICE)})
                ops.sigmoid_focal_loss(torch.randn(4, 2, device=DEVICE), torch.rand(4, 2, device=DEVICE))
                ops.stochastic_depth(x, 0.5, "row")


@workload
def transforming():
    first = transforms.Compose(
        [
            transforms.Resize(40), transforms.RandomResizedCrop(32), transforms.RandomHorizontalFlip(),
            transforms.ColorJitter(0.4, 0.4, 0.4, 0.1), transforms.RandomAffine(10), transforms.RandomGrayscale(0.2),
            transforms.GaussianBlur(3), transforms.ToTensor(), transforms.RandomErasing(),
            transforms.Normalize([0.5] * 3, [0.5] * 3),
        ]
    )  # fmt: skip
    with case("images on the host"):
        more = [
            transforms.RandAugment(),
            transforms.AutoAugment(),
            transforms.TrivialAugmentWide(),
            transforms.AugMix(),
        ]
        for _ in range(10):
            picture = _picture()
            with step("sample"):
                first(picture).to(DEVICE)
                for one in more:
                    one(picture)
    with case("batches on the device"):
        augment = [
            transforms.RandomAffine(10), transforms.RandomPerspective(p=1.0), transforms.RandomRotation(20),
            transforms.ColorJitter(0.4, 0.4, 0.4, 0.1), transforms.GaussianBlur(3), transforms.RandomErasing(p=1.0),
            transforms.Normalize([0.5] * 3, [0.5] * 3), transforms.ElasticTransform(), transforms.RandomResizedCrop(24),
        ]  # fmt: skip
        for _ in range(8):
            batch = torch.rand(2, 3, 32, 32, device=DEVICE)
            with step("batch"):
                for one in augment:
                    one(batch)
    with case("version 2 on the device"):
        augment = v2.Compose(
            [
                v2.RandomResizedCrop(32, antialias=True), v2.RandomHorizontalFlip(), v2.RandomPhotometricDistort(p=1.0),
                v2.RandomAffine(10), v2.RandomPerspective(p=1.0), v2.ElasticTransform(), v2.GaussianBlur(3),
                v2.RandomErasing(p=1.0), v2.ToDtype(torch.float32, scale=True), v2.Normalize([0.5] * 3, [0.5] * 3),
            ]
        )  # fmt: skip
        mix, cut = v2.MixUp(num_classes=4), v2.CutMix(num_classes=4)
        for _ in range(8):
            batch = torch.randint(0, 256, (2, 3, 40, 40), dtype=torch.uint8, device=DEVICE)
            labels = torch.randint(0, 4, (2,), device=DEVICE)
            with step("batch"):
                x = augment(batch)
                mix(x, labels)
                cut(x, labels)
    with case("version 2 with boxes"):
        augment = v2.Compose(
            [
                v2.ToImage(), v2.RandomZoomOut(), v2.RandomIoUCrop(), v2.Resize((32, 32)), v2.RandomHorizontalFlip(),
                v2.SanitizeBoundingBoxes(), v2.ToDtype(torch.float32, scale=True),
            ]
        )  # fmt: skip
        for _ in range(8):
            boxes = tv_tensors.BoundingBoxes([[5, 5, 30, 30]], format="XYXY", canvas_size=(48, 48))
            with step("sample"):
                augment(_picture(), {"boxes": boxes, "labels": torch.tensor([1])})


@workload
def loading():
    with tempfile.TemporaryDirectory() as folder:
        for label in "ab":
            os.makedirs(f"{folder}/{label}")
            for number in range(8):
                _picture().save(f"{folder}/{label}/{number}.png")
        convert = transforms.Compose([transforms.Resize(32), transforms.ToTensor()])
        with case("folder"):
            pictures = torchvision.datasets.ImageFolder(folder, transform=convert)
            model = models.resnet18(num_classes=2).to(DEVICE)
            for _ in range(2):
                for x, y in steps(torch.utils.data.DataLoader(pictures, 4, shuffle=True), "train"):
                    F.cross_entropy(model(x.to(DEVICE)), y.to(DEVICE)).backward()
        with case("drawing"):
            for _ in range(5):
                batch = torch.rand(4, 3, 16, 16, device=DEVICE)
                with step("log"):
                    torchvision.utils.save_image(
                        torchvision.utils.make_grid(batch, normalize=True), f"{folder}/grid.png"
                    )
                    picture = (batch[0] * 255).byte()
                    torchvision.utils.draw_bounding_boxes(picture, torch.tensor([[1, 1, 9, 9]], device=DEVICE))
                    torchvision.utils.draw_segmentation_masks(
                        picture, torch.ones(16, 16, dtype=torch.bool, device=DEVICE)
                    )
        with case("features"):
            from torchvision.models.feature_extraction import create_feature_extractor

            extract = create_feature_extractor(models.resnet18(), ["layer1", "layer3"]).to(DEVICE)
            for _ in range(4):
                with step("eval"):
                    extract(torch.rand(1, 3, 32, 32, device=DEVICE))
