"""adapters: language models with adapters of each method added, trained alone, merged, composed, and generating."""

from __future__ import annotations

import copy
import tempfile

import adapters
import adapters.composition as composition
import torch
import transformers as hf

from truth import Package, bound, case, step, workload
from truth.drive import DEVICE

PACKAGE = Package("adapters==1.3.0", extra=("accelerate",), seconds=500)
SIZES = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64, "vocab_size": 99}
METHODS = {
    "bottleneck": lambda: adapters.SeqBnConfig(reduction_factor=4),
    "double bottleneck": lambda: adapters.DoubleSeqBnConfig(reduction_factor=4),
    "parallel bottleneck": lambda: adapters.ParBnConfig(reduction_factor=4),
    "invertible": lambda: adapters.SeqBnInvConfig(reduction_factor=4),
    "compacter": lambda: adapters.CompacterConfig(reduction_factor=4, phm_dim=2),
    "prefix": lambda: adapters.PrefixTuningConfig(prefix_length=4, bottleneck_size=16),
    "prefix flat": lambda: adapters.PrefixTuningConfig(prefix_length=4, flat=True),
    "prompt": lambda: adapters.PromptTuningConfig(prompt_length=4),
    "lora": lambda: adapters.LoRAConfig(r=4, alpha=8),
    "lora gated": lambda: adapters.LoRAConfig(r=4, alpha=8, use_gating=True, attn_matrices=["q", "k", "v"]),
    "scaled": adapters.IA3Config,
    "vector": adapters.VeraConfig,
    "reft": lambda: adapters.LoReftConfig(r=2, layers=[0, 1]),
    "noreft": lambda: adapters.NoReftConfig(r=2, layers=[0], prefix_positions=2, suffix_positions=1),
    "direft": lambda: adapters.DiReftConfig(r=2, layers=[1]),
    "unipelt": lambda: adapters.UniPELTConfig(
        adapters.PrefixTuningConfig(prefix_length=4, bottleneck_size=16),
        adapters.SeqBnConfig(reduction_factor=4),
        adapters.LoRAConfig(r=4, use_gating=True),
    ),
    "mix and match": lambda: adapters.MAMConfig(
        adapters.PrefixTuningConfig(prefix_length=4, bottleneck_size=16), adapters.ParBnConfig(reduction_factor=4)
    ),
}


def _bert():
    return adapters.BertAdapterModel(hf.BertConfig(**SIZES))


def _tokens(rows=2, length=10):
    tokens = torch.randint(3, 99, (rows, length))
    mask = torch.ones_like(tokens)
    mask[-1, length - int(torch.randint(1, 4, ())) :] = 0
    return {"input_ids": (tokens * mask).to(DEVICE), "attention_mask": mask.to(DEVICE)}


def _learn(model, labels, turns=4, batch=_tokens):
    model.to(DEVICE).train()
    optimizer = torch.optim.AdamW([one for one in model.parameters() if one.requires_grad], 1e-3)
    for _ in range(turns):
        given = batch()
        with step("train"):
            model(**given, labels=labels(given)).loss.backward()
            optimizer.step()
            optimizer.zero_grad()
    model.eval()
    for _ in range(3):
        given = batch()
        with step("eval"), torch.no_grad():
            model(**given)


def _classes(given):
    return torch.randint(0, 3, (len(given["input_ids"]),), device=DEVICE)


@workload
def methods():
    for name, config in METHODS.items():
        with case(f"bert {name}"):
            model = _bert()
            model.add_adapter("task", config=config())
            model.add_classification_head("task", num_labels=3)
            model.train_adapter("task")
            _learn(model, _classes)
            if name in ("lora", "scaled"):
                model.merge_adapter("task")
                model.reset_adapter()
            with tempfile.TemporaryDirectory() as folder:
                model.save_adapter(folder, "task")
                model.delete_adapter("task")
                model.load_adapter(folder)


