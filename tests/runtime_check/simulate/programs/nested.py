"""Nested tensors with strides and jagged ones: layers, padding, parts and gradients."""

import torch
from torch import nn


def run(place):
    torch.manual_seed(3)
    rows = [torch.randn(2, 4), torch.randn(3, 4)]
    layer = nn.Linear(4, 4).to(place)
    results = {}
    for layout in (torch.strided, torch.jagged):
        layer.zero_grad()
        many = torch.nested.nested_tensor(rows, layout=layout).to(place)
        assert many.device.type == place
        changed = torch.relu(layer(many)) * 2
        padded = torch.nested.to_padded_tensor(changed, 0.5)
        padded.sum().backward()
        parts = [part.detach() for part in changed.unbind()]
        again = torch.nested.as_nested_tensor(parts, layout=layout)
        name = str(layout)
        results[name] = [padded.detach(), *parts, layer.weight.grad.clone(), *again.cpu().unbind()]
    encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True), 2)
    encoder.to(place).eval()
    mask = torch.tensor([[False, False, True], [False, False, False]]).to(place)
    with torch.no_grad():
        results["encoder"] = [encoder(torch.randn(2, 3, 8).to(place), src_key_padding_mask=mask)]
    return results
