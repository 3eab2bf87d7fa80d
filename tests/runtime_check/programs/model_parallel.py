"""A network in two halves on two devices: activations and gradients go from one to the other, and nobody waits."""

import contextlib
import hashlib

import torch

TWO = torch.cuda.is_available() and torch.cuda.device_count() > 1
FIRST, SECOND = (torch.device("cuda", number) if TWO else torch.device("cpu") for number in range(2))
STEPS = 4

torch.manual_seed(0)
lower = torch.nn.Linear(6, 5).to(FIRST)  # transfers: h2d 120 B x 1, h2d 20 B x 1
upper = torch.nn.Linear(5, 3).to(SECOND)  # transfers: h2d 60 B x 1, h2d 12 B x 1
parameters = [*lower.parameters(), *upper.parameters()]
optimizer = torch.optim.Adam(parameters, lr=0.05)
batches = [(torch.randn(8, 6), torch.randn(8, 3)) for _ in range(STEPS)]

total = torch.zeros((), device=FIRST)
for inputs, targets in batches:
    hidden = lower(inputs.to(FIRST)).relu()  # transfers: h2d 192 B x 4
    out = upper(hidden.to(SECOND))  # transfers: d2d 160 B x 4 async
    loss = (out - targets.to(SECOND, non_blocking=True)).square().mean()  # transfers: h2d 96 B x 4 async
    optimizer.zero_grad()
    loss.backward()  # transfers: d2d 160 B x 4 async
    # torch/nn/utils/clip_grad.py: the norms of the second device's two gradients go to the first, the factor comes back
    torch.nn.utils.clip_grad_norm_(parameters, 1.0)  # transfers: d2d 4 B x 12 async
    optimizer.step()
    total += loss.detach().to(FIRST)  # transfers: d2d 4 B x 4 async

kept = torch.zeros(8, 3, device=FIRST)
kept.copy_(out.detach())  # transfers: d2d 96 B x 1 async
halved = out.detach().to(FIRST, torch.float16)  # transfers: d2d 48 B x 1 async
turned = out.detach().t().to(FIRST, non_blocking=True)  # transfers: d2d 96 B x 1 async
again = kept.to(FIRST)  # transfers: no-op x 1
with torch.cuda.device(SECOND) if TWO else contextlib.nullcontext():
    scale = torch.tensor([2.0, 3.0, 4.0], device="cuda" if TWO else "cpu")  # transfers: h2d 12 B x 1
    scaled = out.detach() * scale

print(f"{total.item():.6f}")  # transfers: d2h 4 B x 1
print(torch.equal(turned, kept.t()), again is kept)  # transfers: d2h 1 B x 1
print(scaled.sum().item())  # transfers: d2h 4 B x 1
host = [one.detach().cpu() for one in parameters]  # transfers: d2h 120 B x 1, d2h 20 B x 1, d2h 60 B x 1, d2h 12 B x 1
host.append(halved.cpu().float())  # transfers: d2h 48 B x 1
print(hashlib.sha256(b"".join(one.numpy().tobytes() for one in host)).hexdigest())
