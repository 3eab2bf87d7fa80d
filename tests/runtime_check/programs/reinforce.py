"""Policy gradients with an environment on the host, and distributions that check their arguments."""

import hashlib

import numpy as np
import torch
from torch import nn
from torch.distributions import Categorical

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")

torch.manual_seed(0)
policy = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))
policy.to(DEVICE)  # transfers: h2d 128 B x 1, h2d 32 B x 1, h2d 64 B x 1, h2d 8 B x 1
optimizer = torch.optim.SGD(policy.parameters(), lr=0.01)
place = np.zeros(4, dtype=np.float32)
for _ in range(2):
    chances, rewards = [], []
    for step in range(6):
        seen = torch.from_numpy(place).to(DEVICE)  # transfers: h2d 16 B x 12
        # `_is_all_true` of the parameters, then of the value: branches (torch/distributions/distribution.py).
        choice = Categorical(logits=policy(seen))  # transfers: d2h 1 B x 12
        action = choice.sample()  # by `multinomial`, which checks its input on the device
        chances.append(choice.log_prob(action))  # transfers: d2h 1 B x 12
        place = place * 0.9 + np.float32(0.1) * (2 * action.item() - 1)  # transfers: d2h 8 B x 12
        place = place.astype(np.float32)
        rewards.append(float(-np.abs(place).sum()) - 0.1 * step)
    returns = torch.tensor(rewards, device=DEVICE)  # transfers: h2d 24 B x 2
    loss = -(torch.stack(chances) * (returns - returns.mean())).sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"loss {loss:.6f}")  # transfers: d2h 4 B x 2
weights = nn.utils.parameters_to_vector(policy.parameters()).detach()
print(hashlib.sha256(weights.cpu().numpy().tobytes()).hexdigest())  # transfers: d2h 232 B x 1
