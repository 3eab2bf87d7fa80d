# options: in a loop
"""Variables that each copy binds again, what is read of them, and loops between."""
import torch
y = torch.from_numpy(b).to(DEVICE, copy=True)
c = np.asarray(y[:2].cpu()).copy()
d = y.t().to("cpu").numpy()
e = y[:, ::2].cpu().numpy()
half = torch.from_numpy(np.ones(10)).to(DEVICE, torch.float16)
double = half.to("cpu", torch.float64).numpy()
s = torch.tensor([float(x[0, 1]), x[1, 0].item()], device=DEVICE)
for row in range(4):
    x[row] = torch.from_numpy(a[row] + 1)
for tensor in (x, y, v):
    arrays.append(tensor.cpu().numpy())
arrays += [z.cpu().numpy(), g.cpu().numpy()]
print(hashlib.sha256(b"".join(np.ascontiguousarray(one).tobytes() for one in arrays)).hexdigest())
