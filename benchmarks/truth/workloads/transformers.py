"""transformers: models of every architecture from tiny configurations, trained, evaluated and made to generate."""

from __future__ import annotations

import inspect
import tempfile

import numpy as np
import torch
import transformers as hf
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

from truth import Package, case, step, workload

PACKAGE = Package("transformers==5.23.0", extra=("accelerate", "scipy"), seconds=900)
DEVICE = "cuda"
SMALL = {
    **dict.fromkeys(("hidden_size", "d_model", "n_embd", "dim", "embed_dim", "emb_dim", "embedding_size"), 32),
    **dict.fromkeys(("num_hidden_layers", "num_layers", "n_layer", "n_layers", "layers"), 2),
    **dict.fromkeys(("encoder_layers", "decoder_layers", "num_encoder_layers", "num_decoder_layers"), 2),
    **dict.fromkeys(("num_attention_heads", "num_heads", "n_head", "n_heads", "heads"), 4),
    **dict.fromkeys(("encoder_attention_heads", "decoder_attention_heads"), 4),
    **dict.fromkeys(("num_encoder_attention_heads", "num_decoder_attention_heads"), 4),
    **dict.fromkeys(("num_key_value_heads", "n_groups"), 2),
    **dict.fromkeys(("intermediate_size", "d_ff", "d_inner", "ffn_dim", "ffn_hidden_size", "hidden_dim"), 64),
    **dict.fromkeys(("encoder_ffn_dim", "decoder_ffn_dim", "word_embed_proj_dim"), 64),
    **dict.fromkeys(("max_position_embeddings", "n_positions", "max_source_positions", "max_target_positions"), 64),
    **dict.fromkeys(("num_experts", "num_local_experts", "n_routed_experts", "moe_num_experts"), 4),
    **dict.fromkeys(("num_experts_per_tok", "moe_k", "moe_topk"), 2),
    **dict.fromkeys(("moe_intermediate_size", "shared_expert_intermediate_size", "expert_ffn_hidden_size"), 16),
    **dict.fromkeys(
        ("head_dim", "d_kv", "attention_head_size", "qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim"), 8
    ),
    **{"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2, "vocab_size": 99},
    **{"word_embed_proj_dim": 32, "kv_lora_rank": 16, "q_lora_rank": 16, "projection_dim": 32, "sliding_window": 8},
    **{"image_size": 32, "patch_size": 8, "image_token_id": 98, "image_token_index": 98, "rotary_dim": 8},
}


def _tiny(kind, **more):
    """A configuration of this type with every size that it knows made small."""
    made = CONFIG_MAPPING[kind]
    known = set(inspect.signature(made.__init__).parameters) | set(getattr(made, "__dataclass_fields__", ()))
    return made(**{**{name: size for name, size in SMALL.items() if name in known}, **more})


def _tokens(rows=2, length=10, size=90):
    """Token numbers and their mask, the rows padded to the longest."""
    tokens = torch.randint(3, size, (rows, length))
    mask = torch.ones_like(tokens)
    mask[-1, length - int(torch.randint(1, 4, ())) :] = 0
    return {"input_ids": tokens * mask, "attention_mask": mask}


def _to_device(batch):
    return {name: value.to(DEVICE) for name, value in batch.items()}


def _learn(model, batch, turns=4, evaluate=3):
    """A loop of training and one of evaluation, with what `batch` gives."""
    model.to(DEVICE).train()
    optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
    for _ in range(turns):
        one = batch()
        with step("train"):
            loss = model(**_to_device(one)).loss
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()
    model.eval()
    with torch.no_grad():
        for _ in range(evaluate):
            one = batch()
            with step("eval"):
                model(**_to_device(one))
    return model


def _language():
    batch = _tokens(length=int(torch.randint(8, 14, ())))
    return {**batch, "labels": batch["input_ids"].masked_fill(batch["attention_mask"] == 0, -100)}


def _left_padded():
    batch = _tokens(length=6)
    return _to_device({name: value.flip(1) for name, value in batch.items()})


def _generate(model, batch=_left_padded, turns=3, **options):
    model.eval()
    for _ in range(turns):
        one = batch()
        with step("generate"):
            model.generate(**one, max_new_tokens=6, **options)


def _decoders(kinds):
    for kind, more in kinds.items():
        with case(kind):
            model = _learn(hf.AutoModelForCausalLM.from_config(_tiny(kind, **more)), _language, turns=3, evaluate=2)
            model.config.output_router_logits = False
            _generate(model, do_sample=False)


@workload
def decoders():
    _decoders(
        {
            "llama": {}, "mistral": {}, "qwen2": {}, "qwen3": {}, "gemma": {}, "gemma2": {}, "gemma3_text": {},
            "phi": {}, "phi3": {"pad_token_id": 0}, "gpt2": {}, "gpt_neo": {"attention_types": [[["global", "local"], 1]]},
            "gpt_neox": {}, "gptj": {}, "gpt_bigcode": {}, "opt": {}, "bloom": {}, "falcon": {}, "mpt": {}, "codegen": {},
            "olmo2": {}, "stablelm": {}, "starcoder2": {}, "cohere": {}, "granite": {}, "glm4": {}, "xglm": {},
            "biogpt": {}, "persimmon": {}, "nemotron": {}, "smollm3": {}, "exaone4": {}, "diffllama": {}, "helium": {},
            "modernbert-decoder": {}, "ministral": {}, "doge": {}, "openai-gpt": {},
        }
    )  # fmt: skip


@workload
def experts_and_recurrences():
    _decoders(
        {
            "mixtral": {"output_router_logits": True}, "qwen2_moe": {"output_router_logits": True}, "qwen3_moe": {},
            "olmoe": {"output_router_logits": True}, "deepseek_v3": {"n_group": 2, "topk_group": 1, "first_k_dense_replace": 1, "num_key_value_heads": 4},
            "deepseek_v2": {"n_group": 2, "topk_group": 1, "first_k_dense_replace": 1, "num_key_value_heads": 4}, "granitemoe": {}, "phimoe": {},
            "jetmoe": {"kv_channels": 8}, "gpt_oss": {}, "llama4_text": {"interleave_moe_layer_step": 1},
            "glm4_moe": {"n_group": 2, "topk_group": 1, "first_k_dense_replace": 1}, "hunyuan_v1_moe": {}, "ernie4_5_moe": {},
            "minimax": {"block_size": 4}, "dots1": {"n_group": 2, "topk_group": 1, "first_k_dense_replace": 1, "n_shared_experts": 1},
            "flex_olmo": {}, "afmoe": {}, "mamba": {}, "mamba2": {"head_dim": 16, "num_heads": 4, "state_size": 8, "chunk_size": 4},
            "falcon_mamba": {}, "rwkv": {"attention_hidden_size": 32}, "recurrent_gemma": {"lru_width": 32, "num_hidden_layers": 3},
            "jamba": {"attn_layer_period": 2, "attn_layer_offset": 1, "expert_layer_period": 2, "expert_layer_offset": 1}, "bamba": {"mamba_n_heads": 4, "mamba_d_head": 16, "mamba_d_state": 8, "attn_layer_indices": [1]},
            "lfm2": {"full_attn_idxs": [1]}, "qwen3_next": {"layer_types": ["linear_attention", "full_attention"], "linear_num_key_heads": 2, "linear_num_value_heads": 4, "linear_key_head_dim": 8, "linear_value_head_dim": 8},
            "granitemoehybrid": {"mamba_n_heads": 4, "mamba_d_head": 16, "layer_types": ["mamba", "attention"]}, "falcon_h1": {"mamba_n_heads": 4, "mamba_d_head": 8, "mamba_d_ssm": 32},
        }
    )  # fmt: skip


def _masked():
    batch = _tokens(length=12)
    labels = torch.where(torch.rand(batch["input_ids"].shape) < 0.3, batch["input_ids"], -100)
    labels[:, 1] = batch["input_ids"][:, 1]
    return {**batch, "labels": labels}


def _sentence_classes():
    return {**_tokens(length=12), "labels": torch.randint(0, 3, (2,))}


def _token_classes():
    return {**_tokens(length=12), "labels": torch.randint(0, 3, (2, 12))}


def _spans():
    return {**_tokens(length=12), "start_positions": torch.tensor([1, 2]), "end_positions": torch.tensor([3, 4])}


@workload
def encoders():
    for kind, more in {
        "bert": {}, "roberta": {}, "distilbert": {}, "electra": {}, "albert": {}, "deberta-v2": {"relative_attention": True, "pos_att_type": ["p2c", "c2p"]},
        "deberta": {"relative_attention": True, "pos_att_type": ["p2c", "c2p"]}, "mpnet": {}, "xlm": {}, "funnel": {"block_sizes": [1, 1], "num_decoder_layers": 1, "d_head": 8},
        "longformer": {"attention_window": [4, 4]}, "big_bird": {"attention_type": "original_full"}, "nystromformer": {"num_landmarks": 12, "segment_means_seq_len": 12},
        "fnet": {}, "convbert": {}, "mobilebert": {"true_hidden_size": 32, "intra_bottleneck_size": 32}, "squeezebert": {}, "modernbert": {},
        "esm": {"mask_token_id": 5, "position_embedding_type": "rotary"}, "rembert": {"input_embedding_size": 16, "output_embedding_size": 16},
        "roformer": {}, "megatron-bert": {}, "xlm-roberta-xl": {}, "ernie": {}, "ibert": {}, "mra": {}, "yoso": {}, "camembert": {}, "nomic_bert": {}, "eurobert": {},
    }.items():  # fmt: skip
        with case(kind):
            model = hf.AutoModelForMaskedLM.from_config(_tiny(kind, **more))
            batch = _masked
            if kind == "fnet":

                def batch():
                    return {name: value for name, value in _masked().items() if name != "attention_mask"}

            _learn(model, batch, turns=3, evaluate=2)
    for kind in ("bert", "roberta", "distilbert", "deberta-v2", "xlnet", "modernbert", "electra", "gpt2", "llama"):
        with case(f"{kind} classifies"):
            config = _tiny(kind, num_labels=3, **({"d_head": 8} if kind == "xlnet" else {}))
            _learn(hf.AutoModelForSequenceClassification.from_config(config), _sentence_classes, turns=3, evaluate=2)
    for kind in ("bert", "albert", "xlnet", "longformer"):
        with case(f"{kind} tags"):
            config = _tiny(kind, num_labels=3, **({"d_head": 8} if kind == "xlnet" else {}))
            if kind == "longformer":
                config.attention_window = [4, 4]
            _learn(hf.AutoModelForTokenClassification.from_config(config), _token_classes, turns=3, evaluate=2)
    for kind in ("bert", "roberta", "splinter", "funnel"):
        with case(f"{kind} answers"):
            more = {"block_sizes": [1, 1], "num_decoder_layers": 1, "d_head": 8} if kind == "funnel" else {}
            _learn(hf.AutoModelForQuestionAnswering.from_config(_tiny(kind, **more)), _spans, turns=3, evaluate=2)
    with case("big bird in blocks"):
        config = _tiny(
            "big_bird", attention_type="block_sparse", block_size=4, num_random_blocks=2, max_position_embeddings=128
        )

        def long():
            tokens = torch.randint(3, 90, (1, 80))
            return {"input_ids": tokens, "attention_mask": torch.ones_like(tokens), "labels": tokens}

        _learn(hf.AutoModelForMaskedLM.from_config(config), long, turns=3, evaluate=2)
    with case("reformer"):
        config = _tiny(
            "reformer",
            is_decoder=False,
            attn_layers=["local", "lsh"],
            axial_pos_shape=[8, 8],
            axial_pos_embds_dim=[16, 16],
            local_attn_chunk_length=4,
            lsh_attn_chunk_length=4,
            feed_forward_size=64,
            num_hashes=2,
            num_buckets=4,
        )

        def long():
            tokens = torch.randint(3, 90, (1, 64))
            return {"input_ids": tokens, "attention_mask": torch.ones_like(tokens), "labels": tokens}

        _learn(hf.ReformerForMaskedLM(config), long, turns=3, evaluate=2)
    with case("layoutlm"):
        model = hf.LayoutLMForTokenClassification(_tiny("layoutlm", num_labels=3, max_2d_position_embeddings=128))
        _learn(model, lambda: {**_token_classes(), "bbox": torch.randint(0, 50, (2, 12, 4)).sort(-1).values}, turns=3)
    with case("tapas"):
        model = hf.TapasForQuestionAnswering(_tiny("tapas", type_vocab_sizes=[3, 8, 8, 2, 2, 4, 4]))

        def table():
            kinds = torch.stack([torch.randint(0, 2, (2, 12)) for _ in range(7)], -1)
            return {**_tokens(length=12), "token_type_ids": kinds, "labels": torch.randint(0, 2, (2, 12))}

        _learn(model, table, turns=3, evaluate=2)
    with case("canine"):
        _learn(
            hf.CanineForSequenceClassification(
                _tiny("canine", num_labels=3, local_transformer_stride=8, downsampling_rate=2)
            ),
            lambda: {**_tokens(length=16), "labels": torch.randint(0, 3, (2,))},
            turns=3,
            evaluate=2,
        )


def _translation():
    batch = _tokens(length=int(torch.randint(8, 14, ())))
    labels = torch.randint(3, 90, (2, 7))
    labels[-1, 5:] = -100
    return {**batch, "labels": labels}


@workload
def sequence_to_sequence():
    for kind, more in {
        "bart": {}, "t5": {}, "mt5": {}, "mbart": {}, "pegasus": {}, "blenderbot": {}, "blenderbot-small": {}, "marian": {},
        "led": {"attention_window": [4, 4], "max_encoder_position_embeddings": 64, "max_decoder_position_embeddings": 64}, "longt5": {"local_radius": 3},
        "m2m_100": {}, "prophetnet": {"hidden_size": 32, "ngram": 2, "num_buckets": 8, "relative_max_distance": 16}, "plbart": {}, "umt5": {},
        "switch_transformers": {"num_sparse_encoder_layers": 1, "num_sparse_decoder_layers": 1}, "nllb-moe": {"encoder_sparse_step": 1, "decoder_sparse_step": 1},
        "bigbird_pegasus": {"attention_type": "original_full"}, "pegasus_x": {"block_size": 4, "num_global_tokens": 2},
        "mvp": {},
    }.items():  # fmt: skip
        with case(kind):
            config = _tiny(kind, **more)
            config.decoder_start_token_id = 1
            model = _learn(hf.AutoModelForSeq2SeqLM.from_config(config), _translation, turns=3, evaluate=2)
            _generate(model, lambda: _to_device(_tokens(length=8)), num_beams=2, early_stopping=True)
    with case("encoder-decoder"):
        config = hf.EncoderDecoderConfig.from_encoder_decoder_configs(
            _tiny("bert"), _tiny("bert", is_decoder=True, add_cross_attention=True)
        )
        config.decoder_start_token_id, config.pad_token_id = 1, 0
        model = _learn(hf.EncoderDecoderModel(config), _translation, turns=3)
        model.generation_config.decoder_start_token_id, model.generation_config.pad_token_id = 1, 0
        _generate(model, lambda: _to_device(_tokens(length=8)), eos_token_id=2)


@workload
def generation():
    sizes = {"num_hidden_layers": 2, "vocab_size": 99}
    ways = {
        "greedy": {"do_sample": False},
        "sampled": {"do_sample": True, "temperature": 0.8, "top_k": 20, "top_p": 0.9},
        "sampled with thresholds": {"do_sample": True, "min_p": 0.05, "typical_p": 0.9, "epsilon_cutoff": 3e-4, "eta_cutoff": 3e-4},
        "beams": {"num_beams": 3, "early_stopping": True, "length_penalty": 0.8, "num_return_sequences": 2},
        "beams sampled": {"num_beams": 2, "do_sample": True, "top_k": 10},
        "penalties": {"repetition_penalty": 1.3, "no_repeat_ngram_size": 2, "encoder_repetition_penalty": 1.1},
        "constraints": {"bad_words_ids": [[5], [6, 7]], "suppress_tokens": [8, 9], "begin_suppress_tokens": [10], "forced_bos_token_id": None, "forced_eos_token_id": 2, "min_new_tokens": 3, "exponential_decay_length_penalty": (3, 1.2)},
        "bias": {"sequence_bias": {(11, 12): -5.0, (13,): 2.0}, "renormalize_logits": True, "remove_invalid_values": True},
        "with scores": {"output_scores": True, "output_logits": True, "return_dict_in_generate": True},
        "without cache": {"use_cache": False},
        "static cache": {"cache_implementation": "static"},
        "offloaded cache": {"cache_implementation": "offloaded"},
        "guided": {"guidance_scale": 1.5},
        "until": {"stop_strings": None, "max_time": 20.0},
        "prompt lookup": {"prompt_lookup_num_tokens": 3},
        "watermarked": {"watermarking_config": hf.WatermarkingConfig(greenlist_ratio=0.25), "do_sample": True},
    }  # fmt: skip
    for name, options in ways.items():
        with case(name):
            model = hf.AutoModelForCausalLM.from_config(_tiny("llama", **sizes)).to(DEVICE)
            alone = name in ("prompt lookup",)
            _generate(
                model,
                lambda alone=alone: (
                    {key: value[:1] for key, value in _left_padded().items()} if alone else _left_padded()
                ),
                turns=4,
                **options,
            )
    with case("assisted"):
        model, small = (
            hf.AutoModelForCausalLM.from_config(_tiny("llama", num_hidden_layers=n)).to(DEVICE) for n in (2, 1)
        )
        for _ in range(4):
            with step("generate"):
                model.generate(
                    torch.randint(3, 90, (1, 6), device=DEVICE), max_new_tokens=8, assistant_model=small.eval()
                )
    with case("streamed and stopped"):
        model = hf.AutoModelForCausalLM.from_config(_tiny("qwen2")).to(DEVICE)

        class Streamer(hf.generation.streamers.BaseStreamer):
            def __init__(self):
                self.seen = []

            def put(self, value):
                self.seen.extend(value.flatten().tolist())

            def end(self):
                self.seen.clear()

        class Stop(hf.StoppingCriteria):
            def __call__(self, input_ids, scores, **options):
                return input_ids[:, -1] > 80

        for _ in range(4):
            with step("generate"):
                model.generate(
                    torch.randint(3, 90, (1, 6), device=DEVICE),
                    max_new_tokens=8,
                    streamer=Streamer(),
                    stopping_criteria=hf.StoppingCriteriaList([Stop()]),
                    do_sample=True,
                )
    with case("chat with a cache kept"):
        model = hf.AutoModelForCausalLM.from_config(_tiny("llama")).to(DEVICE).eval()
        cache, said = hf.DynamicCache(config=model.config), torch.randint(3, 90, (1, 5), device=DEVICE)
        for _ in range(4):
            with step("turn"):
                said = model.generate(said, past_key_values=cache, max_new_tokens=5, do_sample=True)
                said = torch.cat([said, torch.randint(3, 90, (1, 4), device=DEVICE)], -1)
    with case("decoding by hand"):
        model = hf.AutoModelForCausalLM.from_config(_tiny("qwen3")).to(DEVICE).eval()
        with torch.no_grad():
            for _ in range(2):
                cache, token = None, torch.randint(3, 90, (1, 5), device=DEVICE)
                for _ in range(6):
                    with step("token"):
                        found = model(token, past_key_values=cache, use_cache=True)
                        cache, token = found.past_key_values, found.logits[:, -1:].argmax(-1)
    with case("constrained by a function"):
        model = hf.AutoModelForCausalLM.from_config(_tiny("gpt2")).to(DEVICE)
        _generate(model, turns=4, prefix_allowed_tokens_fn=lambda row, tokens: list(range(3, 40)), pad_token_id=0)


def _pictures(channels=3, size=32):
    return torch.randn(2, channels, size, size)


@workload
def vision():
    small = {"image_size": 32, "patch_size": 8, "num_labels": 3}
    for kind, more in {
        "vit": small, "deit": {"image_size": 32, "patch_size": 8, "num_labels": 3}, "beit": small, "dinov2": small, "hiera": {"image_size": [32, 32], "patch_size": [7, 7], "depths": [1, 1], "num_heads": [1, 2], "embed_dim": 8, "num_labels": 3, "num_query_pool": 1, "masked_unit_size": [2, 2]},
        "swin": {"image_size": 32, "patch_size": 2, "embed_dim": 8, "depths": [2, 1], "num_heads": [2, 2], "window_size": 4, "num_labels": 3},
        "swinv2": {"image_size": 32, "patch_size": 2, "embed_dim": 8, "depths": [2, 1], "num_heads": [2, 2], "window_size": 4, "num_labels": 3},
        "convnext": {"patch_size": 2, "depths": [1, 1, 1, 1], "hidden_sizes": [8, 8, 16, 16], "num_labels": 3}, "convnextv2": {"patch_size": 2, "depths": [1, 1, 1, 1], "hidden_sizes": [8, 8, 16, 16], "num_labels": 3},
        "resnet": {"embedding_size": 8, "hidden_sizes": [8, 16], "depths": [1, 1], "num_labels": 3, "layer_type": "basic"}, "regnet": {"embedding_size": 8, "hidden_sizes": [8, 16], "depths": [1, 1], "groups_width": 4, "num_labels": 3},
        "bit": {"embedding_size": 8, "hidden_sizes": [8, 16], "depths": [1, 1], "num_groups": 2, "num_labels": 3}, "mobilenet_v2": {"num_labels": 3, "depth_multiplier": 0.25, "image_size": 32}, "mobilenet_v1": {"num_labels": 3, "depth_multiplier": 0.25, "image_size": 32},
        "mobilevit": {"image_size": 32, "patch_size": 2, "num_labels": 3, "hidden_sizes": [16, 24, 32], "neck_hidden_sizes": [8, 8, 16, 16, 24, 24, 32]},
        "poolformer": {"hidden_sizes": [8, 8, 16, 16], "depths": [1, 1, 1, 1], "num_labels": 3}, "levit": {"image_size": 64, "patch_size": 16, "hidden_sizes": [16, 24, 32], "num_attention_heads": [2, 2, 2], "depths": [1, 1, 1], "key_dim": [8, 8, 8], "drop_path_rate": 0, "num_labels": 3},
        "efficientnet": {"image_size": 32, "num_labels": 3, "width_coefficient": 0.5, "depth_coefficient": 0.3, "hidden_dim": 640},
        "focalnet": {"image_size": 32, "patch_size": 2, "embed_dim": 8, "depths": [1, 1], "hidden_sizes": [8, 16], "focal_levels": [2, 2], "focal_windows": [3, 3], "num_labels": 3},
        "pvt": {"image_size": 32, "hidden_sizes": [8, 8, 16, 16], "depths": [1, 1, 1, 1], "num_attention_heads": [1, 1, 2, 2], "num_labels": 3}, "segformer": {"hidden_sizes": [8, 8, 16, 16], "depths": [1, 1, 1, 1], "num_attention_heads": [1, 1, 2, 2], "decoder_hidden_size": 16, "num_labels": 3},
        "siglip": {}, "ijepa": small,
    }.items():  # fmt: skip
        with case(kind):
            if kind == "siglip":
                config = hf.SiglipConfig(
                    text_config=_tiny("siglip_text_model").to_dict(),
                    vision_config=_tiny("siglip_vision_model", **small).to_dict(),
                    num_labels=3,
                )
            else:
                config = _tiny(kind, **more)
            side = 64 if kind == "levit" else 32
            made = {"deit": hf.DeiTForImageClassification, "levit": hf.LevitForImageClassification}.get(kind)
            model = made(config) if made else hf.AutoModelForImageClassification.from_config(config)
            _learn(
                model,
                lambda side=side: {"pixel_values": _pictures(size=side), "labels": torch.randint(0, 3, (2,))},
                turns=3,
                evaluate=2,
            )
    for kind, model in (
        ("vit_mae", lambda: hf.ViTMAEForPreTraining(_tiny("vit_mae", **small, decoder_hidden_size=32, decoder_num_hidden_layers=1, decoder_intermediate_size=32, decoder_num_attention_heads=4))),
        ("swin2sr", lambda: hf.Swin2SRForImageSuperResolution(_tiny("swin2sr", image_size=32, patch_size=1, embed_dim=16, depths=[1, 1], num_heads=[2, 2], window_size=4, upscale=2))),
        ("dpt", lambda: hf.DPTForDepthEstimation(_tiny("dpt", **small, num_hidden_layers=4, backbone_out_indices=[0, 1, 2, 3], neck_hidden_sizes=[8, 8, 16, 16], fusion_hidden_size=16))),
        ("glpn", lambda: hf.GLPNForDepthEstimation(_tiny("glpn", hidden_sizes=[8, 8, 16, 16], depths=[1, 1, 1, 1], num_attention_heads=[1, 1, 2, 2], decoder_hidden_size=16))),
    ):  # fmt: skip
        with case(kind):
            made = model().to(DEVICE)
            for _ in range(4):
                with step("train"):
                    found = made(pixel_values=_pictures().to(DEVICE))
                    loss = found.loss if found.get("loss") is not None else found[0].mean()
                    loss.backward()
    with case("segmentation"):
        config = _tiny(
            "segformer",
            hidden_sizes=[8, 8, 16, 16],
            depths=[1, 1, 1, 1],
            num_attention_heads=[1, 1, 2, 2],
            decoder_hidden_size=16,
            num_labels=3,
        )
        model = _learn(
            hf.SegformerForSemanticSegmentation(config),
            lambda: {"pixel_values": _pictures(), "labels": torch.randint(0, 3, (2, 32, 32))},
        )
        processor = hf.SegformerImageProcessor()
        for _ in range(4):
            with step("predict"), torch.no_grad():
                found = model(pixel_values=_pictures().to(DEVICE))
                processor.post_process_semantic_segmentation(found, target_sizes=[(40, 40), (48, 32)])
    with case("image processor on the device"):
        processor = hf.ViTImageProcessor(size={"height": 32, "width": 32})
        for turn in range(5):
            images = [torch.randint(0, 255, (3, 40 + turn, 50), dtype=torch.uint8) for _ in range(2)]
            with step("process"):
                processor(images, return_tensors="pt", device=DEVICE)
    with case("video"):
        model = hf.VideoMAEForVideoClassification(_tiny("videomae", **small, num_frames=4, tubelet_size=2))
        _learn(
            model, lambda: {"pixel_values": torch.randn(2, 4, 3, 32, 32), "labels": torch.randint(0, 3, (2,))}, turns=3
        )


def _objects(pixels=64, masks=False):
    def target():
        boxes = torch.rand(2, 4, device=DEVICE) * 0.3 + 0.2
        return {"class_labels": torch.randint(0, 3, (2,), device=DEVICE), "boxes": boxes}

    return {"pixel_values": torch.randn(2, 3, pixels, pixels, device=DEVICE), "labels": [target(), target()]}


@workload
def detection():
    backbone = hf.ResNetConfig(
        embedding_size=8,
        hidden_sizes=[8, 8, 16, 16],
        depths=[1, 1, 1, 1],
        layer_type="basic",
        out_features=["stage2", "stage3", "stage4"],
    )
    last = hf.ResNetConfig(
        embedding_size=8, hidden_sizes=[8, 8, 16, 16], depths=[1, 1, 1, 1], layer_type="basic", out_features=["stage4"]
    )
    sizes = {"d_model": 32, "num_queries": 5, "num_labels": 3, "auxiliary_loss": True}
    for kind, make, processor in (
        ("detr", lambda: hf.DetrForObjectDetection(_tiny("detr", use_timm_backbone=False, use_pretrained_backbone=False, backbone=None, backbone_config=last, **sizes)), hf.DetrImageProcessor),
        ("conditional detr", lambda: hf.ConditionalDetrForObjectDetection(_tiny("conditional_detr", use_timm_backbone=False, use_pretrained_backbone=False, backbone=None, backbone_config=last, **sizes)), hf.ConditionalDetrImageProcessor),
        ("deformable detr", lambda: hf.DeformableDetrForObjectDetection(_tiny("deformable_detr", use_timm_backbone=False, use_pretrained_backbone=False, backbone=None, backbone_config=backbone, with_box_refine=True, two_stage=True, two_stage_num_proposals=5, **sizes)), hf.DeformableDetrImageProcessor),
        ("yolos", lambda: hf.YolosForObjectDetection(_tiny("yolos", image_size=[64, 64], patch_size=16, num_detection_tokens=5, num_labels=3)), hf.YolosImageProcessor),
        ("rt detr", lambda: hf.RTDetrForObjectDetection(_tiny("rt_detr", backbone_config=hf.RTDetrResNetConfig(embedding_size=8, hidden_sizes=[8, 8, 16, 16], depths=[1, 1, 1, 1], layer_type="basic", out_features=["stage2", "stage3", "stage4"]), encoder_hidden_dim=32, encoder_in_channels=[8, 16, 16], decoder_in_channels=[32, 32, 32], encoder_ffn_dim=32, decoder_ffn_dim=32, num_queries=6, num_labels=3, num_denoising=4, decoder_n_points=2)), hf.RTDetrImageProcessor),
    ):  # fmt: skip
        with case(kind):
            model = make().to(DEVICE)
            optimizer = torch.optim.AdamW(model.parameters(), 1e-4)
            model.train()
            for _ in range(4):
                batch = _objects()
                with step("train"):
                    model(**batch).loss.backward()
                    optimizer.step()
                    optimizer.zero_grad()
            model.eval()
            processor_one = processor()
            for _ in range(4):
                batch = _objects()
                with step("predict"), torch.no_grad():
                    found = model(pixel_values=batch["pixel_values"])
                    processor_one.post_process_object_detection(found, threshold=0.1, target_sizes=[(64, 64), (80, 60)])
    swin = {
        "image_size": 64,
        "patch_size": 4,
        "embed_dim": 8,
        "depths": [1, 1, 1, 1],
        "num_heads": [1, 1, 2, 2],
        "window_size": 4,
        "out_features": ["stage1", "stage2", "stage3", "stage4"],
    }

    def masks():
        return {
            "pixel_values": torch.randn(2, 3, 64, 64, device=DEVICE),
            "mask_labels": [(torch.rand(2, 64, 64, device=DEVICE) > 0.5).float() for _ in range(2)],
            "class_labels": [torch.randint(0, 3, (2,), device=DEVICE) for _ in range(2)],
        }

    for kind, make, processor in (
        ("mask2former", lambda: hf.Mask2FormerForUniversalSegmentation(hf.Mask2FormerConfig(backbone_config=hf.SwinConfig(**swin), feature_size=32, mask_feature_size=32, hidden_dim=32, encoder_feedforward_dim=32, dim_feedforward=32, encoder_layers=1, decoder_layers=3, num_attention_heads=2, num_queries=5, num_labels=3, train_num_points=40)), hf.Mask2FormerImageProcessor),
        ("maskformer", lambda: hf.MaskFormerForInstanceSegmentation(hf.MaskFormerConfig(fpn_feature_size=32, mask_feature_size=32, backbone_config=hf.SwinConfig(**swin), decoder_config=hf.DetrConfig(d_model=32, decoder_layers=2, encoder_layers=1, decoder_attention_heads=4, encoder_attention_heads=4, decoder_ffn_dim=32, encoder_ffn_dim=32, num_queries=5), num_labels=3)), hf.MaskFormerImageProcessor),
    ):  # fmt: skip
        with case(kind):
            model = make().to(DEVICE).train()
            for _ in range(4):
                batch = masks()
                with step("train"):
                    model(**batch).loss.backward()
            model.eval()
            processor_one = processor()
            for _ in range(4):
                batch = masks()
                with step("predict"), torch.no_grad():
                    found = model(pixel_values=batch["pixel_values"])
                    processor_one.post_process_semantic_segmentation(found, target_sizes=[(64, 64)] * 2)
                    processor_one.post_process_instance_segmentation(found, target_sizes=[(64, 64)] * 2)
                    processor_one.post_process_panoptic_segmentation(found, target_sizes=[(64, 64)] * 2)


def _waves(seconds=0.2):
    length = int(16000 * (seconds + 0.05 * float(torch.rand(()))))
    waves = torch.randn(2, length)
    mask = torch.ones(2, length, dtype=torch.long)
    mask[-1, length - 400 :] = 0
    return {"input_values": waves, "attention_mask": mask}


@workload
def audio():
    features = {
        "conv_dim": [16, 16, 16],
        "conv_kernel": [10, 3, 3],
        "conv_stride": [10, 4, 4],
        "num_conv_pos_embeddings": 16,
        "num_conv_pos_embedding_groups": 2,
        "num_feat_extract_layers": 3,
        "mask_time_length": 2,
        "ctc_zero_infinity": True,
        "num_labels": 3,
        "classifier_proj_size": 16,
    }
    for kind, more in {"wav2vec2": {}, "hubert": {}, "wavlm": {"num_buckets": 16}, "unispeech": {"num_ctc_classes": 99}, "unispeech-sat": {}, "data2vec-audio": {"conv_pos_kernel_size": 3}, "sew": {}, "wav2vec2-conformer": {}}.items():  # fmt: skip
        with case(kind):
            model = hf.AutoModelForCTC.from_config(_tiny(kind, **features, **more))
            _learn(model, lambda: {**_waves(), "labels": torch.randint(3, 90, (2, 4))}, turns=3, evaluate=2)
    with case("wav2vec2 is trained beforehand"):
        from transformers.models.wav2vec2.modeling_wav2vec2 import _compute_mask_indices, _sample_negative_indices

        config = _tiny("wav2vec2", **features, codevector_dim=16, num_codevectors_per_group=8, proj_codevector_dim=16)
        model = hf.Wav2Vec2ForPreTraining(config).to(DEVICE).train()
        for _ in range(4):
            waves = torch.randn(2, 3200)
            length = int(model._get_feat_extract_output_lengths(3200))
            chosen = _compute_mask_indices((2, length), 0.3, 2)
            others = _sample_negative_indices((2, length), 4, chosen)
            with step("train"):
                model(
                    waves.to(DEVICE),
                    mask_time_indices=torch.tensor(chosen, device=DEVICE),
                    sampled_negative_indices=torch.tensor(others, device=DEVICE),
                ).loss.backward()
    with case("audio classification"):
        _learn(
            hf.AutoModelForAudioClassification.from_config(_tiny("wav2vec2", **features)),
            lambda: {**_waves(), "labels": torch.randint(0, 3, (2,))},
            turns=3,
        )
    with case("audio spectrogram transformer"):
        model = hf.ASTForAudioClassification(
            _tiny(
                "audio-spectrogram-transformer",
                max_length=40,
                num_mel_bins=16,
                frequency_stride=8,
                time_stride=8,
                num_labels=3,
            )
        )
        _learn(model, lambda: {"input_values": torch.randn(2, 40, 16), "labels": torch.randint(0, 3, (2,))}, turns=3)
    with case("whisper"):
        config = _tiny(
            "whisper", decoder_start_token_id=1, max_source_positions=1500, max_target_positions=64, num_mel_bins=80
        )
        model = hf.WhisperForConditionalGeneration(config)
        extractor = hf.WhisperFeatureExtractor()

        def heard():
            sound = extractor(
                [np.random.randn(8000).astype(np.float32) for _ in range(2)], sampling_rate=16000, return_tensors="pt"
            )
            return {"input_features": sound.input_features, "labels": torch.randint(3, 90, (2, 6))}

        _learn(model, heard, turns=3, evaluate=2)
        model.generation_config.no_timestamps_token_id = 97
        for _ in range(3):
            one = heard()["input_features"].to(DEVICE)
            with step("generate"):
                model.generate(one, max_new_tokens=5)
    with case("whisper feature extractor on the device"):
        extractor = hf.WhisperFeatureExtractor()
        for _ in range(4):
            with step("extract"):
                extractor(
                    np.random.randn(16000).astype(np.float32), sampling_rate=16000, return_tensors="pt", device=DEVICE
                )
    with case("speech to text"):
        model = hf.Speech2TextForConditionalGeneration(
            _tiny(
                "speech_to_text",
                num_conv_layers=2,
                conv_kernel_sizes=[5, 5],
                conv_channels=16,
                input_feat_per_channel=24,
                max_source_positions=200,
            )
        )
        _learn(
            model,
            lambda: {
                "input_features": torch.randn(2, 60, 24),
                "attention_mask": torch.ones(2, 60, dtype=torch.long),
                "labels": torch.randint(3, 90, (2, 6)),
            },
            turns=3,
        )
        _generate(model, lambda: {"input_features": torch.randn(2, 60, 24, device=DEVICE)}, num_beams=2)
    for kind, make in (
        ("encodec", lambda: hf.EncodecModel(hf.EncodecConfig(num_filters=4, hidden_size=16, codebook_size=32, codebook_dim=16, upsampling_ratios=[4, 2], num_lstm_layers=1, target_bandwidths=[60.0, 120.0]))),
        ("dac", lambda: hf.DacModel(hf.DacConfig(encoder_hidden_size=8, downsampling_ratios=[2, 4], decoder_hidden_size=16, n_codebooks=3, codebook_size=32, codebook_dim=8, upsampling_ratios=[4, 2]))),
    ):  # fmt: skip
        with case(kind):
            model = make().to(DEVICE).eval()
            for _ in range(4):
                waves = torch.randn(1, 1, 2400, device=DEVICE)
                with step("code"), torch.no_grad():
                    codes = model.encode(waves)
                    model(waves)
                    codes.audio_codes.cpu()
    with case("speecht5"):
        model = hf.SpeechT5ForTextToSpeech(
            _tiny(
                "speecht5",
                hidden_size=32,
                encoder_layers=1,
                decoder_layers=1,
                encoder_attention_heads=2,
                decoder_attention_heads=2,
                encoder_ffn_dim=32,
                decoder_ffn_dim=32,
                speech_decoder_prenet_units=16,
                speech_decoder_postnet_units=16,
                speech_decoder_postnet_layers=2,
                speaker_embedding_dim=16,
                max_text_positions=60,
            )
        ).to(DEVICE)
        for _ in range(3):
            with step("train"):
                model(
                    input_ids=torch.randint(3, 70, (2, 8), device=DEVICE),
                    attention_mask=torch.ones(2, 8, dtype=torch.long, device=DEVICE),
                    labels=torch.randn(2, 12, 80, device=DEVICE),
                    speaker_embeddings=torch.randn(2, 16, device=DEVICE),
                ).loss.backward()
        model.eval()
        for _ in range(3):
            with step("speak"):
                model.generate_speech(
                    torch.randint(3, 70, (1, 8), device=DEVICE), torch.randn(1, 16, device=DEVICE), maxlenratio=2.0
                )
    with case("vits"):
        model = (
            hf.VitsModel(
                _tiny(
                    "vits",
                    vocab_size=38,
                    num_attention_heads=2,
                    ffn_dim=32,
                    flow_size=16,
                    spectrogram_bins=9,
                    upsample_initial_channel=32,
                    upsample_rates=[2, 2],
                    upsample_kernel_sizes=[4, 4],
                    resblock_kernel_sizes=[3],
                    resblock_dilation_sizes=[[1, 3]],
                    posterior_encoder_num_wavenet_layers=2,
                    prior_encoder_num_wavenet_layers=2,
                    duration_predictor_filter_channels=16,
                    depth_separable_num_layers=1,
                    duration_predictor_num_flows=2,
                )
            )
            .to(DEVICE)
            .eval()
        )
        for turn in range(4):
            with step("speak"), torch.no_grad():
                model(input_ids=torch.randint(1, 37, (1, 8 + turn), device=DEVICE))


@workload
def several_senses():
    vit = {"image_size": 32, "patch_size": 8}
    with case("clip"):
        config = hf.CLIPConfig(
            text_config=_tiny("clip_text_model", eos_token_id=2).to_dict(),
            vision_config=_tiny("clip_vision_model", **vit).to_dict(),
            projection_dim=32,
        )
        model = hf.CLIPModel(config).to(DEVICE)
        for _ in range(4):
            with step("train"):
                model(**_to_device(_tokens()), pixel_values=_pictures().to(DEVICE), return_loss=True).loss.backward()
        model.eval()
        for _ in range(4):
            with step("rank"), torch.no_grad():
                model(**_to_device(_tokens()), pixel_values=_pictures().to(DEVICE)).logits_per_image.softmax(-1).cpu()
    with case("siglip trains"):
        config = hf.SiglipConfig(
            text_config=_tiny("siglip_text_model").to_dict(),
            vision_config=_tiny("siglip_vision_model", **vit).to_dict(),
        )
        model = hf.SiglipModel(config).to(DEVICE)
        for _ in range(4):
            with step("train"):
                model(
                    input_ids=_tokens(length=64)["input_ids"].to(DEVICE),
                    pixel_values=_pictures().to(DEVICE),
                    return_loss=True,
                ).loss.backward()
    with case("owlvit"):
        config = hf.OwlViTConfig(
            text_config=_tiny("owlvit_text_model").to_dict(),
            vision_config=_tiny("owlvit_vision_model", **vit).to_dict(),
            projection_dim=32,
        )
        model = hf.OwlViTForObjectDetection(config).to(DEVICE).eval()
        for _ in range(4):
            with step("find"), torch.no_grad():
                found = model(**_to_device(_tokens(rows=4)), pixel_values=_pictures().to(DEVICE))
                hf.OwlViTImageProcessor().post_process_object_detection(found, 0.1, target_sizes=[(32, 32)] * 2)
    with case("blip"):
        config = hf.BlipConfig(
            text_config=_tiny("blip_text_model", encoder_hidden_size=32, bos_token_id=1, sep_token_id=2).to_dict(),
            vision_config=_tiny("blip_vision_model", **vit).to_dict(),
            projection_dim=32,
        )
        model = hf.BlipForConditionalGeneration(config)
        _learn(model, lambda: {**_language(), "pixel_values": _pictures()}, turns=3)
        _generate(model, lambda: {"pixel_values": _pictures().to(DEVICE)})
    with case("llava"):
        config = hf.LlavaConfig(
            vision_config=_tiny("clip_vision_model", **vit),
            text_config=_tiny("llama", vocab_size=99),
            image_token_index=98,
            vision_feature_layer=-1,
        )
        model = hf.LlavaForConditionalGeneration(config)

        def seen():
            tokens = torch.cat([torch.full((2, 16), 98), torch.randint(3, 90, (2, 6))], 1)
            return {
                "input_ids": tokens,
                "attention_mask": torch.ones_like(tokens),
                "pixel_values": _pictures(),
                "labels": tokens.masked_fill(tokens == 98, -100),
            }

        _learn(model, seen, turns=3)
        _generate(model, lambda: {name: value for name, value in _to_device(seen()).items() if name != "labels"})
    with case("qwen2 vl"):
        config = hf.Qwen2VLConfig(
            text_config={**_tiny("qwen2_vl_text").to_dict(), "rope_parameters": {"rope_type": "default", "mrope_section": [1, 1, 2], "rope_theta": 10000.0}},
            vision_config={"depth": 1, "embed_dim": 16, "hidden_size": 32, "num_heads": 2, "patch_size": 4, "mlp_ratio": 2, "spatial_merge_size": 2, "temporal_patch_size": 2},
            image_token_id=98, video_token_id=97, vision_start_token_id=96, vision_end_token_id=95,
        )  # fmt: skip
        model = hf.Qwen2VLForConditionalGeneration(config)

        def seen():
            tokens = torch.cat([torch.tensor([[96] + [98] * 4 + [95]]), torch.randint(3, 90, (1, 6))], 1).repeat(2, 1)
            return {
                "input_ids": tokens,
                "attention_mask": torch.ones_like(tokens),
                "labels": tokens,
                "pixel_values": torch.randn(32, 96),
                "image_grid_thw": torch.tensor([[1, 4, 4]] * 2),
                "mm_token_type_ids": (tokens == 98).long(),
            }

        _learn(model, seen, turns=3)
        _generate(model, lambda: {name: value for name, value in _to_device(seen()).items() if name != "labels"})
    with case("vilt"):
        model = hf.ViltForQuestionAnswering(_tiny("vilt", **vit, num_labels=3, max_image_length=-1))
        _learn(
            model,
            lambda: {
                **_tokens(),
                "pixel_values": _pictures(),
                "pixel_mask": torch.ones(2, 32, 32),
                "labels": torch.rand(2, 3),
            },
            turns=3,
        )
    with case("git"):
        config = hf.GitConfig(
            vision_config=_tiny("git_vision_model", **vit).to_dict(),
            **{
                k: v
                for k, v in SMALL.items()
                if k
                in (
                    "hidden_size",
                    "num_hidden_layers",
                    "num_attention_heads",
                    "intermediate_size",
                    "vocab_size",
                    "max_position_embeddings",
                    "pad_token_id",
                    "bos_token_id",
                    "eos_token_id",
                )
            },
        )
        model = hf.GitForCausalLM(config)
        _learn(model, lambda: {**_language(), "pixel_values": _pictures()}, turns=3)
        _generate(
            model,
            lambda: {"input_ids": torch.randint(3, 90, (2, 4), device=DEVICE), "pixel_values": _pictures().to(DEVICE)},
        )
    with case("image captions"):
        config = hf.VisionEncoderDecoderConfig.from_encoder_decoder_configs(
            _tiny("vit", **vit), _tiny("gpt2", is_decoder=True, add_cross_attention=True)
        )
        config.decoder_start_token_id, config.pad_token_id = 1, 0
        model = hf.VisionEncoderDecoderModel(config)
        _learn(model, lambda: {"pixel_values": _pictures(), "labels": torch.randint(3, 90, (2, 7))}, turns=3)
        _generate(
            model,
            lambda: {"pixel_values": _pictures().to(DEVICE)},
            decoder_start_token_id=1,
            pad_token_id=0,
            eos_token_id=2,
            num_beams=2,
        )
    with case("clipseg"):
        config = hf.CLIPSegConfig(
            text_config=_tiny("clipseg_text_model").to_dict(),
            vision_config=_tiny("clipseg_vision_model", **vit).to_dict(),
            projection_dim=32,
            extract_layers=[0, 1],
            reduce_dim=16,
            decoder_num_attention_heads=2,
            decoder_intermediate_size=32,
        )
        model = hf.CLIPSegForImageSegmentation(config)
        _learn(model, lambda: {**_tokens(), "pixel_values": _pictures(), "labels": torch.rand(2, 32, 32)}, turns=3)
    with case("sam"):
        config = hf.SamConfig(
            vision_config=dict(
                hidden_size=16,
                output_channels=16,
                num_hidden_layers=2,
                num_attention_heads=2,
                image_size=64,
                patch_size=16,
                mlp_dim=32,
                window_size=2,
                global_attn_indexes=[1],
                num_pos_feats=8,
            ),
            prompt_encoder_config=dict(
                hidden_size=16, image_size=64, patch_size=16, mask_input_channels=4, image_embedding_size=4
            ),
            mask_decoder_config=dict(
                hidden_size=16, mlp_dim=32, num_hidden_layers=1, num_attention_heads=2, iou_head_hidden_dim=16
            ),
        )
        model = hf.SamModel(config).to(DEVICE).eval()
        for _ in range(4):
            with step("prompt"), torch.no_grad():
                found = model(
                    pixel_values=torch.randn(1, 3, 64, 64, device=DEVICE),
                    input_points=torch.rand(1, 1, 2, 2, device=DEVICE) * 64,
                    input_labels=torch.ones(1, 1, 2, dtype=torch.long, device=DEVICE),
                )
                hf.SamImageProcessor(pad_size={"height": 64, "width": 64}).post_process_masks(
                    found.pred_masks.cpu(), [[60, 50]], [[64, 54]]
                )


@workload
def series_and_decisions():
    for kind, more in {"time_series_transformer": {}, "informer": {}, "autoformer": {"label_length": 4}}.items():
        with case(kind):
            made = {
                "time_series_transformer": hf.TimeSeriesTransformerForPrediction,
                "informer": hf.InformerForPrediction,
                "autoformer": hf.AutoformerForPrediction,
            }[kind]
            config = _tiny(
                kind,
                prediction_length=4,
                context_length=8,
                lags_sequence=[1, 2],
                num_time_features=2,
                num_static_categorical_features=1,
                cardinality=[3],
                embedding_dimension=[2],
                **more,
            )
            model = made(config)

            def batch(future=True):
                found = {
                    "past_values": torch.rand(2, 10) * 5,
                    "past_time_features": torch.rand(2, 10, 2),
                    "past_observed_mask": torch.ones(2, 10),
                    "static_categorical_features": torch.randint(0, 3, (2, 1)),
                    "future_time_features": torch.rand(2, 4, 2),
                }
                return {**found, "future_values": torch.rand(2, 4) * 5} if future else found

            _learn(model, batch, turns=4)
            for _ in range(3):
                one = _to_device(batch(False))
                with step("generate"):
                    model.generate(**one)
    with case("patchtst"):
        model = hf.PatchTSTForPrediction(
            _tiny(
                "patchtst", num_input_channels=2, context_length=32, patch_length=8, patch_stride=8, prediction_length=4
            )
        )
        _learn(model, lambda: {"past_values": torch.randn(2, 32, 2), "future_values": torch.randn(2, 4, 2)})
    with case("patchtst is trained beforehand"):
        model = hf.PatchTSTForPretraining(
            _tiny(
                "patchtst", num_input_channels=2, context_length=32, patch_length=8, patch_stride=8, do_mask_input=True
            )
        )
        _learn(model, lambda: {"past_values": torch.randn(2, 32, 2)})
    with case("patchtsmixer"):
        model = hf.PatchTSMixerForPrediction(
            _tiny(
                "patchtsmixer",
                num_input_channels=2,
                context_length=32,
                patch_length=8,
                patch_stride=8,
                prediction_length=4,
                d_model=16,
            )
        )
        _learn(model, lambda: {"past_values": torch.randn(2, 32, 2), "future_values": torch.randn(2, 4, 2)})
    with case("decision transformer"):
        model = hf.DecisionTransformerModel(_tiny("decision_transformer", state_dim=5, act_dim=3, max_ep_len=20)).to(
            DEVICE
        )
        for _ in range(5):
            with step("train"):
                found = model(
                    states=torch.randn(2, 6, 5, device=DEVICE),
                    actions=torch.randn(2, 6, 3, device=DEVICE),
                    rewards=torch.randn(2, 6, 1, device=DEVICE),
                    returns_to_go=torch.randn(2, 6, 1, device=DEVICE),
                    timesteps=torch.arange(6, device=DEVICE).repeat(2, 1),
                    attention_mask=torch.ones(2, 6, device=DEVICE),
                )
                found.action_preds.pow(2).mean().backward()
    with case("timesfm"):
        model = (
            hf.TimesFmModelForPrediction(_tiny("timesfm", patch_length=8, context_length=32, horizon_length=8))
            .to(DEVICE)
            .eval()
        )
        for turn in range(4):
            with step("predict"), torch.no_grad():
                model(past_values=[torch.rand(20 + turn, device=DEVICE), torch.rand(30, device=DEVICE)], freq=[0, 0])


class Sentences(torch.utils.data.Dataset):
    def __init__(self, make, n=24):
        self.rows = [{name: value[0] for name, value in make().items()} for _ in range(n)]

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, number):
        return self.rows[number]


