"""An LSTM over packed sequences: torch's own helpers send the order of the rows up, and read it back."""

import hashlib

import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")

torch.manual_seed(0)
# Four gates of 5: weights 20 x 3 and 20 x 5, two biases of 20. Laying them out anew for cuDNN happens on the device.
lstm = nn.LSTM(3, 5, batch_first=True).to(DEVICE)  # transfers: h2d 240 B x 1, h2d 400 B x 1, h2d 80 B x 2
head = nn.Linear(5, 1).to(DEVICE)  # transfers: h2d 20 B x 1, h2d 4 B x 1
optimizer = torch.optim.Adagrad([*lstm.parameters(), *head.parameters()], lr=0.1)
for step in range(3):
    lengths = torch.tensor([2, 4, 3 - step])
    rows = torch.randn(3, 4, 3).to(DEVICE)  # transfers: h2d 144 B x 3
    # `sorted_indices.to(input.device)`: three 64-bit integers (torch/nn/utils/rnn.py).
    packed = pack_padded_sequence(rows, lengths, batch_first=True, enforce_sorted=False)  # transfers: h2d 24 B x 3
    output, (hidden, _) = lstm(packed)
    # `lengths[unsorted_indices.cpu()]`: lengths stay on the host, so the order comes down.
    padded, back = pad_packed_sequence(output, batch_first=True)  # transfers: d2h 24 B x 3
    assert back.tolist() == lengths.tolist()
    loss = head(padded).square().mean() + hidden.square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"{loss.item():.6f}")  # transfers: d2h 4 B x 3
weights = torch.cat([parameter.detach().reshape(-1) for parameter in lstm.parameters()])
print(hashlib.sha256(weights.cpu().numpy().tobytes()).hexdigest())  # transfers: d2h 800 B x 1
