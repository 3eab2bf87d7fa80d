"""`nn.DataParallel` on two devices: each batch is split, outputs are gathered on the first device, NCCL does the rest.

All numbers are small whole ones, so that sums over replicas are exact. What NCCL moves (parameters, gradients) is no
copy of torch's: torch/csrc/cuda/comm.cpp, torch/nn/parallel/comm.py.
"""

import hashlib

import torch

TWO = torch.cuda.is_available() and torch.cuda.device_count() > 1
DEVICE = torch.device("cuda" if TWO else "cpu")

torch.manual_seed(0)
model = torch.nn.Linear(4, 2)
with torch.no_grad():
    for parameter in model.parameters():
        parameter.copy_(torch.randint(-3, 4, parameter.shape))
model.to(DEVICE)  # transfers: h2d 32 B x 1, h2d 8 B x 1
replicated = torch.nn.DataParallel(model) if TWO else model
optimizer = torch.optim.SGD(model.parameters(), lr=0.5)

for _ in range(3):
    batch = torch.randint(-3, 4, (6, 4)).float()
    # 6 rows are 3 for each device, pageable; the second device's 3 x 2 outputs come to the first
    out = replicated(batch)  # transfers: h2d 48 B x 6 async, d2d 24 B x 3 async
    optimizer.zero_grad()
    out.sum().backward()  # transfers: d2d 24 B x 3 async
    optimizer.step()

print(out.sum().item())  # transfers: d2h 4 B x 1
host = [one.detach().cpu() for one in model.parameters()]  # transfers: d2h 32 B x 1, d2h 8 B x 1
print(hashlib.sha256(b"".join(one.numpy().tobytes() for one in host)).hexdigest())
