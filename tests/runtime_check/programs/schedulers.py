"""Learning rates are Python numbers; what is read: the metric of one scheduler, the count of an averaged model."""

import hashlib

import torch
from torch import nn
from torch.optim import lr_scheduler

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")

torch.manual_seed(0)
model = nn.Linear(4, 1).to(DEVICE)  # transfers: h2d 16 B x 1, h2d 4 B x 1
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, weight_decay=0.01)
warm = lr_scheduler.LinearLR(optimizer, 0.5, total_iters=3)
cosine = lr_scheduler.CosineAnnealingLR(optimizer, 10)
plateau = lr_scheduler.ReduceLROnPlateau(optimizer, patience=1)
# A copy on the device, both of whose parameters are where they are told to go, and a count, which goes up.
average = torch.optim.swa_utils.AveragedModel(model, DEVICE)  # transfers: h2d 8 B x 1, no-op x 2
inputs = torch.randn(8, 4).to(DEVICE)  # transfers: h2d 128 B x 1
for step in range(6):
    loss = (model(inputs) - 1).abs().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    warm.step()
    cosine.step()
    # `float(metrics)` (torch/optim/lr_scheduler.py)
    plateau.step(loss)  # transfers: d2h 4 B x 6
    if step % 2:
        # Is the count 0, is it more; from the second time, the weight of the mean is read for `_foreach_lerp_`
        # (torch/optim/swa_utils.py: update_parameters).
        average.update_parameters(model)  # transfers: d2h 1 B x 6, d2h 4 B x 2
print(f"{optimizer.param_groups[0]['lr']:.9f}")
print(hashlib.sha256(model.weight.detach().cpu().numpy().tobytes()).hexdigest())  # transfers: d2h 16 B x 1
