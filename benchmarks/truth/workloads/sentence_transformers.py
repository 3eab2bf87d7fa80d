"""sentence-transformers: encoders from a tiny local configuration: encoding, every loss in training, cross-encoders."""

from __future__ import annotations

import os
import random
import tempfile

import datasets
import sentence_transformers as st
import torch
import transformers
from sentence_transformers import evaluation, losses, util

from truth import Package, case, step, workload

PACKAGE = Package("sentence-transformers==6.2.0", extra=("accelerate", "datasets"), seconds=400)
DEVICE = "cuda"
WORDS = "the a cat dog bird sat ran flew on under over mat house tree big small red blue and then".split()


def _folder():
    """A tiny BERT and its vocabulary, saved where the library reads models from."""
    folder = tempfile.mkdtemp()
    with open(os.path.join(folder, "vocab.txt"), "w") as file:
        file.write("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS]))
    config = transformers.BertConfig(
        vocab_size=5 + len(WORDS),
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=64,
        max_position_embeddings=64,
        num_labels=1,
    )
    transformers.BertForMaskedLM(config).save_pretrained(folder)
    transformers.BertTokenizer(os.path.join(folder, "vocab.txt")).save_pretrained(folder)
    return folder


def _sentence():
    return " ".join(random.choices(WORDS, k=random.randint(3, 10)))


def _model(folder):
    from sentence_transformers import models

    word = models.Transformer(folder, max_seq_length=32)
    return st.SentenceTransformer(
        modules=[
            word,
            models.Pooling(word.get_embedding_dimension() if hasattr(word, "get_embedding_dimension") else 32),
        ],
        device=DEVICE,
    )


@workload
def encoding():
    random.seed(0)
    folder = _folder()
    model = _model(folder)
    with case("encode"):
        for _ in range(4):
            texts = [_sentence() for _ in range(10)]
            with step("to arrays"):
                model.encode(texts, batch_size=4)
            with step("to tensors"):
                model.encode(texts, batch_size=4, convert_to_tensor=True, normalize_embeddings=True)
            with step("one"):
                model.encode(texts[0])
            with step("quantised"):
                model.encode(texts, batch_size=4, precision="int8" if False else "binary")
    with case("tokens"):
        for _ in range(4):
            with step("encode"):
                model.encode([_sentence() for _ in range(4)], output_value="token_embeddings")
    with case("search"):
        corpus = model.encode([_sentence() for _ in range(30)], convert_to_tensor=True)
        for _ in range(5):
            queries = model.encode([_sentence() for _ in range(3)], convert_to_tensor=True)
            with step("search"):
                util.semantic_search(queries, corpus, top_k=3)
                util.cos_sim(queries, corpus)
                util.pairwise_dot_score(queries, queries)
    with case("communities and paraphrases"):
        for _ in range(3):
            texts = [_sentence() for _ in range(20)]
            with step("mine"):
                util.paraphrase_mining(model, texts, top_k=3)
                util.community_detection(
                    model.encode(texts, convert_to_tensor=True), threshold=0.5, min_community_size=2
                )
    with case("evaluators"):
        one, two = [_sentence() for _ in range(8)], [_sentence() for _ in range(8)]
        for _ in range(3):
            with step("evaluate"):
                evaluation.EmbeddingSimilarityEvaluator(one, two, [random.random() for _ in one])(model)
                evaluation.TripletEvaluator(one, two, two[::-1])(model)
                evaluation.BinaryClassificationEvaluator(one, two, [i % 2 for i in range(8)])(model)
                evaluation.InformationRetrievalEvaluator(
                    {"q": one[0], "r": one[1]}, {str(i): t for i, t in enumerate(two)}, {"q": {"1"}, "r": {"2"}}
                )(model)


@workload
def training():
    random.seed(0)
    folder = _folder()

    def pairs(n, label=None):
        return [[_sentence() for _ in range(4)] for _ in range(n)], label

    one = torch.tensor
    for name, make, columns, label in (
        ("multiple negatives", losses.MultipleNegativesRankingLoss, 3, None),
        (
            "multiple negatives cached",
            lambda m: losses.CachedMultipleNegativesRankingLoss(m, mini_batch_size=2),
            2,
            None,
        ),
        ("symmetric", losses.MultipleNegativesSymmetricRankingLoss, 2, None),
        ("cosine", losses.CosineSimilarityLoss, 2, lambda: torch.rand(4)),
        ("cosent", losses.CoSENTLoss, 2, lambda: torch.rand(4)),
        ("angle", losses.AnglELoss, 2, lambda: torch.rand(4)),
        ("contrastive", losses.ContrastiveLoss, 2, lambda: torch.randint(0, 2, (4,))),
        ("online contrastive", losses.OnlineContrastiveLoss, 2, lambda: one([0, 1, 0, 1])),
        ("softmax", lambda m: losses.SoftmaxLoss(m, 32, 3), 2, lambda: torch.randint(0, 3, (4,))),
        ("triplet", losses.TripletLoss, 3, None),
        ("all triplets", losses.BatchAllTripletLoss, 1, lambda: one([0, 0, 1, 1])),
        ("hard triplets", losses.BatchHardTripletLoss, 1, lambda: one([0, 0, 1, 1])),
        ("soft margin triplets", losses.BatchHardSoftMarginTripletLoss, 1, lambda: one([0, 0, 1, 1])),
        ("semi-hard triplets", losses.BatchSemiHardTripletLoss, 1, lambda: one([0, 0, 1, 1])),
        ("mega batch", lambda m: losses.MegaBatchMarginLoss(m, mini_batch_size=2), 2, None),
        ("margin mse", losses.MarginMSELoss, 3, lambda: torch.rand(4)),
        (
            "matryoshka",
            lambda m: losses.MatryoshkaLoss(m, losses.MultipleNegativesRankingLoss(m), [32, 16, 8]),
            2,
            None,
        ),
        ("gist", lambda m: losses.GISTEmbedLoss(m, _model(folder)), 2, None),
        ("contrastive tension", losses.ContrastiveTensionLossInBatchNegatives, 2, None),
        ("mse", losses.MSELoss, 1, lambda: torch.rand(4, 32)),
    ):
        with case(name):
            model = _model(folder)
            loss = make(model).to(DEVICE)
            optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
            tokenize = getattr(model, "preprocess", None) or model.tokenize
            model.train()
            for _ in range(4):
                features = [tokenize([_sentence() for _ in range(4)]) for _ in range(columns)]
                labels = None if label is None else label()
                with step("train"):
                    features = [util.batch_to_device(one, torch.device(DEVICE)) for one in features]
                    labels = None if labels is None else labels.to(DEVICE)
                    loss(features, labels).backward()
                    optimizer.step()
                    optimizer.zero_grad()
    with case("trainer"):
        model = _model(folder)
        data = datasets.Dataset.from_dict(
            {"anchor": [_sentence() for _ in range(16)], "positive": [_sentence() for _ in range(16)]}
        )
        with tempfile.TemporaryDirectory() as out:
            arguments = st.SentenceTransformerTrainingArguments(
                out,
                per_device_train_batch_size=4,
                num_train_epochs=2,
                report_to=[],
                save_strategy="no",
                logging_steps=2,
            )
            st.SentenceTransformerTrainer(
                model, arguments, train_dataset=data, eval_dataset=data, loss=losses.MultipleNegativesRankingLoss(model)
            ).train()
    with case("cross-encoder"):
        model = st.CrossEncoder(folder, num_labels=1, device=DEVICE)
        for _ in range(4):
            asked = [(_sentence(), _sentence()) for _ in range(6)]
            with step("predict"):
                model.predict(asked, batch_size=4)
            with step("rank"):
                model.rank(asked[0][0], [two for _, two in asked])
