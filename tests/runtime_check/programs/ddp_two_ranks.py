"""Distributed data-parallel training on two ranks; counts are those of both together."""

import hashlib
import os

import torch
import torch.distributed as dist
from torch import nn

RANK, RANKS = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")

# Collectives of NCCL stay on the device. What DDP sends itself stands in torch/csrc/distributed/c10d/reducer.cpp.
dist.init_process_group("nccl" if DEVICE.type == "cuda" else "gloo")
torch.manual_seed(RANK)
layer = nn.Linear(6, 3).to(DEVICE)  # transfers: h2d 72 B x 2, h2d 12 B x 2
# verify_params_across_processes: the number of parameters goes up and comes back from each rank (8 bytes each), then
# sizes and strides, 2 x 2 for the weight and 2 x 1 for the bias, go up and come back (6 x 8 bytes).
model = nn.parallel.DistributedDataParallel(layer)  # transfers: h2d 8 B x 2, d2h 8 B x 4, h2d 48 B x 2, d2h 48 B x 2
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
losses = []
for step in range(3):
    torch.manual_seed(10 * RANK + step)
    batch = torch.randn(4, 6).to(DEVICE)  # transfers: h2d 96 B x 6
    # Before the second forward pass the one bucket is built anew. sync_bucket_indices: its two indices and their
    # number go up without waiting, and come back, 3 x 4 bytes,
    # and so does the size of the bucket, 4 bytes.
    output = model(batch)  # transfers: h2d 12 B x 2 async, d2h 12 B x 2, h2d 4 B x 2 async, d2h 4 B x 2
    loss = output.square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    mean = loss.detach().clone()
    dist.all_reduce(mean)
    losses.append(mean / RANKS)
shared = [torch.empty(6, device=DEVICE) for _ in range(RANKS)]
dist.all_gather(shared, layer.weight.detach()[0])
assert all(torch.equal(one, shared[0]) for one in shared[1:])  # transfers: d2h 1 B x 2
dist.barrier()  # transfers: wait 0 B x 2
print(*(f"{value:.6f}" for value in torch.stack(losses).tolist()))  # transfers: d2h 12 B x 2
weights = nn.utils.parameters_to_vector(layer.parameters()).detach()
print(hashlib.sha256(weights.cpu().numpy().tobytes()).hexdigest())  # transfers: d2h 84 B x 2
# Its reducer holds the group too. Where that is the last to let go of it, the group joins its threads under the GIL,
# which one of them may wait for.
del model
dist.destroy_process_group()
