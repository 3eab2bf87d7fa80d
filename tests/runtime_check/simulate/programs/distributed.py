"""Collectives and DistributedDataParallel over gloo, in one process."""

import os

import torch
import torch.distributed as dist
from torch import nn


def run(place, backend="gloo", port="29611"):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=port, RANK="0", WORLD_SIZE="1")
    dist.init_process_group(backend)
    tensor = torch.arange(3.0, device=place)
    dist.all_reduce(tensor)
    dist.broadcast(tensor, 0)
    gathered = [torch.empty(3, device=place)]
    dist.all_gather(gathered, tensor)
    torch.manual_seed(0)
    layer = nn.Linear(3, 3).to(place)
    model = nn.parallel.DistributedDataParallel(layer, device_ids=[0] if place == "cuda" else None)
    for _ in range(2):
        model(tensor).sum().backward()
    dist.barrier()
    del model  # its reducer holds the group: as in runtime_check/programs/ddp_two_ranks.py
    dist.destroy_process_group()
    return {"all": [tensor, *gathered, layer.weight.grad]}
