"""Checkpoints: a storage comes down for each tensor that is saved, and goes up for each that is loaded there."""

import hashlib
import io

import torch
from torch import nn

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")

torch.manual_seed(0)
model = nn.Linear(4, 3).to(DEVICE)  # transfers: h2d 48 B x 1, h2d 12 B x 1
optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
model(torch.ones(2, 4, device=DEVICE)).sum().backward()
optimizer.step()
file = io.BytesIO()
# Weight and bias, and two moments of each; Adam's steps lie on the host (torch/serialization.py: _save).
both = {"model": model.state_dict(), "optimizer": optimizer.state_dict()}
torch.save(both, file)  # transfers: d2h 48 B x 3, d2h 12 B x 3
file.seek(0)
# Each storage is read to the host and then moved (load_tensor: restore_location).
loaded = torch.load(file, map_location=DEVICE)  # the steps too  # transfers: h2d 48 B x 3, h2d 12 B x 3, h2d 4 B x 2
twin = nn.Linear(4, 3).to(DEVICE)  # transfers: h2d 48 B x 1, h2d 12 B x 1
twin.load_state_dict(loaded["model"])  # from device to device
file.seek(0)
on_host = torch.load(file, map_location="cpu", weights_only=True)
twin.load_state_dict(on_host["model"])  # into what lies there: `param.copy_`  # transfers: h2d 48 B x 1, h2d 12 B x 1
other = torch.optim.Adam(twin.parameters(), lr=0.1)
# Moments go to where their parameters are, steps stay (torch/optim/optimizer.py).
other.load_state_dict(on_host["optimizer"])  # transfers: h2d 48 B x 2, h2d 12 B x 2
twin(torch.ones(2, 4, device=DEVICE)).sum().backward()
other.step()
snapshot = {name: tensor.cpu() for name, tensor in twin.state_dict().items()}  # transfers: d2h 48 B x 1, d2h 12 B x 1
best = {name: tensor.detach().clone() for name, tensor in twin.state_dict().items()}  # stays there
torch.save(snapshot, io.BytesIO())
print(hashlib.sha256(b"".join(tensor.numpy().tobytes() for tensor in snapshot.values())).hexdigest())
twin.cpu()  # with its gradients (torch/nn/modules/module.py: _apply)  # transfers: d2h 48 B x 2, d2h 12 B x 2
print(sorted(best), twin.weight.device)
