"""A transformer whose positions and masks are made on the host in `forward`, as they often are."""

import hashlib

import torch
from torch import nn

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(13, 8)
        self.place = nn.Embedding(6, 8)
        self.norm = nn.LayerNorm(8)
        self.attend = nn.MultiheadAttention(8, 2, batch_first=True)
        self.head = nn.Linear(8, 13)
        self.temper = torch.ones(8)  # neither parameter nor buffer: `.to` leaves it on the host

    def forward(self, tokens):
        places = torch.arange(tokens.shape[1]).to(tokens.device)  # transfers: h2d 40 B x 4
        mask = torch.ones(5, 5).triu(1).bool().to(tokens.device)  # transfers: h2d 25 B x 4
        x = self.norm(self.embed(tokens) + self.place(places))
        x = x + self.attend(x, x, x, attn_mask=mask, need_weights=False)[0]
        return self.head(x * self.temper.to(x.device))  # transfers: h2d 32 B x 4


torch.manual_seed(0)
model = Model()
for layer in (model.embed, model.place, model.norm, model.head):
    layer.to(DEVICE)  # transfers: h2d 416 B x 2, h2d 192 B x 1, h2d 32 B x 2, h2d 52 B x 1
# Attention has 24 x 8 and 24 parameters in, 8 x 8 and 8 out.
model.attend.to(DEVICE)  # transfers: h2d 768 B x 1, h2d 96 B x 1, h2d 256 B x 1, h2d 32 B x 1
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
for step in range(4):
    tokens = torch.randint(0, 13, (2, 6), device="cpu").to(DEVICE)  # transfers: h2d 96 B x 4
    scores = model(tokens[:, :-1])
    loss = nn.functional.cross_entropy(scores.flatten(0, 1), tokens[:, 1:].flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 2:
        print(f"{step} {loss.item():.6f}")  # transfers: d2h 4 B x 2
weights = nn.utils.parameters_to_vector(model.parameters()).detach()
print(hashlib.sha256(weights.cpu().numpy().tobytes()).hexdigest())  # transfers: d2h 2292 B x 1
