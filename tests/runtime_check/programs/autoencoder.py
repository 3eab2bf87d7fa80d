"""A variational autoencoder: distributions check each parameter, a scalar is made a tensor, gradients are checked."""

import hashlib

import torch
from torch import nn
from torch.distributions import Normal, kl_divergence

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")

torch.manual_seed(0)
encoder = nn.Linear(6, 4).to(DEVICE)  # transfers: h2d 96 B x 1, h2d 16 B x 1
decoder = nn.Linear(2, 6).to(DEVICE)  # transfers: h2d 48 B x 1, h2d 24 B x 1
parameters = [*encoder.parameters(), *decoder.parameters()]
optimizer = torch.optim.Adamax(parameters, lr=1e-2)
for _ in range(4):
    batch = torch.randn(3, 6).to(DEVICE)  # transfers: h2d 72 B x 4
    mean, spread = encoder(batch).chunk(2, 1)
    hidden = Normal(mean, spread.exp())  # place and scale are checked  # transfers: d2h 1 B x 8
    drawn = hidden.rsample()
    # Numbers beside a tensor become tensors (torch/distributions/utils.py: broadcast_all), then they are checked.
    likely = Normal(decoder(drawn), 1.0)  # transfers: h2d 4 B x 4, d2h 1 B x 8
    prior = Normal(torch.zeros_like(mean), torch.ones_like(mean), validate_args=False)
    # The value is checked against the support.
    loss = -likely.log_prob(batch).sum() + kl_divergence(hidden, prior).sum()  # transfers: d2h 1 B x 4
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(parameters, 5.0, error_if_nonfinite=True)  # transfers: d2h 1 B x 4
    optimizer.step()
weights = torch.cat([parameter.detach().reshape(-1) for parameter in parameters])
print(hashlib.sha256(weights.cpu().numpy().tobytes()).hexdigest())  # transfers: d2h 184 B x 1
