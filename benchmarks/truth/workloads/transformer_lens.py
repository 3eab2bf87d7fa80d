"""transformer-lens: small models run with caches, hooks and patches, as in work on what is inside them."""

from __future__ import annotations

import torch
from transformer_lens import (
    ActivationCache,
    FactoredMatrix,
    HookedTransformer,
    HookedTransformerConfig,
    evals,
    head_detector,
    patching,
    utils,
)  # fmt: skip
from transformer_lens.train import HookedTransformerTrainConfig
from transformer_lens.train import train as fit

from truth import Package, bound, case, step, workload
from truth.drive import DEVICE

PACKAGE = Package("transformer-lens==2.16.1", extra=("accelerate", "transformers<5", "einops", "fancy_einsum", "jaxtyping", "pandas", "rich", "better-abc", "beartype", "datasets", "typeguard", "wandb"), alone=True, seconds=400)  # fmt: skip


def _model(**more):
    options = {
        "n_layers": 2, "d_model": 32, "n_ctx": 32, "d_head": 8, "n_heads": 4, "d_mlp": 64, "d_vocab": 50,
        "act_fn": "gelu", "device": DEVICE, "seed": 0, "default_prepend_bos": False,
    }  # fmt: skip
    return HookedTransformer(HookedTransformerConfig(**{**options, **more}))


def _words():
    """A tokenizer of as many words as the model has; without one it does not generate."""
    from tokenizers import Tokenizer, models
    from transformers import PreTrainedTokenizerFast

    words = Tokenizer(models.WordLevel({f"w{number}": number for number in range(50)}, unk_token="w0"))
    return PreTrainedTokenizerFast(tokenizer_object=words, bos_token="w1", eos_token="w2", pad_token="w3")


def _tokens(rows=2, length=10):
    return torch.randint(1, 50, (rows, length), device=DEVICE)


KINDS = {
    "plain": {},
    "shortformer": {"positional_embedding_type": "shortformer"},
    "rotary": {"positional_embedding_type": "rotary", "rotary_dim": 8},
    "rms": {"normalization_type": "RMS", "gated_mlp": True, "act_fn": "silu"},
    "attention alone": {"attn_only": True, "d_mlp": None, "act_fn": None},
    "grouped": {"n_key_value_heads": 2, "positional_embedding_type": "rotary", "rotary_dim": 8},
    "local": {"use_local_attn": True, "window_size": 4, "attn_types": ["global", "local"]},
    "parallel": {"parallel_attn_mlp": True},
    "split": {"use_split_qkv_input": True, "use_attn_result": True, "use_hook_mlp_in": True},
    "experts": {"num_experts": 4, "experts_per_token": 2, "gated_mlp": True, "act_fn": "silu"},
    "solu": {"act_fn": "solu_ln"},
    "alibi": {"positional_embedding_type": "alibi"},
    "bidirectional": {"attention_dir": "bidirectional"},
}


@workload
def running():
    for name, options in KINDS.items():
        with case(name):
            model = _model(**options)
            optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
            for _ in range(4):
                tokens = _tokens()
                with step("train"):
                    model(tokens, return_type="loss").backward()
                    optimizer.step()
                    optimizer.zero_grad()
            for _ in range(4):
                with step("cache"), torch.no_grad():
                    _logits, cache = model.run_with_cache(_tokens())
                    cache["pattern", 0]
    for name, options in (("greedy", {"do_sample": False}), ("sampled", {"top_k": 5, "temperature": 0.7}),
                          ("nucleus", {"top_p": 0.9}), ("without cache", {"use_past_kv_cache": False}),
                          ("penalised", {"freq_penalty": 1.0})):  # fmt: skip
        with case(f"generate {name}"):
            model = _model()
            model.tokenizer = _words()
            bound(model, "decode")
            model.generate(_tokens(), max_new_tokens=10, stop_at_eos=False, verbose=False, **options)
    with case("own training loop"):
        model = _model()
        bound(model, "train")
        data = [{"tokens": torch.randint(1, 50, (10,))} for _ in range(16)]
        fit(model, HookedTransformerTrainConfig(num_epochs=2, batch_size=4, device=DEVICE, print_every=2, warmup_steps=2,
                                                max_grad_norm=1.0), data)  # fmt: skip


