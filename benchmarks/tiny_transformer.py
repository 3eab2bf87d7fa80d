"""A tiny causal language model, made from a config, that transformers' Trainer trains and `generate` continues.

For `benchmarks/real_programs.py`: what is verified is the library, so this names no device and moves nothing itself.
"""

from __future__ import annotations

import argparse

import torch
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments, set_seed


class Texts(torch.utils.data.Dataset[dict[str, torch.Tensor]]):
    """Random tokens, each text its own target."""

    def __init__(self, count: int, length: int, vocabulary: int) -> None:
        self.tokens = torch.randint(vocabulary, (count, length), generator=torch.Generator().manual_seed(0))

    def __len__(self) -> int:
        return len(self.tokens)

    def __getitem__(self, index: int) -> dict[str, torch.Tensor]:
        return {"input_ids": self.tokens[index], "labels": self.tokens[index].clone()}


def main() -> None:
    """Train, evaluate on the way, and generate three times."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--output", default="tiny-transformer")
    options = parser.parse_args()
    set_seed(0)
    config = GPT2Config(vocab_size=64, n_positions=64, n_embd=32, n_layer=2, n_head=2, bos_token_id=0, eos_token_id=1)
    model = GPT2LMHeadModel(config)
    arguments = TrainingArguments(
        output_dir=options.output,
        max_steps=options.steps,
        per_device_train_batch_size=8,
        logging_steps=5,
        eval_strategy="steps",
        eval_steps=10,
        save_strategy="no",
        report_to=[],
        disable_tqdm=True,
    )
    trainer = Trainer(model, arguments, train_dataset=Texts(200, 32, 64), eval_dataset=Texts(32, 32, 64))
    trainer.train()
    prompt = torch.tensor([[5, 6, 7]], device=model.device)
    for how in ({"do_sample": False}, {"do_sample": True}, {"num_beams": 3}):
        made = model.generate(prompt, max_new_tokens=12, pad_token_id=1, **how)
        print(how, made[0].tolist())


if __name__ == "__main__":
    main()
