"""Random numbers: host and devices draw from one generator, in the program's order, so a program that draws on the
device gets the numbers it would get on the CPU. Seeds of a device alone change nothing for the same reason."""

from __future__ import annotations

from typing import Any

from runtime_check.simulate.changes import Changes
from runtime_check.simulate.facade.device import answering
from runtime_check.simulate.generators import Generator
from runtime_check.simulate.internals import torch
from runtime_check.simulate.ordinals import count, index_of


def install(changes: Changes) -> None:
    """Replace torch.Generator and torch.cuda's functions of random state."""

    def get_rng_state(device: Any = "cuda") -> Any:
        index_of(device)
        return torch.get_rng_state()

    def set_rng_state(new_state: Any, device: Any = "cuda") -> None:
        index_of(device)
        torch.set_rng_state(new_state)

    def set_rng_state_all(new_states: Any) -> None:
        for number, state in enumerate(new_states):
            set_rng_state(state, number)

    answers = {
        "get_rng_state": get_rng_state,
        "get_rng_state_all": lambda: [torch.get_rng_state() for _ in range(count())],
        "set_rng_state": set_rng_state,
        "set_rng_state_all": set_rng_state_all,
        "manual_seed": answering(None),
        "manual_seed_all": answering(None),
        "seed": answering(None),
        "seed_all": answering(None),
        "initial_seed": torch.initial_seed,
    }
    for name, value in answers.items():
        changes.attribute(torch.cuda, name, value)
        changes.attribute(torch.cuda.random, name, value)
    changes.attribute(torch, "Generator", Generator)
    changes.attribute(torch.cuda, "default_generators", (torch.default_generator,) * count())