@workload
def looking():
    with case("attribution"):
        model = _model()
        for _ in range(5):
            tokens = _tokens()
            with step("cache"), torch.no_grad():
                logits, cache = model.run_with_cache(tokens)
                parts, _labels = cache.decompose_resid(return_labels=True)
                cache.apply_ln_to_stack(parts, layer=-1)
                cache.accumulated_resid(incl_mid=True)
                heads = cache.stack_head_results(layer=-1, pos_slice=-1)
                cache.logit_attrs(heads, tokens=tokens[:, 0], pos_slice=-1)
                cache.stack_neuron_results(layer=-1, pos_slice=-1)
                cache.get_full_resid_decomposition(expand_neurons=False)
    with case("cache on the host"):
        model = _model()
        for _ in range(5):
            with step("cache"), torch.no_grad():
                _, cache = model.run_with_cache(_tokens(), names_filter=lambda name: "resid" in name, device="cpu")
                ActivationCache({name: one for name, one in cache.items()}, model).accumulated_resid()
    with case("hooks"):
        model = _model()

        def ablate(value, hook):
            value[:, :, 1] = 0
            return value

        for _ in range(6):
            with step("hooked"), torch.no_grad():
                model.run_with_hooks(_tokens(), fwd_hooks=[("blocks.0.attn.hook_v", ablate)], return_type="loss")
    with case("gradients"):
        model = _model()
        kept = []
        for _ in range(5):
            with (
                step("backward"),
                model.hooks(bwd_hooks=[("blocks.0.hook_resid_pre", lambda grad, hook: kept.append(grad))]),
            ):
                model(_tokens(), return_type="loss").backward()
    for kind in ("get_act_patch_resid_pre", "get_act_patch_attn_head_out_all_pos", "get_act_patch_mlp_out"):
        with case(kind):
            model = _model()
            _, cache = model.run_with_cache(_tokens(1, 5))
            bound(model, "patch")
            getattr(patching, kind)(model, _tokens(1, 5), cache, lambda logits: logits[0, -1, 3] - logits[0, -1, 4])
    with case("factored"):
        for _ in range(5):
            with step("algebra"):
                one = FactoredMatrix(torch.randn(8, 4, device=DEVICE), torch.randn(4, 8, device=DEVICE))
                one.svd()
                one.eigenvalues
                one.norm()
                (one @ torch.randn(8, 8, device=DEVICE)).AB
    with case("heads"):
        model = _model()
        for _ in range(4):
            with step("detect"), torch.no_grad():
                _, cache = model.run_with_cache(_tokens(1), remove_batch_dim=True)
                for pattern in ("previous_token_head", "duplicate_token_head"):
                    build = getattr(head_detector, f"get_{pattern}_detection_pattern")
                    found = build(_tokens(1).cpu()).to(DEVICE)
                    head_detector.compute_head_attention_similarity_score(
                        cache["pattern", 0][0],
                        found,
                        exclude_bos=False,
                        exclude_current_token=False,
                        error_measure="mul",
                    )
    with case("sampling"):
        for _ in range(6):
            logits = torch.randn(2, 50, device=DEVICE)
            with step("sample"):
                utils.sample_logits(logits, top_k=5)
                utils.sample_logits(logits, top_p=0.8, freq_penalty=1.0, tokens=_tokens())
                utils.lm_cross_entropy_loss(torch.randn(2, 10, 50, device=DEVICE), _tokens())
                utils.lm_accuracy(torch.randn(2, 10, 50, device=DEVICE), _tokens())
    with case("evaluation"):
        model = _model()
        data = torch.utils.data.DataLoader([{"tokens": torch.randint(1, 50, (12,))} for _ in range(8)], 2)
        bound(model, "eval")
        evals.evaluate_on_dataset(model, data, truncate=4)
    for name, options in (("plain", {}), ("rms", KINDS["rms"]), ("grouped", KINDS["grouped"])):
        with case(f"weights {name}"):
            model = _model(**options)
            state = model.state_dict()
            for _ in range(3):
                with step("process"):
                    model.load_and_process_state_dict(dict(state), fold_value_biases=name == "plain")
