"""Q-learning from a replay buffer of device tensors: sampled on the host, stacked on the device."""

import hashlib
import random

import torch
from torch import nn

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")

torch.manual_seed(0)
random.seed(0)
network = nn.Linear(3, 2).to(DEVICE)  # transfers: h2d 24 B x 1, h2d 8 B x 1
target = nn.Linear(3, 2).to(DEVICE)  # transfers: h2d 24 B x 1, h2d 8 B x 1
target.load_state_dict(network.state_dict())
optimizer = torch.optim.RMSprop(network.parameters(), lr=0.05)
memory = []
state = torch.zeros(3, device=DEVICE)
for step in range(8):
    with torch.no_grad():
        action = int(network(state).argmax()) if step % 4 else 1  # transfers: d2h 8 B x 6
    following = (state + torch.randn(3).to(DEVICE)).tanh()  # transfers: h2d 12 B x 8
    reward = torch.tensor(1.0 if action else -1.0).to(DEVICE)  # transfers: h2d 4 B x 8
    memory.append((state, action, reward, following))
    state = following
    if step >= 3:
        states, actions, rewards, nexts = zip(*random.sample(memory, 4), strict=True)
        chosen = torch.tensor(actions, device=DEVICE)  # transfers: h2d 32 B x 5
        wanted = torch.stack(rewards) + 0.9 * target(torch.stack(nexts)).amax(1).detach()
        values = network(torch.stack(states)).gather(1, chosen[:, None])[:, 0]
        loss = nn.functional.smooth_l1_loss(values, wanted)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step == 7:
            target.load_state_dict(network.state_dict())  # from device to device
weights = nn.utils.parameters_to_vector(target.parameters()).detach()
print(hashlib.sha256(weights.cpu().numpy().tobytes()).hexdigest())  # transfers: d2h 32 B x 1
