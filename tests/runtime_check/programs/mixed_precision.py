"""Autocast with a gradient scaler, which reads once a step whether a gradient was infinite."""

import hashlib

import torch
from torch import nn

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
model.to(DEVICE)  # transfers: h2d 512 B x 1, h2d 64 B x 1, h2d 64 B x 1, h2d 4 B x 1
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
scaler = torch.amp.GradScaler(DEVICE.type, init_scale=8.0, growth_interval=2)
inputs = torch.randn(6, 4, 8)
wanted = torch.randn(6, 4, 1).to(DEVICE)  # transfers: h2d 96 B x 1
for step in range(6):
    optimizer.zero_grad()
    with torch.autocast(DEVICE.type, dtype=torch.bfloat16):
        # Converted before it moves: half the bytes.
        output = model(inputs[step].to(torch.bfloat16).to(DEVICE))  # transfers: h2d 64 B x 6
    loss = nn.functional.mse_loss(output.float(), wanted[step])
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)  # "does not incur a CPU-GPU sync" (torch/amp/grad_scaler.py)
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    scaler.step(optimizer)  # `found_inf.item()` (_maybe_opt_step)  # transfers: d2h 4 B x 6
    scaler.update()
    if step % 3 == 2:
        print(f"scale {scaler.get_scale():g}")  # `scale.item()`  # transfers: d2h 4 B x 2
weights = nn.utils.parameters_to_vector(model.parameters()).detach()
print(hashlib.sha256(weights.cpu().numpy().tobytes()).hexdigest())  # transfers: d2h 644 B x 1
