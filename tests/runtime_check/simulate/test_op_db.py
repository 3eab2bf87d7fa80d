"""A part of torch's own table of operators; `python benchmarks/op_db.py` runs all of it."""

from __future__ import annotations

import sys
from pathlib import Path

from simulated import outcome

BENCHMARKS = Path(__file__).resolve().parents[3] / "benchmarks"
CUDA_REFUSES = {"tensor_split", "histogram", "histogramdd"}  # with the same words
NO_SPARSE = {"sparse.mm.reduce", "sparse.sampled_addmm", "to_sparse"}
OTHERWISE_ON_CUDA = {"renorm", "linalg.lstsq", "linalg.lstsq.grad_oriented"}  # another algorithm, chosen by device


def test_operators_give_the_same_bits() -> None:
    outcomes = outcome(__file__, "outcomes", True, shard=1, shards=4)
    others = {name for name, found in outcomes.items() if found != "same"}
    assert others <= CUDA_REFUSES | NO_SPARSE | OTHERWISE_ON_CUDA
    assert len(outcomes) > 150


def outcomes(shard: int, shards: int) -> dict[str, str]:
    """Operator to outcome, one sample of each."""
    import warnings

    warnings.simplefilter("ignore")
    sys.path.insert(0, str(BENCHMARKS))
    import op_db

    return dict(op_db.run("", 2, shard, shards))
