"""LSTM, GRU and plain recurrent layers, packed sequences, cells, and attention by itself."""

import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence


def run(place):
    torch.manual_seed(0)
    x = torch.linspace(0, 1, 24).reshape(2, 3, 4)
    results = {}
    for name, layer in (
        ("lstm", nn.LSTM(4, 6, 2, batch_first=True, dropout=0.25)),
        ("both ways", nn.LSTM(4, 6, bidirectional=True, batch_first=True)),
        ("gru", nn.GRU(4, 6, batch_first=True)),
        ("rnn", nn.RNN(4, 6, batch_first=True)),
    ):
        layer.to(place)
        output, state = layer(x.to(place))
        output.sum().backward()
        packed, _ = layer(pack_padded_sequence(x.to(place), torch.tensor([3, 2]), batch_first=True))
        unpacked, lengths = pad_packed_sequence(packed, batch_first=True)
        assert lengths.device.type == "cpu"
        unpacked.sum().backward()
        assert all(parameter.grad.device.type == place for parameter in layer.parameters())
        states = state if isinstance(state, tuple) else (state,)
        results[name] = [output, unpacked, *states, *[one.grad for one in layer.parameters()]]
    cell = nn.GRUCell(4, 6).to(place)
    results["cell"] = [cell(x[:, 0].to(place))]
    q = torch.linspace(-1, 1, 64, device=place).reshape(1, 2, 4, 8).requires_grad_()
    attended = nn.functional.scaled_dot_product_attention(q, q, q, is_causal=True)
    attended.sum().backward()
    results["attention"] = [attended, q.grad]
    return results
