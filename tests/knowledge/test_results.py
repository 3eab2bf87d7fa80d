"""What functions with several results give is known by torch's own types of these."""

from __future__ import annotations

import pytest

from transferlint.knowledge.catalogue import effects
from transferlint.knowledge.torch import ALONG, COMPUTING, COMPUTING_BOOLEANS, RESULTS, SEVERAL


def test_functions_with_several_results_and_their_names_are_those_of_torch() -> None:
    torch = pytest.importorskip("torch")
    found = {}
    for name in dir(torch.return_types):
        one = getattr(torch.return_types, name)
        if (
            isinstance(one, type)
            and hasattr(one, "n_fields")
            and not name.startswith("_")
            and not name.endswith("_out")
        ):
            found[name] = {field for field, part in vars(one).items() if type(part).__name__ == "member_descriptor"}
    assert len(found) > 25
    assert {name.removeprefix("linalg_") for name in found} <= SEVERAL | ALONG
    fields = set().union(*found.values())
    assert {name for name in fields if len(name) > 1} - RESULTS <= {"cloned_coefficient"}
    assert RESULTS - fields <= {"primal", "tangent", "result", "L"}


def test_methods_that_compute_are_those_of_torch_that_give_tensors() -> None:
    torch = pytest.importorskip("torch")
    for name in COMPUTING | COMPUTING_BOOLEANS:
        packet = getattr(torch.ops.aten, name)
        given = [one for key in packet.overloads() for one in getattr(packet, key)._schema.returns]
        assert {str(one.type) for one in given} <= {"Tensor", "List[Tensor]"}, name
        assert callable(getattr(torch.Tensor, name))
        assert f"Tensor.{name}" not in effects()
