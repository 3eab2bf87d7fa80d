"""Six numbers of a step, read one by one; then the same by one read."""

import torch
from torch import nn

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")

torch.manual_seed(0)
model = nn.Linear(4, 4).to(DEVICE)  # transfers: h2d 64 B x 1, h2d 16 B x 1
inputs = torch.randn(3, 2, 4).to(DEVICE)  # transfers: h2d 96 B x 1
for batch in inputs:
    output = model(batch)
    parts = {"mean": output.mean(), "largest": output.amax(), "norm": output.norm()}
    single = {name: value.item() for name, value in parts.items()}  # transfers: d2h 4 B x 9
    for name, value in parts.items():
        single[name] -= value.detach().cpu().numpy()  # transfers: d2h 4 B x 9
    stacked = torch.stack(list(parts.values())).tolist()  # transfers: d2h 12 B x 3
    print(*single.values(), *(f"{value:.6f}" for value in stacked))
    per_layer = [f"{parameter.abs().max():.4f}" for parameter in model.parameters()]  # transfers: d2h 4 B x 6
print(per_layer)
