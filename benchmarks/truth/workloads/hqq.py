"""hqq: linear layers quantised by half-quadratic optimisation, alone and in models; inference, training around them."""

from __future__ import annotations

import os
import tempfile

import torch
import transformers
from hqq.core.peft import PeftUtils
from hqq.core.quantize import BaseQuantizeConfig, HQQBackend, HQQLinear, Quantizer
from hqq.models.hf.base import AutoHQQHFModel
from torch import nn

from truth import Package, case, step, workload

PACKAGE = Package(
    "hqq==0.2.8.post1",
    extra=("einops", "accelerate", "transformers", "termcolor", "tqdm", "huggingface_hub", "sentencepiece"),
    alone=True,
    kept_out=True,
    seconds=400,
)
DEVICE = "cuda"


def _layer(bits, group=64, axis=1, backend=HQQBackend.PYTORCH):
    HQQLinear.set_backend(backend)
    return HQQLinear(
        nn.Linear(64, 64),
        quant_config=BaseQuantizeConfig(nbits=bits, group_size=group, axis=axis),
        compute_dtype=torch.float32,
        device=DEVICE,
    )


@workload
def layers():
    for bits in (8, 4, 3, 2, 1):
        with case(f"{bits} bits"):
            for _ in range(3):
                with step("quantise"):
                    layer = _layer(bits)
            with torch.no_grad():
                for _ in range(5):
                    with step("eval"):
                        layer(torch.randn(4, 64, device=DEVICE))
            layer.dequantize()
    for name, backend in (
        ("backward", HQQBackend.PYTORCH_BACKPROP),
        ("forward", HQQBackend.PYTORCH_FORWARD),
        ("compiled", HQQBackend.PYTORCH_COMPILE),
    ):
        with case(f"backend {name}"):
            layer = _layer(4, backend=backend)
            for _ in range(5):
                with step("train"):
                    x = torch.randn(4, 64, device=DEVICE, requires_grad=True)
                    layer(x).pow(2).mean().backward()
    with case("other axis"):
        for _ in range(4):
            with step("quantise"):
                layer = _layer(4, axis=0)
            with step("eval"):
                layer(torch.randn(4, 64, device=DEVICE))
    with case("quantiser"):
        for _ in range(4):
            weights = torch.randn(64, 64)
            with step("quantise"):
                packed, about = Quantizer.quantize(
                    weights, nbits=4, group_size=32, device=DEVICE, compute_dtype=torch.float32
                )
                Quantizer.dequantize(packed, about)
    with case("saved"), tempfile.TemporaryDirectory() as folder:
        for turn in range(3):
            layer = _layer(4)
            with step("save"):
                torch.save(layer.state_dict(), os.path.join(folder, f"{turn}.pt"))
                other = HQQLinear(None, quant_config=None, compute_dtype=torch.float32, device=DEVICE)
                other.load_state_dict(torch.load(os.path.join(folder, f"{turn}.pt"), weights_only=False))
                other(torch.randn(2, 64, device=DEVICE))


def _llama():
    return transformers.LlamaForCausalLM(
        transformers.LlamaConfig(
            vocab_size=99,
            hidden_size=64,
            intermediate_size=128,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=2,
            pad_token_id=0,
        )
    )


@workload
def models():
    with case("language model"):
        model = _llama()
        AutoHQQHFModel.quantize_model(
            model,
            quant_config=BaseQuantizeConfig(nbits=4, group_size=64, axis=1),
            compute_dtype=torch.float32,
            device=DEVICE,
        )
        for _ in range(4):
            with step("generate"), torch.no_grad():
                model.generate(torch.randint(3, 90, (1, 6), device=DEVICE), max_new_tokens=5)
    with case("layers by name"):
        model = _llama()
        kinds = {
            name: BaseQuantizeConfig(nbits=4, group_size=64)
            for name in ("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", "self_attn.o_proj")
        }
        kinds.update(
            {
                f"mlp.{name}": BaseQuantizeConfig(nbits=2, group_size=32)
                for name in ("gate_proj", "up_proj", "down_proj")
            }
        )
        AutoHQQHFModel.quantize_model(model, quant_config=kinds, compute_dtype=torch.float32, device=DEVICE)
        for _ in range(4):
            with step("eval"), torch.no_grad():
                model(torch.randint(3, 90, (2, 8), device=DEVICE))
    with case("low-rank training"):
        model = _llama()
        AutoHQQHFModel.quantize_model(
            model, quant_config=BaseQuantizeConfig(nbits=4, group_size=64), compute_dtype=torch.float32, device=DEVICE
        )
        HQQLinear.set_backend(HQQBackend.PYTORCH_BACKPROP)
        base = {"lora_type": "default", "r": 4, "lora_alpha": 8, "dropout": 0.05, "train_dtype": torch.float32}
        PeftUtils.add_lora(
            model,
            {
                name: base if "attn" in name else None
                for name in (
                    "self_attn.q_proj",
                    "self_attn.k_proj",
                    "self_attn.v_proj",
                    "self_attn.o_proj",
                    "mlp.gate_proj",
                    "mlp.up_proj",
                    "mlp.down_proj",
                )
            },
            base_class=AutoHQQHFModel,
        )
        optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], 1e-3)
        model.train()
        for _ in range(5):
            tokens = torch.randint(3, 90, (2, 8))
            with step("train"):
                tokens = tokens.to(DEVICE)
                model(tokens, labels=tokens).loss.backward()
                optimizer.step()
                optimizer.zero_grad()
    with case("saved"), tempfile.TemporaryDirectory() as folder:
        model = _llama()
        AutoHQQHFModel.quantize_model(
            model, quant_config=BaseQuantizeConfig(nbits=4, group_size=64), compute_dtype=torch.float32, device=DEVICE
        )
        AutoHQQHFModel.save_quantized(model, folder)
        AutoHQQHFModel.from_quantized(folder, compute_dtype=torch.float32, device=DEVICE)
