"""Greedy decoding, with the stop decided on the host: each token is read twice, and sent up again once."""

import torch
from torch import nn

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")

torch.manual_seed(0)
embed = nn.Embedding(11, 8).to(DEVICE)  # transfers: h2d 352 B x 1
# Weights 24 x 8 and 24 x 8, biases 24 and 24.
cell = nn.GRUCell(8, 8).to(DEVICE)  # transfers: h2d 768 B x 2, h2d 96 B x 2
head = nn.Linear(8, 11).to(DEVICE)  # transfers: h2d 352 B x 1, h2d 44 B x 1
state = torch.zeros(1, 8, device=DEVICE)
tokens = [1]
with torch.no_grad():
    for _ in range(7):
        last = torch.tensor([tokens[-1]], device=DEVICE)  # transfers: h2d 8 B x 7
        state = cell(embed(last), state)
        scores = head(state)[0]
        # One element of a vector is copied from a host scalar, not filled (ATen/TensorIndexing.h: copy_to).
        scores[0] = float("-inf")  # transfers: h2d 4 B x 7
        token = scores.argmax()
        if token == 0:  # transfers: d2h 1 B x 7
            break
        tokens.append(token.item())  # transfers: d2h 8 B x 7
print(tokens)
print(*(f"{value:.9g}" for value in state[0].tolist()))  # transfers: d2h 32 B x 1
