"""A transformer: attention in training and in the fused way of evaluation, gradients clipped."""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(50, 32)
        layer = nn.TransformerEncoderLayer(32, 4, 64, batch_first=True, dropout=0.1)
        self.encoder = nn.TransformerEncoder(layer, 2)
        self.head = nn.Linear(32, 50)

    def forward(self, tokens):
        mask = nn.Transformer.generate_square_subsequent_mask(tokens.shape[1], device=tokens.device)
        return self.head(self.encoder(self.embed(tokens), mask=mask, is_causal=True))


def run(place):
    torch.manual_seed(0)
    model = Model().to(place)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    tokens = torch.randint(0, 50, (6, 4, 13))
    losses = []
    for batch in tokens:
        batch = batch.to(place)
        optimizer.zero_grad()
        output = model(batch[:, :-1])
        loss = nn.functional.cross_entropy(output.reshape(-1, 50), batch[:, 1:].reshape(-1))
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
    model.eval()
    with torch.no_grad():
        evaluated = model(tokens[0].to(place))
    return {"losses": [torch.tensor(losses)], "parameters": list(model.parameters()), "evaluated": [evaluated]}
