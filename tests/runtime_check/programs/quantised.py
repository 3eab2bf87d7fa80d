"""Quantised tensors: scales are numbers on the host, and those that lie on the device are read first."""

import hashlib
import warnings

import torch

warnings.filterwarnings("ignore", message="(?s).*deprecated")
DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")

torch.manual_seed(0)
weight = torch.randn(4, 6, device=DEVICE)
scale, zero = torch.full((), 0.1, device=DEVICE), torch.zeros((), dtype=torch.int64, device=DEVICE)
scales, zeros = torch.rand(4, device=DEVICE) + 0.1, torch.zeros(4, dtype=torch.int64, device=DEVICE)
total = torch.zeros((), device=DEVICE)
for _ in range(3):
    plain = torch.quantize_per_tensor(weight, 0.1, 3, torch.qint8)
    total += plain.dequantize().sum() + plain.int_repr().sum() + plain[1:, ::2].dequantize().sum()
    # aten/src/ATen/native/quantized/QTensor.cpp: quantize_per_tensor_tensor_qparams
    given = torch.quantize_per_tensor(weight, scale, zero, torch.qint8)  # transfers: d2h 4 B x 3, d2h 8 B x 3
    # the same file: quantize_per_tensor_dynamic, the least and the greatest
    found = torch.quantize_per_tensor_dynamic(weight, torch.quint8, False)  # transfers: d2h 4 B x 6
    total += plain.q_zero_point() + given.dequantize().sum() + found.dequantize().sum()
rows = torch.quantize_per_channel(weight, scales, zeros, 0, torch.quint8)
total += rows.dequantize().sum()
down = plain.cpu()  # transfers: d2h 24 B x 1
up = down.to(DEVICE)  # transfers: h2d 24 B x 1
apart = rows.cpu()  # with a scale and a zero for each row  # transfers: d2h 24 B x 1, d2h 32 B x 2
digest = hashlib.sha256((total + up.dequantize().sum()).cpu().numpy().tobytes()).hexdigest()  # transfers: d2h 4 B x 1
print(down.int_repr().tolist()[0], apart.q_per_channel_zero_points().tolist(), plain.q_scale(), digest)
