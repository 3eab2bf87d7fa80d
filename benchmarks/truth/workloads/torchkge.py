"""torchkge: models of knowledge graphs trained with each sampler, evaluated and asked."""

from __future__ import annotations

import pandas
import torch
from torchkge import models
from torchkge.data_structures import KnowledgeGraph
from torchkge.evaluation import LinkPredictionEvaluator, TripletClassificationEvaluator
from torchkge.inference import EntityInference, RelationInference
from torchkge.sampling import (
    BernoulliNegativeSampler,
    BernoulliRelationNegativeSampler,
    PositionalNegativeSampler,
    UniformNegativeSampler,
)  # fmt: skip
from torchkge.utils import BinaryCrossEntropyLoss, DataLoader, LogisticLoss, MarginLoss, Trainer

from truth import Package, bound, case, steps, workload
from truth.drive import DEVICE

PACKAGE = Package("torchkge==0.17.7", seconds=300)
ENTITIES, RELATIONS = 12, 3


def _graph():
    torch.manual_seed(3)
    rows = [
        (f"e{i}", f"r{(i * j) % RELATIONS}", f"e{(i + j) % ENTITIES}") for i in range(ENTITIES) for j in range(1, 6)
    ]
    return KnowledgeGraph(pandas.DataFrame([(h, t, r) for h, r, t in rows], columns=["from", "to", "rel"]))


MODELS = {
    "TransE": lambda: models.TransEModel(8, ENTITIES, RELATIONS),
    "TransE L1": lambda: models.TransEModel(8, ENTITIES, RELATIONS, dissimilarity_type="L1"),
    "TransH": lambda: models.TransHModel(8, ENTITIES, RELATIONS),
    "TransR": lambda: models.TransRModel(8, 6, ENTITIES, RELATIONS),
    "TransD": lambda: models.TransDModel(8, 6, ENTITIES, RELATIONS),
    "TorusE": lambda: models.TorusEModel(8, ENTITIES, RELATIONS, "torus_L2"),
    "RESCAL": lambda: models.RESCALModel(8, ENTITIES, RELATIONS),
    "DistMult": lambda: models.DistMultModel(8, ENTITIES, RELATIONS),
    "HolE": lambda: models.HolEModel(8, ENTITIES, RELATIONS),
    "ComplEx": lambda: models.ComplExModel(8, ENTITIES, RELATIONS),
    "Analogy": lambda: models.AnalogyModel(8, ENTITIES, RELATIONS),
    "ConvKB": lambda: models.ConvKBModel(8, 4, ENTITIES, RELATIONS),
}


@workload
def learning():
    graph = _graph()
    for name, make in MODELS.items():
        with case(name):
            model = make().to(DEVICE)
            optimizer = torch.optim.Adam(model.parameters())
            loss = MarginLoss(0.5) if name.startswith("T") else LogisticLoss()
            sampler = BernoulliNegativeSampler(graph)
            for _ in range(2):
                for heads, tails, relations in steps(DataLoader(graph, batch_size=16, use_cuda="all"), "train"):
                    wrong_heads, wrong_tails = sampler.corrupt_batch(heads, tails, relations)
                    optimizer.zero_grad()
                    right, wrong = model(heads, tails, relations, wrong_heads, wrong_tails)
                    loss(right, wrong).backward()
                    optimizer.step()
                model.normalize_parameters()
            bound(model, "eval")
            evaluator = LinkPredictionEvaluator(model, graph)
            evaluator.evaluate(b_size=8, verbose=False)
            evaluator.hit_at_k(3)
            evaluator.mrr()
    for name, make in (
        ("uniform", UniformNegativeSampler), ("several", lambda graph: UniformNegativeSampler(graph, n_neg=3)),
        ("positional", PositionalNegativeSampler), ("relations", BernoulliRelationNegativeSampler),
    ):  # fmt: skip
        with case(f"sampler {name}"):
            sampler = make(graph)
            for batch in steps(DataLoader(graph, batch_size=8, use_cuda="all"), "sample"):
                sampler.corrupt_batch(*batch)


@workload
def trainer_and_questions():
    graph = _graph()
    for use in ("all", "batch"):
        with case(f"trainer {use}"):
            model = MODELS["TransE"]()
            bound(model, "train")
            Trainer(
                model, BinaryCrossEntropyLoss(), graph, 2, 16, torch.optim.Adam(model.parameters()), "bern", use
            ).run()
    model = MODELS["DistMult"]().to(DEVICE)
    known, relations = torch.arange(6, device=DEVICE), torch.zeros(6, dtype=torch.long, device=DEVICE)
    with case("entities"):
        EntityInference(model, known, relations, top_k=2, dictionary=graph.dict_of_heads).evaluate(2, verbose=False)
    with case("relations"):
        RelationInference(model, known, known.flip(0), top_k=1).evaluate(2, verbose=False)
    with case("triplets"):
        split = graph.split_kg(share=0.7)
        evaluator = TripletClassificationEvaluator(model, split[0], split[1])
        evaluator.evaluate(8)
        evaluator.accuracy(8)