@workload
def architectures():
    sizes = {"decoder_layers": 2, "encoder_layers": 2, "d_model": 32, "encoder_attention_heads": 4, "max_position_embeddings": 64,
             "decoder_attention_heads": 4, "encoder_ffn_dim": 64, "decoder_ffn_dim": 64, "vocab_size": 99}  # fmt: skip
    grouped = {**SIZES, "num_key_value_heads": 2}
    made = {
        "albert": (adapters.AlbertAdapterModel, hf.AlbertConfig(**SIZES, embedding_size=16)),
        "roberta": (adapters.RobertaAdapterModel, hf.RobertaConfig(**SIZES)),
        "xlm-roberta": (adapters.XLMRobertaAdapterModel, hf.XLMRobertaConfig(**SIZES)),
        "xmod": (adapters.XmodAdapterModel, hf.XmodConfig(**SIZES, default_language="en_XX")),
        "electra": (adapters.ElectraAdapterModel, hf.ElectraConfig(**SIZES, embedding_size=16)),
        "deberta": (adapters.DebertaAdapterModel, hf.DebertaConfig(**SIZES)),
        "deberta-v2": (adapters.DebertaV2AdapterModel, hf.DebertaV2Config(**SIZES)),
        "distilbert": (adapters.DistilBertAdapterModel, hf.DistilBertConfig(dim=32, n_layers=2, n_heads=4,
                       hidden_dim=64, vocab_size=99)),
        "gpt2": (adapters.GPT2AdapterModel, hf.GPT2Config(n_embd=32, n_layer=2, n_head=4, vocab_size=99,
                 pad_token_id=0)),
        "gptj": (adapters.GPTJAdapterModel, hf.GPTJConfig(n_embd=32, n_layer=2, n_head=4, vocab_size=99, rotary_dim=8,
                 pad_token_id=0)),
        "llama": (adapters.LlamaAdapterModel, hf.LlamaConfig(**grouped, pad_token_id=0)),
        "mistral": (adapters.MistralAdapterModel, hf.MistralConfig(**grouped, pad_token_id=0)),
        "bart": (adapters.BartAdapterModel, hf.BartConfig(**sizes)),
        "mbart": (adapters.MBartAdapterModel, hf.MBartConfig(**sizes)),
        "t5": (adapters.T5AdapterModel, hf.T5Config(d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4,
               vocab_size=99, decoder_start_token_id=0, eos_token_id=2)),
    }  # fmt: skip

    def tokens():
        given = _tokens()
        given["input_ids"][:, -1] = 2  # where a classifier of a decoder looks
        return given

    for name, (kind, config) in made.items():
        for method in ("bottleneck", "lora"):
            with case(f"{name} {method}"):
                model = kind(copy.deepcopy(config))  # heads are entered in it
                model.add_adapter("task", config=METHODS[method]())
                model.add_classification_head("task", num_labels=3)
                model.train_adapter("task")
                _learn(model, _classes, turns=3, batch=tokens)


@workload
def composing():
    def several(names="abc", config="bottleneck"):
        model = _bert()
        for name in names:
            model.add_adapter(name, config=METHODS[config]())
        return model

    for name, make in (
        ("stack", lambda: composition.Stack("a", "b")), ("parallel", lambda: composition.Parallel("a", "b")),
        ("split", lambda: composition.Split("a", "b", splits=5)), ("average", lambda: composition.Average("a", "b")),
        ("batch split", lambda: composition.BatchSplit("a", "b", batch_sizes=[1, 1])),
    ):  # fmt: skip
        with case(name):
            model = several().to(DEVICE).eval()
            model.active_adapters = make()
            for _ in range(5):
                given = _tokens()
                with step("eval"), torch.no_grad():
                    model(**given)
    with case("fusion"):
        model = several()
        fused = composition.Fuse("a", "b", "c")
        model.add_adapter_fusion(fused)
        model.add_classification_head("head", num_labels=3)
        model.train_adapter_fusion(fused)
        _learn(model, _classes)
    with case("averaged weights"):
        model = several(config="lora").to(DEVICE)
        model.average_adapter("mean", ["a", "b"], weights=[0.3, 0.7])
        model.set_active_adapters("mean")
        for _ in range(4):
            given = _tokens()
            with step("eval"), torch.no_grad():
                model(**given)


@workload
def predicting():
    def numbers(high, *shape):
        return lambda given: torch.randint(0, high, shape, device=DEVICE)

    for name, add, labels in (
        ("tagging", lambda model: model.add_tagging_head("task", num_labels=4), numbers(4, 2, 10)),
        ("masked", lambda model: model.add_masked_lm_head("task"), numbers(99, 2, 10)),
        ("causal", lambda model: model.add_causal_lm_head("task"), numbers(99, 2, 10)),
        ("multilabel", lambda model: model.add_classification_head("task", num_labels=3, multilabel=True),
         lambda given: torch.rand(2, 3, device=DEVICE).round()),
    ):  # fmt: skip
        with case(name):
            model = _bert()
            model.add_adapter("task", config=METHODS["bottleneck"]())
            add(model)
            model.train_adapter("task")
            _learn(model, labels)
    for name, kind, config in (
        ("gpt2", adapters.GPT2AdapterModel, hf.GPT2Config(n_embd=32, n_layer=2, n_head=4, vocab_size=99,
                                                          pad_token_id=0, eos_token_id=2)),
        ("llama", adapters.LlamaAdapterModel, hf.LlamaConfig(**SIZES, pad_token_id=0)),
    ):  # fmt: skip
        for options in ({"do_sample": False}, {"do_sample": True, "top_k": 5}, {"num_beams": 2, "do_sample": False}):
            with case(f"generate {name} {options}"):
                model = kind(copy.deepcopy(config))
                model.add_adapter("task", config=METHODS["prefix"]())
                model.add_causal_lm_head("task")
                model.set_active_adapters("task")
                model.to(DEVICE).eval()
                bound(model, "decode")
                model.generate(**_tokens(), max_new_tokens=8, **options)
    with case("trainer"), tempfile.TemporaryDirectory() as folder:
        model = _bert()
        model.add_adapter("task", config=METHODS["lora"]())
        model.add_classification_head("task", num_labels=3)
        model.train_adapter("task")
        data = [{"input_ids": torch.randint(3, 99, (9,)), "labels": number % 3} for number in range(16)]
        bound(model, "train")
        options = hf.TrainingArguments(folder, per_device_train_batch_size=2, num_train_epochs=1, logging_steps=4,
                                       report_to=[], save_strategy="no", remove_unused_columns=False)  # fmt: skip
        trainer = adapters.AdapterTrainer(model=model, args=options, train_dataset=data, eval_dataset=data[:4])
        trainer.train()
        trainer.evaluate()
