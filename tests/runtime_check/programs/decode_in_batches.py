"""Sampling for a batch on the device: finished rows are masked, and the host asks only whether all are done."""

import torch
from torch import nn

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")

torch.manual_seed(0)
embed = nn.Embedding(9, 6).to(DEVICE)  # transfers: h2d 216 B x 1
head = nn.Linear(6, 9).to(DEVICE)  # transfers: h2d 216 B x 1, h2d 36 B x 1
tokens = torch.full((3, 1), 1, device=DEVICE)
done = torch.zeros(3, dtype=torch.bool, device=DEVICE)
steps = 0
with torch.no_grad():
    for _ in range(5):
        scores = head(embed(tokens).mean(1))
        scores, order = scores.topk(4)
        drawn = torch.multinomial(scores.softmax(1), 1)  # checks its input on the device
        chosen = order.gather(1, drawn).masked_fill(done[:, None], 0)
        tokens = torch.cat([tokens, chosen], 1)
        done |= chosen[:, 0] == 9  # never
        steps += 1
        if done.all():  # transfers: d2h 1 B x 5
            break
for row in tokens.tolist():  # transfers: d2h 144 B x 1
    print(steps, *row)
