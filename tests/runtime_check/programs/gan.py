"""Two optimizers in one step: labels built on the host for each batch, and four losses read one by one."""

import hashlib

import torch
from torch import nn
from torch.nn.functional import binary_cross_entropy_with_logits as entropy

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")

torch.manual_seed(0)
generator = nn.Linear(4, 6).to(DEVICE)  # transfers: h2d 96 B x 1, h2d 24 B x 1
critic = nn.Linear(6, 1).to(DEVICE)  # transfers: h2d 24 B x 1, h2d 4 B x 1
first = torch.optim.Adam(generator.parameters(), lr=1e-2)
second = torch.optim.Adam(critic.parameters(), lr=1e-2)
for step in range(5):
    real = torch.randn(3, 6).to(DEVICE)  # transfers: h2d 72 B x 5
    true = torch.ones(3, 1).to(DEVICE)  # transfers: h2d 12 B x 5
    false = torch.zeros(3, 1, device=DEVICE)  # a kernel fills it
    noise = torch.randn(3, 4).to(DEVICE)  # transfers: h2d 48 B x 5
    fake = generator(noise)
    on_real, on_fake = entropy(critic(real), true), entropy(critic(fake.detach()), false)
    second.zero_grad()
    (on_real + on_fake).backward()
    second.step()
    fooled = entropy(critic(fake), true)
    first.zero_grad()
    fooled.backward()
    first.step()
    if step in (1, 4):
        line = [on_real.item(), on_fake.item(), fooled.item()]  # transfers: d2h 4 B x 6
        print(*(f"{value:.6f}" for value in line), f"{(on_real + on_fake).item():.6f}")  # transfers: d2h 4 B x 2
flat = torch.cat([one.detach().reshape(-1) for one in [*generator.parameters(), *critic.parameters()]])
print(hashlib.sha256(flat.cpu().numpy().tobytes()).hexdigest())  # transfers: d2h 148 B x 1