@workload
def trainers():
    def classes():
        return {
            "input_ids": torch.randint(3, 90, (1, 10)),
            "attention_mask": torch.ones(1, 10, dtype=torch.long),
            "labels": torch.randint(0, 3, (1,)),
        }

    def accuracy(prediction):
        return {"accuracy": float((prediction.predictions.argmax(-1) == prediction.label_ids).mean())}

    for name, options in {
        "plain": {},
        "evaluated": {"eval_strategy": "epoch", "save_strategy": "epoch", "load_best_model_at_end": True, "metric_for_best_model": "accuracy"},
        "accumulated": {"gradient_accumulation_steps": 2, "max_grad_norm": 0.5, "lr_scheduler_type": "cosine", "warmup_steps": 2},
        "bf16": {"bf16": True, "optim": "adafactor", "label_smoothing_factor": 0.1},
        "checkpointed": {"gradient_checkpointing": True, "neftune_noise_alpha": 5.0},
    }.items():  # fmt: skip
        with case(name), tempfile.TemporaryDirectory() as folder:
            model = hf.AutoModelForSequenceClassification.from_config(_tiny("bert", num_labels=3))
            arguments = hf.TrainingArguments(
                folder,
                per_device_train_batch_size=4,
                num_train_epochs=2,
                logging_steps=2,
                report_to=[],
                **{"save_strategy": "no", **options},
            )
            trainer = hf.Trainer(
                model,
                arguments,
                train_dataset=Sentences(classes),
                eval_dataset=Sentences(classes, 10),
                compute_metrics=accuracy,
            )
            trainer.train()
            trainer.evaluate()
            trainer.predict(Sentences(classes, 6))
    with case("sequence to sequence"), tempfile.TemporaryDirectory() as folder:

        def translation():
            return {
                "input_ids": torch.randint(3, 90, (1, 8)),
                "attention_mask": torch.ones(1, 8, dtype=torch.long),
                "labels": torch.randint(3, 90, (1, 6)),
            }

        config = _tiny("t5")
        config.decoder_start_token_id = 1
        model = hf.AutoModelForSeq2SeqLM.from_config(config)
        arguments = hf.Seq2SeqTrainingArguments(
            folder,
            per_device_train_batch_size=4,
            per_device_eval_batch_size=4,
            num_train_epochs=2,
            predict_with_generate=True,
            generation_max_length=6,
            report_to=[],
            save_strategy="no",
        )
        trainer = hf.Seq2SeqTrainer(
            model, arguments, train_dataset=Sentences(translation, 12), eval_dataset=Sentences(translation, 8)
        )
        trainer.train()
        trainer.evaluate()
    with case("schedules"):
        net = torch.nn.Linear(4, 4).to(DEVICE)
        for make in (
            hf.get_linear_schedule_with_warmup,
            hf.get_cosine_schedule_with_warmup,
            hf.get_polynomial_decay_schedule_with_warmup,
        ):
            optimizer = hf.Adafactor(net.parameters(), lr=1e-3, relative_step=False, scale_parameter=True)
            schedule = make(optimizer, 2, 8)
            for _ in range(5):
                with step("train"):
                    net(torch.randn(2, 4, device=DEVICE)).sum().backward()
                    optimizer.step()
                    schedule.step()
                    optimizer.zero_grad()
