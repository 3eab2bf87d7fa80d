"""fair-esm: protein language models from small sizes: batches of sequences, contacts, masked training, alignments."""

from __future__ import annotations

import argparse
import random

import esm
import torch
from esm.model.esm1 import ProteinBertModel
from esm.model.esm2 import ESM2
from esm.model.msa_transformer import MSATransformer

from truth import Package, case, step, workload

PACKAGE = Package("fair-esm==2.0.0", imports=("esm",), extra=("scipy",))
DEVICE = "cuda"
LETTERS = "ACDEFGHIKLMNPQRSTVWY"


def _protein(shortest=8, longest=30):
    return "".join(random.choices(LETTERS, k=random.randint(shortest, longest)))


def _proteins(n=3):
    return [(f"protein {number}", _protein()) for number in range(n)]


def _masked_training(model, alphabet, turns=5):
    convert = alphabet.get_batch_converter()
    optimizer = torch.optim.Adam(model.parameters(), 1e-4)
    model.train()
    for _ in range(turns):
        _, _, tokens = convert(_proteins())
        with step("train"):
            tokens = tokens.to(DEVICE)
            masked = torch.rand(tokens.shape, device=DEVICE) < 0.15
            masked |= tokens == tokens[:, 2:3]
            inputs = tokens.masked_fill(masked, alphabet.mask_idx)
            logits = model(inputs)["logits"]
            torch.nn.functional.cross_entropy(logits[masked], tokens[masked]).backward()
            optimizer.step()
            optimizer.zero_grad()


@workload
def sequences():
    random.seed(0)
    with case("esm2"):
        alphabet = esm.data.Alphabet.from_architecture("ESM-1b")
        model = ESM2(num_layers=2, embed_dim=32, attention_heads=4, alphabet=alphabet).to(DEVICE)
        _masked_training(model, alphabet)
        model.eval()
        convert = alphabet.get_batch_converter()
        for _ in range(5):
            _labels, sequences, tokens = convert(_proteins())
            lengths = (tokens != alphabet.padding_idx).sum(1)
            with step("embed"), torch.no_grad():
                found = model(tokens.to(DEVICE), repr_layers=[2], return_contacts=True)
                for number, length in enumerate(lengths):
                    found["representations"][2][number, 1 : length - 1].mean(0).cpu()
                found["contacts"].cpu()
    with case("esm2 without token dropout"):
        alphabet = esm.data.Alphabet.from_architecture("ESM-1b")
        model = ESM2(num_layers=2, embed_dim=32, attention_heads=4, alphabet=alphabet, token_dropout=False).to(DEVICE)
        _masked_training(model, alphabet)
        model.eval()
        for _ in range(5):
            _, _, tokens = alphabet.get_batch_converter()(_proteins())
            with step("contacts"), torch.no_grad():
                model.predict_contacts(tokens.to(DEVICE))
    with case("batches from a file's data"):
        alphabet = esm.data.Alphabet.from_architecture("ESM-1b")
        model = ESM2(num_layers=1, embed_dim=32, attention_heads=4, alphabet=alphabet).to(DEVICE).eval()
        names, sequences = zip(*_proteins(12), strict=True)
        data = esm.data.FastaBatchedDataset(names, sequences)
        batches = data.get_batch_indices(60, extra_toks_per_seq=1)
        loader = torch.utils.data.DataLoader(data, collate_fn=alphabet.get_batch_converter(40), batch_sampler=batches)
        with torch.no_grad():
            for _, strings, tokens in loader:
                with step("extract"):
                    found = model(tokens.to(device=DEVICE, non_blocking=True), repr_layers=[0, 1])
                    kept = {layer: one.to(device="cpu") for layer, one in found["representations"].items()}
                    [kept[1][i, 1 : len(one) + 1].clone() for i, one in enumerate(strings)]
    for arch in ("protein_bert_base", "roberta_large"):
        with case(arch):
            alphabet = esm.data.Alphabet.from_architecture(arch)
            options = argparse.Namespace(
                arch=arch, layers=2, embed_dim=32, ffn_embed_dim=64, attention_heads=4, max_positions=64,
                logit_bias=True, final_bias=True, emb_layer_norm_before=True, token_dropout=arch == "roberta_large",
                activation_dropout=0.0, attention_dropout=0.0, dropout=0.0, max_tokens=1024, embed_scale=1.0,
            )  # fmt: skip
            model = ProteinBertModel(options, alphabet).to(DEVICE)
            _masked_training(model, alphabet)
            model.eval()
            for _ in range(4):
                _, _, tokens = alphabet.get_batch_converter()(_proteins())
                with step("eval"), torch.no_grad():
                    model(tokens.to(DEVICE), repr_layers=[1], return_contacts=arch == "roberta_large")
    with case("variants"):
        alphabet = esm.data.Alphabet.from_architecture("ESM-1b")
        model = ESM2(num_layers=1, embed_dim=32, attention_heads=4, alphabet=alphabet).to(DEVICE).eval()
        _, _, tokens = alphabet.get_batch_converter()([("wild", _protein(12, 12))])
        for position in range(1, 8):
            with step("score"), torch.no_grad():
                masked = tokens.clone()
                masked[0, position] = alphabet.mask_idx
                scores = torch.log_softmax(model(masked.to(DEVICE))["logits"], -1)
                (scores[0, position, alphabet.get_idx("A")] - scores[0, position, tokens[0, position]]).item()


@workload
def alignments():
    random.seed(0)
    with case("msa transformer"):
        alphabet = esm.data.Alphabet.from_architecture("msa_transformer")
        options = argparse.Namespace(
            arch="msa_transformer", layers=2, embed_dim=32, ffn_embed_dim=64, attention_heads=4, max_positions=64,
            embed_positions_msa=True, dropout=0.1, attention_dropout=0.1, activation_dropout=0.1, max_tokens=2**12,
            logit_bias=True, max_tokens_per_msa=2**12, embed_positions_msa_dim=32,
        )  # fmt: skip
        model = MSATransformer(options, alphabet).to(DEVICE)
        convert = alphabet.get_batch_converter()

        def batch():
            length = random.randint(8, 14)
            return convert([(f"row {row}", _protein(length, length)) for row in range(4)])[2]

        for _ in range(4):
            tokens = batch()
            with step("train"):
                tokens = tokens.to(DEVICE)
                logits = model(tokens)["logits"]
                torch.nn.functional.cross_entropy(logits.flatten(0, 2), tokens.flatten()).backward()
        model.eval()
        for _ in range(4):
            tokens = batch()
            with step("contacts"), torch.no_grad():
                model.predict_contacts(tokens.to(DEVICE))
                model(tokens.to(DEVICE), repr_layers=[2], need_head_weights=True)
