"""open-clip-torch: image and text models of small size trained by contrast, zero-shot classification, captions."""

from __future__ import annotations

import open_clip
import torch
from open_clip import loss as losses
from open_clip.coca_model import CoCa
from open_clip.model import CLIP, CLIPTextCfg, CLIPVisionCfg, CustomTextCLIP

from truth import Package, case, step, workload

PACKAGE = Package("open-clip-torch==3.3.0", imports=("open_clip",), seconds=400)
DEVICE = "cuda"


def _sight(**more):
    return CLIPVisionCfg(layers=2, width=32, head_width=8, patch_size=8, image_size=32, **more)


def _text(**more):
    return CLIPTextCfg(context_length=16, vocab_size=49408, width=32, heads=4, layers=2, **more)


def _train(name, make, loss, turns=5):
    with case(name):
        model, wanted, tokenizer = make().to(DEVICE), loss(), open_clip.get_tokenizer("ViT-B-32", context_length=16)
        optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
        model.train()
        for turn in range(turns):
            images, texts = (
                torch.randn(4, 3, 32, 32),
                tokenizer(["a dog", "a cat", f"a picture of {turn} birds", "sea"]),
            )
            with step("train"):
                images, texts = images.to(DEVICE, non_blocking=True), texts.to(DEVICE, non_blocking=True)
                optimizer.zero_grad()
                found = model(images, texts)
                found = (
                    found
                    if isinstance(found, dict)
                    else dict(
                        zip(("image_features", "text_features", "logit_scale", "logit_bias"), found, strict=False)
                    )
                )
                total = sum(wanted(**found, output_dict=True).values())
                total.backward()
                optimizer.step()
                with torch.no_grad():
                    (model.logit_scale).clamp_(0, 4.6)
        model.eval()
        for _ in range(4):
            images, texts = torch.randn(2, 3, 32, 32), tokenizer(["a dog", "a cat"])
            with step("rank"), torch.no_grad():
                seen = model.encode_image(images.to(DEVICE), normalize=True)
                read = model.encode_text(texts.to(DEVICE), normalize=True)
                (100.0 * seen @ read.T).softmax(dim=-1).cpu()
        return model


@workload
def training():
    contrast = losses.ClipLoss
    _train("clip", lambda: CLIP(32, _sight(), _text(), output_dict=True), contrast)
    _train(
        "residual network",
        lambda: CLIP(
            32, CLIPVisionCfg(layers=(1, 1, 1, 1), width=8, head_width=8, image_size=32), _text(), output_dict=True
        ),
        contrast,
    )
    _train(
        "patches dropped",
        lambda: CLIP(32, _sight(patch_dropout=0.5, pool_type="avg"), _text(), output_dict=True),
        contrast,
    )
    _train(
        "attention pooling",
        lambda: CustomTextCLIP(
            32,
            _sight(attentional_pool=True, attn_pooler_queries=4, attn_pooler_heads=4),
            _text(embed_cls=True),
            output_dict=True,
        ),
        contrast,
    )
    _train(
        "sigmoid",
        lambda: CustomTextCLIP(
            32,
            _sight(pool_type="avg", final_ln_after_pool=True),
            _text(no_causal_mask=True, pool_type="last"),
            init_logit_bias=-10.0,
            output_dict=True,
        ),
        losses.SigLipLoss,
    )
    _train("checkpointed", lambda: _checkpointed(CLIP(32, _sight(), _text(), output_dict=True)), contrast, turns=4)
    with case("coca"):
        model = CoCa(
            32,
            {"context_length": 16, "vocab_size": 200, "width": 32, "heads": 4, "layers": 2, "mlp_ratio": 2},
            _text(embed_cls=True, output_tokens=True),
            _sight(attentional_pool=True, attn_pooler_queries=8, attn_pooler_heads=4, output_tokens=True),
            pad_id=0,
        ).to(DEVICE)
        wanted = losses.CoCaLoss(2.0, 1.0)
        for _ in range(4):
            images, texts = torch.randn(2, 3, 32, 32), torch.randint(1, 200, (2, 16))
            with step("train"):
                found = model(images.to(DEVICE), texts.to(DEVICE))
                sum(
                    wanted(**{k: v for k, v in found.items() if k != "logit_bias"}, output_dict=True).values()
                ).backward()
    with case("zero shot"):
        model = CLIP(32, _sight(), _text(), output_dict=True).to(DEVICE).eval()
        tokenizer = open_clip.get_tokenizer("ViT-B-32", context_length=16)
        for _ in range(2):
            with step("classifier"), torch.no_grad():
                weights = open_clip.build_zero_shot_classifier(
                    model,
                    tokenizer,
                    ["dog", "cat", "bird"],
                    [lambda c: f"a {c}.", lambda c: f"the {c}."],
                    num_classes_per_batch=2,
                    device=DEVICE,
                    use_tqdm=False,
                )
        for _ in range(4):
            images, target = torch.randn(4, 3, 32, 32), torch.randint(0, 3, (4,))
            with step("classify"), torch.no_grad():
                logits = 100.0 * model.encode_image(images.to(DEVICE), normalize=True) @ weights
                logits.topk(1, 1)[1].t().eq(target.to(DEVICE).view(1, -1)).float().sum().cpu().numpy()
    with case("distilled"):
        teacher, student = (CLIP(32, _sight(), _text(), output_dict=True).to(DEVICE) for _ in range(2))
        wanted = losses.DistillClipLoss()
        for _ in range(4):
            images, texts = torch.randn(4, 3, 32, 32, device=DEVICE), torch.randint(1, 400, (4, 16), device=DEVICE)
            with step("train"):
                with torch.no_grad():
                    theirs = {f"dist_{k}": v for k, v in teacher(images, texts).items()}
                sum(wanted(**student(images, texts), **theirs, output_dict=True).values()).backward()
    with case("half precision"):
        model = CLIP(32, _sight(), _text(), output_dict=True).to(DEVICE)
        open_clip.model.convert_weights_to_lp(model, torch.bfloat16)
        for _ in range(4):
            with step("eval"), torch.no_grad():
                model(
                    torch.randn(2, 3, 32, 32, device=DEVICE, dtype=torch.bfloat16),
                    torch.randint(1, 400, (2, 16), device=DEVICE),
                )


def _checkpointed(model):
    model.set_grad_checkpointing()
    return model
