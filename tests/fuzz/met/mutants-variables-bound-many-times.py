# options: in a loop
"""Through numpy and back, in every way there is."""

import hashlib

import numpy as np
import torch

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")

x = torch.linspace(0, 1, 24, device=DEVICE).reshape(4, 6)  # computed there
a = x.cpu().numpy().copy()  # transfers: d2h 96 B x 1
b = x.detach().cpu().numpy().copy() * 2  # transfers: d2h 96 B x 1
y = torch.from_numpy(b).to(DEVICE, copy=True)  # transfers: h2d 96 B x 1
c = np.asarray(y[:2].cpu()).copy()  # transfers: d2h 48 B x 1
d = y.t().to("cpu").numpy()  # laid out as it lies there  # transfers: d2h 96 B x 1
e = y[:, ::2].cpu().numpy()  # made contiguous there, then moved  # transfers: d2h 48 B x 1
z = torch.as_tensor(np.arange(6.0), device=DEVICE)  # 64-bit floats  # transfers: h2d 48 B x 1
z = torch.as_tensor(np.arange(6.0), device=DEVICE)  # 64-bit floats  # transfers: h2d 48 B x 1
# A blocking copy is converted on the host's side of the bus, so it moves as what the device has or gets
# (aten/src/ATen/native/cuda/Copy.cu: copy_kernel_cuda).
half = torch.from_numpy(np.ones(10)).to(DEVICE, torch.float16)  # transfers: h2d 20 B x 1
double = half.to("cpu", torch.float64).numpy()  # transfers: d2h 20 B x 1
w = torch.tensor(np.float32([1, 2, 3]), device=DEVICE)  # transfers: h2d 12 B x 1
v = torch.tensor(y.tolist(), device=DEVICE)  # transfers: d2h 96 B x 1, h2d 96 B x 1
g = y.new_tensor(np.zeros((2, 2), dtype=np.float32))  # transfers: h2d 16 B x 1
s = torch.tensor([float(x[0, 1]), x[1, 0].item()], device=DEVICE)  # transfers: d2h 4 B x 2, h2d 8 B x 1
m = np.float64(x.mean().item()) + 1  # transfers: d2h 4 B x 1
k = torch.full((2,), float(m), device=DEVICE)  # goes with the kernel's arguments
f = np.array([row.sum().cpu().numpy() for row in x])  # transfers: d2h 4 B x 4
y.copy_(torch.from_numpy(b))  # transfers: h2d 96 B x 1
b[...] = 0
host = torch.empty(4, 6)
host.copy_(x)  # transfers: d2h 96 B x 1
for row in range(4):
    x[row] = torch.from_numpy(a[row] + 1)  # transfers: h2d 24 B x 4
arrays = [a, c, d, e, double, f, np.array(m), host.numpy()] # type: ignore
for tensor in (x, y, v):  # noqa
    arrays.append(tensor.cpu().numpy())  # transfers: d2h 96 B x 3
arrays.append(torch.cat([w, s, k]).cpu().numpy())  # transfers: d2h 28 B x 1
arrays += [z.cpu().numpy(), g.cpu().numpy()]  # transfers: d2h 48 B x 1, d2h 16 B x 1
print(hashlib.sha256(b"".join(np.ascontiguousarray(one).tobytes() for one in arrays)).hexdigest())
